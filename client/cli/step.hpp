#pragma once
// One command under way: what it asks the server, and what it prints of the reply. For runner.cpp,
// operator_steps.cpp, which has the operator's commands, and class_steps.cpp, those of a class.
// Thread: the caller's.

#include "client/cli/documents.hpp"
#include "client/cli/messages.hpp"
#include "client/cli/runner.hpp"
#include "client/cli/text.hpp"
#include "client/connection/results.hpp"

namespace exchange::cli {

using Results = std::vector<client::Result>;

// A list that has pages: its name, the field that names where the next page begins, and the
// parameter that takes it (docs/http-api.md).
struct PagedList {
  const char* name;
  const char* next;
  const char* parameter;
};
inline constexpr PagedList positions_list{"positions", "next_position", "positions_after"};

// The query of the next page; nothing if there is none.
std::optional<std::string> next_page(const Json& page, const PagedList& list);
void add_page(Json& all, const Json& page, const PagedList& list);

// What each command of the operator does, and of a class; those of a trader are in runner.cpp.
// `settings` are those of the session, changed by its line.
struct Runner::Step {
  Runner& runner;
  const Settings& settings;
  std::ostream& out = runner.console_.out;
  int status = exit_ok;
  bool in_doubt = false;            // a change is on its way
  std::string reference;            // of its order, if it has one
  std::string shown_by = "status";  // tells whether it was; empty: it may be sent again
  double http_timeout_s = settings.timeout_s;
  bool as_operator = false;  // questions to the HTTP port carry the sender's key

  void operator()(const NewAccount& created);
  void operator()(const NewSymbol& created);
  void operator()(const SetRules& set);
  void operator()(const NewKey& wanted);
  void operator()(const RevokedKey& revoked);
  void operator()(const AccountChange& wanted);
  void operator()(const Adjustment& adjustment);
  void operator()(const NewRound& round);
  void operator()(const NewDay& ended);

  void operator()(const InitClass& wanted);
  void operator()(const StartClass& wanted);
  void operator()(const PauseClass& wanted);
  void operator()(const StopClass& wanted);
  void operator()(const NewClassDay& wanted);
  void operator()(const ShowClass& wanted);
  void operator()(const ExportClass& wanted);

 protected:
  class OfClass;  // what the commands of a class share
  // Of the operator's commands: the operator if there is its key, which is read again each time,
  // since a shell may be older than the file. Else the account, if there is its key.
  Sender sender() const;
  // "-": the user types it, twice.
  std::string key_of(const std::string& file, const std::string& account) const;
  const std::string& account() const;

  // `kind`: question for a change that may be asked again.
  Results change(const std::string& document, std::size_t asked,
                 XmlPort::Kind kind = XmlPort::Kind::change);
  Results question(const std::string& document, std::size_t asked);
  HttpReply get(const std::string& target) const;
  // The HTTP port follows a commit by up to a fifth of a second. After a trade the user expects to
  // see it: waits until everything committed now is shown. Where a server does not report its
  // position, there is no wait. False: it was not shown in catch_up_max.
  bool catch_up() const;
  // The number of the batch that is committed; nothing where the server does not report it.
  std::optional<std::uint64_t> committed_batch() const;
  // What a command tells beside what it was asked for, from the HTTP port; nothing if that does not
  // answer soon. `look` returns it.
  template <class Look>
  auto aside(Look look) -> decltype(look());

  // With --xml the reply itself was shown.
  void say(const std::string& text) {
    if (!settings.xml) out << text << "\n";
  }
  // What the command asked for; null after an error, which was shown.
  template <class Wanted>
  const Wanted* accepted(const client::Result& result, const std::string& what,
                         const NewOrder* order = nullptr) {
    if (const auto* error = std::get_if<client::Error>(&result)) {
      const std::string more = order == nullptr ? "" : figures(*order, error->message);
      status = runner.fail(what + ": " + printable(error->message) + more, exit_refused);
      return nullptr;
    }
    const auto* wanted = std::get_if<Wanted>(&result);
    if (wanted == nullptr) throw client::BadReply("an element of another kind than was asked for");
    return wanted;
  }
  // A reply of the HTTP port, with all pages of its `lists`; nothing after its error, which was
  // shown. `symbol`: what it is about. A list ends early if an order that its next page would begin
  // behind is no longer open.
  std::optional<Json> answer(const std::string& target, const std::string& symbol = {},
                             std::initializer_list<PagedList> lists = {});
  std::optional<std::vector<Json>> executions_of(const std::string& order);
  std::optional<std::vector<Json>> newest_fills(std::size_t count);
  // The same as a table.
  void show(const std::string& target, std::string (*view)(const Json&, Style),
            const std::string& symbol = {}, std::initializer_list<PagedList> lists = {});

  // Asks until the day is closed. The server ends and begins in between, so only the first request
  // must reach it. Nothing after an error, which was shown.
  struct ClosedDay {
    bool before;  // this command closed nothing
    std::string store;
  };
  std::optional<ClosedDay> close(const std::string& day, const std::string& key);
  // Whether anything was executed on the day that is open. Before the scenario of a day only the
  // operator could.
  bool day_has_begun() const;

  const NewOrder* terms_of(const std::string& order) const;
  // ": 145000 needed, 85433 free", after a refusal for lack of either.
  std::string figures(const NewOrder& order, const std::string& message);
  // " (did you mean 'SPY'?)" for a symbol that the exchange does not have.
  std::string symbol_hint(const std::string& symbol) const;
  // A typing error must not create a symbol for everyone. False, after a message, if the command is
  // not to be sent.
  bool may_create(const std::string& symbol);
  // A limit of more decimals than the exchange keeps becomes the one that it uses (N7).
  void round_limit(std::string& limit, Side side);
  // What is open of a known order, and what was executed. `done`: to say if that is not known.
  void show_state(const std::string& id, const char* done);
};

}  // namespace exchange::cli
