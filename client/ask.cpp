#include "client/ask.hpp"

#include "client/reply.hpp"
#include "client/workload.hpp"

namespace exchange::loadgen {
namespace {

// `send(request, is_complete)` returns the bytes that came.
template <class Send>
std::string ask_through(std::string_view document, Send send) {
  std::size_t scanned = 0;
  ReplyEnd end{};
  const std::string reply = send(framed(document), [&](std::string_view bytes) {
    end = find_reply(bytes, scanned);
    return end.state != ReplyEnd::State::incomplete;
  });
  if (end.state == ReplyEnd::State::bad) throw NotAReply("not a reply: " + reply.substr(0, 300));
  return reply.substr(end.begin, end.end - end.begin);
}

}  // namespace

std::string ask(int socket, const std::string& peer, std::string_view document, double timeout_s, const StopFlag& stop) {
  return ask_through(document, [&](const std::string& request, const auto& is_complete) {
    return converse(socket, peer, request, timeout_s, stop, is_complete);
  });
}

std::string ask(const Address& address, std::string_view document, double timeout_s, const StopFlag& stop) {
  return ask_through(document, [&](const std::string& request, const auto& is_complete) {
    return round_trip(address, request, timeout_s, stop, is_complete);
  });
}

}  // namespace exchange::loadgen
