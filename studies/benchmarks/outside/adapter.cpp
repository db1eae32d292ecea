// Puts the engine behind the C interface of flash1-dev/matching-engine-benchmark, with all that it
// does in the server: accounts, reservations, positions, digest, and rows handed over every
// `commands_per_batch` commands. README.md describes the build and the results. The interface is
// declared here, as that benchmark's api/matching_engine_api.h describes it. A tick is one unit of
// Price, and a quantity of 1 is one unit of Shares.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <variant>

#include <boost/unordered/unordered_flat_map.hpp>

#include "engine/exchange.hpp"
#include "engine/look_ahead.hpp"

extern "C" {

struct NewOrder {
  std::uint64_t order_id, sequence_number;
  std::int64_t price_ticks;
  std::uint32_t quantity;
  std::uint8_t side, ioc, reserved[2];
};
struct Cancel {
  std::uint64_t order_id, sequence_number;
};
struct Modify {
  std::uint64_t order_id, sequence_number;
  std::int64_t price_ticks;
  std::uint32_t quantity;
  std::uint8_t side, reserved[3];
};
// A report consists of pairs of words and is written in pairs: the transport copies it at once, in
// loads of 16 bytes, and each load would have to wait for two smaller stores.
using Words = std::uint64_t __attribute__((vector_size(16)));
struct Report {
  Words type_side_and_sequence_number, order_and_price, quantity_and_maker, taker_and_reserved;
};
struct Transport {
  void* (*create)(std::uint32_t capacity);
  int (*push)(void* handle, const Report* report);
  std::uint32_t (*drain)(void* handle, Report* out, std::uint32_t max);
  void (*flush)(void* handle);
  void (*destroy)(void* handle);
};

}  // extern "C"

namespace {

using namespace exchange;

enum Type : std::uint8_t { order_ack, trade, cancel_ack, modify_ack, cancel_reject, modify_reject };

constexpr unsigned commands_per_batch = 1'000;  // like a busy core thread
constexpr std::size_t ids_expected = 1 << 21;

// Holds as many pages as a server has ready beforehand (core/spare_pages.hpp).
class ReadyPages final : public PageSource {
 public:
  ReadyPages() {
    for (MappedPages& page : pages_) {
      page = map_huge_pages(1);
      std::fill_n(static_cast<volatile char*>(page.get()), huge_page, 0);
    }
  }
  MappedPages take_page() override {
    return next_ < std::size(pages_) ? std::move(pages_[next_++]) : MappedPages();
  }

 private:
  MappedPages pages_[8];
  std::size_t next_ = 0;
};

class Adapter {
 public:
  Adapter(std::uint64_t seed, const Transport* transport, void* sink)
      : exchange_(seed), push_(transport->push), sink_(sink) {
    for (const Side side : {Side::buy, Side::sell}) {
      const AccountId account(side == Side::buy ? "1" : "2");
      exchange_.apply(CreateAccount(account, Cash::from_units(int128_max / 4)), now_);
      exchange_.apply(PlaceShares{symbol, account, Shares::from_units(INT64_MAX / 4)}, now_);
      place_[int(side)] = PlaceOrder(account, symbol, side);
      cancel_[int(side)].account = replace_[int(side)].account = account;
      replace_[int(side)].side = side;
      LookAhead::locate(exchange_.state(), place_[int(side)], located_[int(side)]);
    }
    exchange_.take_pages_from(pages_);
    names_.resize(ids_expected);
  }

  void place(const NewOrder& order) {
    PlaceOrder& command = place_[order.side];
    command.lifetime = order.ioc ? Lifetime::immediate_or_cancel : Lifetime::until_canceled;
    command.shares = Shares::from_units(order.quantity);
    command.limit = Price::from_units(order.price_ticks);
    const ExecutionId before = exchange_.totals().executions;
    const OrderId id = exchange_.totals().orders + 1;
    exchange_.apply(command, now_, located_[int(command.side)]);
    report(order_ack, order.side, order.sequence_number, order.order_id, order.price_ticks,
           order.quantity);
    if (id >= names_.size()) names_.resize(2 * id);
    names_[id] = order.order_id;
    const std::uint32_t executed = report_executions(before, order.sequence_number);
    if (order.ioc) {
      if (executed < order.quantity)
        report(cancel_ack, order.side, order.sequence_number, order.order_id, order.price_ticks,
               order.quantity - executed);
    } else if (executed < order.quantity) {
      open_.emplace(order.order_id,
                    Open{id, order.price_ticks, executed, order.quantity, Side(order.side)});
    }
    end_command();
  }

