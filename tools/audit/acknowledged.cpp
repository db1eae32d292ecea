#include "tools/audit/acknowledged.hpp"

#include <compare>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

namespace exchange::audit {
namespace {

constexpr std::size_t orders_at_once = 1'000;

struct Told {
  std::optional<std::string> account, symbol;
  std::optional<Side> side;
  std::optional<Shares> shares, open, canceled, executed;
  std::optional<Price> limit;
};

// What a client can tell orders apart by.
using Sent = std::tuple<std::string, std::string, Side, std::int64_t, std::int64_t>;
struct Copies {
  std::uint64_t acknowledged = 0, unanswered = 0, found = 0;
};

class Lines {
 public:
  explicit Lines(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::invalid_argument(path + " cannot be read");
    std::string line;
    for (number_ = 1; std::getline(file, line); ++number_) try {
        read(line);
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(path + ":" + std::to_string(number_) + ": " + error.what());
      }
  }

  std::map<OrderId, Told> told;
  std::vector<OrderId> twice;
  std::map<Sent, Copies> sent;
  std::set<std::string> accounts;
  // incomplete: lines that do not say all of what was sent
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
      if (!parsed) throw std::invalid_argument("'" + word + "' is no order id");
      id = *parsed;
    }
    Told told_now;
    while (words >> word) read(word, told_now);
    const bool whole = told_now.account && told_now.symbol && told_now.shares && told_now.limit;
    if (!answered && !whole)
      throw std::invalid_argument(
          "an order that was not answered needs account, symbol, amount and limit");
    if (told_now.account) accounts.insert(*told_now.account);
    if (whole) {
      Copies& copies = sent[{*told_now.account, *told_now.symbol, *told_now.side,
                             told_now.shares->units(), told_now.limit->units()}];
      ++(answered ? copies.acknowledged : copies.unanswered);
    }
    if (!answered)
      ++unanswered;
    else if (!told.emplace(id, told_now).second)
      twice.push_back(id);
    incomplete += answered && !whole;
  }

