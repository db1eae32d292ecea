#include "protocol/request.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace exchange {
namespace {

using enum ErrorCode;

constexpr std::size_t name_shown_max = 64;  // bytes of an unknown name repeated in an error

Problem unknown_element_problem(std::string_view name) {
  std::size_t shown = std::min(name.size(), name_shown_max);
  // do not cut inside a character
  while (shown < name.size() && shown > 0 && (name[shown] & 0xC0) == 0x80) --shown;
  return {unknown_element, "unknown element '" + std::string(name.substr(0, shown)) +
                               (shown < name.size() ? "…" : "") + "'"};
}

Problem missing_problem(std::string_view name) {
  return {missing_attribute, "missing attribute '" + std::string(name) + "'"};
}

// Finds an element or text in an element that must be empty.
Problem content_problem(const pugi::xml_node& node) {
  for (auto child = node.first_child(); child; child = child.next_sibling()) {
    const bool text = child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata;
    if (child.type() == pugi::node_element || (text && !is_white_space(child)))
      return {unexpected_content, std::string("unexpected content in ") + node.name()};
  }
  return {};
}

// Whether a cancel names all orders, or all orders of a symbol. The form is strict: a misspelled or
// missing `id` does not cancel everything.
bool is_of_all(const pugi::xml_node& cancel) {
  for (const pugi::xml_attribute& attribute : cancel.attributes())
    if (std::strcmp(attribute.name(), "all") != 0 && std::strcmp(attribute.name(), "sym") != 0)
      return false;
  return cancel.first_attribute();
}

class Reader {
 public:
  // If `credentials` is null, accounts have no keys.
  Reader(const ProtocolLimits& limits, std::vector<RequestElement>& elements,
         std::vector<Command>& commands, std::vector<Credential>* credentials,
         const char* tie_problem)
      : limits_(limits),
        elements_(elements),
        commands_(commands),
        credentials_(credentials),
        tie_problem_(tie_problem),
        elements_before_(elements.size()) {}

  bool ties_orders() const { return ties_orders_; }
  bool codes() const { return codes_; }

  // Returns a problem that refuses the whole request.
  Problem read(const pugi::xml_node& root) {
    const std::string_view name = root.name();
    codes_ = resolved(raw_attribute(root, "codes")) == "true";
    if (name == "create") return read_creations(root);
    if (name == "transactions") return read_transactions(root);
    return unknown_element_problem(name);
  }

 private:
  // An element that may be a child of another. Its reader adds its elements to `elements_`; the
  // problem that it returns belongs to the last of them.
  struct Child {
    std::string_view name;
    Problem (Reader::*read)(const pugi::xml_node&);
  };

  // Returns the function that reads the element of a command in this root.
  template <Root root, class AnyCommand>
  static consteval auto reader() {
    if constexpr (std::is_same_v<AnyCommand, CreateAccount>)
      return &Reader::read_account;
    else if constexpr (std::is_same_v<AnyCommand, CreateSymbol>)
      return &Reader::read_symbol;
    else if constexpr (std::is_same_v<AnyCommand, PlaceOrder>)
      return &Reader::read_order;
    else if constexpr (std::is_same_v<AnyCommand, CancelOrder>)
      return &Reader::read_cancel;
    else if constexpr (std::is_same_v<AnyCommand, QueryOrder>)
      return &Reader::read_of_order<QueryOrder>;
    else if constexpr (std::is_same_v<AnyCommand, ReplaceOrder>)
      return &Reader::read_replace;
    else if constexpr (std::is_same_v<AnyCommand, SetKey>)
      return root == Root::create ? &Reader::read_key_of_account : &Reader::read_own_key;
    else
      return &Reader::read_simple<AnyCommand>;
  }
  template <Root root>
  static consteval auto children_of() {
    std::array<Child, command_kinds> children{};
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<command_kinds>>([&](auto kind) {
      using AnyCommand = boost::mp11::mp_at_c<Command, kind>;
      constexpr bool is_child = request_element<AnyCommand>.root == root ||
                                (std::is_same_v<AnyCommand, SetKey> && root == Root::transactions);
      if constexpr (is_child)
        children[kind] = {request_element<AnyCommand>.name, reader<root, AnyCommand>()};
    });
    return children;
  }

  // Text between the children is ignored: known clients write remarks there.
  Problem for_each_child(const pugi::xml_node& parent, std::span<const Child> known) {
    for (const auto& child : parent.children()) {
      if (child.type() != pugi::node_element) continue;
      if (Problem problem = read_child(child, known)) {
        elements_.back().error = std::move(problem.sentence);
        elements_.back().code = problem.code;
      }
      if (elements_.size() - elements_before_ > limits_.elements_max)
        return {too_many_elements,
                "more than " + std::to_string(limits_.elements_max) + " elements in one request"};
    }
    return {};
  }
  Problem read_child(const pugi::xml_node& child, std::span<const Child> known) {
    const std::string_view name = child.name();
    for (const Child& one : known)
      if (one.name == name) return (this->*one.read)(child);
    elements_.emplace_back();
    return unknown_element_problem(name);
  }

