#include "web/http_message.hpp"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <vector>

#include "base/text.hpp"
#include "json/json_input.hpp"
#include "protocol/reply.hpp"

namespace exchange {

namespace http = boost::beast::http;

namespace {

// Returns the code of a status, such as "not_found".
std::string code_of_status(http::status status) {
  std::string code;
  for (const char c : http::obsolete_reason(status)) code += c == ' ' ? '_' : c;
  return boost::to_lower_copy(code);
}

std::string_view target_of(const HttpHeader& header) {
  return {header.target().data(), header.target().size()};
}

std::string_view query_of(const HttpHeader& header) {
  const std::string_view target = target_of(header);
  return target.substr(std::min(path_of(header).size() + 1, target.size()));
}
// Removes the pair up to the next '&', and the '&', from the query; returns the pair.
std::string_view take_pair(std::string_view& query) {
  const std::string_view pair = query.substr(0, query.find('&'));
  query.remove_prefix(std::min(pair.size() + 1, query.size()));
  return pair;
}

bool needs_no_encoding(char c) {  // RFC 3986 2.3: unreserved
  return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' || c == ':';
}

// `words` have a space between them.
bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view one = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(one.size() + 1, words.size()));
    if (one == word) return true;
  }
  return false;
}

}  // namespace

std::string_view path_of(const HttpHeader& header) {
  return target_of(header).substr(0, target_of(header).find('?'));
}

void decode_target(HttpHeader& header) {
  const std::string_view target = target_of(header);
  if (target.find('%') == target.npos) return;
  std::string decoded;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto encoded = target[i] == '%' && i + 2 < target.size()
                             ? parse_number<unsigned>(target.substr(i + 1, 2), 16)
                             : std::nullopt;
    if (encoded && needs_no_encoding(char(*encoded))) {
      decoded += char(*encoded);
      i += 2;
    } else {
      decoded += target[i];
    }
  }
  header.target(decoded);
}

Problem query_problem(const HttpHeader& header, std::string_view known) {
  std::vector<std::string_view> seen;
  for (std::string_view query = query_of(header); !query.empty();) {
    const std::string_view pair = take_pair(query), name = pair.substr(0, pair.find('='));
    if (pair.empty()) continue;
    const std::string shown = "the parameter '" + std::string(name.substr(0, 64)) + "'";
    if (!has_word(known, name))
      return {
          ErrorCode::unexpected_content,
          "unexpected " + shown.substr(4) + "; this path takes " +
              (known.empty() ? "none" : boost::replace_all_copy(std::string(known), " ", ", "))};
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return {ErrorCode::conflicting_attributes, shown + " stands twice"};
    seen.push_back(name);
  }
  return {};
}

std::string_view parameter(const HttpHeader& header, std::string_view name) {
  for (std::string_view query = query_of(header); !query.empty();) {
    const std::string_view pair = take_pair(query);
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
  const std::size_t count = parse_number<std::size_t>(text).value_or(0);
  return count <= max ? count : 0;
}

std::optional<std::uint64_t> number_parameter(const HttpHeader& header, std::string_view name) {
  const auto number = parse_number<std::uint64_t>(parameter(header, name));
  return number && *number <= INT64_MAX ? number : std::nullopt;
}

std::string_view last_segment(const HttpHeader& header) {
  const std::string_view path = path_of(header);
  return path.substr(path.rfind('/') + 1);
}

std::string_view field_of(const HttpHeader& header, http::field name) {
  const auto value = header[name];
  return {value.data(), value.size()};
}

bool has_tag(const HttpHeader& header, std::string_view tag) {
  const auto opaque = [](std::string_view text) {
    return text.substr(text.starts_with("W/") ? 2 : 0);
  };
  const auto fields = header.equal_range(http::field::if_none_match);
  for (auto field = fields.first; field != fields.second; ++field) {
    std::string_view list{field->value().data(), field->value().size()};
    if (list == "*") return true;
    while (!list.empty()) {
      list.remove_prefix(std::min(list.find_first_not_of(" \t,"), list.size()));
      const std::size_t begin = list.starts_with("W/") ? 2 : 0;
      const std::size_t end =
          list.substr(begin).starts_with('"') ? list.find('"', begin + 1) : std::string_view::npos;
      if (end == list.npos) break;  // not a tag
      if (opaque(list.substr(0, end + 1)) == opaque(tag)) return true;
      list.remove_prefix(end + 1);
    }
  }
  return false;
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
                   json_text(error_object(sentence, code.empty() ? code_of_status(status) : code)));
  return respond(header, status, text_type, std::string(sentence) + "\n");
}

HttpResponse count_error(const HttpHeader& header, std::string_view name, std::size_t max) {
  return http_error(header, http::status::bad_request,
                    std::string(name) + " is a whole number from 1 to " + std::to_string(max));
}

HttpResponse refusal(const HttpHeader& header, http::status status, Reason reason) {
  return http_error(header, status, describe(reason), to_code(reason));
}

HttpResponse ask_again(const HttpHeader& header, std::string_view sentence) {
  HttpResponse response = http_error(header, http::status::service_unavailable, sentence);
  response.set(http::field::retry_after, "1");
  return response;
}

HttpResponse unknown_symbol(const HttpHeader& header, std::string_view symbol) {
  return http_error(header, http::status::not_found, "unknown symbol '" + std::string(symbol) + "'",
                    to_code(Reason::unknown_symbol));
}

HttpResponse malformed_account(const HttpHeader& header) {
  return http_error(header, http::status::bad_request, account_id_form,
                    to_code(ErrorCode::malformed_id));
}

}  // namespace exchange
