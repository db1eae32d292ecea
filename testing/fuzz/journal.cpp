// Bytes as journal rows, with their checksum put right, so that what stands behind it is tested.
// - decode_journal_record throws StoreCorrupt or gives a record that encodes to the same bytes:
// what
//   JournalWriter cannot have written is refused, and a record has one form.
// - recover() over a store with such rows, and with tables out of the same bytes, throws
//   StoreCorrupt or gives an exchange that is sound and goes on trading, whatever the numbers
//   claim.
// Input: a byte that chooses one row as it is, or rows behind tables, each made of fields.

#include <optional>

#include "core/recovery.hpp"
#include "fuzz/fuzz.hpp"
#include "journal/journal_record.hpp"
#include "journal/store_format.hpp"
#include "judge/model/print.hpp"
#include "store/memory/memory_store.hpp"
#include "support/sealed_record.hpp"

namespace exchange::fuzz {
namespace {

std::optional<JournalRecord> decode(std::string_view payload) {
  try {
    return decode_journal_record(payload);
  } catch (const StoreCorrupt&) {
    return {};
  }
}

void check_canonical(std::string_view payload) {
  const auto record = decode(payload);
  if (!record) return;
  JournalWriter writer;
  writer.begin(record->time);
  std::string commands;
  for (const Command& command : record->commands) {
    writer.add(command);
    commands += print(command) + "\n";
  }
  HOLDS(writer.finish({.orders = record->orders,
                       .executions = record->executions,
                       .digest = record->digest}) == payload,
        commands);
}

// A memory store with tables of any content, as a file on a disk may have.
class ForgedStore final : public MemoryStore {
 public:
  explicit ForgedStore(Rows rows) : rows_(std::move(rows)) { open(); }
  TablesImage load() override { return {rows_, 0}; }

 private:
  const Rows rows_;
};

std::optional<Recovered> recovered(Store& store) {
  try {
    return recover(store);
  } catch (const StoreCorrupt&) {
    return {};
  }
}

AccountId account_of(unsigned number) { return AccountId(std::to_string(1 + number)); }
constexpr unsigned accounts = 4;

// Apart from the engine's own proof: no account holds what was never created.
void check_cash(const Exchange& exchange) {
  Int128 left = exchange.totals().cash_created.units();
  for (unsigned number = 0; number < accounts; ++number) {
    const Int128 balance = exchange.balance(account_of(number)).units();
    HOLDS(balance >= 0 && balance <= left,
          "account " + std::to_string(1 + number) + " has " + units_text(balance) + " units");
    left -= balance;
  }
}

// Whatever came out of the store must be an exchange that works.
void check_recovery(Store& store) {
  auto first = recovered(store);
  if (!first) return;
  Exchange& exchange = first->exchange;
  HOLDS(exchange.check_invariants().empty(), exchange.check_invariants());
  check_cash(exchange);
  const Timestamp now{exchange.totals().last_time};
  const AccountId account("424242");
  exchange.apply(CreateAccount{account, Cash::whole(100)}, now);
  exchange.apply(PlaceShares{SymbolName("S1"), account, Shares::whole(10)}, now);
  for (const Side side : {Side::sell, Side::buy})
    for (const std::int64_t price : {1, 5, 2})
      exchange.apply(
          PlaceOrder{account, SymbolName("S1"), side, Shares::whole(2), Price::whole(price)}, now);
  for (OrderId order = exchange.totals().orders; order > 0 && order + 8 > exchange.totals().orders;
       --order)
    exchange.apply(CancelOrder{account, order}, now);
  HOLDS(exchange.check_invariants().empty(), exchange.check_invariants());
}

// --- tables and records out of fields ---

// Rows and commands that refer to each other more often than not.
class Fields {
 public:
  explicit Fields(Bytes& bytes) : bytes_(bytes) {}

