#include "options.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>
#include <cstdlib>

#include "base/version.hpp"

namespace exchange {
namespace {

std::string check_ip_address(const std::string& text) {
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  return error ? "'" + text + "' is not an IP address" : "";
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  options.net.limits.buffered_bytes_max = options.net.limits.connections_max =
      0;  // memory_plan.hpp
  CLI::App app(
      "An order-matching exchange: XML over TCP in, price-time matching, every reply after its commit.\n"
      "Each option can also be given as the environment variable in brackets.",
      "server");
  app.set_version_flag("--version", std::string("server ") + version());
  app.option_defaults()->always_capture_default();
  const auto add = [&](const char* name, auto& value, const char* text, const char* environment) {
    return app.add_option(name, value, text)->envname(environment);
  };

  add("--port", options.net.port, "TCP port for clients; 0 picks a free one", "EXCHANGE_PORT")
      ->check(CLI::Range(0, 65535));
  add("--bind", options.net.bind, "IP address to listen on; 0.0.0.0 for all", "EXCHANGE_BIND")
      ->check(CLI::Validator(check_ip_address, ""));
  std::string policy = policy_name(options.net.policy);
  add("--policy", policy,
      "where sessions run: thread (one per client), pool (fixed number over one queue), loop (event loops)",
      "EXCHANGE_POLICY")
      ->check(CLI::IsMember({"thread", "pool", "loop"}));
  add("--threads", options.net.threads,
      "threads of pool and loop; 0: as many as CPUs this process may use", "EXCHANGE_THREADS")
      ->check(CLI::Range(0, 4096));
  add("--store", options.store,
      "sqlite:PATH, postgresql://USER@HOST/DATABASE or memory: (volatile); with HOST1,HOST2 the newest primary of these",
      "EXCHANGE_STORE");
  app.add_flag(
         "--standby", options.standby,
         "while another server is active, follow it and take over when it ends (PostgreSQL only)")
      ->envname("EXCHANGE_STANDBY");
  add("--require-replicas", options.store_limits.replicas_required,
      "serve only while PostgreSQL commits to at least so many synchronous standbys; 0: any number",
      "EXCHANGE_REQUIRE_REPLICAS")
      ->check(CLI::Range(0, 100));
  std::string http_port = std::to_string(*options.http_port);
  add("--http-port", http_port,
      "port for the dashboard, /metrics and the rest of HTTP; 0 picks a free one, off: none",
      "EXCHANGE_HTTP_PORT")
      ->check(CLI::Range(0, 65535) | CLI::IsMember({"off"}));
  add("--http-bind", options.http_bind, "IP address of the HTTP port; empty: that of --bind",
      "EXCHANGE_HTTP_BIND")
      ->check(CLI::Validator(check_ip_address, ""));
  add("--log-level", options.log_level, "least severe message on stderr", "EXCHANGE_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}));

  std::string request_framing = "length";
  add("--request-framing", request_framing,
      "length: a length line before every request; lenient: documents without one too, and lengths that are one byte too large",
      "EXCHANGE_REQUEST_FRAMING")
      ->check(CLI::IsMember({"length", "lenient"}));
  std::string framing = "bare";
  add("--reply-framing", framing, "bare, or length: a length line before every reply",
      "EXCHANGE_REPLY_FRAMING")
      ->check(CLI::IsMember({"bare", "length"}));
  app.add_flag(
         "--close-after-reply", options.protocol.close_after_reply,
         "close a connection once all its requests are answered, for clients that read to the end of the stream")
      ->envname("EXCHANGE_CLOSE_AFTER_REPLY");
  app.add_flag("--open-queries", options.protocol.open_queries,
               "any account may query any order; only its own account may cancel it")
      ->envname("EXCHANGE_OPEN_QUERIES");
  app.add_flag("--refuse-unknown-symbols", options.protocol.refuse_unknown_symbols,
               "refuse orders for a symbol that was not created; else a buy creates it")
      ->envname("EXCHANGE_REFUSE_UNKNOWN_SYMBOLS");
  app.add_flag(
         "--auth", options.auth.required,
         "accounts have keys: given at creation, asked for with transactions (docs/security.md)")
      ->envname("EXCHANGE_AUTH");
  add("--operator-key-file", options.auth.operator_key_file,
      "with --auth: file of the key without which no account, symbol or share is created",
      "EXCHANGE_OPERATOR_KEY_FILE");
  auto* const certificate =
      add("--tls-cert", options.tls.certificate, "certificate chain in PEM: both ports speak TLS",
          "EXCHANGE_TLS_CERT");
  auto* const key = add("--tls-key", options.tls.key, "its private key in PEM", "EXCHANGE_TLS_KEY");
  certificate->needs(key);
  key->needs(certificate);
  add("--handshakes-per-address", options.tls.handshakes_per_address,
      "TLS connections that one address may begin in a second, four times as many at once; 0: any number",
      "EXCHANGE_HANDSHAKES_PER_ADDRESS")
      ->check(CLI::Range(0, 1'000'000));
  add("--frame-bytes-max", options.protocol.frame_bytes_max, "bytes of XML in one request at most",
      "EXCHANGE_FRAME_BYTES_MAX")
      ->check(CLI::Range(64, 1 << 30));
  add("--connections-max", options.net.limits.connections_max,
      "open connections at most, and below the descriptor limit; 0: as memory allows, at most 16384",
      "EXCHANGE_CONNECTIONS_MAX")
      ->check(CLI::Range(0, 1'000'000));
  add("--connections-per-address", options.net.limits.connections_per_address,
      "open connections of one address (IPv6: of one /64) at most; 0: three quarters of all",
      "EXCHANGE_CONNECTIONS_PER_ADDRESS")
      ->check(CLI::Range(0, 1'000'000));
  std::uint64_t idle_timeout_s = options.net.limits.idle_ms / 1'000;
  add("--idle-timeout-s", idle_timeout_s,
      "seconds after which a connection without a complete request is ended; 0: never",
      "EXCHANGE_IDLE_TIMEOUT_S")
      ->check(CLI::Range(0, 31'536'000));
  std::uint32_t stall_timeout_s = options.net.limits.stall_ms / 1'000;
  add("--stall-timeout-s", stall_timeout_s,
      "seconds that a client has to finish a request it began, or to take a reply",
      "EXCHANGE_STALL_TIMEOUT_S")
      ->check(CLI::Range(1, 86'400));
  add("--buffered-bytes-max", options.net.limits.buffered_bytes_max,
      "bytes of unfinished requests and untaken replies of all clients at most, then the worst are ended; 0: an eighth of the memory, at most 1 GiB",
      "EXCHANGE_BUFFERED_BYTES_MAX")
      ->check(CLI::Range(std::uint64_t(0), std::uint64_t(1) << 40));

  const auto state_limit = [&](const char* name, std::size_t& value, const char* text,
                               const char* environment) {
    add(name, value, text, environment)->check(CLI::Range(std::size_t(0), std::size_t(1) << 31));
  };
  state_limit("--open-orders-max", options.state.open_orders_max,
              "open orders at most; orders that would rest are refused beyond. 0: as memory allows",
              "EXCHANGE_OPEN_ORDERS_MAX");
  state_limit("--open-orders-per-account", options.state.open_orders_per_account_max,
              "open orders of one account at most; 0: three quarters of all",
              "EXCHANGE_OPEN_ORDERS_PER_ACCOUNT");
  state_limit("--accounts-max", options.state.accounts_max, "accounts at most; 0: as memory allows",
              "EXCHANGE_ACCOUNTS_MAX");
  state_limit("--symbols-max", options.state.symbols_max, "symbols at most; 0: as memory allows",
              "EXCHANGE_SYMBOLS_MAX");

  app.add_flag("--keep-journal", options.core.keep_journal,
               "never prune the journal, for audit and replay")
      ->envname("EXCHANGE_KEEP_JOURNAL");
  add("--journal-batches-kept", options.core.journal_batches_kept,
      "projected journal rows kept before pruning", "EXCHANGE_JOURNAL_BATCHES_KEPT");
  add("--batch-commands-max", options.core.batch_commands_max,
      "commands in one commit at most; a request is never split", "EXCHANGE_BATCH_COMMANDS_MAX")
      ->check(CLI::Range(1, 1'000'000));
  add("--projection-interval-ms", options.core.projection_interval_ms,
      "milliseconds from one update of the tables to the next at least",
      "EXCHANGE_PROJECTION_INTERVAL_MS")
      ->check(CLI::Range(0, 60'000));
  add("--store-wait-s", options.core.store_wait_s,
      "seconds to wait at start for a database that is not there yet", "EXCHANGE_STORE_WAIT_S")
      ->check(CLI::Range(0, 86'400));

  app.failure_message([](const CLI::App* parsed, const CLI::Error& error) {
    return name_variables(CLI::FailureMessage::simple(parsed, error), variables_used(*parsed));
  });
  ignore_service_links(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  options.net.policy = policy == "thread" ? Policy::thread
                       : policy == "pool" ? Policy::pool
                                          : Policy::loop;
  options.variables = variables_used(app);
  if (options.http_bind.empty()) options.http_bind = options.net.bind;
  options.http_port.reset();
  if (http_port != "off") options.http_port = std::uint16_t(std::stoul(http_port));
  options.net.limits.idle_ms = idle_timeout_s * 1'000;
  options.net.limits.stall_ms = stall_timeout_s * 1'000;
  options.protocol.keys = options.auth.required;
  options.protocol.lenient_framing = request_framing == "lenient";
  options.protocol.length_before_reply = framing == "length";
  return options;
}

}  // namespace exchange
