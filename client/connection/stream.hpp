#pragma once
// A connection to a server, under TLS or not, in blocking steps that a timeout and a stop flag end;
// and a request with its reply over it. Thread: the caller's, one at a time. Owner: the caller.

#include <memory>

#include "client/connection/framing.hpp"
#include "client/connection/socket.hpp"

namespace exchange::client {

// Under TLS the server's certificate is checked, against the system's authorities or those of `ca`.
struct Security {
  bool tls = false;
  std::string ca;         // a PEM file
  bool insecure = false;  // not checked
};

class Stream {
 public:
  // `peer` is HOST:PORT: for messages, and the name that its certificate must have. With TLS the
  // handshake is done here. Throws Unreachable, Interrupted; std::invalid_argument where
  // `security.ca` cannot be used.
  Stream(Descriptor connected, std::string peer, double timeout_s, const StopFlag& stop,
         const Security& security = {});
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  const std::string& peer() const { return peer_; }
  int socket() const { return socket_.number(); }

  // Sends all of it. Throws NoReply after `timeout_s` in which nothing moved, ConnectionEnded,
  // Interrupted; so do the others.
  void write(std::string_view bytes);
  // Waits for bytes; at most `bytes_max` of them. 0: the server closed the connection.
  std::size_t read(char* bytes, std::size_t bytes_max);
  // Whether read() will return at once, after waiting for at most so long.
  bool wait_readable(double wait_s);
  // Sends `request`, and returns what came once `is_complete` is true of it. Reads while it sends:
  // a server may reply to the first of many requests.
  std::string send_and_receive(std::string_view request,
                               const std::function<bool(std::string_view)>& is_complete);

 private:
  struct Tls;
  enum class Step { done, wait, ended };
  Step try_write(std::string_view& bytes);
  Step try_read(char* bytes, std::size_t bytes_max, std::size_t& count);
  Step after_tls(int result);
  void handshake(const Security& security);
  bool wait(bool to_write, double wait_s) const;
  [[noreturn]] void timed_out() const;
  [[noreturn]] void ended() const;

  Descriptor socket_;
  std::string peer_;
  double timeout_s_;
  const StopFlag* stop_;
  std::unique_ptr<Tls> tls_;  // null: none
  int error_ = 0;             // errno of the step that found the end; 0: closed by the server
};

// Sends one document and returns that of its reply. Throws NoReply, BadReply, Interrupted.
std::string ask(Stream& stream, std::string_view document);
// The same on a connection of its own. What it throws quotes the request. Throws Unreachable too.
std::string ask(const Address& address, std::string_view document, double timeout_s,
                const StopFlag& stop);

}  // namespace exchange::client
