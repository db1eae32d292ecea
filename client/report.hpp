#pragma once
// What a run found, as text for people and as JSON for programs: the same figures.

#include <cstdio>
#include <optional>
#include <string>

#include "client/options.hpp"
#include "client/tally.hpp"

namespace exchange::loadgen {

struct Report {
  const Options& options;
  const Tally& tally;
  std::string server;                         // which one, with what policy and store
  double measured_s = 0;                      // over which CPU was taken
  double client_cpu_s = 0;
  std::optional<double> server_cpu_s;         // of a server whose process we know
  std::optional<std::uint64_t> server_resident_bytes;  // at the end

  double requests_per_s() const;
  double client_cpu_us() const;               // per request answered
  std::optional<double> server_cpu_us() const;
  // The client used more than 90 % of a core, and more than the server: the figures are the client's.
  bool client_was_the_bottleneck() const;
};

void print_text(std::FILE* out, const Report& report);
// Throws std::system_error.
void write_json(const std::string& path, const Report& report);

}  // namespace exchange::loadgen
