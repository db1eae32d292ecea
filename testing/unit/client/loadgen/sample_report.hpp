#pragma once
// Returns a report of a quiet closed-loop run of ten seconds; tests change it as they need.

#include "client/loadgen/report/json.hpp"

inline exchange::loadgen::Json sample_report() {
  using exchange::loadgen::Json;
  const Json process{{"cpu_s", 4.1},
                     {"cpu_us_per_request", 41.0},
                     {"cpu_share", 0.41},
                     {"resident_bytes", 12'000'000},
                     {"voluntary_switches", 100},
                     {"involuntary_switches", 5}};
  const Json latency{{"mean", 1.2}, {"min", 0.1}, {"p50", 1.1},   {"p75", 1.5}, {"p90", 2.0},
                     {"p95", 2.5},  {"p99", 3.5}, {"p99_9", 5.0}, {"max", 8.0}};
  const Json histogram{{1000, 400}, {1500.5, 500}, {3500, 90}, {8000, 10}};
  Json report{
      {"format", "exchange-loadgen/1"},
      {"commit", "1436c54"},
      {"started", "2026-11-21T13:10:35Z"},
      {"command", {"loadgen", "-c", "200"}},
      {"machine",
       {{"cpu", "A CPU"}, {"cpus", 2}, {"memory_bytes", 25'275'219'968}, {"kernel", "6.18"}}},
      {"server",
       {{"description", "private server, policy=pool"},
        {"policy", "pool"},
        {"store", "sqlite"},
        {"threads", 2},
        {"cpus", Json::array({0})}}},
      {"load",
       {{"mode", "closed"},
        {"clients", 200},
        {"workers", 1},
        {"requests", 100'000},
        {"stages", Json::array()},
        {"arrivals", nullptr},
        {"duration_s", nullptr},
        {"reply_check", true}}},
      {"workload",
       {{"kind", "transactions"},
        {"mix", {{"create", 0}, {"order", 100}}},
        {"seed", 1},
        {"account_prefix", "1795"}}},
      {"result",
       {{"seconds", 10.0},
        {"answered", 100'000},
        {"requests_per_s", 10'000.0},
        {"planned", 100'000},
        {"unsent", 0},
        {"stopped_early", false},
        {"stolen_cpu_share", 0.001},
        {"response_ms", latency},
        {"service_ms", latency},
        {"response_histogram", histogram},
        {"service_histogram", histogram},
        {"errors",
         {{"refused", 0}, {"reset", 0}, {"timeout", 0}, {"protocol", 0}, {"wrong answer", 0}}},
        {"rejected", {{"create", 0}, {"order", 0}, {"query", 0}, {"cancel", 0}}},
        {"first_rejection", ""},
        {"first_wrong_answer", ""},
        {"first_connect_error", ""}}},
      {"client", process},
      {"server_process", process},
      {"database", nullptr},
      {"client_was_the_bottleneck", false},
      {"expectations", Json::array()},
      {"audit", nullptr},
      {"server_stages_us", nullptr},
      {"series", Json::array()}};
  for (int second = 1; second <= 10; ++second) {
    const double wobble = second % 2 ? 0.99 : 1.01;
    report["series"].push_back({{"second", second},
                                {"warmup", false},
                                {"planned_per_s", nullptr},
                                {"requests_per_s", 10'000 / wobble},
                                {"response_p50_ms", 1.1 * wobble},
                                {"response_p99_ms", 3.5 * wobble},
                                {"response_max_ms", 7 * wobble},
                                {"service_p50_ms", 1.1 * wobble},
                                {"service_p99_ms", 3.5 * wobble},
                                {"errors", 0},
                                {"rejected", 0},
                                {"in_flight", 200},
                                {"client_cpu_share", 0.41},
                                {"server_cpu_share", nullptr},
                                {"stolen_cpu_share", 0}});
  }
  return report;
}
