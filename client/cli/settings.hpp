#pragma once
// The settings of the terminal client, from its command line, and its limits. Plain values.

#include <chrono>
#include <string>

#include "client/connection/stream.hpp"

namespace exchange::cli {

struct Settings {
  std::string connect = "127.0.0.1:12345";  // the XML port; several with a comma between
  std::string http;                         // the same; empty: port 8080 of these hosts
  std::string account;                      // empty: none chosen
  std::string key;                          // of the account; empty: none
  std::string operator_key_file;            // read for what creates; empty: none
  std::string operator_key;                 // typed in place of a file
  client::Security security;
  bool xml = false;                   // show requests and replies as they are
  bool keep_going = false;            // scripts: on after a failure
  double timeout_s = 30;              // of a reply
  bool new_symbols = false;           // a buy may create its symbol
  bool retry = false;                 // orders get references, and are sent again
  double completion_timeout_s = 0.5;  // Tab waits no longer for the symbols …
  double completion_fresh_s = 5;      // … and does not ask again so soon

  std::string http_address() const;
  // Whether that is the exchange's own, as far as one can say: it was named, or both ports are the
  // usual ones.
  bool knows_http() const;
};

inline constexpr double connect_timeout_s = 5;
inline constexpr unsigned history_lines_max = 1'000;
// a command that shows something waits so long for the HTTP port to show what is committed …
inline constexpr std::chrono::milliseconds catch_up_max{5'000};
inline constexpr std::chrono::milliseconds catch_up_pause{10};  // … and asks so often
// for what a command tells beside what it was asked for
inline constexpr double aside_timeout_s = 2;
inline constexpr std::size_t history_orders_max = 50, noticed_orders_max = 1'000;
inline constexpr std::size_t http_body_bytes_max = 64u << 20;

}  // namespace exchange::cli