  static void read(const std::string& word, Told& told) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals),
                      value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto shares = [&](const std::string& text) {
      const auto parsed = parse_shares(text);
      if (!parsed) throw std::invalid_argument("'" + word + "' holds no number");
      return parsed.value;
    };
    if (key == "account" && parse_account_id(value)) {
      told.account = value;
    } else if (key == "symbol" && parse_symbol_name(value)) {
      told.symbol = value;
    } else if (key == "amount") {
      const Shares amount = shares(value);
      told.side = amount > Shares() ? Side::buy : Side::sell;
      told.shares = amount > Shares() ? amount : Shares() - amount;
    } else if (key == "limit" && parse_price(value)) {
      told.limit = parse_price(value).value;
    } else if (key == "open") {
      told.open = shares(value);
    } else if (key == "canceled") {
      told.canceled = shares(value);
    } else if (key == "executed") {
      told.executed = shares(value);
    } else {
      throw std::invalid_argument(
          "'" + word +
          "' is none of account=, symbol=, amount=, limit=, open=, canceled=, executed=");
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
      violation(id, "was told to clients as the id of two orders");
    std::uint64_t checked = 0, beyond = 0;
    for (auto at = lines_.told.begin(); at != lines_.told.end();) {
      std::map<OrderId, OrderRow> rows;
      std::string ids;
      const auto first = at;
      for (std::size_t some = 0; some < orders_at_once && at != lines_.told.end(); ++at, ++some)
        ids += (ids.empty() ? "" : ",") + std::to_string(at->first);
      for (const auto found =
               source_.tables(std::string(select_orders) + " WHERE id IN (" + ids + ")");
           found->next();)
        try {
          const OrderRow row = read_order(*found);
          rows[row.id] = row;
        } catch (const BadValue&) {  // reported with the tables
        }
      for (auto told = first; told != at; ++told) {
        if (const auto newer = after_.orders.find(told->first); newer != after_.orders.end())
          rows[told->first] = newer->second;
        const auto row = rows.find(told->first);
        if (row == rows.end() && !after_.known && told->first > tables_orders_) {
          ++beyond;
          continue;
        }
        ++checked;
        if (row == rows.end())
          violation(told->first, "was acknowledged and is lost");
        else
          compare(row->second, told->second);
      }
    }
    findings_.count("acknowledged orders found", checked);
    if (beyond > 0)
      findings_.not_checked(
          std::to_string(beyond) +
          " acknowledged orders: newer than the tables, and the journal cannot be read or followed");
  }

  // Counts the store's orders of the file's accounts by what was sent.
  void check_complete(std::map<Sent, Copies> sent) {
    if (lines_.incomplete > 0)
      return findings_.not_checked(
          "whether orders are there twice: " + std::to_string(lines_.incomplete) +
          " lines lack account, symbol, amount or limit");
    if (!after_.known)
      return findings_.not_checked(
          "whether orders are there twice: the journal cannot be read or followed");
    const auto count = [&](const OrderRow& row) {
      const auto account = accounts_.find(row.account);
      if (account == accounts_.end() || !lines_.accounts.contains(account->second)) return;
      const auto entry = sent.find(
          {account->second, symbols_[row.symbol], row.side, row.shares.units(), row.limit.units()});
      if (entry == sent.end())
        return violation(row.id, "is of account " + account->second + ", which never sent it");
      Copies& copies = entry->second;
      if (++copies.found > copies.acknowledged + copies.unanswered)
        violation(row.id, "is there " + std::to_string(copies.found) + " times and was sent " +
                              std::to_string(copies.acknowledged + copies.unanswered) + " times");
    };
    for (const auto rows = source_.tables(std::string(select_orders) + " ORDER BY id");
         rows->next();)
      try {
        count(read_order(*rows));
      } catch (const BadValue&) {  // reported with the tables
      }
    for (auto row = after_.orders.upper_bound(tables_orders_); row != after_.orders.end(); ++row)
      count(row->second);
    std::uint64_t unanswered_found = 0;
    for (const auto& [key, copies] : sent)
      if (copies.found > copies.acknowledged)
        unanswered_found += copies.found - copies.acknowledged;
    findings_.count("orders sent and not answered", lines_.unanswered);
    findings_.count("of them in the store", unanswered_found);
  }

 private:
  void violation(OrderId id, const std::string& problem) {
    findings_.violation("acknowledged", row_name("orders", id), problem);
  }

  void compare(const OrderRow& row, const Told& told) {
    const auto account = accounts_.find(row.account);
    const Int128 executed = Int128(row.shares.units()) - row.open.units() - row.canceled.units();
    const auto expect = [&](bool sound, const std::string& problem) {
      if (!sound) violation(row.id, problem);
    };
    expect(!told.account || (account != accounts_.end() && account->second == *told.account),
           "is not of account " + told.account.value_or(""));
    expect(!told.symbol || symbols_[row.symbol] == *told.symbol,
           "is not on symbol " + told.symbol.value_or(""));
    expect(!told.side || row.side == *told.side, "is on the other side");
    expect(!told.shares || row.shares == *told.shares, "is of other shares than were acknowledged");
    expect(!told.limit || row.limit == *told.limit, "has another limit than was acknowledged");
    expect(!told.open || row.open <= *told.open, "has more open than a client was told");
    expect(!told.canceled || *told.canceled == Shares() || row.canceled == *told.canceled,
           "is not canceled as a client was told");
    expect(!told.executed || executed >= told.executed->units(),
           "has executed less than a client was told");
  }

  Source& source_;
  const OrderId tables_orders_;
  const AfterTables& after_;
  const Lines& lines_;
  Findings& findings_;
  std::map<AccountNumber, std::string> accounts_;
  std::map<SymbolNumber, std::string> symbols_;
};

}  // namespace

void check_acknowledged(Source& source, const TablesImage& image, const AfterTables& after,
                        const std::string& file, bool complete, Findings& findings) {
  const Lines lines(file);
  findings.count("acknowledged orders", lines.told.size());
  AcknowledgedCheck check(source, image, after, lines, findings);
  check.check_each();
  if (complete) check.check_complete(lines.sent);
}

}  // namespace exchange::audit
