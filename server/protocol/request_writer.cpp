#include "protocol/request_writer.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace exchange {
namespace {

// Returns the attributes that the command sets, without those that have their default value.
template <class AnyCommand>
AttributeTexts texts_of(const AnyCommand& command) {
  AttributeTexts texts;
  for_each_attribute<AnyCommand>([&](auto place) {
    constexpr auto& attribute = attributes_of<AnyCommand>[place];
    std::string text;
    if (attribute.value.write != nullptr && attribute.value.write(command, text) &&
        (attribute.default_value.empty() || text != attribute.default_value))
      texts[place] = std::move(text);
  });
  return texts;
}

struct ElementWriter {
  std::string_view key;

  template <class AnyCommand>
  std::string operator()(const AnyCommand& command) const {
    AttributeTexts texts = texts_of(command);
    for_each_attribute<AnyCommand>([&](auto place) {
      if (attributes_of<AnyCommand>[place].value.type == ValueType::key && !key.empty())
        texts[place] = key;
    });
    return write_element<AnyCommand>(texts);
  }
  std::string operator()(const SetKey& set) const {
    AttributeTexts texts = texts_of(set);
    if (key.empty())
      texts[place<SetKey>("revoke")] = word_of(true);
    else
      texts[place<SetKey>("key")] = key;
    return write_element<SetKey>(texts);
  }
  std::string operator()(const PlaceShares& place) const {
    return "<symbol" + xml_attribute("sym", place.symbol.view()) + ">" +
           write_element<PlaceShares>(texts_of(place), to_string(place.shares)) + "</symbol>";
  }
  std::string operator()(const RecordEvents&) const { ENSURE(!"a command of the server alone"); }
};

}  // namespace

std::string xml_attribute(std::string_view name, std::string_view value) {
  std::string text = " " + std::string(name) + "=\"";
  for (const char c : value) switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '"': text += "&quot;"; break;
      default: text += c;
    }
  return text + '"';
}

std::string key_attribute(std::string_view key) {
  return key.empty() ? std::string() : xml_attribute("key", key);
}

std::string create_tag(std::string_view operator_key) {
  return "<create" + key_attribute(operator_key) + ">";
}

// Quotes in values are escaped, so no other text matches the pattern of a key.
std::string without_keys(std::string document) {
  constexpr std::string_view start = " key=\"";
  for (std::size_t at = 0; (at = document.find(start, at)) != std::string::npos;) {
    at += start.size();
    document.replace(at, std::min(document.find('"', at), document.size()) - at, "…");
  }
  return document;
}

std::string write_element(const Command& command, std::string_view key) {
  return std::visit(ElementWriter{key}, command);
}

std::string write_creations(std::string_view elements, std::string_view operator_key) {
  return create_tag(operator_key) + std::string(elements) + "</create>";
}

std::string write_transactions(std::string_view account, std::string_view elements,
                               std::string_view key) {
  return "<transactions" + xml_attribute("id", account) + key_attribute(key) + ">" +
         std::string(elements) + "</transactions>";
}

bool is_creation(const Command& command) {
  return describe_element(CommandKind(command.index())).root != Root::transactions;
}

std::string write_request(std::span<const Command> commands, const AccountId& account) {
  std::string elements;
  for (const Command& command : commands) elements += write_element(command);
  return is_creation(commands.front()) ? write_creations(elements)
                                       : write_transactions(account.view(), elements);
}

}  // namespace exchange
