#include "client/cli/documents.hpp"

#include <pugixml.hpp>
#include <sstream>

#include "engine/decimal.hpp"
#include "protocol/request.hpp"

namespace exchange::cli {
namespace {

using Node = pugi::xml_node;

void set(Node node, const char* attribute, const std::string& value) {
  node.append_attribute(attribute) = value.c_str();
}

constexpr const char* bad_key = "a key has 8 to 128 bytes";

void set_key(Node node, const std::string& key) {
  if (key.empty()) return;
  if (!is_key(key)) throw UsageError(bad_key);
  set(node, "key", key);
}

Node creation(pugi::xml_document& document, const Sender& by) {
  const Node root = document.append_child("create");
  if (!by.account.empty()) set(root, "id", checked_account(by.account));
  set_key(root, by.key);
  return root;
}

Node transactions(pugi::xml_document& document, const std::string& account,
                  const std::string& key) {
  const Node root = document.append_child("transactions");
  set(root, "id", checked_account(account));
  set_key(root, key);
  return root;
}

// Throws the first error that the server would find. `keys`: of one whose accounts have keys.
std::vector<exchange::Command> read(const std::string& document, bool keys) {
  std::string text = document;
  text.push_back('\0');  // read_request() looks at the byte behind it
  XmlDocument parsed;
  std::vector<RequestElement> elements;
  std::vector<exchange::Command> commands;
  std::vector<Credential> credentials;
  const Request request = read_request(text.data(), document.size(), ProtocolLimits(), parsed,
                                       elements, commands, keys ? &credentials : nullptr);
  if (!request.error.empty()) throw UsageError(request.error);
  for (const RequestElement& element : elements)
    if (!element.error.empty()) throw UsageError(element.error);
  return commands;
}

std::string checked(const pugi::xml_document& xml, bool keys = false) {
  std::ostringstream out;
  xml.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  std::string document = out.str();
  read(document, keys);
  return document;
}

// `order`: its id, or "ref:" and its reference.
void set_order(Node node, const std::string& order) {
  constexpr std::string_view by_reference = "ref:";
  if (order.starts_with(by_reference))
    set(node, "ref", order.substr(by_reference.size()));
  else
    set(node, "id", order);
}

// The protocol's sign is the side. Here both sides count their shares from zero up.
void set_amount(Node node, Side side, const std::string& typed) {
  const auto shares = parse_shares(typed);
  if (!shares)
    throw UsageError("number of shares " + std::string(describe_shares_error(shares.error)));
  if (shares.value <= Shares()) throw UsageError("number of shares must be above zero");
  set(node, "amount", (side == Side::sell ? "-" : "") + typed);
}

std::string by_id(const char* element, const std::vector<std::string>& orders,
                  const std::string& account, const std::string& key) {
  pugi::xml_document document;
  Node root = transactions(document, account, key);
  for (const std::string& order : orders) set_order(root.append_child(element), order);
  return checked(document);
}

}  // namespace

std::string document_of(const NewAccount& created, const std::string& key, const Sender& by) {
  pugi::xml_document document;
  const Node account = creation(document, by).append_child("account");
  set(account, "id", created.account);
  set(account, "balance", created.balance);
  set_key(account, key);
  return checked(document);
}

std::string document_of(const NewSymbol& created, const Sender& by) {
  pugi::xml_document document;
  Node symbol = creation(document, by).append_child("symbol");
  set(symbol, "sym", created.symbol);
  for (const NewSymbol::Holding& holding : created.holdings) {
    Node account = symbol.append_child("account");
    set(account, "id", holding.account);
    account.text() = holding.shares.c_str();
  }
  return checked(document);
}

std::string document_of(const SetRules& set_rules, const Sender& by) {
  pugi::xml_document document;
  Node root = creation(document, by);
  const auto add = [&] {
    const Node instrument = root.append_child("instrument");
    if (set_rules.symbol) set(instrument, "sym", *set_rules.symbol);
    return instrument;
  };
  if (!set_rules.rules.empty() || set_rules.trading.empty()) {
    const Node instrument = add();
    for (const auto& [name, value] : set_rules.rules) set(instrument, name.c_str(), value);
  }
  for (const std::string& trading : set_rules.trading) set(add(), "trading", trading);
  return checked(document);
}

std::string document_of(const NewKey& change, const std::string& key, const Sender& by) {
  if (!is_key(key)) throw UsageError(bad_key);
  pugi::xml_document document;
  Node root = change.account ? creation(document, by) : transactions(document, by.account, by.key);
  const Node element = root.append_child("set-key");
  if (change.account) set(element, "id", *change.account);
  set_key(element, key);
  return checked(document, true);
}

std::string document_of(const RevokedKey& revoked, const Sender& by) {
  pugi::xml_document document;
  const Node element = creation(document, by).append_child("set-key");
  set(element, "id", revoked.account);
  set(element, "revoke", "true");
  return checked(document, true);
}

std::string document_of(const AccountChange& change, const Sender& by) {
  pugi::xml_document document;
  const Node element = creation(document, by).append_child("set-account");
  set(element, "id", change.account);
  for (const auto& [name, value] : change.rules) set(element, name.c_str(), value);
  return checked(document);
}

std::string document_of(const NewRound& round, const Sender& by) {
  pugi::xml_document document;
  set(creation(document, by).append_child("begin-round"), "name", round.name);
  return checked(document);
}

std::string document_of(const Adjustment& adjustment, const Sender& by) {
  pugi::xml_document document;
  const char* const name = adjustment.symbol ? "adjust-shares" : "adjust-cash";
  const Node element = creation(document, by).append_child(name);
  if (adjustment.symbol) set(element, "sym", *adjustment.symbol);
  set(element, "id", adjustment.account);
  set(element, "amount", adjustment.amount);
  set(element, "reason", adjustment.reason);
  return checked(document);
}

std::string document_of_scenario(const std::string& text, const std::string& operator_key) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed)
    throw UsageError(std::string(parsed.description()) + " at byte " +
                     std::to_string(parsed.offset));
  const Node root = document.document_element();
  if (std::string_view(root.name()) != "create") throw UsageError("it is no <create> document");
  if (root.attribute("key"))
    throw UsageError("it has a key; --operator-key-file names the one to use");
  set_key(root, operator_key);
  return checked(document, true);  // no other exchange has days
}

