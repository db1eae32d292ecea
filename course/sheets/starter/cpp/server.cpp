// A server of the exchange protocol to begin with: ./server PORT
//
// It reads requests, parses and checks them, and answers each element. It creates accounts, and
// accepts orders without looking at what the account has. Your work begins at each TODO.

#include <arpa/inet.h>
#include <expat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

constexpr std::size_t frame_bytes_max = 1'048'576, depth_max = 16;

// Becomes an <error>: what() is for people.
struct Refused : std::runtime_error {
  using runtime_error::runtime_error;
};
struct BadFraming : std::runtime_error {
  using runtime_error::runtime_error;
};

// --- XML ---

struct Element {
  std::string name, text;
  std::map<std::string, std::string> attributes;
  std::vector<Element> children;

  const std::string* find(const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? nullptr : &found->second;
  }
  std::string get(const std::string& attribute) const {
    const std::string* const value = find(attribute);
    return value ? *value : "";
  }
};

// Nothing if the document is malformed. Expat calls the three functions as it reads.
std::optional<Element> parse(const std::string& document) {
  struct State {
    XML_Parser parser;
    Element above;
    std::vector<Element*> open{&above};
  };
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(
      XML_ParserCreate("UTF-8"), XML_ParserFree);
  State state{parser.get(), {}};
  XML_SetUserData(parser.get(), &state);
  XML_SetElementHandler(
      parser.get(),
      [](void* data, const char* name, const char** attributes) {
        State& at = *static_cast<State*>(data);
        if (at.open.size() > depth_max) return void(XML_StopParser(at.parser, XML_FALSE));
        Element& element = at.open.back()->children.emplace_back();
        element.name = name;
        for (; *attributes; attributes += 2) element.attributes[attributes[0]] = attributes[1];
        at.open.push_back(&element);
      },
      [](void* data, const char*) { static_cast<State*>(data)->open.pop_back(); });
  XML_SetCharacterDataHandler(parser.get(), [](void* data, const char* text, int bytes) {
    static_cast<State*>(data)->open.back()->text.append(text, std::size_t(bytes));
  });
  if (XML_Parse(parser.get(), document.data(), int(document.size()), 1) != XML_STATUS_OK) return {};
  return std::move(state.above.children.at(0));
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  return out;
}

// --- checks ---

// A plain decimal number in hundredths; further decimals are cut. strtod would also take "1e3",
// "nan" and " 1", and a double is not exact.
std::int64_t number(const std::string* text) {
  constexpr std::int64_t whole_max = 90'000'000'000'000;
  if (!text) throw Refused("a number is missing");
  std::size_t at = text->starts_with('-') ? 1 : 0, digits = 0;
  std::int64_t value = 0;
  int decimals = -1;  // no point so far
  for (; at < text->size(); ++at) {
    const char c = (*text)[at];
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9') throw Refused("not a number");
    ++digits;
    if (decimals < 2) value = value * 10 + (c - '0');
    if (decimals >= 0 && decimals < 2) ++decimals;
    if (value > whole_max * 100) throw Refused("a number that is too large");
  }
  if (digits == 0) throw Refused("not a number");
  for (decimals = std::max(decimals, 0); decimals < 2; ++decimals) value *= 10;
  return text->starts_with('-') ? -value : value;
}

void check_account_id(const std::string& id) {
  if (id.empty() || id.size() > 64 || id.find_first_not_of("0123456789") != id.npos)
    throw Refused("an account id has 1 to 64 digits");
}

