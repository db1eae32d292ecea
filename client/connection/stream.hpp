#pragma once
// A connection to a server, with TLS or without, in blocking steps that a timeout and a stop flag
// end; and a request with its reply over it. Thread: the caller's, one at a time. Owner: the
// caller.

#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>

#include "client/connection/framing.hpp"
#include "client/connection/socket.hpp"

namespace exchange {
class AnyStream;
}

namespace exchange::client {

// With TLS the server's certificate is checked, against the system's authorities or those of `ca`.
struct Security {
  bool tls = false;
  std::string ca;         // a PEM file
  bool insecure = false;  // not checked
};

class Stream {
 public:
  // `peer` is HOST:PORT: for messages, and the name that its certificate must have. With TLS the
  // handshake is done here. Throws Unreachable, Interrupted; std::invalid_argument if
  // `security.ca` cannot be used.
  Stream(Descriptor connected, std::string peer, double timeout_s, const StopFlag& stop,
         const Security& security = {});
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  const std::string& peer() const { return peer_; }
  int socket() const;
  // Whether the server has closed it. Call it between requests, without TLS.
  bool has_ended() const;

  // Sends `request`, and returns what came once `is_complete` is true of it. Reads while it sends:
  // a server may reply to the first of many requests. Throws NoReply after `timeout_s` in which
  // nothing moved, ConnectionEnded, Interrupted; after these the stream is of no use.
  std::string send_and_receive(std::string_view request,
                               const std::function<bool(std::string_view)>& is_complete);

  // For a protocol of the caller's own, such as WebSocket: hands over the connection …
  AnyStream release();
  // … and runs the handlers of its operations until one sets `done`. False after `wait_s`; throws
  // Interrupted.
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

// Sends one document and returns that of its reply. Throws NoReply, BadReply, Interrupted.
std::string ask(Stream& stream, std::string_view document);
// The same, and the end of the stream. What it throws quotes the request.
std::string ask_once(Stream stream, std::string_view document);
// The same on a connection of its own. Throws Unreachable too.
std::string ask(const Address& address, std::string_view document, double timeout_s,
                const StopFlag& stop);

}  // namespace exchange::client
