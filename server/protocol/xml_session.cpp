#include "protocol/xml_session.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <semaphore>

#include "base/ensure.hpp"
#include "base/text.hpp"
#include "protocol/reply.hpp"

namespace exchange {
namespace {

// Parsing needs a document only for a short time. One document per thread keeps its memory in the
// caches, and keeps idle connections small.
XmlDocument& thread_document() {
  thread_local XmlDocument document;
  return document;
}

constexpr std::size_t large_bytes = 16'384;
// A document takes up to sixteen times its size in memory while the server reads it. Therefore at
// most 8 large documents are read at a time, regardless of the number of threads. The thread then
// releases the document, because it may serve one client that is silent for a long time.
std::counting_semaphore<> large_documents{8};
struct LargeDocument {
  LargeDocument() { large_documents.acquire(); }
  ~LargeDocument() {
    thread_document().release();
    large_documents.release();
  }
};

std::string_view without_blank_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(frame_blanks) + 1);
}

// Whether a document may end here. If it cannot, parsing it is a waste of time.
bool may_be_complete(std::string_view text) {
  constexpr std::size_t empty_root_bytes_max = 4'096;
  if (text.ends_with("</create>") || text.ends_with("</transactions>")) return true;
  if (!text.ends_with("/>") || text.size() > empty_root_bytes_max) return false;
  // the root, without children
  const std::string_view before = without_blank_end(text.substr(0, text.rfind('<')));
  return before.empty() || before.ends_with("?>") || before.ends_with("-->");
}

struct PartialParse {
  bool complete;            // a well-formed document
  std::string length_hint;  // XmlDocument::length_hint()
};

// Parses a copy; the text stays as it is.
PartialParse parse_partial(std::string_view text, const ProtocolLimits& limits) {
  std::optional<LargeDocument> large;
  if (text.size() > large_bytes) large.emplace();
  std::string copy(text);
  copy += '\0';  // parse() needs a byte after the text
  XmlDocument& document = thread_document();
  if (document.parse(copy.data(), text.size(), limits).empty()) return {true, {}};
  return {false, document.length_hint()};
}

}  // namespace

