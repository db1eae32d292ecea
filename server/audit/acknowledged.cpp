#include "audit/checks.hpp"

#include <compare>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

namespace exchange::audit {
namespace {

// The words of one line about an order; empty members are not in the line.
struct AcknowledgedOrder {
  std::optional<std::string> account, symbol;
  std::optional<Side> side;
  std::optional<Shares> shares, open, canceled, executed;
  std::optional<Price> limit;
};

// The attributes that distinguish orders before they have an id: account, symbol, side, shares and
// limit.
using Sent = std::tuple<std::string, std::string, Side, std::int64_t, std::int64_t>;
Sent sent_of(const AcknowledgedOrder& order) {
  return {*order.account, *order.symbol, *order.side, order.shares->units(), order.limit->units()};
}
struct Copies {
  std::uint64_t acknowledged = 0, unanswered = 0, found = 0;
};

// The parsed file. Throws std::invalid_argument, with the line, if the file has another form.
class Lines {
 public:
  explicit Lines(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::invalid_argument("--acknowledged " + path + " cannot be read");
    std::string line;
    for (number_ = 1; std::getline(file, line); ++number_) try {
        read(line);
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(path + ":" + std::to_string(number_) + ": " + error.what());
      }
  }

  std::map<OrderId, AcknowledgedOrder> acknowledged;
  std::vector<OrderId> twice;  // ids that occur in more than one line
  std::map<Sent, Copies> sent;
  std::set<std::string> accounts;
  // numbers of lines without an id, and of lines with an id that lack a word of what was sent
  std::uint64_t unanswered = 0, incomplete = 0;

 private:
  void read(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word[0] == '#') return;
    const bool answered = word != "-";
    OrderId id = 0;
    if (answered) {
      const auto parsed = parse_order_id(word);
      if (!parsed) throw std::invalid_argument("'" + word + "' is not an order id");
      id = *parsed;
    }
    AcknowledgedOrder order;
    while (words >> word) read_word(word, order);
    const bool whole = order.account && order.symbol && order.shares && order.limit;
    if (!answered && !whole)
      throw std::invalid_argument(
          "an order that was not answered needs account, symbol, amount and limit");
    if (order.account) accounts.insert(*order.account);
    if (whole) {
      Copies& copies = sent[sent_of(order)];
      ++(answered ? copies.acknowledged : copies.unanswered);
    }
    if (!answered)
      ++unanswered;
    else if (!acknowledged.emplace(id, order).second)
      twice.push_back(id);
    incomplete += answered && !whole;
  }

  static void read_word(const std::string& word, AcknowledgedOrder& order) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals),
                      value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto shares = [&] {
      const auto parsed = parse_shares(value);
      if (!parsed) throw std::invalid_argument("'" + word + "' has no number after the =");
      return parsed.value;
    };
    if (key == "account" && parse_account_id(value)) {
      order.account = value;
    } else if (key == "symbol" && parse_symbol_name(value)) {
      order.symbol = value;
    } else if (key == "amount") {
      const Shares amount = shares();
      order.side = amount > Shares() ? Side::buy : Side::sell;
      order.shares = amount > Shares() ? amount : Shares() - amount;
    } else if (key == "limit" && parse_price(value)) {
      order.limit = parse_price(value).value;
    } else if (key == "open") {
      order.open = shares();
    } else if (key == "canceled") {
      order.canceled = shares();
    } else if (key == "executed") {
      order.executed = shares();
    } else {
      throw std::invalid_argument(
          "'" + word +
          "' is not one of account=, symbol=, amount=, limit=, open=, canceled=, executed=");
    }
  }

  std::uint64_t number_ = 0;
};

class AcknowledgedCheck {
 public:
  AcknowledgedCheck(Source& source, const TablesImage& image, const AfterTables& after,
                    const Lines& lines, Findings& findings)
      : source_(source),
        tables_orders_(image.rows.totals.orders),
        after_(after),
        lines_(lines),
        findings_(findings) {
    for (const AccountRow& row : image.rows.accounts) accounts_[row.number] = row.id.view();
    for (const AccountRow& row : after.accounts) accounts_[row.number] = row.id.view();
    for (const SymbolRow& row : image.rows.symbols) symbols_[row.number] = row.name.view();
    for (const SymbolRow& row : after.symbols) symbols_[row.number] = row.name.view();
  }

