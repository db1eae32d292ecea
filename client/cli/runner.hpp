#pragma once
// Carries out commands: one from the command line, or many from a shell or script over one
// connection. Thread: the caller's.

#include <chrono>
#include <map>
#include <set>

#include "client/cli/command.hpp"
#include "client/cli/ports.hpp"
#include "client/cli/terminal.hpp"

namespace exchange::cli {

// Orders with known terms, by id: those placed or replaced in this session. The symbol is empty if
// the order was placed in another session.
using KnownOrders = std::map<std::string, NewOrder>;

class Runner {
 public:
  Runner(Settings settings, Console& console, const client::StopFlag& stop);

  // Returns the exit status, after printing any error. Throws client::Interrupted.
  int run(const Command& command) { return run(command, settings_); }
  int run(const Command& command, const Settings& settings);
  // Runs a line of a shell, or of a script with its number. Its settings apply only once.
  int run_line(const std::string& line, std::size_t number = 0);

  Settings& settings() { return settings_; }
  Console& console() { return console_; }
  // Whether the XML port can be reached; if not, prints the error.
  bool connect();
  bool has_quit() const { return has_quit_; }
  // Prints which orders of this session were executed since they were last shown. Prints nothing if
  // the server cannot be asked now. Throws client::Interrupted.
  void notice_fills();
  // The same, and also prints which of them are still open.
  void notice_open_orders();

  // For completion.
  const KnownOrders& known_orders() const { return known_orders_; }
  const std::set<std::string>& accounts_seen() const { return accounts_seen_; }
  // Symbols of this session, and those of the server if it replies at once.
  std::set<std::string> symbols();

 private:
  struct Step;  // one command in progress

  // An order of this session that was open when it was last shown.
  struct OpenOrder {
    std::string account;
    Shares executed;
  };

  const NewOrder* terms_of(const std::string& order) const;  // null: not known
  void remember(const std::string& account, const Status& status);
  // Prints an error; returns `status`.
  int fail(const std::string& what, int status);
  std::string ask(const std::string& document, XmlPort::Kind kind, const Settings& settings);

  Settings settings_;
  Console& console_;
  const client::StopFlag& stop_;
  XmlPort xml_port_;
  KnownOrders known_orders_;
  std::map<OrderId, OpenOrder> open_orders_;
  bool reached_ = true;  // the server, by the last command
  std::set<std::string> accounts_seen_, symbols_seen_;
  std::optional<std::chrono::steady_clock::time_point> symbols_asked_;
  std::string label_;  // the prefix of messages: "exchange-cli", or the line of a script
  bool has_quit_ = false;
};

}  // namespace exchange::cli
