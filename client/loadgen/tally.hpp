#pragma once
// The counts of a run. Latencies are in nanoseconds. The service time runs from the first byte sent
// of a request to the end of its reply. The response time runs from the planned time of the
// request, so it includes the time that the request waited for its turn; without a plan, it runs
// from the time at which the client was free to send.

#include <array>
#include <cstdint>
#include <string>

#include "base/histogram.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

// refused: no connection. reset: a connection ended with its request unanswered. timeout: no answer
// in time. protocol: not a reply of this protocol. wrong_answer: a reply, but not to this request.
BOOST_DEFINE_FIXED_ENUM_CLASS(ErrorClass, std::uint8_t, refused, reset, timeout, protocol,
                              wrong_answer)

using ErrorCounts = std::array<std::uint64_t, enumerators<ErrorClass>>;
// right answers with an <error>, by what was asked for
using RejectionCounts = std::array<std::uint64_t, enumerators<Asked>>;

template <class Array>
void add_each(Array& to, const Array& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

struct Counts {
  std::uint64_t planned = 0;   // requests that became due
  std::uint64_t answered = 0;  // replies, including rejections
  std::uint64_t elements = 0;  // in those replies: one for each order, query, cancel or creation
  ErrorCounts errors{};
  std::uint64_t sent_again = 0;  // requests, with --retry
  RejectionCounts rejected{};
  Histogram response_ns, service_ns;
  // open loop: how long after its time a request reached its client; the slowness of this program
  Histogram lateness_ns;

  void add(const Counts& other);
  std::uint64_t errors_in_all() const;
  std::uint64_t rejected_in_all() const;
};

// The counts of one worker, or of all, between two ticks of the run (Ticks).
struct Interval : Counts {
  std::uint64_t in_flight = 0;  // at its end
};

// In milliseconds; 0 if `ns` is empty. `measure` must be a latency.
double latency_ms(Measure measure, const Histogram& ns);

// The first example of each kind of error, for the report.
struct Examples {
  std::string rejection, wrong_answer, connect_error;
  void add(const Examples& other);
};

}  // namespace exchange::loadgen
