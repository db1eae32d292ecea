#include "http/http_message.hpp"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <charconv>

#include "http/api.hpp"
#include "protocol/reply.hpp"

namespace exchange {

namespace http = boost::beast::http;

namespace {

// "not_found".
std::string code_of_status(http::status status) {
  std::string code;
  for (const char c : http::obsolete_reason(status)) code += c == ' ' ? '_' : c;
  return boost::to_lower_copy(code);
}

std::string_view target_of(const HttpHeader& header) {
  return {header.target().data(), header.target().size()};
}

}  // namespace

std::string_view path_of(const HttpHeader& header) {
  return target_of(header).substr(0, target_of(header).find('?'));
}

std::string_view parameter(const HttpHeader& header, std::string_view name) {
  std::string_view query = target_of(header);
  query.remove_prefix(std::min(path_of(header).size() + 1, query.size()));
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair == name) return pair.substr(name.size());
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
      return pair.substr(name.size() + 1);
  }
  return {};
}

std::size_t count_parameter(const HttpHeader& header, std::string_view name, std::size_t absent,
                            std::size_t max) {
  const std::string_view text = parameter(header, name);
  if (text.data() == nullptr) return absent;
  std::size_t count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  return problem == std::errc() && end == text.data() + text.size() && count <= max ? count : 0;
}

std::string_view last_segment(const HttpHeader& header) {
  const std::string_view path = path_of(header);
  return path.substr(path.rfind('/') + 1);
}

std::string_view field_of(const HttpHeader& header, http::field name) {
  const auto value = header[name];
  return {value.data(), value.size()};
}

HttpResponse respond(const HttpHeader& header, http::status status, const char* content_type,
                     std::string body) {
  HttpResponse response{status, header.version()};
  response.set(http::field::content_type, content_type);
  response.set(http::field::cache_control, "no-cache");
  response.set("X-Content-Type-Options", "nosniff");
  response.body() = std::move(body);
  return response;
}

HttpResponse http_error(const HttpHeader& header, http::status status, std::string_view sentence,
                        std::string_view code) {
  const std::string_view path = path_of(header);
  if (path == "/api/xml") {
    std::string document;
    append_results(document, Request{.error = std::string(sentence)}, {}, {}, false);
    return respond(header, status, xml_type, std::move(document));
  }
  if (path.starts_with("/api/"))
    return respond(header, status, json_type,
                   error_json(sentence, code.empty() ? code_of_status(status) : code));
  return respond(header, status, text_type, std::string(sentence) + "\n");
}

HttpResponse count_error(const HttpHeader& header, std::string_view name, std::size_t max) {
  return http_error(header, http::status::bad_request,
                    std::string(name) + " is a whole number from 1 to " + std::to_string(max));
}

}  // namespace exchange
