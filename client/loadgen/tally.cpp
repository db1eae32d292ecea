#include "client/loadgen/tally.hpp"

#include <numeric>

namespace exchange::loadgen {
namespace {

template <class Array>
void add_each(Array& to, const Array& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

template <class Array>
std::uint64_t sum(const Array& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t(0));
}

void take_if_empty(std::string& to, const std::string& from) {
  if (to.empty()) to = from;
}

}  // namespace

const char* name_of(ErrorClass error) {
  switch (error) {
    case ErrorClass::refused: return "refused";
    case ErrorClass::reset: return "reset";
    case ErrorClass::timeout: return "timeout";
    case ErrorClass::protocol: return "protocol";
    case ErrorClass::wrong_answer: return "wrong answer";
  }
  return "";
}

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

void Examples::add(const Examples& other) {
  take_if_empty(rejection, other.rejection);
  take_if_empty(wrong_answer, other.wrong_answer);
  take_if_empty(connect_error, other.connect_error);
}

}  // namespace exchange::loadgen
