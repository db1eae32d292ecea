#include "audit/checks.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace exchange::audit {
namespace {

using Report = std::function<void(const std::string& row, const std::string& problem)>;

// Streams rows that name an order, sorted by order, in step with a stream of orders by id. Reports
// those whose order does not exist. Skips rows that cannot be read: other checks report them.
template <class Row>
class OfOrders {
 public:
  // `column` has the order. `rest` and `more` are those of select_rows().
  OfOrders(Source& source, OrderId Row::*order, const char* column, const std::string& rest,
           Report report, const std::string& more = {})
      : order_(order),
        column_(column),
        report_(std::move(report)),
        rows_(select_rows<Row>(source, "ORDER BY " + std::string(column) + rest, more)) {}

  // Returns the next row of `order`, or nullptr if there is none. Ids must not decrease from call
  // to call.
  const Row* next(OrderId order) {
    report_below(order);
    return rows_.row() != nullptr && rows_.row()->*order_ == order ? rows_.row() : nullptr;
  }
  void advance() { rows_.advance(); }
  // Calls use(row, the first expression of `more`) for the rows of `order`.
  template <class Use>
  void visit(OrderId order, Use use) {
    for (; next(order) != nullptr; advance()) use(*rows_.row(), OrderId(rows_.more()));
  }
  // Call it after the last order.
  void finish() { report_below(std::numeric_limits<OrderId>::max()); }

 private:
  void report_below(OrderId order) {
    for (; rows_.row() != nullptr && rows_.row()->*order_ < order; advance())
      report_(row_name(*rows_.row()),
              column_ + (" " + std::to_string(rows_.row()->*order_)) + " does not exist");
  }

  OrderId Row::*const order_;
  const std::string column_;
  const Report report_;
  RowCursor<Row> rows_;
};
using Executions = OfOrders<ExecutionRow>;
using Replacements = OfOrders<ReplacementRow>;

class TablesCheck {
 public:
  TablesCheck(Source& source, Findings& findings) : source_(source), findings_(findings) {}

