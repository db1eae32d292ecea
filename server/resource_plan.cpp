#include "resource_plan.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>

#include "base/log.hpp"

namespace exchange {
namespace {

// The bytes of one object in the engine, in the replica for HTTP, and at a start, when rows of the
// tables are also in memory. They are measured and rounded up: an order alone at its price, an
// account with an id of 20 digits, a symbol with an order and five levels without orders on each
// side.
constexpr std::uint64_t order_bytes = 768, account_bytes = 1'024, symbol_bytes = 2'048,
                        position_bytes = 256, reference_bytes = 400, execution_bytes = 160,
                        trade_bytes = 64;
// The bytes of a changed row: in the engine and the projector, and on its way to HTTP.
constexpr std::uint64_t unprojected_row_bytes = 256, unread_row_bytes = 128;
constexpr std::uint64_t held_execution_bytes = 24;
constexpr std::uint64_t connection_bytes = 16 * 1'024;  // with its sockets in the kernel
constexpr std::size_t http_connections_max = 2'048;
// The minimum of each limit, so that a few large requests never use it up.
constexpr std::size_t least = 1'000;

void lower(std::size_t& limit, std::uint64_t bytes, std::uint64_t bytes_of_one) {
  limit = std::min(limit, std::max(std::size_t(bytes / bytes_of_one), least));
}
void fill(std::size_t& limit, std::uint64_t bytes, std::uint64_t bytes_of_one) {
  if (limit == 0) limit = std::max(std::size_t(bytes / bytes_of_one), least);
}

}  // namespace

void plan_memory(Options& options, std::uint64_t memory) {
  StateLimits& state = options.state;
  fill(state.open_orders_max, memory * 3 / 16, order_bytes);
  fill(state.open_orders_per_account_max, state.open_orders_max * 3 / 4, 1);
  fill(state.accounts_max, memory / 16, account_bytes);
  fill(state.symbols_max, memory / 16, symbol_bytes);
  fill(state.positions_max, memory / 32, position_bytes);
  fill(state.references_max, memory / 8, reference_bytes);
  fill(state.executions_max, memory / 32, execution_bytes);
  fill(state.executions_per_account_max, state.executions_max / 4, 1);

  lower(options.http.trades_in_all_max, memory / 64, trade_bytes);
  lower(options.core.unprojected_rows_max, memory / 16, unprojected_row_bytes);
  lower(options.http.unread_rows_max, memory / 32, unread_row_bytes);
  lower(options.core.executions_held_max, memory / 32, held_execution_bytes);
  if (options.net.limits.connections_max == 0) {
    options.net.limits.connections_max = NetLimits{}.connections_max;
    lower(options.net.limits.connections_max, memory / 16, connection_bytes);
  }
  lower(options.http.buffered_bytes_max, memory / 16, 1);
  // Half of the connections are subscribers, each of which may have a full backlog.
  const std::uint64_t http_connections = memory / 8 / options.http.websocket_backlog_bytes_max * 2;
  if (http_connections > options.http.connections_max)
    options.http.connections_max = std::min<std::uint64_t>(http_connections, http_connections_max);
  if (options.net.limits.buffered_bytes_max == 0)
    options.net.limits.buffered_bytes_max = std::min<std::size_t>(memory / 8, 1u << 30);
}

void plan_descriptors(Options& options) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto all = std::size_t(limit.rlim_cur);
  std::size_t& for_http = options.http.connections_max;
  for_http = options.http_port ? std::min(for_http, all / 8) : 0;
  std::size_t& closing = options.net.limits.closing_max;
  closing = std::min(closing, std::max<std::size_t>(all / 16, 1));
  // The process needs descriptors for files, databases and the reserve; each loop needs them for
  // its event queue and its listener.
  constexpr std::size_t of_process = 40, of_loop = 4, clients_min = 8;
  const std::size_t loops = options.net.policy == Policy::loop ? options.net.threads : 0;
  const std::size_t own = of_process + of_loop * loops + for_http + closing;
  if (all < own + clients_min)
    throw std::invalid_argument("the limit of " + std::to_string(all) +
                                " file descriptors is too low, " +
                                std::to_string(own + clients_min) +
                                " are needed; raise it (ulimit -n, LimitNOFILE= of systemd)");
  if (all - own >= options.net.limits.connections_max) return;
  log_warning("the limit of {} file descriptors allows {} connections, not {}", all, all - own,
              options.net.limits.connections_max);
  options.net.limits.connections_max = all - own;
}

}  // namespace exchange
