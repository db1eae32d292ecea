// pool: a fixed number of threads serve one event queue. loop: each thread serves its own event
// queue with its own acceptor (SO_REUSEPORT), run to completion. Both run the coroutine of
// connection.hpp.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/defer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "net/connection.hpp"
#include "net/listener.hpp"

namespace exchange {
namespace {

namespace asio = boost::asio;

// An event queue with an acceptor, and the threads that run it.
class EventQueue : public Host {
 public:
  // `parts` and `table` must outlive it. `concurrency` is a hint to Asio. `one_of_many`: several
  // queues share the port.
  EventQueue(const TransportParts& parts, std::uint16_t port, ConnectionTable& table,
             int concurrency, bool one_of_many)
      : parts_(parts),
        context_(concurrency),
        table_(table),
        acceptor_(listen(context_, listening(parts.options, port, one_of_many))),
        port_(port_of(acceptor_)) {}
  virtual ~EventQueue() = default;

  void start(const char* name, std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i)
      threads_.emplace_back([this, name] {
        pthread_setname_np(pthread_self(), name);
        context_.run();
      });
  }
  void accept() {
    asio::post(accept_strand_, [this] { beat(); });
    accept_clients(
        accept_strand_, acceptor_,
        [this](StreamSocket socket) { serve_client(std::move(socket), *this, table_, parts_); },
        table_, parts_);
  }
  asio::any_io_executor accept_executor() { return accept_strand_; }
  // Serves a client of the UNIX-domain socket. Any thread.
  void serve(StreamSocket socket) {
    const asio::generic::stream_protocol protocol(AF_UNIX, 0);
    const auto own = std::make_shared<StreamSocket>(context_, protocol, socket.release());
    asio::post(context_, [this, own] { serve_client(std::move(*own), *this, table_, parts_); });
  }
  std::uint16_t port() const { return port_; }
  std::int64_t silence_ns(std::int64_t now_ns) const {
    const std::int64_t beat_ns = beat_ns_.load(std::memory_order_relaxed);
    return beat_ns == 0 ? 0 : std::max<std::int64_t>(now_ns - beat_ns - between_beats_ns, 0);
  }
  void close_acceptor() {
    asio::post(accept_strand_, [this] {
      acceptor_.close();
      closing_ = true;
      beats_.cancel();
    });
  }
  void join() {
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 protected:
  void resume_later(Connection& connection) final {
    asio::defer(context_, [&connection] { resume(connection); });
  }

  const TransportParts& parts_;
  asio::io_context context_;

 private:
  static constexpr std::int64_t between_beats_ns = 1'000'000'000;

  // Records that a thread of the queue makes progress.
  void beat() {
    beat_ns_.store(monotonic_ns(), std::memory_order_relaxed);
    if (closing_) return;
    beats_.expires_after(std::chrono::nanoseconds(between_beats_ns));
    beats_.async_wait([this](const boost::system::error_code&) { beat(); });
  }

  ConnectionTable& table_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  asio::strand<asio::io_context::executor_type> accept_strand_{context_.get_executor()};
  StreamAcceptor acceptor_;
  asio::steady_timer beats_{accept_strand_};
  bool closing_ = false;  // used on the strand
  std::atomic<std::int64_t> beat_ns_{0};
  const std::uint16_t port_;
  std::vector<std::thread> threads_;
};

class PoolQueue final : public EventQueue {
 public:
  static constexpr const char* name = "pool";
  static constexpr bool one_for_each_thread = false;

  PoolQueue(const TransportParts& parts, std::uint16_t port, ConnectionTable& table)
      : EventQueue(parts, port, table, BOOST_ASIO_CONCURRENCY_HINT_DEFAULT, one_for_each_thread) {}

 private:
  void submit(Connection& connection) override {
    Submission* const one = &connection;
    parts_.service.submit({&one, 1});
  }
  // Core threads call it. It posts one function for all connections; the resumptions that the
  // function defers are queued together when it returns, for all threads of the pool. If each were
  // posted here, a pool thread on the core's CPU would wake up and sleep again for each of them.
  void completed(std::span<Submission* const> submissions) override {
    if (submissions.size() == 1)
      resume_later(*static_cast<Connection*>(submissions[0]));
    else
      asio::post(context_, [this, all = std::vector(submissions.begin(), submissions.end())] {
        for (Submission* one : all) resume_later(*static_cast<Connection*>(one));
      });
  }
};

// Submits all connections that become ready in one turn together at its end, and receives the
// completions of a batch together: many requests need one lock and one wake-up in each direction.
class LoopQueue final : public EventQueue {
 public:
  static constexpr const char* name = "loop";
  static constexpr bool one_for_each_thread = true;