  std::int64_t units() {
    const std::uint8_t byte = bytes_.byte();
    if (byte < 160) return (byte % 16) * 100'000'000;
    if (byte < 200) return byte - 180;
    if (byte < 210) return INT64_MAX - (byte - 200);
    if (byte < 220) return INT64_MIN + (byte - 210);
    return std::int64_t(bytes_.word());
  }
  Int128 wide_units() {
    const std::uint8_t byte = bytes_.byte();
    if (byte < 200) return Int128(byte % 64) * 10'000'000'000'000'000;
    if (byte < 210) return int128_max - (byte - 200);
    if (byte < 220) return int128_max / 2 + 1;
    const std::uint64_t high = bytes_.word();
    return Int128(UInt128(high) << 64 | bytes_.word());
  }
  // Short, or longer than any: what lies between takes memory by its own right (IdIndex).
  std::uint64_t count() {
    const std::uint8_t byte = bytes_.byte();
    return byte < 200   ? byte % 32
           : byte < 220 ? UINT64_MAX - (byte - 200)
           : byte < 240 ? bytes_.word() % 100'000
                        : order_ids_max + 1 + bytes_.word() / 2;
  }
  std::uint32_t number() {
    const std::uint8_t byte = bytes_.byte();
    return byte < 240 ? byte % 4 : std::uint32_t(bytes_.word());
  }
  AccountId account() { return account_of(bytes_.below(accounts)); }
  SymbolName symbol() { return SymbolName("S" + std::to_string(1 + bytes_.below(3))); }
  Timestamp time() { return {units()}; }
  OptionalReference reference() { return OrderReference("R" + std::to_string(bytes_.below(3))); }
  Side side() { return Side(bytes_.below(2)); }

  Rows tables() {
    Rows rows;
    for (unsigned i = 0, end = bytes_.below(4); i < end; ++i)
      rows.accounts.push_back({chance() ? number() : i, account(), Cash::from_units(wide_units())});
    for (unsigned i = 0, end = bytes_.below(4); i < end; ++i)
      rows.symbols.push_back({chance() ? number() : i, symbol(), Shares::from_units(units())});
    for (unsigned i = 0, end = bytes_.below(4); i < end; ++i)
      rows.positions.push_back({number(), number(), Shares::from_units(units())});
    for (unsigned i = 0, end = bytes_.below(6); i < end; ++i) {
      const Shares open = Shares::from_units(units());
      rows.orders.push_back({chance() ? count() : i + 1, number(), number(), side(),
                             chance() ? Shares::from_units(units()) : open,
                             Price::from_units(units()), open,
                             chance() ? Shares::from_units(units()) : Shares(), time(), time(),
                             chance() ? count() : i + 1});
    }
    for (unsigned i = 0, end = bytes_.below(4); i < end; ++i)
      rows.executions.push_back({chance() ? count() : i + 1, number(), count(), count(),
                                 Shares::from_units(units()), Price::from_units(units()), time()});
    for (unsigned i = 0, end = bytes_.below(4); i < end; ++i)
      rows.references.push_back({number(), chance() ? count() : i + 1, *reference(), number(),
                                 side(), Shares::from_units(units()), Price::from_units(units())});
    rows.totals = {count(), count(), Cash::from_units(wide_units()), time(), bytes_.word()};
    if (!chance()) balance(rows);
    return rows;
  }

  // A record with what `exchange` would be after it, if there is one.
  std::string record(Exchange* exchange) {
    JournalWriter writer;
    const Timestamp now = time();
    writer.begin(now);
    for (unsigned i = 0, end = bytes_.below(16); i < end; ++i) {
      const Command command = next();
      writer.add(command);
      if (exchange != nullptr) exchange->apply(command, now);
    }
    return std::string(writer.finish(exchange != nullptr
                                         ? exchange->totals()
                                         : Totals{count(), count(), {}, {}, bytes_.word()}));
  }

