#pragma once
// What a run counts. Latencies are in nanoseconds. Service time: from the first byte of a request
// sent to the end of its reply. Response time: from the moment at which the request was planned, so
// that it also holds how long the request waited for its turn; without a plan, from the moment at
// which the client was free to send it.

#include <array>
#include <cstdint>
#include <string>

#include "base/histogram.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

// No connection; a connection that ended with its request unanswered; no answer in time; no reply
// of this protocol; a reply, but not to this request.
BOOST_DEFINE_FIXED_ENUM_CLASS(ErrorClass, std::uint8_t, refused, reset, timeout, protocol,
                              wrong_answer)

using ErrorCounts = std::array<std::uint64_t, enumerators<ErrorClass>>;
// right answers with an <error>, by what was asked
using RejectionCounts = std::array<std::uint64_t, enumerators<Asked>>;

template <class Array>
void add_each(Array& to, const Array& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

struct Counts {
  std::uint64_t planned = 0;   // requests whose time had come
  std::uint64_t answered = 0;  // replies, rejections among them
  std::uint64_t elements = 0;  // in those replies: one for each order, query, cancel or creation
  ErrorCounts errors{};
  std::uint64_t sent_again = 0;  // requests, with --retry
  RejectionCounts rejected{};
  Histogram response_ns, service_ns;
  // open loop: how long after its time we handed a request to its client; our own slowness
  Histogram lateness_ns;

  void add(const Counts& other);
  std::uint64_t errors_in_all() const;
  std::uint64_t rejected_in_all() const;
};

// What one worker, or all, saw between two ticks of the run (ticks.hpp).
struct Interval : Counts {
  std::uint64_t in_flight = 0;  // at its end
};

// In milliseconds; 0 of nothing. `measure`: of a latency.
double latency_ms(Measure measure, const Histogram& ns);

// The first of each kind of trouble, for people.
struct Examples {
  std::string rejection, wrong_answer, connect_error;
  void add(const Examples& other);
};

}  // namespace exchange::loadgen
