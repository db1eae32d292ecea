#include "net/thread_policy.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <semaphore>
#include <thread>

#include "auth/peer.hpp"
#include "base/fail_point.hpp"
#include "net/certificate.hpp"
#include "net/listener.hpp"
#include "net/stream.hpp"
#include "protocol/session.hpp"

namespace exchange {
namespace {

namespace asio = boost::asio;

struct BlockingSubmission : Submission {
  std::binary_semaphore done{0};
};

struct Client : Stream<tcp::socket> {
  using Stream::Stream;
  Activity activity;
};

class ReleaseSink final : public CompletionSink {
 public:
  void completed(std::span<Submission* const> submissions) override {
    for (Submission* submission : submissions)
      static_cast<BlockingSubmission*>(submission)->done.release();
  }
};

// A client's thread needs little stack: parsing recurses to xml_depth_max only.
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
  ThreadPolicy(const Options& options, Service& service, Metrics& metrics, Certificate* certificate)
      : options_(options),
        service_(service),
        metrics_(metrics),
        certificate_(certificate),
        connections_(options, metrics, certificate != nullptr),
        acceptor_(listen(context_, options.bind, options.port, Sharing::exclusive,
                         options.transport.listen_backlog)) {
    use_small_stacks();
    accept_thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "accept");
      accept();
    });
  }
  ~ThreadPolicy() override { stop(); }

  std::uint16_t port() const override { return acceptor_.local_endpoint().port(); }
  unsigned threads() const override { return 0; }

  void stop() override {
    if (!accept_thread_.joinable()) return;
    connections_.begin_stop();
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);  // wakes accept()
    accept_thread_.join();
    connections_.begin_stop();  // what was accepted in between
    connections_.wait_until_empty();
    clients_.when([](const int& clients) { return clients == 0; }, [](int&) {});
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  void accept() {
    while (true) {
      boost::system::error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (connections_.stopping()) return;
      if (error) {
        Metrics::add(metrics_.accept_failures);
        if (!is_shortage(error)) continue;
        connections_.handle_fd_exhaustion();
        std::this_thread::sleep_for(std::chrono::milliseconds(options_.transport.accept_retry_ms));
        continue;
      }
      welcome(std::move(socket));
    }
  }

  void welcome(tcp::socket socket) try {
    const auto context = certificate_ == nullptr ? nullptr : certificate_->context();
    const auto client = std::make_shared<Client>(std::move(socket), context.get());
    if (connections_.add(client->next_layer(), client->activity)) start_client(client);
  } catch (const std::exception& error) {  // no memory for one more
    spdlog::error("a connection could not be served: {}", error.what());
  }

  void start_client(std::shared_ptr<Client> shared) {
    clients_.with([](int& clients) { ++clients; });
    try {
      std::thread([this, shared]() mutable {
        pthread_setname_np(pthread_self(), "client");
        serve_in(*shared);
        forget(std::move(shared));
      }).detach();
    } catch (const std::system_error& error) {
      spdlog::error("no thread for a client: {}", error.what());
      forget(std::move(shared));  // first: there is room for the others only
      connections_.handle_fd_exhaustion();
    }
  }

  void forget(std::shared_ptr<Client> client) {
    connections_.remove(client->next_layer());
    client.reset();  // before stop() may return, and our context go
    clients_.with([this](int& clients) {
      --clients;
      clients_.notify();  // under the lock: stop() may end right after
    });
  }

  void serve_in(Client& client) try {
    if (!client.is_secure()) return serve(client);
    boost::system::error_code error;
    connections_.expect_request(client.next_layer(), 0);
    client.secure().handshake(asio::ssl::stream_base::server, error);
    connections_.keep(client.next_layer());
    if (!error) return serve(client);
    Metrics::add(metrics_.tls_failures);
  } catch (const std::exception& error) {
    spdlog::error("a connection failed: {}", error.what());
  }

  // The blocking loop.
  void serve(Client& client) {
    tcp::socket& socket = client.next_layer();
    Session session(options_.protocol);
    BlockingSubmission submission;
    submission.sink = &sink_;
    submission.credentials = session.credentials();
    if (submission.credentials != nullptr)
      submission.credentials->peer = peer_of(peer_address(socket));
    boost::system::error_code error;
    bool watched = false;  // has a deadline
    StageStamps& stamps = submission.stamps;
    while (!session.finished()) {
      stamps.begin();
      if (session.take_requests()) {
        stamps.end(Stage::parse);
        Metrics::add(metrics_.requests, session.requests());
        if (const std::size_t errors = session.errors(); errors > 0)
          Metrics::add(metrics_.client_errors, errors);
        watched = connections_.begin_requests(socket, client.activity, session, watched);
        const bool executed = !session.commands().empty();
        if (executed) {
          submission.commands = session.commands();
          Submission* const one = &submission;
          service_.submit({&one, 1});
          submission.done.acquire();
        }
        stamps.end(Stage::deliver);
        session.reply(submission.outcomes);
        submission.forget_outcomes();
        connections_.end_requests(socket, client.activity, watched);
        watched = false;
        fail_point("reply.before_send");
        // Replies nearly always fit the socket's buffer; only one that does not has to wait for its
        // reader.
        const std::string& output = session.output();
        const ssize_t sent = client.is_secure()
                                 ? 0
                                 : ::send(socket.native_handle(), output.data(), output.size(),
                                          MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent != ssize_t(output.size())) {
          connections_.expect_taking(socket, session.memory_bytes());
          watched = true;
          asio::write(client, asio::buffer(output) + std::size_t(std::max<ssize_t>(sent, 0)),
                      error);
          if (error) return;
        }
        fail_point("reply.after_send");
        stamps.end(Stage::write);
        if (executed) metrics_.stage_times.record(stamps);
        session.output().clear();
        if (watched) connections_.keep(socket);
        watched = false;
      } else if (!session.finished()) {
        if (session.has_partial_request())
          connections_.expect_request(socket, session.memory_bytes(),
                                      session.document_is_complete());
        watched |= session.has_partial_request();
        const std::span<char> space = session.read_space();
        const std::size_t bytes = client.read_some(asio::buffer(space.data(), space.size()), error);
        if (is_end_of_stream(error))
          session.end_of_stream();
        else if (error)
          return;
        else
          session.received(bytes);
      }
    }
    if (session.refused()) Metrics::add(metrics_.bad_frames);
    if (client.is_secure()) {
      connections_.expect_end(socket);
      boost::system::error_code ignored;
      client.secure().shutdown(ignored);
    }
    if (!session.closed_by_server()) return;
    connections_.linger(socket);
    char discarded[4096];
    while (!error) socket.read_some(asio::buffer(discarded), error);
  }

  const Options& options_;
  Service& service_;
  Metrics& metrics_;
  Certificate* const certificate_;
  ReleaseSink sink_;
  ConnectionRegistry connections_;
  Guarded<int> clients_;  // threads that may still touch this object
  asio::io_context context_;
  tcp::acceptor acceptor_;
  std::thread accept_thread_;
};

}  // namespace

std::unique_ptr<Transport> make_thread_policy(const Options& options, Service& service,
                                              Metrics& metrics, Certificate* certificate) {
  return std::make_unique<ThreadPolicy>(options, service, metrics, certificate);
}

}  // namespace exchange
