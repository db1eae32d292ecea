#pragma once
// Acts as the operator during a run (--trading-days): one step after another, it halts a symbol,
// begins an auction or opens the symbol again. For the audit, each step stands between two orders
// in a separate symbol, whose ids show when it happened. Owns its connection and records. Thread:
// one at a time.

#include <optional>
#include <stop_token>

#include "client/connection/stream.hpp"
#include "client/loadgen/options.hpp"
#include "client/loadgen/pacer.hpp"
#include "client/loadgen/transcript.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

class TradingDays {
 public:
  // All arguments must outlive it. Does not send anything yet.
  TradingDays(const LoadOptions& load, const Workload& workload, client::Servers& servers);
  // Makes one step every --trading-days until `over`; then opens all symbols that are not open.
  void run(const Ticks& ticks, std::stop_token over);

  // After run():
  History& history() { return history_; }
  Transcript& transcript() { return transcript_; }

 private:
  void step();
  // Returns false if the connection ended.
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

// Creates the symbol for the orders beside the steps. Its second element opens a symbol that is
// already open, which shows whether the server allows the load generator to do so.
std::string set_up_trading_days(const Workload& workload);

}  // namespace exchange::loadgen
