#pragma once
// PostgresConnection is a connection of a store to PostgreSQL. It is made at the first call,
// dropped when a call fails, and made again at the next. With several hosts it goes to the primary
// with the highest timeline, which is the newest: a primary that was replaced may still answer.
// Once any connection of the store has found a newer timeline, no call uses a connection of an
// older one.
//
// Every call has a deadline, because a PostgreSQL that hangs keeps its TCP connections alive. When
// the deadline has passed, or another connection has found a newer primary, the socket is shut
// down, and the call fails with StoreUnavailable.
//
// A call for which PostgreSQL reports a notice fails with StoreUnavailable too, and its writes are
// in doubt: if the wait for a synchronous standby is canceled, a commit succeeds with only a
// warning (https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA).
//
// Owner: the store, or a reader of it (KeptDays, the audit). Thread: a connection stays on one
// thread; any thread may use its PostgresHosts and SocketDeadlines.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "journal/store_errors.hpp"
#include "store/postgres/pqxx_shim.hpp"

namespace exchange {

// Returns "PostgreSQL: " and the message, without its line end.
std::string one_line(const std::exception& error);
// Translates the libpqxx exception that is being handled into one of store_errors.hpp and throws
// it. `waited` is how long PostgreSQL did not answer, if that is the reason; else 0.
[[noreturn]] void rethrow_translated(std::chrono::milliseconds waited = {});

// Shuts down sockets whose deadlines have passed; checks them every 100 ms. Any thread.
class SocketDeadlines {
 public:
  SocketDeadlines();
  ~SocketDeadlines();

  // Shuts down the sockets to servers of older timelines, which have been replaced, including those
  // that are watched later.
  void expire_before(std::uint64_t timeline);

  // Watches a socket during its life. The socket must stay open as long.
  class Watch {
   public:
    // `timeline` is that of the server behind the socket; 0: unknown.
    Watch(SocketDeadlines& deadlines, int socket, std::uint64_t timeline,
          std::chrono::milliseconds time);
    ~Watch() { end(); }
    Watch(const Watch&) = delete;
    // Stops watching. Returns true if the deadline had passed.
    bool end();

   private:
    SocketDeadlines& deadlines_;
    std::uint64_t id_;
  };

 private:
  struct Entry {
    std::uint64_t id;
    int socket;
    std::uint64_t timeline;
    std::chrono::steady_clock::time_point end;
    bool expired = false;
    void expire();
    // `newest` is the newest timeline that was found.
    bool is_replaced(std::uint64_t newest) const { return timeline != 0 && timeline < newest; }
  };
  struct State {
    std::vector<Entry> entries;
    std::uint64_t last_id = 0;
    std::uint64_t newest_timeline = 0;
    bool stopping = false;
  };
  void run();
  Guarded<State> state_;
  const OnFatal on_fatal_;
  Thread thread_;
};

// The servers that a URL names.
class PostgresHosts {
 public:
  // `url` is a libpq URI, with one host or several. Adds time-outs that it does not set, so that a
  // dead network is detected within seconds. Throws std::invalid_argument.
  explicit PostgresHosts(const std::string& url);

  // Returns the URL without password and parameters, for messages.
  const std::string& description() const { return description_; }
  // Connects to the host, or, if there are several, to the primary with the highest timeline.
  // Throws StoreUnavailable if there is no primary, or only a replaced one; the message contains
  // the answer of each host. Any thread.
  struct Connected {
    std::unique_ptr<pqxx::connection> connection;
    std::uint64_t timeline = 0;  // 0: unknown, if there is only one host
  };
  Connected connect();
  // Throws StoreCorrupt if a pooler gives the session of this connection to other clients too: they
  // would then share what a session holds, such as an advisory lock. Without a pooler this takes
  // one statement; with one it makes a second connection. Throws StoreUnavailable if that fails.
  // Any thread.
  void require_own_session(pqxx::connection& connection);
  SocketDeadlines& deadlines() { return deadlines_; }
  // Counts how often a primary with a higher timeline than the one before was found. Any thread.
  std::uint64_t failovers() const { return failovers_; }
  // Returns true if a newer primary than a server of this timeline was found. Any thread.
  bool is_replaced(std::uint64_t timeline) const {
    return timeline != 0 && timeline < newest_timeline_;
  }

 private:
  struct Host {
    std::string name, conninfo;
  };
  Connected connect_to_only_host();
  void found(std::uint64_t timeline);
  const std::string description_;
  std::vector<Host> hosts_;
  std::atomic<std::uint64_t> newest_timeline_{0}, failovers_{0};
  SocketDeadlines deadlines_;
};

class PostgresConnection {
 public:
  using SetUp = std::function<void(pqxx::connection&)>;
  // `set_up` prepares each new connection. A call takes at most `answer_max`.
  PostgresConnection(PostgresHosts& hosts, std::chrono::milliseconds answer_max, SetUp set_up = {})
      : hosts_(hosts), answer_max_(answer_max), set_up_(std::move(set_up)) {}

  // Returns work(connection). Throws the exceptions of store_errors.hpp. The next call then
  // connects again, unless PostgreSQL only lacked resources, such as disk space: then the
  // connection stays, with its advisory lock, because another server would also lack them. After
  // StoreUnavailable, what `work` wrote is in doubt. `answer_max` replaces that of the connection.
  template <class Work>
  auto with(Work work) {
    return with(std::move(work), answer_max_);
  }
  template <class Work>
  auto with(Work work, std::chrono::milliseconds answer_max);
  bool connected() const { return connection_ != nullptr; }
  // For work(): returns true if no call has succeeded on the connection yet.
  bool is_new() const { return is_new_; }

 private:
  void connect();
  bool survives_exception() const;
  void refuse_notices() const;
  void drop() {
    notices_.reset();
    connection_.reset();
  }

  PostgresHosts& hosts_;
  const std::chrono::milliseconds answer_max_;
  const SetUp set_up_;
  std::unique_ptr<pqxx::connection> connection_;
  bool is_new_ = true;
  std::uint64_t timeline_ = 0;                // of the server behind the connection
  std::unique_ptr<PostgresNotices> notices_;  // of connection_, destroyed before it
};

template <class Work>
auto PostgresConnection::with(Work work, std::chrono::milliseconds answer_max) {
  if (connection_ != nullptr && hosts_.is_replaced(timeline_)) drop();
  if (connection_ == nullptr) connect();
  SocketDeadlines::Watch watch(hosts_.deadlines(), connection_->sock(), timeline_, answer_max);
  try {
    notices_->clear();
    if constexpr (std::is_void_v<decltype(work(*connection_))>) {
      work(*connection_);
      refuse_notices();
      is_new_ = false;
    } else {
      auto result = work(*connection_);
      refuse_notices();
      is_new_ = false;
      return result;
    }
  } catch (...) {
    const bool expired = watch.end();  // before its socket is closed
    if (expired || !survives_exception()) drop();
    rethrow_translated(expired ? answer_max : std::chrono::milliseconds(0));
  }
}

}  // namespace exchange
