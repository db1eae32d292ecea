#include "journal/journal_record.hpp"

#include <optional>

#include "base/checksum.hpp"
#include "journal/store_errors.hpp"

namespace exchange {
namespace {

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
template <class Enum>
requires std::is_enum_v<Enum>
void put(std::string& out, Enum value) { put_byte(out, std::uint8_t(value)); }
void put(std::string&, bool) {}  // only the presence bit is written
void put(std::string& out, const KeyHash& key) {
  for (const std::uint8_t cost : {key.log2_n, key.r, key.p}) put_byte(out, cost);
  out.append(key.salt.begin(), key.salt.end());
  out.append(key.digest.begin(), key.digest.end());
}
void put(std::string& out, std::uint64_t number) { put_varint(out, number); }
template <class Text>
void put(std::string& out, const OptionalText<Text>& text) {
  put(out, *text);
}
template <class Field>
void put(std::string& out, const std::optional<Field>& field) {
  put(out, *field);
}
template <class Number>
void put(std::string& out, const OptionalNumber<Number>& number) {
  put(out, *number);
}

// --- reading ---

// Throws because the record has an unknown value. Its checksum is right, so this is not damage.
[[noreturn]] void throw_unknown(const char* name) {
  throw StoreOtherVersion(std::string("journal record has an unknown ") + name +
                          ": a newer version of the server wrote it; start that version");
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
  void read(AccountId& id) { read(id, parse_account_id, "an account id"); }
  void read(SymbolName& name) { read(name, parse_symbol_name, "a symbol"); }
  void read(OrderReference& reference) {
    read(reference, parse_order_reference, "an order reference");
  }
  void read(AccountName& name) { read(name, parse_account_name, "a name of an account"); }
  template <class Text>
  void read(OptionalText<Text>& optional) {
    Text text;
    read(text);
    optional = text;
  }
  template <class Field>
  void read(std::optional<Field>& field) {
    read(field.emplace());
  }
  template <class Number>
  void read(OptionalNumber<Number>& number) {
    read(number.emplace());
  }
  template <class Number>
  requires std::same_as<Number, Shares> || std::same_as<Number, Price>
  void read(Number& number) {
    const auto units = std::int64_t(varint());
    if (units < 0) throw StoreCorrupt("journal record has a number out of range");
    number = Number::from_units(units);
  }
  void read(Cash& cash) {
    const std::uint64_t low = varint(), high = varint();
    const auto units = Int128(UInt128(high) << 64 | low);
    if (units < 0) throw StoreCorrupt("journal record has a negative balance");
    cash = Cash::from_units(units);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void read(Enum& value) {
    const std::uint8_t number = byte();
    if (number >= enumerators<Enum>) throw_unknown("value");
    value = Enum(number);
  }
  void read(bool& value) { value = true; }
  void read(std::uint64_t& number) { number = varint(); }
  void read(KeyHash& key) {
    for (std::uint8_t* const cost : {&key.log2_n, &key.r, &key.p}) *cost = byte();
    for (std::uint8_t& salt_byte : key.salt) salt_byte = byte();
    for (std::uint8_t& digest_byte : key.digest) digest_byte = byte();
    if (!key.has_key()) throw StoreCorrupt("journal record has a key without a hash");
  }

 private:
  std::string_view text() {
    const std::size_t size = byte();
    if (size > bytes_.size()) throw StoreCorrupt("journal record has a text that is too long");
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }
  template <class Id>
  void read(Id& id, std::optional<Id> (*parse)(std::string_view), const char* what) {
    const auto parsed = parse(text());
    if (!parsed) throw StoreCorrupt(std::string("journal record has a text that is not ") + what);
    id = *parsed;
  }

  std::string_view bytes_;
};

// --- commands ---

template <class Field>
constexpr bool always_written =
    boost::mp11::mp_contains<boost::mp11::mp_list<AccountId, SymbolName, OrderReference, Shares>,
                             Field>::value;

// Calls use(field, bit) for each field of the command. Bit 0 means that the field is always
// written.
template <class AnyCommand, class Use>
void for_each_field(AnyCommand& command, Use use) {
  std::uint64_t next = 1;
  for_each_member<std::remove_const_t<AnyCommand>>([&](auto member) {
    auto& field = command.*member.pointer;
    const bool always = always_written<std::remove_cvref_t<decltype(field)>>;
    use(field, always ? 0 : next);
    if (!always) next <<= 1;
  });
}

template <class Field>
bool is_empty(const Field& field) {
  return field == Field{};
}

// Checks what holds for every command that changed state, in addition to the range of each field.
template <class AnyCommand>
bool is_whole(const AnyCommand& command) {
  if constexpr (requires { command.is_whole(); }) return command.is_whole();
  return !requires { AnyCommand::changes_nothing; };
}
bool is_whole(const CancelOrder& cancel) { return (cancel.order == 0) == bool(cancel.reference); }
bool is_whole(const ReplaceOrder& replace) {
  return (replace.order == 0) == bool(replace.reference) && replace.shares > Shares() &&
         replace.limit > Price();
}

template <class AnyCommand>
void put_fields(std::string& out, const AnyCommand& command) {
  std::uint64_t present = 0;
  for_each_field(command, [&](const auto& field, std::uint64_t bit) {
    if (bit != 0 && !is_empty(field)) present |= bit;
  });
  put_varint(out, present);
  for_each_field(command, [&](const auto& field, std::uint64_t bit) {
    if (bit == 0 || (present & bit) != 0) put(out, field);
  });
}

template <class AnyCommand>
Command read_fields(Decoder& in) {
  AnyCommand command;
  std::uint64_t present = in.varint();
  for_each_field(command, [&](auto& field, std::uint64_t bit) {
    if (bit != 0 && (present & bit) == 0) return;
    present &= ~bit;
    in.read(field);
    if (bit != 0 && is_empty(field))
      throw StoreCorrupt("journal record has an empty field that is marked as present");
  });
  if (present != 0) throw_unknown("field of a command");
  if (!is_whole(command)) throw StoreCorrupt("journal record has a command that never executes");
  return command;
}

Command read_command(Decoder& in) {
  const std::uint8_t kind = in.byte();
  if (kind >= std::variant_size_v<Command>) throw_unknown("command");
  return boost::mp11::mp_with_index<std::variant_size_v<Command>>(kind, [&](auto index) {
    return read_fields<std::variant_alternative_t<index, Command>>(in);
  });
}

}  // namespace

void JournalWriter::begin(Timestamp now) {
  commands_.clear();
  count_ = 0;
  now_ = now;
}

void JournalWriter::add(const Command& command) {
  put_byte(commands_, std::uint8_t(command.index()));
  std::visit([this](const auto& one) { put_fields(commands_, one); }, command);
  ++count_;
}

std::string_view JournalWriter::finish(const Totals& after) {
  payload_.clear();
  put_byte(payload_, store_format);
  put_varint(payload_, std::uint64_t(now_.microseconds));
  put_varint(payload_, count_);
  payload_ += commands_;
  put_varint(payload_, after.orders);
  put_varint(payload_, after.executions);
  put_fixed(payload_, after.digest);
  put_fixed(payload_, crc32(payload_));
  return payload_;
}

JournalRecord decode_journal_record(std::string_view payload) {
  constexpr std::size_t checksum_bytes = 4;
  if (payload.size() < 1 + checksum_bytes) throw StoreCorrupt("journal record is too short");
  const std::string_view body = payload.substr(0, payload.size() - checksum_bytes);
  if (Decoder(payload.substr(body.size())).fixed<std::uint32_t>() != crc32(body))
    throw StoreCorrupt("journal record fails its checksum");
  Decoder in(body);
  require_readable_format("journal record", in.byte());
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
