#pragma once
// Replies that differ from docs/protocol.md in form alone: their content can be read and checked.
// They are counted and reported; a run does not fail because of them. Thread: one at a time.

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
  order,          // the content of a status is in another order
  echo,           // an attribute repeats the number in another form
  not_repeated,   // an attribute is missing
  id,             // a transaction id that is not an integer from 1
  ids_unordered,  // … or that does not rise in the order of arrival
  root,           // the name of the reply's root
  quotes,         // an attribute value has no quotes
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
  // One sentence for each kind, with its rule.
  std::vector<std::string> sentences() const;

 private:
  struct Found {
    std::uint64_t count = 0;
    std::string example;  // the first one
  };
  std::array<Found, deviation_kinds> found_;
};

// Reads shares or a price in units of 1e-8, and ignores signs, currencies and blanks around it.
// Rounds a number that has an exponent or more decimals, as some languages print a double.
std::optional<std::int64_t> lenient_units(std::string_view text);

// Reads the content of a <status> or <canceled>, as client::read_status does. Also accepts content
// that differs in form alone, and counts it. Sorts executions by time; a time that cannot be read
// is 0.
std::string_view read_state(const client::ReplyElement& element, Status& status,
                            Deviations& deviations);

}  // namespace exchange::run_audit
