#pragma once
// A blocking client over TCP, plain or TLS, and requests over HTTP. Thread: one at a time.

#include <memory>
#include <string>
#include <string_view>

#include "support/xml_text.hpp"

namespace exchange::testing {

class TcpClient {
 public:
  struct Settings {
    int receive_buffer = 0;        // bytes; 0: the system's
    const char* from = nullptr;    // the client's own address; null: the system's choice
    bool secure = false;           // speaks TLS, and accepts any certificate
    const char* groups = nullptr;  // of key exchanges that it offers; null: OpenSSL's choice
    int patience_s = 10;           // a reply that takes longer counts as the end; 0: waits forever
  };
  // Throws std::system_error if the connection is refused, std::runtime_error if the handshake is.
  explicit TcpClient(unsigned port, const Settings& settings);
  explicit TcpClient(unsigned port) : TcpClient(port, Settings{}) {}
  ~TcpClient();
  TcpClient(const TcpClient&) = delete;
  TcpClient& operator=(const TcpClient&) = delete;

  // Sends one request and returns its reply; empty if the connection ended before the reply was
  // complete.
  std::string request(std::string_view xml);
  // Returns false if the server does not accept the bytes (any more).
  bool send(std::string_view bytes);
  bool send_bytewise(std::string_view bytes);
  // Sends what can be sent without waiting; returns the number of bytes.
  std::size_t send_without_waiting(std::string_view bytes);
  // Returns whether the server's system has acknowledged all sent bytes.
  bool has_arrived() const;
  // Returns the serial number of the server's certificate.
  long serial() const;
  // Returns whether the server has sent the end of its stream in TLS (close_notify).
  bool has_tls_end() const;
  // Ends sending; replies can still be read.
  void end();
  // Does the same without TLS's close_notify.
  void end_of_tcp();
  // Returns the next bytes through "</results>
  // ", or all bytes before the end.
  std::string reply();
  // Returns all bytes until the server closes; "[open]" follows if it does not.
  std::string rest();
  // Returns whether the stream ended with a reset: between two machines it may overtake replies.
  bool was_reset() const { return reset_; }

 private:
  bool receive();

  struct Tls;
  int socket_;
  std::unique_ptr<Tls> tls_;
  bool closed_ = false, reset_ = false;
  std::string received_;
};

// Sends a request such as "GET /metrics" with these fields, each a line; returns the response.
std::string ask_http(unsigned port, const std::string& request, const std::string& fields = "",
                     const std::string& body = "");
// Returns a value of /metrics; `name` stands behind "exchange_".
std::uint64_t read_metric(unsigned http_port, const std::string& name);

// For a server whose store may be slow, or unavailable for a while.
inline constexpr TcpClient::Settings patient{.patience_s = 120};

}  // namespace exchange::testing
