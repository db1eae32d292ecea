// 8. A thread for every request, or a bounded pool?

#include <crypt.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "course/experiments/lab.hpp"
#include "course/experiments/monitor.hpp"

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

// `cost`: 2^cost rounds.
std::vector<Password> passwords(unsigned cost) {
  const std::string setting =
      "$2b$" + std::string(cost < 10 ? "0" : "") + std::to_string(cost) + "$";
  std::vector<Password> made{{"correct horse", setting + "abcdefghijklmnopqrstuu", ""},
                             {"battery staple", setting + "ABCDEFGHIJKLMNOPQRSTUu", ""}};
  for (Password& one : made) one.hash = hash(one.text, one.salt);
  return made;
}

// Runs requests. Returns when the request is done; false if the time was over before it was
// accepted.
class Mechanism {
 public:
  virtual ~Mechanism() = default;
  virtual bool run(const std::function<void()>& request) = 0;
  virtual void stop_accepting() {}
  virtual unsigned waiting_most() const { return 0; }  // called after all requests are done
};

class ThreadEach final : public Mechanism {
 public:
  bool run(const std::function<void()>& request) override {
    std::thread(request).join();
    return true;
  }
};

// A bounded pool. A caller that finds no free place waits outside, first come, first served.
class BoundedPool final : public Mechanism {
 public:
  BoundedPool(unsigned workers, unsigned buffer)
      : workers_(workers), buffer_(buffer), pool_(workers) {}
  ~BoundedPool() override { pool_.join(); }

  bool run(const std::function<void()>& request) override {
    monitor_.enter();
    if (accepted_ == workers_ + buffer_ && !closed_) place_free_.wait();
    if (closed_) {
      place_free_.signal_and_leave();  // so that all threads end
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

struct SetUp {
  const char* there;  // hashes in 5 s in the write-up
  bool pool;          // false: a thread for each request
  // buffer: requests that may wait before the pool; further callers wait outside
  unsigned callers, workers, buffer;

  std::string name() const {
    return pool ? join_name("bcrypt/pool", workers, callers, buffer)
                : join_name("bcrypt/unbounded", callers);
  }
  std::string label() const {
    return (pool ? "pool of " + std::to_string(workers) + ", buffer " + std::to_string(buffer)
                 : std::string("a thread each")) +
           ", " + std::to_string(callers) + " callers";
  }
  std::unique_ptr<Mechanism> mechanism() const {
    if (pool) return std::make_unique<BoundedPool>(workers, buffer);
    return std::make_unique<ThreadEach>();
  }
};
const SetUp set_ups[] = {
    {"61", false, 30, 0, 0}, {"27", false, 90, 0, 0}, {"-", false, 300, 0, 0},
    {"37", true, 30, 1, 1},  {"37", true, 30, 1, 2},  {"37", true, 30, 1, 10},
    {"69", true, 30, 2, 10}, {"70", true, 30, 3, 10}, {"69", true, 30, 4, 10},
    {"-", true, 30, 8, 10},  {"69", true, 90, 3, 10}, {"-", true, 90, 2, 10},
    {"-", true, 300, 2, 10},
};

unsigned cost_of(const Settings& settings) { return settings.quick ? 5 : 10; }
// After this time callers begin no more requests.
double window_s(const Settings& settings) { return settings.quick ? 0.3 : 5; }

// Each caller requests one hash after the other.
double run(const SetUp& set_up, const Settings& settings, Counters& counters) {
  const std::vector<Password> known = passwords(cost_of(settings));
  const std::unique_ptr<Mechanism> mechanism = set_up.mechanism();
  std::atomic<std::uint64_t> accepted{0}, turned_away{0}, done{0}, in_time{0}, wrong{0};
  std::atomic<unsigned> running{0}, running_most{0};
  const Run ran = run_window(
      set_up.callers, window_s(settings),
      [&](unsigned caller, const auto& begin, const Over& over) {
        const Password& password = known[caller % known.size()];
        const std::function<void()> request = [&] {
          const unsigned now = ++running;
          for (unsigned most = running_most;
               now > most && !running_most.compare_exchange_weak(most, now);) {
          }
          if (hash(password.text, password.salt) != password.hash) ++wrong;
          --running;
          ++done;
          if (!over) ++in_time;
        };
        begin();
        while (!over) {
          const bool served = mechanism->run(request);
          ++(served ? accepted : turned_away);
          if (!served) break;
        }
      },
      [&] { mechanism->stop_accepting(); });

  const auto begun = double(accepted);
  counters["in_time"] = double(in_time);
  counters["left"] = begun - double(in_time);
  counters["turned_away"] = double(turned_away);
  counters["rate"] = begun / ran.seconds;
  counters["cpu"] = ran.cpu_s / begun;
  counters["wrong"] = double(wrong);
  const double places = set_up.pool ? set_up.workers : set_up.callers;
  counters["beyond"] = std::max(0.0, double(running_most) - places) +
                       std::max(0.0, double(mechanism->waiting_most()) - set_up.buffer);
  counters["lost"] = begun - double(done);
  return ran.seconds;
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

void prepare(const Settings& settings) {
  // each takes 5 s or more
  const unsigned repetitions = std::min(settings.repetitions, settings.quick ? 1u : 2u);
  measure("bcrypt/alone", [=](Counters&) { return time_one_hash(cost_of(settings)); });
  for (const SetUp& set_up : set_ups)
    measure(
        set_up.name(), [=](Counters& counters) { return run(set_up, settings, counters); },
        repetitions);
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const double alone_s = measured.get("bcrypt/alone").low(), seconds = window_s(settings);
  const auto cpus = double(usable_cpus().size());
  Table& table = out.add(Table{
      "F",
      "Table F: bcrypt of cost " + std::to_string(cost_of(settings)) + " for " + duration(seconds) +
          "; one hash alone takes " + duration(alone_s) + ", so " +
          number(seconds / alone_s * cpus, 2) + " would be the most on " + number(cpus) + " CPUs",
      {"set-up", "there: hashes in 5 s", "here: hashes in " + duration(seconds), "begun, not done",
       "turned away", "hashes a second, to the last", "CPU time a hash"}});
  for (const SetUp& set_up : set_ups) {
    const Named found(measured, set_up.name());
    table.rows.push_back({set_up.label(), set_up.there, count(found("in_time")),
                          number(found.median("left")), number(found.median("turned_away")),
                          count(found("rate")), found.median_time("cpu")});
  }
  out.check_none("every hash is right", measured.all("bcrypt/", "wrong").worst(), "wrong");
  out.check_none("every request accepted is done, and every caller gets its result",
                 measured.all("bcrypt/", "lost").worst(), "lost");
  out.check_none("a pool never runs more than its workers, nor keeps more than its buffer",
                 measured.all("bcrypt/", "beyond").worst(), "beyond");
}

const Add add(8, {"bcrypt", "8. A thread for every request, or a bounded pool?", prepare, report});

}  // namespace
}  // namespace exchange::experiments
