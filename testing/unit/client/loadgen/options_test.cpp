// The command line of the load generator.
#include "client/loadgen/options.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "catch.hpp"
#include "support/folder.hpp"

using namespace exchange::loadgen;

namespace {

// Returns the options of a command line without quotes.
ParsedOptions parse(const std::string& words) {
  std::istringstream in("loadgen " + words);
  const std::vector<std::string> arguments{std::istream_iterator<std::string>(in), {}};
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return parse_options(int(pointers.size()), pointers.data());
}

}  // namespace

TEST_CASE("a workload is a name, or weights of one's own") {
  const auto workload = [](const std::string& text) {
    const ParsedOptions parsed = parse("--workload " + text);
    CHECK(!parsed.exit_code);
    return std::pair(parsed.options.workload.kind, parsed.options.workload.mix);
  };
  CHECK(workload("reads") == std::pair(WorkloadKind::reads, Mix{.order = 25, .query = 75}));
  const auto is_mix = [&](const char* text, const Mix& mix) {
    CHECK(workload(text) == std::pair(WorkloadKind::mix, mix));
  };
  is_mix("order=7,query=2,cancel=1", {.order = 7, .query = 2, .cancel = 1});
  is_mix("order=6,ioc=5,fok=4,post=3,market=2,stp=1,cancel=7",
         {.order = 6, .cancel = 7, .ioc = 5, .fok = 4, .post = 3, .market = 2, .stp = 1});
  is_mix("order=3,replace=2,cancel_all=1", {.order = 3, .replace = 2, .cancel_all = 1});
  is_mix("replace=1", {.replace = 1});
  is_mix("cancel_all=1,query=1", {.query = 1, .cancel_all = 1});
  is_mix("ioc=1,query=1", {.query = 1, .ioc = 1});
}

TEST_CASE("a rate is constant for a time or a number of requests, or a list of stages") {
  const auto stages = [](const std::string& words) { return parse(words).options.load.stages; };
  CHECK(stages("--rate 500 -d 2m") == std::vector<Stage>{{120, 500}});
  CHECK(stages("--rate 500 -n 1000") == std::vector<Stage>{{2, 500}});
  CHECK(stages("--rate 500.5").size() == 1);
  CHECK(stages("--rate 30s:1000,500ms:0,1m:5000") ==
        std::vector<Stage>{{30, 1000}, {0.5, 0}, {60, 5000}});
  CHECK(stages("").empty());
}

TEST_CASE("options take the units, lists and choices that they document") {
  const Options options =
      parse(
          "-d 2.5 --warmup 20ms --server-cpus 0,2-3,2 --client-cpus 1 --policy pool "
          "--connection per-request --reply-check lenient --expect p99<20ms,errors<0.1% "
          "--find-capacity p99<10ms")
          .options;
  CHECK(options.load.duration_s == 2.5);
  CHECK(options.load.warmup_s == 0.02);
  CHECK(options.local_server.cpus == std::vector<int>{0, 2, 3});
  CHECK(options.client_cpus == std::vector<int>{1});
  CHECK(options.local_server.policy == exchange::Policy::pool);
  CHECK(options.load.connection == ConnectionUse::per_request);
  CHECK(options.load.lenient());
  CHECK(options.expectations.size() == 2);
  REQUIRE(options.capacity_while.size() == 1);
  CHECK(options.capacity_while[0].text == "p99<10ms");
}

TEST_CASE("errors on the command line are usage errors") {
  for (const char* words : {"--nonsense",
                            "stray",
                            "-c 0",
                            "-c many",
                            "-n -5",
                            "-n 5 -d 1",
                            "-d 0",
                            "--workload chaos",
                            "--connection sometimes",
                            "--policy fibers",
                            "--connect localhost",
                            "--connect localhost:99999",
                            "--connect h:1 --policy pool",
                            "--connect h:1 --store memory:",
                            "--server-pid 1",
                            "--client-cpus 0-",
                            "--server-cpus a",
                            "--server-cpus 1,",
                            "--server-cpus 2-1,",
                            "--server-cpus 99999",
                            "--account-prefix x",
                            "--timeout 0",
                            "--symbols 0",
                            "--reply-check maybe",
                            "--rate 0",
                            "--rate 1s",
                            "--rate 1s:-5",
                            "--rate 1s:5,",
                            "--rate 1s:5,5",
                            "--rate 99999h:5",
                            "--rate 1s:5 -n 5",
                            "--rate 1s:5 -d 5",
                            "--workload order=0",
                            "--workload query=5",
                            "--workload cancel-all=5,order=5",
                            "--workload orders=5",
                            "--workload stp=0,query=1",
                            "--workload ioc",
                            "--workload reads,order=1",
                            "--workload market=1 --audit --cash 1000000",
                            "--expect p99<20",
                            "--find-capacity fast",
                            "--find-capacity p99<1s --rate 5",
                            "--find-capacity p99<1s --audit",
                            "--workers 9 -c 8",
                            "--pipeline 2 --connection per-request",
                            "--protocol soap",
                            "--protocol rest --workload mix",
                            "--protocol rest --orders-per-request 2",
                            "--protocol websocket --audit",
                            "--protocol websocket --connection per-request",
                            "--protocol websocket --connect h:1",
                            "--http h:1",
                            "--arrivals poisson",
                            "--arrivals sometimes",
                            "--audit --reply-check off",
                            "--trading-days 1s --workload create",
                            "--trading-days 1s --reply-check off",
                            "--match-ratio 1.1",
                            "--rate nan",
                            "--rate -nan",
                            "--rate NaN -d 1",
                            "--rate inf",
                            "--timeout nan",
                            "--match-ratio nan",
                            "--ramp-up nan",
                            "--rate 1s:nan",
                            "-d nan",
                            "--warmup nan",
                            "--trading-days nan",
                            "--expect p99<nan",
                            "--expect rate>nan",
                            "--find-capacity errors<nan",
                            "--json ./same --history same",
                            "--json same --history no/../same",
                            "--json - --history -",
                            "--warmup -1",
                            "--pipeline 10000 -c 10000 --orders-per-request 2"}) {
    CAPTURE(words);
    CHECK(parse(words).exit_code == exit_usage);
  }
  CHECK(parse("--help").exit_code == exit_ok);
}

TEST_CASE("two reports to one file are an error, by whatever name it has, but not to a device") {
  const exchange::testing::TemporaryFolder folder;
  const std::string file = folder / "report", link = folder / "link";
  std::ofstream(file).put(' ');
  std::filesystem::create_symlink(file, link);
  CHECK(parse("--json " + file + " --history " + link).exit_code == exit_usage);
  CHECK(parse("--json " + file + " --history " + (folder / "other")).exit_code == std::nullopt);
  CHECK(parse("--json /dev/null --history /dev/null").exit_code == std::nullopt);
}
