#include "client/cli/documents.hpp"

#include <pugixml.hpp>
#include <sstream>

#include "engine/decimal.hpp"
#include "protocol/request.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::cli {
namespace {

constexpr const char* bad_key = "a key has 8 to 128 bytes";

const std::string& checked_key(const std::string& key) {
  if (!is_key(key)) throw UsageError(bad_key);
  return key;
}
std::optional<std::string> optional_key(const std::string& key) {
  return key.empty() ? std::nullopt : std::optional(checked_key(key));
}

void throw_if(const Problem& problem) {
  if (problem) throw UsageError(problem.sentence);
}

// Returns the element of a command, with attributes as typed. Throws the first error that the
// server would find in them.
template <class AnyCommand>
std::string element_of(const std::vector<Rule>& typed, const std::string& content = {}) {
  AttributeTexts texts;
  AnyCommand command{};
  for_each_attribute<AnyCommand>([&](auto place) {
    constexpr auto& attribute = attributes_of<AnyCommand>[place];
    for (const auto& [name, value] : typed)
      if (name == attribute.name) texts[place] = value;
  });
  if constexpr (std::is_same_v<AnyCommand, PlaceOrder>)
    throw_if(
        read_type(texts[place<PlaceOrder>("type")], texts[place<PlaceOrder>("limit")].has_value()));
  for_each_attribute<AnyCommand>([&](auto place) {
    constexpr auto& attribute = attributes_of<AnyCommand>[place];
    if (texts[place] && attribute.value.read != nullptr)
      throw_if(attribute.value.read(*texts[place], command, attribute.name));
  });
  return write_element<AnyCommand>(texts, content);
}
// Adds the optional attributes that are not empty.
std::vector<Rule> given(std::vector<Rule> typed, std::vector<Rule> optional) {
  for (Rule& one : optional)
    if (!one.value.empty()) typed.push_back(std::move(one));
  return typed;
}

std::string creation(const std::string& elements, const Sender& by) {
  return "<create" + (by.account.empty() ? "" : xml_attribute("id", checked_account(by.account))) +
         key_attribute(optional_key(by.key).value_or("")) + ">" + elements + "</create>";
}
std::string transaction(const std::string& elements, const std::string& account,
                        const std::string& key) {
  return write_transactions(checked_account(account), elements, optional_key(key).value_or(""));
}

// Throws the first error that the server would find. Its text may contain keys of accounts.
void read(const std::string& document) {
  std::string text = document;
  text.push_back('\0');  // read_request() reads the byte after the text
  XmlDocument parsed;
  ProtocolLimits limits;
  limits.keys = true;
  std::vector<RequestElement> elements;
  std::vector<exchange::Command> commands;
  std::vector<Credential> credentials;
  const Request request =
      read_request(text.data(), document.size(), limits, parsed, elements, commands, &credentials);
  if (!request.error.empty()) throw UsageError(request.error);
  for (const RequestElement& element : elements)
    if (!element.error.empty()) throw UsageError(element.error);
}

// `order`: its id, or "ref:" and its reference.
Rule named(const std::string& order) {
  constexpr std::string_view by_reference = "ref:";
  if (order.starts_with(by_reference)) return {"ref", order.substr(by_reference.size())};
  return {"id", order};
}

// In the protocol the sign is the side. Here shares are positive on both sides.
Rule amount(Side side, const std::string& typed) {
  const auto shares = parse_shares(typed);
  if (!shares)
    throw UsageError("number of shares " + std::string(describe_shares_error(shares.error)));
  if (shares.value <= Shares()) throw UsageError("number of shares must be above zero");
  return {"amount", (side == Side::sell ? "-" : "") + typed};
}

template <class OfOrder>
std::string of_orders(const std::vector<std::string>& orders, const std::string& account,
                      const std::string& key) {
  std::string elements;
  for (const std::string& order : orders) elements += element_of<OfOrder>({named(order)});
  return transaction(elements, account, key);
}

}  // namespace

std::string write_document(const NewAccount& created, const std::string& key, const Sender& by) {
  optional_key(key);
  return creation(element_of<CreateAccount>(given(
                      {{"id", created.account}, {"balance", created.balance}}, {{"key", key}})),
                  by);
}

