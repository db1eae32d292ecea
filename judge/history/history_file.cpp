#include "judge/history/history_file.hpp"

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "client/connection/results.hpp"

namespace exchange::history {
namespace {

// Text between them is ignored.
std::vector<pugi::xml_node> elements_of(const pugi::xml_node& parent) {
  std::vector<pugi::xml_node> elements;
  for (const pugi::xml_node& child : parent.children())
    if (child.type() == pugi::node_element) elements.push_back(child);
  return elements;
}

// The attribute as a reply repeats it; nothing if it is absent.
std::string repeated(const pugi::xml_node& node, const char* name) {
  const pugi::xml_attribute attribute = node.attribute(name);
  return attribute ? " " + std::string(name) + "=\"" + attribute.value() + "\"" : "";
}

RequestElement account(const pugi::xml_node& node) {
  RequestElement element{.name = "account", .echo = repeated(node, "id")};
  const auto id = parse_account_id(node.attribute("id").value());
  const auto balance = parse_cash(node.attribute("balance").value(), Rounding::towards_zero);
  if (id && balance && balance.value >= Cash()) element.command = CreateAccount{*id, balance.value};
  return element;
}

RequestElement placement(const pugi::xml_node& node, const pugi::xml_node& symbol) {
  RequestElement element{.name = "placement",
                         .echo = repeated(symbol, "sym") + repeated(node, "id")};
  const auto name = parse_symbol_name(symbol.attribute("sym").value());
  const auto id = parse_account_id(node.attribute("id").value());
  std::string_view text = node.child_value();
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  const auto shares = parse_shares(text, Rounding::towards_zero);
  if (name && id && shares && shares.value >= Shares())
    element.command = PlaceShares{*name, *id, shares.value};
  return element;
}

RequestElement order(const pugi::xml_node& node, const std::optional<AccountId>& by) {
  RequestElement element{.name = "order",
                         .echo = repeated(node, "sym") + repeated(node, "amount") +
                                 repeated(node, "limit") + repeated(node, "ref") +
                                 repeated(node, "tif") + repeated(node, "post") +
                                 repeated(node, "type") + repeated(node, "stp")};
  const auto symbol = parse_symbol_name(node.attribute("sym").value());
  const auto amount = parse_shares(node.attribute("amount").value(), Rounding::towards_zero);
  const bool buys = amount.value > Shares();
  const std::string type = node.attribute("type").as_string("limit");
  const bool market = type == "market";
  if (type != "limit" && (!market || node.attribute("limit"))) return element;
  const auto limit = market ? Parsed<Price>()
                            : parse_price(node.attribute("limit").value(),
                                          buys ? Rounding::towards_zero : Rounding::up);
  if (!by || !symbol || !amount || !limit || amount.value == Shares()) return element;
  if (!market && limit.value <= Price()) return element;
  PlaceOrder placed{*by, *symbol, buys ? Side::buy : Side::sell,
                    buys ? amount.value : Shares() - amount.value, limit.value};
  if (node.attribute("ref")) {
    const auto reference = parse_order_reference(node.attribute("ref").value());
    if (!reference) return element;
    placed.reference = *reference;
  }
  const std::string lifetime = node.attribute("tif").as_string("gtc"),
                    post = node.attribute("post").as_string("false"),
                    self_trade = node.attribute("stp").as_string("none");
  if (lifetime == "ioc")
    placed.lifetime = Lifetime::immediate_or_cancel;
  else if (lifetime == "fok")
    placed.lifetime = Lifetime::fill_or_kill;
  else if (lifetime != "gtc")
    return element;
  if (post != "true" && post != "false") return element;
  placed.post_only = post == "true";
  if (placed.post_only && placed.lifetime != Lifetime::until_canceled) return element;
  const bool has_tif = node.attribute("tif");
  if (market && has_tif && placed.lifetime != Lifetime::immediate_or_cancel) return element;
  if (self_trade == "cancel-resting")
    placed.self_trade = SelfTrade::cancel_resting;
  else if (self_trade == "cancel-taking")
    placed.self_trade = SelfTrade::cancel_taking;
  else if (self_trade != "none")
    return element;
  element.command = placed;
  return element;
}

template <class QueryOrCancel>
RequestElement of_order(const pugi::xml_node& node, const std::optional<AccountId>& by) {
  RequestElement element{.name = node.name(), .echo = repeated(node, "id") + repeated(node, "ref")};
  const auto reference = parse_order_reference(node.attribute("ref").value());
  const auto id = parse_order_id(node.attribute("id").value());
  if (node.attribute("id") && node.attribute("ref")) return element;  // an error
  QueryOrCancel command{};
  if (!by || (!id && !reference)) return element;
  command.account = *by;
  if (reference)
    command.reference = *reference;
  else
    command.order = *id;
  if constexpr (std::is_same_v<QueryOrCancel, QueryOrder>) {
    const auto from = parse_order_id(node.attribute("from").as_string("1"));
    if (!from) return element;
    command.from = *from;
  }
  element.command = command;
  return element;
}

RequestElement replace(const pugi::xml_node& node, const std::optional<AccountId>& by) {
  RequestElement element{.name = "replace",
                         .echo = repeated(node, "id") + repeated(node, "ref") +
                                 repeated(node, "amount") + repeated(node, "limit")};
  for (const char* term : {"tif", "post", "type", "stp"})
    if (node.attribute(term)) return element;
  const auto id = parse_order_id(node.attribute("id").value());
  const auto reference = parse_order_reference(node.attribute("ref").value());
  const bool named = node.attribute("id") ? id && !node.attribute("ref") : reference.has_value();
  const auto amount = parse_shares(node.attribute("amount").value(), Rounding::towards_zero);
  const bool buys = amount.value > Shares();
  const auto limit =
      parse_price(node.attribute("limit").value(), buys ? Rounding::towards_zero : Rounding::up);
  if (!by || !named || !amount || amount.value == Shares() || !limit || limit.value <= Price())
    return element;
  ReplaceOrder command{.account = *by,
                       .side = buys ? Side::buy : Side::sell,
                       .shares = buys ? amount.value : Shares() - amount.value,
                       .limit = limit.value};
  if (reference)
    command.reference = *reference;
  else
    command.order = *id;
  element.command = command;
  return element;
}

RequestElement cancel_all(const pugi::xml_node& node, const std::optional<AccountId>& by) {
  RequestElement element{.name = "cancel", .echo = repeated(node, "sym")};
  const auto symbol = parse_symbol_name(node.attribute("sym").value());
  const bool of_all = node.attribute("all").as_string("true") == std::string_view("true");
  const bool says_what = node.attribute("all") || node.attribute("sym");
  if (by && of_all && says_what && (symbol || !node.attribute("sym")))
    element.command = CancelAll{*by, symbol};
  return element;
}

// --- of the operator ---

// Each of these sets `value` if the attribute is there. False: to something that it cannot be.
template <class Value, class Parse>
bool set(const pugi::xml_node& node, const char* name, Value& value, const Parse& parse) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return true;
  const auto parsed = parse(std::string_view(attribute.value()));
  if (parsed) value = *parsed;
  return bool(parsed);
}

// Of at least 0.
std::optional<Price> price_of(std::string_view text) {
  const auto price = parse_price(text, Rounding::towards_zero);
  return price && price.value >= Price() ? std::optional(price.value) : std::nullopt;
}
std::optional<Shares> shares_of(std::string_view text) {
  const auto shares = parse_shares(text, Rounding::towards_zero);
  return shares && shares.value >= Shares() ? std::optional(shares.value) : std::nullopt;
}
std::optional<Cash> cash_of(std::string_view text) {
  const auto cash = parse_cash(text, Rounding::towards_zero);
  return cash && cash.value >= Cash() ? std::optional(cash.value) : std::nullopt;
}
std::optional<std::uint64_t> count_of(std::string_view text) {
  return text == "0" ? std::optional<std::uint64_t>(0) : parse_order_id(text);
}

// One of these words.
template <class Value>
auto one_of(std::initializer_list<std::pair<std::string_view, Value>> words) {
  return [words = std::vector(words)](std::string_view text) -> std::optional<Value> {
    for (const auto& [word, value] : words)
      if (word == text) return value;
    return {};
  };
}

RequestElement instrument(const pugi::xml_node& node) {
  RequestElement element{.name = "instrument", .echo = repeated(node, "sym")};
  SetInstrument command;
  const auto trading = one_of<Trading>({{"open", Trading::open},
                                        {"halted", Trading::halted},
                                        {"auction", Trading::auction},
                                        {"volatility", Trading::volatility}});
  const auto at_band = one_of<AtBand>({{"refuse", AtBand::refuse}, {"auction", AtBand::auction}});
  if (set(node, "sym", command.symbol, parse_symbol_name) &&
      set(node, "tick", command.tick, price_of) &&
      set(node, "price-min", command.price_min, price_of) &&
      set(node, "price-max", command.price_max, price_of) &&
      set(node, "band", command.band, price_of) && set(node, "at-band", command.at_band, at_band) &&
      set(node, "lot", command.lot, shares_of) &&
      set(node, "order-max", command.order_max, shares_of) &&
      set(node, "trading", command.trading, trading))
    element.command = command;
  return element;
}

RequestElement set_account(const pugi::xml_node& node) {
  RequestElement element{.name = "set-account", .echo = repeated(node, "id")};
  SetAccount command;
  const auto role = one_of<Role>({{"trader", Role::trader}, {"operator", Role::market_operator}});
  const auto access = one_of<Access>({{"active", Access::active}, {"frozen", Access::frozen}});
  const auto flag = one_of<bool>({{"true", true}, {"false", false}});
  if (node.attribute("id") && set(node, "id", command.account, parse_account_id) &&
      set(node, "role", command.role, role) && set(node, "access", command.access, access) &&
      set(node, "cancel-orders", command.cancel_orders, flag) &&
      set(node, "orders-max", command.orders_max, count_of) &&
      set(node, "orders-per-second-max", command.orders_per_second_max, count_of) &&
      set(node, "position-max", command.position_max, shares_of) &&
      set(node, "name", command.name, parse_account_name))
    element.command = command;
  return element;
}

// A key as matching keeps it: that there is one.
RequestElement set_key(const pugi::xml_node& node, const std::optional<AccountId>& by) {
  RequestElement element{.name = "set-key", .echo = repeated(node, "id")};
  const bool revoke = node.attribute("revoke").as_string() == std::string_view("true");
  if (!by || revoke == !node.attribute("key").empty()) return element;
  SetKey command{*by};
  if (!revoke) command.key.log2_n = 1;
  element.command = command;
  return element;
}

// Below zero: so much is taken.
template <class Adjust, class Amount, class Parse>
void read_change(const pugi::xml_node& node, Adjust command, Amount Adjust::*number,
                 const Parse& parse, RequestElement& element) {
  std::string_view amount = node.attribute("amount").value();
  command.takes = amount.starts_with('-');
  if (command.takes) amount.remove_prefix(1);
  const auto parsed = parse(amount);
  if (!parsed || !node.attribute("id") || !set(node, "id", command.account, parse_account_id) ||
      !set(node, "reason", command.reason, parse_order_reference))
    return;
  command.*number = *parsed;
  element.command = command;
}

RequestElement adjust_cash(const pugi::xml_node& node) {
  RequestElement element{.name = "adjust-cash", .echo = repeated(node, "id")};
  read_change(node, AdjustCash{}, &AdjustCash::cash, cash_of, element);
  return element;
}

RequestElement adjust_shares(const pugi::xml_node& node) {
  RequestElement element{.name = "adjust-shares",
                         .echo = repeated(node, "sym") + repeated(node, "id")};
  if (const auto symbol = parse_symbol_name(node.attribute("sym").value()))
    read_change(node, AdjustShares{.account = {}, .symbol = *symbol}, &AdjustShares::shares,
                shares_of, element);
  return element;
}

RequestElement begin_round(const pugi::xml_node& node) {
  RequestElement element{.name = "begin-round", .echo = repeated(node, "name")};
  if (const auto name = parse_order_reference(node.attribute("name").value()))
    element.command = BeginRound{*name};
  return element;
}

RequestElement creation(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  return name == "account"         ? account(node)
         : name == "instrument"    ? instrument(node)
         : name == "set-key"       ? set_key(node, parse_account_id(node.attribute("id").value()))
         : name == "set-account"   ? set_account(node)
         : name == "adjust-cash"   ? adjust_cash(node)
         : name == "adjust-shares" ? adjust_shares(node)
         : name == "begin-round"   ? begin_round(node)
                                   : RequestElement{.name = std::string(name)};
}

void read_create(const pugi::xml_node& root, std::vector<RequestElement>& elements) {
  for (const pugi::xml_node& node : elements_of(root)) {
    const std::string_view name = node.name();
    if (name == "symbol" && elements_of(node).empty()) {
      RequestElement& element =
          elements.emplace_back(RequestElement{.name = "symbol", .echo = repeated(node, "sym")});
      if (const auto symbol = parse_symbol_name(node.attribute("sym").value()))
        element.command = CreateSymbol{*symbol};
    } else if (name == "symbol") {
      for (const pugi::xml_node& child : elements_of(node))
        elements.push_back(std::string_view(child.name()) == "account"
                               ? placement(child, node)
                               : RequestElement{.name = child.name()});
    } else {
      elements.push_back(creation(node));
    }
  }
}

void read_transactions(const pugi::xml_node& root, Request& request) {
  const auto by = parse_account_id(root.attribute(root.attribute("id") ? "id" : "account").value());
  for (const pugi::xml_node& node : elements_of(root)) {
    const std::string_view name = node.name();
    const bool of_one = node.attribute("id") || node.attribute("ref");
    request.elements.push_back(name == "order"              ? order(node, by)
                               : name == "query"            ? of_order<QueryOrder>(node, by)
                               : name == "cancel" && of_one ? of_order<CancelOrder>(node, by)
                               : name == "cancel"           ? cancel_all(node, by)
                               : name == "replace"          ? replace(node, by)
                               : name == "set-key"          ? set_key(node, by)
                                                   : RequestElement{.name = std::string(name)});
  }
}

}  // namespace