 private:
  bool chance() { return bytes_.byte() > 224; }
  Command next() {
    const auto positive = [&] { return std::max<std::int64_t>(units(), 1); };
    switch (bytes_.below(10)) {
      case 0: return CreateAccount{account(), Cash::from_units(std::max<Int128>(wide_units(), 0))};
      case 1: return CreateSymbol{symbol()};
      case 2: return PlaceShares{symbol(), account(), Shares::from_units(positive())};
      case 3:
        return PlaceOrder{account(), symbol(), side(), Shares::from_units(positive()),
                          Price::from_units(positive())};
      case 4:
        return PlaceOrder{account(),
                          symbol(),
                          side(),
                          Shares::from_units(positive()),
                          Price::from_units(positive()),
                          reference()};
      case 5: return CancelOrder{account(), 0, reference()};
      case 6: {
        PlaceOrder order{account(), symbol(), side(), Shares::from_units(positive()),
                         Price::from_units(positive())};
        order.lifetime = Lifetime(bytes_.below(3));
        order.post_only = chance();
        order.self_trade = SelfTrade(bytes_.below(3));
        if (chance()) order.limit = Price(), order.lifetime = Lifetime::immediate_or_cancel;
        if (chance()) order.reference = reference();
        return order;
      }
      case 7: return CancelAll{account(), chance() ? std::optional(symbol()) : std::nullopt};
      case 8: {
        ReplaceOrder replace{.account = account(),
                             .side = side(),
                             .order = count(),
                             .shares = Shares::from_units(positive()),
                             .limit = Price::from_units(positive())};
        if (chance()) replace.order = 0, replace.reference = reference();
        return replace;
      }
      default: return CancelOrder{account(), count()};
    }
  }

  // Makes the sums agree, as far as numbers allow: a forger can add up, and so can a broken disk by
  // chance.
  static void balance(Rows& rows) {
    UInt128 cash = 0;
    std::vector<std::uint64_t> shares(rows.symbols.size());
    for (const AccountRow& row : rows.accounts) cash += UInt128(row.balance.units());
    for (const PositionRow& row : rows.positions)
      if (row.symbol < shares.size()) shares[row.symbol] += std::uint64_t(row.shares.units());
    for (const OrderRow& row : rows.orders) {
      if (row.side == Side::buy) cash += UInt128(Int128(row.open.units()) * row.limit.units());
      if (row.side == Side::sell && row.symbol < shares.size())
        shares[row.symbol] += std::uint64_t(row.open.units());
      rows.totals.orders = std::max(rows.totals.orders, row.id);
    }
    rows.totals.cash_created = Cash::from_units(Int128(cash));
    for (std::size_t i = 0; i < shares.size(); ++i)
      rows.symbols[i].shares_total = Shares::from_units(std::int64_t(shares[i]));
  }

  Bytes& bytes_;
};

// Tables, then rows of the journal behind them.
void run_store(Bytes& bytes) {
  Fields fields(bytes);
  ForgedStore store(fields.tables());
  BatchNumber batch = 0;
  while (!bytes.empty() && batch < 8) {
    const std::uint8_t how = bytes.byte();
    auto so_far = how % 4 == 0 ? std::nullopt : recovered(store);
    const std::string payload = fields.record(so_far ? &so_far->exchange : nullptr);
    store.append(how == 255 ? batch + 2 : batch + 1, payload);
    if (how == 255) break;  // a gap
    ++batch;
  }
  check_recovery(store);
}

// One row behind empty tables.
void run_payload(const std::string& payload) {
  check_canonical(payload);
  ForgedStore store({});
  store.append(1, payload);
  check_recovery(store);
}

}  // namespace
}  // namespace exchange::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace exchange;
  fuzz::Bytes bytes(data, size);
  switch (bytes.below(4)) {
    case 0: fuzz::run_payload(std::string(bytes.rest())); break;
    case 1: fuzz::run_payload(testing::sealed(std::string(bytes.rest()))); break;
    // of the right version
    case 2:
      fuzz::run_payload(testing::sealed(char(store_format) + std::string(bytes.rest())));
      break;
    default: fuzz::run_store(bytes);
  }
  return 0;
}