  // Adds an element with the attributes of `node` that are in its table.
  template <class AnyCommand>
  RequestElement& add(const pugi::xml_node& node) {
    RequestElement& element = elements_.emplace_back();
    element.kind = command_kind<AnyCommand>;
    for (auto attribute = node.first_attribute(); attribute;
         attribute = attribute.next_attribute()) {
      const std::string_view name = attribute.name();
      for_each_attribute<AnyCommand>([&](auto place) {
        if (name == attributes_of<AnyCommand>[place].name)
          element.values[place] = attribute.value();
      });
    }
    return element;
  }
  template <class AnyCommand>
  static Problem missing(const RequestElement& element) {
    for (std::size_t i = 0; i < std::size(attributes_of<AnyCommand>); ++i)
      if (attributes_of<AnyCommand>[i].presence == Presence::required && !element.has(i))
        return missing_problem(attributes_of<AnyCommand>[i].name);
    return {};
  }
  // Reads the values of the attributes from `first` to before `last`.
  template <std::size_t first = 0, std::size_t last = attributes_max, class AnyCommand>
  Problem read_values(const RequestElement& element, AnyCommand& command) {
    if constexpr (first < std::min(last, std::size(attributes_of<AnyCommand>))) {
      constexpr auto& attribute = attributes_of<AnyCommand>[first];
      if (attribute.value.read != nullptr && element.has(first))
        if (Problem problem =
                attribute.value.read(resolved(element.values[first]), command, attribute.name))
          return problem;
      return read_values<first + 1, last>(element, command);
    }
    return {};
  }
  // Reads the attributes from `first` on into the command and adds it.
  template <std::size_t first = 0, class AnyCommand>
  Problem add_command(const RequestElement& element, AnyCommand& command) {
    if (Problem problem = read_values<first>(element, command)) return problem;
    commands_.emplace_back(std::move(command));
    return {};
  }
  std::string_view resolved(std::string_view raw) { return resolve_references(raw, scratch_); }
  // Reads the children, and the key of the login that their commands need. The key is empty if the
  // request has none, or if its form is not that of a key.
  Problem read_with_login(const pugi::xml_node& root, std::span<const Child> children,
                          Credential::Use use, const AccountId& account) {
    std::string key(resolved(raw_attribute(root, "key")));
    if (!is_key(key)) key.clear();
    const std::size_t first = commands_.size(), own = credentials_->size();
    credentials_->push_back({use, account, std::move(key), std::uint32_t(first), 0});
    Problem problem = for_each_child(root, children);
    (*credentials_)[own].commands = std::uint32_t(commands_.size() - first);
    if (commands_.size() == first)
      credentials_->resize(own, Credential{});  // no command needs the login
    return problem;
  }

  // --- <create> ---

  Problem read_creations(const pugi::xml_node& root) {
    static constexpr auto children = children_of<Root::create>();
    if (credentials_ == nullptr) return for_each_child(root, children);
    AccountId by = operator_id;
    if (const std::string_view raw = raw_attribute(root, "id"); raw.data() != nullptr)
      if (Problem problem = read_value(resolved(raw), by, "id")) return problem;
    return read_with_login(root, children, Credential::Use::operate, by);
  }

  Problem read_account(const pugi::xml_node& node) {
    const RequestElement& element = add<CreateAccount>(node);
    if (Problem problem = missing<CreateAccount>(element)) return problem;
    if (Problem problem = content_problem(node)) return problem;
    CreateAccount create;
    if (Problem problem = read_values(element, create)) return problem;
    const std::string_view key = element.values[place<CreateAccount>("key")];
    if (credentials_ != nullptr && (limits_.keys || key.data() != nullptr))
      if (Problem problem = read_key(key, create.account)) return problem;
    commands_.emplace_back(std::move(create));
    return {};
  }

  Problem read_key(std::string_view raw, const AccountId& account) {
    if (raw.data() == nullptr)
      return {missing_attribute,
              "missing attribute 'key': this exchange wants one for each account"};
    std::string key(resolved(raw));
    if (!is_key(key)) return {malformed_key, "key must have 8 to 128 bytes"};
    if (++keys_ > keys_per_batch_max)
      return {too_many_elements, "more than " + std::to_string(keys_per_batch_max) +
                                     " accounts with keys in one request"};
    credentials_->push_back(
        {Credential::Use::create, account, std::move(key), std::uint32_t(commands_.size()), 1});
    return {};
  }

