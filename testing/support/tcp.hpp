#pragma once
// A real server in this process - core, memory store, one transport on a free port - and plain
// blocking clients for it.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "auth/authenticator.hpp"
#include "core/core.hpp"
#include "net/certificate.hpp"
#include "net/transport.hpp"
#include "options.hpp"
#include "support/local.hpp"

namespace exchange {

inline const char* name_of(Policy policy) {
  return policy == Policy::thread ? "thread" : policy == Policy::pool ? "pool" : "loop";
}

// Commits nothing while it is held.
class HeldStore final : public MemoryStore {
 public:
  void append(BatchNumber batch, std::string_view payload) override {
    held_.when([](const bool& held) { return !held; }, [](bool&) {});
    MemoryStore::append(batch, payload);
  }
  void hold(bool held) {
    held_.with([&](bool& now) { now = held; });
    held_.notify();
  }

 private:
  Guarded<bool> held_;
};

class TcpServer {
 public:
  // `adjust` may change its options before it starts: also to keys and TLS.
  explicit TcpServer(Policy policy, const std::function<void(Options&)>& adjust = {});
  ~TcpServer();
  std::uint16_t port() const { return transport_->port(); }
  // Returns after how many milliseconds it had stopped.
  long long stop();
  Metrics& metrics() { return metrics_; }
  HeldStore& store() { return store_; }
  Certificate& certificate() { return *certificate_; }

 private:
  static Options make_options(Policy policy, const std::function<void(Options&)>& adjust);
  static Recovered open(Store& store);

  const Options options_;
  Metrics metrics_;
  HeldStore store_;
  FixedClock clock_;
  KeyRing keys_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<Certificate> certificate_;
  std::unique_ptr<Transport> transport_;
};

// Thread: one at a time. What should come and does not within its patience counts as the end.
class TcpClient {
 public:
  // `receive_buffer` 0: the system's. `from`: the client's own address; null: the system's choice.
  // `secure`: speaks TLS, and takes any certificate.
  explicit TcpClient(std::uint16_t port, int receive_buffer = 0, const char* from = nullptr,
                     bool secure = false);
  ~TcpClient();
  TcpClient(const TcpClient&) = delete;

  // False where the server does not take it (any more).
  bool send(std::string_view bytes);
  bool send_bytewise(std::string_view bytes);
  // Sends what can be sent without waiting; returns how much.
  std::size_t send_without_waiting(std::string_view bytes);
  // Whether the server's system has acknowledged all that was sent.
  bool has_arrived() const;
  // Serial number of the server's certificate.
  long serial() const;
  // Whether the server said, in TLS, that it sends no more.
  bool was_told_the_end() const;
  // No more will be sent; replies can still be read.
  void end();
  // The same without saying so in TLS.
  void end_of_tcp();
  // The next bytes through "</results>\n", or all that came before the end.
  std::string reply();
  // All that comes until the server closes; "[open]" follows where it does not.
  std::string rest();
  // Whether what came last was no end in order, but a reset: elsewhere than on one machine, it may
  // overtake replies.
  bool was_reset() const { return reset_; }

 private:
  bool receive();

  struct Tls;
  int socket_;
  std::unique_ptr<Tls> tls_;
  bool closed_ = false, reset_ = false;
  std::string received_;
};

}  // namespace exchange
