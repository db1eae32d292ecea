#include "client/loadgen/trading_days.hpp"

#include <chrono>
#include <thread>

#include "client/connection/command_line.hpp"
#include "client/connection/framing.hpp"
#include "client/connection/results.hpp"
#include "client/loadgen/audit/deviations.hpp"
#include "client/loadgen/audit/order_ids.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::loadgen {
namespace {

constexpr std::int32_t marker_cents = 1;
constexpr auto pause_max = std::chrono::milliseconds(20);  // between two checks of the flag

// The first symbol after those that are traded.
unsigned marker_symbol(const Workload& workload) { return workload.options().symbols + 1; }

std::string change_element(const Workload& workload, unsigned symbol, Trading trading) {
  return write_element(
      SetInstrument{.symbol = SymbolName(workload.symbol_name(symbol)), .trading = trading});
}

// Takes the next reply from `rest`, which must contain one.
std::string_view take_reply(std::string_view& rest) {
  std::size_t scanned = 0;
  const client::ReplyEnd reply = client::find_reply(rest, scanned);
  const std::string_view document = rest.substr(0, reply.end).substr(reply.begin);
  rest.remove_prefix(reply.end);
  return document;
}

bool has_replies(std::string_view text, unsigned count) {
  for (; count > 0; --count) {
    std::size_t scanned = 0;
    const client::ReplyEnd reply = client::find_reply(text, scanned);
    if (reply.state == client::ReplyEnd::State::bad) throw client::BadReply(std::string(text));
    if (reply.state == client::ReplyEnd::State::incomplete) return false;
    text.remove_prefix(reply.end);
  }
  return true;
}

// Returns 0 if the order was refused.
std::uint64_t opened_id(std::string_view reply) {
  client::ReplyElements elements(reply);
  client::ReplyElement element;
  return elements.next(element) && element.name == "opened" ? number_of_id(element.attribute("id"))
                                                            : 0;
}

}  // namespace

TradingDays::TradingDays(const LoadOptions& load, const Workload& workload,
                         client::Servers& servers)
    : load_(load),
      workload_(workload),
      servers_(servers),
      random_(workload.options().seed, 0x7261'6469'6e67),
      trading_(workload.options().symbols, Trading::open) {}

void TradingDays::run(const Ticks& ticks, std::stop_token over) {
  ticks_ = &ticks;
  const auto period = std::int64_t(*load_.trading_days_s * 1e9);
  for (std::int64_t next = period; !over.stop_requested();) {
    const std::int64_t wait = next - ticks.now();
    if (wait > 0) {
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(pause_max, std::chrono::nanoseconds(wait)));
      continue;
    }
    step();
    next = std::max(next + period, ticks.now());
  }
  for (unsigned symbol = 1; symbol <= trading_.size(); ++symbol)
    if (trading_[symbol - 1] != Trading::open && !change(symbol, Trading::open)) return;
}

// On average, of four steps on an open symbol three begin an auction; of four on another, three
// open it.
void TradingDays::step() {
  const unsigned symbol = 1 + random_.below(std::uint32_t(trading_.size()));
  const bool usual = random_.below(4) > 0;
  switch (trading_[symbol - 1]) {
    case Trading::open: change(symbol, usual ? Trading::auction : Trading::halted); break;
    case Trading::halted: change(symbol, usual ? Trading::open : Trading::auction); break;
    default: change(symbol, usual ? Trading::open : Trading::halted);
  }
}

// Returns an order that is never executed.
std::string TradingDays::marker() const {
  const PlaceOrder order(AccountId(workload_.account_id(0)),
                         SymbolName(workload_.symbol_name(marker_symbol(workload_))), Side::buy,
                         Shares::whole(1), Price::from_units(marker_cents * 1'000'000), {},
                         Lifetime::immediate_or_cancel);
  return write_transactions(workload_.account_id(0), write_element(order)) + "\n";
}

bool TradingDays::change(unsigned symbol, Trading trading) {
  std::vector<std::string> documents{write_creations(change_element(workload_, symbol, trading),
                                                     workload_.options().operator_key) +
                                     "\n"};
  if (load_.audit) documents = {marker(), documents.front(), marker()};
  const std::int64_t sent = ticks_->now();
  bool is_sent = false;
  try {
    if (!stream_) {
      stream_.emplace(client::connect_to(servers_, load_.timeout_s, never_), servers_.text(),
                      load_.timeout_s, never_);
      connection_ = next_connection();
    }
    std::string frames;
    std::vector<Transcript::Entry> entries;
    const auto monotonic = [&] {
      return (ticks_->start().time_since_epoch() + std::chrono::nanoseconds(ticks_->now())).count();
    };
    for (const std::string& document : documents) {
      frames += client::framed(document);
      if (load_.transcript)
        entries.push_back(
            transcript_.asked(Transcript::set_up, connection_, monotonic(), document));
    }
    is_sent = true;
    const std::string replies = stream_->send_and_receive(frames, [&](std::string_view text) {
      return has_replies(text, unsigned(documents.size()));
    });
    std::string_view rest = replies;
    for (const Transcript::Entry entry : entries)
      transcript_.answered(entry, monotonic(), take_reply(rest));
    record(symbol, trading, sent, replies);
    return true;
  } catch (const client::BadReply&) {
    stream_.reset();
    ++history_.wrongly_answered;
  } catch (const std::exception&) {  // the next step tries again, on a new connection
    stream_.reset();
    history_.unanswered += is_sent;
  }
  return false;
}

void TradingDays::record(unsigned symbol, Trading trading, std::int64_t sent,
                         std::string_view replies) {
  const std::int64_t answered = ticks_->now();
  TradingRecord record{.symbol = std::uint16_t(symbol),
                       .trading = trading,
                       .sent_ns = sent,
                       .answered_ns = answered};
  const auto take_marker = [&] {
    const std::uint64_t id = opened_id(take_reply(replies));
    if (id != 0)
      history_.orders.push_back({.id = id,
                                 .account = 0,
                                 .symbol = std::uint16_t(marker_symbol(workload_)),
                                 .terms = Terms::ioc,
                                 .amount = 1,
                                 .limit_cents = marker_cents,
                                 .sent_ns = sent,
                                 .answered_ns = answered});
    return id;
  };
  if (load_.audit) record.place = {take_marker(), Place::Side::after, 0};
  client::ReplyElements elements(take_reply(replies));
  client::ReplyElement element;
  if (!elements.next(element) || element.name != "created") {
    ++history_.wrongly_answered;
    return;
  }
  trading_[symbol - 1] = trading;
  const auto price = lenient_units(element.attribute("price")),
             volume = lenient_units(element.attribute("volume"));
  if (price && volume) {
    record.price_cents = std::int32_t(*price / 1'000'000);
    record.shares = *volume / Shares::whole(1).units();
  }
  if (!load_.audit) return;
  record.next_id = take_marker();
  history_.trading.push_back(record);
}

std::string set_up_trading_days(const Workload& workload) {
  const SymbolName markers(workload.symbol_name(marker_symbol(workload)));
  return write_creations(
             write_element(CreateSymbol{markers}) + change_element(workload, 1, Trading::open),
             workload.options().operator_key) +
         "\n";
}

}  // namespace exchange::loadgen
