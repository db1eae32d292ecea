#pragma once
// HTTP requests and responses, as all paths read and make them. Pure. Any thread.

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/description.hpp"

namespace exchange {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;
using HttpHeader = boost::beast::http::request_header<>;

inline constexpr const char* json_type = "application/json";
inline constexpr const char* text_type = "text/plain; charset=utf-8";
inline constexpr const char* xml_type = "application/xml; charset=utf-8";

std::string_view path_of(const HttpHeader& header);
std::string_view last_segment(const HttpHeader& header);
// Decodes what needs no percent-encoding, since a client may encode it (RFC 3986 6.2.2.2), and the
// colon of "ref:mine". Nothing that is valid here needs any other character.
void decode_target(HttpHeader& header);
// What is wrong with the query: a parameter that is not one of `known`, names with a space between
// them, or that stands twice. Empty: nothing.
Problem query_problem(const HttpHeader& header, std::string_view known);
// The value of a query parameter, which may be empty; null if it is absent.
std::string_view parameter(const HttpHeader& header, std::string_view name);
// A parameter that is a whole number from 1 to `max`: its value, `absent` if it is not given, 0 if
// it is invalid.
std::size_t count_parameter(const HttpHeader& header, std::string_view name, std::size_t absent,
                            std::size_t max);
// A parameter that is a whole number from 0 that the tables can have; nothing if it is absent or
// invalid.
std::optional<std::uint64_t> number_parameter(const HttpHeader& header, std::string_view name);
std::string_view field_of(const HttpHeader& header, boost::beast::http::field name);
// Whether If-None-Match has this tag, by weak comparison, or any (RFC 9110 13.1.2).
bool has_tag(const HttpHeader& header, std::string_view tag);

HttpResponse respond(const HttpHeader& header, boost::beast::http::status status,
                     const char* content_type, std::string body);
// An error as the path's kind of document: JSON under /api, a <results> document for /api/xml, else
// text. `code`: for programs; empty: the name of the status.
HttpResponse http_error(const HttpHeader& header, boost::beast::http::status status,
                        std::string_view sentence, std::string_view code = {});
// Of such a parameter.
HttpResponse count_error(const HttpHeader& header, std::string_view name, std::size_t max);
// With the sentence and the code of the reason.
HttpResponse refusal(const HttpHeader& header, boost::beast::http::status status, Reason reason);
// With Retry-After: the same request may be answered in a second.
HttpResponse ask_again(const HttpHeader& header, std::string_view sentence);
HttpResponse unknown_symbol(const HttpHeader& header, std::string_view symbol);
HttpResponse malformed_account(const HttpHeader& header);

}  // namespace exchange
