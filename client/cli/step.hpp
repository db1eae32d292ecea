#pragma once
// One command in progress: it sends requests to the server, and prints the replies. The operator's
// commands are in operator_steps.cpp, those that ask the HTTP port in looks.cpp, the others in
// runner.cpp. Thread: the caller's.

#include "client/cli/documents.hpp"
#include "client/cli/messages.hpp"
#include "client/cli/runner.hpp"
#include "client/connection/results.hpp"

namespace exchange::cli {

using Results = std::vector<client::ReplyOutcome>;

// A list in pages: its name, the field that contains where the next page begins, and the parameter
// that takes that value (docs/http-api.md).
struct PagedList {
  const char* name;
  const char* next;
  const char* parameter;
};
inline constexpr PagedList symbols_list{"symbols", "next", "after"};

// Returns the query of the next page; nothing if this is the last one.
std::optional<std::string> next_page(const Json& page, const PagedList& list);

// Carries out each command. `settings` are those of the session, with the changes of its line.
struct Runner::Step {
  Runner& runner;
  const Settings& settings;
  std::ostream& out = runner.console_.out;
  int status = exit_ok;
  bool in_doubt = false;            // a change is in flight
  std::string reference;            // of its order; empty: none
  std::string shown_by = "status";  // command that shows it; empty: it may be sent again
  double http_timeout_s = settings.timeout_s;
  bool as_operator = false;  // HTTP questions contain the sender's key

  void operator()(const Change& typed);
  void operator()(const NewSymbol& created);
  void operator()(const NewKey& wanted);
  void operator()(const NewDay& ended);
  void operator()(const NewOrder& typed);
  void operator()(const Replacement& replacement);
  void operator()(const NamedOrders& named);
  void operator()(const CancelAllOrders& cancel);
  void operator()(const ShowAccount&);
  void operator()(const ShowOpenOrders&);
  void operator()(const ShowHistory& history);
  void operator()(const ShowBook& command);
  void operator()(const ShowTrades& trades);
  void operator()(const ShowSymbols&);
  void operator()(const ShowLeaderboard& wanted);
  void operator()(const Watch& command);
  void operator()(const WatchAccount& command);
  void operator()(const UseAccount& use);
  void operator()(const ShowXml& show_xml) { runner.settings_.xml = show_xml.on; }
  void operator()(const Help& help);
  void operator()(const Quit&) { runner.has_quit_ = true; }

 private:
  // Returns the sender of the operator's commands: the operator if its key is available, else the
  // account if its key is. Reads the operator's key each time, because a shell may be older than
  // the file.
  Sender sender() const;
  // Returns the account of the settings. Throws UsageError if it is not valid.
  const std::string& account() const;
  // Returns the sender of its commands.
  Sender own() const;
  // "-": the user types the key, twice.
  std::string key_of(const std::string& file, const std::string& account) const;

  // `kind`: use `question` for a change that may be sent again.
  Results change(const std::string& document, std::size_t asked,
                 XmlPort::Kind kind = XmlPort::Kind::change);
  Results question(const std::string& document, std::size_t asked);
  HttpReply get(const std::string& target) const;
  // The HTTP port follows a commit by up to a fifth of a second, but after a trade the user expects
  // to see it: waits until everything committed now is shown. If the server does not report its
  // position, does not wait.
  void catch_up() const;
  // Returns the number of the committed batch; nothing if the server does not report it.
  std::optional<std::uint64_t> committed_batch() const;
  // Returns what `look` reads from the HTTP port, for information that a command prints in addition
  // to its result; nothing if the port does not answer soon.
  template <class Look>
  auto aside(Look look) -> decltype(look());

  // Prints nothing with --xml, which has shown the reply itself.
  void say(const std::string& text) {
    if (!settings.xml) out << text << "\n";
  }
  // Prints an error, with which the command ends.
  void fail(const std::string& what, int exit_code = exit_refused) {
    status = runner.fail(what, exit_code);
  }
  // Returns the wanted result. After an error, shows it and returns null.
  template <class Wanted>
  const Wanted* accepted(const client::ReplyOutcome& result, const std::string& what,
                         const NewOrder* order = nullptr) {
    if (const auto* error = std::get_if<client::ErrorElement>(&result)) {
      const std::string more = order == nullptr ? "" : figures(*order, error->message);
      fail(what + ": " + printable(error->message) + more);
      return nullptr;
    }
    const auto* wanted = std::get_if<Wanted>(&result);
    if (wanted == nullptr) throw client::BadReply("an element of another kind than was asked for");
    return wanted;
  }
  // Returns a reply of the HTTP port, with all pages of its `lists`. After an error, shows it and
  // returns nothing. `symbol`: the symbol of the request. A list ends early if the last order of a
  // page is no longer open when the next page is read.
  std::optional<Json> answer(const std::string& target, const std::string& symbol = {},
                             std::initializer_list<PagedList> lists = {});
  // Return the executions of an order, or the newest ones of the account, newest first. After an
  // error, show it and return nothing.
  std::optional<std::vector<Json>> executions_of(const std::string& order);
  std::optional<std::vector<Json>> newest_fills(std::size_t count);
  // Prints the same reply as a table.
  void show(const std::string& target, std::string (*view)(const Json&, Style),
            const std::string& symbol = {}, std::initializer_list<PagedList> lists = {});

  // Asks until the day is closed. The server ends and begins in between, so only the first request
  // has to reach it. After an error, shows it and returns nothing.
  struct ClosedDay {
    bool before;  // this command did not close it
    std::string store;
  };
  std::optional<ClosedDay> close(const std::string& day, const std::string& key);
  // Whether anything was executed on the day that is open. Before the scenario of a day only the
  // operator could trade.
  bool day_has_begun() const;

  // Returns ": 145000 needed, 85433 free" after a refusal because of too little cash or shares.
  std::string figures(const NewOrder& order, const std::string& message);
  // Returns " (did you mean 'SPY'?)" for a symbol that the exchange does not have.
  std::string symbol_hint(const std::string& symbol) const;
  // A typing error must not create a symbol for everyone. If the command must not be sent, prints a
  // message and returns false.
  bool may_create(const std::string& symbol);
  // Rounds a limit with more decimals than the exchange keeps to the one that it would use (N7).
  void round_limit(std::string& limit, Side side);
  // Prints what is open of a known order, and what was executed. `done`: printed if that is not
  // known.
  void show_state(const std::string& id, const char* done);
};

}  // namespace exchange::cli
