#include "store/postgres/postgres_connection.hpp"

#include <libpq-fe.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <future>
#include <optional>

namespace exchange {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Settings = std::vector<std::pair<std::string, std::string>>;  // of libpq, by keyword

// The limit of each connection attempt, and of each query for the primary host.
constexpr int connect_timeout_s = 2;

// Returns the URL as messages show it: without its parameters and without a password.
std::string describe_url(const std::string& url) {
  std::string text = url.substr(0, url.find('?'));
  const std::size_t authority = text.find("://") + 3, at = text.find('@', authority),
                    colon = text.find(':', authority);
  if (at != std::string::npos && colon < at) text.erase(colon, at - colon);
  return text;
}

Settings parse_url(const std::string& url) {
  char* problem = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(url.c_str(), &problem), PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> free_problem(problem, PQfreemem);
  if (parsed == nullptr) {
    std::string text = problem != nullptr ? problem : "out of memory";
    while (!text.empty() && text.back() == '\n') text.pop_back();
    throw std::invalid_argument("--store " + describe_url(url) + ": " + text);
  }
  Settings settings;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option)
    if (option->val != nullptr) settings.emplace_back(option->keyword, option->val);
  return settings;
}

std::string take(Settings& settings, const std::string& keyword) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const auto& setting) { return setting.first == keyword; });
  if (found == settings.end()) return {};
  std::string value = std::move(found->second);
  settings.erase(found);
  return value;
}

// Returns one value for each host. In libpq, one port stands for all hosts.
std::vector<std::string> split_hosts(const std::string& list, std::size_t hosts) {
  std::vector<std::string> parts;
  if (!list.empty()) boost::split(parts, list, boost::is_any_of(","));
  if (parts.size() == 1) parts.resize(hosts, parts.front());
  parts.resize(hosts);
  return parts;
}

std::string conninfo_text(const Settings& settings) {
  std::string text;
  for (const auto& [keyword, value] : settings) {
    text += keyword + "='";
    for (const char c : value) {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
    text += "' ";
  }
  return text;
}

// Returns true if an error is retryable, by its SQLSTATE class. All others (a missing table, no
// permission) are fatal.
bool is_transient(const std::string& sqlstate) {
  constexpr std::array<const char*, 8> retryable = {
      "08",  // connection
      "23",  // constraint: the batch exists already, resolve_in_doubt() finds its epoch
      "25",  // transaction state, such as a standby that refuses writes
      "40",  // serialization failure, deadlock
      "53",  // resources: disk full, too many connections
      "55",  // lock not available
      "57",  // intervention by an operator: shutdown, canceled statement
      "58",  // system error: I/O
  };
  return sqlstate.empty() || std::any_of(retryable.begin(), retryable.end(), [&](const char* two) {
           return sqlstate.starts_with(two);
         });
}

// PostgreSQL reports DETAIL, HINT and CONTEXT in separate lines.
std::string join_lines(std::string text) {
  boost::algorithm::trim_right(text);
  boost::algorithm::replace_all(text, "\n", "; ");
  return text;
}

std::unique_ptr<pqxx::connection> open_connection(const std::string& conninfo) {
  auto connection = std::make_unique<pqxx::connection>(conninfo);
  never_reconnect(*connection);
  return connection;
}

// The answer of a host: a connection to a primary, or the reason why there is no connection.
struct Probe {
  std::unique_ptr<pqxx::connection> connection;
  std::uint64_t timeline = 0;
  std::string problem;
};

// Returns the timeline of the primary that the connection leads to; 0 if it leads to a standby.
std::uint64_t ask_timeline(pqxx::connection& connection, SocketDeadlines& deadlines) {
  SocketDeadlines::Watch watch(deadlines, connection.sock(), 0,
                               std::chrono::seconds(connect_timeout_s));
  const auto timeline = pqxx::nontransaction(connection)
                            .exec(
                                "SELECT CASE WHEN pg_is_in_recovery() THEN ''"
                                " ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END")[0][0]
                            .as<std::string>();
  return timeline.empty() ? 0 : std::stoull(timeline, nullptr, 16);
}

Probe probe_host(const std::string& conninfo, SocketDeadlines& deadlines) {
  Probe probe;
  try {
    probe.connection = open_connection(conninfo);
    probe.timeline = ask_timeline(*probe.connection, deadlines);
    if (probe.timeline == 0) probe.problem = "is a standby";
  } catch (const std::exception& error) {
    probe.problem = one_line(error);
  }
  if (!probe.problem.empty()) probe.connection.reset();
  return probe;
}

// Returns the number of PostgreSQL's process that serves the next statement of a connection.
int backend_of(pqxx::connection& connection) {
  return pqxx::nontransaction(connection).exec("SELECT pg_backend_pid()")[0][0].as<int>();
}

}  // namespace

std::string one_line(const std::exception& error) {
  return "PostgreSQL: " + join_lines(error.what());
}

