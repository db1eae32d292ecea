#include "protocol/session.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <semaphore>

#include "protocol/reply.hpp"

namespace exchange {
namespace {

// Parsing needs a document only for a moment: one per thread keeps its memory warm, and idle
// connections small.
XmlDocument& thread_document() {
  thread_local XmlDocument document;
  return document;
}

// A document takes up to sixteen times its size while it is read: so few at once, however many
// threads there are. A thread may have one client, who may be silent for long: it keeps nothing.
std::counting_semaphore<> large_documents{8};
struct LargeDocument {
  LargeDocument() { large_documents.acquire(); }
  ~LargeDocument() {
    thread_document().release();
    large_documents.release();
  }
};

}  // namespace

std::span<char> Session::read_space() {
  // sent by now
  if (output_.capacity() >
      (read_was_small_ ? limits_.read_buffer_bytes_min : limits_.read_buffer_bytes_max))
    std::string().swap(output_);
  if (begin_ == end_) begin_ = end_ = 0;
  const std::size_t held = end_ - begin_;
  std::size_t size = std::max(space(), limits_.read_buffer_bytes_min);
  if (read_was_full_ && size < limits_.read_buffer_bytes_max) size *= 2;
  // A large frame's space grows with the bytes that came, not with the length that was claimed.
  if (bytes_wanted_ > size && held * 2 > size) size = std::min(bytes_wanted_, size * 2);
  if (size > space()) {
    std::vector<char> larger(size + 1);
    std::copy(buffer_.begin() + std::ptrdiff_t(begin_), buffer_.begin() + std::ptrdiff_t(end_),
              larger.begin());
    buffer_.swap(larger);
    begin_ = 0;
    end_ = held;
  } else if (begin_ > 0 && (space() - end_) * 2 < space()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, held);
    begin_ = 0;
    end_ = held;
  }
  return {buffer_.data() + end_, space() - end_};
}

void Session::received(std::size_t bytes) {
  ENSURE(bytes <= space() - end_);
  end_ += bytes;
  read_was_full_ = end_ == space();
  read_was_small_ = bytes * 8 < space();
}

bool Session::take_requests() {
  while (!refused_ && elements_.size() + requests_.size() < limits_.elements_max) {
    const Frame frame = find_frame({buffer_.data() + begin_, end_ - begin_}, limits_);
    begin_ += frame.skip;
    if (frame.state == Frame::State::complete) {
      read_frame(frame);
      // Who logs in to an account in the next request finds it: a key counts once it is committed.
      if (!credentials_.empty() && (credentials_.back().use == Credential::Use::create ||
                                    credentials_.size() >= keys_per_batch_max))
        break;
      continue;
    }
    if (frame.state == Frame::State::bad) {
      close_after_error(frame.problem);
    } else {
      bytes_wanted_ = frame.bytes_wanted > frame.skip ? frame.bytes_wanted - frame.skip : 0;
      if (stream_ended_ && begin_ != end_)
        close_after_error("bad framing: the stream ended inside a request");
      if (stream_ended_ && requests_.empty()) finished_ = true;
    }
    break;
  }
  return !requests_.empty();
}

std::size_t Session::errors() const {
  const auto documents =
      std::count_if(requests_.begin(), requests_.end(),
                    [](const Request& request) { return !request.error.empty(); });
  return std::size_t(documents) + elements_.size() - commands_.size();
}

void Session::read_frame(const Frame& frame) {
  constexpr std::size_t large_bytes = 16'384;
  bytes_wanted_ = 0;
  std::optional<LargeDocument> large;
  if (frame.bytes > large_bytes) large.emplace();
  requests_.push_back(read_request(buffer_.data() + begin_ + frame.header, frame.bytes, limits_,
                                   thread_document(), elements_, commands_,
                                   limits_.keys ? &credentials_ : nullptr));
  begin_ += frame.header + frame.bytes;
}

void Session::refuse_requests(std::string_view sentence) {
  for (Request& request : requests_) {
    if (request.error.empty()) request.error = sentence;
    request.elements = 0;
  }
  elements_.clear();
  commands_.clear();
}

std::size_t Session::memory_bytes() const {
  return buffer_.capacity() + output_.capacity() + requests_.capacity() * sizeof(Request) +
         elements_.capacity() * sizeof(RequestElement) +
         commands_.capacity() * (sizeof(Command) + sizeof(Outcome)) +
         credentials_.capacity() * (sizeof(Credential) + key_bytes_max);
}

void Session::close_after_error(std::string_view problem) {
  requests_.push_back({.error = std::string(problem)});
  begin_ = end_;
  refused_ = true;
}

void Session::reply(std::span<const Outcome> outcomes) {
  ENSURE(outcomes.size() == commands_.size());
  std::span<const RequestElement> elements = elements_;
  for (const Request& request : requests_) {
    const std::size_t used = append_results(output_, request, elements.first(request.elements),
                                            outcomes, limits_.length_before_reply);
    elements = elements.subspan(request.elements);
    outcomes = outcomes.subspan(used);
  }
  requests_.clear();
  elements_.clear();
  commands_.clear();
  credentials_.clear();
  begin_ += blank_bytes({buffer_.data() + begin_, end_ - begin_});
  if (refused_ || (limits_.close_after_reply && begin_ == end_)) finished_ = true;
  shrink();
}

// After something large, back to the size of a connection at rest.
void Session::shrink() {
  constexpr std::size_t elements_kept_max = 64;
  if (elements_.capacity() > elements_kept_max || requests_.capacity() > elements_kept_max) {
    elements_.shrink_to_fit();
    commands_.shrink_to_fit();
    requests_.shrink_to_fit();
  }
  if (credentials_.capacity() > elements_kept_max) credentials_.shrink_to_fit();
  if (begin_ == end_ && (space() > limits_.read_buffer_bytes_max ||
                         (read_was_small_ && space() > limits_.read_buffer_bytes_min))) {
    std::vector<char>().swap(buffer_);  // `= {}` would keep the memory, of strings too
    begin_ = end_ = 0;
    read_was_full_ = false;
  }
}

}  // namespace exchange
