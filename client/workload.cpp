#include "client/workload.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace exchange::loadgen {
namespace {

constexpr std::string_view xml_declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
constexpr std::int32_t mid_cents = 100'00, spread_cents = 1'00;  // limits lie within 1 % of 100.00
constexpr std::uint32_t shares_per_order_max = 100;
constexpr unsigned client_digits = 5;

// A run never comes near these, and many runs on one store stay below what the exchange can hold in all
// (PROTOCOL, "Numbers": 92 billion shares of a symbol).
constexpr std::int64_t cash_per_client = 1'000'000'000'000;
std::int64_t shares_per_client(unsigned clients) { return std::max(10'000u, 1'000'000'000u / std::max(clients, 1'000u)); }

std::string account_of_client(const WorkloadOptions& options, unsigned client) {
  const std::string digits = std::to_string(client);
  return options.account_prefix + std::string(client_digits - digits.size(), '0') + digits;
}

std::string framed(const std::string& document) { return std::to_string(document.size()) + "\n" + document; }

}  // namespace

const char* name_of(RequestKind kind) {
  switch (kind) {
    case RequestKind::account: return "account";
    case RequestKind::account_with_shares: return "account with shares";
    case RequestKind::order: return "order";
    case RequestKind::query: return "query";
    case RequestKind::cancel: return "cancel";
  }
  return "";
}

char* write_text(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* write_number(char* out, std::int64_t number) { return std::to_chars(out, out + 20, number).ptr; }

char* write_cents(char* out, std::int32_t cents) {
  out = write_number(out, cents / 100);
  *out++ = '.';
  *out++ = char('0' + cents / 10 % 10);
  *out++ = char('0' + cents % 10);
  return out;
}

std::string_view FrameBuffer::frame(char* end) {
  char* begin = document();
  std::size_t bytes = std::size_t(end - begin);
  *--begin = '\n';
  for (; bytes > 0; bytes /= 10) *--begin = char('0' + bytes % 10);
  return {begin, std::size_t(end - begin)};
}

Script::Script(const WorkloadOptions& options, unsigned client)
    : options_(&options), account_(account_of_client(options, client)), random_(options.seed, client) {
  if (options.kind == WorkloadKind::mix) orders_.resize(orders_kept_max);
}

std::string_view Script::next(FrameBuffer& buffer) {
  draw();
  return buffer.frame(write(buffer.document()));
}

void Script::draw() {
  if (options_->kind == WorkloadKind::create) {
    const bool with_shares = random_.below(2) == 1;
    request_ = {.kind = with_shares ? RequestKind::account_with_shares : RequestKind::account,
                .symbol = std::uint16_t(1 + random_.below(options_->symbols)),
                .amount = std::int32_t(1 + random_.below(shares_per_order_max)),
                .id = ++accounts_};
    return;
  }
  draw_order();
  if (options_->kind != WorkloadKind::mix) return;
  // An order is drawn in any case: what replies say does not shift the sequence.
  const std::uint32_t percent = random_.below(100), back = random_.below(orders_kept_max);
  const std::uint64_t kept = std::min<std::uint64_t>(opened_, orders_kept_max);
  if (percent < 70 || kept == 0) return;
  std::uint64_t& order = orders_[(opened_ - 1 - back % kept) % orders_kept_max];
  if (order == 0) return;
  request_ = {.kind = percent < 90 ? RequestKind::query : RequestKind::cancel, .id = order};
  if (request_.kind == RequestKind::cancel) order = 0;
}

void Script::draw_order() {
  const bool buy = random_.below(2) == 1;
  const auto shares = std::int32_t(1 + random_.below(shares_per_order_max));
  request_ = {.kind = RequestKind::order,
              .symbol = std::uint16_t(1 + random_.below(options_->symbols)),
              .amount = buy ? shares : -shares,
              .limit_cents = mid_cents - spread_cents + std::int32_t(random_.below(2 * spread_cents + 1))};
}

char* Script::write_new_account(char* out) const { return write_number(write_text(out, account_), std::int64_t(request_.id)); }

char* Script::write(char* out) const {
  out = write_text(out, xml_declaration);
  switch (request_.kind) {
    case RequestKind::account:
    case RequestKind::account_with_shares:
      out = write_text(out, "<create><account id=\"");
      out = write_new_account(out);
      out = write_text(out, "\" balance=\"100000\"/>");
      if (request_.kind == RequestKind::account_with_shares) {
        out = write_text(out, "<symbol sym=\"SYM");
        out = write_number(out, request_.symbol);
        out = write_text(out, "\"><account id=\"");
        out = write_new_account(out);
        out = write_text(out, "\">");
        out = write_number(out, request_.amount);
        out = write_text(out, "</account></symbol>");
      }
      return write_text(out, "</create>\n");
    case RequestKind::order:
      out = write_text(out, "<transactions id=\"");
      out = write_text(out, account_);
      out = write_text(out, "\"><order sym=\"SYM");
      out = write_number(out, request_.symbol);
      out = write_text(out, "\" amount=\"");
      out = write_number(out, request_.amount);
      out = write_text(out, "\" limit=\"");
      out = write_cents(out, request_.limit_cents);
      break;
    case RequestKind::query:
    case RequestKind::cancel:
      out = write_text(out, "<transactions id=\"");
      out = write_text(out, account_);
      out = write_text(out, request_.kind == RequestKind::query ? "\"><query id=\"" : "\"><cancel id=\"");
      out = std::to_chars(out, out + 20, request_.id).ptr;
      break;
  }
  return write_text(out, "\"/></transactions>\n");
}

void Script::opened(std::uint64_t order) {
  if (orders_.empty()) return;
  orders_[opened_ % orders_kept_max] = order;
  ++opened_;
}

std::vector<SetupRequest> setup_requests(const WorkloadOptions& options, unsigned clients) {
  std::vector<SetupRequest> requests;
  if (options.kind == WorkloadKind::create) return requests;
  const unsigned clients_at_once = std::max(1u, setup_leaves_max / (options.symbols + 1));
  const std::string shares = std::to_string(shares_per_client(clients)), cash = std::to_string(cash_per_client);
  for (unsigned first = 0; first < clients; first += clients_at_once) {
    const unsigned end = std::min(clients, first + clients_at_once);
    std::string document = std::string(xml_declaration) + "<create>\n";
    for (unsigned client = first; client < end; ++client)
      document += "<account id=\"" + account_of_client(options, client) + "\" balance=\"" + cash + "\"/>\n";
    for (unsigned symbol = 1; symbol <= options.symbols; ++symbol) {
      document += "<symbol sym=\"SYM" + std::to_string(symbol) + "\">\n";
      for (unsigned client = first; client < end; ++client)
        document += "<account id=\"" + account_of_client(options, client) + "\">" + shares + "</account>\n";
      document += "</symbol>\n";
    }
    document += "</create>\n";
    requests.push_back({framed(document), std::size_t(end - first) * (options.symbols + 1)});
  }
  return requests;
}

}  // namespace exchange::loadgen
