#include "protocol/request.hpp"

#include <algorithm>
#include <cstring>

namespace exchange {
namespace {

constexpr std::size_t name_shown_max = 64;  // bytes of an unknown name repeated in an error

// An error: its code, and its sentence, which is empty if there is none.
struct Problem {
  ErrorCode code{};
  std::string sentence;
  explicit operator bool() const { return !sentence.empty(); }
};

Problem number_problem(NumberError error, std::string_view what, std::string_view why) {
  const bool is_number =
      error == NumberError::out_of_range || error == NumberError::too_many_decimals;
  return {is_number ? ErrorCode::number_out_of_range : ErrorCode::malformed_number,
          std::string(what) + " " + std::string(why)};
}

Problem unknown_element_problem(std::string_view name) {
  std::size_t shown = std::min(name.size(), name_shown_max);
  // not inside a character
  while (shown < name.size() && shown > 0 && (name[shown] & 0xC0) == 0x80) --shown;
  return {ErrorCode::unknown_element, "unknown element '" + std::string(name.substr(0, shown)) +
                                          (shown < name.size() ? "…" : "") + "'"};
}

bool is_named(const pugi::xml_node& node, const char* name) {
  return std::strcmp(node.name(), name) == 0;
}

// An element or text, in an element that is to be empty.
bool has_content(const pugi::xml_node& node) {
  for (auto child = node.first_child(); child; child = child.next_sibling()) {
    const bool text = child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata;
    if (child.type() == pugi::node_element || (text && !is_white_space(child))) return true;
  }
  return false;
}

// Whether a cancel is of all orders, or of all of a symbol. Only what is certain: neither a
// misspelled `id` nor a forgotten one cancels everything.
bool is_of_all(const pugi::xml_node& cancel) {
  for (const pugi::xml_attribute& attribute : cancel.attributes())
    if (std::strcmp(attribute.name(), "all") != 0 && std::strcmp(attribute.name(), "sym") != 0)
      return false;
  return cancel.first_attribute();
}

class Reader {
  using enum ErrorCode;

 public:
  // `credentials` null: accounts have no keys.
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
    codes_ = resolved(raw_attribute(root, "codes")) == "true";
    if (is_named(root, "create")) return read_creations(root);
    if (is_named(root, "transactions")) return read_transactions(root);
    return unknown_element_problem(root.name());
  }

 private:
  // Text between the children is ignored: known clients write remarks there.
  Problem for_each_child(const pugi::xml_node& parent,
                         void (Reader::*read_child)(const pugi::xml_node&)) {
    for (const auto& child : parent.children()) {
      if (child.type() != pugi::node_element) continue;
      (this->*read_child)(child);
      if (elements_.size() - elements_before_ > limits_.elements_max)
        return {too_many_elements,
                "more than " + std::to_string(limits_.elements_max) + " elements in one request"};
    }
    return {};
  }

  void error(RequestElement element, Problem problem) {
    element.error = std::move(problem.sentence);
    element.code = problem.code;
    elements_.push_back(std::move(element));
  }
  void error(RequestElement element, ErrorCode code, std::string sentence) {
    error(std::move(element), Problem{code, std::move(sentence)});
  }
  template <class AnyCommand>
  void command(RequestElement element, AnyCommand command) {
    elements_.push_back(std::move(element));
    commands_.emplace_back(std::move(command));
  }
  std::string_view resolved(std::string_view raw) { return resolve_references(raw, scratch_); }
  // The key of a login; empty if none came, or none that could be one.
  std::string key_of(const pugi::xml_node& root) {
    std::string key(resolved(raw_attribute(root, "key")));
    if (!is_key(key)) key.clear();
    return key;
  }

  // --- <create> ---

  Problem read_creations(const pugi::xml_node& root) {
    if (credentials_ == nullptr) return for_each_child(root, &Reader::read_creation);
    const std::size_t first = commands_.size(), own = credentials_->size();
    credentials_->push_back(
        {Credential::Use::operate, operator_id, key_of(root), std::uint32_t(first), 0});
    Problem problem = for_each_child(root, &Reader::read_creation);
    (*credentials_)[own].commands = std::uint32_t(commands_.size() - first);
    if (commands_.size() == first) credentials_->resize(own, Credential{});
    return problem;
  }

