#include "client/loadgen/workload.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "client/loadgen/audit/order_ids.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::loadgen {
namespace {

constexpr std::string_view xml_declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
constexpr std::int32_t mid_cents = 100'00;   // the mid price
constexpr std::int32_t spread_cents = 1'00;  // the largest distance of a limit from it
constexpr std::uint32_t shares_per_order_max = 100;
constexpr std::size_t header_bytes_max = 24;  // of the length line
// The largest size of an element as text, with the longest names: an order, or the two elements of
// a new account.
constexpr std::size_t element_bytes_max = 260, document_bytes_max = 300;

// The value of `random` scaled to 0 .. bound-1.
std::uint32_t scaled(std::uint32_t random, std::uint32_t bound) {
  return std::uint32_t((std::uint64_t(random) * bound) >> 32);
}

std::uint32_t high(std::uint64_t random) { return std::uint32_t(random >> 32); }
std::uint32_t low(std::uint64_t random) { return std::uint32_t(random); }

}  // namespace

Asked asked_of(Action::Kind kind) {
  switch (kind) {
    case Action::Kind::account:
    case Action::Kind::placement: return Asked::create;
    case Action::Kind::order: return Asked::order;
    case Action::Kind::query: return Asked::query;
    case Action::Kind::cancel: return Asked::cancel;
    case Action::Kind::replace: return Asked::replace;
    case Action::Kind::cancel_all: return Asked::cancel_all;
  }
  return Asked::order;
}

Workload::Workload(const WorkloadOptions& options, unsigned clients)
    : options_(options),
      clients_(clients),
      accounts_(options.accounts == 0 ? clients : options.accounts),
      weights_(options.mix.all()),
      account_digits_(unsigned(std::to_string(std::max(accounts_, clients_) - 1).size())),
      create_tag_(exchange::create_tag(options.operator_key)) {}

std::string Workload::account_id(std::uint32_t account) const {
  const std::string digits = std::to_string(account);
  return options_.account_prefix + std::string(account_digits_ - digits.size(), '0') + digits;
}

// All accounts together get a billion shares of each symbol. Resting sells bind some of them for
// good: at 100,000 orders per second of one symbol the shares last for a quarter of an hour. Some
// ninety runs on one store stay below what the exchange can hold in all (docs/protocol.md, C15: 92
// billion shares of a symbol).
std::int64_t Workload::shares_per_account() const {
  return std::max(1'000u, 1'000'000'000u / accounts_);
}

