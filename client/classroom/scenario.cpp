#include "client/classroom/scenario.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

namespace exchange::classroom {
namespace {

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

// A table of the file. It may contain only the keys that are read from it.
class Section {
 public:
  Section(const toml::table& table, const std::string& file, std::string name)
      : table_(table), file_(file), name_(std::move(name)) {}

  [[noreturn]] void fail(const toml::node& at, const std::string& why) const {
    throw std::invalid_argument(file_ + ":" + std::to_string(at.source().begin.line) + ": " + why);
  }
  [[noreturn]] void fail_missing(const std::string& key) const {
    fail(table_, "'" + key + "' is missing in " + name_);
  }
  const std::string& name() const { return name_; }

  const toml::node* find(const std::string& key) {
    known_.insert(key);
    return table_.get(key);
  }
  // Leaves `value` unchanged if the key is absent.
  void read(const std::string& key, std::string& value) {
    if (const toml::node* node = find(key)) value = text_of(*node, key);
  }
  void read(const std::string& key, bool& value) {
    if (const toml::node* node = find(key))
      value = node->value_exact<bool>().has_value() ? *node->value_exact<bool>()
                                                    : fail_kind<bool>(*node, key, "true or false");
  }
  void read(const std::string& key, double& value) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    const auto number = node->value<double>();
    if (!number || !(*number > 0) || *number > 1e9)
      fail(*node, "'" + key + "' must be a number above 0");
    value = *number;
  }
  template <class Integer>
  void read_count(const std::string& key, Integer& value, std::uint64_t max) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    const auto number = node->value_exact<std::int64_t>();
    if (!number || *number < 0 || std::uint64_t(*number) > max)
      fail(*node, "'" + key + "' must be a whole number from 0 to " + std::to_string(max));
    value = Integer(*number);
  }
  // Reads amounts by name, such as shares by symbol.
  void read(const std::string& key, Attributes& values) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    if (!node->is_table()) fail(*node, "'" + key + "' must be a table, such as { ABC = 100 }");
    for (const auto& [name, value] : *node->as_table())
      values.emplace_back(std::string(name.str()), text_of(value, std::string(name.str())));
  }
  // Reads those of these names that are present, as attributes.
  void read(std::initializer_list<const char*> names, Attributes& values) {
    for (const char* name : names) {
      std::string value;
      read(name, value);
      if (!value.empty()) values.emplace_back(name, value);
    }
  }
  void read(Start& start) {
    read("cash", start.cash);
    read("shares", start.shares);
  }
  template <class Each>
  void for_each(const std::string& key, Each each) {
    const toml::node* const node = find(key);
    if (node == nullptr) return;
    if (!node->is_array()) fail(*node, "write [[" + key + "]], once for each");
    for (const toml::node& one : *node->as_array()) {
      if (!one.is_table()) fail(one, "write [[" + key + "]], once for each");
      Section section(*one.as_table(), file_, "[[" + key + "]]");
      each(section);
      section.finish();
    }
  }
  void finish() const {
    for (const auto& [key, value] : table_)
      if (!known_.contains(std::string(key.str())))
        fail(value, "'" + std::string(key.str()) + "' is not known in " + name_ +
                        ", which may have: " + listed(known_));
  }

 private:
  template <class Value>
  Value fail_kind(const toml::node& node, const std::string& key, const char* expected) const {
    fail(node, "'" + key + "' must be " + expected);
  }
  // Returns a number as the shortest text with the same value.
  std::string text_of(const toml::node& node, const std::string& key) const {
    if (const auto text = node.value_exact<std::string>()) return *text;
    if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
    const auto number = node.value_exact<double>();
    if (!number) fail(node, "'" + key + "' must be a text or a number");
    char digits[64];
    const auto [end, problem] =
        std::to_chars(digits, std::end(digits), *number, std::chars_format::fixed);
    if (problem != std::errc()) fail(node, "'" + key + "' is too large");
    return {digits, end};
  }

  const toml::table& table_;
  const std::string& file_;
  const std::string name_;
  std::set<std::string> known_;
};