  void read_creation(const pugi::xml_node& node) {
    if (is_named(node, "account"))
      read_account(node);
    else if (is_named(node, "symbol"))
      read_symbol(node);
    else
      error({.kind = RequestElement::Kind::unknown}, unknown_element_problem(node.name()));
  }

  void read_account(const pugi::xml_node& node) {
    RequestElement element{.kind = RequestElement::Kind::account,
                           .echo = {raw_attribute(node, "id")}};
    const std::string_view balance_text = raw_attribute(node, "balance");
    if (element.echo[0].data() == nullptr)
      return error(element, missing_attribute, "missing attribute 'id'");
    if (balance_text.data() == nullptr)
      return error(element, missing_attribute, "missing attribute 'balance'");
    if (has_content(node))
      return error(element, unexpected_content, "unexpected content in account");
    const auto id = parse_account_id(resolved(element.echo[0]));
    if (!id) return error(element, malformed_id, "account id must be 1 to 64 digits");
    const auto balance = parse_cash(resolved(balance_text), Rounding::towards_zero);
    if (!balance)
      return error(element,
                   number_problem(balance.error, "balance", describe_cash_error(balance.error)));
    if (balance.value < Cash()) return error(element, number_out_of_range, "balance is negative");
    if (credentials_ != nullptr) {
      const std::string_view raw_key = raw_attribute(node, "key");
      if (raw_key.data() == nullptr)
        return error(element, missing_attribute,
                     "missing attribute 'key': this exchange wants one for each account");
      std::string key(resolved(raw_key));
      if (!is_key(key)) return error(element, malformed_key, "key must have 8 to 128 bytes");
      if (++keys_ > keys_per_batch_max)
        return error(element, too_many_elements,
                     "more than " + std::to_string(keys_per_batch_max) +
                         " accounts with keys in one request");
      credentials_->push_back(
          {Credential::Use::create, *id, std::move(key), std::uint32_t(commands_.size()), 1});
    }
    command(element, CreateAccount{*id, balance.value});
  }

  void read_symbol(const pugi::xml_node& node) {
    const std::string_view raw_symbol = raw_attribute(node, "sym");
    symbol_problem_ = {};
    symbol_ = parse_symbol_name(resolved(raw_symbol));
    if (raw_symbol.data() == nullptr)
      symbol_problem_ = {missing_attribute, "missing attribute 'sym'"};
    else if (!symbol_)
      symbol_problem_ = {malformed_symbol, bad_symbol};

    if (!has_child_elements(node)) {
      RequestElement element{.kind = RequestElement::Kind::symbol, .echo = {raw_symbol}};
      if (symbol_problem_) return error(element, symbol_problem_);
      return command(element, CreateSymbol{*symbol_});
    }
    for (const auto& child : node.children()) {
      if (child.type() != pugi::node_element) continue;
      if (is_named(child, "account"))
        read_placement(child, raw_symbol);
      else
        error({.kind = RequestElement::Kind::unknown}, unknown_element_problem(child.name()));
      if (elements_.size() - elements_before_ > limits_.elements_max) return;
    }
  }

  void read_placement(const pugi::xml_node& node, std::string_view raw_symbol) {
    RequestElement element{.kind = RequestElement::Kind::placement,
                           .echo = {raw_symbol, raw_attribute(node, "id")}};
    if (symbol_problem_) return error(element, symbol_problem_);
    if (element.echo[1].data() == nullptr)
      return error(element, missing_attribute, "missing attribute 'id'");
    const auto account = parse_account_id(resolved(element.echo[1]));
    if (!account) return error(element, malformed_id, "account id must be 1 to 64 digits");
    if (has_child_elements(node))
      return error(element, unexpected_content, "unexpected element in account");
    const auto shares = parse_shares(element_text(node), Rounding::towards_zero);
    if (!shares)
      return error(element, number_problem(shares.error, "number of shares",
                                           describe_shares_error(shares.error)));
    if (shares.value < Shares())
      return error(element, number_out_of_range, "number of shares is negative");
    command(element, PlaceShares{*symbol_, *account, shares.value});
  }

  // --- <transactions> ---

