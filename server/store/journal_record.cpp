#include "store/journal_record.hpp"

#include <boost/crc.hpp>
#include <optional>

#include "store/store.hpp"

namespace exchange {
namespace {

constexpr std::uint8_t version = 1;
// Kinds that are no index of a Command.
constexpr std::uint8_t create_account_with_key = 6, place_order_with_reference = 7,
                       cancel_order_by_reference = 8, place_order_with_terms = 9,
                       place_order_with_more_terms = 10, cancel_all = 11, replace_order = 12;
static_assert(std::variant_size_v<Command> == 8,
              "The index of a Command up to CancelOrder is its kind in the journal. Give a new "
              "command a kind from 13 in kind_of and read_command, then adapt this check "
              "(CONTRIBUTING.md, \"A command\")");

std::uint32_t checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

// --- writing ---

void put_byte(std::string& out, std::uint8_t byte) { out += char(byte); }
void put_varint(std::string& out, std::uint64_t value) {
  char bytes[10];
  std::size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = char(value | 0x80);
  bytes[count++] = char(value);
  out.append(bytes, count);
}
template <class Integer>
void put_fixed(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) put_byte(out, std::uint8_t(value >> (8 * i)));
}
template <std::size_t Max>
void put(std::string& out, const InlineText<Max>& text) {
  put_byte(out, std::uint8_t(text.view().size()));
  out += text.view();
}
void put(std::string& out, Shares shares) { put_varint(out, std::uint64_t(shares.units())); }
void put(std::string& out, Price price) { put_varint(out, std::uint64_t(price.units())); }
void put(std::string& out, Cash cash) {
  put_varint(out, std::uint64_t(cash.units()));
  put_varint(out, std::uint64_t(cash.units() >> 64));
}
void put(std::string& out, Side side) { put_byte(out, std::uint8_t(side)); }
void put(std::string& out, const KeyHash& key) {
  for (const std::uint8_t cost : {key.log2_n, key.r, key.p}) put_byte(out, cost);
  out.append(key.salt.begin(), key.salt.end());
  out.append(key.digest.begin(), key.digest.end());
}
void put(std::string& out, OrderId order) { put_varint(out, order); }

// --- reading ---

// The checksum is right, so this is no damage.
[[noreturn]] void throw_unknown(const char* name) {
  throw StoreNewer(std::string("journal record has an unknown ") + name +
                   ": a newer version of the server wrote it");
}

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }

  std::uint8_t byte() {
    if (bytes_.empty()) throw StoreCorrupt("journal record ends too early");
    const auto byte = std::uint8_t(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      if ((next == 0 && shift > 0) || (next > 1 && shift == 63)) break;  // shortest form only
      value |= std::uint64_t(next & 0x7F) << shift;
      if (next < 0x80) return value;
    }
    throw StoreCorrupt("journal record has an overlong number");
  }
  template <class Integer>
  Integer fixed() {
    Integer value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) value |= Integer(byte()) << (8 * i);
    return value;
  }
  AccountId account() {
    return *require(parse_account_id(text()),
                    "journal record has a text that is not an account id");
  }
  SymbolName symbol() {
    return *require(parse_symbol_name(text()), "journal record has a text that is not a symbol");
  }
  template <class Number>
  Number not_negative() {
    const auto units = std::int64_t(varint());
    if (units < 0) throw StoreCorrupt("journal record has a number out of range");
    return Number::from_units(units);
  }
  template <class Number>
  Number positive() {
    const auto number = not_negative<Number>();
    if (number == Number()) throw StoreCorrupt("journal record has a number out of range");
    return number;
  }
  Cash cash() {
    const std::uint64_t low = varint(), high = varint();
    const auto units = Int128(UInt128(high) << 64 | low);
    if (units < 0) throw StoreCorrupt("journal record has a negative balance");
    return Cash::from_units(units);
  }
  OrderReference reference() {
    return *require(parse_order_reference(text()),
                    "journal record has a text that is not an order reference");
  }
  // Whether there was one.
  bool skip_empty_text() {
    if (bytes_.empty() || bytes_.front() != 0) return false;
    byte();
    return true;
  }
  OptionalReference optional_reference() {
    if (skip_empty_text()) return {};
    return reference();
  }
  std::uint8_t known(std::uint8_t max, const char* name) {
    const std::uint8_t value = byte();
    if (value > max) throw_unknown(name);
    return value;
  }
  KeyHash key() {
    KeyHash key{byte(), byte(), byte(), {}, {}};
    for (std::uint8_t& salt_byte : key.salt) salt_byte = byte();
    for (std::uint8_t& digest_byte : key.digest) digest_byte = byte();
    if (!key.has_key()) throw StoreCorrupt("journal record has a key without a hash");
    return key;
  }
  Side side() { return Side(known(1, "side")); }

 private:
  std::string_view text() {
    const std::size_t size = byte();
    if (size > bytes_.size()) throw StoreCorrupt("journal record has a text that is too long");
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }
  template <class Id>
  static std::optional<Id> require(std::optional<Id> id, const char* problem) {
    if (!id) throw StoreCorrupt(problem);
    return id;
  }

  std::string_view bytes_;
};

