#include "client/connection/http.hpp"

#include <openssl/evp.h>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace exchange::client {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t body_bytes_max = 64u << 20;

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');  // its terminator takes the final zero
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()), int(bytes.size()));
  return text;
}

}  // namespace

HttpReply ask(Stream& stream, const HttpRequest& request) {
  std::string text = request.head + " HTTP/1.1\r\nHost: " + stream.peer() +
                     "\r\nUser-Agent: exchange-cli\r\nAccept: application/json\r\n"
                     "Connection: close\r\n" +
                     request.fields;
  if (!request.body.empty())
    text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  text += "\r\n" + request.body;
  http::response_parser<http::string_body> parser;
  parser.body_limit(body_bytes_max);
  parser.eager(true);
  std::size_t parsed = 0;
  boost::system::error_code error;
  stream.send_and_receive(text, [&](std::string_view bytes) {
    error = {};
    while (parsed < bytes.size() && !parser.is_done() && !error)
      parsed += parser.put(boost::asio::const_buffer(bytes.data() + parsed, bytes.size() - parsed),
                           error);
    if (error == http::error::need_more) error = {};
    return error || parser.is_done();
  });
  if (error) throw BadReply(stream.peer() + " does not speak HTTP (" + error.message() + ")");
  return {parser.get().result_int(), std::move(parser.get().body())};
}

std::string authorization(const std::string& account, const std::string& key) {
  if (key.empty()) return {};
  if (account.empty()) return "Authorization: Bearer " + key + "\r\n";
  return "Authorization: Basic " + base64(account + ":" + key) + "\r\n";
}

}  // namespace exchange::client
