#pragma once
// DayDesk answers questions about closed days: which there are, what happened on one, and any
// moment of it (docs/http-api.md, "Replays of closed days"). It has one day in memory at a time,
// with its summary and a replay that goes forward from question to question, or begins anew.
// Owner: Replayer. Thread: its.

#include <boost/beast/http/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "days/day_replay.hpp"
#include "days/day_summary.hpp"
#include "engine/key_hash.hpp"
#include "store/kept_days.hpp"

namespace exchange {

struct DayAnswer {
  boost::beast::http::status status = boost::beast::http::status::ok;
  std::string text;       // a document, or the sentence of an error
  std::string code = {};  // of an error; empty: that of the status
};

// The question for a moment of a symbol, and for the changes after it.
struct MomentQuestion {
  std::string day;
  SymbolName symbol;
  std::uint64_t position = 0;          // the moment; at most that of the end
  std::optional<Timestamp> time = {};  // instead: after the last command up to this time
  std::size_t changes = 0;             // at most
  std::optional<AccountId> account = {};
};

class DayDesk {
 public:
  // `days` null: the store keeps none. `go_on` is called now and then during a replay; it ends the
  // replay if it throws.
  DayDesk(std::unique_ptr<KeptDays> days, const ReplayLimits& limits, std::function<void()> go_on)
      : days_(std::move(days)), limits_(limits), go_on_(std::move(go_on)) {}

  DayAnswer list();
  // `symbol`: whose trading the answer has in detail; none: of no one.
  DayAnswer summary(const std::string& day, const std::optional<SymbolName>& symbol);
  DayAnswer moments(const MomentQuestion& question);
  // The key of an account at the end of the day; one without a hash if it had none. An error as
  // above otherwise.
  std::pair<KeyHash, DayAnswer> key_of(const std::string& day, const AccountId& account);

  // Forgets the day in memory.
  void close();
  const DayReplay* replay() const { return replay_.get(); }  // null: none

 private:
  template <class Make>
  DayAnswer answer(const std::string& day, Make make);
  bool open(const std::string& day);
  void begin_replay();
  void move_to(const MomentQuestion& question);

  const std::unique_ptr<KeptDays> days_;
  const ReplayLimits& limits_;
  const std::function<void()> go_on_;
  std::string day_;  // what follows is of it; empty: of none
  std::unique_ptr<JournalReader> journal_;
  std::optional<DaySummary> summary_;
  std::unique_ptr<DayReplay> replay_;
};

}  // namespace exchange