  void check_each() {
    for (const OrderId id : lines_.twice)
      violation(id, "was acknowledged to clients as the id of two orders");
    for (auto at = lines_.acknowledged.begin(); at != lines_.acknowledged.end();) {
      const auto first = at;
      for (std::size_t some = 0; some < orders_at_once && at != lines_.acknowledged.end(); ++some)
        ++at;
      const std::map<OrderId, OrderRow> rows = read_rows(first, at);
      const Replacements replacements = read_replacements(first, at);
      for (auto line = first; line != at; ++line)
        check(line->first, line->second, rows, replacements);
    }
    findings_.count("acknowledged orders found", checked_);
    if (beyond_ > 0)
      findings_.not_checked(
          std::to_string(beyond_) +
          " acknowledged orders: newer than the tables, and the journal cannot be read or "
          "followed");
  }

  // Counts the orders of the file's accounts in the store, and compares the counts with how often
  // each order was sent.
  void check_complete(std::map<Sent, Copies> sent) {
    if (lines_.incomplete > 0)
      return findings_.not_checked(
          "whether orders are in the store twice: " + std::to_string(lines_.incomplete) +
          " lines lack account, symbol, amount or limit");
    if (!after_.known)
      return findings_.not_checked(
          "whether orders are in the store twice: the journal cannot be read or followed");
    // `first` is its first replacement, which holds what was sent; nullptr: it was not replaced.
    const auto count = [&](const OrderRow& row, const ReplacementRow* first) {
      const auto account = accounts_.find(row.account);
      if (account == accounts_.end() || !lines_.accounts.contains(account->second)) return;
      const auto line = lines_.acknowledged.find(row.id);
      const auto entry =
          sent.find(line != lines_.acknowledged.end()
                        ? sent_of(line->second)
                        : Sent{account->second, symbols_[row.symbol], row.side,
                               (first != nullptr ? first->shares : row.shares).units(),
                               (first != nullptr ? first->limit : row.limit).units()});
      if (entry == sent.end())
        return violation(row.id, "is of account " + account->second + ", which never sent it");
      Copies& copies = entry->second;
      if (++copies.found > copies.acknowledged + copies.unanswered)
        violation(row.id, "is in the store " + std::to_string(copies.found) +
                              " times, but was sent " +
                              std::to_string(copies.acknowledged + copies.unanswered) + " times");
    };
    RowCursor<ReplacementRow> stored(
        select_rows<ReplacementRow>(source_, "ORDER BY order_id, executions_before, number"));
    for_each_order("ORDER BY id", [&](const OrderRow& row) {
      while (stored.row() != nullptr && stored.row()->order < row.id) stored.advance();
      const bool replaced = stored.row() != nullptr && stored.row()->order == row.id;
      count(row, replaced ? stored.row() : nullptr);
    });
    for (auto row = after_.orders.upper_bound(tables_orders_); row != after_.orders.end(); ++row) {
      const auto [first, end] = after_.replacements.equal_range(row->first);
      count(row->second, first != end ? &first->second : nullptr);
    }
    std::uint64_t unanswered_found = 0;
    for (const auto& [key, copies] : sent)
      if (copies.found > copies.acknowledged)
        unanswered_found += copies.found - copies.acknowledged;
    findings_.count("orders sent and not answered", lines_.unanswered);
    findings_.count("of them in the store", unanswered_found);
  }

 private:
  using Line = std::map<OrderId, AcknowledgedOrder>::const_iterator;
  using Replacements = std::multimap<OrderId, ReplacementRow>;  // by order, the oldest first

  template <class Use>
  void for_each_order(const std::string& rest, Use use) {
    for (const auto rows = select_rows<OrderRow>(source_, rest); rows->next();) try {
        use(read_stored<OrderRow>(*rows));
      } catch (const BadValue&) {  // reported by check_tables()
      }
  }