  LoopQueue(const TransportParts& parts, std::uint16_t port, ConnectionTable& table)
      : EventQueue(parts, port, table, 1, one_for_each_thread) {}

 private:
  // Loop thread. The posted function runs after all handlers that are ready now.
  void submit(Connection& connection) override {
    if (ready_.empty())
      asio::post(context_, [this] {
        flushed_.clear();
        flushed_.swap(ready_);
        parts_.service.submit(flushed_);
      });
    ready_.push_back(&connection);
  }

  // Core threads call it.
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

  std::vector<Submission*> ready_, flushed_, resumed_;  // loop thread
  Guarded<std::vector<Submission*>> completed_;
};

template <class Queue>
class EventPolicy final : public Transport {
 public:
  explicit EventPolicy(const TransportParts& parts)
      : parts_(parts),
        table_(parts.options.limits, parts.protocol, parts.metrics, parts.certificate != nullptr),
        threads_(parts.options.threads > 0 ? parts.options.threads : usable_cpus()) {
    std::uint16_t port = parts.options.port;
    // With SO_REUSEPORT a second server of the same user would silently share the port. Check first
    // whether the port is free.
    if (Queue::one_for_each_thread && port != 0) {
      asio::io_context context;
      listen(context, listening(parts.options, port));
    }
    for (unsigned i = 0; i < (Queue::one_for_each_thread ? threads_ : 1); ++i) {
      queues_.push_back(std::make_unique<Queue>(parts_, port, table_));
      port = this->port();
    }
    if (!parts.options.local.path.empty())
      local_.emplace(queues_.front()->accept_executor(), parts.options.local,
                     parts.options.limits.listen_backlog, "--listen");
    try {
      for (const auto& queue : queues_) queue->start(Queue::name, threads_ / queues_.size());
    } catch (const std::system_error& error) {  // with fewer threads the server does not start
      for (const auto& queue : queues_) queue->join();
      throw std::system_error(error.code(),
                              "cannot start " + std::to_string(threads_) + " threads (--threads)");
    }
    for (const auto& queue : queues_) queue->accept();
    if (local_) accept_local();
  }
  ~EventPolicy() override { stop(); }

  std::uint16_t port() const override { return queues_.front()->port(); }
  unsigned threads() const override { return threads_; }
  std::int64_t silence_ns(std::int64_t now_ns) const override {
    std::int64_t longest = 0;
    for (const auto& queue : queues_) longest = std::max(longest, queue->silence_ns(now_ns));
    return longest;
  }

  void stop() override {
    if (std::exchange(stopped_, true)) return;
    table_.begin_stop();
    for (const auto& queue : queues_) queue->close_acceptor();
    if (local_)
      asio::post(queues_.front()->accept_executor(), [this] { local_->acceptor.close(); });
    table_.wait_until_empty();
    for (const auto& queue : queues_) queue->join();
  }

 private:
  // The first queue accepts, and the queues serve in turns.
  void accept_local() {
    accept_clients(
        queues_.front()->accept_executor(), local_->acceptor,
        [this](StreamSocket socket) {
          queues_[next_++ % queues_.size()]->serve(std::move(socket));
        },
        table_, parts_);
  }

  const TransportParts parts_;
  ConnectionTable table_;
  const unsigned threads_;
  std::vector<std::unique_ptr<EventQueue>> queues_;
  std::optional<LocalListener> local_;  // ends before the queues
  std::size_t next_ = 0;                // of the queues; on the first one's strand
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Transport> make_pool_policy(const TransportParts& parts) {
  return std::make_unique<EventPolicy<PoolQueue>>(parts);
}

std::unique_ptr<Transport> make_loop_policy(const TransportParts& parts) {
  return std::make_unique<EventPolicy<LoopQueue>>(parts);
}

}  // namespace exchange
