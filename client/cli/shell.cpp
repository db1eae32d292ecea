#include "client/cli/shell.hpp"

#include <editline/readline.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "client/cli/parser.hpp"
#include "protocol/values.hpp"

namespace exchange::cli {
namespace {

namespace fs = std::filesystem;

Runner* completing = nullptr;  // of the shell: libedit passes no context to callbacks

// If a signal comes between the prompt and read(2), read(2) would still wait for a key. Once armed,
// this timer interrupts read(2) repeatedly until the reading ends.
class Interrupter {
 public:
  Interrupter() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    there_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  }
  ~Interrupter() {
    if (there_) ::timer_delete(timer_);
  }
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;
  void arm() {
    constexpr long every_ns = 20'000'000;
    const itimerspec times{.it_interval = {0, every_ns}, .it_value = {0, every_ns}};
    if (there_) ::timer_settime(timer_, 0, &times, nullptr);
  }

 private:
  timer_t timer_{};
  bool there_ = false;
};
std::atomic<Interrupter*> interrupter = nullptr;  // while a line is read

// Reads a line; returns nothing at Ctrl-D and after a signal.
std::optional<std::string> read_line(const std::string& prompt) {
  Interrupter own;
  interrupter = &own;
  char* const typed = ::readline(prompt.c_str());
  interrupter = nullptr;
  if (typed == nullptr) return {};
  std::string line = typed;
  std::free(typed);
  return line;
}

char* copy_of(const std::string& text) { return ::strdup(text.c_str()); }

// Returns completions in libedit's form, on the heap: the common prefix, then each word, then null.
char** complete(const char*, int, int end) {
  rl_attempted_completion_over = 1;  // never completes file names
  const std::vector<std::string> found =
      completions(std::string(rl_line_buffer, std::size_t(end)), *completing);
  if (found.empty()) return nullptr;
  std::string common = found.front();
  for (const std::string& one : found)
    common.resize(
        std::size_t(std::mismatch(common.begin(), common.end(), one.begin(), one.end()).first -
                    common.begin()));
  char** const list = static_cast<char**>(std::calloc(found.size() + 2, sizeof(char*)));
  if (list == nullptr) return nullptr;
  list[0] = copy_of(common);
  if (found.size() == 1) return list;
  for (std::size_t i = 0; i < found.size(); ++i) list[i + 1] = copy_of(found[i]);
  return list;
}

// The lines typed, kept from one shell to the next. If the file cannot be read or written there is
// no history, and no error is shown.
class History {
 public:
  History() : file_(history_file()) {
    using_history();
    stifle_history(int(history_lines_max));
    if (!file_.empty()) read_history(file_.c_str());
  }
  void add(std::string line) {
    line.erase(line.find_last_not_of(" \t") + 1);  // completion leaves a blank
    if (line.empty() || line == last_) return;
    last_ = line;
    add_history(line.c_str());
    write();
  }

 private:
  void write() const {
    if (file_.empty()) return;
    std::error_code ignored;
    fs::create_directories(fs::path(file_).parent_path(), ignored);
    const mode_t mask = ::umask(0077);  // only the user may read it
    write_history(file_.c_str());
    ::umask(mask);
  }

  const std::string file_;
  std::string last_;
};

std::string prompt(const Settings& settings, Style style) {
  const std::string name = settings.account.empty() ? "exchange" : "account " + settings.account;
  if (!style.colour) return name + "> ";
  return "\1\x1b[1m\1" + name + "\1\x1b[0m\1> ";  // between marks: has no width
}

}  // namespace

void interrupt_reading() {
  if (Interrupter* const reading = interrupter) reading->arm();
}

int run_script(Runner& runner, std::istream& lines) {
  int status = exit_ok;
  std::size_t number = 0;
  for (std::string line; !runner.has_quit() && std::getline(lines, line);) {
    if (number == 0 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
    const int ended = runner.run_line(line, ++number);
    if (status == exit_ok) status = ended;
    if (ended != exit_ok && !runner.settings().keep_going) break;
  }
  return status;
}

int run_shell(Runner& runner, client::StopFlag& stop,
              const volatile std::sig_atomic_t& last_signal) {
  Console& console = runner.console();
  completing = &runner;
  rl_readline_name = "exchange-cli";
  rl_attempted_completion_function = complete;
  History history;
  console.out << "The exchange at " << runner.settings().connect
              << ". 'help' lists the commands, Tab completes them, Ctrl-D leaves." << std::endl;
  runner.connect();
  while (!runner.has_quit()) {
    const std::optional<std::string> line = read_line(prompt(runner.settings(), console.style));
    if (!line) {
      console.out << std::endl;
      if (!stop) break;  // Ctrl-D
      if (last_signal != SIGINT) return 128 + last_signal;
      stop = false;
      continue;
    }
    stop = false;
    history.add(*line);
    try {
      runner.run_line(*line);
      runner.notice_fills();
    } catch (const client::Interrupted&) {
      console.out << std::endl;
      if (last_signal != SIGINT) return 128 + last_signal;
    }
    stop = false;
  }
  try {
    runner.notice_open_orders();
  } catch (const client::Interrupted&) {
    return 128 + last_signal;
  }
  return exit_ok;
}

std::vector<std::string> completions(const std::string& line, Runner& runner) {
  const std::size_t blank = line.find_last_of(" \t");
  const std::string prefix = blank == std::string::npos ? line : line.substr(blank + 1);
  std::vector<std::string> words;
  try {
    words = split_words(line.substr(0, line.size() - prefix.size()));
  } catch (const UsageError&) {  // inside quotes
    return {};
  }
  std::vector<std::string> found = words_after(words, prefix);
  const auto offer = [&](const std::string& word) {
    if (word.starts_with(prefix)) found.push_back(word);
  };
  const auto offer_all = [&](const auto& all) {
    for (const std::string& word : all) offer(word);
  };
  const bool first = words.size() == 1, admin = !words.empty() && words.front() == "admin",
             cancel = !words.empty() && words.front() == "cancel";
  const std::string argument = prefix.starts_with('-') ? "" : argument_after(words);
  if (!words.empty() && (words.back() == "--account" || words.back() == "-a" ||
                         ((first || admin) && argument == "ID"))) {
    offer_all(runner.accounts_seen());
  } else if (argument == "SYM" || (cancel && words.size() == 2 && words[1] == "all")) {
    offer_all(runner.symbols());
  } else if (argument == "ORDER") {
    for (const auto& [order, terms] : runner.known_orders()) offer(order);
    if (first && cancel && !prefix.empty()) offer("all");  // Tab alone never offers it
  } else if (argument == "operator|trader") {
    for (const auto& role : exchange::words<Role>) offer(std::string(role.word));
  } else if (argument == "buy|sell") {
    const auto known = runner.known_orders().find(words.back());
    for (const Side side : {Side::buy, Side::sell})
      if (known == runner.known_orders().end() || known->second.side == side)
        offer(side == Side::buy ? "buy" : "sell");
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string history_file() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/exchange-cli/history";
  return home != nullptr && *home != '\0' ? std::string(home) + "/.local/state/exchange-cli/history"
                                          : "";
}

}  // namespace exchange::cli
