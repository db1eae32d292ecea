#pragma once
// Reading replies. find_reply finds where one ends in a stream of bytes that somebody else holds;
// ReplyElements walks what is directly inside <results>, or inside one of its elements. Neither
// copies nor allocates. A scanner for well-behaved replies of any server of this protocol, not an
// XML parser: it tolerates spacing and attribute order, and reports what it cannot follow as bad.

#include <cstddef>
#include <string_view>

namespace exchange::loadgen {

struct ReplyEnd {
  enum class State { incomplete, complete, bad };
  State state;
  std::size_t begin = 0, end = 0;  // complete: the document, and blank bytes after it
};

// The first reply in `buffer`, bare or after a length line. `scanned` starts at 0 for each reply
// and remembers, between calls with a growing buffer, what need not be looked at again.
ReplyEnd find_reply(std::string_view buffer, std::size_t& scanned);

struct ReplyElement {
  std::string_view name;        // "opened"
  std::string_view attributes;  // the rest of its start tag
  std::string_view content;     // between its tags; empty for <opened …/>

  // The raw value of an attribute; data() is null where it is absent.
  std::string_view attribute(std::string_view name) const;
};

class ReplyElements {
 public:
  // `document`: from find_reply.
  explicit ReplyElements(std::string_view document);
  // Those directly inside an element.
  static ReplyElements within(const ReplyElement& element);
  // The next element. False at the end, and where the document is bad.
  bool next(ReplyElement& element);
  // After next() gave false: whether </results>, or the end of the element, was reached.
  bool complete() const { return state_ == State::complete; }

 private:
  enum class State { inside, complete, bad };
  ReplyElements() = default;
  bool stop(State state);
  bool take_tag(std::string_view& tag);
  std::string_view rest_;
  std::string_view end_tag_ = "/results";  // empty: the text just ends
  State state_ = State::inside;
};

}  // namespace exchange::loadgen
