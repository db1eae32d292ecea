#include "tools/audit/tables_check.hpp"

#include <algorithm>
#include <functional>

#include "store/stored_text.hpp"

namespace exchange::audit {
namespace {

// Streams the executions by their buy order, or by their sell order, in step with a stream of
// orders by id. Reports executions whose order does not exist.
class ExecutionsOf {
 public:
  using Report = std::function<void(std::uint64_t execution, const std::string& problem)>;
  ExecutionsOf(Source& source, Side side, Report report)
      : side_(side),
        report_(std::move(report)),
        rows_(Table<ExecutionRow>::select(
            source, side == Side::buy ? "ORDER BY buy_order, id" : "ORDER BY sell_order, id")) {
    advance();
  }

  // Calls use(execution) for the executions of `order`; ids of orders must increase from call to
  // call. Executions of ids in between belong to no order and are reported.
  template <class Use>
  void visit(OrderId order, Use use) {
    for (; there_ && order_of(row_) <= order; advance()) {
      if (order_of(row_) == order)
        use(row_);
      else
        report_orphan();
    }
  }
  // After the last order: reports the executions that are left.
  void finish() {
    for (; there_; advance()) report_orphan();
  }

 private:
  OrderId order_of(const ExecutionRow& row) const {
    return side_ == Side::buy ? row.buy_order : row.sell_order;
  }
  void report_orphan() {
    report_(row_.id, (side_ == Side::buy ? "buy_order " : "sell_order ") +
                         std::to_string(order_of(row_)) + " does not exist");
  }
  void advance() {
    while ((there_ = rows_->next())) try {
        row_ = Table<ExecutionRow>::read(*rows_);
        return;
      } catch (const BadValue&) {  // reported by check_executions()
      }
  }

  const Side side_;
  const Report report_;
  std::unique_ptr<RowStream> rows_;
  ExecutionRow row_{};
  bool there_ = false;
};

class TablesCheck {
 public:
  TablesCheck(Source& source, Findings& findings) : source_(source), findings_(findings) {}

