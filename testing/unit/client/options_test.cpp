// The command line of the load generator.
#include "client/options.hpp"

#include <stdexcept>

#include "catch.hpp"

using namespace exchange::loadgen;

namespace {

ParsedOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "loadgen");
  return parse_options(int(arguments.size()), arguments.data());
}

}  // namespace

TEST_CASE("without flags: 20 clients, 20,000 transactions, a private server") {
  const ParsedOptions parsed = parse({});
  CHECK(!parsed.exit_code);
  const Options& options = parsed.options;
  CHECK(options.load.clients == 20);
  CHECK(options.load.requests == 20'000);
  CHECK(!options.load.duration_s);
  CHECK(options.load.connection == ConnectionUse::persistent);
  CHECK(options.load.check_replies);
  CHECK(options.load.timeout_s == 30);
  CHECK(options.workload.kind == WorkloadKind::transactions);
  CHECK(options.workload.symbols == 10);
  CHECK(options.local_server.policy == "loop");
  CHECK(options.local_server.store == "");
  CHECK(!options.connect_to);
  CHECK(!options.progress);
}

TEST_CASE("flags say what to do") {
  const ParsedOptions parsed = parse({"-c", "200", "-d", "2.5", "--policy", "pool", "--server-threads", "40", "--server-cpus", "0,2-3",
                                      "--client-cpus", "1", "--store", "memory:", "--workload", "mix", "--connection", "per-request",
                                      "--symbols", "3", "--seed", "9", "--timeout", "5", "--reply-check", "off", "--no-progress",
                                      "--json", "x.json", "--account-prefix", "77"});
  CHECK(!parsed.exit_code);
  const Options& options = parsed.options;
  CHECK(options.load.clients == 200);
  CHECK(options.load.duration_s == 2.5);
  CHECK(options.local_server.policy == "pool");
  CHECK(options.local_server.threads == 40);
  CHECK(options.local_server.cpus == std::vector<int>{0, 2, 3});
  CHECK(options.client_cpus == std::vector<int>{1});
  CHECK(options.local_server.store == "memory:");
  CHECK(options.workload.kind == WorkloadKind::mix);
  CHECK(options.load.connection == ConnectionUse::per_request);
  CHECK(options.workload.symbols == 3);
  CHECK(options.workload.seed == 9);
  CHECK(options.workload.account_prefix == "77");
  CHECK(options.load.timeout_s == 5);
  CHECK(!options.load.check_replies);
  CHECK(options.progress == false);
  CHECK(options.json_file == "x.json");
}

TEST_CASE("a running server is named by host and port, with its process id") {
  const ParsedOptions parsed = parse({"--connect", "127.0.0.1:12345", "--server-pid", "42"});
  CHECK(!parsed.exit_code);
  CHECK(parsed.options.connect_to == "127.0.0.1:12345");
  CHECK(parsed.options.server_pid == 42);
}

TEST_CASE("mistakes on the command line are usage errors") {
  const std::vector<std::vector<const char*>> mistakes{
      {"--nonsense"}, {"stray"}, {"-c", "0"}, {"-c", "many"}, {"-n", "-5"}, {"-n", "5", "-d", "1"}, {"-d", "0"},
      {"--workload", "chaos"}, {"--connection", "sometimes"}, {"--policy", "fibers"}, {"--connect", "localhost"},
      {"--connect", "localhost:99999"}, {"--connect", "h:1", "--policy", "pool"}, {"--connect", "h:1", "--store", "memory:"},
      {"--server-pid", "1"}, {"--client-cpus", "0-"}, {"--server-cpus", "a"}, {"--account-prefix", "x"}, {"--timeout", "0"},
      {"--symbols", "0"}, {"--reply-check", "maybe"}};
  for (const auto& arguments : mistakes) CHECK(parse(arguments).exit_code == exit_usage);
  CHECK(parse({"--help"}).exit_code == exit_ok);
}

TEST_CASE("CPU lists are numbers and ranges") {
  CHECK(parse_cpu_list("0") == std::vector<int>{0});
  CHECK(parse_cpu_list("3,0-2") == std::vector<int>{3, 0, 1, 2});
  for (const char* text : {"", ",", "1,", "-1", "2-1", "1 2", "99999"}) CHECK_THROWS_AS(parse_cpu_list(text), std::invalid_argument);
}