  Problem read_transactions(const pugi::xml_node& root) {
    std::string_view raw_account = raw_attribute(root, "id");
    if (raw_account.data() == nullptr) raw_account = raw_attribute(root, "account");
    account_ = parse_account_id(resolved(raw_account));
    if (raw_account.data() == nullptr)
      account_problem_ = {missing_attribute, "missing attribute 'id' of transactions"};
    else if (!account_)
      account_problem_ = {malformed_id, "unknown account: an account id is 1 to 64 digits"};
    const auto ties = read_word<bool>(raw_attribute(root, "cancel-on-disconnect"),
                                      {{"false", false}, {"true", true}});
    if (!account_problem_ && !ties)
      account_problem_ = {unknown_value, "cancel-on-disconnect must be true or false"};
    ties_orders_ = ties.value_or(false);
    if (credentials_ == nullptr) return for_each_child(root, &Reader::read_transaction);
    const std::size_t first = commands_.size();
    Problem problem = for_each_child(root, &Reader::read_transaction);
    if (commands_.size() > first) {  // else there is nothing to let through
      credentials_->push_back({Credential::Use::login, *account_, key_of(root),
                               std::uint32_t(first), std::uint32_t(commands_.size() - first)});
    }
    return problem;
  }

  void read_transaction(const pugi::xml_node& node) {
    if (is_named(node, "order"))
      read_order(node);
    else if (is_named(node, "query"))
      read_query_or_cancel(node, RequestElement::Kind::query);
    else if (is_named(node, "cancel"))
      read_query_or_cancel(node, RequestElement::Kind::cancel);
    else if (is_named(node, "replace"))
      read_replace(node);
    else
      error({.kind = RequestElement::Kind::unknown}, unknown_element_problem(node.name()));
  }

  void read_order(const pugi::xml_node& node) {
    RequestElement element{.kind = RequestElement::Kind::order};
    constexpr std::array<std::string_view, 8> names{"sym", "amount", "limit", "ref",
                                                    "tif", "post",   "type",  "stp"};
    static_assert(names.size() == std::tuple_size_v<decltype(element.echo)>);
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      const auto name = std::find(names.begin(), names.end(), attribute.name());
      if (name != names.end()) element.echo[std::size_t(name - names.begin())] = attribute.value();
    }
    if (account_problem_) return error(element, account_problem_);
    if (ties_orders_ && tie_problem_ != nullptr)
      return error(element, no_cancel_on_disconnect, tie_problem_);
    if (element.echo[0].data() == nullptr)
      return error(element, missing_attribute, "missing attribute 'sym'");
    if (element.echo[1].data() == nullptr)
      return error(element, missing_attribute, "missing attribute 'amount'");
    const auto market = read_word<bool>(element.echo[6], {{"limit", false}, {"market", true}});
    if (!market) return error(element, unknown_value, "type must be limit or market");
    if (*market && element.echo[2].data() != nullptr)
      return error(element, conflicting_attributes, "a market order has no limit");
    if (!*market && element.echo[2].data() == nullptr)
      return error(element, missing_attribute, "missing attribute 'limit'");
    if (has_content(node)) return error(element, unexpected_content, "unexpected content in order");
    const auto symbol = parse_symbol_name(resolved(element.echo[0]));
    if (!symbol) return error(element, malformed_symbol, bad_symbol);
    Amount amount;
    if (Problem problem = read_amount(element.echo[1], element.echo[2], amount))
      return error(element, std::move(problem));
    OptionalReference reference;
    if (!read_reference(element.echo[3], reference))
      return error(element, malformed_reference, bad_reference);
    const Lifetime usual = *market ? Lifetime::immediate_or_cancel : Lifetime::until_canceled;
    const auto lifetime = read_word<Lifetime>(element.echo[4],
                                              {{"gtc", Lifetime::until_canceled},
                                               {"ioc", Lifetime::immediate_or_cancel},
                                               {"fok", Lifetime::fill_or_kill}},
                                              usual);
    if (!lifetime) return error(element, unknown_value, "tif must be gtc, ioc or fok");
    if (*market && *lifetime != Lifetime::immediate_or_cancel)
      return error(element, conflicting_attributes, "a market order cannot have tif gtc or fok");
    const auto post_only = read_word<bool>(element.echo[5], {{"false", false}, {"true", true}});
    if (!post_only) return error(element, unknown_value, "post must be true or false");
    if (*post_only && *market)
      return error(element, conflicting_attributes, "a market order cannot have post");
    if (*post_only && *lifetime != Lifetime::until_canceled)
      return error(element, conflicting_attributes,
                   "an order with post cannot have tif ioc or fok");
    const auto self_trade =
        read_word<SelfTrade>(element.echo[7], {{"none", SelfTrade::allowed},
                                               {"cancel-resting", SelfTrade::cancel_resting},
                                               {"cancel-taking", SelfTrade::cancel_taking}});
    if (!self_trade)
      return error(element, unknown_value, "stp must be none, cancel-resting or cancel-taking");
    PlaceOrder order{*account_,     *symbol,      amount.side,
                     amount.shares, amount.limit, std::move(reference),
                     *lifetime,     *post_only,   *self_trade};
    order.symbol_must_exist = limits_.refuse_unknown_symbols;
    command(element, std::move(order));
  }