bool has_terms(const PlaceOrder& order) {
  return order.lifetime != Lifetime::until_canceled || order.post_only;
}
// That kind 9 has no place for.
bool has_more_terms(const PlaceOrder& order) {
  return order.is_market() || order.self_trade != SelfTrade::allowed;
}

struct CommandWriter {
  std::string& out;
  void operator()(const CreateAccount& c) const {
    fields(c.account, c.balance);
    if (c.key.has_key()) fields(c.key);
  }
  void operator()(const CreateSymbol& c) const { fields(c.symbol); }
  void operator()(const PlaceShares& c) const { fields(c.symbol, c.account, c.shares); }
  void operator()(const PlaceOrder& c) const {
    fields(c.account, c.symbol, c.side, c.shares, c.limit);
    const bool more_terms = has_more_terms(c);
    if (has_terms(c) || more_terms) {
      put_byte(out, std::uint8_t(c.lifetime));
      put_byte(out, c.post_only ? 1 : 0);
      if (more_terms) put_byte(out, std::uint8_t(c.self_trade));
      if (!c.reference) put_byte(out, 0);
    }
    if (c.reference) fields(*c.reference);
  }
  void operator()(const CancelOrder& c) const {
    if (c.reference)
      fields(c.account, *c.reference);
    else
      fields(c.account, c.order);
  }
  void operator()(const CancelAll& c) const {
    fields(c.account);
    if (c.symbol)
      fields(*c.symbol);
    else
      put_byte(out, 0);
  }
  void operator()(const ReplaceOrder& c) const {
    fields(c.account, c.reference ? 0 : c.order);
    if (c.reference)
      fields(*c.reference);
    else
      put_byte(out, 0);
    fields(c.side, c.shares, c.limit);
  }
  void operator()(const QueryOrder&) const { ENSURE(false && "a query changes nothing"); }
  template <class... Field>
  void fields(const Field&... field) const {
    (put(out, field), ...);
  }
};

std::uint8_t kind_of(const Command& command) {
  if (const auto* account = std::get_if<CreateAccount>(&command); account && account->key.has_key())
    return create_account_with_key;
  if (const auto* place = std::get_if<PlaceOrder>(&command)) {
    if (has_more_terms(*place)) return place_order_with_more_terms;
    if (has_terms(*place)) return place_order_with_terms;
    if (place->reference) return place_order_with_reference;
  }
  if (const auto* cancel = std::get_if<CancelOrder>(&command); cancel && cancel->reference)
    return cancel_order_by_reference;
  if (std::holds_alternative<CancelAll>(command)) return cancel_all;
  if (std::holds_alternative<ReplaceOrder>(command)) return replace_order;
  return std::uint8_t(command.index());
}