void rethrow_translated(Milliseconds waited) {
  const auto unavailable = [&](const std::exception& error) {
    return StoreUnavailable(waited.count() == 0 ? one_line(error)
                                                : "PostgreSQL did not answer for " +
                                                      std::to_string(waited.count()) + " ms");
  };
  try {
    throw;
  } catch (const pqxx::sql_error& error) {
    if (!is_transient(error.sqlstate())) throw StoreCorrupt(one_line(error));
    throw unavailable(error);
  } catch (const pqxx::failure& error) {  // broken connection: in doubt
    throw unavailable(error);
  } catch (const pqxx::usage_error& error) {  // libpqxx 6, if the connection was lost before
    throw unavailable(error);
  } catch (const pqxx::internal_error& error) {  // libpqxx 6, if it was lost during COPY
    throw unavailable(error);
  } catch (const pqxx::conversion_error& error) {  // a value that no server has written
    throw StoreCorrupt(one_line(error));
  } catch (const pqxx::range_error& error) {
    throw StoreCorrupt(one_line(error));
  }
}

// --- SocketDeadlines

SocketDeadlines::SocketDeadlines() {
  thread_ = start_thread("pg-deadlines", on_fatal_, [this] { run(); });
}

SocketDeadlines::~SocketDeadlines() {
  state_.with([](State& state) { state.stopping = true; });
  state_.notify();
  thread_.join();
}

void SocketDeadlines::run() {
  constexpr Milliseconds interval(100);
  while (!state_.wait_for(interval, [](const State& state) { return state.stopping; }))
    state_.with([](State& state) {
      const auto now = std::chrono::steady_clock::now();
      for (Entry& entry : state.entries)
        if (entry.end <= now) entry.expire();
    });
}

void SocketDeadlines::Entry::expire() {
  if (expired) return;
  expired = true;
  ::shutdown(socket, SHUT_RDWR);
}

void SocketDeadlines::expire_before(std::uint64_t timeline) {
  state_.with([&](State& state) {
    state.newest_timeline = std::max(state.newest_timeline, timeline);
    for (Entry& entry : state.entries)
      if (entry.is_replaced(timeline)) entry.expire();
  });
}

SocketDeadlines::Watch::Watch(SocketDeadlines& deadlines, int socket, std::uint64_t timeline,
                              Milliseconds time)
    : deadlines_(deadlines), id_(deadlines.state_.with([&](State& state) {
        state.entries.push_back(
            {++state.last_id, socket, timeline, std::chrono::steady_clock::now() + time});
        if (Entry& entry = state.entries.back(); entry.is_replaced(state.newest_timeline))
          entry.expire();
        return state.last_id;
      })) {}

bool SocketDeadlines::Watch::end() {
  return deadlines_.state_.with([this](State& state) {
    const auto entry = std::find_if(state.entries.begin(), state.entries.end(),
                                    [this](const Entry& one) { return one.id == id_; });
    if (entry == state.entries.end()) return false;  // it has already ended
    const bool expired = entry->expired;
    state.entries.erase(entry);
    return expired;
  });
}

// --- PostgresHosts

PostgresHosts::PostgresHosts(const std::string& url) : description_(describe_url(url)) {
  Settings settings = parse_url(url);
  for (const auto& [keyword, value] :
       Settings{{"connect_timeout", std::to_string(connect_timeout_s)},
                {"keepalives_idle", "2"},
                {"keepalives_interval", "1"},
                {"keepalives_count", "3"},
                {"tcp_user_timeout", "5000"},
                {"application_name", "exchange"}})
    if (std::none_of(settings.begin(), settings.end(), [&keyword = keyword](const auto& setting) {
          return setting.first == keyword;
        }))
      settings.emplace_back(keyword, value);
  const std::string names = take(settings, "host"), addresses = take(settings, "hostaddr"),
                    ports = take(settings, "port");
  const std::string& list = names.empty() ? addresses : names;
  const std::size_t count = 1 + std::size_t(std::count(list.begin(), list.end(), ','));
  const std::vector<std::string> name = split_hosts(names, count),
                                 address = split_hosts(addresses, count),
                                 port = split_hosts(ports, count);
  for (std::size_t i = 0; i < count; ++i) {
    Settings own = settings;
    for (const auto& [keyword, value] :
         Settings{{"host", name[i]}, {"hostaddr", address[i]}, {"port", port[i]}})
      if (!value.empty()) own.emplace_back(keyword, value);
    hosts_.push_back(
        {(name[i].empty() ? address[i] : name[i]) + (port[i].empty() ? "" : ":" + port[i]),
         conninfo_text(own)});
  }
}

