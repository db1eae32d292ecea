// Bytes as journal rows with a correct checksum, so that the code behind the checksum is tested.
// - decode_journal_record throws StoreCorrupt or gives a record that encodes to the same bytes: it
//   refuses what JournalWriter cannot have written, and a record has only one form.
// - recover() over a store with such rows, and with tables made from the same bytes, throws
//   StoreCorrupt or gives a sound exchange that continues to trade, whatever the numbers claim.
// Input: a byte that chooses one row of the input's bytes, or rows behind tables, each made of
// fields.

#include <optional>

#include "core/recovery.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/written_command.hpp"
#include "journal/journal_record.hpp"
#include "journal/store_errors.hpp"
#include "model/draw.hpp"
#include "model/print.hpp"
#include "store/memory/memory_store.hpp"
#include "support/journal_rows.hpp"

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

// A memory store with tables of any content, such as a file on a disk may contain.
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

// Checks, apart from the engine's own invariants, that no account holds cash that was never
// created.
void check_cash(const Exchange& exchange) {
  Int128 left = exchange.totals().cash_created.units();
  for (unsigned number = 0; number < accounts; ++number) {
    const Int128 balance = exchange.balance(account_of(number)).units();
    HOLDS(balance >= 0 && balance <= left,
          "account " + std::to_string(1 + number) + " has " + units_text(balance) + " units");
    left -= balance;
  }
}

// If recovery succeeds, the exchange must work.
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

// Draws rows and commands that usually refer to each other.
class Fields {
 public:
  explicit Fields(Bytes& bytes) : bytes_(bytes) {}

  Rows tables() {
    Rows rows;
    for_each_member<Rows>([&](auto member) {
      auto& table = rows.*member.pointer;
      using Row = std::remove_reference_t<decltype(table.front())>;
      const unsigned end = bytes_.below(6);
      for (row_ = 0; row_ < end; ++row_) table.push_back(exchange::draw<Row>(*this));
    });
    rows.totals = totals();
    for (OrderRow& order : rows.orders) {
      if (!chance()) order.shares = order.open;
      if (!chance()) order.canceled = Shares();
    }
    if (!chance()) balance(rows);
    return rows;
  }

  // Draws a record. Its totals are those of `exchange` after it; without an exchange they are
  // drawn.
  std::string record(Exchange* exchange) {
    JournalWriter writer;
    Timestamp now;
    draw(now, "");
    writer.begin(now);
    least_units_ = 1;
    for (unsigned i = 0, end = bytes_.below(16); i < end; ++i) {
      const Command command = draw_command(bytes_.below(command_kinds), *this);
      if (!is_journaled(command)) continue;
      writer.add(command);
      if (exchange != nullptr) exchange->apply(command, now);
    }
    return std::string(writer.finish(exchange != nullptr ? exchange->totals() : totals()));
  }

 private:
  template <class Struct, class Source>
  friend Struct exchange::draw(Source& source);

  bool chance() { return bytes_.byte() > 224; }
  Totals totals() {
    Totals totals = exchange::draw<Totals>(*this);
    totals.digest = bytes_.word();
    return totals;
  }
  std::int64_t units() {
    const std::uint8_t byte = bytes_.byte();
    if (byte < 160) return (byte % 16) * 100'000'000;
    if (byte < 200) return byte - 180;
    if (byte < 210) return INT64_MAX - (byte - 200);
    if (byte < 220) return INT64_MIN + (byte - 210);
    return std::int64_t(bytes_.word());
  }
  template <class Number>
  requires std::same_as<Number, Shares> || std::same_as<Number, Price>
  void draw(Number& number, std::string_view) {
    number = Number::from_units(std::max(units(), least_units_));
  }
  void draw(std::optional<OrderReference>&, std::string_view) {}  // no column
  void draw(Cash& cash, std::string_view) {
    const std::uint8_t byte = bytes_.byte();
    Int128 units = Int128(byte % 64) * 10'000'000'000'000'000;
    if (byte >= 220) {
      const std::uint64_t high = bytes_.word();
      units = Int128(UInt128(high) << 64 | bytes_.word());
    } else if (byte >= 200) {
      units = byte < 210 ? int128_max - (byte - 200) : int128_max / 2 + 1;
    }
    cash = Cash::from_units(least_units_ > 0 ? std::max<Int128>(units, 0) : units);
  }
  // Draws a number that is small, or larger than any valid id: the numbers between are allowed to
  // take memory (IdIndex). The numbers of rows are mostly the next ones.
  void draw(std::uint64_t& count, std::string_view name) {
    if ((name == "id" || name == "place") && !chance()) return void(count = row_ + 1);
    const std::uint8_t byte = bytes_.byte();
    count = byte < 200   ? byte % 32
            : byte < 220 ? UINT64_MAX - (byte - 200)
            : byte < 240 ? bytes_.word() % 100'000
                         : order_ids_max + 1 + bytes_.word() / 2;
  }
  void draw(std::uint32_t& number, std::string_view name) {
    if (name == "number" && !chance()) return void(number = row_);
    const std::uint8_t byte = bytes_.byte();
    number = byte < 240 ? byte % 4 : std::uint32_t(bytes_.word());
  }
  void draw(AccountId& id, std::string_view) { id = account_of(bytes_.below(accounts)); }
  void draw(SymbolName& name, std::string_view) {
    name = SymbolName("S" + std::to_string(1 + bytes_.below(3)));
  }
  void draw(AccountName& name, std::string_view) {
    name = AccountName(std::string(bytes_.below(3), 'N'));
  }
  void draw(OrderReference& reference, std::string_view) {
    reference = OrderReference("R" + std::to_string(bytes_.below(3)));
  }
  template <class Optional>
  requires requires(Optional& optional) { *optional; }
  void draw(Optional& optional, std::string_view) {
    std::remove_cvref_t<decltype(*optional)> value;
    if (bytes_.below(4) != 0) return;
    draw(value, "");
    optional = value;
  }
  void draw(KeyHash& key, std::string_view) {
    if (chance()) key.log2_n = bytes_.byte();
  }
  void draw(Timestamp& time, std::string_view) { time = {units()}; }
  void draw(bool& value, std::string_view) { value = chance(); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void draw(Enum& value, std::string_view) { value = Enum(bytes_.below(enumerators<Enum>)); }

  // Makes the sums agree, as far as numbers allow: a forger can add up, and a broken disk may match
  // by chance.
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
  unsigned row_ = 0;                      // of the table
  std::int64_t least_units_ = INT64_MIN;  // of shares, prices and cash
};

// Checks tables, then rows of the journal behind them.
void run_store(Bytes& bytes) {
  Fields fields(bytes);
  ForgedStore store(fields.tables());
  BatchNumber batch = 0;
  while (!bytes.empty() && batch < 8) {
    const std::uint8_t how = bytes.byte();
    auto so_far = how % 4 == 0 ? std::nullopt : recovered(store);
    const std::string payload = fields.record(so_far ? &so_far->exchange : nullptr);
    store.append(how == 255 ? batch + 2 : batch + 1, payload);
    if (how == 255) break;  // a gap in the batches
    ++batch;
  }
  check_recovery(store);
}

// Checks one row behind empty tables.
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
    // a record of the right version
    case 2:
      fuzz::run_payload(testing::sealed(char(store_format) + std::string(bytes.rest())));
      break;
    default: fuzz::run_store(bytes);
  }
  return 0;
}