  Problem read_symbol(const pugi::xml_node& node) {
    static constexpr Child children[] = {
        {request_element<PlaceShares>.name, &Reader::read_placement}};
    raw_symbol_ = raw_attribute(node, "sym");
    symbol_problem_ = raw_symbol_.data() == nullptr
                          ? missing_problem("sym")
                          : read_value(resolved(raw_symbol_), symbol_, "sym");
    if (has_child_elements(node)) {
      for_each_child(node, children);  // the caller also checks for too many elements
      return {};
    }
    add<CreateSymbol>(node);
    if (symbol_problem_) return symbol_problem_;
    commands_.emplace_back(CreateSymbol{symbol_});
    return {};
  }

  Problem read_key_of_account(const pugi::xml_node& node) {
    const RequestElement& element = add<SetKey>(node);
    constexpr std::size_t id_at = place<SetKey>("id");
    if (!element.has(id_at)) return missing_problem("id");
    SetKey set;
    if (Problem problem = read_values<id_at, id_at + 1>(element, set)) return problem;
    return read_new_key(node, element, set);
  }
  // Reads a new key for the account of <transactions>.
  Problem read_own_key(const pugi::xml_node& node) {
    const RequestElement& element = add<SetKey>(node);
    if (account_problem_) return account_problem_;
    if (element.has(place<SetKey>("id")) || node.attribute("account"))
      return {conflicting_attributes, "the account is that of transactions"};
    return read_new_key(node, element, SetKey{*account_});
  }
  Problem read_new_key(const pugi::xml_node& node, const RequestElement& element,
                       const SetKey& set) {
    if (Problem problem = content_problem(node)) return problem;
    if (credentials_ == nullptr) return {no_keys, "accounts of this exchange have no keys"};
    const std::string_view key = element.values[place<SetKey>("key")];
    bool revoke = false;
    constexpr std::size_t revoke_at = place<SetKey>("revoke");
    if (element.has(revoke_at))
      if (Problem problem = read_value(resolved(element.values[revoke_at]), revoke, "revoke"))
        return problem;
    if (revoke && key.data() != nullptr)
      return {conflicting_attributes, "both 'key' and 'revoke' are given"};
    if (!revoke)
      if (Problem problem = read_key(key, set.account)) return problem;
    commands_.emplace_back(set);
    return {};
  }

  // Reads an element that has only attributes; in <transactions> it acts for that account.
  template <class AnyCommand>
  Problem read_simple(const pugi::xml_node& node) {
    constexpr bool is_of_account = request_element<AnyCommand>.root == Root::transactions;
    const RequestElement& element = add<AnyCommand>(node);
    if (is_of_account && account_problem_) return account_problem_;
    if (Problem problem = missing<AnyCommand>(element)) return problem;
    if (Problem problem = content_problem(node)) return problem;
    AnyCommand command;
    if constexpr (is_of_account) command.account = *account_;
    return add_command(element, command);
  }

  Problem read_placement(const pugi::xml_node& node) {
    RequestElement& element = add<PlaceShares>(node);
    element.values[place<PlaceShares>("sym")] = raw_symbol_;
    if (symbol_problem_) return symbol_problem_;
    if (Problem problem = missing<PlaceShares>(element)) return problem;
    PlaceShares place_shares;
    place_shares.symbol = symbol_;
    if (Problem problem = read_values(element, place_shares)) return problem;
    if (has_child_elements(node)) return {unexpected_content, "unexpected element in account"};
    if (Problem problem = read_value(element_text(node), place_shares.shares, "number of shares"))
      return problem;
    commands_.emplace_back(std::move(place_shares));
    return {};
  }

  // --- <transactions> ---

  Problem read_transactions(const pugi::xml_node& root) {
    static constexpr auto children = children_of<Root::transactions>();
    std::string_view raw_account = raw_attribute(root, "id");
    if (raw_account.data() == nullptr) raw_account = raw_attribute(root, "account");
    account_ = parse_account_id(resolved(raw_account));
    if (raw_account.data() == nullptr)
      account_problem_ = {missing_attribute, "missing attribute 'id' of transactions"};
    else if (!account_)
      account_problem_ = {malformed_id, "unknown account: " + std::string(account_id_form)};
    constexpr const char* tie = "cancel-on-disconnect";
    if (const std::string_view raw = raw_attribute(root, tie); raw.data() != nullptr)
      if (Problem problem = read_value(resolved(raw), ties_orders_, tie);
          problem && !account_problem_)
        account_problem_ = std::move(problem);
    if (credentials_ == nullptr) return for_each_child(root, children);
    return read_with_login(root, children, Credential::Use::login, account_.value_or(AccountId()));
  }

