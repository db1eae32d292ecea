#include "client/connection/requests.hpp"

#include <algorithm>

#include "protocol/words.hpp"

namespace exchange::client {
namespace {

// Names are letters and digits, numbers plain decimals: nothing needs escaping.
std::string attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + std::string(value) + '"';
}
// Of any characters.
std::string text_attribute(const char* name, std::string_view value) {
  std::string text;
  for (const char c : value) switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '"': text += "&quot;"; break;
      default: text += c;
    }
  return attribute(name, text);
}
std::string amount(Side side, Shares shares) {
  return attribute("amount", (side == Side::sell ? "-" : "") + to_string(shares));
}
std::string reference(const OptionalReference& reference) {
  return reference ? attribute("ref", reference->view()) : "";
}
// Of a CancelOrder, QueryOrder or ReplaceOrder.
template <class AnyCommand>
std::string order(const AnyCommand& command) {
  return command.reference ? reference(command.reference)
                           : attribute("id", std::to_string(command.order));
}
// Of an AdjustCash or AdjustShares.
template <class Adjust>
std::string change(const Adjust& adjust, const std::string& number) {
  return attribute("amount", (adjust.takes ? "-" : "") + number) +
         (adjust.reason ? attribute("reason", adjust.reason->view()) : "");
}

struct ElementWriter {
  std::string_view key;

  std::string operator()(const CreateAccount& create) const {
    return "<account" + attribute("id", create.account.view()) +
           attribute("balance", to_string(create.balance)) + key_attribute(key) + "/>";
  }
  std::string operator()(const CreateSymbol& create) const {
    return "<symbol" + attribute("sym", create.symbol.view()) + "/>";
  }
  std::string operator()(const PlaceShares& place) const {
    return "<symbol" + attribute("sym", place.symbol.view()) + "><account" +
           attribute("id", place.account.view()) + ">" + to_string(place.shares) +
           "</account></symbol>";
  }
  std::string operator()(const PlaceOrder& place) const {
    return "<order" + attribute("sym", place.symbol.view()) + amount(place.side, place.shares) +
           (place.is_market() ? attribute("type", word_of(OrderType::market))
                              : attribute("limit", to_string(place.limit))) +
           reference(place.reference) +
           (place.lifetime == Lifetime::until_canceled
                ? ""
                : attribute("tif", word_of(place.lifetime))) +
           (place.post_only ? attribute("post", word_of(true)) : "") +
           (place.self_trade == SelfTrade::allowed ? ""
                                                   : attribute("stp", word_of(place.self_trade))) +
           "/>";
  }
  std::string operator()(const CancelOrder& cancel) const {
    return "<cancel" + order(cancel) + "/>";
  }
  std::string operator()(const QueryOrder& query) const { return "<query" + order(query) + "/>"; }
  std::string operator()(const CancelAll& cancel) const {
    return "<cancel" +
           (cancel.symbol ? attribute("sym", cancel.symbol->view()) : attribute("all", "true")) +
           "/>";
  }
  std::string operator()(const ReplaceOrder& replace) const {
    return "<replace" + order(replace) + amount(replace.side, replace.shares) +
           attribute("limit", to_string(replace.limit)) + "/>";
  }
  std::string operator()(const SetInstrument& set) const {
    const auto number = [](const char* name, const auto& value) {
      return value ? attribute(name, to_string(*value)) : std::string();
    };
    return "<instrument" + (set.symbol ? attribute("sym", set.symbol->view()) : "") +
           number("tick", set.tick) + number("price-min", set.price_min) +
           number("price-max", set.price_max) + number("band", set.band) +
           (set.at_band ? attribute("at-band", word_of(*set.at_band)) : "") +
           number("lot", set.lot) + number("order-max", set.order_max) +
           (set.trading ? attribute("trading", word_of(*set.trading)) : "") + "/>";
  }
  std::string operator()(const SetKey& set) const {
    return "<set-key" + attribute("id", set.account.view()) +
           (key.empty() ? attribute("revoke", word_of(true)) : key_attribute(key)) + "/>";
  }
  std::string operator()(const SetAccount& set) const {
    const auto word = [](const char* name, const auto& value) {
      return value ? attribute(name, word_of(*value)) : std::string();
    };
    const auto count = [](const char* name, const std::optional<std::uint64_t>& value) {
      return value ? attribute(name, std::to_string(*value)) : std::string();
    };
    return "<set-account" + attribute("id", set.account.view()) + word("role", set.role) +
           word("access", set.access) +
           (set.cancel_orders ? attribute("cancel-orders", word_of(true)) : "") +
           count("orders-max", set.orders_max) +
           count("orders-per-second-max", set.orders_per_second_max) +
           (set.position_max ? attribute("position-max", to_string(*set.position_max)) : "") +
           (set.name ? text_attribute("name", set.name->view()) : "") + "/>";
  }
  std::string operator()(const AdjustCash& adjust) const {
    return "<adjust-cash" + attribute("id", adjust.account.view()) +
           change(adjust, to_string(adjust.cash)) + "/>";
  }
  std::string operator()(const AdjustShares& adjust) const {
    return "<adjust-shares" + attribute("sym", adjust.symbol.view()) +
           attribute("id", adjust.account.view()) + change(adjust, to_string(adjust.shares)) + "/>";
  }
  std::string operator()(const BeginRound& begin) const {
    return "<begin-round" + attribute("name", begin.name.view()) + "/>";
  }
  std::string operator()(const RecordEvents&) const { ENSURE(!"a command of the server alone"); }
};

}  // namespace

std::string key_attribute(std::string_view key) {
  return key.empty() ? std::string() : text_attribute("key", key);
}

std::string create_tag(std::string_view operator_key) {
  return "<create" + key_attribute(operator_key) + ">";
}

// A quote in a value is escaped, so that nothing else reads like a key.
std::string without_keys(std::string document) {
  constexpr std::string_view start = " key=\"";
  for (std::size_t at = 0; (at = document.find(start, at)) != std::string::npos;) {
    at += start.size();
    document.replace(at, std::min(document.find('"', at), document.size()) - at, "…");
  }
  return document;
}

std::string element_of(const Command& command, std::string_view key) {
  return std::visit(ElementWriter{key}, command);
}

std::string creations(std::string_view elements, std::string_view operator_key) {
  return create_tag(operator_key) + std::string(elements) + "</create>";
}

std::string transactions(std::string_view account, std::string_view elements,
                         std::string_view key) {
  return "<transactions" + attribute("id", account) + key_attribute(key) + ">" +
         std::string(elements) + "</transactions>";
}

}  // namespace exchange::client
