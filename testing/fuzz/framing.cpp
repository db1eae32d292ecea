// A stream of bytes, cut at fuzzed places, through an XmlSession. Wherever the cuts are: every
// frame is answered as soon as it is complete, replies and commands equal those of its documents
// taken one by one, and memory stays within the limits. Input: a byte that chooses limits and
// options, a byte n, n bytes for the lengths of the cuts, the stream.

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/exchange.hpp"
#include "fuzz/fuzz.hpp"
#include "protocol/reply.hpp"
#include "protocol/xml_session.hpp"

namespace exchange::fuzz {
namespace {

// --- the oracle: docs/protocol.md, F1 to F12 and F22 in its plainest form, over a whole stream ---

struct FramedDocument {
  std::string_view xml;
  std::size_t end;  // of it, in the stream
};

constexpr std::string_view mark = "\xEF\xBB\xBF";

struct Framed {
  std::vector<FramedDocument> documents;
  std::string_view rest;  // after skipped blank space; begins with an incomplete or wrong frame

  // Returns whether more bytes could still make the rest a frame.
  bool rest_can_become_a_frame(const ProtocolLimits& limits) const {
    if (rest == mark.substr(0, rest.size())) return true;
    std::size_t digits = 0;
    while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
    if (digits == rest.size()) return digits < limits.length_line_bytes_max;
    return digits > 0 && rest.size() == digits + 1 && rest[digits] == '\r' &&
           rest.size() < limits.length_line_bytes_max;
  }
  bool rest_is_cut_short = false;  // it has a good length line, and too few bytes after it
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0'; }

// Returns the end of the blanks and byte order marks from `at` on, which may stand between
// requests.
std::size_t end_of_skipped(std::string_view stream, std::size_t at) {
  for (bool skipped = true; skipped;) {
    skipped = false;
    if (at < stream.size() && is_blank(stream[at])) skipped = ++at;
    if (stream.substr(at).starts_with(mark)) skipped = at += mark.size();
  }
  return at;
}

Framed read_frames(std::string_view stream, const ProtocolLimits& limits) {
  Framed framed;
  for (std::size_t at = 0;;) {
    at = end_of_skipped(stream, at);
    framed.rest = stream.substr(at);
    const std::size_t newline = framed.rest.find('\n');
    if (newline == std::string_view::npos || newline + 1 > limits.length_line_bytes_max)
      return framed;
    std::string_view digits = framed.rest.substr(0, newline);
    if (digits.ends_with('\r')) digits.remove_suffix(1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
      return framed;
    const std::size_t significant = digits.find_first_not_of('0');
    if (significant == std::string_view::npos) return framed;
    unsigned __int128 length = 0;  // a length line is short, so it cannot overflow
    for (const char digit : digits.substr(significant))
      length = length * 10 + unsigned(digit - '0');
    if (length > limits.frame_bytes_max) return framed;
    if (length > framed.rest.size() - newline - 1) {
      framed.rest_is_cut_short = true;
      return framed;
    }
    at += newline + 1 + std::size_t(length);
    framed.documents.push_back({framed.rest.substr(newline + 1, std::size_t(length)), at});
  }
}

// --- the session ---

constexpr Timestamp now{1'700'000'000'000'000};

// Returns the real limits, or small ones that short inputs reach.
ProtocolLimits choose_limits(std::uint8_t choice) {
  ProtocolLimits limits;
  switch (choice % 4) {
    case 0: break;
    case 1:
      limits = {.frame_bytes_max = 99,
                .elements_max = 3,
                .read_buffer_bytes_min = 32,
                .read_buffer_bytes_max = 64};
      break;
    case 2:
      limits = {.frame_bytes_max = 1'000,
                .length_line_bytes_max = 4,
                .read_buffer_bytes_min = 32,
                .read_buffer_bytes_max = 128};
      break;
    case 3:
      limits = {.frame_bytes_max = 300,
                .elements_max = 1,
                .read_buffer_bytes_min = 24,
                .read_buffer_bytes_max = 24};
      break;
  }
  limits.length_before_reply = choice & 4;
  limits.close_after_reply = choice & 8;
  return limits;
}

std::vector<Outcome> execute(Exchange& exchange, const std::vector<Command>& commands) {
  std::vector<Outcome> outcomes;
  for (const Command& command : commands) outcomes.push_back(exchange.apply(command, now));
  return outcomes;
}

// Returns the reply to each document, taken by itself.
std::vector<std::string> expected_replies(const Framed& framed, const ProtocolLimits& limits,
                                          Totals& after) {
  Exchange exchange;
  XmlDocument document;
  std::vector<std::string> replies;
  for (const FramedDocument& frame : framed.documents) {
    std::string text(frame.xml);
    text += 'x';  // the byte after the document
    std::vector<RequestElement> elements;
    std::vector<Command> commands;
    const Request request =
        read_request(text.data(), frame.xml.size(), limits, document, elements, commands);
    append_results(replies.emplace_back(), request, elements, execute(exchange, commands),
                   limits.length_before_reply);
  }
  after = exchange.totals();
  return replies;
}

class Conversation {
 public:
  Conversation(std::string_view stream, const ProtocolLimits& limits)
      : stream_(stream),
        limits_(limits),
        framed_(read_frames(stream, limits)),
        expected_(expected_replies(framed_, limits, totals_)),
        session_(limits) {}

  // Checks everything after every piece. The `lengths` of pieces are used repeatedly.
  void run(std::span<const std::size_t> lengths) {
    for (std::size_t i = 0; sent_ < stream_.size() && !session_.finished(); ++i) {
      std::size_t left = std::min(lengths[i % lengths.size()], stream_.size() - sent_);
      while (left > 0 && !session_.finished()) {
        const std::size_t taken = receive(left);
        left -= taken;
        answer(false);
      }
    }
    const bool closed_early = session_.finished();
    if (!closed_early) {
      session_.end_of_stream();
      answer(true);
    }
    HOLDS(session_.finished(), "the session does not end");
    if (limits_.close_after_reply && closed_early && !session_.refused()) return;
    HOLDS(answered_ == framed_.documents.size(), std::to_string(answered_) + " of " +
                                                     std::to_string(framed_.documents.size()) +
                                                     " answered");
    HOLDS(exchange_.totals() == totals_, "other commands were executed");
    HOLDS(session_.refused() == !framed_.rest.empty(),
          "refused: " + std::to_string(session_.refused()));
    const bool hopeless = !framed_.rest.empty() && !framed_.rest_is_cut_short &&
                          !framed_.rest_can_become_a_frame(limits_);
    HOLDS(!closed_early || hopeless, "closed early, though a frame could have come of it");
  }
  const std::string& last_words() const { return last_words_; }

 private:
  std::size_t receive(std::size_t bytes) {
    const std::span<char> space = session_.read_space();
    HOLDS(!space.empty(), "no room to read into");
    // The space grows with the received bytes, never with a length that was only announced.
    const std::size_t bound =
        std::max({limits_.read_buffer_bytes_min, 2 * limits_.read_buffer_bytes_max, 4 * sent_});
    HOLDS(space.size() <= bound && space.size() <= 2 * limits_.read_buffer_bytes_max +
                                                       limits_.frame_bytes_max +
                                                       limits_.length_line_bytes_max,
          std::to_string(space.size()) + " bytes to read into after " + std::to_string(sent_));
    const std::size_t taken = std::min(bytes, space.size());
    std::memcpy(space.data(), stream_.data() + sent_, taken);
    session_.received(taken);
    sent_ += taken;
    return taken;
  }

  void answer(bool ended) {
    const std::size_t answered_before = answered_;
    while (!session_.finished() && session_.take_requests()) {
      HOLDS(session_.requests() > 0 && session_.requests() <= limits_.elements_max,
            "requests in a request batch: " + std::to_string(session_.requests()));
      const std::vector<Command> commands = session_.commands();
      session_.reply(execute(exchange_, commands));
      check_replies(session_.output());
      session_.output().clear();
    }
    check_partial();
    std::size_t complete = 0;
    while (complete < expected_.size() && framed_.documents[complete].end <= sent_) ++complete;
    HOLDS(answered_ == complete,
          std::to_string(answered_) + " answered, " + std::to_string(complete) + " complete");
    if (!limits_.close_after_reply || ended || session_.refused()) return;
    const std::size_t end = complete == 0 ? 0 : framed_.documents[complete - 1].end;
    const bool all_answered =
        answered_ > answered_before && end_of_skipped(stream_.substr(0, sent_), end) == sent_;
    HOLDS(session_.finished() == all_answered,
          "closes after replies: " + std::to_string(session_.finished()));
  }

  // If the session calls the document complete, the frame is only begun and its bytes are a
  // document.
  void check_partial() {
    if (session_.finished() || !session_.has_partial_request() || !session_.document_is_complete())
      return;
    const Framed begun = read_frames(stream_.substr(0, sent_), limits_);
    HOLDS(begun.rest_is_cut_short, "complete, but not cut short");
    std::string text(begun.rest.substr(begun.rest.find('\n') + 1));
    while (!text.empty() && is_blank(text.back())) text.pop_back();
    const std::size_t size = text.size();
    text += 'x';  // the byte after the document
    XmlDocument document;
    HOLDS(document.parse(text.data(), size, limits_).empty(), text);
  }

  // Checks the next expected replies, and at the end perhaps a reply about bad framing.
  void check_replies(std::string_view output) {
    while (!output.empty()) {
      HOLDS(last_words_.empty(), "more after: " + last_words_);
      if (answered_ < expected_.size()) {
        const std::string& expected = expected_[answered_++];
        HOLDS(output.starts_with(expected), "expected " + expected + "got " + std::string(output));
        output.remove_prefix(expected.size());
      } else {
        HOLDS(session_.refused(), std::string(output));
        last_words_ = output;
        output = {};
        const std::string_view document =
            limits_.length_before_reply
                ? std::string_view(last_words_).substr(last_words_.find('\n') + 1)
                : last_words_;
        HOLDS(document.starts_with("<results><error>bad framing: ") &&
                  pugi::xml_document().load_buffer(document.data(), document.size()),
              last_words_);
      }
    }
  }

  const std::string_view stream_;
  const ProtocolLimits limits_;
  Totals totals_;  // after all documents, taken one by one
  const Framed framed_;
  const std::vector<std::string> expected_;
  Exchange exchange_;
  XmlSession session_;
  std::size_t sent_ = 0, answered_ = 0;
  std::string last_words_;
};

// Removes the hint after the problem, which depends on what has arrived with it, and the length
// line before, which depends on the hint.
std::string without_hint(const std::string& words) {
  const std::size_t begin = words.find('<');
  if (begin == std::string::npos) return words;
  return words.substr(begin, std::min(words.find("; "), words.find("</error>")) - begin);
}

}  // namespace
}  // namespace exchange::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace exchange;
  fuzz::Bytes bytes(data, size);
  const ProtocolLimits limits = fuzz::choose_limits(bytes.byte());
  std::vector<std::size_t> lengths(bytes.below(32));
  for (std::size_t& length : lengths) length = 1u + bytes.byte();
  if (lengths.empty()) lengths.push_back(1);
  const std::size_t whole[] = {size + 1};
  fuzz::Conversation uncut(bytes.rest(), limits), cut(bytes.rest(), limits);
  uncut.run(whole);
  cut.run(lengths);
  if (!limits.close_after_reply)
    HOLDS(fuzz::without_hint(cut.last_words()) == fuzz::without_hint(uncut.last_words()),
          cut.last_words() + " after cuts, else " + uncut.last_words());
  return 0;
}
