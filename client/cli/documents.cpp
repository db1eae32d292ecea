#include "client/cli/documents.hpp"

#include <pugixml.hpp>
#include <sstream>

#include "engine/decimal.hpp"
#include "protocol/request.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::cli {
namespace {

using Elements = std::vector<std::vector<Typed>>;  // the attributes of each

const std::string& checked_key(const std::string& key) {
  if (!is_key(key)) throw UsageError("a key has 8 to 128 bytes");
  return key;
}

void throw_if(const Problem& problem) {
  if (problem) throw UsageError(problem.sentence);
}

// Returns the element of a command, with attributes as typed. Throws the first error that the
// server would find in them.
template <class AnyCommand>
std::string element_of(const std::vector<Typed>& typed, const std::string& content = {}) {
  AttributeTexts texts;
  AnyCommand command{};
  for_each_attribute<AnyCommand>([&](auto place) {
    constexpr auto& attribute = attributes_of<AnyCommand>[place];
    for (const auto& [name, value] : typed)
      if (name == attribute.name)
        texts[place] = attribute.value.type == ValueType::key ? checked_key(value) : value;
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

std::string request(Root root, const std::string& elements, const Sender& by) {
  const std::string name = root == Root::create ? "create" : "transactions";
  std::string id, key;
  if (root != Root::create || !by.account.empty())
    id = xml_attribute("id", checked_account(by.account));
  if (!by.key.empty()) key = key_attribute(checked_key(by.key));
  return "<" + name + id + key + ">" + elements + "</" + name + ">";
}

template <class AnyCommand>
std::string request_of(const Elements& elements, const Sender& by,
                       Root root = request_element<AnyCommand>.root) {
  std::string text;
  for (const std::vector<Typed>& typed : elements) text += element_of<AnyCommand>(typed);
  return request(root, text, by);
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
Typed name_of_order(const std::string& order) {
  constexpr std::string_view by_reference = "ref:";
  if (order.starts_with(by_reference)) return {"ref", order.substr(by_reference.size())};
  return {"id", order};
}

// In the protocol the sign is the side. Here shares are positive on both sides.
Typed amount(Side side, const std::string& typed) {
  const auto shares = parse_shares(typed);
  if (!shares)
    throw UsageError("number of shares " + std::string(describe_shares_error(shares.error)));
  if (shares.value <= Shares()) throw UsageError("number of shares must be above zero");
  return {"amount", (side == Side::sell ? "-" : "") + typed};
}

}  // namespace

const std::string* find_typed(const Change& change, std::string_view name) {
  for (const std::vector<Typed>& element : change.elements)
    for (const Typed& one : element)
      if (one.name == name) return &one.value;
  return nullptr;
}

std::string write_document(const Change& change, const Sender& by) {
  return with_kind(change.kind, [&](auto type) {
    using AnyCommand = typename decltype(type)::type;
    constexpr bool may_be_own = std::is_same_v<AnyCommand, SetKey>;
    return request_of<AnyCommand>(
        change.elements, by,
        may_be_own && find_typed(change, "id") == nullptr ? Root::transactions : Root::create);
  });
}

std::string write_document(const NewSymbol& created, const Sender& by) {
  std::string text = element_of<CreateSymbol>({{"sym", created.symbol}});
  if (created.holdings.empty()) return request(Root::create, text, by);
  text = "<symbol" + xml_attribute("sym", created.symbol) + ">";
  for (const NewSymbol::Holding& holding : created.holdings) {
    Shares shares;
    throw_if(read_value(holding.shares, shares, "number of shares"));
    text += element_of<PlaceShares>({{"id", holding.account}}, holding.shares);
  }
  return request(Root::create, text + "</symbol>", by);
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
  if (!operator_key.empty()) root.append_attribute("key") = checked_key(operator_key).c_str();
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  read(out.str());
  return out.str();
}

std::string write_document(const NewOrder& placed, const Sender& by) {
  std::vector<Typed> typed = placed.terms;
  typed.push_back({"sym", placed.symbol});
  typed.push_back(amount(placed.side, placed.shares));
  if (placed.limit == market_price)
    typed.push_back({"type", std::string(word_of(OrderType::market))});
  else
    typed.push_back({"limit", placed.limit});
  if (!placed.reference.empty()) typed.push_back({"ref", placed.reference});
  return request_of<PlaceOrder>({typed}, by);
}

std::string write_document(const Replacement& replacement, const Sender& by) {
  return request_of<ReplaceOrder>({{name_of_order(replacement.order),
                                    amount(replacement.side, replacement.shares),
                                    {"limit", replacement.limit}}},
                                  by);
}

std::string write_document(const NamedOrders& named, const Sender& by) {
  Elements elements;
  for (const std::string& order : named.orders) elements.push_back({name_of_order(order)});
  return named.cancel ? request_of<CancelOrder>(elements, by)
                      : request_of<QueryOrder>(elements, by);
}

std::string write_document(const CancelAllOrders& cancel, const Sender& by) {
  return request_of<CancelAll>(
      {{cancel.symbol ? Typed{"sym", *cancel.symbol} : Typed{"all", "true"}}}, by);
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
