// pool: a fixed number of threads over one event queue. loop: one event loop per thread, each with
// its own acceptor (SO_REUSEPORT), run to completion. Both run the coroutine of connection.hpp.

#include <pthread.h>

#include <boost/asio/defer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "net/connection.hpp"
#include "net/listener.hpp"

namespace exchange {
namespace {

namespace asio = boost::asio;

// A server with fewer threads than it was asked for does not start.
std::thread start_thread_of(unsigned count, std::function<void()> work) try {
  return std::thread(std::move(work));
} catch (const std::system_error& error) {
  throw std::system_error(error.code(),
                          "cannot start " + std::to_string(count) + " threads (--threads)");
}

unsigned thread_count(const NetOptions& options) {
  return options.threads > 0 ? options.threads : usable_cpus();
}

// --- pool ---

class PoolPolicy final : public Transport, public Host {
 public:
  explicit PoolPolicy(const TransportParts& parts)
      : parts_(parts),
        table_(parts.options.limits, parts.protocol, parts.metrics, parts.certificate != nullptr),
        acceptor_(listen(context_, parts.options, parts.options.port)),
        port_(acceptor_.local_endpoint().port()) {
    const unsigned count = thread_count(parts.options);
    try {
      for (unsigned i = 0; i < count; ++i)
        threads_.push_back(start_thread_of(count, [this] {
          pthread_setname_np(pthread_self(), "pool");
          context_.run();
        }));
    } catch (...) {
      work_.reset();
      for (std::thread& thread : threads_) thread.join();
      throw;
    }
    accept_clients(accept_strand_, acceptor_, *this, table_, parts_);
  }
  ~PoolPolicy() override { stop(); }

  std::uint16_t port() const override { return port_; }
  unsigned threads() const override { return unsigned(threads_.size()); }

  void stop() override {
    if (stopped_) return;
    stopped_ = true;
    table_.begin_stop();
    asio::post(accept_strand_, [this] { acceptor_.close(); });
    table_.wait_until_empty();
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void submit(Connection& connection) override {
    Submission* const one = &connection;
    parts_.service.submit({&one, 1});
  }
  void resume_later(Connection& connection) override {
    asio::defer(context_, [&connection] { resume(connection); });
  }
  // Core threads. One function is posted for all; what it defers is queued together when it
  // returns, for all threads of the pool. If each were posted here, a thread of the pool that
  // shares the core's CPU would run, and sleep again, for each.
  void completed(std::span<Submission* const> submissions) override {
    if (submissions.size() == 1)
      resume_later(*static_cast<Connection*>(submissions[0]));
    else
      asio::post(context_, [this, all = std::vector(submissions.begin(), submissions.end())] {
        for (Submission* one : all) resume_later(*static_cast<Connection*>(one));
      });
  }

  const TransportParts parts_;
  ConnectionTable table_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  asio::strand<asio::io_context::executor_type> accept_strand_{context_.get_executor()};
  tcp::acceptor acceptor_;
  const std::uint16_t port_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

// --- loop ---

// One event loop and its thread. What becomes ready in one turn is submitted together at its end,
// and a batch's completions arrive together: one lock and one wake-up each way for many requests.
class EventLoop final : public Host {
 public:
  // `parts` must outlive it.
  EventLoop(const TransportParts& parts, std::uint16_t port, ConnectionTable& table)
      : parts_(parts),
        table_(table),
        acceptor_(listen(context_, parts.options, port, true)),
        port_(acceptor_.local_endpoint().port()) {}
  void start(unsigned count) {
    thread_ = start_thread_of(count, [this] {
      pthread_setname_np(pthread_self(), "loop");
      context_.run();
    });
  }
  void accept() { accept_clients(context_.get_executor(), acceptor_, *this, table_, parts_); }
  std::uint16_t port() const { return port_; }
  void close_acceptor() {
    asio::post(context_, [this] { acceptor_.close(); });
  }
  void join() {
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }

 private:
  // Loop thread. The posted flush runs after all that is ready now.
  void submit(Connection& connection) override {
    if (ready_.empty())
      asio::post(context_, [this] {
        flushed_.clear();
        flushed_.swap(ready_);
        parts_.service.submit(flushed_);
      });
    ready_.push_back(&connection);
  }

  void resume_later(Connection& connection) override {
    asio::defer(context_, [&connection] { resume(connection); });
  }

  // Core threads.
  void completed(std::span<Submission* const> submissions) override {
    const bool first = completed_.with([&](std::vector<Submission*>& waiting) {
      const bool was_empty = waiting.empty();
      waiting.insert(waiting.end(), submissions.begin(), submissions.end());
      return was_empty;
    });
    if (first) asio::post(context_, [this] { resume_completed(); });
  }
  void resume_completed() {
    completed_.with([&](std::vector<Submission*>& waiting) { resumed_.swap(waiting); });
    for (Submission* submission : resumed_) resume(*static_cast<Connection*>(submission));
    resumed_.clear();
  }

  const TransportParts& parts_;
  ConnectionTable& table_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  tcp::acceptor acceptor_;
  const std::uint16_t port_;
  std::vector<Submission*> ready_, flushed_, resumed_;  // loop thread
  Guarded<std::vector<Submission*>> completed_;
  std::thread thread_;
};

class LoopPolicy final : public Transport {
 public:
  explicit LoopPolicy(const TransportParts& parts)
      : parts_(parts),
        table_(parts.options.limits, parts.protocol, parts.metrics, parts.certificate != nullptr) {
    const unsigned count = thread_count(parts.options);
    std::uint16_t port = parts.options.port;
    // With SO_REUSEPORT a second server of the same user would silently share the port: ask first.
    if (port != 0) {
      asio::io_context context;
      listen(context, parts.options, port);
    }
    for (unsigned i = 0; i < count; ++i) {
      loops_.push_back(std::make_unique<EventLoop>(parts_, port, table_));
      port = loops_.front()->port();
    }
    try {
      for (const auto& loop : loops_) loop->start(count);
    } catch (...) {
      for (const auto& loop : loops_) loop->join();
      throw;
    }
    for (const auto& loop : loops_) loop->accept();
  }
  ~LoopPolicy() override { stop(); }

  std::uint16_t port() const override { return loops_.front()->port(); }
  unsigned threads() const override { return unsigned(loops_.size()); }

  void stop() override {
    if (stopped_) return;
    stopped_ = true;
    table_.begin_stop();
    for (const auto& loop : loops_) loop->close_acceptor();
    table_.wait_until_empty();
    for (const auto& loop : loops_) loop->join();
  }

 private:
  const TransportParts parts_;
  ConnectionTable table_;
  std::vector<std::unique_ptr<EventLoop>> loops_;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Transport> make_pool_policy(const TransportParts& parts) {
  return std::make_unique<PoolPolicy>(parts);
}

std::unique_ptr<Transport> make_loop_policy(const TransportParts& parts) {
  return std::make_unique<LoopPolicy>(parts);
}

}  // namespace exchange
