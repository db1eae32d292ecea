#pragma once
// Replayer replays closed days for HTTP on its own thread, with the lowest priority, one question
// after the other, so that the exchange never waits for it. It opens nothing before the first
// question. Owner: HttpServer. Thread: as noted.

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "base/address_limits.hpp"
#include "base/bursts.hpp"
#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "days/day_desk.hpp"

namespace exchange {

class Replayer {
 public:
  using MakeDays = std::function<std::unique_ptr<KeptDays>()>;
  using Question = std::function<DayReply(DayDesk&)>;

  // Calls `make_days` on its thread, when it needs the days. `limits` must outlive it.
  Replayer(MakeDays make_days, const ReplayLimits& limits);
  ~Replayer() { stop(); }

  // Returns the answer, or, with the status 503, the reason why it is not available now. After a
  // timeout the replay continues, so that the next question finds it closer. Thread: that of the
  // context.
  boost::asio::awaitable<DayReply> ask(boost::asio::io_context& context, Question question,
                                       PeerAddress address);
  // Ends the replay; later questions are refused. The contexts of waiting callers must still run,
  // or never run again.
  void stop();

 private:
  struct Job {
    Question question;
    AddressQuota::Share share;
    std::function<void(DayReply)> on_done;
    std::shared_ptr<std::atomic<bool>> abandoned;
  };
  struct Queue {
    std::deque<Job> jobs;
    bool stopping = false;
  };
  void run();
  DayReply work(const Job& job);
  void go_on() const;

  const MakeDays make_days_;
  const ReplayLimits& limits_;
  AddressQuota waiting_;
  Guarded<Queue> queue_;  // limited by waiting_
  std::atomic<bool> stopping_ = false;
  std::optional<DayDesk> desk_;  // only its thread uses this and bursts_
  Bursts bursts_;
  const OnFatal on_fatal_;
  Thread thread_;
};

}  // namespace exchange
