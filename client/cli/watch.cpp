#include "client/cli/watch.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "client/cli/views.hpp"

namespace exchange::cli {
namespace {

constexpr double look_up_s = 0.2;  // between two checks of the terminal's size and keys
// lines of a symbol: name, headings, a blank line; and the heading of the trades
constexpr std::size_t lines_beside_levels = 4;

// While it lives, reads keys as they are pressed, without return or echo; reads none if stdin is
// not a terminal.
class Keyboard {
 public:
  Keyboard() : is_terminal_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_terminal_) return;
    termios keys = before_;
    keys.c_lflag &= ~tcflag_t(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  ~Keyboard() {
    if (is_terminal_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  // Whether q was pressed since the last call.
  bool asks_to_quit() const {
    pollfd waiting{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    for (char key = 0; is_terminal_ && ::poll(&waiting, 1, 0) > 0;)
      if (::read(STDIN_FILENO, &key, 1) != 1)
        return false;
      else if (key == 'q' || key == 'Q')
        return true;
    return false;
  }

 private:
  termios before_{};
  const bool is_terminal_;
};

// The alternate screen of the terminal while it lives; the last picture stays on the main screen.
class Canvas {
 public:
  explicit Canvas(std::ostream& out) : out_(out) {
    out_ << "\x1b[?1049h\x1b[?25l\x1b[2J" << std::flush;
  }
  ~Canvas() {
    out_ << "\x1b[?25h\x1b[?1049l";
    for (const std::string& line : last_) out_ << line << "\n";
    out_ << std::flush;
  }
  void draw(std::vector<std::string> lines) {
    out_ << "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i)
      out_ << (i > 0 ? "\r\n" : "") << lines[i] << "\x1b[K";
    out_ << "\x1b[J" << std::flush;
    last_ = std::move(lines);
  }

 private:
  std::ostream& out_;
  std::vector<std::string> last_;
};

class Watcher {
 public:
  Watcher(const Watch& command, const Settings& settings, Console& console,
          const client::StopFlag& stop)
      : command_(command),
        console_(console),
        feed_(settings.http_address(), settings.timeout_s, stop, settings.security) {}

  void run() {
    for (const std::string& symbol : command_.symbols) {
      if (find(symbol) != watched_.end()) continue;
      watched_.push_back({symbol, {}, {}});
      subscribe(symbol);
    }
    std::optional<Keyboard> keyboard;
    if (console_.live) keyboard.emplace();
    while (!complete() && !(keyboard && keyboard->asks_to_quit())) {
      const std::optional<std::string> message = feed_.next(look_up_s);
      if (message) take(parse_json(*message));
      if (canvas_ && size_ != terminal_size()) draw();
    }
  }

 private:
  struct Watched {
    std::string symbol;
    WatchedSymbol market;
    std::string top;
  };

  std::vector<Watched>::iterator find(const std::string& symbol) {
    return std::find_if(watched_.begin(), watched_.end(),
                        [&](const Watched& one) { return one.symbol == symbol; });
  }
  bool complete() const { return command_.count > 0 && updates_ >= command_.count; }
  void subscribe(const std::string& symbol) { feed_.send("{\"subscribe\":\"" + symbol + "\"}"); }

  void take(const Json& message) {
    if (text_field(message, "type") == "error") throw Refused(text_field(message, "error"));
    const std::string symbol = text_field(message, "symbol");
    const auto found = find(symbol);
    if (found == watched_.end()) return;
    const bool knew = found->market.known();
    if (!found->market.apply(message)) {
      if (knew) subscribe(symbol);
      return;
    }
    if (console_.live)
      show_picture();
    else
      show_lines(*found);
  }

  void show_lines(Watched& watched) {
    for (const std::string& line : change_lines(watched.symbol, watched.market, watched.top)) {
      if (complete()) return;
      console_.out << line << "\n";
      ++updates_;
    }
    console_.out.flush();
  }

  // Shows the first picture only when all symbols are known: otherwise it would jump, and the
  // server may not know one of them.
  void show_picture() {
    if (!std::all_of(watched_.begin(), watched_.end(),
                     [](const Watched& one) { return one.market.known(); }))
      return;
    if (!canvas_) canvas_.emplace(console_.out);
    draw();
    ++updates_;
  }
  void draw() {
    size_ = terminal_size();
    std::vector<std::pair<std::string, const WatchedSymbol*>> markets;
    for (const Watched& one : watched_) markets.emplace_back(one.symbol, &one.market);
    canvas_->draw(picture(markets, size_, console_.style));
  }

  const Watch& command_;
  Console& console_;
  Feed feed_;
  std::vector<Watched> watched_;
  std::optional<Canvas> canvas_;
  Size size_;
  std::uint64_t updates_ = 0;
};

// Returns "9 executed: buy 60 SPY at 145.67, 0 open, maker, order 1 (mine); balance 85433, position
// 100; TIME".
std::string event_line(const Json& event) {
  const auto has = [&](const char* name) { return event.contains(name) && !event[name].is_null(); };
  const auto text = [&](const char* name) { return text_field(event, name); };
  std::string line = std::to_string(number_field(event, "number")) + " " + text("event") + ":";
  if (has("side")) line += " " + text("side");
  if (has("shares")) line += " " + text("shares") + " " + text("symbol");
  if (has("price")) line += " at " + text("price");
  if (has("limit")) line += " at limit " + text("limit");
  if (has("open")) line += ", " + text("open") + " open";
  for (const char* const word : {"role", "reason"})
    if (has(word)) line += ", " + text(word);
  if (has("order")) line += ", order " + std::to_string(number_field(event, "order"));
  if (has("ref")) line += " (" + text("ref") + ")";
  line += (has("shares") ? "; balance " : " balance ") + text("balance");
  if (has("position")) line += ", position " + text("position");
  return line + "; " + utc_time(number_field(event, "time_us"));
}

class AccountWatcher {
 public:
  AccountWatcher(const WatchAccount& command, const Settings& settings, Console& console,
                 const client::StopFlag& stop)
      : command_(command),
        settings_(settings),
        console_(console),
        stop_(stop),
        servers_(settings.http_address()),
        next_(command.from) {}

  void run() {
    using Clock = std::chrono::steady_clock;
    const auto patience = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(settings_.timeout_s));
    std::optional<Clock::time_point> give_up;
    auto untried = std::count(servers_.begin(), servers_.end(), ',');  // the first may be a standby
    while (!complete()) {
      try {
        follow();
      } catch (const client::Unreachable&) {
        if (std::exchange(got_, false)) give_up = Clock::now() + patience;
        if (give_up ? Clock::now() > *give_up : untried-- == 0) throw;
        const std::size_t comma = servers_.find(',');
        if (comma != std::string::npos)
          servers_ = servers_.substr(comma + 1) + "," + servers_.substr(0, comma);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    }
  }

 private:
  bool complete() const { return command_.count > 0 && events_ >= command_.count; }

  void follow() {
    Feed feed(servers_, settings_.timeout_s, stop_, settings_.security);
    Json of{{"account", settings_.account}};
    if (!settings_.key.empty()) of["key"] = settings_.key;
    if (next_) of["from"] = *next_;
    feed.send(Json{{"subscribe", of}}.dump());
    while (!complete())
      if (const std::optional<std::string> message = feed.next(look_up_s)) take(*message);
  }

  void take(const std::string& text) {
    const Json message = parse_json(text);
    const std::string type = text_field(message, "type");
    if (type == "error") {
      if (text_field(message, "code") == "service_unavailable")  // perhaps a standby
        throw client::Unreachable(text_field(message, "error"));
      throw Refused(text_field(message, "error"));
    }
    got_ = true;
    if (command_.json) console_.out << text << (text.ends_with('\n') ? "" : "\n");
    if (type == "account") {
      next_ = std::uint64_t(number_field(message, "number")) + 1;
      if (!command_.json)
        console_.out << "account " << settings_.account << " at event "
                     << number_field(message, "number") << ": balance "
                     << text_field(message, "balance") << ", "
                     << number_field(message, "open_orders") << " open orders\n";
    } else if (type == "events") {
      for (const Json& event : message.at("events")) {
        if (number_field(event, "number") != std::int64_t(*next_))
          throw client::BadReply("event " + std::to_string(number_field(event, "number")) +
                                 " where " + std::to_string(*next_) + " is next");
        ++*next_;
        ++events_;
        if (!command_.json) console_.out << event_line(event) << "\n";
        if (complete()) break;
      }
    }
    console_.out.flush();
  }

  const WatchAccount& command_;
  const Settings& settings_;
  Console& console_;
  const client::StopFlag& stop_;
  std::string servers_;
  std::optional<std::uint64_t> next_;  // event
  std::uint64_t events_ = 0;
  bool got_ = false;  // this connection got a message
};

}  // namespace

void watch(const Watch& command, const Settings& settings, Console& console,
           const client::StopFlag& stop) {
  Watcher(command, settings, console, stop).run();
}

void watch_account(const WatchAccount& command, const Settings& settings, Console& console,
                   const client::StopFlag& stop) {
  AccountWatcher(command, settings, console, stop).run();
}

std::vector<std::string> change_lines(const std::string& symbol, const WatchedSymbol& market,
                                      std::string& top_before) {
  std::vector<std::string> lines;
  for (const Trade& trade : market.new_trades())
    lines.push_back("trade " + symbol + " " + trade.price + " " + trade.shares + " " + trade.taker +
                    " " + utc_time(trade.time_us));
  if (std::string top = market.top(); top != top_before) {
    lines.push_back("top " + symbol + " " + top);
    top_before = std::move(top);
  }
  return lines;
}

std::vector<std::string> picture(
    const std::vector<std::pair<std::string, const WatchedSymbol*>>& markets, Size size,
    Style style) {
  constexpr std::size_t levels_most = 10, levels_least = 3;
  const std::size_t rows = size.rows > 1 ? size.rows - 1 : 1;  // Ctrl-C appears in the last row
  const std::size_t each = rows * 2 / 3 / markets.size();
  const std::size_t levels = std::clamp(each > lines_beside_levels ? each - lines_beside_levels : 0,
                                        levels_least, levels_most);
  std::vector<std::string> lines;
  std::vector<std::pair<std::string, Trade>> trades;
  for (const auto& [symbol, market] : markets) {
    const std::vector<Level> bids = market->bids(), asks = market->asks();
    lines.push_back(
        style.bold(symbol) +
        (market->tape().empty() ? "" : "  last " + trade_text(market->tape().front(), style)));
    std::vector<std::string> rungs = ladder(bids, asks, levels, style).lines();
    rungs.resize(levels + 1);  // the lines below keep their place
    lines.insert(lines.end(), rungs.begin(), rungs.end());
    lines.push_back("");
    for (const Trade& trade : market->tape()) trades.emplace_back(symbol, trade);
  }
  std::stable_sort(trades.begin(), trades.end(), [](const auto& one, const auto& other) {
    return one.second.time_us > other.second.time_us;
  });
  Table tape({"TIME", "SYMBOL", "TRADE", "TAKER"}, style);
  const std::size_t rows_left = rows > lines.size() + 1 ? rows - lines.size() - 1 : 0;
  for (std::size_t i = 0; i < std::min(rows_left, trades.size()); ++i) {
    const auto& [symbol, trade] = trades[i];
    tape.add({local_time_of_day(trade.time_us), symbol, trade_text(trade, style), trade.taker});
  }
  if (!tape.empty())
    for (std::string& line : tape.lines()) lines.push_back(std::move(line));
  if (lines.size() > rows) lines.resize(rows);
  for (std::string& line : lines) line = clipped(line, size.columns);
  return lines;
}

}  // namespace exchange::cli
