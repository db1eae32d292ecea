#pragma once
// DayDesk answers questions about closed days: the list of days, the summary of a day, and any
// moment of it (docs/http-api.md, "Replays of closed days"). It has one day in memory at a time,
// with its summary and a replay that advances from question to question, or begins again.
// Owner: Replayer. Thread: that of the Replayer.

#include <boost/beast/http/status.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "days/day_replay.hpp"
#include "engine/key_hash.hpp"
#include "store/kept_days.hpp"

namespace exchange {

struct DayReply {
  boost::beast::http::status status = boost::beast::http::status::ok;
  std::string text;       // a document, or the sentence of an error
  std::string code = {};  // of an error; empty: the code of the status
};

// A question about a moment of a symbol and the changes after it.
struct MomentQuestion {
  std::string day;
  SymbolName symbol;
  std::uint64_t position = 0;          // the moment; at most that of the end
  std::optional<Timestamp> time = {};  // if set, instead: after the last command up to this time
  std::size_t changes = 0;             // at most
  std::optional<AccountId> account = {};
};

class DayDesk {
 public:
  // If `days` is null, the store keeps no days. A replay calls `go_on` now and then, and ends if it
  // throws.
  DayDesk(std::unique_ptr<KeptDays> days, const ReplayLimits& limits, std::function<void()> go_on)
      : days_(std::move(days)), limits_(limits), go_on_(std::move(go_on)) {}

  DayReply list();
  // The answer has the trading of `symbol` in detail; if empty, it has no details.
  DayReply summary(const std::string& day, const std::optional<SymbolName>& symbol);
  DayReply moments(const MomentQuestion& question);
  // Returns the key of an account at the end of the day; without a hash if it had no key. If the
  // day cannot be read, the answer is an error, as above.
  std::pair<KeyHash, DayReply> key_of(const std::string& day, const AccountId& account);

  // Forgets the day in memory.
  void close();
  const DayReplay* replay() const { return replay_.get(); }  // null: none

 private:
  template <class Make>
  DayReply answer(const std::string& day, Make make);
  bool open(const std::string& day);
  void begin_replay();
  void move_to(const MomentQuestion& question);

  const std::unique_ptr<KeptDays> days_;
  const ReplayLimits& limits_;
  const std::function<void()> go_on_;
  std::string day_;  // the members below belong to it; empty: no day in memory
  std::unique_ptr<JournalReader> journal_;
  std::optional<DaySummary> summary_;
  std::unique_ptr<DayReplay> replay_;
};

}  // namespace exchange
