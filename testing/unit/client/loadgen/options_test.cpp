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

TEST_CASE("flags say what to do") {
  const ParsedOptions parsed = parse(
      "-c 200 -d 2.5 --policy pool --server-threads 40 --server-cpus 0,2-3 --client-cpus 1 "
      "--store memory: --workload mix --connection per-request --symbols 3 --seed 9 --timeout 5 "
      "--reply-check off --json x.json --account-prefix 77");
  CHECK(!parsed.exit_code);
  const Options& options = parsed.options;
  CHECK(options.load.clients == 200);
  CHECK(options.load.duration_s == 2.5);
  CHECK(options.local_server.policy == exchange::Policy::pool);
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
  CHECK(options.json_file == "x.json");
}

TEST_CASE("flags say how the load goes over time") {
  const Options stages =
      parse("--stage 30s:1000,500ms:0,1m:5000 --arrivals poisson --warmup 2 --ramp-up 10").options;
  CHECK(stages.load.stages == std::vector<Stage>{{30, 1000}, {0.5, 0}, {60, 5000}});
  CHECK(stages.load.arrivals == Arrivals::poisson);
  CHECK(stages.load.warmup_s == 2);
  CHECK(stages.load.ramp_up_per_s == 10);
  CHECK(parse("--rate 500 -d 2m").options.load.stages == std::vector<Stage>{{120, 500}});
  CHECK(parse("--rate 500 -n 1000").options.load.stages == std::vector<Stage>{{2, 500}});
  CHECK(parse("--trading-days 20ms").options.load.trading_days_s == 0.02);
  CHECK(parse("--trading-days 1s --workload create").exit_code);
  CHECK(parse("--trading-days 1s --reply-check off").exit_code);
  const Options capacity = parse("--find-capacity p99<10ms").options;
  REQUIRE(capacity.capacity_while.size() == 1);
  CHECK(capacity.capacity_while[0].text == "p99<10ms");
}

TEST_CASE("flags say what is asked, by whom, and what is expected and written") {
  const Options remote = parse("--connect 127.0.0.1:12345 --server-pid 42").options;
  CHECK(remote.connect_to == "127.0.0.1:12345");
  CHECK(remote.server_pid == 42);
  const Options options =
      parse(
          "--mix order=7,query=2,cancel=1 --accounts 500 --match-ratio 0.8 --orders-per-request 4 "
          "--pipeline 8 --workers 2 --idle 100 --audit --symbol-prefix ABC "
          "--expect p99<20ms,errors<0.1% --hdr x.hdr --database-pid 77")
          .options;
  CHECK(options.workload.kind == WorkloadKind::mix);
  CHECK(options.workload.mix == Mix{.order = 7, .query = 2, .cancel = 1});
  CHECK(options.workload.accounts == 500);
  CHECK(options.workload.match_ratio == 0.8);
  CHECK(options.workload.orders_per_request == 4);
  CHECK(options.workload.symbol_prefix == "ABC");
  CHECK(options.load.pipeline == 8);
  CHECK(options.load.workers == 2);
  CHECK(options.load.idle_connections == 100);
  CHECK(options.load.audit);
  CHECK(options.expectations.size() == 2);
  CHECK(options.hdr_file == "x.hdr");
  CHECK(options.database_pid == 77);
  CHECK(parse("--workload reads").options.workload.mix == Mix{.order = 25, .query = 75});
  const Mix with_terms =
      parse("--mix order=6,ioc=5,fok=4,post=3,market=2,stp=1,cancel=7").options.workload.mix;
  CHECK(with_terms ==
        Mix{.order = 6, .cancel = 7, .ioc = 5, .fok = 4, .post = 3, .market = 2, .stp = 1});
  CHECK(with_terms.orders() == 21);
  CHECK(with_terms.all() == 28);
  const Mix with_replaces = parse("--mix order=3,replace=2,cancel_all=1").options.workload.mix;
  CHECK(with_replaces == Mix{.order = 3, .replace = 2, .cancel_all = 1});
  CHECK(with_replaces.orders() == 6);
  CHECK(with_replaces.all() == 6);
  CHECK(parse("--mix replace=1").options.workload.mix == Mix{.replace = 1});
  CHECK(parse("--mix cancel_all=1,query=1").options.workload.mix ==
        Mix{.query = 1, .cancel_all = 1});
  CHECK(parse("--mix ioc=1,query=1").options.workload.mix == Mix{.query = 1, .ioc = 1});
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
                            "--rate 5 --stage 1s:5",
                            "--stage 1s",
                            "--stage 1s:-5",
                            "--stage 1s:5,",
                            "--stage 99999h:5",
                            "--stage 1s:5 -n 5",
                            "--mix order=0",
                            "--mix query=5",
                            "--mix cancel-all=5,order=5",
                            "--mix orders=5",
                            "--mix stp=0,query=1",
                            "--mix ioc",
                            "--mix market=1 --audit --cash 1000000",
                            "--mix order=1 --workload reads",
                            "--expect p99<20",
                            "--find-capacity fast",
                            "--find-capacity p99<1s --rate 5",
                            "--find-capacity p99<1s --audit",
                            "--workers 9 -c 8",
                            "--pipeline 2 --connection per-request",
                            "--arrivals poisson",
                            "--arrivals sometimes",
                            "--audit --reply-check off",
                            "--match-ratio 1.1",
                            "--rate nan",
                            "--rate -nan",
                            "--rate NaN -d 1",
                            "--rate inf",
                            "--timeout nan",
                            "--match-ratio nan",
                            "--ramp-up nan",
                            "--stage 1s:nan",
                            "-d nan",
                            "--warmup nan",
                            "--trading-days nan",
                            "--expect p99<nan",
                            "--expect rate>nan",
                            "--find-capacity errors<nan",
                            "--json same --hdr same",
                            "--json ./same --hdr same",
                            "--hdr same --history no/../same",
                            "--json - --hdr -",
                            "--warmup -1",
                            "--symbol-prefix a-b",
                            "--pipeline 10000 -c 10000 --orders-per-request 2"}) {
    CAPTURE(words);
    CHECK(parse(words).exit_code == exit_usage);
  }
  CHECK(parse("--help").exit_code == exit_ok);
}

