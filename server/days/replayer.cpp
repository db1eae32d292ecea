#include "days/replayer.hpp"

#include <chrono>

#include "base/event.hpp"
#include "base/log.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

struct Stopped {};
// The minimum time of a short answer; a replay yields after each 0.4 ms.
constexpr auto spread = std::chrono::milliseconds(20);
constexpr const char* stopping_sentence = "the server is stopping";

DayReply unavailable(std::string sentence) {
  return {http::status::service_unavailable, std::move(sentence)};
}

}  // namespace

Replayer::Replayer(MakeDays make_days, const ReplayLimits& limits)
    : make_days_(std::move(make_days)),
      limits_(limits),
      waiting_(limits.requests_max, per_address_max(0, limits.requests_max)),
      on_fatal_([](const std::string& problem) {
        log_error("closed days cannot be replayed until a restart: {}", problem);
      }),
      thread_(start_thread(
          "replay", on_fatal_, [this] { run(); }, Priority::least)) {}

void Replayer::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  queue_.with([](Queue& queue) { queue.stopping = true; });
  queue_.notify();
  thread_.join();
}

asio::awaitable<DayReply> Replayer::ask(asio::io_context& context, Question question,
                                        PeerAddress address) {
  AddressQuota::Share share = waiting_.take(address);
  if (!share) co_return unavailable("too many questions for closed days wait; ask again later");
  PostedResult<DayReply> answer(context);
  const auto abandoned = std::make_shared<std::atomic<bool>>(false);
  Job job{std::move(question), std::move(share),
          [answer](DayReply done) { answer.deliver(std::move(done)); }, abandoned};
  const bool queued = queue_.with([&](Queue& queue) {
    if (!queue.stopping) queue.jobs.push_back(std::move(job));
    return !queue.stopping;
  });
  if (!queued) co_return unavailable(stopping_sentence);
  queue_.notify();
  const auto deadline = Event::Clock::now() + std::chrono::milliseconds(limits_.answer_ms);
  std::optional<DayReply> given = co_await answer.wait_until(deadline);
  if (given) co_return std::move(*given);
  *abandoned = true;
  co_return unavailable("the day is being replayed up to there; ask again");
}

void Replayer::run() {
  while (true) {
    const auto is_due = [](const Queue& queue) { return !queue.jobs.empty() || queue.stopping; };
    const std::chrono::milliseconds idle(limits_.idle_ms);
    if (!queue_.wait_for(idle, is_due)) desk_.reset();
    std::optional<Job> job = queue_.when(is_due, [](Queue& queue) -> std::optional<Job> {
      if (queue.jobs.empty()) return {};
      Job next = std::move(queue.jobs.front());
      queue.jobs.pop_front();
      return next;
    });
    if (!job) break;
    if (*job->abandoned) continue;
    DayReply answer = stopping_ ? unavailable(stopping_sentence) : work(*job);
    job->share = {};  // first: the client may send the next request immediately
    job->on_done(std::move(answer));
  }
  desk_.reset();
}

DayReply Replayer::work(const Job& job) try {
  const Bursts::Work bursts(bursts_, spread);
  if (!desk_) desk_.emplace(make_days_(), limits_, [this] { go_on(); });
  return job.question(*desk_);
} catch (const Stopped&) {
  return unavailable(stopping_sentence);
} catch (const std::exception& error) {  // no memory
  desk_.reset();
  log_error("a closed day could not be replayed: {}", error.what());
  return unavailable("the day could not be replayed now");
}

void Replayer::go_on() const {
  if (stopping_) throw Stopped();
}

}  // namespace exchange
