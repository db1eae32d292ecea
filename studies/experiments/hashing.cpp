#include "studies/experiments/hashing.hpp"

#include <crypt.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

#include "studies/experiments/monitor.hpp"

namespace exchange::experiments {
namespace {

struct Password {
  std::string text, salt, hash;
};

std::string hash(const std::string& text, const std::string& salt) {
  const auto data = std::make_unique<crypt_data>();  // 32 KiB
  const char* const hashed = ::crypt_r(text.c_str(), salt.c_str(), data.get());
  if (hashed == nullptr || hashed[0] == '*') throw std::runtime_error("crypt_r knows no bcrypt");
  return hashed;
}

std::vector<Password> passwords(unsigned cost) {
  const std::string setting =
      "$2b$" + std::string(cost < 10 ? "0" : "") + std::to_string(cost) + "$";
  std::vector<Password> made{{"correct horse", setting + "abcdefghijklmnopqrstuu", ""},
                             {"battery staple", setting + "ABCDEFGHIJKLMNOPQRSTUu", ""}};
  for (Password& one : made) one.hash = hash(one.text, one.salt);
  return made;
}

// Counts what is under way, and how many at most were.
class Gauge {
 public:
  void enter() {
    const unsigned now = now_.fetch_add(1) + 1;
    for (unsigned most = most_; now > most && !most_.compare_exchange_weak(most, now);) {
    }
  }
  void leave() { --now_; }
  unsigned most() const { return most_; }

 private:
  std::atomic<unsigned> now_{0}, most_{0};
};

// Runs requests. Returns when the request is done; false if the time was over before it was
// accepted.
class Mechanism {
 public:
  virtual ~Mechanism() = default;
  virtual bool run(const std::function<void()>& request) = 0;
  virtual void stop_accepting() {}
  virtual unsigned waiting_most() const { return 0; }  // when all is done
};

class ThreadEach final : public Mechanism {
 public:
  bool run(const std::function<void()>& request) override {
    std::thread(request).join();
    return true;
  }
};

// A caller that finds no place waits outside, first come, first served.
class BoundedPool final : public Mechanism {
 public:
  BoundedPool(unsigned workers, unsigned buffer)
      : workers_(workers), buffer_(buffer), pool_(workers) {}
  ~BoundedPool() override { pool_.join(); }

  bool run(const std::function<void()>& request) override {
    monitor_.enter();
    if (accepted_ == workers_ + buffer_ && !closed_) place_free_.wait();
    if (closed_) {
      place_free_.signal_and_leave();  // so that all end
      return false;
    }
    ++accepted_;
    if (accepted_ > workers_) waiting_most_ = std::max(waiting_most_, accepted_ - workers_);
    monitor_.leave();
    std::binary_semaphore done{0};
    boost::asio::post(pool_, [&] {
      request();
      monitor_.enter();
      --accepted_;
      place_free_.signal_and_leave();
      done.release();
    });
    done.acquire();
    return true;
  }
  void stop_accepting() override {
    monitor_.enter();
    closed_ = true;
    place_free_.signal_and_leave();
  }
  unsigned waiting_most() const override { return waiting_most_; }

 private:
  const unsigned workers_, buffer_;
  HoareMonitor monitor_;
  HoareMonitor::Condition place_free_{monitor_};
  unsigned accepted_ = 0;  // running or in the buffer
  unsigned waiting_most_ = 0;
  bool closed_ = false;
  boost::asio::thread_pool pool_;
};

}  // namespace

HashingResult run_hashing(const HashingPlan& plan) {
  const std::vector<Password> known = passwords(plan.cost);
  std::unique_ptr<Mechanism> mechanism;
  if (plan.pool)
    mechanism = std::make_unique<BoundedPool>(plan.workers, plan.buffer);
  else
    mechanism = std::make_unique<ThreadEach>();

  std::atomic<std::uint64_t> accepted{0}, turned_away{0}, in_time{0}, wrong{0};
  Gauge running;
  std::mutex latency_mutex;
  HashingResult result;

  result.run = run_window(
      plan.callers, plan.seconds,
      [&](unsigned caller, const auto& begin, const Over& over) {
        const Password& password = known[caller % known.size()];
        Histogram latency_us;
        const std::function<void()> request = [&] {
          running.enter();
          if (hash(password.text, password.salt) != password.hash) ++wrong;
          running.leave();
          if (!over) ++in_time;
        };
        begin();
        while (!over) {
          const double wished_s = now_s();
          const bool served = mechanism->run(request);
          latency_us.record(std::uint64_t((now_s() - wished_s) * 1e6));
          if (!served) {
            ++turned_away;
            break;
          }
          ++accepted;
        }
        const std::lock_guard lock(latency_mutex);
        result.latency_us.merge(latency_us);
      },
      [&] { mechanism->stop_accepting(); });
  result.in_time = in_time;
  result.begun = accepted;
  result.left = result.begun - result.in_time;
  result.turned_away = turned_away;
  result.wrong = wrong;
  result.running_most = running.most();
  result.waiting_most = mechanism->waiting_most();
  return result;
}

double time_one_hash(unsigned cost) {
  const std::vector<Password> known = passwords(cost);
  double least_s = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin_s = now_s();
    hash(known[0].text, known[0].salt);
    least_s = std::min(least_s, now_s() - begin_s);
  }
  return least_s;
}

}  // namespace exchange::experiments