char* write_text(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* write_number(char* out, std::int64_t number) {
  return std::to_chars(out, out + 20, number).ptr;
}

char* write_cents(char* out, std::int32_t cents) {
  out = write_number(out, cents / 100);
  *out++ = '.';
  *out++ = char('0' + cents / 10 % 10);
  *out++ = char('0' + cents % 10);
  return out;
}

char* write_account(char* out, const Workload& workload, std::uint32_t account) {
  out = write_text(out, workload.options().account_prefix);
  char* const end = out + workload.account_digits();
  for (char* digit = end; digit != out; account /= 10) *--digit = char('0' + account % 10);
  return end;
}

char* write_symbol(char* out, const Workload& workload, unsigned symbol) {
  return write_number(write_text(out, workload.options().symbol_prefix), symbol);
}

namespace {

// Writes the key of the account whose id was written last and begins at `id`. The key repeats the
// id after a prefix, so that it is long enough.
char* write_key(char* out, const Workload& workload, const char* id) {
  if (!workload.options().keys) return out;
  const std::string_view text(id, std::size_t(out - id));
  return write_text(write_text(write_text(out, "\" key=\""), "loadgen-"), text);
}

}  // namespace

char* write_new_account(char* out, const Workload& workload, std::uint32_t client,
                        std::uint64_t number) {
  return std::to_chars(write_account(out, workload, client), out + 64, number).ptr;
}

char* write_reference(char* out, std::uint32_t client, std::uint64_t number) {
  return write_number(write_text(write_number(out, client), "-"), std::int64_t(number));
}

Script::Script(const Workload& workload, unsigned client)
    : workload_(&workload), client_(client), random_(workload.options().seed, client) {
  const Mix& mix = workload.options().mix;
  if (mix.query + mix.cancel + mix.replace > 0) orders_.resize(orders_kept_max);
  actions_.reserve(workload.actions_max());
}

void Script::next(std::string& out) {
  draw();
  const std::size_t begin = out.size();
  out.resize(begin + header_bytes_max + document_bytes_max + workload_->create_tag().size() +
             actions_.size() * element_bytes_max);
  char* const document = out.data() + begin + header_bytes_max;
  char* const end = write(document);
  char header[header_bytes_max];
  char* const header_end = write_text(write_number(header, end - document), "\n");
  const std::size_t header_bytes = std::size_t(header_end - header),
                    document_bytes = std::size_t(end - document);
  std::memcpy(out.data() + begin, header, header_bytes);
  std::memmove(out.data() + begin + header_bytes, document, document_bytes);
  out.resize(begin + header_bytes + document_bytes);
}

// Draws the same number of random values for each request of a kind, so that the content of replies
// does not shift the sequence.
void Script::draw() {
  const Mix& mix = workload_->options_.mix;
  actions_.clear();
  const std::uint64_t choice = random_.next();
  account_ = draw_account(low(choice));
  const bool creates = scaled(high(choice), workload_->weights_) < mix.create;
  if (creates) {
    const std::uint64_t random = random_.next();
    account_ = client_;
    actions_.push_back({.kind = Action::Kind::account, .id = ++new_accounts_});
    if (random & 1)
      actions_.push_back(
          {.kind = Action::Kind::placement,
           .symbol = std::uint16_t(1 + scaled(high(random), workload_->options_.symbols)),
           .amount = std::int32_t(1 + scaled(low(random), shares_per_order_max)),
           .id = new_accounts_});
    return;
  }
  for (unsigned i = 0; i < workload_->options_.orders_per_request; ++i) {
    const std::uint64_t random = random_.next(), prices = random_.next(), names = random_.next();
    const std::uint32_t at = scaled(high(names), workload_->weights_ - mix.create);
    const std::uint32_t named = mix.order + mix.query + mix.cancel,
                        with_terms = named + mix.ioc + mix.fok + mix.post + mix.market + mix.stp;
    const Action order = draw_order(random, prices, draw_terms(at));
    if (at >= with_terms + mix.replace) {
      draw_cancel_all(order);
    } else if (at >= with_terms) {
      draw_replace(order, low(names), i > 0);
    } else if (at >= mix.order && at < named) {
      const auto kind = at < mix.order + mix.query ? Action::Kind::query : Action::Kind::cancel;
      Order* const old = name_order(kind, low(names), i > 0);
      actions_.push_back(old ? Action{.kind = kind, .id = old->id} : order);
      if (old && kind == Action::Kind::cancel) old->id = 0;
    } else {
      actions_.push_back(order);
    }
  }
}

// Draws an order, and the replace of an older one in one of four ways: the older order keeps its
// place, loses it at the same price, loses it at another price, or takes what rests on the other
// side. The id of the new order shows when the replace happened, which the reply to the replace
// does not. The order after a cancel of all has the same purpose.
void Script::draw_replace(Action order, std::uint32_t back, bool own_account) {
  const std::uint64_t random = random_.next();
  Order* const old = name_order(Action::Kind::replace, back, own_account);
  if (old) order.symbol = old->symbol;  // so that a halt applies to both of them
  actions_.push_back(order);
  if (!old) return;
  const std::int32_t sign = old->amount > 0 ? 1 : -1, shares = sign * old->amount;
  const auto any = std::int32_t(1 + scaled(low(random), shares_per_order_max));
  const auto new_limit = [&](std::int32_t below_mid) { return mid_cents - sign * below_mid; };
  switch (scaled(high(random), 4)) {
    case 0:
      old->amount = sign * std::int32_t(1 + scaled(low(random), std::uint32_t(shares)));
      break;
    case 1: old->amount += sign * any; break;
    case 2:
      old->amount = sign * any;
      old->limit_cents = new_limit(std::int32_t(1 + low(random) % std::uint32_t(spread_cents)));
      break;
    default: old->limit_cents = new_limit(-spread_cents);
  }
  actions_.push_back({.kind = Action::Kind::replace,
                      .symbol = old->symbol,
                      .amount = old->amount,
                      .limit_cents = old->limit_cents,
                      .id = old->id});
}

// Draws a cancel of all, and an order after it. The cancel alternates between all symbols and the
// symbol of `order`. A request contains at most one, so that its reply elements can be
// distinguished from those of other cancels by their number.
void Script::draw_cancel_all(const Action& order) {
  const auto is_one = [](const Action& action) { return action.kind == Action::Kind::cancel_all; };
  if (std::any_of(actions_.begin(), actions_.end(), is_one)) return actions_.push_back(order);
  const std::uint16_t symbol = cancels_of_all_++ % 2 == 0 ? std::uint16_t(0) : order.symbol;
  for (Order& old : orders_)
    if (old.account == account_ && (symbol == 0 || old.symbol == symbol)) old.id = 0;
  actions_.push_back({.kind = Action::Kind::cancel_all, .symbol = symbol});
  actions_.push_back(order);
}

// `at`: drawn from the weights without `create`. Kinds that were added later come after the others,
// so that mixes without them draw the same as before.
Terms Script::draw_terms(std::uint32_t at) {
  const Mix& mix = workload_->options_.mix;
  std::uint32_t end = mix.order + mix.query + mix.cancel;
  if (at < end) return Terms::none;
  if (at < (end += mix.ioc)) return Terms::ioc;
  if (at < (end += mix.fok)) return Terms::fok;
  if (at < (end += mix.post)) return Terms::post;
  if (at < (end += mix.market)) return Terms::market;
  if (at >= end + mix.stp) return Terms::none;
  return stp_orders_++ % 2 == 0 ? Terms::cancel_resting : Terms::cancel_taking;
}

// The limit of a taker crosses the mid price by the whole spread, that of a maker stays on its own
// side: takers trade with makers, makers never with each other. If r/2 of the orders are takers,
// about r of the shares trade. Orders that never rest are takers.
Action Script::draw_order(std::uint64_t random, std::uint64_t prices, Terms terms) {
  const unsigned symbol = 1 + scaled(high(random), workload_->options_.symbols);
  const bool buy = (random & 1) == 1;
  const bool taker = never_rests(terms) ||
                     double(low(prices)) < workload_->options_.match_ratio / 2 * 4'294'967'296.0;
  const auto shares = std::int32_t(1 + scaled(low(random), shares_per_order_max));
  const std::int32_t below_mid =
      taker ? -spread_cents : std::int32_t(1 + scaled(high(prices), std::uint32_t(spread_cents)));
  return {.kind = Action::Kind::order,
          .terms = terms,
          .symbol = std::uint16_t(symbol),
          .amount = buy ? shares : -shares,
          .limit_cents = terms == Terms::market ? 0
                         : buy                  ? mid_cents - below_mid
                                                : mid_cents + below_mid,
          .id = ++referenced_};
}

// Whether its limit is that of a maker: most other orders have executed.
bool Script::rests(const Order& order) const {
  return !never_rests(order.terms) &&
         (order.amount > 0 ? order.limit_cents < mid_cents : order.limit_cents > mid_cents);
}

// Returns an order that is not canceled yet: the one `back` from the latest, or the next older one;
// for a replace, one that probably rests. Null if there is no such order. All actions of a request
// belong to one account: a request with a single element takes the account of the order, other
// requests name only orders of their own account.
Script::Order* Script::name_order(Action::Kind kind, std::uint32_t back, bool own_account) {
  const auto kept = std::uint32_t(std::min<std::uint64_t>(opened_, orders_kept_max));
  const bool whole_request = workload_->options_.orders_per_request == 1;
  for (std::uint32_t i = 0, first = kept == 0 ? 0 : scaled(back, kept); i < kept; ++i) {
    Order& order = orders_[(opened_ - 1 - (first + i) % kept) % orders_kept_max];
    if (order.id == 0 || (kind == Action::Kind::replace && !rests(order))) continue;
    if (order.account != account_) {
      if (own_account || !whole_request) continue;
      account_ = order.account;
    }
    return &order;
  }
  return nullptr;
}

// Each client has the accounts whose number modulo the number of clients is its own number. If
// there are fewer accounts than clients, clients share them.
std::uint32_t Script::draw_account(std::uint32_t random) const {
  const unsigned clients = workload_->clients_, accounts = workload_->accounts_;
  if (accounts <= clients) return client_ % accounts;
  const unsigned own = accounts / clients + (client_ < accounts % clients ? 1 : 0);
  return client_ + clients * scaled(random, own);
}

char* Script::write(char* out) const {
  out = write_text(out, xml_declaration);
  const bool creates = asked_of(actions_.front().kind) == Asked::create;
  if (creates) {
    out = write_text(out, workload_->create_tag());
  } else {
    out = write_text(out, "<transactions id=\"");
    const char* const id = out;
    out = write_key(write_account(out, *workload_, account_), *workload_, id);
    out = write_text(out, "\">");
  }
  for (const Action& action : actions_) out = write(out, action);
  return write_text(out, creates ? "</create>\n" : "</transactions>\n");
}

char* Script::write(char* out, const Action& action) const {
  switch (action.kind) {
    case Action::Kind::account: {
      const char* const id = out = write_text(out, "<account id=\"");
      out = write_key(write_new_account(out, *workload_, client_, action.id), *workload_, id);
      out = write_number(write_text(out, "\" balance=\""), Workload::cash_of_new_account);
      return write_text(out, "\"/>");
    }
    case Action::Kind::placement:
      out = write_symbol(write_text(out, "<symbol sym=\""), *workload_, action.symbol);
      out = write_new_account(write_text(out, "\"><account id=\""), *workload_, client_, action.id);
      out = write_number(write_text(out, "\">"), action.amount);
      return write_text(out, "</account></symbol>");
    case Action::Kind::order: return write_order(out, action);
    case Action::Kind::query:
    case Action::Kind::cancel:
      out = write_text(out, action.kind == Action::Kind::query ? "<query id=\"" : "<cancel id=\"");
      return write_text(write_id(out, action.id), "\"/>");
    case Action::Kind::replace:
      out = write_id(write_text(out, "<replace id=\""), action.id);
      out = write_number(write_text(out, "\" amount=\""), action.amount);
      out = write_cents(write_text(out, "\" limit=\""), action.limit_cents);
      return write_text(out, "\"/>");
    case Action::Kind::cancel_all:
      if (action.symbol == 0) return write_text(out, "<cancel all=\"true\"/>");
      out = write_symbol(write_text(out, "<cancel sym=\""), *workload_, action.symbol);
      return write_text(out, "\"/>");
  }
  return out;
}

char* Script::write_order(char* out, const Action& action) const {
  out = write_symbol(write_text(out, "<order sym=\""), *workload_, action.symbol);
  out = write_number(write_text(out, "\" amount=\""), action.amount);
  if (action.terms != Terms::market)
    out = write_cents(write_text(out, "\" limit=\""), action.limit_cents);
  if (workload_->options().references)
    out = write_reference(write_text(out, "\" ref=\""), client_, action.id);
  if (const auto [name, value] = attribute_of(action.terms); !name.empty())
    out = write_text(write_text(write_text(write_text(out, "\" "), name), "=\""), value);
  return write_text(out, "\"/>");
}

void Script::opened(std::uint64_t order, std::uint32_t account, const Action& action) {
  if (orders_.empty()) return;
  orders_[opened_ % orders_kept_max] = {order,        account,       action.symbol,
                                        action.terms, action.amount, action.limit_cents};
  ++opened_;
}

std::vector<SetupRequest> setup_requests(const Workload& workload) {
  std::vector<SetupRequest> requests;
  const unsigned accounts = workload.trades() ? workload.accounts() : 1,
                 symbols = workload.trades() ? workload.options().symbols : 0;
  constexpr unsigned keys_at_once = 100;  // the server hashes each key before it replies
  const unsigned accounts_at_once = std::min(std::max(1u, setup_elements_max / (symbols + 1)),
                                             workload.options().keys ? keys_at_once : ~0u);
  const std::string shares = std::to_string(workload.shares_per_account()),
                    cash = std::to_string(workload.options().cash);
  for (unsigned first = 0; first < accounts; first += accounts_at_once) {
    const unsigned end = std::min(accounts, first + accounts_at_once);
    std::string document = std::string(xml_declaration) + workload.create_tag() + "\n";
    for (unsigned account = first; account < end; ++account) {
      const std::string id = workload.account_id(account),
                        key = workload.options().keys ? "\" key=\"loadgen-" + id : "";
      document += "<account id=\"" + id + key + "\" balance=\"" + cash + "\"/>\n";
    }
    for (unsigned symbol = 1; symbol <= symbols; ++symbol) {
      document += "<symbol sym=\"" + workload.symbol_name(symbol) + "\">\n";
      for (unsigned account = first; account < end; ++account)
        document +=
            "<account id=\"" + workload.account_id(account) + "\">" + shares + "</account>\n";
      document += "</symbol>\n";
    }
    document += "</create>\n";
    requests.push_back({document, std::size_t(end - first) * (symbols + 1)});
  }
  return requests;
}

std::string set_up_query(const Workload& workload) {
  return write_transactions(workload.account_id(0), "<query id=\"1\"/>") + "\n";
}

}  // namespace exchange::loadgen