std::vector<exchange::Command> commands_of(const std::string& document) {
  return read(document, true);
}

std::string document_of(const NewOrder& placed, const std::string& account,
                        const std::string& key) {
  pugi::xml_document document;
  const Node order = transactions(document, account, key).append_child("order");
  set(order, "sym", placed.symbol);
  set_amount(order, placed.side, placed.shares);
  if (placed.limit == market_price)
    set(order, "type", "market");
  else
    set(order, "limit", placed.limit);
  if (!placed.reference.empty()) set(order, "ref", placed.reference);
  if (!placed.tif.empty()) set(order, "tif", placed.tif);
  if (placed.post_only) set(order, "post", "true");
  if (!placed.stp.empty()) set(order, "stp", placed.stp);
  return checked(document);
}

std::string document_of(const Replacement& replacement, const std::string& account,
                        const std::string& key) {
  pugi::xml_document document;
  const Node order = transactions(document, account, key).append_child("replace");
  set_order(order, replacement.order);
  set_amount(order, replacement.side, replacement.shares);
  set(order, "limit", replacement.limit);
  return checked(document);
}

std::string document_of(const CancelOrders& cancel, const std::string& account,
                        const std::string& key) {
  return by_id("cancel", cancel.orders, account, key);
}

std::string document_of(const CancelAllOrders& cancel, const std::string& account,
                        const std::string& key) {
  pugi::xml_document document;
  const Node all = transactions(document, account, key).append_child("cancel");
  if (cancel.symbol)
    set(all, "sym", checked_symbol(*cancel.symbol));
  else
    set(all, "all", "true");
  return checked(document);
}

std::string document_of(const ShowOrders& query, const std::string& account,
                        const std::string& key) {
  return by_id("query", query.orders, account, key);
}

const std::string& checked_symbol(const std::string& symbol) {
  if (!parse_symbol_name(symbol)) throw UsageError("symbol must be 1 to 32 letters and digits");
  return symbol;
}

const std::string& checked_account(const std::string& account) {
  if (account.empty())
    throw UsageError(
        "which account? say --account ID, set EXCHANGE_ACCOUNT, or 'account ID' in the shell");
  if (!parse_account_id(account)) throw UsageError("account id must be 1 to 64 digits");
  return account;
}

}  // namespace exchange::cli
