#pragma once
// CoreClient connects doors that are coroutines to the core: it drives the steps of their client
// sessions and reads orders, fills and events. It works until close(), which comes before the end
// of the core.
// Owner: the door's server. Thread: that of the context, except where noted.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/address_limits.hpp"
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
  // Coroutines run on `context`, on one thread; the context must outlive the client. If
  // `authenticator` is null, accounts have no keys. At most `executing_max` requests are under way
  // at once. If accounts have keys, whose check may take long, one address has at most half of
  // them.
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
  // Sends requests to `core` from now on; `health` belongs to it. The core must outlive close().
  // Before this call the server is a standby. Thread: that of the context.
  void attach(Core& core, std::shared_ptr<const Health> health) {
    core_ = &core;
    health_ = std::move(health);
  }
  bool attached() const { return core_ != nullptr; }

  PendingRequest pending(const Peer& peer) {
    return {context_, authenticator_, metrics_, peer, policy_};
  }
  // Executes a batch, and returns once its outcomes are committed. If it executes nothing, returns
  // the reason as a sentence: the store is unavailable, the server stops or is a standby, or too
  // many requests are under way.
  boost::asio::awaitable<std::string_view> execute(PendingRequest& pending,
                                                   std::span<Command> commands,
                                                   std::span<Credential> credentials);
  // close() waits until all permits are released.
  class Permit;
  // Returns an empty permit if the server stops.
  Permit enter();
  // Executes a batch for the holder of a permit, as above but without a limit: the holder executes
  // one request at a time, even while close() waits.
  boost::asio::awaitable<std::string_view> execute(PendingRequest& pending,
                                                   std::span<Command> commands,
                                                   std::span<Credential> credentials,
                                                   const Permit& permit);
  // Cancels the orders that end with the connection. This needs the core, so it waits while the
  // store is unavailable.
  boost::asio::awaitable<void> cancel_tied_orders(PendingRequest& pending, const Permit& permit);

  bool has_keys() const { return authenticator_ != nullptr; }
  // Returns null if accounts have no keys.
  KeyRing* keys() const { return has_keys() ? &authenticator_->keys() : nullptr; }
  // Whether a login has the right key; always true if accounts have no keys. Empty if the key was
  // not checked, because the server stops or has too many keys to check.
  boost::asio::awaitable<std::optional<bool>> is_good(Credential login, const Peer& peer);

  // Makes the core record the events of this account, if it exists, from the return on.
  struct Recorded {
    std::string_view problem;  // as in execute()
    bool exists;
  };
  boost::asio::awaitable<Recorded> record_events(AccountId account, PeerAddress address);
  // Reads the events of each range that are in the tables. Returns nothing if the server stops or
  // is a standby. Waits while the store is unavailable.
  using Events = std::optional<OrderReader::Events>;
  boost::asio::awaitable<Events> read_events(std::vector<EventRange> ranges);
  // Sets whether the core shows the events of each batch (Core::expect_events()).
  void expect_events(bool expected) {
    state_.with([&](const State& state) {
      if (attached() && !state.closed) core_->expect_events(expected);
    });
  }
  // Makes the next projection begin soon; if hurried, without rests.
  void await_projection(bool hurried = false) {
    state_.with([&](const State& state) {
      if (!attached() || state.closed) return;
      hurried ? core_->hurry_projection() : core_->await_projection();
    });
  }

  // The problem if no read can begin now.
  static constexpr std::string_view too_many_reads = "too many orders are being read";
  struct Read {
    std::string_view problem;  // a sentence; empty if the tables were read
    std::optional<StoredOrder> order;
  };
  // Reads an order, with the executions of `range`, from the tables. Returns a problem if the store
  // does not answer within `time`, or immediately if `waiting_max` orders already wait to be read.
  // The read keeps `share` until it ends, which may be after `time`.
  boost::asio::awaitable<Read> read_order(OrderId order, ExecutionRange range,
                                          std::shared_ptr<const AddressQuota::Share> share,
                                          std::chrono::milliseconds time, std::size_t waiting_max);

  struct FillsRead {
    std::string_view problem;  // as in Read
    Fills fills;
  };
  // Reads the fills of an account that are in the tables, with the same limits as read_order().
  boost::asio::awaitable<FillsRead> read_fills(FillRange range,
                                               std::shared_ptr<const AddressQuota::Share> share,
                                               std::chrono::milliseconds time,
                                               std::size_t waiting_max);

  // Waits until the tables and the view have everything that was committed before this call.
  // Returns false if that takes longer than `time`. A standby has nothing to wait for.
  boost::asio::awaitable<bool> catch_up(const std::optional<MarketView>& view, ViewChanges& changes,
                                        std::chrono::milliseconds time);

  // Returns true if no other server can have served when this call began; this server then shows
  // the newest state. Returns false if that is not known within `time`.
  boost::asio::awaitable<bool> is_active(std::chrono::milliseconds time);

  // The state of the core, even before it begins and after it has ended.
  const Health& health() const { return *health_; }

  // Accepts no more requests, and waits until the accepted ones are executed. Any thread except
  // that of the context.
  void close();

 private:
  struct State {
    bool closed = false;
    std::size_t executing = 0;  // permits
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
  // Confirmations that this server is the active one, of which one runs at a time, and the requests
  // that wait for one.
  std::uint64_t confirmations_begun_ = 0, confirmations_ended_ = 0;
  std::set<Event*> awaiting_confirmation_;
};

// Returns the reason why the state that this server shows may be outdated, which includes replies
// that something does not exist; empty if it is current. Thread: that of `core`.
boost::asio::awaitable<std::string> why_stale(Readiness& readiness, CoreClient& core,
                                              const GatewayLimits& limits);

class CoreClient::Permit {
 public:
  Permit() = default;
  explicit operator bool() const { return bool(state_); }

 private:
  friend CoreClient;
  struct Leave {
    void operator()(Guarded<State>* state) const {
      state->with([](State& data) { --data.executing; });
      state->notify();
    }
  };
  explicit Permit(Guarded<State>* state) : state_(state) {}
  std::unique_ptr<Guarded<State>, Leave> state_;
};

}  // namespace exchange
