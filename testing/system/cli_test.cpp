// The terminal client as its users run it: against a real server, from a script and on a terminal.

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "support/folder.hpp"
#include "support/local_port.hpp"
#include "support/server_process.hpp"

using namespace exchange::testing;

namespace {

namespace fs = std::filesystem;

std::string binary() {
  return (fs::read_symlink("/proc/self/exe").parent_path() / "exchange-cli").string();
}

struct Ran {
  int status;
  std::string out, err;
};

// Runs `exchange-cli` with these words, split as by a shell; `input` comes on its stdin.
Ran cli(const std::string& words, const std::string& input = "", const std::string& before = "") {
  const TemporaryFolder folder;
  std::ofstream(folder / "in") << input;
  const std::string command = before + " '" + binary() + "' " + words + " <'" + (folder / "in") +
                              "' >'" + (folder / "out") + "' 2>'" + (folder / "err") + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          contents(folder / "out"), contents(folder / "err")};
}

// A server with a memory store, and the client's options that name it.
struct Market {
  Market() : server({"--store", "memory:", "--http-port", "0", "--log-level", "error"}) {}
  std::string xml_address() const { return "127.0.0.1:" + std::to_string(server.port()); }
  std::string http_address() const {
    const std::size_t at = server.ready_line().find("http-port=");
    return "127.0.0.1:" + server.ready_line().substr(at + 10);
  }
  Ran run(const std::string& words, const std::string& input = "") const {
    return cli("--connect " + xml_address() + " --http " + http_address() + " " + words, input);
  }
  // Runs a script of account 1.
  void set_up(const std::string& lines) const {
    REQUIRE(run("--account 1", "create account 1 100000\n" + lines).status == 0);
  }
  ServerProcess server;
};

