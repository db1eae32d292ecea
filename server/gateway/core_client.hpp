#pragma once
// CoreClient is the way to the core for doors that are coroutines: it drives the steps of their
// client sessions, and reads orders, fills and events, until close(), before the core ends.
// Owner: the door's server. Thread: that of the context, but where noted.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/address_quota.hpp"
#include "base/event.hpp"
#include "base/guarded.hpp"
#include "core/core.hpp"
#include "gateway/client_session.hpp"
#include "gateway/limits.hpp"
#include "gateway/readiness.hpp"
#include "gateway/view_changes.hpp"
#include "market_data/market_view.hpp"

namespace exchange {

// One client's request batch in the core. Owner: the coroutine that executes it.
struct PendingRequest : Submission {
  PendingRequest(boost::asio::io_context& context, Authenticator* authenticator, Metrics& metrics,
                 const Peer& peer_, DoorPolicy door = {})
      : peer(peer_), session(*this, authenticator, metrics, peer_, door), executed(context) {}
  const Peer peer;
  ClientSession session;
  Event executed;
};

class CoreClient final : public CompletionSink {
 public:
  // Coroutines run on `context`, on one thread, which must outlive it.
  // `authenticator` null: accounts have no keys. `executing_max`: requests under way at once; with
  // keys, whose check may take long, half as many of one address.
  CoreClient(boost::asio::io_context& context, const Journal& journal, Metrics& metrics,
             Authenticator* authenticator, DoorPolicy policy, std::size_t executing_max)
      : context_(context),
        journal_(journal),
        metrics_(metrics),
        authenticator_(authenticator),
        policy_(policy),
        executing_(executing_max,
                   authenticator == nullptr ? AddressQuota::unlimited : executing_max / 2) {}

  boost::asio::io_context& context() { return context_; }
  // From now on requests go to `core`, which outlives close(); `health` is its. Before, the server
  // is a standby. Thread: that of the context.
  void attach(Core& core, std::shared_ptr<const Health> health) {
    core_ = &core;
    health_ = std::move(health);
  }
  bool attached() const { return core_ != nullptr; }

  PendingRequest pending(const Peer& peer) {
    return {context_, authenticator_, metrics_, peer, policy_};
  }
  // Executes a batch, and returns once its outcomes are committed. If nothing was executed, returns
  // the reason as a sentence: the store is unavailable, the server stops or is a standby, or too
  // many requests are under way.
  boost::asio::awaitable<std::string_view> execute(PendingRequest& pending,
                                                   std::span<Command> commands,
                                                   std::span<Credential> credentials);
  // Until it is released, close() waits.
  class Lease;
  // Empty: the server stops.
  Lease enter();
  // The same for the holder of a lease, with no limit: it executes one request at a time, and also
  // while close() waits.
  boost::asio::awaitable<std::string_view> execute(PendingRequest& pending,
                                                   std::span<Command> commands,
                                                   std::span<Credential> credentials,
                                                   const Lease& lease);
  // Cancels the orders that end with the connection. As the core is needed for it, it waits while
  // the store is unavailable.
  boost::asio::awaitable<void> cancel_tied_orders(PendingRequest& pending, const Lease& lease);

  bool has_keys() const { return authenticator_ != nullptr; }
  // Null if accounts have no keys.
  KeyRing* keys() const { return has_keys() ? &authenticator_->keys() : nullptr; }
  // Whether a login has the right key; always if accounts have no keys. Nothing if it was not
  // checked, since the server stops or has too much to check.
  boost::asio::awaitable<std::optional<bool>> is_good(Credential login, const Peer& peer);

