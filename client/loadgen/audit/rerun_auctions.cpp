// Halts and auctions in the rerun (docs/protocol.md, I6 and A1 to A7).

#include <algorithm>

#include "client/loadgen/audit/rerun.hpp"

namespace exchange::run_audit {
namespace {

// The largest number of cancels in flight when an auction ended: each of them doubles the number of
// possible results.
constexpr std::size_t unsure_max = 10;

std::int32_t cents_of(Price price) {
  return std::int32_t(price.units() / (Price::whole(1).units() / 100));
}

}  // namespace

// Handles an order that arrives while the symbol is not open.
void Rerun::collect(std::uint32_t order, Book& book) {
  const Terms terms = terms_of(order);
  const bool waits = terms == Terms::market ? evidence_.orders[order].amount < 0
                                            : !never_rests(terms) && terms != Terms::post;
  if (book.trading != Trading::halted && waits) return rest(order, book);
  findings_.add(
      Check::executions,
      "The server opened " + name(order) +
          (book.trading == Trading::halted ? " while trading was halted (I6)."
           : terms == Terms::market        ? " in an auction without a highest price (A3)."
                                    : " in an auction, where such an order is refused (A2)."));
  book.abandoned = true;
}

void Rerun::change_trading(const TradingRecord& record) {
  Book& book = books_[record.symbol];
  if (book.abandoned) return;
  const Trading before = book.trading;
  book.trading = record.trading;
  if (record.trading == Trading::open && before != Trading::open)
    uncross(record, book);
  else if (record.shares > 0)
    add_wrong_auction(record, {}, {});
  if (collects(before) && !collects(record.trading)) cancel_market_orders(record, book);
}

void Rerun::uncross(const TradingRecord& record, Book& book) {
  const Collected collected = take_collected(record, book);
  if (collected.unsure.size() > unsure_max) {
    undecided_.insert(record.symbol);
    book.abandoned = true;
    return;
  }
  for (std::uint32_t left = 0; left < 1u << collected.unsure.size(); ++left) {
    std::vector<std::uint32_t> orders = collected.orders;
    std::vector<std::uint32_t> gone;
    for (std::size_t i = 0; i < collected.unsure.size(); ++i)
      if (left >> i & 1)
        gone.insert(gone.end(), collected.unsure[i].begin(), collected.unsure[i].end());
    std::sort(gone.begin(), gone.end());
    std::erase_if(orders, [&](std::uint32_t order) {
      return std::binary_search(gone.begin(), gone.end(), order);
    });
    if (!comes_out_as_reported(orders, right_result(auction_orders(orders), book), record))
      continue;
    for (const std::uint32_t order : gone) take_out(order);
    return execute_auction(orders, book);
  }
  add_wrong_auction(record, collected.orders, right_result(auction_orders(collected.orders), book));
}

// Whether the order was canceled before: the times show it, or its limit would have made it
// execute.
bool Rerun::had_left(std::uint32_t order, const TradingRecord& record) const {
  const Observation* const request = evidence_.cancel_of(order);
  if (!request || !may_have_left(order) || request->sent_ns > record.answered_ns) return false;
  const bool buy = evidence_.orders[order].amount > 0;
  const std::int32_t limit = limit_cents_[order], price = record.price_cents;
  return request->answered_ns < record.sent_ns ||
         (record.shares > 0 && (buy ? limit > price : limit < price));
}

// Returns the orders whose limit reaches the best limit of the other side, in the order of the
// book. Takes out the orders that were canceled before.
Rerun::Collected Rerun::take_collected(const TradingRecord& record, Book& book) {
  std::vector<std::uint32_t> gone;
  for (const Side* side : {&book.buys, &book.sells})
    for (const auto& [rank, line] : *side)
      std::copy_if(line.begin(), line.end(), std::back_inserter(gone),
                   [&](std::uint32_t order) { return had_left(order, record); });
  for (const std::uint32_t order : gone) {
    leave_with_others(order, now_);
    take_out(order);
  }
  Collected collected;
  std::map<std::uint32_t, std::vector<std::uint32_t>> together;  // by cancel of all
  for (const auto& [own, other] :
       {std::pair(&book.buys, &book.sells), std::pair(&book.sells, &book.buys)})
    for (const auto& [rank, line] : *own) {
      if (other->empty() || rank + other->begin()->first > 0) break;
      for (const std::uint32_t order : line) {
        collected.orders.push_back(order);
        if (const Observation* const request = evidence_.cancel_of(order);
            request && may_have_left(order) && request->sent_ns <= record.answered_ns) {
          const auto with = evidence_.canceled_with.find(order);
          if (with != evidence_.canceled_with.end())
            together[with->second].push_back(order);
          else
            collected.unsure.push_back({order});
        }
      }
    }
  for (auto& [cancel, orders] : together) collected.unsure.push_back(std::move(orders));
  return collected;
}

std::vector<AuctionOrder> Rerun::auction_orders(const std::vector<std::uint32_t>& orders) const {
  std::vector<AuctionOrder> all;
  for (const std::uint32_t order : orders) {
    std::optional<Price> limit;
    if (terms_of(order) != Terms::market) limit = price_of(limit_cents_[order]);
    all.push_back({evidence_.orders[order].amount > 0 ? exchange::Side::buy : exchange::Side::sell,
                   limit, Shares::whole(open_[order]), all.size() + 1});
  }
  return all;
}

std::optional<AuctionResult> Rerun::right_result(const std::vector<AuctionOrder>& orders,
                                                 const Book& book) {
  return auction(orders,
                 book.last_cents > 0 ? std::optional(price_of(book.last_cents)) : std::nullopt);
}

// Whether the reply and the orders report exactly this result. If so, counts the executions of the
// orders.
bool Rerun::comes_out_as_reported(const std::vector<std::uint32_t>& orders,
                                  const std::optional<AuctionResult>& right,
                                  const TradingRecord& record) {
  if (!right) return record.shares == 0;
  const std::int32_t cents = cents_of(right->price);
  if (record.price_cents != cents || Shares::whole(record.shares) != right->volume) return false;
  std::vector<std::uint32_t> counted;
  std::optional<std::uint32_t> time;
  for (const AuctionExecution& one : right->executions) {
    for (const std::uint32_t order : {orders[one.buy], orders[one.sell]}) {
      Fill wanted{std::int32_t(one.shares.units() / Shares::whole(1).units()), cents, 0};
      if (const Fill* const next = next_reported(order)) wanted.time = time.value_or(next->time);
      time = wanted.time;
      if (reading_.any_listing && next_reported(order)) list_first(order, wanted);
      const Fill* const reported = next_reported(order);
      if (!reported || *reported != wanted) {
        for (const std::uint32_t back : counted) --executed_[back];
        return false;
      }
      ++executed_[order];
      counted.push_back(order);
    }
  }
  return true;
}

// Applies the executions of these orders that were counted since the last time.
void Rerun::execute_auction(const std::vector<std::uint32_t>& orders, Book& book) {
  for (const std::uint32_t order : orders) {
    std::int32_t executed = 0;
    const auto fills = evidence_.fills_of(order).first(executed_[order]);
    for (const Fill& fill : fills) executed += fill.shares;
    const std::int32_t open = shares_[order] - executed;
    if (open == open_[order]) continue;
    stay_with_others(order);
    open_[order] = open;
    book.last_cents = fills.back().price_cents;
    if (open == 0) take_out(order);
    compare_with_observations(order, now_);
  }
}

void Rerun::cancel_market_orders(const TradingRecord& record, Book& book) {
  if (book.abandoned) return;
  std::vector<std::uint32_t> left;
  for (const auto& [rank, line] : book.sells)
    std::copy_if(line.begin(), line.end(), std::back_inserter(left),
                 [&](std::uint32_t order) { return terms_of(order) == Terms::market; });
  for (const std::uint32_t order : left) {
    const Observation* const request = evidence_.cancel_of(order);
    if (may_have_left(order) && !(request && request->sent_ns > record.answered_ns)) {
      take_out(order);
      continue;
    }
    findings_.add(Check::executions, "When the auction of " + evidence_.symbol_name(record.symbol) +
                                         " ended, the rest of " + name(order) +
                                         " was not canceled (A6).");
    book.abandoned = true;
    return;
  }
}

void Rerun::add_wrong_auction(const TradingRecord& record, const std::vector<std::uint32_t>& orders,
                              const std::optional<AuctionResult>& right) {
  const auto text = [](std::int64_t shares, std::int32_t cents) {
    return shares == 0 ? std::string("nothing")
                       : std::to_string(shares) + " at " + to_string(price_of(cents));
  };
  const std::int64_t volume = right ? right->volume.units() / Shares::whole(1).units() : 0;
  const std::int32_t cents = right ? cents_of(right->price) : 0;
  std::string sentence = "When " + evidence_.symbol_name(record.symbol) + " became " +
                         std::string(to_string(record.trading)) + ", by the rules " +
                         text(volume, cents) + " is executed (A4)";
  if (volume != record.shares || cents != record.price_cents) {
    sentence += "; the server replied " + text(record.shares, record.price_cents) + ".";
  } else if (right) {
    std::vector<std::uint32_t> counts = executed_;
    for (const AuctionExecution& one : right->executions)
      for (const std::uint32_t order : {orders[one.buy], orders[one.sell]}) {
        const auto shares = std::int32_t(one.shares.units() / Shares::whole(1).units());
        const std::uint32_t at = counts[order]++;
        const Fill* const got =
            at < evidence_.states[order].fills ? &evidence_.fills_of(order)[at] : nullptr;
        if (got && got->shares == shares && got->price_cents == cents) continue;
        findings_.add(Check::executions, sentence + ", of " + name(order) + " " +
                                             text(shares, cents) + " (A5); the server reported " +
                                             (got ? text_of(*got) : "no further execution") + ".");
        books_[record.symbol].abandoned = true;
        return;
      }
    sentence += "; the server reported different times of it.";
  }
  findings_.add(Check::executions, sentence);
  books_[record.symbol].abandoned = true;
}

}  // namespace exchange::run_audit