PlaceOrder read_order_with_terms(Decoder& in, bool more_terms) {
  PlaceOrder order{in.account(), in.symbol(), in.side(), in.positive<Shares>(),
                   more_terms ? in.not_negative<Price>() : in.positive<Price>()};
  order.lifetime = Lifetime(in.known(2, "lifetime"));
  order.post_only = in.known(1, "flag") == 1;
  if (more_terms) order.self_trade = SelfTrade(in.known(2, "self-trade rule"));
  order.reference = in.optional_reference();
  const bool right_form = more_terms ? has_more_terms(order) : has_terms(order);
  if (!right_form || (order.is_market() && order.lifetime != Lifetime::immediate_or_cancel))
    throw StoreCorrupt("journal record has an order in the wrong form");
  return order;
}

Command read_command(Decoder& in) {
  // Braces evaluate in order, which is the order of the fields.
  switch (in.byte()) {
    case 0: return CreateAccount{in.account(), in.cash()};
    case 1: return CreateSymbol{in.symbol()};
    case 2: return PlaceShares{in.symbol(), in.account(), in.positive<Shares>()};
    case 3:
      return PlaceOrder{in.account(), in.symbol(), in.side(), in.positive<Shares>(),
                        in.positive<Price>()};
    case 4: return CancelOrder{in.account(), in.varint()};
    case create_account_with_key: return CreateAccount{in.account(), in.cash(), in.key()};
    case place_order_with_reference:
      return PlaceOrder{in.account(),          in.symbol(),          in.side(),
                        in.positive<Shares>(), in.positive<Price>(), in.reference()};
    case cancel_order_by_reference: return CancelOrder{in.account(), 0, in.reference()};
    case place_order_with_terms: return read_order_with_terms(in, false);
    case place_order_with_more_terms: return read_order_with_terms(in, true);
    case cancel_all: {
      CancelAll all{in.account(), {}};
      if (!in.skip_empty_text()) all.symbol = in.symbol();
      return all;
    }
    case replace_order: {
      ReplaceOrder replace{.account = in.account(), .order = in.varint()};
      replace.reference = in.optional_reference();
      if ((replace.order == 0) != bool(replace.reference))
        throw StoreCorrupt("journal record replaces no order, or two");
      replace.side = in.side();
      replace.shares = in.positive<Shares>();
      replace.limit = in.positive<Price>();
      return replace;
    }
    default: throw_unknown("command");
  }
}

}  // namespace

void JournalWriter::begin(Timestamp now) {
  commands_.clear();
  count_ = 0;
  now_ = now;
}

void JournalWriter::add(const Command& command) {
  // A placement of 0 shares changes no more, and servers of earlier versions cannot read it.
  if (const auto* place = std::get_if<PlaceShares>(&command);
      place != nullptr && place->shares == Shares()) [[unlikely]]
    return add(CreateSymbol{place->symbol});
  put_byte(commands_, kind_of(command));
  std::visit(CommandWriter{commands_}, command);
  ++count_;
}

std::string_view JournalWriter::finish(const Totals& after) {
  payload_.clear();
  put_byte(payload_, version);
  put_varint(payload_, std::uint64_t(now_.microseconds));
  put_varint(payload_, count_);
  payload_ += commands_;
  put_varint(payload_, after.orders);
  put_varint(payload_, after.executions);
  put_fixed(payload_, after.digest);
  put_fixed(payload_, checksum(payload_));
  return payload_;
}

JournalRecord decode_journal_record(std::string_view payload) {
  constexpr std::size_t checksum_bytes = 4;
  if (payload.size() < 1 + checksum_bytes) throw StoreCorrupt("journal record is too short");
  const std::string_view body = payload.substr(0, payload.size() - checksum_bytes);
  if (Decoder(payload.substr(body.size())).fixed<std::uint32_t>() != checksum(body))
    throw StoreCorrupt("journal record fails its checksum");
  Decoder in(body);
  if (in.byte() != version) throw_unknown("version");
  JournalRecord record;
  record.time = Timestamp{std::int64_t(in.varint())};
  for (std::uint64_t left = in.varint(); left > 0; --left)
    record.commands.push_back(read_command(in));
  record.orders = in.varint();
  record.executions = in.varint();
  record.digest = in.fixed<std::uint64_t>();
  if (!in.at_end()) throw StoreCorrupt("journal record has trailing bytes");
  return record;
}

}  // namespace exchange
