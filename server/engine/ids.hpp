#pragma once
// Names and numbers of entities. Text ids are stored inline (no allocation) and compared as
// written: "7" and "007" are two accounts (docs/protocol.md, C4).

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/described.hpp"
#include "base/ensure.hpp"

namespace exchange {

template <std::size_t Max>
class InlineText {
 public:
  static constexpr std::size_t size_max = Max;
  InlineText() = default;
  explicit InlineText(std::string_view text) : size_(std::uint8_t(text.size())) {
    ENSURE(text.size() <= Max);
    if (text.empty()) return;  // its data may be null
    std::memset(bytes_ + (size_ - 1) / 8 * 8, 0, 8);
    std::memcpy(bytes_, text.data(), text.size());
  }
  std::string_view view() const { return {bytes_, size_}; }

  // The text as words of 8 bytes, the last one padded with zeros: short ids compare and hash in one
  // step.
  std::size_t words() const { return (size_ + 7u) / 8; }
  std::uint64_t word(std::size_t at) const {
    std::uint64_t word;
    std::memcpy(&word, bytes_ + at * 8, 8);
    return word;
  }
  bool operator==(const InlineText& other) const {
    if (size_ != other.size_) return false;
    for (std::size_t at = 0; at < words(); ++at)
      if (word(at) != other.word(at)) return false;
    return true;
  }

 private:
  static_assert(Max % 8 == 0);
  std::uint8_t size_ = 0;
  char bytes_[Max];  // only words() are set
};

struct AccountId : InlineText<64> {
  using InlineText::InlineText;
};
struct SymbolName : InlineText<32> {
  using InlineText::InlineText;
};

// A client's own name for an order (docs/protocol.md, "Order references").
struct OrderReference : InlineText<64> {
  using InlineText::InlineText;
};

// The name by which people know an account, for a leaderboard (docs/protocol.md, D9). Empty: no
// name.
struct AccountName : InlineText<40> {
  using InlineText::InlineText;
};

inline constexpr std::string_view account_id_form = "an account id is 1 to 64 digits";
// Returns nothing if the text does not have this form.
std::optional<AccountId> parse_account_id(std::string_view text);
// Accepts 1 to 32 ASCII letters and digits; returns nothing for other texts.
std::optional<SymbolName> parse_symbol_name(std::string_view text);

// Accepts 1 to 64 characters of A-Z a-z 0-9 . _ : -; returns nothing for other texts.
std::optional<OrderReference> parse_order_reference(std::string_view text);

// Accepts at most 40 bytes of UTF-8 without control characters, and without spaces at its ends;
// returns nothing for other texts.
std::optional<AccountName> parse_account_name(std::string_view text);
// Returns true if a name, which may be empty, can be shown beside others: it has a visible
// character, and no character that ends a line or sets the direction of text. A stored name may be
// older than this rule.
bool is_presentable(const AccountName& name);

// Transaction id of an order: counts from 1 in order of arrival, never reused. 0 means no order.
using OrderId = std::uint64_t;
// Accepts a decimal integer from 1 that fits OrderId, without sign; returns nothing for other
// texts.
std::optional<OrderId> parse_order_id(std::string_view text);

// Dense numbers that the engine gives to accounts and symbols in order of creation, from 0.
using AccountNumber = std::uint32_t;
using SymbolNumber = std::uint32_t;
using ExecutionId = std::uint64_t;
using EventNumber = std::uint64_t;  // counts the events of one account
using BatchNumber = std::uint64_t;  // number of a committed batch: from 1, without gaps

// Microseconds since the Unix epoch, stamped once per batch by the core. Replies print whole
// seconds.
struct Timestamp {
  std::int64_t microseconds = 0;
  std::int64_t seconds() const { return microseconds / 1'000'000; }
  auto operator<=>(const Timestamp&) const = default;
};

BOOST_DEFINE_FIXED_ENUM_CLASS(Side, std::uint8_t, buy, sell)
constexpr Side opposite(Side side) { return side == Side::buy ? Side::sell : Side::buy; }

}  // namespace exchange
