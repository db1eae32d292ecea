#pragma once
// Replies that differ from docs/protocol.md in form alone: what they say can be read and checked.
// They are counted and reported, and fail no run. Thread: one at a time.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection/results.hpp"

namespace exchange::run_audit {

enum class Deviation : std::uint8_t {
  number,         // a sign, a currency or blanks around it, an exponent, more decimals than fit
  time,           // not in whole seconds since 1970
  order,          // of what a status contains
  echo,           // an attribute is repeated as the same number in other words
  not_repeated,   // an attribute is missing
  id,             // a transaction id that is no integer from 1
  ids_unordered,  // … or that does not rise in the order of arrival
  root,           // of the reply
  quotes,         // an attribute value has none
  self_refused,   // orders of one account do not match each other
};
inline constexpr std::size_t deviation_kinds = 10;

class Deviations {
 public:
  // `example`: from the reply.
  void add(Deviation deviation, std::string_view example) {
    Found& found = found_[std::size_t(deviation)];
    if (found.count++ == 0) found.example = example;
  }
  void add(const Deviations& other);
  // For people, one for each kind, with its rule.
  std::vector<std::string> sentences() const;

 private:
  struct Found {
    std::uint64_t count = 0;
    std::string example;  // the first
  };
  std::array<Found, deviation_kinds> found_;
};

// Shares or a price in units of 1e-8, whatever sign, currency or blanks stand around it. Rounded
// if it is written with an exponent or more decimals, as some languages print a double.
std::optional<std::int64_t> lenient_units(std::string_view text);

// The content of a <status> or <canceled>, as client::read_status. What differs in form alone is
// read too, and counted. Executions are sorted by time; a time that cannot be read is 0.
std::string_view read_state(const client::ReplyElement& element, Status& status,
                            Deviations& deviations);

}  // namespace exchange::run_audit
