// Names and texts of the values in options.hpp.

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "client/connection/command_line.hpp"
#include "client/loadgen/options.hpp"

namespace exchange::loadgen {

Mix mix_of(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::create: return {.create = 100};
    case WorkloadKind::transactions: return {.order = 100};
    case WorkloadKind::mix: return {.order = 70, .query = 20, .cancel = 10};
    case WorkloadKind::reads: return {.order = 25, .query = 75};
  }
  return {};
}

const char* name_of(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::create: return "create";
    case WorkloadKind::transactions: return "transactions";
    case WorkloadKind::mix: return "mix";
    case WorkloadKind::reads: return "reads";
  }
  return "";
}

const char* name_of(Arrivals arrivals) {
  return arrivals == Arrivals::uniform ? "uniform" : "poisson";
}

const char* name_of(AuditPrecision precision) {
  return precision == AuditPrecision::unit ? "unit" : "cent";
}

const char* name_of(ConnectionUse use) {
  return use == ConnectionUse::persistent ? "persistent" : "per-request";
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char *at = text.data(), *const end = at + text.size();
  const auto number = [&] {
    int value = -1;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || value >= CPU_SETSIZE)
      throw std::invalid_argument("'" + text + "' is not a list of CPUs such as 0,2-3");
    at = next;
    return value;
  };
  while (true) {
    const int first = number();
    int last = first;
    if (at != end && *at == '-') {
      ++at;
      last = number();
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at == end && !cpus.empty()) return cpus;
    if (at == end || *at != ',')
      throw std::invalid_argument("'" + text + "' is not a list of CPUs such as 0,2-3");
    ++at;
  }
}

namespace {

// Calls part(text) for each part of a list with commas.
template <class Part>
void for_each_part(const std::string& text, Part part) {
  std::istringstream parts(text + ",");
  for (std::string one; std::getline(parts, one, ',');) part(one);
}

}  // namespace

std::vector<Stage> parse_stages(const std::string& text) {
  std::vector<Stage> stages;
  double total_s = 0;
  for_each_part(text, [&](const std::string& part) {
    const std::size_t colon = part.find(':');
    double rate = -1;
    const char* const end = part.data() + part.size();
    if (colon == std::string::npos ||
        std::from_chars(part.data() + colon + 1, end, rate, std::chars_format::fixed).ptr != end ||
        !(rate >= 0 && rate <= 1e8))
      throw std::invalid_argument("'" + part + "' is not a stage such as 30s:1000");
    stages.push_back({client::parse_duration(part.substr(0, colon)), rate});
    total_s += stages.back().seconds;
  });
  if (total_s > client::duration_max_s)
    throw std::invalid_argument("'" + text + "' lasts too long");
  return stages;
}

Mix parse_mix(const std::string& text) {
  Mix mix;
  for_each_part(text, [&](const std::string& part) {
    const std::size_t sign = part.find('=');
    const std::string name = part.substr(0, sign);
    const auto* const weight = std::find_if(std::begin(mix_weights), std::end(mix_weights),
                                            [&](const auto& named) { return name == named.first; });
    unsigned value = 0;
    const char* const end = part.data() + part.size();
    if (weight == std::end(mix_weights) || sign == std::string::npos ||
        std::from_chars(part.data() + sign + 1, end, value).ptr != end || sign + 1 == part.size() ||
        value > 1'000'000)
      throw std::invalid_argument(
          "'" + part +
          "' is not a weight such as order=70 (create, order, query, cancel, cancel_all, replace; "
          "orders with terms: ioc, fok, post, market, stp)");
    mix.*weight->second = value;
  });
  if (mix.all() == 0) throw std::invalid_argument("'" + text + "': all weights are 0");
  if (mix.orders() == 0 && mix.query + mix.cancel > 0)
    throw std::invalid_argument("'" + text + "': queries and cancels need orders to name");
  return mix;
}

}  // namespace exchange::loadgen
