#pragma once
// An HTTP/1.1 request and its response over a Stream. Only http.cpp includes the headers that are
// slow to compile; a program of your own needs no more than this header. Thread: the caller's.

#include <string>

#include "client/connection/stream.hpp"

namespace exchange::client {

struct HttpReply {
  unsigned status = 0;
  std::string body;
};

struct HttpRequest {
  std::string head;         // method and target
  std::string fields = {};  // besides those that every request has, each with its line end
  std::string body = {};
};

// Throws what Stream::send_and_receive throws, and BadReply if the response is not HTTP.
HttpReply ask(Stream& stream, const HttpRequest& request);

// Returns the header field that logs in to an account, or as the operator if `account` is empty.
// Returns an empty string if `key` is empty.
std::string authorization(const std::string& account, const std::string& key);

}  // namespace exchange::client
