#pragma once
// A request of HTTP/1.1 and its response over a Stream. Slow to compile where it is defined; a
// client of one's own needs no more than this header. Thread: the caller's.

#include <string>

#include "client/connection/stream.hpp"

namespace exchange::client {

struct HttpReply {
  unsigned status = 0;
  std::string body;
};

struct HttpRequest {
  std::string head;         // method and target
  std::string fields = {};  // beside those that every request has, each with its end of line
  std::string body = {};
  bool keep_alive = false;  // more requests follow on the stream
};

// Throws as Stream::send_and_receive; BadReply if the response is not HTTP.
HttpReply ask(Stream& stream, const HttpRequest& request);

// The field that logs in to an account; without an account, the operator's. Empty without a key.
std::string authorization(const std::string& account, const std::string& key);

}  // namespace exchange::client