  void read_replace(const pugi::xml_node& node) {
    RequestElement element{.kind = RequestElement::Kind::replace,
                           .echo = {raw_attribute(node, "id"), raw_attribute(node, "ref"),
                                    raw_attribute(node, "amount"), raw_attribute(node, "limit")}};
    if (account_problem_) return error(element, account_problem_);
    ReplaceOrder replace{.account = *account_};
    if (Problem problem = read_order_name(node, element, replace.order, replace.reference))
      return error(element, std::move(problem));
    if (element.echo[2].data() == nullptr)
      return error(element, missing_attribute, "missing attribute 'amount'");
    if (element.echo[3].data() == nullptr)
      return error(element, missing_attribute, "missing attribute 'limit'");
    for (const char* const term : {"tif", "post", "type", "stp"})
      if (raw_attribute(node, term).data() != nullptr)
        return error(element, conflicting_attributes, std::string("a replace cannot have ") + term);
    Amount amount;
    if (Problem problem = read_amount(element.echo[2], element.echo[3], amount))
      return error(element, std::move(problem));
    replace.side = amount.side;
    replace.shares = amount.shares;
    replace.limit = amount.limit;
    command(element, std::move(replace));
  }

  void read_query_or_cancel(const pugi::xml_node& node, RequestElement::Kind kind) {
    RequestElement element{.kind = kind,
                           .echo = {raw_attribute(node, "id"), raw_attribute(node, "ref")}};
    if (kind == RequestElement::Kind::cancel && is_of_all(node)) return read_cancel_all(node);
    if (account_problem_) return error(element, account_problem_);
    OrderId order = 0;
    OptionalReference reference;
    if (Problem problem = read_order_name(node, element, order, reference))
      return error(element, std::move(problem));
    if (kind == RequestElement::Kind::query) {
      const std::string_view raw_from = raw_attribute(node, "from");
      const auto from = raw_from.data() == nullptr ? 1 : parse_order_id(resolved(raw_from));
      if (!from) return error(element, malformed_number, "from must be a whole number from 1");
      command(element,
              QueryOrder{*account_, order, limits_.open_queries, std::move(reference), *from});
    } else
      command(element, CancelOrder{*account_, order, std::move(reference)});
  }

  void read_cancel_all(const pugi::xml_node& node) {
    RequestElement element{.kind = RequestElement::Kind::cancel_all,
                           .echo = {raw_attribute(node, "sym")}};
    if (account_problem_) return error(element, account_problem_);
    if (has_content(node))
      return error(element, unexpected_content, "unexpected content in cancel");
    if (!read_word<bool>(raw_attribute(node, "all"), {{"true", true}}))
      return error(element, unknown_value, "all must be true");
    CancelAll all{*account_, {}};
    if (element.echo[0].data() != nullptr) {
      all.symbol = parse_symbol_name(resolved(element.echo[0]));
      if (!all.symbol) return error(element, malformed_symbol, bad_symbol);
    }
    command(element, all);
  }

