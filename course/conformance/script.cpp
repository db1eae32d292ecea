// Runs the language of cases/*.txt (cases/README.md).

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "base/text.hpp"
#include "client/connection/framing.hpp"
#include "course/conformance/cases.hpp"
#include "engine/decimal.hpp"

namespace exchange::conformance {
namespace {

struct Step {
  std::string place, text;  // "market.txt:12"
  std::size_t indent;
  std::vector<Step> inner;  // of a loop
};
using Steps = std::vector<Step>;
using Setups = std::map<std::string, Steps, std::less<>>;

constexpr std::string_view shared_setups = "setups.txt";  // used by the cases of all files

// Cuts `text` at the first such mark and returns the text after it; "" if there is no mark.
std::string cut_behind(std::string& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {};
  std::string behind = text.substr(at + mark.size());
  text.erase(at);
  return behind;
}

// Splits a text at blanks, except between quotes, which stay, or braces.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  bool quoted = false;
  int braces = 0;
  for (const char c : text) {
    quoted ^= c == '"';
    braces += (c == '{') - (c == '}');
    if (c != ' ' || quoted || braces > 0)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Executes the steps of one case.
class CaseRun {
 public:
  CaseRun(Talk& talk, const Setups& setups) : talk_(talk), setups_(setups) {}

  void run(const Steps& steps) try { run_all(steps); } catch (const NothingToTest&) {
  }

 private:
  struct NothingToTest {};  // thrown if a step with `where` fails

  void run_all(const Steps& steps) {
    for (const Step& step : steps) {
      const std::string* const outer = std::exchange(place_, &step.place);
      run(step);
      place_ = outer;
    }
  }

  [[noreturn]] void fail(const std::string& why) const { throw TestError(*place_ + ": " + why); }

  void run(const Step& step) {
    std::string text = step.text;
    why_ = expanded(cut_behind(text, " -- "));
    words_ = words_of(text);
    const std::string prefix = words_.front();
    given_ = prefix.starts_with("given");
    if (!given_ && prefix != "where") return act(text, step);
    if (why_.empty()) why_ = "a preparation";
    words_.erase(words_.begin());
    text.erase(0, prefix.size() + 1);
    if (prefix == "given") return act(text, step);
    given_ = false;
    if (prefix == "where") return try_act(text, step);
    talk_.given(prefix.substr(prefix.find(':') + 1).c_str(), [&] { act(text, step); });
  }

  // Runs a step with `where`: the steps after it are tested only if it succeeds.
  void try_act(const std::string& text, const Step& step) {
    try {
      act(text, step);
    } catch (const Unreadable&) {
      throw;
    } catch (const Broken&) {
      throw NothingToTest();
    } catch (const Blocked&) {
      throw NothingToTest();
    }
  }

  void act(const std::string& text, const Step& step) {
    if (words_.front() == "send") return ask(text.substr(text.find(' ') + 1));
    if (words_.front() == "bytes") return send_bytes(text.substr(text.find(' ') + 1));
    if (word(2, true) == "asks") return ask(text.substr(text.find(" asks ") + 6), value(word(1)));
    for (std::string& word : words_) word = expanded(word);
    const std::string first = word(1), second = word(2, true);
    const auto setup = setups_.find(first);
    if (setup != setups_.end() && second.empty()) return run_all(setup->second);
    if (first == "let") return set(second, value(word(4)));
    if (first == "for") return loop(step);
    if (first == "account") return create_accounts();
    if (first == "symbol") return create_symbol();
    if (first == "new") {
      for (std::size_t i = 2; i < words_.size(); ++i)
        set(words_[i], second == "account" ? talk_.source().account() : talk_.source().symbol());
      return;
    }
    if (first == "reconnect") return talk_.reconnect();
    if (first == "persistent") return talk_.need_persistent();
    if (first == "if") return is_so() ? run_all(step.inner) : void();
    if (first == "expect")
      return expect(is_so(), why_ + ": " + value(word(2)) + " " + word(3) + " " + value(word(4)) +
                                 " was expected");
    if (first == "status" || first == "cancel") return look(second, 2, first == "cancel");
    if (first == "refused") {
      words_.erase(words_.begin());
      return in_words("", "<error/>", "M2");
    }
    if (second == "=") {
      words_.erase(words_.begin(), words_.begin() + 2);
      return in_words("=" + first, "", "T4");
    }
    if (second == "is") return void(talk_.given_executed(owner_of(first), value(first)));
    if (second == "has") return look(first, 2, false);
    if (second == "ends") return wait_for_end(first);
    in_words("", "", "T4");
  }

  std::string word(std::size_t number, bool may_be_missing = false) const {
    if (number <= words_.size()) return words_[number - 1];
    if (!may_be_missing) fail("a word is missing");
    return {};
  }

  // --- values

  void set(const std::string& name, const std::string& text) { values_[name] = text; }

  const std::string& owner_of(const std::string& order) const {
    const auto found = owners_.find(order);
    if (found == owners_.end()) fail("'" + order + "' is not an order");
    return found->second;
  }

  // Returns the text of a word: between quotes, of a variable, or of a number.
  std::string value(const std::string& word) {
    if (word.starts_with('"')) return expanded(word.substr(1, word.size() - 2));
    if (word.starts_with("fills(")) return fills_of(status_of(word.substr(6, word.size() - 7)));
    if (const auto found = values_.find(word); found != values_.end()) return found->second;
    return plain(number(word));
  }

  // Replaces each {…} by its value: {N times TEXT}, {size of TEXT} in bytes, {framed TEXT} as this
  // server expects requests, or the value of a word.
  std::string expanded(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const char next = at + 1 < text.size() ? text[at + 1] : ' ';
      if (const std::size_t escape = std::string_view("nrt").find(next);
          text[at] == '\\' && escape != std::string_view::npos) {
        out += "\n\r\t"[escape];
        ++at;
        continue;
      }
      if (text[at] != '{') {
        out += text[at];
        continue;
      }
      const std::size_t begin = ++at;
      for (int depth = 1; depth > 0; ++at) {
        if (at == text.size()) fail("a brace is not closed");
        depth += (text[at] == '{') - (text[at] == '}');
      }
      --at;
      out += inserted(std::string(text.substr(begin, at - begin)));
    }
    return out;
  }
  std::string inserted(std::string text) {
    if (text.starts_with("size of ")) return std::to_string(expanded(text.substr(8)).size());
    if (text.starts_with("framed ")) return talk_.target().framed(expanded(text.substr(7)));
    constexpr std::string_view times = " times ";
    if (text.find(times) == std::string::npos) return value(text);
    const std::string repeated = expanded(cut_behind(text, times));
    std::string out;
    for (std::int64_t count = number(text) / units_per_share; count > 0; --count) out += repeated;
    return out;
  }

  // Returns the value of an expression, in units of 1e-8.
  std::int64_t number(const std::string& expression) {
    std::string_view rest = expression;
    const std::int64_t result = sum(rest);
    if (!rest.empty()) fail("'" + expression + "' is neither a number nor a variable");
    return result;
  }
  std::int64_t sum(std::string_view& rest) {
    std::int64_t result = product(rest);
    while (rest.starts_with('+') || rest.starts_with('-')) {
      const bool less = rest.front() == '-';
      rest.remove_prefix(1);
      result += less ? -product(rest) : product(rest);
    }
    return result;
  }
  std::int64_t product(std::string_view& rest) {
    Int128 result = factor(rest);
    while (rest.starts_with('*') || rest.starts_with('/')) {
      const bool divide = rest.front() == '/';
      rest.remove_prefix(1);
      result = divide ? result * units_per_share / factor(rest)
                      : result * factor(rest) / units_per_share;
    }
    return std::int64_t(result);
  }
  std::int64_t factor(std::string_view& rest) {
    const auto take = [&](std::string_view mark) {
      const bool there = rest.starts_with(mark);
      if (there) rest.remove_prefix(mark.size());
      return there;
    };
    if (take("-")) return -factor(rest);
    if (take("(")) {
      const std::int64_t inner = sum(rest);
      if (!take(")")) fail("a parenthesis is not closed");
      return inner;
    }
    std::size_t end = 0;
    while (end < rest.size() && !rest.substr(end).starts_with("..") &&
           (std::isalnum(static_cast<unsigned char>(rest[end])) || rest[end] == '_' ||
            rest[end] == '.'))
      ++end;
    const std::string name(rest.substr(0, end));
    rest.remove_prefix(end);
    if (name == "any_price") return talk_.any_price() * units_per_quarter;
    if (name == "any_shares") return talk_.any_shares() * units_per_share;
    if (take("(")) {
      const OrderState state = status_of(std::string(rest.substr(0, rest.find(')'))));
      rest.remove_prefix(rest.find(')') + 1);
      if (name == "executed") return state.executed();
      if (name == "cost") return cost_of(state);
      fail("'" + name + "' is not a function");
    }
    const auto variable = values_.find(name);
    const auto units = units_of(variable != values_.end() ? variable->second : name);
    if (!units && variable != values_.end())  // the value came from the server
      expect(false, why_ + ": '" + variable->second + "' is not a number");
    if (!units) fail("'" + name + "' is neither a number nor a variable");
    if (!take("..")) return *units;
    return talk_.between(*units / units_per_share, factor(rest) / units_per_share) *
           units_per_share;
  }

  OrderState status_of(const std::string& order) {
    return talk_.given_status(owner_of(order), value(order));
  }

  // Returns the cost of its executions. Blocks if they are not of whole shares and quarters.
  static std::int64_t cost_of(const OrderState& state) {
    std::int64_t quarters = 0;
    for (const Fill& fill : state.fills) {
      if (fill.shares % units_per_share != 0 || fill.price % units_per_quarter != 0)
        throw Blocked("an execution of a part of a share, or of a price that no order has", "M6");
      quarters += fill.shares / units_per_share * (fill.price / units_per_quarter);
    }
    return quarters * units_per_quarter;
  }

  static std::string fills_of(const OrderState& state) {
    std::string text;
    for (const Fill& fill : state.fills) text += " " + plain(fill.shares) + "@" + plain(fill.price);
    return text;
  }

  // --- steps

  void loop(const Step& step) {
    const std::string name = word(2);
    std::vector<std::string> values(words_.begin() + 3, words_.end());
    if (std::string to = values.front(); values.size() == 1 && to.find("..") != to.npos) {
      const std::int64_t last = number(cut_behind(to, "..")) / units_per_share;
      values.clear();
      for (std::int64_t i = number(to) / units_per_share; i <= last; ++i)
        values.push_back(std::to_string(i));
    }
    for (const std::string& one : values) {
      set(name, one.starts_with('"') ? value(one) : one);
      run_all(step.inner);
    }
  }

  // account NAMES with BALANCE
  void create_accounts() {
    const std::string balance = value(words_.back());
    for (std::size_t i = 1; i + 2 < words_.size(); ++i)
      set(words_[i], talk_.given_account(balance));
  }

  // symbol NAME ACCOUNT SHARES ...
  void create_symbol() {
    const std::string symbol = talk_.source().symbol();
    set(word(2), symbol);
    for (std::size_t i = 3; i <= words_.size(); i += 2)
      talk_.given_shares(symbol, value(word(i)), number(word(i + 1)) / units_per_share);
  }

  // if|expect A OP B
  bool is_so() {
    const std::string a = value(word(2)), b = value(word(4)), sign = word(3);
    if (sign == "=") return a == b;
    if (sign == "!=") return a != b;
    if (sign == ">") return number(word(2)) > number(word(4));
    if (sign == ">=") return number(word(2)) >= number(word(4));
    fail("'" + sign + "' is not a comparison");
  }

  // ACCOUNT buys|sells|orders AMOUNT SYMBOL [at LIMIT] [ATTRIBUTE=VALUE ...], or
  // ORDER becomes AMOUNT [at LIMIT] [ATTRIBUTE=VALUE ...]
  void in_words(const std::string& capture, const std::string& refusal, const char* rule) {
    const std::string subject = word(1), verb = word(2);
    const bool replaces = verb == "becomes";
    if (!replaces && verb != "buys" && verb != "sells" && verb != "orders") fail("no such step");
    std::string element = replaces ? "<replace" : "<order sym=\"" + value(word(4)) + "\"";
    std::size_t at = replaces ? 3 : 4;
    const auto names_order = [](const std::string& word) {
      return word.starts_with("id=") || word.starts_with("ref=");
    };
    if (replaces && std::ranges::none_of(words_, names_order))
      element += " id=\"" + value(subject) + "\"";
    element += " amount=\"" + std::string(verb == "sells" ? "-" : "") + value(word(3)) + "\"";
    if (at < words_.size() && words_[at] == "at") {
      element += " limit=\"" + value(word(at + 2)) + "\"";
      at += 2;
    }
    for (; at < words_.size(); ++at) {
      std::string name = words_[at], text = cut_behind(name, "=");
      if (text.starts_with('"')) text = value(text);
      element += " " + name + "=\"" + text + "\"";
    }
    std::string pattern = refusal;
    if (pattern.empty())
      pattern = replaces          ? "<replaced id=\"" + value(subject) + "\"/>"
                : capture.empty() ? "<opened/>"
                                  : "<opened id=\"" + capture + "\"/>";
    const std::string account = replaces ? owner_of(subject) : value(subject);
    const auto ask = [&] { request(Talk::transactions(account, element + "/>"), pattern); };
    given_ ? talk_.given(rule, ask) : ask();
  }

  // Runs "DOCUMENT gets PATTERN"; with an account, DOCUMENT is the content of its <transactions>.
  void ask(std::string document, const std::string& account = {}) {
    const std::string pattern = expanded(cut_behind(document, " gets "));
    if (pattern.empty()) fail("'gets' is missing");
    document = expanded(document);
    request(account.empty() ? document : Talk::transactions(account, document), pattern);
  }

  void request(const std::string& document, const std::string& pattern) {
    if (pattern == "errors") return void(talk_.expect_error(document, why_));
    constexpr std::string_view by = "<transactions id=\"";
    const std::string account =
        document.starts_with(by)
            ? document.substr(by.size(), document.find('"', by.size()) - by.size())
            : "";
    compare(pattern, talk_.ask(document), account);
  }

  // Runs "bytes PIECE | PIECE ... gets PATTERN and PATTERN ... [and closed]": sends the pieces
  // unchanged on a new connection; the piece "end" ends the stream.
  void send_bytes(std::string piece) {
    std::string pattern = cut_behind(piece, " gets ");
    talk_.reconnect();
    for (std::string rest; !piece.empty(); piece = rest) {
      rest = cut_behind(piece, " | ");
      if (piece == "end")
        talk_.link().end_sending();
      else
        talk_.send(expanded(piece));
      if (!rest.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    if (pattern.starts_with("<created")) {  // otherwise the server must answer without more bytes
      if (talk_.target().style().wants_newline) talk_.link().send("\n");
      if (talk_.target().style().wants_end) talk_.link().end_sending();
    }
    for (std::string rest; !pattern.empty(); pattern = rest) {
      rest = cut_behind(pattern, " and ");
      if (pattern == "closed")
        expect(talk_.link().closed_in_time(),
               "the server should close the connection after the error");
      else
        compare(expanded(pattern), talk_.receive(), "");
    }
    talk_.reconnect();
  }

  // Compares the replies to this account with the pattern.
  void compare(const std::string& pattern, const std::vector<Element>& answers,
               const std::string& account) {
    const std::vector<Element> wanted =
        pattern == "nothing" ? std::vector<Element>()
                             : read_reply("<results>" + pattern + "</results>").elements;
    Talk::expect_elements(answers, wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      expect(matches(wanted[i], answers[i]),
             why_ + ": " +
                 (wanted[i].attributes.empty() && wanted[i].children.empty()
                      ? "<" + wanted[i].name + ">"
                      : wanted[i].print()) +
                 " was expected, got " + answers[i].print());
      if (const std::string name = wanted[i].attribute("id"); name.starts_with('=')) {
        set(name.substr(1), answers[i].attribute("id"));
        owners_[name.substr(1)] = account;
      }
    }
  }

  static bool matches(const Element& wanted, const Element& got) {
    static const std::set<std::string> numbers{"amount", "limit", "shares", "price"};
    if (wanted.name != "any" && wanted.name != got.name) return false;
    for (const auto& [name, text] : wanted.attributes) {
      const std::string is = got.attribute(name);
      const bool any = text == "?" || text.starts_with('=');
      if (text.size() > 1 && text.ends_with('?') && (is.empty() || is + "?" == text)) continue;
      if (any ? is.empty() : numbers.contains(name) ? !same_value(is, text) : is != text)
        return false;
    }
    for (const std::string& word : words_of(wanted.text))
      if (got.text.find(word) == std::string::npos) return false;
    return wanted.children.empty() || std::equal(wanted.children.begin(), wanted.children.end(),
                                                 got.children.begin(), got.children.end(), matches);
  }

  // Checks the state of an order, or of one that is canceled: [has] open N executed N canceled N
  // price P fills N@PRICE ...
  void look(const std::string& order, std::size_t at, bool cancel) {
    const std::string account = owner_of(order), id = value(order);
    if (cancel && given_) return talk_.given_canceled(account, id);
    const OrderState state = cancel   ? talk_.cancel(account, id)
                             : given_ ? talk_.given_status(account, id)
                                      : talk_.status(account, id);
    if (at < words_.size() && words_[at] == "has") ++at;
    const auto check = [&] {
      for (; at < words_.size(); at += 2) check_state(id, state, at);
    };
    given_ ? talk_.given("M3", check) : check();
  }

  void check_state(const std::string& id, const OrderState& state, std::size_t& at) {
    const std::string what = words_[at], order = why_ + ": order " + id;
    const std::int64_t should = what == "fills" ? 0 : number(word(at + 2));
    if (what == "fills") {
      std::string wanted;
      for (; at + 1 < words_.size(); ++at) {
        std::string shares = words_[at + 1];
        const std::string limit = cut_behind(shares, "@");
        wanted += " " + value(shares) + "@" + value(limit);
      }
      return expect(fills_of(state) == wanted,
                    order + " should be executed" + wanted + ", is executed" + fills_of(state));
    }
    if (what == "price") {
      for (const Fill& fill : state.fills)
        expect(fill.price == should,
               order + " should be executed at " + plain(should) + ", not " + plain(fill.price));
      return;
    }
    const std::int64_t is = what == "open"       ? state.open.value_or(0)
                            : what == "executed" ? state.executed()
                            : what == "canceled" ? state.canceled.value_or(0)
                                                 : (fail("no such state"), 0);
    expect(is == should,
           order + " should have " + plain(should) + " shares " + what + ", has " + plain(is));
  }

  // Runs "ORDER ends soon": the server may need a moment to see the end of a connection.
  void wait_for_end(const std::string& order) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(talk_.target().timeout_s()));
    while (talk_.status(owner_of(order), value(order)).open) {
      expect(Clock::now() < end, why_ + ": order " + value(order) + " is still open");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  Talk& talk_;
  const Setups& setups_;
  std::map<std::string, std::string> values_{{"bom", std::string(byte_order_mark)}};
  std::map<std::string, std::string> owners_;  // the account of an order, by the order's name
  // The state of the current step:
  const std::string* place_ = nullptr;
  std::string why_;
  std::vector<std::string> words_;
  bool given_ = false;
};

// Moves steps that are indented deeper into the step before them.
Steps nested(Steps::iterator& at, Steps::iterator end) {
  Steps steps;
  if (at == end) return steps;
  for (const std::size_t indent = at->indent; at != end && at->indent >= indent;)
    if (at->indent > indent)
      steps.back().inner = nested(at, end);
    else
      steps.push_back(std::move(*at++));
  return steps;
}

// A case or a setup.
struct Block {
  std::string title;
  Steps steps;
};

std::vector<Block> read_blocks(std::string_view file, std::string_view text) {
  std::vector<Block> blocks;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string place = std::string(file) + ":" + std::to_string(++number);
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos || line[indent] == '#') continue;
    const std::string content = line.substr(indent);
    const bool goes_on =
        content[0] == '<' || content.starts_with("gets ") || content.starts_with("-- ");
    if (indent == 0)
      blocks.push_back({content, {}});
    else if (blocks.empty() || (goes_on && blocks.back().steps.empty()))
      throw TestError(place + ": no case or step stands above it");
    else if (goes_on)
      blocks.back().steps.back().text += (content[0] == '<' ? "" : " ") + content;
    else
      blocks.back().steps.push_back({place, content, indent, {}});
  }
  for (Block& block : blocks) {
    auto first = block.steps.begin();
    block.steps = nested(first, block.steps.end());
  }
  return blocks;
}

}  // namespace

Cases read_cases(std::string_view file, std::string_view text) {
  const auto setups = std::make_shared<Setups>();
  const auto is_setup = [&](Block& block) {
    std::string title = block.title;
    const std::string name = cut_behind(title, " ");
    if (title == "setup") setups->emplace(name, std::move(block.steps));
    return title == "setup";
  };
  for (const EmbeddedFile& shared : case_files())
    if (shared.name == shared_setups)
      for (Block& block : read_blocks(shared.name, shared.content)) is_setup(block);
  Cases cases;
  for (Block& block : read_blocks(file, text)) {
    if (is_setup(block)) continue;
    std::string rule = block.title, name = cut_behind(rule, " ");
    const bool once = name.ends_with(" (once)");
    if (once) name.erase(name.rfind(" ("));
    cases.push_back({rule, name,
                     [setups, steps = std::move(block.steps)](Talk& talk) {
                       CaseRun(talk, *setups).run(steps);
                     },
                     once});
  }
  return cases;
}

}  // namespace exchange::conformance