  // From the return on, the events of this account are recorded, if it exists.
  struct Recorded {
    std::string_view problem;  // as of execute()
    bool exists;
  };
  boost::asio::awaitable<Recorded> record_events(AccountId account, PeerAddress address);
  // Reads the events of each range, as far as the tables have them; nothing if the server stops or
  // is a standby. While the store is unavailable, it waits.
  using Events = std::optional<OrderReader::Events>;
  boost::asio::awaitable<Events> read_events(std::vector<EventRange> ranges);
  // Whether clients wait for events: the core then brings them into the tables soon.
  void expect_events(bool expected) {
    state_.with([&](const State& state) {
      if (attached() && !state.closed) core_->expect_events(expected);
    });
  }

  // What is said if no read can begin now.
  static constexpr std::string_view too_many_reads = "too many orders are being read";
  struct Read {
    std::string_view problem;  // a sentence; empty if the tables were read
    std::optional<StoredOrder> order;
  };
  // An order with the executions of `range` as it is in the tables. A problem after `time`, or at
  // once if `waiting_max` orders wait to be read. The read keeps `share` until it ends, which may
  // be after `time`.
  boost::asio::awaitable<Read> read_order(OrderId order, ExecutionRange range,
                                          std::shared_ptr<const AddressQuota::Share> share,
                                          std::chrono::milliseconds time, std::size_t waiting_max);

  struct FillsRead {
    std::string_view problem;  // as of Read
    Fills fills;
  };
  // Fills of an account, as far as the tables have them, likewise.
  boost::asio::awaitable<FillsRead> read_fills(FillRange range,
                                               std::shared_ptr<const AddressQuota::Share> share,
                                               std::chrono::milliseconds time,
                                               std::size_t waiting_max);

  // Whether tables and view have what was committed before this call; false if not within `time`.
  // A standby has nothing to wait for.
  boost::asio::awaitable<bool> catch_up(const std::optional<MarketView>& view, ViewChanges& changes,
                                        std::chrono::milliseconds time);

  // Whether no other server can have served when this call began: what this one shows is the newest
  // state. False if that is not known within `time`.
  boost::asio::awaitable<bool> is_active(std::chrono::milliseconds time);

  // The state of the core, also when it has ended, or has not begun.
  const Health& health() const { return *health_; }

  // Accepts nothing more, and waits until what was accepted is executed. Any thread but that of the
  // context.
  void close();

 private:
  struct State {
    bool closed = false;
    std::size_t executing = 0;  // leases
  };
  boost::asio::awaitable<ClientSession::Step> check_keys(ClientSession& session);
  boost::asio::awaitable<void> submit(PendingRequest& pending);
  void completed(std::span<Submission* const> submissions) override;

  bool begin_confirmation();
  template <class Result, class Begin>
  boost::asio::awaitable<std::pair<std::string_view, Result>> read(
      Begin begin, std::shared_ptr<const AddressQuota::Share> share,
      std::chrono::milliseconds time);

  boost::asio::io_context& context_;
  const Journal& journal_;
  Metrics& metrics_;
  Core* core_ = nullptr;
  Authenticator* const authenticator_;
  const DoorPolicy policy_;
  std::shared_ptr<const Health> health_ = std::make_shared<Health>();
  AddressQuota executing_;
  Guarded<State> state_;
  // Confirmations that this server is the active one, one at a time, and the requests that wait.
  std::uint64_t confirmations_begun_ = 0, confirmations_ended_ = 0;
  std::set<Event*> awaiting_confirmation_;
};

// Why what this server would show, or say that there is not, may be outdated; empty if it is not.
// Thread: that of `core`.
boost::asio::awaitable<std::string> why_stale(Readiness& readiness, CoreClient& core,
                                              const GatewayLimits& limits);

class CoreClient::Lease {
 public:
  Lease() = default;
  explicit operator bool() const { return bool(state_); }

 private:
  friend CoreClient;
  struct Leave {
    void operator()(Guarded<State>* state) const {
      state->with([](State& data) { --data.executing; });
      state->notify();
    }
  };
  explicit Lease(Guarded<State>* state) : state_(state) {}
  std::unique_ptr<Guarded<State>, Leave> state_;
};

}  // namespace exchange
