#pragma once
// The settings of a server, from the command line or EXCHANGE_* variables. Each module owns its
// limits, with default, unit and reason; this file only combines them.

#include <cstdint>
#include <optional>
#include <string>

#include "auth/limits.hpp"
#include "base/option.hpp"
#include "base/option_variables.hpp"
#include "core/limits.hpp"
#include "engine/limits.hpp"
#include "net/limits.hpp"
#include "protocol/limits.hpp"
#include "store/limits.hpp"
#include "web/limits.hpp"

namespace exchange {

struct Options {
  std::string store = "sqlite:exchange.db";
  std::optional<std::uint16_t> http_port = 8080;  // 0 picks a free one; empty: no HTTP
  std::string http_bind;                          // IP address; the same as net.bind by default
  LocalSocket http_listen;
  std::string log_level = "info";
  StoreLimits store_limits;
  bool standby = false;   // wait while another server is active
  std::string timetable;  // path of its file; empty: none
  // 0: plan_memory() sets the limit (resource_plan.hpp)
  StateLimits state{.accounts_max = 0,
                    .symbols_max = 0,
                    .positions_max = 0,
                    .open_orders_max = 0,
                    .open_orders_per_account_max = 0,
                    .references_max = 0,
                    .executions_max = 0,
                    .executions_per_account_max = 0};
  ProtocolLimits protocol;
  CoreLimits core;
  NetOptions net;
  HttpLimits http;
  AuthLimits auth;
  TlsFiles tls;
  OptionVariables variables;  // the variables that values came from, for error messages
};

template <class Add>
void add_options(Options& options, Add add) {
  add_options(options.net, add);
  add("--store", options.store, store_urls.c_str());
  add("--standby", options.standby,
      "follow the active server, and take over when it ends; PostgreSQL only "
      "(docs/operations.md#standby-servers)");
  add_options(options.store_limits, add);
  add("--timetable", options.timetable,
      "file of the times at which trading opens, closes or is an auction "
      "(docs/trading-days.md#timetable)");
  add("--http-port", options.http_port,
      "port for the dashboard, /metrics and the rest of HTTP; 0 picks a free one, off: none",
      Range{0, 65'535});
  add("--http-bind", options.http_bind,
      "IP address of the HTTP port, such as 127.0.0.1 for a dashboard that only this machine sees; "
      "empty: that of --bind",
      IpAddress{});
  add("--http-listen", options.http_listen,
      "UNIX-domain socket of HTTP beside the HTTP port, as --listen");
  add("--log-level", options.log_level, "least severe message on stderr",
      Words{"debug", "info", "warn", "error", "off"});
  add_options(options.protocol, add);
  add_options(options.auth, add);
  add_options(options.tls, add);
  add_options(options.net.limits, add);
  add_options(options.state, add);
  add_options(options.core, add);
}

// Returns the options of this command line and environment. Prints and exits on --help (0) or an
// error (2).
Options parse_options(int argc, char** argv);

}  // namespace exchange
