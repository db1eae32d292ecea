#pragma once
// OrderEntry executes the JSON requests of one WebSocket (docs/http-api.md) in the order of their
// arrival: the requests that wait while a batch is committed are the next batch.
// Owner: the connection. Thread: that of connections.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gateway/core_client.hpp"
#include "json/json_requests.hpp"

namespace exchange {

// A message as a request: {"id": ..., "MESSAGE": {...}}.
struct OrderMessage {
  JsonInput id;                     // a number or a string
  std::optional<CommandKind> kind;  // empty: a login
  JsonInput members;                // an object
  Problem problem;                  // without an id, it refuses the whole message
  std::size_t bytes = 0;
  // Whether the request is a batch by itself: it waits for a key, or it affects the requests after
  // it, or its reply may be long (R13).
  bool is_alone() const {
    return !kind || describe_element(*kind).root == Root::create || may_be_too_long(*kind);
  }
};
// Returns nothing if the message has neither an id nor the name of a request.
std::optional<OrderMessage> read_order_message(JsonInput& message);

class OrderEntry {
 public:
  // Sends the texts of some responses; returns when there is room for more.
  using Send = std::function<boost::asio::awaitable<void>(std::vector<std::string>)>;

  // `permit` is a permit of `core`. The limits must outlive the entry.
  OrderEntry(CoreClient& core, CoreClient::Permit permit, const ProtocolLimits& limits,
             const PeerAddress& address)
      : core_(core),
        permit_(std::move(permit)),
        limits_(limits),
        pending_(core.pending(Peer{address})) {}

  // Waits until there is room for another request.
  boost::asio::awaitable<void> has_room();
  void take(OrderMessage message);
  // Executes the requests that are taken until end(), and then cancels the orders that end with the
  // connection.
  boost::asio::awaitable<void> run(Send send);
  // Takes no more requests.
  void end();
  bool has_ended() const { return ended_; }
  // Waits until run() has returned.
  boost::asio::awaitable<void> ended();

 private:
  // A request of the batch.
  struct Read {
    JsonInput id;
    JsonRequest request;
    std::optional<JsonReply> response;     // if the core is not needed for it
    std::optional<Credential::Use> login;  // of an account, or of the operator
  };
  void read_batch();
  void read(OrderMessage& message);
  void read_login(const JsonInput& members, Read& into);
  void add_credentials(JsonRequest& request, std::size_t first);
  boost::asio::awaitable<void> execute();
  void note_tied();
  std::vector<std::string> responses() const;
  boost::asio::awaitable<void> execute_all(Send send);
  JsonReply response(const Read& read, std::span<const Outcome> outcomes) const;

  // Waiting requests, and the bytes of their texts; in parsed form they take about twenty times as
  // much memory.
  static constexpr std::size_t waiting_max_ = 256, waiting_bytes_max_ = 65'536;

  CoreClient& core_;
  CoreClient::Permit permit_;  // until run() returns
  const ProtocolLimits& limits_;
  PendingRequest pending_;
  ClientSession& session_ = pending_.session;
  std::deque<OrderMessage> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<AccountId> account_;  // of the last login
  bool over_ = false, ended_ = false;
  // The batch.
  std::vector<Read> batch_;
  std::vector<Command> commands_;
  std::vector<Credential> credentials_;
  std::string_view refusal_;  // of the whole batch
  boost::asio::steady_timer changed_{
      core_.context(), boost::asio::steady_timer::time_point::max()};  // canceled then
};

}  // namespace exchange
