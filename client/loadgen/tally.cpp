#include "client/loadgen/tally.hpp"

#include <numeric>

namespace exchange::loadgen {
namespace {

template <class Array>
std::uint64_t sum(const Array& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t(0));
}

void take_if_empty(std::string& to, const std::string& from) {
  if (to.empty()) to = from;
}

}  // namespace

void Counts::add(const Counts& other) {
  planned += other.planned;
  answered += other.answered;
  elements += other.elements;
  add_each(errors, other.errors);
  sent_again += other.sent_again;
  add_each(rejected, other.rejected);
  response_ns.merge(other.response_ns);
  service_ns.merge(other.service_ns);
  lateness_ns.merge(other.lateness_ns);
}

std::uint64_t Counts::errors_in_all() const { return sum(errors); }
std::uint64_t Counts::rejected_in_all() const { return sum(rejected); }

double latency_ms(Measure measure, const Histogram& ns) {
  const auto at = [&](double share) { return double(ns.quantile(share)) / 1e6; };
  switch (measure) {
    case Measure::min: return at(0);
    case Measure::p50: return at(0.5);
    case Measure::p75: return at(0.75);
    case Measure::p90: return at(0.9);
    case Measure::p95: return at(0.95);
    case Measure::p99: return at(0.99);
    case Measure::p99_9: return at(0.999);
    case Measure::max: return double(ns.max()) / 1e6;
    default: return ns.mean() / 1e6;
  }
}

void Examples::add(const Examples& other) {
  take_if_empty(rejection, other.rejection);
  take_if_empty(wrong_answer, other.wrong_answer);
  take_if_empty(connect_error, other.connect_error);
}

}  // namespace exchange::loadgen
