#pragma once
// One blocking thread per client: the classic, and the fair baseline.

#include <memory>

#include "net/transport.hpp"

namespace exchange {

std::unique_ptr<Transport> make_thread_policy(const TransportParts& parts);

}  // namespace exchange
