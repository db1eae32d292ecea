// bcrypt_pool -c 30 -m pool -b 10 -w 2: callers who want bcrypt hashes for some seconds, served by
// a thread for each request or by a bounded pool; prints how many were done in time, and how long
// callers waited. Every hash is checked.

#include <CLI/CLI.hpp>
#include <iostream>

#include "studies/experiments/hashing.hpp"

using namespace exchange::experiments;

int main(int argc, char** argv) {
  CLI::App app("bcrypt under load: unbounded threads against a bounded pool.", "bcrypt_pool");
  app.option_defaults()->always_capture_default();
  HashingPlan plan;
  std::string mechanism = "pool";
  app.add_option("-c,--concurrency", plan.callers, "callers, each with one request at a time")
      ->check(CLI::Range(1, 10'000));
  app.add_option("-m,--mechanism", mechanism, "unbounded (a thread for each request) or pool")
      ->check(CLI::IsMember({"unbounded", "pool"}));
  app.add_option("-b,--buffer", plan.buffer, "requests that may wait before the pool")
      ->check(CLI::Range(0, 100'000));
  app.add_option("-w,--workers", plan.workers, "threads of the pool")->check(CLI::Range(1, 1'000));
  app.add_option("-d,--seconds", plan.seconds, "after which callers begin nothing more")
      ->check(CLI::Range(0.01, 3'600.0));
  app.add_option("-k,--cost", plan.cost, "bcrypt's: 2^cost rounds")->check(CLI::Range(4, 20));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  plan.pool = mechanism == "pool";
  try {
    const HashingResult result = run_hashing(plan);
    const auto waited = [&](double quantile) {
      return duration(double(result.latency_us.quantile(quantile)) * 1e-6);
    };
    std::cout << result.in_time << " hashes in " << plan.seconds << " s, " << result.left
              << " accepted and not done, " << result.turned_away << " turned away; all "
              << result.begun << " done after " << duration(result.run.seconds) << ", "
              << number(double(result.begun) / result.run.seconds) << " a second\n"
              << "at most " << result.running_most << " at a time, " << result.waiting_most
              << " in the buffer; " << duration(result.run.used.cpu_s() / double(result.begun))
              << " of CPU a hash\n"
              << "callers waited: median " << waited(0.5) << ", 90 % " << waited(0.9) << ", 99 % "
              << waited(0.99) << ", longest " << duration(double(result.latency_us.max()) * 1e-6)
              << "\n";
    if (result.wrong > 0) std::cerr << "bcrypt_pool: " << result.wrong << " hashes were wrong\n";
    return result.wrong > 0 ? 1 : 0;
  } catch (const std::exception& error) {
    std::cerr << "bcrypt_pool: " << error.what() << "\n";
    return 1;
  }
}
