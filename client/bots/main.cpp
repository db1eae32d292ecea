// Bots that keep a few symbols trading, so that there is activity to see. Start reading here; then
// trading_floor.hpp, market.hpp.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <random>

#include "base/key_file.hpp"
#include "base/process.hpp"
#include "base/version.hpp"
#include "client/bots/trading_floor.hpp"
#include "client/connection/option_checks.hpp"

using namespace exchange;
using namespace exchange::bots;

namespace {

Keys new_keys(const std::string& operator_key_file) {
  Keys keys{.of_operator = read_key_file(operator_key_file).key};
  std::random_device random;
  while (keys.of_accounts.size() < 32) keys.of_accounts += std::to_string(random());
  return keys;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process("demo-bots");
  FloorOptions options{.connect_to = "127.0.0.1:12345",
                       .account_prefix = client::prefix_from_clock(),
                       .seed = std::random_device()()};
  std::string symbols = "SPY=580,QQQ=500,IWM=225,GLD=245", duration, operator_key_file;

  CLI::App app(
      "Bots that keep a few symbols of an exchange trading: market makers that quote round a price "
      "walking at random, and\ntakers that cross the spread. They trade until SIGTERM or SIGINT, "
      "then cancel their orders and end with status 0.",
      "demo-bots");
  app.set_version_flag("--version", std::string("demo-bots ") + version());
  app.add_option(
         "--connect", options.connect_to,
         "HOST:PORT of the exchange, or of several servers with a comma between: the active "
         "one is used")
      ->capture_default_str()
      ->check(client::are_addresses());
  app.add_flag(
      "--retry", options.retry,
      "give each order a reference, and send orders and cancels again whose reply was lost");
  app.add_option("--symbols", symbols, "what to trade, as NAME or NAME=PRICE; without a price 100")
      ->capture_default_str()
      ->check(client::accepted_by([](const std::string& text) { parse_symbol_list(text); }));
  app.add_option("--rate", options.requests_per_s, "requests per second, all symbols together")
      ->capture_default_str()
      ->check(client::is_from(0.01, 10'000.0));
  app.add_option("--seed", options.seed, "seed of all random choices (default: drawn)");
  app.add_option("--operator-key-file", operator_key_file,
                 "file of the operator's key of a server with --auth, which creates the accounts")
      ->envname("EXCHANGE_OPERATOR_KEY_FILE");
  app.add_option("-d,--duration", duration,
                 "how long to trade: 10, 500ms, 2m (default: until stopped)")
      ->check(client::accepted_by([](const std::string& text) { client::parse_duration(text); }));
  app.add_option("--account-prefix", options.account_prefix,
                 "digits that the account ids start with (default: from the clock)")
      ->check(client::accepted_by([](const std::string& text) {
        if (!parse_account_id(text) || text.size() > 24)
          throw std::invalid_argument("must be 1 to 24 digits");
      }));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.symbols = parse_symbol_list(symbols);
  if (!duration.empty()) options.duration_s = client::parse_duration(duration);
  try {
    if (!operator_key_file.empty()) options.keys = new_keys(operator_key_file);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "demo-bots: --operator-key-file: %s\n", error.what());
    return 2;
  }

  client::stop_on_signals();
  std::fprintf(stderr, "demo-bots: %s, --seed %llu\n", symbols.c_str(),
               static_cast<unsigned long long>(options.seed));
  TradingFloor floor(std::move(options), client::stop_flag());
  floor.run();
  std::printf("%s\n", floor.summary().c_str());
  return 0;
}
