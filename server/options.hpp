#pragma once
// The settings of a server, from the command line or EXCHANGE_* variables. Each module owns its
// limits, with default, unit and reason; here they are only put together.

#include <cstdint>
#include <optional>
#include <string>

#include "auth/limits.hpp"
#include "base/option_variables.hpp"
#include "core/limits.hpp"
#include "engine/limits.hpp"
#include "http/limits.hpp"
#include "net/limits.hpp"
#include "protocol/limits.hpp"
#include "store/limits.hpp"

namespace exchange {

struct Options {
  std::string store = "sqlite:exchange.db";
  std::optional<std::uint16_t> http_port = 8080;  // 0 picks a free one; nothing: no HTTP
  std::string http_bind;                          // IP address; the same as net.bind by default
  std::string log_level = "info";
  StoreLimits store_limits;
  bool standby = false;  // wait while another server is active
  // 0: as memory allows (memory_plan.hpp)
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
  OptionVariables variables;  // where values came from, for messages about them
};

// The options of this command line and environment. On --help or an error prints and exits (0 or
// 2).
Options parse_options(int argc, char** argv);

}  // namespace exchange
