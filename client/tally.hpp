#pragma once
// What a run counts. Latencies are in nanoseconds, from a request's first byte (or its connection's,
// where each has its own) to the end of its reply.

#include <array>
#include <cstdint>
#include <string>

#include "client/workload.hpp"
#include "metrics/histogram.hpp"

namespace exchange::loadgen {

enum class ErrorClass : std::uint8_t { connect, closed, timeout, wrong_answer };
inline constexpr std::size_t error_classes = 4;
const char* name_of(ErrorClass error);

struct Tally {
  std::uint64_t answered = 0;                             // replies, refusals among them
  std::array<std::uint64_t, request_kinds> refused{};     // right answers with an <error>
  std::array<std::uint64_t, error_classes> errors{};
  Histogram latency_ns;
  double seconds = 0;
  std::string first_refusal, first_wrong_answer, last_connect_error;
  bool stopped = false;  // before all was done

  std::uint64_t refused_in_all() const;
  std::uint64_t errors_in_all() const;
};

// A look at a run under way, once a second.
struct Snapshot {
  double elapsed_s;
  double share_done;               // 0 to 1
  double requests_per_s;           // since the last look, as are the latencies
  std::uint64_t p50_ns, p99_ns;
  std::uint64_t in_flight, answered, errors;
};

}  // namespace exchange::loadgen