  // Reads the newest rows of the orders of these lines, from the tables and from the journal after
  // them.
  std::map<OrderId, OrderRow> read_rows(Line first, Line last) {
    std::map<OrderId, OrderRow> rows;
    for_each_order(where_in("id", first, last), [&](const OrderRow& row) { rows[row.id] = row; });
    for (auto line = first; line != last; ++line)
      if (const auto newer = after_.orders.find(line->first); newer != after_.orders.end())
        rows[line->first] = newer->second;
    return rows;
  }

  Replacements read_replacements(Line first, Line last) {
    Replacements replacements;
    for (RowCursor<ReplacementRow> rows(
             select_rows<ReplacementRow>(source_, where_in("order_id", first, last)));
         rows.row() != nullptr; rows.advance())
      replacements.emplace(rows.row()->order, *rows.row());
    for (auto line = first; line != last; ++line) {
      const auto [begin, end] = after_.replacements.equal_range(line->first);
      replacements.insert(begin, end);
    }
    return replacements;
  }

  void check(OrderId id, const AcknowledgedOrder& client, const std::map<OrderId, OrderRow>& rows,
             const Replacements& replacements) {
    const auto row = rows.find(id);
    if (row == rows.end() && !after_.known && id > tables_orders_) {
      ++beyond_;
      return;
    }
    ++checked_;
    if (row == rows.end())
      violation(id, "was acknowledged and is lost");
    else
      compare(row->second, client, replacements);
  }

  void violation(OrderId id, const std::string& problem) {
    findings_.violation("acknowledged", row_name("orders", id), problem);
  }

  void compare(const OrderRow& row, const AcknowledgedOrder& client,
               const Replacements& replacements) {
    const auto account = accounts_.find(row.account);
    const Int128 executed = Int128(row.shares.units()) - row.open.units() - row.canceled.units();
    const auto expect = [&](bool sound, const std::string& problem) {
      if (!sound) violation(row.id, problem);
    };
    expect(!client.account || (account != accounts_.end() && account->second == *client.account),
           "is not of account " + client.account.value_or(""));
    expect(!client.symbol || symbols_[row.symbol] == *client.symbol,
           "is not on symbol " + client.symbol.value_or(""));
    expect(!client.side || row.side == *client.side, "is on the other side");
    // A request without a reply may have replaced the terms that were acknowledged last.
    const auto [begin, end] = replacements.equal_range(row.id);
    bool has_shares = false, has_limit = false, has_both = false;
    const auto compare_terms = [&](Shares shares, Price limit) {
      const bool same_shares = !client.shares || shares == *client.shares,
                 same_limit = !client.limit || limit == *client.limit;
      has_shares |= same_shares;
      has_limit |= same_limit;
      has_both |= same_shares && same_limit;
    };
    compare_terms(row.shares, row.limit);
    for (auto at = begin; at != end; ++at) compare_terms(at->second.shares, at->second.limit);
    expect(has_shares, "has other shares than were acknowledged");
    expect(has_limit, "has another limit than was acknowledged");
    expect(has_both || !has_shares || !has_limit,
           "never had the shares and the limit that were acknowledged at the same time");
    expect(!client.open || begin != end || row.open <= *client.open,
           "has more open shares than were acknowledged");
    expect(!client.canceled || *client.canceled == Shares() || row.canceled == *client.canceled,
           "has other canceled shares than were acknowledged");
    expect(!client.executed || executed >= client.executed->units(),
           "has executed less than was acknowledged");
  }

  Source& source_;
  const OrderId tables_orders_;
  const AfterTables& after_;
  const Lines& lines_;
  Findings& findings_;
  std::map<AccountNumber, std::string> accounts_;
  std::map<SymbolNumber, std::string> symbols_;
  std::uint64_t checked_ = 0, beyond_ = 0;  // beyond: newer than what the audit can read
};

}  // namespace

void check_acknowledged(Source& source, const TablesImage& image, const AfterTables& after,
                        const std::string& file, bool complete, Findings& findings) {
  const Lines lines(file);
  findings.count("acknowledged orders", lines.acknowledged.size());
  AcknowledgedCheck check(source, image, after, lines, findings);
  check.check_each();
  if (complete) check.check_complete(lines.sent);
}

}  // namespace exchange::audit