std::string write_document(const NewSymbol& created, const Sender& by) {
  const std::string empty = element_of<CreateSymbol>({{"sym", created.symbol}});
  if (created.holdings.empty()) return creation(empty, by);
  std::string text = "<symbol" + xml_attribute("sym", created.symbol) + ">";
  for (const NewSymbol::Holding& holding : created.holdings) {
    Shares shares;
    throw_if(read_value(holding.shares, shares, "number of shares"));
    text += element_of<PlaceShares>({{"id", holding.account}}, holding.shares);
  }
  return creation(text + "</symbol>", by);
}

std::string write_document(const SetRules& set_rules, const Sender& by) {
  std::string elements;
  const auto add = [&](std::vector<Rule> rules) {
    if (set_rules.symbol) rules.push_back({"sym", *set_rules.symbol});
    elements += element_of<SetInstrument>(rules);
  };
  if (!set_rules.rules.empty() || set_rules.trading.empty()) add(set_rules.rules);
  for (const std::string& trading : set_rules.trading) add({{"trading", trading}});
  return creation(elements, by);
}

std::string write_document(const NewKey& change, const std::string& key, const Sender& by) {
  const Rule new_key{"key", checked_key(key)};
  if (!change.account) return transaction(element_of<SetKey>({new_key}), by.account, by.key);
  return creation(element_of<SetKey>({{"id", *change.account}, new_key}), by);
}

std::string write_document(const RevokedKey& revoked, const Sender& by) {
  return creation(element_of<SetKey>({{"id", revoked.account}, {"revoke", "true"}}), by);
}

std::string write_document(const AccountChange& change, const Sender& by) {
  std::vector<Rule> typed = change.rules;
  typed.push_back({"id", change.account});
  return creation(element_of<SetAccount>(typed), by);
}

std::string write_document(const NewRound& round, const Sender& by) {
  return creation(element_of<BeginRound>({{"name", round.name}}), by);
}

std::string write_document(const Adjustment& adjustment, const Sender& by) {
  const std::vector<Rule> typed{
      {"id", adjustment.account}, {"amount", adjustment.amount}, {"reason", adjustment.reason}};
  return creation(adjustment.symbol
                      ? element_of<AdjustShares>(given(typed, {{"sym", *adjustment.symbol}}))
                      : element_of<AdjustCash>(typed),
                  by);
}

std::string write_scenario(const std::string& text, const std::string& operator_key) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed)
    throw UsageError(std::string(parsed.description()) + " at byte " +
                     std::to_string(parsed.offset));
  pugi::xml_node root = document.document_element();
  if (std::string_view(root.name()) != "create") throw UsageError("it is not a <create> document");
  if (root.attribute("key"))
    throw UsageError("it has a key; --operator-key-file names the one to use");
  if (const auto key = optional_key(operator_key)) root.append_attribute("key") = key->c_str();
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  read(out.str());
  return out.str();
}

std::string write_document(CommandKind kind, const std::vector<Rule>& typed,
                           const std::string& account, const std::string& key) {
  return transaction(
      with_kind(kind, [&](auto type) { return element_of<typename decltype(type)::type>(typed); }),
      account, key);
}

std::string write_document(const NewOrder& placed, const std::string& account,
                           const std::string& key) {
  const bool market = placed.limit == market_price;
  std::vector<Rule> typed = placed.terms;
  typed.push_back({"sym", placed.symbol});
  typed.push_back(amount(placed.side, placed.shares));
  typed.push_back(market ? Rule{"type", std::string(word_of(OrderType::market))}
                         : Rule{"limit", placed.limit});
  return transaction(element_of<PlaceOrder>(given(typed, {{"ref", placed.reference}})), account,
                     key);
}

std::string write_document(const Replacement& replacement, const std::string& account,
                           const std::string& key) {
  return transaction(element_of<ReplaceOrder>({named(replacement.order),
                                               amount(replacement.side, replacement.shares),
                                               {"limit", replacement.limit}}),
                     account, key);
}

std::string write_document(const CancelOrders& cancel, const std::string& account,
                           const std::string& key) {
  return of_orders<CancelOrder>(cancel.orders, account, key);
}

std::string write_document(const CancelAllOrders& cancel, const std::string& account,
                           const std::string& key) {
  const Rule which =
      cancel.symbol ? Rule{"sym", checked_symbol(*cancel.symbol)} : Rule{"all", "true"};
  return write_document(command_kind<CancelAll>, {which}, account, key);
}

std::string write_document(const ShowOrders& query, const std::string& account,
                           const std::string& key) {
  return of_orders<QueryOrder>(query.orders, account, key);
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