  Problem read_order(const pugi::xml_node& node) {
    const RequestElement& element = add<PlaceOrder>(node);
    if (account_problem_) return account_problem_;
    if (ties_orders_ && tie_problem_ != nullptr) return {no_cancel_on_disconnect, tie_problem_};
    if (Problem problem = missing<PlaceOrder>(element)) return problem;
    PlaceOrder order;
    constexpr std::size_t type_at = place<PlaceOrder>("type");
    std::optional<std::string_view> type;
    if (element.has(type_at)) type = resolved(element.values[type_at]);
    if (Problem problem = read_type(type, element.has(place<PlaceOrder>("limit")))) return problem;
    if (Problem problem = content_problem(node)) return problem;
    order.account = *account_;
    return add_command(element, order);
  }

  // Reads a QueryOrder or CancelOrder.
  template <class OfOrder>
  Problem read_of_order(const pugi::xml_node& node) {
    const RequestElement& element = add<OfOrder>(node);
    if (Problem problem = order_problem<OfOrder>(node, element)) return problem;
    OfOrder command{.account = *account_};
    return add_command(element, command);
  }

  Problem read_cancel(const pugi::xml_node& node) {
    return is_of_all(node) ? read_simple<CancelAll>(node) : read_of_order<CancelOrder>(node);
  }

  Problem read_replace(const pugi::xml_node& node) {
    const RequestElement& element = add<ReplaceOrder>(node);
    if (Problem problem = order_problem<ReplaceOrder>(node, element)) return problem;
    ReplaceOrder replace{.account = *account_};
    constexpr std::size_t amount_at = place<ReplaceOrder>("amount");
    if (Problem problem = read_values<0, amount_at>(element, replace)) return problem;
    if (Problem problem = missing<ReplaceOrder>(element)) return problem;
    for (const auto& term :
         std::span(attributes_of<PlaceOrder>).subspan(place<PlaceOrder>("ref") + 1))
      if (node.attribute(term.name.data()))
        return {conflicting_attributes, "a replace cannot have " + std::string(term.name)};
    return add_command<amount_at>(element, replace);
  }

  // Returns the problem of an element that names an order by its id or its reference and must be
  // empty.
  template <class AnyCommand>
  Problem order_problem(const pugi::xml_node& node, const RequestElement& element) const {
    if (account_problem_) return account_problem_;
    const bool by_id = element.has(place<AnyCommand>("id")),
               by_reference = element.has(place<AnyCommand>("ref"));
    if (!by_id && !by_reference) {
      Problem problem = missing_problem("id");
      if (std::is_same_v<AnyCommand, CancelOrder>)
        problem.sentence += "; all=\"true\" cancels all open orders";
      return problem;
    }
    if (by_id && by_reference) return {conflicting_attributes, "both 'id' and 'ref' are given"};
    return content_problem(node);
  }

  const ProtocolLimits& limits_;
  std::vector<RequestElement>& elements_;
  std::vector<Command>& commands_;
  std::vector<Credential>* const credentials_;
  const char* const tie_problem_;
  const std::size_t elements_before_;
  std::size_t keys_ = 0;  // keys that this request gives to accounts
  std::string scratch_;
  std::string_view raw_symbol_;  // of the <symbol> being read
  SymbolName symbol_;
  Problem symbol_problem_;
  std::optional<AccountId> account_;  // of <transactions>
  Problem account_problem_;
  bool ties_orders_ = false, codes_ = false;
};

}  // namespace

Request read_request(char* text, std::size_t size, const ProtocolLimits& limits,
                     XmlDocument& document, std::vector<RequestElement>& elements,
                     std::vector<Command>& commands, std::vector<Credential>* credentials,
                     const char* tie_problem) {
  const std::size_t elements_before = elements.size(), commands_before = commands.size();
  const std::size_t credentials_before = credentials == nullptr ? 0 : credentials->size();
  Request request{.error = document.parse(text, size, limits)};
  if (!request.error.empty()) {
    request.code = malformed_xml;
    request.error += document.length_hint();
  } else {
    Reader reader(limits, elements, commands, credentials, tie_problem);
    Problem problem = reader.read(document.root());
    request.error = std::move(problem.sentence);
    request.code = problem.code;
    request.ties_orders = reader.ties_orders();
    request.codes = reader.codes();
  }
  if (!request.error.empty()) {  // refused as a whole: none of its commands is executed
    elements.resize(elements_before, RequestElement());
    commands.erase(commands.begin() + std::ptrdiff_t(commands_before), commands.end());
    if (credentials != nullptr) credentials->resize(credentials_before, Credential{});
  }
  request.elements = std::uint32_t(elements.size() - elements_before);
  return request;
}

}  // namespace exchange