  void cancel(const Cancel& order) {
    const auto found = open_.find(order.order_id);
    if (found == open_.end()) {
      report(cancel_reject, 0, order.sequence_number, order.order_id, 0, 0);
    } else {
      const Open open = found->second;
      open_.erase(found);
      CancelOrder& command = cancel_[int(open.side)];
      command.order = open.id;
      const Outcome outcome = exchange_.apply(command, now_, located_[int(open.side)]);
      report(cancel_ack, std::uint8_t(open.side), order.sequence_number, order.order_id, open.price,
             std::uint64_t(std::get<Canceled>(outcome).status.canceled.units()));
    }
    end_command();
  }

  void modify(const Modify& order) {
    const auto found = open_.find(order.order_id);
    if (found == open_.end()) {
      report(modify_reject, 0, order.sequence_number, order.order_id, 0, 0);
    } else {
      Open& open = found->second;
      open.price = order.price_ticks;
      open.shares = open.executed + order.quantity;
      ReplaceOrder& command = replace_[int(open.side)];
      command.order = open.id;
      command.shares = Shares::from_units(open.shares);
      command.limit = Price::from_units(order.price_ticks);
      const ExecutionId before = exchange_.totals().executions;
      exchange_.apply(command, now_, located_[int(open.side)]);
      report(modify_ack, std::uint8_t(open.side), order.sequence_number, order.order_id,
             order.price_ticks, order.quantity);
      open.executed += report_executions(before, order.sequence_number);
      if (open.executed == open.shares) open_.erase(order.order_id);
    }
    end_command();
  }

  const Exchange& exchange() const { return exchange_; }
  inline static const SymbolName symbol{"S"};

 private:
  struct Open {
    OrderId id;
    std::int64_t price;
    std::uint32_t executed, shares;
    Side side;
  };

  void report(Type type, std::uint8_t side, std::uint64_t sequence_number, std::uint64_t order,
              std::int64_t price, std::uint64_t quantity, std::uint64_t maker = 0,
              std::uint64_t taker = 0) {
    const Report report{{std::uint64_t(side) << 8 | type, sequence_number},
                        {order, std::uint64_t(price)},
                        {quantity, maker},
                        {taker, 0}};
    while (!push_(sink_, &report)) {
    }
  }
  // Returns the quantity that the taker executed.
  std::uint32_t report_executions(ExecutionId before, std::uint64_t sequence_number) {
    std::uint32_t executed = 0;
    for (const ExecutionRow& row : exchange_.executions_after(before)) {
      const bool buys = row.taker == Side::buy;
      const std::uint64_t maker = names_[buys ? row.sell_order : row.buy_order];
      const std::uint64_t taker = names_[buys ? row.buy_order : row.sell_order];
      const auto quantity = std::uint32_t(row.shares.units());
      const auto found = open_.find(maker);
      if ((found->second.executed += quantity) == found->second.shares) open_.erase(found);
      executed += quantity;
      report(trade, 0, sequence_number, 0, row.price.units(), quantity, maker, taker);
    }
    return executed;
  }
  void end_command() {
    if (++commands_ % commands_per_batch != 0) return;
    exchange_.release_closed(exchange_.take_changes(rows_));
    now_.microseconds += 1'000;
  }

  ReadyPages pages_;
  Exchange exchange_;
  int (*push_)(void* handle, const Report* report);
  void* sink_;
  Timestamp now_{1};
  PlaceOrder place_[2];
  CancelOrder cancel_[2];
  ReplaceOrder replace_[2];
  Located located_[2];  // the account of each side, and the symbol
  // By the benchmark's id, only for open orders: a table of all ids would not fit the cache.
  boost::unordered_flat_map<std::uint64_t, Open> open_;
  HugePageVector<std::uint64_t> names_;  // the benchmark's id, by the engine's
  Rows rows_;
  std::uint64_t commands_ = 0;
};

std::unique_ptr<Adapter> adapter;

std::int64_t best(Side side, std::int64_t none) {
  const auto price = adapter->exchange().best_price(Adapter::symbol, side);
  return price ? price->units() : none;
}

}  // namespace

#pragma GCC visibility push(default)  // all else may be hidden
extern "C" {

void engine_init(std::uint64_t seed, const Transport* transport, void* sink) {
  adapter = std::make_unique<Adapter>(seed, transport, sink);
}
void engine_shutdown() { adapter.reset(); }
void engine_on_new_order(const NewOrder* order) { adapter->place(*order); }
void engine_on_cancel(const Cancel* order) { adapter->cancel(*order); }
void engine_on_modify(const Modify* order) { adapter->modify(*order); }
void engine_flush() {}
std::int64_t engine_query_best_bid() { return best(Side::buy, INT64_MIN); }
std::int64_t engine_query_best_ask() { return best(Side::sell, INT64_MAX); }
std::uint64_t engine_query_depth_at(std::int64_t price_ticks, std::uint8_t side) {
  return std::uint64_t(adapter->exchange()
                           .depth_at(Adapter::symbol, Side(side), Price::from_units(price_ticks))
                           .shares_units);
}

}  // extern "C"
#pragma GCC visibility pop
