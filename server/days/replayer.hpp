#pragma once
// Replayer is the thread that replays closed days, for HTTP: at the least priority, one question
// after the other, so that the exchange never waits for it. It opens nothing before the first
// question. Owner: HttpServer. Thread: as noted.

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "base/address_quota.hpp"
#include "base/bursts.hpp"
#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "days/day_desk.hpp"

namespace exchange {

class Replayer {
 public:
  using MakeDays = std::function<std::unique_ptr<KeptDays>()>;
  using Question = std::function<DayAnswer(DayDesk&)>;

  // `make_days` is called on the thread, when it is needed. `limits` outlive it.
  Replayer(MakeDays make_days, const ReplayLimits& limits);
  ~Replayer() { stop(); }

  // The answer; or why there is none now, with the status 503: then the replay goes on, so that the
  // next question finds it further. Thread: that of the context.
  boost::asio::awaitable<DayAnswer> ask(boost::asio::io_context& context, Question question,
                                        PeerAddress address);
  // Ends the replay. Nothing is answered any more. The contexts of those that ask still run, or
  // are never run again.
  void stop();

 private:
  struct Job {
    Question question;
    AddressQuota::Share share;
    std::function<void(DayAnswer)> on_done;
    std::shared_ptr<std::atomic<bool>> abandoned;
  };
  struct Queue {
    std::deque<Job> jobs;
    bool stopping = false;
  };
  void run();
  DayAnswer work(const Job& job);
  void go_on() const;

  const MakeDays make_days_;
  const ReplayLimits& limits_;
  AddressQuota waiting_;
  Guarded<Queue> queue_;  // limited by waiting_
  std::atomic<bool> stopping_ = false;
  std::optional<DayDesk> desk_;  // of the thread, as is the next
  Bursts bursts_;
  const OnFatal on_fatal_;
  Thread thread_;
};

}  // namespace exchange
