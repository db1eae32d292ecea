// A server of the protocol with one fault, or with the habits of other implementations. The
// conformance test, the audit and the grader are tested against it.
//   faulty_server --port 0 --fault takers-price --journal FILE
// Without either it keeps the rules. With --journal a request is on the disk before its reply goes
// out, and is executed again at the next start.

#include <CLI/CLI.hpp>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cmath>
#include <deque>
#include <fstream>
#include <iostream>
#include <mutex>
#include <pugixml.hpp>
#include <random>
#include <regex>
#include <semaphore>
#include <set>
#include <sstream>
#include <thread>

#include "protocol/reply.hpp"
#include "support/faulty_exchange.hpp"
#include "support/xml_text.hpp"

namespace exchange::testing {
namespace {

using Tcp = boost::asio::ip::tcp;
using pugi::xml_node;
using Lock = std::unique_lock<std::mutex>;

// clang-format off
// Beside those of the exchange: of requests and their elements, then in form alone.
BOOST_DEFINE_FIXED_ENUM_CLASS(FormFault, std::uint8_t,
  none,
  below_zero, shares_for_anyone, zeros, reversed_replies, backwards, children_at_random,
  stops_at_error,
  one_error,  // for all of an unknown account
  dies_on_bad_xml, hangs_on_bad_xml, ignores_length, counts_characters,
  forgets,  // the newest requests: it writes each after `written_late` others
  slow,
  one_worker,  // serves one connection at a time, and none after one that asked nothing
  other_root, text_ids, random_ids, ids_from_0,
  same_ids,  // of each account from 1
  no_echo, bare_errors, bare_created,
  doubles,    // limits and prices with 17 digits
  exponents,  // as Java prints doubles
  milliseconds, byte_order_mark, raw_errors, zero_limits,
  no_quotes,  // around values
  dies_of_many)  // connections at once
BOOST_DEFINE_FIXED_ENUM_CLASS(Style, std::uint8_t,
  bare,
  length,   // a length line before each reply
  close,    // after each reply
  newline,  // a request ends with one
  pretty,
  narrow)   // 32 bits: whole shares, and cents
// clang-format on

struct Habits {
  std::uint16_t port = 12'345;
  Fault fault = Fault::none;
  Gift gift = Gift::none;
  FormFault form = FormFault::none;
  Style style = Style::bare;
  std::string journal;
};

template <class Enum>
std::string word(Enum value) {
  std::string word(to_string(value));
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}
template <class Enum>
bool read_word(const std::string& text, Enum& value) {
  for (std::size_t i = 0; i < enumerators<Enum>; ++i)
    if (word(Enum(i)) == text) return value = Enum(i), true;
  return false;
}

std::string text_of(const xml_node& node, unsigned format = pugi::format_raw) {
  std::ostringstream out;
  node.print(out, " ", format | pugi::format_no_declaration);
  return out.str();
}
std::vector<xml_node> elements_of(const xml_node& parent) {
  std::vector<xml_node> elements;
  for (const xml_node& child : parent.children())
    if (child.type() == pugi::node_element) elements.push_back(child);
  return elements;
}
// The element with this text inside.
std::string around(const xml_node& node, const std::string& inside) {
  pugi::xml_document copy;
  xml_node shell = copy.append_child(node.name());
  for (const pugi::xml_attribute& attribute : node.attributes()) shell.append_copy(attribute);
  shell.append_child(pugi::node_pcdata).set_value("|");
  const std::string text = text_of(shell);
  const std::size_t at = text.find('|');
  return text.substr(0, at) + inside + text.substr(at + 1);
}

double number_of(const std::string& text) { return std::strtod(text.c_str(), nullptr); }
// As Double.toString: 1.0, 9.9999898E7.
std::string java_double(double number) {
  const bool plain = number == 0 || (std::abs(number) >= 1e-3 && std::abs(number) < 1e7);
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, plain ? "%.*g" : "%.*e", digits, number);
    if (number_of(text) == number) break;
  }
  std::string out(text);
  if (plain)
    return out.find('e') != out.npos || out.find('.') == out.npos
               ? std::to_string(std::int64_t(number)) + ".0"
               : out;
  const std::size_t e = out.find('e');
  std::string digits = out.substr(0, e);
  if (digits.find('.') == digits.npos) digits += ".0";
  return digits + "E" + std::to_string(std::stoi(out.substr(e + 1)));
}

constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;  // each number has an inverse
std::uint64_t inverse_of_odd() {
  std::uint64_t inverse = odd;  // right in its last three bits, then in twice as many
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

class Server {
 public:
  explicit Server(const Habits& habits)
      : habits_(habits),
        exchange_(habits.gift == Gift::none ? FaultyExchange(habits.fault, 1)
                                            : FaultyExchange(habits.gift)) {
    if (habits.journal.empty()) return;
    std::ifstream in(habits.journal, std::ios::binary);
    std::size_t bytes = 0;
    std::int64_t time = 0;
    for (std::string document; in >> bytes >> time;) {
      document.resize(bytes);
      if (!in.ignore(1).read(document.data(), std::streamsize(bytes)) || in.get() != '\n')
        break;  // torn by a crash, and not acknowledged
      Lock lock(mutex_);
      results_of(document, {time}, lock);
    }
    journal_ = std::fopen(habits.journal.c_str(), "ab");
  }

  // Returns the reply to one document.
  std::string reply(const std::string& document) {
    if (is(FormFault::slow)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Lock lock(mutex_);  // before the time, which never goes back
    using namespace std::chrono;
    const Timestamp now{
        duration_cast<microseconds>(system_clock::now().time_since_epoch()).count()};
    std::string results = results_of(document, now, lock);
    if (journal_) write_journal(document, now);
    return results;
  }

  void serve(Tcp::socket& socket) {
    if (is(FormFault::one_worker)) worker_.acquire();
    if (++connections_ > 10 && is(FormFault::dies_of_many)) ::_exit(1);
    bool asked = false, marked = false;
    std::vector<Tied> tied;
    try {
      while (const auto document = read(socket)) {
        asked = true;
        const std::string results = reply(*document);
        note_tied(*document, results, tied);
        send(socket, results, marked);
        if (habits_.style == Style::close) break;
      }
    } catch (const boost::system::system_error&) {  // the client is gone
    }
    --connections_;
    for (const Tied& one : tied) end(one);
    if (is(FormFault::one_worker) && asked) worker_.release();
  }

 private:
  bool is(FormFault form) const { return habits_.form == form; }

  struct Tied {
    std::string account, symbol, order;
  };
  // Adds the orders that end with the connection (E20).
  static void note_tied(const std::string& document, const std::string& results,
                        std::vector<Tied>& tied) {
    pugi::xml_document asked, answered;
    asked.load_buffer(document.data(), document.size());
    const xml_node root = asked.document_element();
    if (std::string_view(root.attribute("cancel-on-disconnect").value()) != "true") return;
    answered.load_buffer(results.data(), results.size());
    for (const xml_node& element : elements_of(answered.document_element()))
      if (std::string_view(element.name()) == "opened")
        tied.push_back({root.attribute("id").value(), element.attribute("sym").value(),
                        element.attribute("id").value()});
  }
  void end(const Tied& tied) {
    const std::string results = reply("<transactions id=\"" + tied.account + "\"><cancel id=\"" +
                                      tied.order + "\"/></transactions>");
    const Lock lock(mutex_);
    if (habits_.gift == Gift::disconnect_pays && results.starts_with("<results><canceled"))
      exchange_.pay(AccountId(tied.account), SymbolName(tied.symbol));
  }

  // --- elements ---

  // The elements of a request, one after another, each as a request of its own.
  struct Step {
    xml_node element;
    std::string document;
  };
  static std::vector<Step> steps_of(const xml_node& root) {
    std::vector<Step> steps;
    for (const xml_node& child : elements_of(root)) {
      const auto placements =
          std::string_view(child.name()) == "symbol" ? elements_of(child) : std::vector<xml_node>();
      for (const xml_node& placement : placements)
        steps.push_back({placement, around(root, around(child, text_of(placement)))});
      if (placements.empty()) steps.push_back({child, around(root, text_of(child))});
    }
    return steps;
  }

  // Returns the reply by the rules.
  std::string ask(std::string document, Timestamp now, Lock& lock, bool* malformed = nullptr) {
    XmlDocument xml;
    std::vector<RequestElement> elements;
    std::vector<Command> commands;
    std::vector<Outcome> outcomes;
    const Request request =
        read_request(document.data(), document.size(), limits_, xml, elements, commands);
    if (malformed) return *malformed = request.code == ErrorCode::malformed_xml, request.error;
    for (const Command& command : commands) outcomes.push_back(apply(command, now, lock));
    std::string reply;
    append_results(reply, request, elements, outcomes, false);
    return reply;
  }
  Outcome apply(const Command& command, Timestamp now, Lock& lock) {
    const auto* const order = std::get_if<PlaceOrder>(&command);
    if (habits_.fault != Fault::unlocked || !order ||
        !changed_state(exchange_.outcome(command, exchange_.version())))
      return exchange_.apply(command, now);
    const Shares before = exchange_.position(order->account, order->symbol);
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    lock.lock();
    return exchange_.open_late(*order, before, now);
  }

  std::string results_of(const std::string& document, Timestamp now, Lock& lock) {
    bool malformed = false;
    const std::string refusal = ask(document, now, lock, &malformed);
    if (malformed && is(FormFault::dies_on_bad_xml)) ::_exit(1);
    if (malformed && is(FormFault::hangs_on_bad_xml)) {
      lock.unlock();
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
    pugi::xml_document parsed, results;
    parsed.load_buffer(document.data(), document.size());
    const xml_node root = parsed.document_element();
    std::vector<Step> steps = steps_of(root);
    if (!refusal.empty() || steps.empty()) {
      results.load_string(ask(document, now, lock).c_str());
      return print(results);
    }
    const bool trades = std::string_view(root.name()) == "transactions";
    if (trades && is(FormFault::one_error)) {
      const auto id =
          parse_account_id(root.attribute(root.attribute("id") ? "id" : "account").value());
      if (!id || !exchange_.knows(*id)) steps.resize(1);
    }
    std::vector<std::size_t> order(steps.size());
    std::iota(order.begin(), order.end(), 0u);
    if (is(FormFault::backwards)) std::reverse(order.begin(), order.end());
    if (trades && is(FormFault::children_at_random))
      std::shuffle(order.begin(), order.end(), random_);
    std::vector<std::string> answers(steps.size());
    for (const std::size_t at : order) {
      answers[at] = answer(root, steps[at], now, lock);
      if (is(FormFault::stops_at_error) && answers[at].starts_with("<error")) break;
    }
    if (is(FormFault::reversed_replies)) std::reverse(answers.begin(), answers.end());
    std::string all = "<results>";
    for (const std::string& one : answers) all += one;
    results.load_string((all + "</results>").c_str());
    return print(results);
  }

  // Returns the elements of the reply to one step.
  std::string answer(const xml_node& root, Step& step, Timestamp now, Lock& lock) {
    const AccountId account(std::string_view(root.attribute("id").value()).substr(0, 64));
    const std::string name = step.element.name(), id = step.element.attribute("id").value();
    const bool names_order = name == "query" || name == "cancel" || name == "replace";
    if (names_order && !id.empty() && has_own_ids()) {
      step.element.attribute("id") = inner_id(account, id).c_str();
      step.document = around(root, text_of(step.element));
    }
    const std::string inside = fits(step.element)
                                   ? ask(step.document, now, lock)
                                   : results("<error>not a number that fits</error>");
    pugi::xml_document reply;
    reply.load_string(inside.c_str());
    if (habits_.gift == Gift::bad_numbers_pay && refuses_number(inside)) pay_for(step.element);
    std::string out;
    for (xml_node element : elements_of(reply.document_element())) {
      if (std::string_view(element.name()) == "error") accept(step.element, element);
      if (names_order && element.attribute("id") && std::string_view(element.name()) == "error")
        element.attribute("id") = id.c_str();
      else if (trades(element) && has_own_ids())
        element.attribute("id") = outer_id(account, element.attribute("id").as_ullong()).c_str();
      edit(name, element);
      out += text_of(element);
    }
    return out;
  }
  static bool refuses_number(const std::string& reply) {
    static const std::regex sentence("decimal number|is zero|is negative|is empty|above zero");
    return std::regex_search(reply, sentence);
  }
  // Pays for an order, or for a placement.
  void pay_for(const xml_node& asked) {
    const bool trades = std::string_view(asked.name()) == "order";
    const char* const id = (trades ? asked.parent() : asked).attribute("id").value();
    exchange_.pay(AccountId(id),
                  SymbolName((trades ? asked : asked.parent()).attribute("sym").value()));
  }
  static bool trades(const xml_node& reply) {
    const std::string_view name = reply.name();
    return name == "opened" || name == "status" || name == "canceled" || name == "replaced";
  }

  // Returns whether --style narrow can hold the numbers of the element.
  bool fits(const xml_node& element) const {
    static const std::regex cents(R"(-?\d+(\.\d\d?)?)"), shares(R"(\s*-?\d+\s*)"),
        ids(R"(\d{1,9})");
    if (habits_.style != Style::narrow) return true;
    const auto matches = [&](const char* name, const std::regex& what) {
      const pugi::xml_attribute attribute = element.attribute(name);
      return !attribute || std::regex_match(attribute.value(), what);
    };
    const bool places = std::string_view(element.parent().name()) == "symbol";
    return matches("id", ids) && matches("amount", shares) && matches("balance", cents) &&
           matches("limit", cents) && (!places || std::regex_match(element.child_value(), shares));
  }

  // Turns an error into a success, if the fault is to accept such input.
  void accept(const xml_node& asked, xml_node& error) {
    static const std::regex any(R"(\s*-?(\d+\.?\d*|\.\d+)\s*)"), zero(R"(-?(0+\.?0*|\.0+))"),
        negative(R"(\s*-.*[1-9].*)");
    const std::string name = asked.name(), amount = asked.attribute("amount").value(),
                      limit = asked.attribute("limit").value();
    const bool places = std::string_view(asked.parent().name()) == "symbol";
    const std::string given = places ? asked.child_value() : asked.attribute("balance").value();
    const auto is = [](const std::string& number, const std::regex& what) {
      return std::regex_match(number, any) && std::regex_match(number, what);
    };
    const FormFault form = habits_.form;
    const bool creates = (form == FormFault::below_zero && is(given, negative)) ||
                         (form == FormFault::shares_for_anyone && places &&
                          error.child_value() == describe(Reason::unknown_account));
    const bool numbers = name == "order" && is(amount, any) && is(limit, any);
    const bool opens = numbers && ((form == FormFault::zeros &&
                                    (is(amount, zero) || is(limit, zero) || is(limit, negative))) ||
                                   (form == FormFault::zero_limits && is(limit, zero)));
    if (!creates && !opens) return;
    error.remove_children();
    error.set_name(creates ? "created" : "opened");
    if (!creates) error.append_attribute("id") = std::to_string(exchange_.skip_number()).c_str();
  }

  // --- ids ---

  bool has_own_ids() const {
    return is(FormFault::text_ids) || is(FormFault::random_ids) || is(FormFault::ids_from_0) ||
           is(FormFault::same_ids);
  }
  std::string outer_id(const AccountId& account, OrderId id) const {
    char text[32];
    if (is(FormFault::text_ids))
      return std::snprintf(text, sizeof text, "x%06x", unsigned(id)), text;
    if (is(FormFault::random_ids))
      return std::snprintf(text, sizeof text, "r%016llx", 0ull + id * odd), text;
    if (is(FormFault::ids_from_0)) return std::to_string(id - 1);
    const std::vector<OrderId>& own = exchange_.orders_of(account);
    return std::to_string(1 + std::find(own.begin(), own.end(), id) - own.begin());
  }
  std::string inner_id(const AccountId& account, const std::string& text) const {
    const bool is_number = text.find_first_not_of("0123456789") == text.npos && text.size() < 19;
    if (is(FormFault::text_ids) && text.starts_with("x"))
      return std::to_string(std::strtoull(text.c_str() + 1, nullptr, 16));
    if (is(FormFault::random_ids) && text.starts_with("r"))
      return std::to_string(std::strtoull(text.c_str() + 1, nullptr, 16) * inverse_of_odd());
    if (is(FormFault::ids_from_0) && is_number) return std::to_string(std::stoull(text) + 1);
    if (!is(FormFault::same_ids) || !is_number || !exchange_.knows(account)) return text;
    const std::vector<OrderId>& own = exchange_.orders_of(account);
    const std::uint64_t number = std::stoull(text);
    return number >= 1 && number <= own.size() ? std::to_string(own[number - 1]) : "0";
  }

  // --- form ---

  void edit(const std::string& asked, xml_node& element) const {
    const std::string name = element.name();
    const bool error = name == "error";
    if (is(FormFault::bare_created) && name == "created") element.remove_attributes();
    if (is(FormFault::bare_errors) && error && (asked == "query" || asked == "cancel"))
      element.remove_attributes();
    if (is(FormFault::no_echo) && (error || name == "opened")) {
      const std::string id = element.attribute("id").value();
      element.remove_attributes();
      if (!error) element.append_attribute("id") = id.c_str();
    }
    edit_numbers(element);
    for (xml_node child : elements_of(element)) edit_numbers(child);
  }
  void edit_numbers(xml_node& element) const {
    for (pugi::xml_attribute attribute : element.attributes()) {
      const std::string name = attribute.name(), value = attribute.value();
      const bool price = name == "limit" || name == "price";
      if (name == "time" && is(FormFault::milliseconds)) attribute = (value + "000").c_str();
      if (!price && name != "amount" && name != "shares") continue;
      if (value.find_first_not_of("-.0123456789") != value.npos ||
          value.find_first_of("123456789") == value.npos)
        continue;
      const double number = number_of(value);
      char text[40];
      if (is(FormFault::exponents)) attribute = java_double(number).c_str();
      if (is(FormFault::doubles) && price && number != std::floor(number))
        std::snprintf(text, sizeof text, "%.17g", number), attribute = text;
      if (habits_.style == Style::narrow && price)
        std::snprintf(text, sizeof text, "%.2f", number), attribute = text;
    }
  }
  std::string print(pugi::xml_document& results) const {
    xml_node root = results.document_element();
    if (is(FormFault::other_root)) root.set_name("result");
    if (habits_.style == Style::pretty) {
      reverse_attributes(root);
      return "<?xml version='1.0' encoding='UTF-8'?>\n" +
             text_of(root, pugi::format_indent | pugi::format_attribute_single_quote);
    }
    std::string text = text_of(root) + "\n";
    if (is(FormFault::no_quotes)) text = without_quotes(text);
    if (is(FormFault::raw_errors))
      for (std::size_t at = 0; (at = text.find("</error>", at)) != text.npos; at += 16)
        text.insert(at, " (0 < 1)");
    return text;
  }
  // Removes the quotes of values that do not need them: letters, digits, points and hyphens.
  static std::string without_quotes(const std::string& text) {
    std::string out;
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
      end = text.find('"', at);
      if (end == text.npos) return out + text.substr(at);
      out += text.substr(at, end - at);
      const std::size_t begin = end + 1;
      end = text.find('"', begin);
      const std::string value = text.substr(begin, end - begin);
      const bool is_plain =
          !value.empty() && std::all_of(value.begin(), value.end(), [](unsigned char c) {
            return std::isalnum(c) != 0 || c == '.' || c == '-';
          });
      out += is_plain ? value : '"' + value + '"';
      if (end == text.npos) return out;
    }
    return out;
  }
  static void reverse_attributes(xml_node& node) {
    for (pugi::xml_attribute at = node.first_attribute(), next; at; at = next) {
      next = at.next_attribute();
      node.prepend_copy(at);
      node.remove_attribute(at);
    }
    for (xml_node child : elements_of(node)) reverse_attributes(child);
  }

  // --- the journal ---

  void write_journal(const std::string& document, Timestamp now) {
    unwritten_.push_back(std::to_string(document.size()) + " " + std::to_string(now.microseconds) +
                         "\n" + document + "\n");
    if (is(FormFault::forgets) && unwritten_.size() <= written_late) return;
    const std::string record = std::move(unwritten_.front());
    unwritten_.pop_front();
    std::fwrite(record.data(), 1, record.size(), journal_);
    std::fflush(journal_);
    ::fdatasync(fileno(journal_));
  }

  // --- connections ---

  static char read_byte(Tcp::socket& socket) {
    char byte = 0;
    boost::asio::read(socket, boost::asio::buffer(&byte, 1));
    return byte;
  }

  // Reads until `data` has `length` bytes, or all bytes before the end of the stream; then it
  // throws.
  static void read_rest(Tcp::socket& socket, std::string& data, std::size_t length) {
    const std::size_t had = data.size();
    boost::system::error_code error;
    data.resize(std::max(had, length));
    const auto rest = boost::asio::buffer(data) + had;
    data.resize(had + boost::asio::read(socket, rest, error));
    if (error) throw boost::system::system_error(error);
  }

  // Returns the next document. Throws at the end of the stream.
  std::optional<std::string> read(Tcp::socket& socket) {
    if (is(FormFault::ignores_length)) {
      std::string data(65'536, '\0');
      data.resize(socket.read_some(boost::asio::buffer(data)));
      data.erase(0, data.find_first_not_of("0123456789\r\n"));
      return data;
    }
    std::string line(1, read_byte(socket));
    // and byte order marks
    while (std::string_view(" \t\r\n\0\xef\xbb\xbf", 8).find(line[0]) != std::string_view::npos)
      line[0] = read_byte(socket);
    static const std::regex digits("([0-9]+)\r?\n");
    while ((std::isdigit(static_cast<unsigned char>(line.back())) || line.back() == '\r') &&
           line.size() < 20)
      line += read_byte(socket);
    std::smatch match;
    const std::uint64_t length =
        std::regex_match(line, match, digits) && line.size() < 20 ? std::stoull(match[1]) : 0;
    if (length < 1 || length > 1'048'576)
      return refuse(socket, "bad framing: a length line was expected");
    std::string data;
    try {
      if (habits_.style == Style::newline)
        while (data.size() < length) do
            data += read_byte(socket);
          while (data.back() != '\n');
      const auto begins_character = [](char c) { return (c & 0xC0) != 0x80; };
      if (is(FormFault::counts_characters))
        while (std::uint64_t(std::count_if(data.begin(), data.end(), begins_character)) < length)
          data += read_byte(socket);
      else
        read_rest(socket, data, length);
    } catch (const boost::system::system_error&) {
      return refuse(socket, "bad framing: " + std::to_string(length) + " bytes announced, " +
                                std::to_string(data.size()) + " came");
    }
    return data;
  }
  std::nullopt_t refuse(Tcp::socket& socket, const std::string& sentence) {
    bool marked = true;
    send(socket, error_reply(sentence), marked);
    socket.shutdown(Tcp::socket::shutdown_send);
    return std::nullopt;
  }
  void send(Tcp::socket& socket, std::string reply, bool& marked) const {
    if (is(FormFault::byte_order_mark) && !marked) reply = "\xef\xbb\xbf" + reply;
    marked = true;
    if (habits_.style == Style::length) reply = std::to_string(reply.size()) + "\n" + reply;
    boost::asio::write(socket, boost::asio::buffer(reply));
  }

  const Habits habits_;
  const ProtocolLimits limits_;
  std::mutex mutex_;
  FaultyExchange exchange_;
  std::mt19937 random_;
  static constexpr std::size_t written_late = 20;
  std::FILE* journal_ = nullptr;
  std::deque<std::string> unwritten_;
  std::binary_semaphore worker_{1};
  std::atomic<unsigned> connections_ = 0;
};

void run(const Habits& habits) {
  Server server(habits);
  boost::asio::io_context context;
  Tcp::acceptor listener(context, {boost::asio::ip::address_v4::loopback(), habits.port});
  listener.listen(512);
  std::cout << "listening on 127.0.0.1:" << listener.local_endpoint().port() << std::endl;
  for (;;) {
    Tcp::socket socket = listener.accept();
    socket.set_option(Tcp::no_delay(true));
    std::thread([&server, socket = std::move(socket)]() mutable { server.serve(socket); }).detach();
  }
}

}  // namespace
}  // namespace exchange::testing

int main(int argc, char** argv) {
  using namespace exchange::testing;
  Habits habits;
  CLI::App app("A server of the protocol with one fault of your choice.", "faulty_server");
  app.add_option("--port", habits.port, "0: a free one");
  app.add_option_function<std::string>("--fault", [&](const std::string& fault) {
    if (!read_word(fault, habits.fault) && !read_word(fault, habits.form) &&
        !read_word(fault, habits.gift))
      throw CLI::ValidationError("--fault", "there is no fault " + fault);
  });
  app.add_option("--journal", habits.journal, "its file");
  app.add_option_function<std::string>("--style", [&](const std::string& style) {
    if (!read_word(style, habits.style)) throw CLI::ValidationError("--style", "no such style");
  });
  bool list = false;
  app.add_flag("--list-faults", list);
  CLI11_PARSE(app, argc, argv);
  if (!list) run(habits);
  boost::mp11::mp_for_each<exchange::EnumeratorsOf<Fault>>(
      [](auto fault) { std::cout << word(fault.value) << "\n"; });
  boost::mp11::mp_for_each<exchange::EnumeratorsOf<FormFault>>(
      [](auto fault) { std::cout << word(fault.value) << "\n"; });
  boost::mp11::mp_for_each<exchange::EnumeratorsOf<Gift>>(
      [](auto gift) { std::cout << word(gift.value) << "\n"; });
}
