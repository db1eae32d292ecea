#include "client/loadgen/transcript.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "protocol/request_writer.hpp"

namespace exchange::loadgen {
namespace {

// Removes keys. The text of a server may be invalid UTF-8.
std::string quoted(std::string_view text) {
  return nlohmann::json(without_keys(std::string(text)))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::uint64_t next_connection() {
  static std::atomic<std::uint64_t> connections{0};
  return ++connections;
}

Transcript::Entry Transcript::asked(std::int64_t client, std::uint64_t connection,
                                    std::int64_t call_ns, std::string_view document) {
  requests_.push_back({client, connection, call_ns, 0, keep(document), {}, false});
  return requests_.size() - 1;
}

void Transcript::answered(Entry entry, std::int64_t return_ns, std::string_view document) {
  Request& request = requests_[entry];
  request.return_ns = return_ns;
  request.reply = keep(document);
  request.answered = true;
}

void Transcript::add(Transcript&& other) {
  std::move(other.requests_.begin(), other.requests_.end(), std::back_inserter(requests_));
  std::move(other.chunks_.begin(), other.chunks_.end(), std::back_inserter(chunks_));
  free_ = other.free_;
  free_bytes_ = other.free_bytes_;
  other = {};
}

std::string_view Transcript::keep(std::string_view text) {
  if (text.size() > free_bytes_) {
    free_bytes_ = std::max(chunk_bytes, text.size());
    free_ = chunks_.emplace_back(new char[free_bytes_]).get();  // touched only when used
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view kept(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return kept;
}

void Transcript::write(std::ostream& out, const std::vector<std::string>& command) {
  // Requests of one connection are already in order, and remain so.
  std::stable_sort(requests_.begin(), requests_.end(),
                   [](const Request& a, const Request& b) { return a.call_ns < b.call_ns; });
  out << nlohmann::json{{"history", 1}, {"clock", "monotonic, ns"}, {"command", command}}.dump(
             -1, ' ', false, nlohmann::json::error_handler_t::replace)
      << '\n';
  for (const Request& request : requests_) {
    out << "{\"client\":" << request.client << ",\"connection\":" << request.connection
        << ",\"call\":" << request.call_ns << ",\"return\":";
    if (request.answered)
      out << request.return_ns << ",\"request\":" << quoted(request.document)
          << ",\"reply\":" << quoted(request.reply) << "}\n";
    else
      out << "null,\"request\":" << quoted(request.document) << ",\"reply\":null}\n";
  }
}

}  // namespace exchange::loadgen