  // Reads the id or the reference of an order, echo[0] and echo[1] of `element`, which is to be
  // empty.
  Problem read_order_name(const pugi::xml_node& node, const RequestElement& element, OrderId& order,
                          OptionalReference& reference) {
    const bool by_id = element.echo[0].data() != nullptr,
               by_reference = element.echo[1].data() != nullptr;
    if (!by_id && !by_reference)
      return {missing_attribute,
              is_named(node, "cancel")
                  ? "missing attribute 'id'; all=\"true\" cancels all open orders"
                  : "missing attribute 'id'"};
    if (by_id && by_reference) return {conflicting_attributes, "both 'id' and 'ref' are given"};
    if (has_content(node))
      return {unexpected_content, std::string("unexpected content in ") + node.name()};
    if (!read_reference(element.echo[1], reference)) return {malformed_reference, bad_reference};
    const auto id = by_id ? parse_order_id(resolved(element.echo[0])) : 0;
    if (!id) return {malformed_id, "transaction id must be a whole number from 1"};
    order = *id;
    return {};
  }

  struct Amount {
    Side side = Side::buy;
    Shares shares;
    Price limit;  // 0 if there is none
  };
  // `raw_limit` may be absent.
  Problem read_amount(std::string_view raw_amount, std::string_view raw_limit, Amount& amount) {
    const auto shares = parse_shares(resolved(raw_amount), Rounding::towards_zero);
    if (!shares) return number_problem(shares.error, "amount", describe_shares_error(shares.error));
    if (shares.value == Shares()) return {number_out_of_range, "amount is zero"};
    const bool buy = shares.value > Shares();
    amount.side = buy ? Side::buy : Side::sell;
    amount.shares = buy ? shares.value : Shares() - shares.value;
    if (raw_limit.data() == nullptr) return {};
    // In its owner's favour: no execution at a price that the order did not allow.
    const auto limit =
        parse_price(resolved(raw_limit), buy ? Rounding::towards_zero : Rounding::up);
    if (!limit) return number_problem(limit.error, "limit", describe_shares_error(limit.error));
    if (limit.value <= Price()) return {number_out_of_range, "limit must be above zero"};
    amount.limit = limit.value;
    return {};
  }

  static constexpr const char* bad_symbol = "symbol must be 1 to 32 letters and digits";
  static constexpr const char* bad_reference =
      "ref must be 1 to 64 characters of A-Z a-z 0-9 . _ : -";
  // What an optional attribute means; nothing if it is none of these words.
  template <class Value>
  std::optional<Value> read_word(std::string_view raw,
                                 std::initializer_list<std::pair<std::string_view, Value>> words,
                                 Value absent = {}) {
    if (raw.data() == nullptr) return absent;
    const std::string_view word = resolved(raw);
    for (const auto& [known, value] : words)
      if (word == known) return value;
    return std::nullopt;
  }
  // Returns false if one is given that is malformed.
  bool read_reference(std::string_view raw, OptionalReference& reference) {
    if (raw.data() == nullptr) return true;
    const auto parsed = parse_order_reference(resolved(raw));
    if (parsed) reference = *parsed;
    return parsed.has_value();
  }

  const ProtocolLimits& limits_;
  std::vector<RequestElement>& elements_;
  std::vector<Command>& commands_;
  std::vector<Credential>* const credentials_;
  const char* const tie_problem_;
  const std::size_t elements_before_;
  std::size_t keys_ = 0;  // of accounts to be created
  std::string scratch_;
  std::optional<SymbolName> symbol_;  // of the <symbol> being read
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
    request.code = ErrorCode::malformed_xml;
    request.error += document.length_hint();
  } else {
    Reader reader(limits, elements, commands, credentials, tie_problem);
    Problem problem = reader.read(document.root());
    request.error = std::move(problem.sentence);
    request.code = problem.code;
    request.ties_orders = reader.ties_orders();
    request.codes = reader.codes();
  }
  if (!request.error.empty()) {  // refused as a whole: nothing of it is executed
    elements.resize(elements_before, RequestElement{RequestElement::Kind::unknown});
    commands.erase(commands.begin() + std::ptrdiff_t(commands_before), commands.end());
    if (credentials != nullptr) credentials->resize(credentials_before, Credential{});
  }
  request.elements = std::uint32_t(elements.size() - elements_before);
  return request;
}

}  // namespace exchange