  TablesImage run() {
    check_projection();
    check_accounts();
    check_account_keys();
    check_symbols();
    check_positions();
    check_orders();
    check_references();
    check_executions();
    check_sums();
    std::sort(image_.rows.executions.begin(), image_.rows.executions.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    return std::move(image_);
  }

 private:
  struct Book {
    OrderRow bid{}, ask{};  // the best open orders; id 0: none
  };

  void violation(const std::string& row, const std::string& problem) {
    findings_.violation("tables", row, problem);
  }
  template <class Row>
  void require(bool sound, const Row& row, const char* problem) {
    if (!sound) violation(row_name(row), problem);
  }
  // Calls visit(row) for all rows of a table, counts them, and reports those that cannot be read.
  template <class Row, class Visit>
  void each(const char* order, Visit visit) {
    std::uint64_t rows = 0;
    for (const auto stream = Table<Row>::select(source_, order); stream->next(); ++rows) try {
        visit(Table<Row>::read(*stream));
      } catch (const BadValue& error) {
        violation(key_of(*stream, Table<Row>::name()), error.what());
      }
    std::string what = Table<Row>::name();
    std::replace(what.begin(), what.end(), '_', ' ');
    findings_.count(what, rows);
  }
  static std::string key_of(const RowStream& row, const char* table) try {
    return row_name(table, std::uint64_t(row.integer(0)));
  } catch (const BadValue&) {
    return std::string(table) + " (a row without a number)";
  }
  // Ids run from 1 without gaps; reports those that are missing between `last` and `id`.
  void expect_next(const char* table, std::uint64_t& last, std::uint64_t id) {
    if (id == last + 2)
      violation(row_name(table, last + 1), "is missing");
    else if (id > last + 2)
      violation(row_name(table, last + 1),
                "is missing, and the rows up to " + std::to_string(id - 1));
    last = id;
  }
  void expect_last(const char* table, std::uint64_t last, std::uint64_t given) {
    if (last < given)
      violation(row_name(table, last + 1),
                "is missing: " + std::to_string(given) + " ids were given");
    if (last > given)
      violation(row_name(table, last),
                "should not be there: only " + std::to_string(given) + " ids were given");
  }

  void check_projection() try {
    const Projection projection = read_projection(source_);
    image_.projected_batch = projection.batch;
    image_.rows.totals = projection.totals;
    findings_.count("projected batch", projection.batch);
  } catch (const BadValue& error) {
    violation("projection", error.what());
  }

  void check_accounts() {
    auto& accounts = image_.rows.accounts;
    each<AccountRow>("ORDER BY number", [&](const AccountRow& row) {
      require(row.number == accounts.size(), row, "number out of sequence");
      require(row.balance >= Cash(), row, "balance below zero");
      cash_ += UInt128(row.balance.units());
      accounts.push_back(row);
    });
  }

  void check_account_keys() {
    each<AccountKeyRow>("ORDER BY account", [&](const AccountKeyRow& row) {
      require(row.account < image_.rows.accounts.size(), row, "its account does not exist");
    });
  }

  void check_symbols() {
    auto& symbols = image_.rows.symbols;
    each<SymbolRow>("ORDER BY number", [&](const SymbolRow& row) {
      require(row.number == symbols.size(), row, "number out of sequence");
      require(row.shares_total >= Shares(), row, "shares below zero");
      symbols.push_back(row);
    });
    shares_.resize(symbols.size());
    books_.resize(symbols.size());
  }

  void check_positions() {
    each<PositionRow>("", [&](const PositionRow& row) {
      if (row.account >= image_.rows.accounts.size() || row.symbol >= image_.rows.symbols.size())
        return violation(row_name(row), "its account or symbol does not exist");
      require(row.shares >= Shares(), row, "shares below zero");
      shares_[row.symbol] += UInt128(row.shares.units());
      image_.rows.positions.push_back(row);
    });
  }

  void check_orders() {
    const auto report = [this](std::uint64_t execution, const std::string& problem) {
      violation(row_name("executions", execution), problem);
    };
    ExecutionsOf bought(source_, Side::buy, report), sold(source_, Side::sell, report);
    OrderId last = 0;
    Timestamp last_opened;
    std::uint64_t open = 0;
    each<OrderRow>("ORDER BY id", [&](const OrderRow& row) {
      expect_next("orders", last, row.id);
      require(row.opened_at >= last_opened, row, "opened before the previous order");
      last_opened = row.opened_at;
      Int128 executed = 0;
      bought.visit(row.id, [&](const ExecutionRow& execution) {
        executed += check_side(row, Side::buy, execution);
      });
      sold.visit(row.id, [&](const ExecutionRow& execution) {
        executed += check_side(row, Side::sell, execution);
      });
      check_order(row, executed);
      open += row.is_open();
    });
    bought.finish();
    sold.finish();
    expect_last("orders", last, image_.rows.totals.orders);
    findings_.count("open orders", open);
  }

  void check_references() {
    each<ReferenceRow>("", [&](const ReferenceRow& row) {
      require(row.account < image_.rows.accounts.size(), row, "its account does not exist");
    });
    if (!source_.has_table(Table<ReferenceRow>::name())) return;
    for (const auto rows = Table<ReferenceRow>::select(
             source_,
             "WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = order_id"
             " AND o.account = order_references.account)");
         rows->next();)
      violation(key_of(*rows, Table<ReferenceRow>::name()), "its account has no such order");
    for (const auto rows = source_.tables(select_newest_references); rows->next();) try {
        image_.rows.references.push_back(
            {AccountNumber(rows->integer(0)), stored_reference(rows->text(1)),
             OrderId(rows->integer(2)), SymbolNumber(rows->integer(3)),
             rows->integer(4) != 0 ? Side::buy : Side::sell, Shares::from_units(rows->integer(5)),
             Price::from_units(rows->integer(6))});
      } catch (const std::runtime_error&) {  // reported above
      }
  }

  // Compares an execution with one of its two orders. Returns its shares.
  Int128 check_side(const OrderRow& order, Side side, const ExecutionRow& execution) {
    const auto expect = [&](bool sound, const std::string& problem) {
      if (!sound)
        violation(row_name(execution), problem + " (order " + std::to_string(order.id) + ")");
    };
    expect(order.side == side, side == Side::buy ? "its buy_order sells" : "its sell_order buys");
    expect(order.symbol == execution.symbol, "not on the symbol of its order");
    const bool is_market = order.limit == Price();
    expect(is_market || (side == Side::buy ? execution.price <= order.limit
                                           : execution.price >= order.limit),
           "its price is beyond the limit of its order");
    // Market rule 4: the price is the maker's. An order is a taker while it is placed, a maker
    // later.
    const bool is_maker = order.id == std::min(execution.buy_order, execution.sell_order);
    if (is_maker)
      expect(execution.price == order.limit, "its price is not that of the order that was resting");
    expect(is_maker ? execution.time >= order.opened_at : execution.time == order.opened_at,
           "not at the time of the order that took it");
    expect(order.canceled_at == Timestamp() || execution.time <= order.canceled_at,
           "after its order was canceled");
    if (order.is_open()) image_.rows.executions.push_back(execution);
    return execution.shares.units();
  }

  void check_order(const OrderRow& row, Int128 executed) {
    require(row.account < image_.rows.accounts.size(), row, "its account does not exist");
    require(row.limit > Price() || (row.limit == Price() && !row.is_open()), row,
            "limit not above zero");
    require(row.open >= Shares() && row.canceled >= Shares() && row.shares > Shares(), row,
            "shares below zero");
    if (Int128(row.open.units()) + row.canceled.units() + executed != row.shares.units())
      violation(row_name(row), "shares_e8 " + std::to_string(row.shares.units()) + " is not open " +
                                   std::to_string(row.open.units()) + " + canceled " +
                                   std::to_string(row.canceled.units()) + " + executed " +
                                   units_text(executed));
    require(row.open == Shares() || row.canceled == Shares(), row, "is open and canceled");
    require((row.canceled == Shares()) == (row.canceled_at == Timestamp()), row,
            "canceled_e8 and canceled_at_us do not go together");
    require(row.canceled_at == Timestamp() || row.canceled_at >= row.opened_at, row,
            "canceled before it was opened");
    require(std::max(row.opened_at, row.canceled_at) <= image_.rows.totals.last_time, row,
            "has a time after that of the newest command");
    if (row.symbol >= image_.rows.symbols.size())
      return violation(row_name(row), "its symbol does not exist");
    if (row.is_open()) add_open(row);
  }

  // Adds an open order to the sums, with the cash or shares that it reserves, and to its book.
  void add_open(const OrderRow& row) {
    image_.rows.orders.push_back(row);
    Book& book = books_[row.symbol];
    if (row.side == Side::buy) {
      cash_ += UInt128(cost(row.open, row.limit).units());
      if (book.bid.id == 0 || row.limit > book.bid.limit) book.bid = row;
    } else {
      shares_[row.symbol] += UInt128(row.open.units());
      if (book.ask.id == 0 || row.limit < book.ask.limit) book.ask = row;
    }
  }

  void check_executions() {
    ExecutionId last = 0;
    Timestamp last_time;
    each<ExecutionRow>("ORDER BY id", [&](const ExecutionRow& row) {
      expect_next("executions", last, row.id);
      require(row.time >= last_time, row, "before the previous execution");
      require(row.shares > Shares() && row.price > Price(), row, "shares or price not above zero");
      require(row.buy_order != row.sell_order, row, "both sides are one order");
      last_time = row.time;
    });
    expect_last("executions", last, image_.rows.totals.executions);
  }

  // Sums are modulo 2^128 on both sides, so that they are equal if cash and shares are conserved.
  void check_sums() {
    if (cash_ != UInt128(image_.rows.totals.cash_created.units()))
      violation("projection",
                "cash is not conserved: balances and cash reserved by open buys are " +
                    units_text(Int128(cash_)) + ", created was " +
                    units_text(image_.rows.totals.cash_created.units()) + " (units of 1e-16)");
    for (const SymbolRow& row : image_.rows.symbols) {
      if (row.number >= shares_.size()) continue;
      if (shares_[row.number] != UInt128(row.shares_total.units()))
        violation(row_name(row),
                  "shares are not conserved: positions and shares reserved by open sells are " +
                      units_text(Int128(shares_[row.number])) + ", created were " +
                      std::to_string(row.shares_total.units()) + " (units of 1e-8)");
      const Book& book = books_[row.number];
      if (book.bid.id != 0 && book.ask.id != 0 && book.bid.limit >= book.ask.limit)
        violation(row_name(row), "the book is crossed: orders " + std::to_string(book.bid.id) +
                                     " and " + std::to_string(book.ask.id) +
                                     " are open and should have matched");
    }
  }

  Source& source_;
  Findings& findings_;
  TablesImage image_;
  UInt128 cash_ = 0;
  std::vector<UInt128> shares_;  // by symbol
  std::vector<Book> books_;      // by symbol
};

}  // namespace

TablesImage check_tables(Source& source, Findings& findings) {
  return TablesCheck(source, findings).run();
}

}  // namespace exchange::audit