PostgresHosts::Connected PostgresHosts::connect() {
  if (hosts_.size() == 1) {
    return connect_to_only_host();
  }
  // Ask all at once, because an unreachable host answers only after its time-out.
  std::vector<std::future<Probe>> asked;
  for (const Host& host : hosts_) try {
      asked.push_back(
          std::async(std::launch::async, [&] { return probe_host(host.conninfo, deadlines_); }));
    } catch (const std::system_error& error) {  // no thread
      throw StoreUnavailable(one_line(error));
    }
  Probe newest;
  std::string problems;
  const auto add_problem = [&](const Host& host, const std::string& problem) {
    problems += (problems.empty() ? "" : "; ") + host.name + ": " + problem;
  };
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    Probe probe = asked[i].get();
    if (probe.connection == nullptr)
      add_problem(hosts_[i], probe.problem);
    else if (probe.timeline < newest_timeline_)
      add_problem(hosts_[i], "was replaced as primary");
    else if (probe.timeline > newest.timeline)
      newest = std::move(probe);
  }
  if (newest.connection == nullptr)
    throw StoreUnavailable(description_ + " has no primary: " + problems);
  found(newest.timeline);
  return {std::move(newest.connection), newest.timeline};
}

// Connects to the only host. Several servers may follow each other behind one name: a proxy, or an
// address that moves.
PostgresHosts::Connected PostgresHosts::connect_to_only_host() {
  Connected connected;
  try {
    connected.connection = open_connection(hosts_.front().conninfo);
    connected.timeline = ask_timeline(*connected.connection, deadlines_);
    if (connected.timeline == 0 && newest_timeline_ != 0)
      throw StoreUnavailable(description_ + " leads to a standby");
  } catch (const pqxx::sql_error& error) {
    if (is_transient(error.sqlstate())) rethrow_translated();
    connected.timeline = 0;  // a service without such a function
  } catch (const StoreUnavailable&) {
    throw;
  } catch (...) {
    rethrow_translated();
  }
  if (is_replaced(connected.timeline))
    throw StoreUnavailable(description_ + " leads to a primary that was replaced");
  found(connected.timeline);
  return connected;
}

void PostgresHosts::found(std::uint64_t timeline) {
  std::uint64_t known = newest_timeline_;
  while (known < timeline)
    if (newest_timeline_.compare_exchange_weak(known, timeline)) {
      if (known != 0) ++failovers_;
      return deadlines_.expire_before(timeline);
    }
}

// A pooler invents the process number that it reports to its clients. Between transactions of this
// connection, a pooler that shares sessions gives this connection another session, or gives its
// session to the second connection.
void PostgresHosts::require_own_session(pqxx::connection& connection) {
  const int backend = backend_of(connection);
  if (connection.backendpid() == backend) return;
  const Connected second = connect();
  SocketDeadlines::Watch watch(deadlines_, second.connection->sock(), 0,
                               std::chrono::seconds(connect_timeout_s));
  constexpr int times = 3;  // a pooler may take its sessions in turns
  for (int i = 0; i < times; ++i)
    if (backend_of(*second.connection) == backend || backend_of(connection) != backend)
      throw StoreCorrupt(
          description_ +
          " leads to a connection pooler that shares sessions among its clients (PgBouncer with"
          " pool_mode = transaction or statement), so that the lock that keeps a second server out"
          " would belong to both; name PostgreSQL itself in --store, or set pool_mode = session");
}

// --- PostgresConnection

void PostgresConnection::connect() {
  PostgresHosts::Connected connected = hosts_.connect();
  connection_ = std::move(connected.connection);
  timeline_ = connected.timeline;
  SocketDeadlines::Watch watch(hosts_.deadlines(), connection_->sock(), timeline_, answer_max_);
  try {
    // With keepalives PostgreSQL soon notices if this server dies, and releases its advisory lock.
    pqxx::nontransaction(*connection_)
        .exec(
            "SET lock_timeout = '5s'; SET client_min_messages = warning; SET bytea_output = hex; "
            "SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; "
            "SET tcp_keepalives_count = 3; SET tcp_user_timeout = '5s'; "
            "SET synchronous_commit = on; SET jit = off");
    if (set_up_) set_up_(*connection_);
  } catch (...) {
    const bool expired = watch.end();
    drop();
    rethrow_translated(expired ? answer_max_ : Milliseconds(0));
  }
  notices_ = std::make_unique<PostgresNotices>(*connection_);
  is_new_ = true;
}

// Call it while the exception is handled. A new connection is always dropped, because its
// preparation may be incomplete.
bool PostgresConnection::survives_exception() const {
  try {
    throw;
  } catch (const pqxx::sql_error& error) {
    return error.sqlstate().starts_with("53") && !is_new_ && connection_->is_open() &&
           notices_->first().empty();
  } catch (...) {
    return false;
  }
}

void PostgresConnection::refuse_notices() const {
  if (notices_->first().empty()) return;
  throw StoreUnavailable("PostgreSQL may not have replicated what it committed: " +
                         join_lines(notices_->first()));
}

}  // namespace exchange
