#pragma once
// pool: a fixed number of threads over one event queue. loop: one event loop per thread, each with
// its own acceptor (SO_REUSEPORT), run to completion. Both run the coroutine of connection.hpp.

#include <memory>

#include "net/transport.hpp"

namespace exchange {

std::unique_ptr<Transport> make_pool_policy(const TransportParts& parts);
std::unique_ptr<Transport> make_loop_policy(const TransportParts& parts);

}  // namespace exchange
