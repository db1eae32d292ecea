#pragma once
// Plays the operator during a run (--trading-days): one step after another, it halts a symbol,
// begins an auction or opens it again. For the audit each step stands between two orders of a
// symbol of its own, whose ids show when it happened. Owns its connection and records.
// Thread: one at a time.

#include <optional>
#include <stop_token>

#include "client/connection/servers.hpp"
#include "client/connection/stream.hpp"
#include "client/loadgen/options.hpp"
#include "client/loadgen/random.hpp"
#include "client/loadgen/ticks.hpp"
#include "client/loadgen/transcript.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

class TradingDays {
 public:
  // All must outlive it. Asks nothing yet.
  TradingDays(const LoadOptions& load, const Workload& workload, client::Servers& servers);
  // A step each --trading-days until `over`; then opens what is not.
  void run(const Ticks& ticks, std::stop_token over);

  // After run():
  History& history() { return history_; }
  Transcript& transcript() { return transcript_; }

 private:
  void step();
  // False: the connection ended.
  bool change(unsigned symbol, Trading trading);
  void record(unsigned symbol, Trading trading, std::int64_t sent, std::string_view replies);
  std::string marker() const;

  const LoadOptions& load_;
  const Workload& workload_;
  client::Servers& servers_;
  const Ticks* ticks_ = nullptr;
  Random random_;
  std::vector<Trading> trading_;  // of symbol n at n - 1
  const client::StopFlag never_{false};
  std::optional<client::Stream> stream_;
  std::uint64_t connection_ = 0;
  History history_;
  Transcript transcript_;
};

// Creates the symbol of the orders beside the steps; its second element opens a symbol that is
// open, which shows whether the server lets the load generator do so.
std::string set_up_trading_days(const Workload& workload);

}  // namespace exchange::loadgen