void check_symbol(const std::string& symbol) {
  bool valid = !symbol.empty() && symbol.size() <= 32;
  for (const char c : symbol)
    valid &= (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  if (!valid) throw Refused("a symbol has letters and digits");
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// --- the exchange ---

// All state. The caller holds the lock.
class Exchange {
 public:
  bool knows(const std::string& account) const { return cash_.count(account) > 0; }

  void create_account(const std::string& account, const std::string* balance) {
    check_account_id(account);
    const std::int64_t hundredths = number(balance);
    if (hundredths < 0) throw Refused("the balance is negative");
    if (!cash_.emplace(account, hundredths).second) throw Refused("the account exists already");
  }
  void place_shares(const std::string& symbol, const std::string& account,
                    const std::string& shares) {
    check_symbol(symbol);
    const std::string text = trimmed(shares);
    if (number(&text) < 0) throw Refused("the number of shares is negative");
    if (!knows(account)) throw Refused("no such account");
    // TODO (C9): the account gets these shares.
  }
  // Returns the id.
  std::string order(const std::string& /*account*/, const Element& asked) {
    check_symbol(asked.get("sym"));
    const std::int64_t amount = number(asked.find("amount")), limit = number(asked.find("limit"));
    if (amount == 0) throw Refused("the amount is zero");
    if (limit <= 0) throw Refused("the limit must be above zero");
    // TODO (M1 to M9): check what the account has, reserve, match, rest.
    return std::to_string(++orders_);
  }
  // What is inside <status>, or <canceled>.
  std::string query(const std::string& /*account*/, const std::string& /*order*/) {
    throw Refused("no such order");  // TODO (T9)
  }
  std::string cancel(const std::string& /*account*/, const std::string& /*order*/) {
    throw Refused("no such order");  // TODO (T10, M10)
  }

 private:
  std::map<std::string, std::int64_t> cash_;  // by account, in hundredths
  std::uint64_t orders_ = 0;                  // ids given so far
};

// --- requests ---

// ` name="value"` for each of these that the client gave.
std::string repeated(const Element& asked, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names)
    if (const std::string* const value = asked.find(name))
      out += " " + name + "=\"" + escaped(*value) + "\"";
  return out;
}

std::string error(const std::string& attributes, const std::string& why) {
  return "<error" + attributes + ">" + escaped(why) + "</error>";
}

std::string create(Exchange& exchange, const Element& root) {
  std::string reply;
  const auto answer = [&](const std::string& attributes, auto execute) {
    try {
      execute();
      reply += "<created" + attributes + "/>";
    } catch (const Refused& refused) {
      reply += error(attributes, refused.what());
    }
  };
  for (const Element& child : root.children) {
    if (child.name == "account") {
      answer(repeated(child, {"id"}),
             [&] { exchange.create_account(child.get("id"), child.find("balance")); });
    } else if (child.name == "symbol") {
      const std::string symbol = repeated(child, {"sym"});
      if (child.children.empty()) answer(symbol, [&] { check_symbol(child.get("sym")); });
      for (const Element& placed : child.children)
        answer(symbol + repeated(placed, {"id"}),
               [&] { exchange.place_shares(child.get("sym"), placed.get("id"), placed.text); });
    } else {
      reply += error("", "unknown element");
    }
  }
  return reply;
}

std::string transact(Exchange& exchange, const Element& root) {
  const std::string account = root.find("id") ? root.get("id") : root.get("account");
  std::string reply;
  for (const Element& child : root.children) {
    const bool is_order = child.name == "order";
    const std::string attributes =
        is_order ? repeated(child, {"sym", "amount", "limit"}) : repeated(child, {"id"});
    try {
      if (!exchange.knows(account)) throw Refused("no such account");
      if (is_order)
        reply += "<opened" + attributes + " id=\"" + exchange.order(account, child) + "\"/>";
      else if (child.name == "query")
        reply +=
            "<status" + attributes + ">" + exchange.query(account, child.get("id")) + "</status>";
      else if (child.name == "cancel")
        reply += "<canceled" + attributes + ">" + exchange.cancel(account, child.get("id")) +
                 "</canceled>";
      else
        reply += error("", "unknown element");
    } catch (const Refused& refused) {
      reply += error(attributes, refused.what());
    }
  }
  return reply;
}

std::string reply_to(Exchange& exchange, std::mutex& mutex, const std::string& document) {
  const std::optional<Element> root = parse(document);
  std::string inside;
  if (!root) {
    inside = error("", "malformed XML");
  } else {
    const std::lock_guard lock(mutex);  // T17: one request after another
    inside = root->name == "create"         ? create(exchange, *root)
             : root->name == "transactions" ? transact(exchange, *root)
                                            : error("", "unknown element");
  }
  return "<results>" + inside + "</results>\n";
}

// --- connections ---

class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;

  // The next document; nothing at the end of the stream. One recv is not one request.
  std::optional<std::string> read_request() {
    std::size_t line = 0;
    while ((line = received_.find('\n')) == received_.npos) {
      if (received_.size() > 20) throw BadFraming("a line with the length was expected");
      if (!receive()) {
        if (received_.empty()) return {};
        throw BadFraming("the stream ended inside a request");
      }
    }
    std::string digits = received_.substr(0, line);
    if (digits.ends_with('\r')) digits.pop_back();
    const bool valid = !digits.empty() && digits.size() < 20 &&
                       digits.find_first_not_of("0123456789") == digits.npos;
    const std::size_t bytes = valid ? std::stoull(digits) : 0;
    if (bytes == 0 || bytes > frame_bytes_max)
      throw BadFraming("a line with the length in bytes was expected");
    received_.erase(0, line + 1);
    while (received_.size() < bytes)
      if (!receive()) throw BadFraming("the stream ended inside a request");
    std::string document = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return document;
  }
  bool send(const std::string& reply) {
    for (std::size_t sent = 0; sent < reply.size();) {
      const ssize_t now = ::send(socket_, reply.data() + sent, reply.size() - sent, 0);
      if (now <= 0) return false;
      sent += std::size_t(now);
    }
    return true;
  }

 private:
  bool receive() {
    char buffer[65536];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got > 0) received_.append(buffer, std::size_t(got));
    return got > 0;
  }
  const int socket_;
  std::string received_;  // and not read yet
};

void serve(int socket, Exchange& exchange, std::mutex& mutex) {
  Connection connection(socket);
  try {
    while (const auto document = connection.read_request())
      if (!connection.send(reply_to(exchange, mutex, *document))) return;
  } catch (const BadFraming& bad) {
    connection.send("<results>" + error("", std::string("bad framing: ") + bad.what()) +
                    "</results>\n");
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: server PORT\n", stderr), 2;
  std::signal(SIGPIPE, SIG_IGN);
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0), on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(std::uint16_t(std::atoi(argv[1])));
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 256) != 0)
    return std::perror("listen"), 1;
  static Exchange exchange;
  static std::mutex mutex;
  for (;;) {
    const int socket = ::accept(listener, nullptr, nullptr);
    if (socket < 0) continue;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // TODO: a thread for each connection, or a pool (lab 3)?
    std::thread([socket] { serve(socket, exchange, mutex); }).detach();
  }
}