void read_request(const std::string& document, Request& request) {
  pugi::xml_document parsed;
  if (const auto result = parsed.load_buffer(document.data(), document.size()); !result) {
    request.refusal = result.description();
    return;
  }
  const pugi::xml_node root = parsed.document_element();
  if (std::string_view(root.name()) == "create")
    read_create(root, request.elements);
  else if (std::string_view(root.name()) == "transactions")
    read_transactions(root, request);
  else
    request.refusal = "neither create nor transactions";
}

bool read_reply(const std::string& document, std::vector<std::string>& elements) {
  client::ReplyElements parts(document);
  for (client::ReplyElement part; parts.next(part);) {
    const char* const begin = part.name.data() - 1;  // the '<'
    const char* end = part.attributes.data() + part.attributes.size();
    while (*end != '>') ++end;
    if (end[-1] != '/') {  // an element with content: up to the end of its end tag
      end = part.content.data() + part.content.size();
      while (*end != '>') ++end;
    }
    elements.emplace_back(begin, end + 1);
  }
  return parts.complete();
}

// The replies to a cancel of all orders are of one element.
void join_canceled(Request& request) {
  const auto cancels_all = [](const RequestElement& element) {
    return element.command && std::holds_alternative<CancelAll>(*element.command);
  };
  const auto all = std::find_if(request.elements.begin(), request.elements.end(), cancels_all);
  if (all == request.elements.end()) return;
  if (std::find_if(std::next(all), request.elements.end(), cancels_all) != request.elements.end())
    throw Unusable(request.line +
                   ": two cancels of all orders in one request: which of the "
                   "canceled orders is whose, nothing shows");
  auto& replies = request.replies;
  const auto first = replies.begin() + (all - request.elements.begin());
  for (; replies.size() > request.elements.size(); replies.erase(first + 1)) *first += first[1];
}