std::span<char> XmlSession::read_space() {
  // The caller has sent the output before it reads.
  if (output_.capacity() >
      (read_was_small_ ? limits_.read_buffer_bytes_min : limits_.read_buffer_bytes_max))
    std::string().swap(output_);
  if (begin_ == end_) begin_ = end_ = 0;
  const std::size_t held = end_ - begin_;
  std::size_t size = std::max(space(), limits_.read_buffer_bytes_min);
  if (read_was_full_ && size < limits_.read_buffer_bytes_max) size *= 2;
  // The space for a large frame grows with the received bytes, not with the announced length.
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

void XmlSession::received(std::size_t bytes) {
  ENSURE(bytes <= space() - end_);
  end_ += bytes;
  read_was_full_ = end_ == space();
  read_was_small_ = bytes * 8 < space();
}

bool XmlSession::take_requests(const char* tie_problem) {
  while (!refused_ && elements_.size() + requests_.size() < limits_.elements_max) {
    Frame frame = find_frame({buffer_.data() + begin_, end_ - begin_}, limits_);
    begin_ += frame.skip;
    if (frame.skip > 0) after_nul_ = buffer_[begin_ - 1] == '\0';
    if (limits_.lenient_framing) find_lenient_end(frame);
    if (frame.state == Frame::State::complete) {
      read_frame(frame, tie_problem);
      // A key is valid once it is committed, so a login in the next request waits for this batch.
      if (!credentials_.empty() && (credentials_.back().use != Credential::Use::login ||
                                    credentials_.size() >= keys_per_batch_max))
        break;
      continue;
    }
    if (frame.state == Frame::State::bad) {
      std::string_view hint = frame.hint;
      if (hint.empty() && after_nul_) hint = binary_length_hint;
      if (malformed_before_) hint = "; the request before was malformed: was its length right?";
      close_after_error(std::string(frame.problem) + std::string(hint));
    } else {
      bytes_wanted_ = frame.bytes_wanted > frame.skip ? frame.bytes_wanted - frame.skip : 0;
      header_ = frame.header;
      const bool is_no_request = limits_.lenient_framing && document_end_.has_comments_only();
      if (stream_ended_ && begin_ != end_ && !is_no_request)
        close_after_error(short_frame_problem());
      if (stream_ended_ && requests_.empty()) finished_ = true;
    }
    break;
  }
  return !requests_.empty();
}

// Implements F24 and F25. begin_ is already after the skipped bytes (frame.skip).
void XmlSession::find_lenient_end(Frame& frame) {
  const std::string_view all(buffer_.data() + begin_, end_ - begin_);
  if (all.starts_with('<')) {
    const std::size_t bytes = document_end_.find(all.substr(0, limits_.frame_bytes_max + 1));
    if (bytes > limits_.frame_bytes_max || (bytes == 0 && all.size() > limits_.frame_bytes_max))
      frame = {.state = Frame::State::bad, .problem = request_too_long};
    else if (bytes > 0)
      frame = {.state = Frame::State::complete, .bytes = bytes};
    else
      frame = {.state = Frame::State::incomplete, .bytes_wanted = limits_.frame_bytes_max + 1};
    return;
  }
  if (frame.header == 0) return;
  const std::string_view text = all.substr(frame.header, frame.bytes);
  const bool last_begins_next =
      text.size() == frame.bytes && (text.back() == '<' || is_digit(text.back()));
  const std::string_view document = text.substr(0, frame.bytes - 1);
  if (document.size() + 1 != frame.bytes || (text.size() == frame.bytes && !last_begins_next) ||
      !may_be_complete(without_blank_end(document)) || !parse_partial(document, limits_).complete)
    return;
  --frame.bytes;
  frame.state = Frame::State::complete;
}

void XmlSession::connection_lost() {
  begin_ = end_;
  stream_ended_ = finished_ = true;
  output_.clear();
}

std::size_t XmlSession::errors() const {
  const auto documents =
      std::count_if(requests_.begin(), requests_.end(),
                    [](const Request& request) { return !request.error.empty(); });
  return std::size_t(documents) + elements_.size() - commands_.size();
}

void XmlSession::read_frame(const Frame& frame, const char* tie_problem) {
  bytes_wanted_ = 0;
  partial_ = {};
  after_nul_ = false;
  std::optional<LargeDocument> large;
  if (frame.bytes > large_bytes) large.emplace();
  requests_.push_back(read_request(buffer_.data() + begin_ + frame.header, frame.bytes, limits_,
                                   thread_document(), elements_, commands_,
                                   limits_.keys ? &credentials_ : nullptr, tie_problem));
  Request& request = requests_.back();
  malformed_before_ = !request.error.empty() && request.code == ErrorCode::malformed_xml;
  if (malformed_before_)
    request.codes = codes_;
  else
    codes_ = request.codes;
  begin_ += frame.header + frame.bytes;
}

void XmlSession::refuse_requests(std::string_view sentence) {
  for (Request& request : requests_) {
    if (request.error.empty()) {
      request.error = sentence;
      request.code = ErrorCode::no_memory;
    }
    request.elements = 0;
  }
  elements_.clear();
  commands_.clear();
  credentials_.clear();
}

std::size_t XmlSession::memory_bytes() const {
  return buffer_.capacity() + output_.capacity() + requests_.capacity() * sizeof(Request) +
         elements_.capacity() * sizeof(RequestElement) +
         commands_.capacity() * (sizeof(Command) + sizeof(Outcome)) +
         credentials_.capacity() * (sizeof(Credential) + key_bytes_max);
}

std::string_view XmlSession::partial_document() const {
  if (header_ == 0 || bytes_wanted_ == 0) return {};
  return {buffer_.data() + begin_ + header_, end_ - begin_ - header_};
}

bool XmlSession::document_is_complete() {
  const std::string_view all = partial_document();
  const std::size_t text = partial_.seen + without_blank_end(all.substr(partial_.seen)).size();
  const bool more = text > partial_.seen;
  partial_.seen = all.size();
  if (!more) return partial_.complete;
  partial_.complete = false;
  if (text < 2 * partial_.failed || !may_be_complete(all.substr(0, text))) return false;
  partial_.complete = parse_partial(all.substr(0, text), limits_).complete;
  if (!partial_.complete) partial_.failed = text;
  return partial_.complete;
}

std::string XmlSession::short_frame_problem() const {
  if (header_ == 0 || bytes_wanted_ == 0) return "bad framing: the stream ended inside a request";
  const std::string_view came = partial_document();
  const std::string counts = std::to_string(bytes_wanted_ - header_) + " bytes announced, " +
                             std::to_string(came.size()) + " came";
  const PartialParse parse = parse_partial(without_blank_end(came), limits_);
  if (parse.complete)
    return "bad framing: " + counts + ", and the document is complete: is the length right?";
  return "bad framing: the stream ended inside a request: " + counts + parse.length_hint;
}

void XmlSession::close_after_error(std::string_view problem) {
  requests_.push_back(
      {.error = std::string(problem), .codes = codes_, .code = ErrorCode::bad_framing});
  begin_ = end_;
  refused_ = true;
}

void XmlSession::reply(std::span<const Outcome> outcomes, const Note& note) {
  ENSURE(outcomes.size() == commands_.size());
  std::span<const RequestElement> elements = elements_;
  for (const Request& request : requests_) {
    const std::size_t used = append_results(output_, request, elements.first(request.elements),
                                            outcomes, limits_.length_before_reply);
    if (note) note(used, request.ties_orders);
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

// Releases memory after a large request, down to the size of an idle connection.
void XmlSession::shrink() {
  constexpr std::size_t elements_kept_max = 64;
  if (elements_.capacity() > elements_kept_max || requests_.capacity() > elements_kept_max) {
    elements_.shrink_to_fit();
    commands_.shrink_to_fit();
    requests_.shrink_to_fit();
  }
  if (credentials_.capacity() > elements_kept_max) credentials_.shrink_to_fit();
  if (begin_ == end_ && (space() > limits_.read_buffer_bytes_max ||
                         (read_was_small_ && space() > limits_.read_buffer_bytes_min))) {
    std::vector<char>().swap(buffer_);  // `= {}` would keep the memory, as it does for strings
    begin_ = end_ = 0;
    read_was_full_ = false;
  }
}

}  // namespace exchange
