#include "client/cli/ports.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "client/connection/framing.hpp"
#include "client/connection/servers.hpp"

namespace exchange::cli {
namespace {

constexpr std::chrono::milliseconds retry_pause_min{50}, retry_pause_max{1'000};

using client::StopFlag;
using client::Stream;
using client::Unreachable;

std::string advice(const char* option) {
  const bool http_port = std::strcmp(option, "--http") == 0;
  return std::string("\nIs a server running there? ./run.sh or build/bin/server starts one") +
         (http_port ? " (its --http-port must not be off); " : "; ") + option +
         " HOST:PORT names another.";
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');  // string's own end takes the final zero
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()), int(bytes.size()));
  return text;
}

}  // namespace

Stream connect(const std::string& servers, const char* option, double timeout_s,
               const StopFlag& stop, const client::Security& security) {
  std::string problems;
  for (const std::string& server : client::split_addresses(servers)) {
    std::string why;
    try {
      for (const client::Address& address : client::resolve_all(server)) try {
          return Stream(client::connect_to(address, std::min(timeout_s, connect_timeout_s), stop),
                        server, timeout_s, stop, security);
        } catch (const Unreachable& error) {
          if (why.empty()) why = error.what();
        }
    } catch (const Unreachable& error) {  // no such name
      why = error.what();
    }
    problems += (problems.empty() ? "" : "; ") + why;
  }
  throw Unreachable(problems + advice(option));
}

XmlPort::XmlPort(std::string servers, double timeout_s, double retry_s, const StopFlag& stop,
                 client::Security security)
    : servers_(std::move(servers)),
      security_(std::move(security)),
      timeout_s_(timeout_s),
      retry_s_(retry_s),
      stop_(stop) {}

void XmlPort::connect() {
  if (stream_)
    client::reset_on_close(stream_->socket());  // a long script must not run out of ports
  stream_.reset();
  const double attempts = retry_s_ > 0 ? 4 : 1;  // for each of which there is time
  stream_.emplace(cli::connect(servers_, "--connect", timeout_s_ / attempts, stop_, security_));
}

std::string XmlPort::ask(std::string_view document, Kind kind) {
  std::string doubt;  // what became of an attempt that may have been executed
  if (kind == Kind::question && stream_) try {
      return ask_on_connection(document);
    } catch (const client::ConnectionEnded& error) {
      doubt = error.what();
    } catch (const client::NoReply& error) {
      if (retry_s_ == 0) throw;
      doubt = error.what();
    }
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(retry_s_));
  for (auto pause = retry_pause_min;; pause = std::min(2 * pause, retry_pause_max)) {
    try {
      connect();
      return ask_on_connection(document);
    } catch (const client::NoReply& error) {
      if (kind == Kind::change || Clock::now() + pause > give_up) throw;
      doubt = error.what();
    } catch (const Unreachable& error) {
      if (kind == Kind::question && Clock::now() + pause <= give_up) {
      } else if (doubt.empty()) {
        throw;
      } else {
        throw client::NoReply(doubt + "; then: " + error.what());
      }
    }
    std::this_thread::sleep_for(pause);
    if (stop_) throw client::Interrupted();
  }
}

std::string XmlPort::ask_on_connection(std::string_view document) try {
  return client::ask(*stream_, document);
} catch (...) {  // a reply that comes later must not be taken for that to the next request
  stream_.reset();
  throw;
}

HttpReply http_get(const std::string& address, const std::string& target, double timeout_s,
                   const StopFlag& stop, const Access& access) {
  namespace http = boost::beast::http;
  Stream stream = connect(address, "--http", timeout_s, stop, access.security);
  std::string request = "GET " + target + " HTTP/1.1\r\nHost: " + stream.peer() +
                        "\r\nUser-Agent: exchange-cli\r\nAccept: application/json\r\n"
                        "Connection: close\r\n";
  if (!access.key.empty())
    request += "Authorization: Basic " + base64(access.account + ":" + access.key) + "\r\n";
  http::response_parser<http::string_body> parser;
  parser.body_limit(http_body_bytes_max);
  parser.eager(true);
  std::size_t parsed = 0;
  boost::beast::error_code error;
  stream.send_and_receive(request + "\r\n", [&](std::string_view bytes) {
    error = {};
    while (parsed < bytes.size() && !parser.is_done() && !error)
      parsed += parser.put(boost::asio::const_buffer(bytes.data() + parsed, bytes.size() - parsed),
                           error);
    if (error == http::error::need_more) error = {};
    return error || parser.is_done();
  });
  if (error)
    throw client::BadReply(address + " does not speak HTTP (" + error.message() +
                           "); --http HOST:PORT names the HTTP port, which is not the XML port");
  return {parser.get().result_int(), std::move(parser.get().body())};
}

}  // namespace exchange::cli
