#pragma once
// Functions over HTTP requests and responses that all paths use. Pure. Any thread.

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
inline constexpr auto bad_request = boost::beast::http::status::bad_request,
                      not_found = boost::beast::http::status::not_found,
                      unavailable = boost::beast::http::status::service_unavailable;

std::string_view path_of(const HttpHeader& header);
std::string_view last_segment(const HttpHeader& header);
// Decodes characters that need no percent-encoding, because a client may encode them (RFC 3986
// 6.2.2.2), and the colon of "ref:mine". Valid targets of this server need no other encoded
// character.
void decode_target(HttpHeader& header);
// Returns a problem if a parameter of the query is not one of `known`, which are names with a space
// between them, or if it occurs twice.
Problem query_problem(const HttpHeader& header, std::string_view known);
// Returns the value of a query parameter, which may be empty; data() is null if it is absent.
std::string_view parameter(const HttpHeader& header, std::string_view name);
// Returns the value of a parameter that is a whole number from 1 to `max`; `absent` if it is not
// given, 0 if it is invalid.
std::size_t count_parameter(const HttpHeader& header, std::string_view name, std::size_t absent,
                            std::size_t max);
// Returns the value of a parameter that is a whole number from 0 and fits into the tables; nothing
// if it is absent or invalid.
std::optional<std::uint64_t> number_parameter(const HttpHeader& header, std::string_view name);
std::string_view field_of(const HttpHeader& header, boost::beast::http::field name);
// Whether If-None-Match has this tag, by weak comparison, or is "*" (RFC 9110 13.1.2).
bool has_tag(const HttpHeader& header, std::string_view tag);

HttpResponse respond(const HttpHeader& header, boost::beast::http::status status,
                     const char* content_type, std::string body);
// Returns an error in the format of the path: JSON under /api, a <results> document for /api/xml,
// otherwise text. `code` is for programs; if empty, it is the name of the status.
HttpResponse http_error(const HttpHeader& header, boost::beast::http::status status,
                        std::string_view sentence, std::string_view code = {});
// Returns the error for an invalid parameter of count_parameter().
HttpResponse count_error(const HttpHeader& header, std::string_view name, std::size_t max);
// Returns an error with the sentence and the code of the reason.
HttpResponse refusal(const HttpHeader& header, boost::beast::http::status status, Reason reason);
// Returns a 503 with Retry-After: the same request may succeed in a second.
HttpResponse ask_again(const HttpHeader& header, std::string_view sentence);
HttpResponse unknown_symbol(const HttpHeader& header, std::string_view symbol);
HttpResponse malformed_account(const HttpHeader& header);

}  // namespace exchange