void read_history(std::istream& in, const std::string& name, std::uint64_t& runs,
                  std::vector<Request>& requests) {
  std::uint64_t number = 0;
  bool begun = false;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const std::string line = name + ":" + std::to_string(number);
    try {
      const auto json = nlohmann::json::parse(text);
      if (json.contains("history")) {
        if (json["history"] != 1) throw Unusable("this is a history of another version");
        ++runs;
        begun = true;
        continue;
      }
      if (!begun) throw Unusable("a history begins with its header line");
      Request& request = requests.emplace_back();
      request.line = line;
      request.client = json.at("client");
      request.run = runs;
      request.connection = json.at("connection");
      request.call = json.at("call");
      read_request(json.at("request").get<std::string>(), request);
      if (json.at("return").is_null()) continue;
      request.answered = json.at("return").get<std::int64_t>();
      if (*request.answered < request.call) throw Unusable("a reply before its request");
      // as too few elements
      if (!read_reply(json.at("reply").get<std::string>(), request.replies))
        request.replies.clear();
      join_canceled(request);
    } catch (const nlohmann::json::exception& error) {
      throw Unusable(line + ": " + error.what());
    } catch (const Unusable& error) {
      throw Unusable(line + ": " + error.what());
    }
  }
  if (!begun) throw Unusable(name + ": holds no history");
}

}  // namespace exchange::history
