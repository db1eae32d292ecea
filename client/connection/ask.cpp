#include "client/connection/ask.hpp"

#include "client/connection/reply.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

std::string ask(std::string_view document, const Converse& send) {
  std::size_t scanned = 0;
  ReplyEnd end{};
  const std::string reply = send(framed(document), [&](std::string_view bytes) {
    end = find_reply(bytes, scanned);
    return end.state != ReplyEnd::State::incomplete;
  });
  if (end.state == ReplyEnd::State::bad) throw NotAReply("not a reply: " + reply.substr(0, 300));
  return reply.substr(end.begin, end.end - end.begin);
}

std::string ask(int socket, const std::string& peer, std::string_view document, double timeout_s,
                const StopFlag& stop) {
  return ask(document, [&](std::string_view request, const auto& is_complete) {
    return serve_requests(socket, peer, request, timeout_s, stop, is_complete);
  });
}

std::string ask(const Address& address, std::string_view document, double timeout_s,
                const StopFlag& stop) {
  return ask(document, [&](std::string_view request, const auto& is_complete) {
    return round_trip(address, request, timeout_s, stop, is_complete);
  });
}

}  // namespace exchange::loadgen