  TablesImage run() {
    check_projection();
    check_accounts();
    check_account_keys();
    check_account_rules();
    check_symbols();
    check_positions();
    check_orders();
    check_references();
    check_executions();
    check_events();
    check_rounds();
    check_sums();
    std::sort(image_.rows.orders.begin(), image_.rows.orders.end(),
              [](const auto& a, const auto& b) { return a.place < b.place; });
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
  // Calls visit(row) for each row of a table, counts the rows, and reports those that cannot be
  // read.
  template <class Row, class Visit>
  void each(const char* order, Visit visit) {
    std::uint64_t rows = 0;
    for (const auto stream = select_rows<Row>(source_, order); stream->next(); ++rows) try {
        visit(read_stored<Row>(*stream));
      } catch (const BadValue& error) {
        violation(key_of<Row>(*stream), error.what());
      }
    std::string what = TableTraits<Row>::name;
    std::replace(what.begin(), what.end(), '_', ' ');
    findings_.count(what, rows);
  }
  template <class Row>
  static std::string key_of(const RowStream& row) try {
    constexpr int key = std::same_as<Row, ReferenceRow> ? 1 : 0;  // the column of the order
    return row_name(TableTraits<Row>::name, std::uint64_t(row.integer(key)));
  } catch (const BadValue&) {
    return std::string(TableTraits<Row>::name) + " (a row without a number)";
  }
  // Checks that ids run from 1 without gaps; reports those that are missing between `last` and
  // `id`.
  void expect_next(const char* table, std::uint64_t& last, std::uint64_t id,
                   const char* more = "") {
    if (id == last + 2)
      violation(row_name(table, last + 1), std::string("is missing") + more);
    else if (id > last + 2)
      violation(row_name(table, last + 1),
                "is missing, and the rows up to " + std::to_string(id - 1) + more);
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

  // Ids of orders and numbers of replacements form one sequence, in which time never decreases.
  struct Sequence {
    std::uint64_t last = 0;
    Timestamp time;
    bool is_order = true;  // kind of the last one
    const char* table() const { return is_order ? "orders" : "order_replacements"; }
  };
  void expect_next(Sequence& sequence, bool is_order, std::uint64_t number, Timestamp time) {
    const std::string row = row_name(is_order ? "orders" : "order_replacements", number);
    if (number == sequence.last) violation(row, "its number is the id of an order");
    expect_next("orders", sequence.last, number, "; no replacement has such a number");
    if (time < sequence.time)
      violation(row,
                std::string(is_order ? "opened before the previous " : "before the previous ") +
                    (sequence.is_order ? "order" : "replacement"));
    sequence.time = time;
    sequence.is_order = is_order;
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

  void check_account_rules() {
    each<AccountRulesRow>("ORDER BY account", [&](const AccountRulesRow& row) {
      require(row.account < image_.rows.accounts.size(), row, "its account does not exist");
      require(row.position_max >= Shares(), row, "a limit below zero");
      image_.rows.account_rules.push_back(row);
    });
  }

  void check_rounds() {
    each<RoundRow>("ORDER BY number", [&](const RoundRow& row) {
      auto& rounds = image_.rows.rounds;
      require(row.number == rounds.size() + 1, row, "numbers have a gap");
      require(rounds.empty() || row.executions_before >= rounds.back().executions_before, row,
              "it begins before the one before it");
      rounds.push_back(row);
    });
  }

  // Checks the events of each account: numbers run from 1 to that in its row, and its balance
  // changes only by events.
  void check_events() {
    const auto& accounts = image_.rows.accounts;
    std::vector<EventNumber> numbers(accounts.size());
    std::optional<EventRow> last;
    const auto check_last = [&] {
      if (last && last->number == accounts[last->account].events)
        require(last->balance == accounts[last->account].balance, *last,
                "its account has another balance, and no later event");
    };
    each<EventRow>("ORDER BY account, number", [&](const EventRow& row) {
      if (row.account >= accounts.size() || (row.symbol > 0 && row.symbol >= books_.size()))
        return violation(row_name(row), "its account or symbol does not exist");
      if (!last || last->account != row.account) check_last();
      require(row.number == ++numbers[row.account], row, "number out of sequence");
      require((row.number == 1) == (row.kind == EventKind::began), row,
              "only the first event says that events began");
      require(row.order <= image_.rows.totals.orders, row, "its order does not exist");
      require(row.execution <= image_.rows.totals.executions, row, "its execution does not exist");
      require(row.batch <= image_.projected_batch, row, "its batch is not in the tables");
      last = row;
    });
    check_last();
    for (std::size_t i = 0; i < accounts.size(); ++i)
      require(numbers[i] == accounts[i].events, accounts[i], "has another number of events");
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
    const Report report = [this](const std::string& row, const std::string& problem) {
      violation(row, problem);
    };
    const bool any_replaced = select_rows<ReplacementRow>(source_, "LIMIT 1")->next();
    // the place of the other order at that time; without replacements their table is not read
    const auto place_then = [&](const char* order) {
      return any_replaced ? place_of(order, " AND executions_before < executions.id") : order;
    };
    Executions bought(source_, &ExecutionRow::buy_order, "buy_order", ", id", report,
                      place_then("sell_order")),
        sold(source_, &ExecutionRow::sell_order, "sell_order", ", id", report,
             place_then("buy_order"));
    Replacements replacements(source_, &ReplacementRow::order, "order_id",
                              ", executions_before, number", report);
    Sequence sequence;
    std::uint64_t open = 0, replaced = 0;
    RowCursor<ReplacementRow> numbered(select_rows<ReplacementRow>(source_, "ORDER BY number"),
                                       [&](const RowStream& row, const BadValue& error) {
                                         violation(key_of<ReplacementRow>(row), error.what());
                                         ++replaced;
                                       });
    ExecutionId executions_before = 0;
    const auto check_numbers_below = [&](OrderId id) {
      for (; numbered.row() != nullptr && numbered.row()->number < id; numbered.advance()) {
        expect_next(sequence, false, numbered.row()->number, numbered.row()->time);
        check_replacement(*numbered.row(), executions_before);
        ++replaced;
      }
    };
    each<OrderRow>("ORDER BY id", [&](OrderRow row) {
      check_numbers_below(row.id);
      expect_next(sequence, true, row.id, row.opened_at);
      const bool buys = row.side == Side::buy;
      Int128 executed = check_history(row, buys ? bought : sold, replacements);
      (buys ? sold : bought).visit(row.id, [&](const ExecutionRow& execution, OrderId) {
        violation(row_name(execution),
                  (buys ? "its sell_order buys (order " : "its buy_order sells (order ") +
                      std::to_string(row.id) + ")");
        executed += execution.shares.units();
      });
      check_order(row, executed);
      open += row.is_open();
    });
    check_numbers_below(std::numeric_limits<OrderId>::max());
    bought.finish();
    sold.finish();
    replacements.finish();
    expect_last(sequence.table(), sequence.last, image_.rows.totals.orders);
    findings_.count("open orders", open);
    findings_.count("replacements", replaced);
  }

  // Checks a replacement without its order.
  void check_replacement(const ReplacementRow& row, ExecutionId& executions_before) {
    require(row.order < row.number, row, "order_id is not below its number");
    require(row.shares > Shares() && row.limit >= Price(), row,
            "shares not above zero, or limit below zero");
    require(row.executions_before >= executions_before, row,
            "executions_before is below that of the previous replacement");
    require(row.executions_before <= image_.rows.totals.executions, row,
            "executions_before is above the number of executions");
    require(row.time <= image_.rows.totals.last_time, row,
            "has a time after that of the newest command");
    executions_before = row.executions_before;
  }

  // Follows an order through its executions and replacements, and sets its place. Returns the
  // number of shares executed.
  Int128 check_history(OrderRow& row, Executions& executions, Replacements& replacements) {
    row.place = row.id;
    Timestamp place_since = row.opened_at, replaced_at = row.opened_at, executed_at = row.opened_at;
    Int128 executed = 0;
    const auto shares = [&](const ReplacementRow* next) {
      return next ? next->shares : row.shares;
    };
    const auto limit = [&](const ReplacementRow* next) { return next ? next->limit : row.limit; };
    const auto replace_before = [&](ExecutionId execution) {
      for (const ReplacementRow* next = nullptr;
           (next = replacements.next(row.id)) && next->executions_before < execution;) {
        const ReplacementRow replacement = *next;
        replacements.advance();
        next = replacements.next(row.id);
        require(executed < replacement.shares.units(), replacement, "its order had nothing open");
        require(executed < shares(next).units(), replacement,
                "its order had executed that much already");
        if (limit(next) == replacement.limit && shares(next) <= replacement.shares)
          require(replacement.keeps_place, replacement,
                  "keeps_place is false, but the limit is the same and the amount no larger");
        else
          require(!replacement.keeps_place, replacement,
                  "keeps_place is true, but the limit is another or the amount larger");
        require(replacement.time >= executed_at, replacement,
                "before an execution that it counts as earlier");
        require(row.canceled_at == Timestamp() || replacement.time <= row.canceled_at, replacement,
                "after its order was canceled");
        replaced_at = replacement.time;
        if (replacement.keeps_place) continue;
        row.place = replacement.number;
        place_since = replacement.time;
      }
    };
    executions.visit(row.id, [&](const ExecutionRow& execution, OrderId other_place) {
      replace_before(execution.id);
      const ReplacementRow* next = replacements.next(row.id);
      check_side(row, {limit(next), place_since, row.place < other_place}, execution);
      if (execution.time < replaced_at)
        violation(row_name(execution),
                  "before its order was replaced (order " + std::to_string(row.id) + ")");
      executed_at = execution.time;
      executed += execution.shares.units();
    });
    replace_before(std::numeric_limits<ExecutionId>::max());
    return executed;
  }

  void check_references() {
    each<ReferenceRow>("", [&](const ReferenceRow& row) {
      require(row.account < image_.rows.accounts.size(), row, "its account does not exist");
    });
    for (const auto rows = select_rows<ReferenceRow>(
             source_,
             "WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = order_id"
             " AND o.account = order_references.account)");
         rows->next();)
      violation(key_of<ReferenceRow>(*rows), "its account has no such order");
    for (const auto rows = source_.tables(select_newest_references); rows->next();) try {
        image_.rows.references.push_back(read_row<ReferenceRow>(*rows));
      } catch (const StoreCorrupt&) {  // reported above
      } catch (const BadValue&) {      // reported above
      }
  }

  // The state of an order at one of its executions.
  struct OrderThen {
    Price limit;
    Timestamp place_since;  // when it arrived, or a replacement gave it its place
    bool is_maker;          // the other order has a higher place
  };
  // Compares an execution with one of its two orders.
  void check_side(const OrderRow& order, const OrderThen& then, const ExecutionRow& execution) {
    const auto expect = [&](bool sound, const std::string& problem) {
      if (!sound)
        violation(row_name(execution), problem + " (order " + std::to_string(order.id) + ")");
    };
    expect(order.symbol == execution.symbol, "not on the symbol of its order");
    const bool is_market = then.limit == Price();
    expect(is_market || (order.side == Side::buy ? execution.price <= then.limit
                                                 : execution.price >= then.limit),
           "its price is beyond the limit of its order");
    if (execution.of_auction) {
      expect(execution.time >= then.place_since, "before its order arrived");
      if (order.is_open()) image_.rows.executions.push_back(execution);
      return;
    }
    // Market rule 4: the price is the maker's. An order is a taker at the moment when it is placed
    // or replaced, a maker later.
    if (then.is_maker)
      expect(execution.price == then.limit, "its price is not that of the order that was resting");
    expect(then.is_maker ? execution.time >= then.place_since : execution.time == then.place_since,
           "not at the time of the order that took it");
    expect(order.canceled_at == Timestamp() || execution.time <= order.canceled_at,
           "after its order was canceled");
    if (order.is_open()) image_.rows.executions.push_back(execution);
  }

  void check_order(const OrderRow& row, Int128 executed) {
    require(row.account < image_.rows.accounts.size(), row, "its account does not exist");
    require(row.limit >= Price(), row, "limit below zero");
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
    const Trading trading = image_.rows.symbols[row.symbol].trading;
    require(row.limit > Price() || !row.is_open() || collects(trading), row,
            "a market order is open, and no auction collects it");
    if (row.is_open()) add_open(row);
  }

  // Adds an open order to the sums, with the cash or shares that it reserves, and to its book.
  void add_open(const OrderRow& row) {
    image_.rows.orders.push_back(row);
    Book& book = books_[row.symbol];
    if (row.side == Side::buy) {
      const Price highest = image_.rows.symbols[row.symbol].price_max;
      cash_ += UInt128(cost(row.open, row.limit == Price() ? highest : row.limit).units());
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

  // Both sides of the comparison are modulo 2^128, so they are equal if cash and shares are
  // conserved.
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
      if (row.trading == Trading::open && book.bid.id != 0 && book.ask.id != 0 &&
          book.bid.limit >= book.ask.limit)
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
