#pragma once
// Reads replies, in two depths. ReplyElements walks what is directly inside <results>, or inside
// one of its elements; it neither copies nor allocates, for clients that read millions of replies.
// read_results returns a whole reply as values. A reader for well-behaved replies of any server of
// this protocol, not an XML parser: it tolerates spacing and attribute order, and reports what it
// cannot follow as bad. Pure.

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

  // The raw value of an attribute, also of one without quotes; data() is null if it is absent.
  std::string_view attribute(std::string_view name) const;
};

// The first attribute value of a reply that stands without quotes; data() is null if all have them.
std::string_view first_bare_value(std::string_view document);

class ReplyElements {
 public:
  // `document`: from find_reply.
  explicit ReplyElements(std::string_view document);
  // Those directly inside an element.
  static ReplyElements within(const ReplyElement& element);
  // The next element. False at the end, and if the document is bad.
  bool next(ReplyElement& element);
  // After next() returned false: whether the end of the root, or of the element, was reached.
  bool complete() const { return state_ == State::complete; }
  // The name of the root: "results" but for other servers. Empty inside an element.
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

// The content of a <status> or <canceled> element, exactly. Overwrites `status` but for its id, and
// uses its memory again. Returns what is wrong with the content; empty if nothing is.
std::string_view read_status(const ReplyElement& element, Status& status);

struct Error {
  std::string message;
};
// One element of a reply: every outcome, but those that look like another one, or an error.
using Result = boost::mp11::mp_push_back<
    boost::mp11::mp_set_difference<Outcome,
                                   std::variant<Rejected, NotInMemory, OpenedBefore, CanceledAll>>,
    Error>;

// The reply to a request of `asked` elements: one result for each. A reply of one <error> to the
// whole request counts for each. any_number: as many as there are, from one. Throws BadReply.
inline constexpr std::size_t any_number = std::size_t(-1);
std::vector<Result> read_results(std::string_view document, std::size_t asked);

}  // namespace exchange::client
