#include "client/cli/documents.hpp"

#include "engine/decimal.hpp"
#include "protocol/request.hpp"

namespace exchange::cli {
namespace {

constexpr const char* key_attribute = "key";

void append_escaped(std::string& out, const std::string& text) {
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;  // an attribute would make a blank of them
      case '\t': out += "&#9;"; break;
      case '\r': out += "&#13;"; break;
      default: out += c;
    }
  }
}

void append_attribute(std::string& out, const char* name, const std::string& value) {
  out += std::string(" ") + name + "=\"";
  append_escaped(out, value);
  out += '"';
}

void append_key(std::string& out, const std::string& key) {
  if (key.empty()) return;
  if (key.size() < key_bytes_min || key.size() > key_bytes_max)
    throw UsageError("a key has 8 to 128 bytes");
  append_attribute(out, key_attribute, key);
}

std::string transactions(const std::string& account, const std::string& key,
                         const std::string& elements) {
  std::string document = "<transactions";
  append_attribute(document, "id", checked_account(account));
  append_key(document, key);
  return document + ">" + elements + "</transactions>";
}

std::string by_id(const char* element, const std::vector<std::string>& orders) {
  std::string elements;
  for (const std::string& order : orders) {
    elements += std::string("<") + element;
    append_attribute(elements, "id", order);
    elements += "/>";
  }
  return elements;
}

// Throws the first error that the server would find.
std::string checked(std::string document) {
  std::string text = document;
  text.push_back('\0');  // read_request() looks at the byte behind it
  XmlDocument parsed;
  std::vector<RequestElement> elements;
  std::vector<exchange::Command> commands;
  const Request request =
      read_request(text.data(), document.size(), ProtocolLimits(), parsed, elements, commands);
  if (!request.error.empty()) throw UsageError(request.error);
  for (const RequestElement& element : elements)
    if (!element.error.empty()) throw UsageError(element.error);
  return document;
}

}  // namespace

std::string document_of(const NewAccount& account, const std::string& key) {
  std::string document = "<create><account";
  append_attribute(document, "id", account.account);
  append_attribute(document, "balance", account.balance);
  append_key(document, key);
  return checked(document + "/></create>");
}

std::string document_of(const NewSymbol& symbol) {
  std::string document = "<create><symbol";
  append_attribute(document, "sym", symbol.symbol);
  document += symbol.holdings.empty() ? "/>" : ">";
  for (const NewSymbol::Holding& holding : symbol.holdings) {
    document += "<account";
    append_attribute(document, "id", holding.account);
    document += '>';
    append_escaped(document, holding.shares);
    document += "</account>";
  }
  return checked(document + (symbol.holdings.empty() ? "</create>" : "</symbol></create>"));
}

std::string document_of(const NewOrder& order, const std::string& account, const std::string& key) {
  // The protocol's sign is the side. Here both sides count their shares from zero up.
  const auto shares = parse_shares(order.shares);
  if (!shares)
    throw UsageError("number of shares " + std::string(describe_shares_error(shares.error)));
  if (shares.value <= Shares()) throw UsageError("number of shares must be above zero");
  std::string element = "<order";
  append_attribute(element, "sym", order.symbol);
  append_attribute(element, "amount", (order.side == Side::sell ? "-" : "") + order.shares);
  append_attribute(element, "limit", order.limit);
  return checked(transactions(account, key, element + "/>"));
}

std::string document_of(const CancelOrders& cancel, const std::string& account,
                        const std::string& key) {
  return checked(transactions(account, key, by_id("cancel", cancel.orders)));
}

std::string document_of(const ShowOrders& query, const std::string& account,
                        const std::string& key) {
  return checked(transactions(account, key, by_id("query", query.orders)));
}

// What is typed is escaped, so that nothing else reads like it.
std::string without_key(const std::string& document) {
  const std::string start = std::string(" ") + key_attribute + "=\"";
  const std::size_t at = document.find(start);
  if (at == std::string::npos) return document;
  const std::size_t value = at + start.size();
  return document.substr(0, value) + "…" + document.substr(document.find('"', value));
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