TEST_CASE("policies has a load of its own, and options for CPUs and rounds") {
  const auto policies = [](const std::string& words) {
    std::istringstream in("policies " + words);
    const std::vector<std::string> arguments{std::istream_iterator<std::string>(in), {}};
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    return parse_policies_options(int(pointers.size()), pointers.data());
  };
  const PoliciesOptions standard = policies("").options;
  CHECK(standard.cores == std::vector<unsigned>{1, 2, 4});
  CHECK(standard.rounds == 3);
  CHECK(standard.each.load.clients == 200);
  CHECK(standard.each.load.duration_s == 3);
  CHECK(standard.each.load.warmup_s == 1);
  CHECK(standard.each.command == std::vector<std::string>{"loadgen", "policies"});
  CHECK(standard.choose_workers);
  const PoliciesOptions own =
      policies(
          "-c 8 -d 2 --warmup 10ms --cores 2,1,2 --cpus 3,0-2,1 --rounds 5 --workers 2 --store "
          "memory: --mix query=1,order=1 --server-threads 4 --rate 100")
          .options;
  CHECK(own.cores == std::vector<unsigned>{1, 2});
  CHECK(own.cpus == std::vector<int>{3, 0, 1, 2});
  CHECK(own.rounds == 5);
  CHECK(own.each.load.stages == std::vector<Stage>{{2, 100}});
  CHECK(own.each.load.workers == 2);
  CHECK(!own.choose_workers);
  CHECK(own.each.local_server.store == "memory:");
  CHECK(own.each.local_server.threads == 4);
  CHECK(!policies("-n 100").options.each.load.duration_s);
  CHECK(!policies("--stage 1s:5").options.each.load.duration_s);
  for (const char* words :
       {"--cores 0", "--cores 1,", "--cores one", "--rounds 0", "--cpus a", "--policy pool",
        "--connect h:1", "--rate nan", "stray", "--html x.html", "--workers 9 -c 8"}) {
    CAPTURE(words);
    CHECK(policies(words).exit_code == exit_usage);
  }
  CHECK(policies("--help").exit_code == exit_ok);
}

TEST_CASE("two reports to one file are an error, by whatever name it has, but not to a device") {
  const exchange::testing::TemporaryFolder folder;
  const std::string file = folder / "report", link = folder / "link";
  std::ofstream(file).put(' ');
  std::filesystem::create_symlink(file, link);
  CHECK(parse("--json " + file + " --hdr " + link).exit_code == exit_usage);
  CHECK(parse("--json " + file + " --hdr " + (folder / "other")).exit_code == std::nullopt);
  CHECK(parse("--json /dev/null --hdr /dev/null").exit_code == std::nullopt);
}

TEST_CASE("a report to stdout is one that moves the text to stderr") {
  CHECK(writes_to_stdout(parse("--hdr -").options));
  CHECK(writes_to_stdout(parse("--history -").options));
  CHECK(!writes_to_stdout(parse("--hdr x.hdr").options));
}
