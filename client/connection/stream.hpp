#pragma once
// A connection to a server, with or without TLS. It sends a request and reads the reply in blocking
// steps that a timeout and a stop flag end. Thread: the caller's, one at a time. Owner: the caller.

#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>

#include "client/connection/framing.hpp"
#include "client/connection/socket.hpp"

namespace exchange {
class AnyStream;
}

namespace exchange::client {

// TLS checks the server's certificate against the system's authorities, or against those of `ca`.
struct Security {
  bool tls = false;
  std::string ca;         // a PEM file
  bool insecure = false;  // true: the certificate is not checked
};

class Stream {
 public:
  // `peer` is HOST:PORT: messages show it, and the server's certificate must have this name. The
  // constructor performs the TLS handshake. Throws Unreachable, Interrupted; std::invalid_argument
  // if `security.ca` cannot be used.
  Stream(Descriptor connected, std::string peer, double timeout_s, const StopFlag& stop,
         const Security& security = {});
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  const std::string& peer() const { return peer_; }
  int socket() const;

  // Sends `request`, and returns the received bytes once `is_complete` is true for them. Reads
  // while it sends: a server may reply to the first of many requests. Throws NoReply if no byte
  // moves for `timeout_s`, ConnectionEnded, Interrupted. After an exception the stream cannot be
  // used.
  std::string send_and_receive(std::string_view request,
                               const std::function<bool(std::string_view)>& is_complete);

  // For a protocol that the caller implements, such as WebSocket: gives up the connection …
  AnyStream release();
  // … and runs the handlers of its operations until one sets `done`. Returns false after `wait_s`;
  // throws Interrupted.
  bool run_until(const bool& done, double wait_s);
  [[noreturn]] void throw_timeout() const;
  [[noreturn]] void throw_ended(const boost::system::error_code& error) const;

 private:
  struct Layers;
  void tls_handshake(const Security& security);

  std::unique_ptr<Layers> layers_;
  std::string peer_;
  double timeout_s_;
  const StopFlag* stop_;
};

// Sends one document and returns the reply document. Throws NoReply, BadReply, Interrupted.
std::string ask(Stream& stream, std::string_view document);
// The same, then closes the stream. Exceptions quote the request.
std::string ask_once(Stream stream, std::string_view document);
// The same on a new connection to the active server, at most once. Also throws Unreachable.
std::string ask(Servers& servers, std::string_view document, double timeout_s,
                const StopFlag& stop);

}  // namespace exchange::client