// Accepts connections and never replies.
struct SilentServer {
  std::atomic<bool> has_request = false;
  LocalPort port{[this](LocalPort::tcp::socket socket) {
    char bytes[1'000];
    while (socket.read_some(boost::asio::buffer(bytes)) > 0) {
      has_request = true;
      has_request.notify_all();
    }
  }};
  const std::string address = port.address();
};

// Runs `exchange-cli` on a terminal of its own.
class Terminal {
 public:
  Terminal(std::vector<std::string> words,
           std::vector<std::pair<std::string, std::string>> environment) {
    winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    words.insert(words.begin(), binary());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::forkpty(&master_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      ::unsetenv("NO_COLOR");
      ::setenv("TERM", "xterm", 1);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    REQUIRE(pid_ > 0);
  }
  ~Terminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& keys) {
    REQUIRE(::write(master_, keys.data(), keys.size()) == ssize_t(keys.size()));
  }
  // Types at a prompt. The prompt appears a moment before the terminal passes keys on one by one,
  // and until then the shell cannot see Ctrl-D.
  void type_at_prompt(const std::string& keys) {
    termios mode{};
    do {
      REQUIRE(::tcgetattr(master_, &mode) == 0);
    } while ((mode.c_lflag & ICANON) != 0 && ::poll(nullptr, 0, 1) == 0);
    type(keys);
  }
  // Returns everything shown since the last await(), up to `text`. Fails if `text` does not come.
  std::string await(const std::string& text) {
    while (seen_.find(text) == std::string::npos) {
      INFO("waiting for " << text << ", seen: " << seen_);
      REQUIRE(read_more());
    }
    const std::size_t end = seen_.find(text) + text.size();
    const std::string shown = seen_.substr(0, end);
    seen_.erase(0, end);
    return shown;
  }
  pid_t pid() const { return pid_; }
  // Returns the exit status of a client that ends by itself, and all that it printed since. Fails
  // if it does not end.
  int wait(std::string* rest = nullptr) {
    while (read_more()) {
    }
    if (rest != nullptr) *rest = seen_;
    INFO("seen: " << seen_);
    REQUIRE(!silent_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

 private:
  bool read_more() {
    constexpr int hangs_ms = 60'000;
    pollfd waiting{.fd = master_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, hangs_ms) <= 0) {
      silent_ = true;
      return false;
    }
    char bytes[4096];
    const ssize_t received = ::read(master_, bytes, sizeof bytes);
    if (received > 0) seen_.append(bytes, std::size_t(received));
    return received > 0;
  }
  pid_t pid_ = -1;
  int master_ = -1;
  bool silent_ = false;
  std::string seen_;
};

}  // namespace

TEST_CASE("the exit status distinguishes a refusal, an error and a server that is not there") {
  const Market market;
  REQUIRE(market.run("create account 1 10").status == 0);
  const auto fails = [&](const Ran& ran, int status, const std::string& err) {
    CHECK(ran.status == status);
    CHECK(ran.out == "");
    CHECK_THAT(ran.err, contains_text(err));
  };
  fails(market.run("create account 1 10"), 1, "exchange-cli: account 1: account already exists\n");
  fails(market.run("-a 1 sell SPY 1 1"), 1,
        "exchange-cli: sell 1 SPY @ 1: insufficient shares: 1 needed, 0 free\n");
  fails(market.run("-a 1 buy SPY 1 1e3"), 2, "exchange-cli: limit is not a plain decimal number\n");
  fails(market.run("sel SPY 1 1"), 2, "did you mean 'sell'?");
  fails(cli("--connect 127.0.0.1:1 -a 1 buy SPY 1 1"), 3,
        "exchange-cli: cannot connect to 127.0.0.1:1: Connection refused\n");
  fails(cli("--http 127.0.0.1:1 symbols"), 3,
        "exchange-cli: cannot connect to 127.0.0.1:1: Connection refused\n");
  fails(cli("--connect no-such-host.invalid:1 -a 1 cancel 1"), 3,
        "no address for no-such-host.invalid:1");
  CHECK(cli("--help").status == 0);
  CHECK(cli("buy --help").out.find("Usage: exchange-cli buy SYM SHARES PRICE|market\n") !=
        std::string::npos);
}

TEST_CASE("trades, symbols and history of a real server, and what it does not know") {
  const Market market;
  market.set_up(
      "create account 2 0\ncreate symbol SPY 2=500\n"
      "buy SPY 100 145.67 --ref in-3\naccount 2\nsell SPY 40 140\nsell SPY 10 150.5\n");
  CHECK_THAT(market.run("trades SPY").out,
             contains_text("      40  145.67  sell           1           2\n"));
  CHECK(market.run("symbols").out ==
        "SYMBOL     BID    ASK    LAST  TRADES  TRADED  OPEN ORDERS  SHARES\n"
        "SPY     145.67  150.5  145.67       1      40            2     500\n");
  for (const char* words : {"-a 1 history", "-a 1 history ref:in-3", "-a 1 history 1"})
    CHECK_THAT(market.run(words).out, contains_text("      1  buy   SPY         40  145.67\n"));
  CHECK_THAT(market.run("-a 2 history").out,
             contains_text("      2  sell  SPY         40  145.67\n"));
  for (const char* words : {"book NONE", "trades NONE", "watch NONE", "-a 99 status"}) {
    const Ran ran = market.run(words);
    INFO(words << ": " << ran.out << ran.err);
    CHECK(ran.status == 1);
    CHECK_THAT(ran.err, contains_text("exchange-cli: "));
  }
}

TEST_CASE("a new key is typed twice, and not shown") {
  const Market market;
  market.set_up("");
  Terminal terminal({"--connect", market.xml_address(), "admin", "set-key", "1", "--key-file", "-"},
                    {});
  terminal.await("key of account 1: ");
  terminal.type("secret-of-1\r");
  CHECK(terminal.await("the same key again: ").find("secret") == std::string::npos);
  terminal.type("secret-of-1\r");
  std::string rest;
  CHECK(terminal.wait(&rest) == 1);
  CHECK_THAT(rest, contains_text("account 1: accounts of this exchange have no keys"));
  CHECK(rest.find("secret") == std::string::npos);
}

TEST_CASE("watch on a terminal is redrawn until Ctrl-C or q, and leaves the last picture") {
  const Market market;
  market.set_up("create symbol SPY 1=500\nbuy SPY 100 145.67\n");
  const std::string http = market.http_address();
  {
    Terminal terminal({"--http", http, "watch", "SPY"}, {{"NO_COLOR", "1"}});
    terminal.await("\x1b[?1049h");
    terminal.await("     1     100  145.67");
    REQUIRE(market.run("--account 1 sell SPY 40 145").status == 0);
    terminal.await("SPY     40 @ 145.67  sell");
    terminal.type("\x03");
    std::string rest;
    CHECK(terminal.wait(&rest) == 130);
    const std::size_t back = rest.find("\x1b[?1049l");
    REQUIRE(back != std::string::npos);
    CHECK_THAT(rest.substr(back), contains_text("     1      60  145.67"));
  }
  {
    Terminal terminal({"--http", http, "watch", "SPY"}, {});
    terminal.await("\x1b[?1049h");
    terminal.type("xq");
    CHECK(terminal.wait() == 0);
  }
}

TEST_CASE("a server that does not answer is given up after --timeout") {
  const SilentServer silent;
  const Ran order = cli("--timeout 0.2 -a 1 --connect " + silent.address + " buy SPY 1 1");
  CHECK(order.status == 3);
  CHECK(order.err ==
        "exchange-cli: no reply from " + silent.address +
            ": timeout\nWhether the exchange executed it is not known: 'status' shows.\n");
  const Ran book = cli("--timeout 0.2 --http " + silent.address + " book SPY");
  CHECK(book.status == 3);
  CHECK(book.err == "exchange-cli: no reply from " + silent.address + ": timeout\n");
  CHECK(cli("--timeout 0.2 --http " + silent.address + " watch SPY").status == 3);
}

TEST_CASE("replies with a length line, and a server that closes after each, are fine") {
  const ServerProcess server({"--store", "memory:", "--http-port", "off", "--log-level", "error",
                              "--reply-framing", "length", "--close-after-reply"});
  const Ran ran = cli("-a 1 --connect 127.0.0.1:" + std::to_string(server.port()),
                      "create account 1 100\ncreate symbol S\nbuy S 1 1\ncancel 1\n");
  CHECK(ran.err == "");
  CHECK(ran.out ==
        "account 1: created with balance 100\nsymbol S: created\n"
        "order 1: 1 S open, to buy at limit 1\norder 1: 1 S canceled\n");
}

TEST_CASE("Ctrl-C ends a command that waits with 130") {
  const SilentServer silent;
  Terminal terminal({"--connect", silent.address, "-a", "1", "cancel", "1"}, {});
  silent.has_request.wait(false);
  terminal.type("\x03");
  CHECK(terminal.wait() == 130);
}

TEST_CASE("the shell: completion with Tab, history, Ctrl-C, and Ctrl-D") {
  const Market market;
  const TemporaryFolder state;
  const std::string connect = market.xml_address();
  const std::vector<std::pair<std::string, std::string>> environment{
      {"EXCHANGE_CONNECT", connect},
      {"EXCHANGE_HTTP", market.http_address()},
      {"XDG_STATE_HOME", state.path()},
      {"NO_COLOR", "1"}};
  {
    Terminal terminal({}, environment);
    terminal.await("The exchange at " + connect);
    terminal.await("exchange> ");
    terminal.type("cre\tacc\t1 1000\r");
    terminal.await("account 1: created with balance 1000");
    terminal.type("create sy\tSPY\r");
    terminal.await("symbol SPY: created");
    terminal.type("account 1\r");
    terminal.await("account 1> ");
    terminal.type("bu\tS\t10 2.5\r");
    terminal.await("order 1: 10 SPY open, to buy at limit 2.5");
    terminal.await("account 1> ");
    terminal.type("this is never sent\x03");
    terminal.await("account 1> ");
    terminal.type("ca\t\t\r");  // the only order
    terminal.await("order 1: 10 SPY canceled");
    terminal.type("cancel 1\r");
    terminal.await("order 1: order has nothing open");
    terminal.await("account 1> ");  // the shell continues
    terminal.type("watch SPY\r");
    terminal.await("\x1b[?1049h");
    terminal.type("\x03");
    terminal.await("account 1> ");
    terminal.type_at_prompt("\x04");
    CHECK(terminal.wait() == 0);
  }
  CHECK((fs::status(state / "exchange-cli/history").permissions() & fs::perms::others_all) ==
        fs::perms::none);
  Terminal again({"--account", "1"}, environment);
  again.await("account 1> ");
  again.type(
      "\x1b[A\x1b[A\x1b[A\r");  // three lines up: "cancel 1" was typed twice and is kept once
  again.await("order 2: 10 SPY open");
  again.type("quit\r");
  CHECK(again.wait() == 0);
}

TEST_CASE("a shell asks before a typing error creates a symbol, and ends with what stays open") {
  Market market;
  market.set_up("create symbol SPY 1=5\n");
  Terminal terminal(
      {"--connect", market.xml_address(), "--http", market.http_address(), "--account", "1"},
      {{"XDG_STATE_HOME", "/dev/null/nowhere"}});
  terminal.await("> ");
  terminal.type_at_prompt("buy SPX 1 1\r");
  terminal.await("there is no symbol SPX (did you mean 'SPY'?). Create it, for everyone? [y/N] ");
  terminal.type("n\r");
  terminal.await("> ");
  terminal.type_at_prompt("buy SPY 1 1\r");
  terminal.await("order 1: 1 SPY open");
  terminal.await("> ");
  terminal.type_at_prompt("quit\r");
  terminal.await("an order of this shell stays open: 1");
  CHECK(terminal.wait() == 0);
}

TEST_CASE("a shell outlives its server and finds the next one") {
  auto server = std::make_unique<ServerProcess>(
      std::vector<std::string>{"--store", "memory:", "--http-port", "off", "--log-level", "error"});
  const unsigned port = server->port();
  const TemporaryFolder state;
  Terminal terminal({"--connect", "127.0.0.1:" + std::to_string(port)},
                    {{"XDG_STATE_HOME", state.path()}});
  terminal.await("> ");
  terminal.type("create account 1 1\r");
  terminal.await("account 1: created");
  server->kill();
  terminal.type("create account 2 1\r");
  terminal.await("cannot connect to 127.0.0.1:");
  server = std::make_unique<ServerProcess>(
      std::vector<std::string>{"--store", "memory:", "--http-port", "off", "--log-level", "error"},
      port);
  terminal.type("create account 3 1\r");
  terminal.await("account 3: created");
  terminal.type("quit\r");
  CHECK(terminal.wait() == 0);
}

TEST_CASE("no program ends well if what it printed could not be written") {
  Market market;
  const fs::path folder = fs::path(binary()).parent_path();
  const std::string server = "127.0.0.1:" + std::to_string(market.server.port());
  for (const std::string& command :
       {std::string("server --help"), std::string("exchange-cli --help"),
        "exchange-cli --connect " + server + " create symbol S", std::string("loadgen --help"),
        "loadgen -c 1 -n 10 --connect " + server, std::string("demo-bots --help"),
        std::string("demo-bots -d 10ms --http 127.0.0.1:1"), std::string("exchange-audit --help"),
        std::string("conformance --help")}) {
    INFO(command);
    const std::string program = command.substr(0, command.find(' '));
    if (!fs::exists(folder / program)) {
      WARN(program << " is not built");
      continue;
    }
    const TemporaryFolder errors;
    const int status = std::system(
        ("'" + folder.string() + "'/" + command + " >/dev/full 2>'" + (errors / "err") + "'")
            .c_str());
    CHECK(WEXITSTATUS(status) == 1);
    CHECK_THAT(contents(errors / "err"),
               contains_text(program + ": cannot write to the standard output: No space left"));
  }
}

TEST_CASE("colour is for terminals, and not where NO_COLOR is set") {
  const Market market;
  const std::vector<std::string> words{"--connect", market.xml_address(), "--account", "1"};
  const TemporaryFolder state;
  const auto prompt = [&](std::vector<std::pair<std::string, std::string>> environment) {
    environment.emplace_back("XDG_STATE_HOME", state.path());
    Terminal terminal(words, environment);
    std::string shown = terminal.await("account 1");
    shown += terminal.await("> ");
    terminal.type("quit\r");
    CHECK(terminal.wait() == 0);
    return shown;
  };
  CHECK_THAT(prompt({}), contains_text("\x1b[1maccount 1"));
  CHECK(prompt({{"NO_COLOR", "1"}}).find("\x1b[1m") == std::string::npos);
}
