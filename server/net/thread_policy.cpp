// thread: one blocking thread per client, the classic design and the fair baseline.

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "net/connection.hpp"

namespace exchange {
namespace {

namespace asio = boost::asio;

// A semaphore that its waiter may destroy as soon as it is released: sem_post() does not access the
// semaphore after that, but std::binary_semaphore::release() may.
class Semaphore {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  void release() { sem_post(&semaphore_); }
  // On few CPUs it is often enough to let the other threads run, and cheaper than to sleep and be
  // woken.
  void acquire() {
    for (int i = 0; i < yields; ++i) {
      if (sem_trywait(&semaphore_) == 0) return;
      sched_yield();
    }
    while (sem_wait(&semaphore_) != 0) {  // a signal came
    }
  }

 private:
  static constexpr int yields = 4;
  sem_t semaphore_;
};

// The client of one thread, which waits in `done` until other threads complete their work.
struct BlockingClient : Client {
  using Client::Client;
  Semaphore done;
};

class ReleaseSink final : public CompletionSink {
 public:
  void completed(std::span<Submission* const> submissions) override {
    for (Submission* one : submissions) static_cast<BlockingClient*>(one)->done.release();
  }
};

// The thread of a client needs little stack: parsing recurses only to xml_depth_max.
void use_small_stacks() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr std::size_t stack_bytes = 256 * 1024;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#endif
}

class ThreadPolicy final : public Transport {
 public:
  explicit ThreadPolicy(const TransportParts& parts)
      : parts_(parts),
        table_(parts.options.limits, parts.protocol, parts.metrics, parts.certificate != nullptr),
        acceptor_(listen(context_, listening(parts.options, parts.options.port))) {
    use_small_stacks();
    if (const LocalSocket& local = parts.options.local; !local.path.empty())
      local_.emplace(context_.get_executor(), local, parts.options.limits.listen_backlog,
                     "--listen");
    accept_on(acceptor_);
    if (local_) accept_on(local_->acceptor);
  }
  ~ThreadPolicy() override { stop(); }

  std::uint16_t port() const override { return port_of(acceptor_); }
  unsigned threads() const override { return 0; }
  std::int64_t silence_ns(std::int64_t) const override { return 0; }

  void stop() override {
    if (accept_threads_.empty()) return;
    table_.begin_stop();
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);  // wakes accept()
    if (local_) ::shutdown(local_->acceptor.native_handle(), SHUT_RDWR);
    for (std::thread& thread : accept_threads_) thread.join();
    accept_threads_.clear();
    table_.wait_until_empty();
    clients_.when([](const int& clients) { return clients == 0; }, [](int&) {});
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    local_.reset();
  }

 private:
  void accept_on(StreamAcceptor& acceptor) {
    accept_threads_.emplace_back([this, &acceptor] {
      pthread_setname_np(pthread_self(), "accept");
      accept(acceptor);
    });
  }

  void accept(StreamAcceptor& acceptor) {
    while (!table_.stopping()) try {
        boost::system::error_code error;
        StreamSocket socket = acceptor.accept(error);
        if (!error)
          start_client(std::move(socket));
        else if (!table_.stopping())
          handle(error);
      } catch (const std::exception& error) {  // no memory for one more
        log_error("a connection could not be accepted: {}", error.what());
        pause();
      }
  }

  void handle(const boost::system::error_code& error) {
    Metrics::add(parts_.metrics.accept_failures);
    if (!is_fd_exhaustion(error)) return;
    table_.handle_fd_exhaustion();
    pause();
  }

  void pause() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(parts_.options.limits.accept_retry_ms));
  }

  void start_client(StreamSocket socket) {
    auto client = admit_client<BlockingClient>(std::move(socket), sink_, table_, parts_);
    if (client != nullptr) start_thread(client);
  }

  // The new thread owns the client. If the thread cannot be started, the client is closed.
  void start_thread(std::unique_ptr<BlockingClient>& client) {
    clients_.with([](int& clients) { ++clients; });
    try {
      std::thread([this, one = client.get()] {
        pthread_setname_np(pthread_self(), "client");
        serve(std::unique_ptr<BlockingClient>(one));
        clients_.with([this](int& clients) {
          --clients;
          clients_.notify();  // under the lock: stop() may return immediately after it
        });
      }).detach();
      static_cast<void>(client.release());  // the thread owns it
    } catch (const std::exception& error) {
      log_error("no thread for a client: {}", error.what());
      client.reset();  // first, so that handle_fd_exhaustion() counts only the others
      clients_.with([](int& clients) { --clients; });
      table_.handle_fd_exhaustion();
    }
  }

  void serve(std::unique_ptr<BlockingClient> client) try {
    run(*client);
  } catch (const std::exception& error) {
    log_error("a connection failed: {}", error.what());
  }

  // Drives the conversation: performs its steps and waits for them.
  void run(BlockingClient& client) {
    using Step = Conversation::Step;
    Conversation& conversation = client.conversation;
    Stream<StreamSocket>& stream = client.stream;
    StreamSocket& socket = stream.next_layer();
    Submission* const submission = &client;
    for (Step step = conversation.start(); step != Step::close;) {
      boost::system::error_code error;
      std::size_t bytes = 0;
      switch (step) {
        case Step::handshake:
          stream.secure().handshake(asio::ssl::stream_base::server, error);
          parts_.certificate->charge(Certificate::Port::xml, conversation.address(),
                                     stream.secure().native_handle());
          break;
        case Step::receive: bytes = stream.read_some(as_buffer(conversation.space()), error); break;
        case Step::check_keys:
          conversation.check_keys([&client] { client.done.release(); });
          client.done.acquire();
          break;
        case Step::execute:
          parts_.service.submit({&submission, 1});
          client.done.acquire();
          break;
        case Step::send_now: bytes = send_now(socket, conversation.output(), error); break;
        case Step::send:
          bytes = asio::write(stream, asio::buffer(conversation.output()), error);
          break;
        case Step::shut_down_tls: stream.secure().shutdown(error); break;
        case Step::end_output: socket.shutdown(asio::socket_base::shutdown_send, error); break;
        case Step::discard: bytes = socket.read_some(as_buffer(conversation.space()), error); break;
        case Step::close: break;
      }
      step = conversation.next(error, bytes);
    }
  }

  const TransportParts parts_;
  ReleaseSink sink_;
  ConnectionTable table_;
  Guarded<int> clients_;  // threads that may still touch this object
  asio::io_context context_;
  StreamAcceptor acceptor_;
  std::optional<LocalListener> local_;
  std::vector<std::thread> accept_threads_;
};

}  // namespace

std::unique_ptr<Transport> make_thread_policy(const TransportParts& parts) {
  return std::make_unique<ThreadPolicy>(parts);
}

}  // namespace exchange
