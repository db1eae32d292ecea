// The terminal client: one command, a shell, or a script. Start reading here; then command.hpp,
// runner.hpp, shell.hpp.

#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "base/process.hpp"
#include "client/cli/parser.hpp"
#include "client/cli/shell.hpp"

using namespace exchange::cli;
namespace fs = std::filesystem;

namespace {

exchange::client::StopFlag stop_flag{false};
volatile std::sig_atomic_t last_signal = 0;

// Without SA_RESTART, so that a signal also ends a read from the keyboard.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) {
    last_signal = signal;
    // second request: something hangs, such as a name look-up
    if (stop_flag.exchange(true)) ::_exit(128 + signal);
    interrupt_reading();
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

// Becomes the program of the class commands, which stands beside this one. Returns only an error.
int become_class(std::vector<std::string> words) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "exchange-class";
  if (!fs::exists(program)) {
    std::fprintf(stderr, "exchange-cli: the program of 'class' is missing: %s\n", program.c_str());
    return exit_refused;
  }
  std::string file = program;
  std::vector<char*> arguments{file.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(file.c_str(), arguments.data());  // its first line has the path of Python
  std::fprintf(stderr, "exchange-cli: 'class' needs Python 3.11 or newer: %s: %s\n", file.c_str(),
               std::strerror(errno));
  return exit_refused;
}

int run(const CommandLine& line) {
  Console console = Console::of_process();
  Runner runner(line.settings, console, stop_flag);
  if (line.command) return runner.run(*line.command);
  if (::isatty(STDIN_FILENO) == 1) return run_shell(runner, stop_flag, last_signal);
  const int status = run_script(runner, std::cin);
  return stop_flag ? 128 + last_signal : status;
}

// Command lines of processes are public: overwrites the key at once.
void hide_key(int argc, char** argv) {
  constexpr std::string_view option = "--key";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool next = word == option && i + 1 < argc, same = word.starts_with("--key=");
    if (next || same)
      std::memset(next ? argv[i + 1] : argv[i] + option.size() + 1, '*',
                  next ? std::strlen(argv[i + 1]) : word.size() - option.size() - 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  exchange::prepare_process("exchange-cli");
  std::setlocale(LC_CTYPE, "");  // for typed text
  CommandLine line = parse_command_line(argc, argv);
  if (line.exit_code) return *line.exit_code;
  if (line.class_words) return become_class(*line.class_words);
  exchange::cli::Settings& settings = line.settings;
  if (settings.key == "-") settings.key = ask_secret("key: ");
  if (settings.operator_key_file == "-") {
    settings.operator_key = ask_secret("operator's key: ");
    settings.operator_key_file.clear();
  }
  hide_key(argc, argv);
  stop_on_signals();
  try {
    return run(line);
  } catch (const exchange::client::Interrupted&) {
    return 128 + last_signal;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exchange-cli: %s\n", error.what());
    return exit_refused;
  }
}