// Checks the address of the links that students click: another scheme could run a script.
bool is_address(const std::string& page) {
  const std::size_t scheme = page.starts_with("http://")    ? 7
                             : page.starts_with("https://") ? 8
                                                            : std::string::npos;
  return scheme < page.size() && page[scheme] != '/' &&
         std::all_of(page.begin(), page.end(), [](char one) {
           return one > ' ' && one <= '~' &&
                  std::string_view("\"'<>#\\`").find(one) == std::string::npos;
         });
}

CharacterKind character_of(Section& section) {
  std::string name;
  section.read("character", name);
  if (name.empty()) section.fail_missing("character");
  std::vector<std::string_view> names;
  std::optional<CharacterKind> found;
  boost::mp11::mp_for_each<EnumeratorsOf<CharacterKind>>([&](auto one) {
    names.push_back(one.name);
    if (name == one.name) found = one.value;
  });
  if (!found)
    section.fail(*section.find("character"),
                 "'" + name + "' is no character; there are: " + listed(names));
  return *found;
}

}  // namespace

Scenario parse_scenario(std::string_view text, const std::string& file) try {
  constexpr std::uint64_t bots_max = 200, account_max = 1'000'000'000'000;
  const toml::table root = toml::parse(text);
  Section section(root, file, "the file");
  Scenario scenario;
  section.read("name", scenario.name);
  section.read("page", scenario.page);
  if (const toml::node* page = section.find("page"); page != nullptr && !is_address(scenario.page))
    section.fail(*page, "'page' must be an address, such as \"http://exchange.example:8080\"");
  section.read("anonymous", scenario.anonymous);
  section.read("timetable", scenario.timetable);
  section.read_count("first-account", scenario.first_account, account_max);
  section.for_each("instrument", [&](Section& from) {
    Scenario::Instrument one;
    from.read("symbol", one.symbol);
    if (one.symbol.empty()) from.fail_missing("symbol");
    from.read("price", one.price);
    if (std::any_of(scenario.instruments.begin(), scenario.instruments.end(),
                    [&](const auto& other) { return other.symbol == one.symbol; }))
      from.fail(*from.find("symbol"), "there is an [[instrument]] " + one.symbol + " already");
    from.read({"tick", "lot", "order-max", "price-min", "price-max", "band", "at-band"}, one.rules);
    scenario.instruments.push_back(std::move(one));
  });
  if (scenario.instruments.empty())
    throw std::invalid_argument(file + ": an [[instrument]] is missing: what is to be traded?");
  const auto check_symbol = [&](const Section& from, const std::string& symbol) {
    if (std::none_of(scenario.instruments.begin(), scenario.instruments.end(),
                     [&](const auto& one) { return one.symbol == symbol; }))
      throw std::invalid_argument(file + ": no [[instrument]] has the symbol '" + symbol +
                                  "', which " + from.name() + " names");
  };
  if (const toml::node* node = section.find("student")) {
    if (!node->is_table()) section.fail(*node, "write [student]");
    Section student(*node->as_table(), file, "[student]");
    student.read(scenario.student);
    student.read({"orders-max", "orders-per-second-max", "position-max"}, scenario.limits);
    student.finish();
    for (const auto& [symbol, shares] : scenario.student.shares) check_symbol(student, symbol);
  } else {
    section.fail_missing("[student]");
  }
  std::uint64_t bots = 0;
  section.for_each("bots", [&](Section& from) {
    Scenario::Bots one{.character = character_of(from)};
    from.read_count("count", one.count, bots_max);
    from.read("symbol", one.symbol);
    from.read("cash", one.start.cash);
    from.read("shares", one.start.shares);
    from.read("order", one.shares);
    from.read("pause", one.pause_s);
    if (!one.symbol.empty()) check_symbol(from, one.symbol);
    for (const auto& [symbol, shares] : one.start.shares) check_symbol(from, symbol);
    if ((bots += one.count) > bots_max)
      throw std::invalid_argument(file + ": more than " + std::to_string(bots_max) + " bots");
    scenario.bots.push_back(std::move(one));
  });
  section.finish();
  return scenario;
} catch (const toml::parse_error& error) {
  throw std::invalid_argument(file + ":" + std::to_string(error.source().begin.line) + ": " +
                              std::string(error.description()));
}

}  // namespace exchange::classroom
