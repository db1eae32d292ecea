#include "client/loadgen/json_orders.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "base/ensure.hpp"

namespace exchange::loadgen {
namespace {

using State = client::ReplyEnd::State;

constexpr std::size_t order_bytes_max = 320;  // of one order in JSON, with the longest names
constexpr char ping = '\x89';                 // the first byte of its frame
constexpr std::string_view end_of_head = "\r\n\r\n";

// Writes the members of an order, without braces.
char* write_order(char* out, const Workload& workload, std::uint32_t account,
                  const Action& action) {
  out = write_account(write_text(out, R"("account":")"), workload, account);
  out = write_symbol(write_text(out, R"(","symbol":")"), workload, action.symbol);
  const bool sells = action.amount < 0;
  out = write_text(out, sells ? R"(","side":"sell","shares":")" : R"(","side":"buy","shares":")");
  out = write_number(out, sells ? -action.amount : action.amount);
  out = write_cents(write_text(out, R"(","limit":")"), action.limit_cents);
  return write_text(out, "\"");
}

// Appends the payload as one text message of a client (RFC 6455, 5.2), masked.
void write_message(std::string_view payload, std::string& out) {
  constexpr std::array<unsigned char, 4> mask{0x6d, 0x61, 0x73, 0x6b};
  constexpr unsigned char text = 0x81, masked = 0x80, two_bytes = 126;
  out += char(text);
  if (payload.size() < two_bytes) {
    out += char(masked | payload.size());
  } else {
    ENSURE(payload.size() <= UINT16_MAX);
    out += char(masked | two_bytes);
    out += char(payload.size() >> 8);
    out += char(payload.size() & 0xff);
  }
  out.append(reinterpret_cast<const char*>(mask.data()), mask.size());
  for (std::size_t i = 0; i < payload.size(); ++i)
    out += char(static_cast<unsigned char>(payload[i]) ^ mask[i % mask.size()]);
}

// The number behind the first `name`; nothing if there is none.
std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view name) {
  const std::size_t found = text.find(name);
  if (found == std::string_view::npos) return {};
  std::uint64_t number = 0;
  const char *const begin = text.data() + found + name.size(), *const end =
                                                                   text.data() + text.size();
  const auto [at, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || at == begin) return {};
  return number;
}

client::ReplyEnd find_response(std::string_view buffer) {
  const std::size_t head = buffer.find(end_of_head);
  if (head == std::string_view::npos) return {State::incomplete};
  const auto length = number_behind(buffer.substr(0, head), "\r\nContent-Length: ");
  if (!length) return {State::bad};
  const std::size_t end = head + end_of_head.size() + *length;
  return buffer.size() < end ? client::ReplyEnd{State::incomplete}
                             : client::ReplyEnd{State::complete, 0, end};
}

// A message of the server (RFC 6455, 5.2), which does not mask.
client::ReplyEnd find_message(std::string_view buffer) {
  constexpr unsigned char text = 0x81, two_bytes = 126;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(buffer[at]); };
  const std::size_t header = skip_pings(Protocol::websocket, buffer);
  if (buffer.size() < header + 2 || buffer[header] == ping) return {State::incomplete};
  if (byte(header) != text || byte(header + 1) > two_bytes) return {State::bad};
  std::size_t begin = header + 2, length = byte(header + 1);
  if (length == two_bytes) {
    begin += 2;
    if (buffer.size() < begin) return {State::incomplete};
    length = std::size_t(byte(header + 2) << 8 | byte(header + 3));
  }
  if (buffer.size() < begin + length) return {State::incomplete};
  return {State::complete, begin, begin + length};
}

}  // namespace

std::string_view greeting(Protocol protocol) {
  if (protocol != Protocol::websocket) return {};
  return "GET /ws HTTP/1.1\r\nHost: exchange\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Key: bG9hZGdlbmxvYWRnZW4hIQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
}

bool is_welcome(std::string_view head) { return head.starts_with("HTTP/1.1 101 "); }

void write_json_request(Protocol protocol, const Workload& workload, const ScriptedRequest& request,
                        std::string& out) {
  const Action& action = request.actions.front();
  char text[order_bytes_max];
  char* end = text;
  if (protocol == Protocol::websocket) {
    end = write_number(write_text(end, R"({"id":)"), std::int64_t(action.id));
    end = write_text(end, R"(,"place":)");
  }
  end = write_text(end, "{");
  end = write_text(write_order(end, workload, request.account, action), "}");
  if (protocol == Protocol::websocket) end = write_text(end, "}");
  const std::string_view payload(text, std::size_t(end - text));
  if (protocol == Protocol::websocket) return write_message(payload, out);
  out +=
      "POST /api/orders HTTP/1.1\r\nHost: exchange\r\nContent-Type: application/json\r\n"
      "Content-Length: ";
  out += std::to_string(payload.size());
  out += end_of_head;
  out += payload;
}

std::size_t skip_pings(Protocol protocol, std::string_view buffer) {
  std::size_t at = 0;
  while (protocol == Protocol::websocket && buffer.size() - at >= 2 && buffer[at] == ping &&
         buffer.size() - at >= 2 + std::size_t(buffer[at + 1]))
    at += 2 + std::size_t(buffer[at + 1]);
  return at;
}

client::ReplyEnd find_json_reply(Protocol protocol, std::string_view buffer) {
  return protocol == Protocol::websocket ? find_message(buffer) : find_response(buffer);
}

void check_json_reply(Protocol protocol, const ScriptedRequest& request, std::string_view reply,
                      ReplyCheck& check) {
  constexpr unsigned opened = 201, refused = 409;
  check.problem = {};
  check.malformed = false;
  check.elements.clear();
  const bool is_message = protocol == Protocol::websocket;
  const auto status = number_behind(reply, is_message ? R"("status":)" : "HTTP/1.1 ");
  if (!status) {
    check.malformed = true;
    check.problem = "a reply without a status";
    return;
  }
  if (is_message && number_behind(reply, R"("id":)") != request.actions.front().id)
    check.problem = "the reply does not repeat the id";
  CheckedElement& checked = check.elements.emplace_back();
  checked.element.content = reply;
  checked.rejected = status == refused;
  if (status == opened) checked.opened = number_behind(reply, R"("order":)").value_or(0);
  if (!checked.rejected && checked.opened == 0) check.problem = "the order was not opened";
}

}  // namespace exchange::loadgen
