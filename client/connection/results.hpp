#pragma once
// Reads replies, at two levels. ReplyElements walks the elements directly inside <results>, or
// inside one of its elements; it neither copies nor allocates, for clients that read millions of
// replies. read_outcomes returns a whole reply as values. This is a reader for well-formed replies
// of any server of this protocol, not an XML parser: it tolerates spacing and attribute order, and
// reports what it cannot read as bad. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/connection/framing.hpp"
#include "engine/commands.hpp"

namespace exchange::client {

struct ReplyElement {
  std::string_view name;        // "opened"
  std::string_view attributes;  // the rest of its start tag
  std::string_view content;     // between its tags; empty for <opened …/>

  // Returns the raw value of an attribute, with or without quotes; data() is null if it is absent.
  std::string_view attribute(std::string_view name) const;
};

// Returns the first attribute value without quotes; data() is null if all values have quotes.
std::string_view first_bare_value(std::string_view document);

class ReplyElements {
 public:
  // `document` comes from find_reply.
  explicit ReplyElements(std::string_view document);
  // Walks the elements directly inside `element`.
  static ReplyElements within(const ReplyElement& element);
  // Reads the next element. Returns false at the end, and if the document is bad.
  bool next(ReplyElement& element);
  // After next() returned false: true if the end of the root, or of the element, was reached.
  bool complete() const { return state_ == State::complete; }
  // The name of the root: "results", except from other servers. Empty inside an element.
  std::string_view root() const { return root_; }

 private:
  enum class State { inside, complete, bad };
  ReplyElements() = default;
  bool stop(State state);
  bool take_tag(std::string_view& tag);
  std::string_view rest_;
  std::string_view root_;
  State state_ = State::inside;
};

// Reads the content of a <status> or <canceled> element, with every digit. Overwrites `status`
// except its id, and reuses its memory. Returns the error in the content; empty if there is no
// error.
std::string_view read_status(const ReplyElement& element, Status& status);

struct ErrorElement {
  std::string message;
};
// One element of a reply: an error, or any outcome except those that a reply cannot tell
// from another: OpenedBefore reads as Opened.
using ReplyOutcome = boost::mp11::mp_push_back<
    boost::mp11::mp_set_difference<Outcome,
                                   std::variant<Rejected, NotInMemory, OpenedBefore, CanceledAll>>,
    ErrorElement>;

// Reads the reply to a request of `asked` elements: one result for each. If the reply is one
// <error> for the whole request, it counts for each element. any_number accepts any number of
// elements, at least one. Throws BadReply.
inline constexpr std::size_t any_number = std::size_t(-1);
std::vector<ReplyOutcome> read_outcomes(std::string_view document, std::size_t asked);

}  // namespace exchange::client
