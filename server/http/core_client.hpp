#pragma once
// The HTTP thread's way to the core: executes requests and reads orders, until it is shut, before
// the core ends.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>

#include "auth/authenticator.hpp"
#include "base/address_quota.hpp"
#include "base/guarded.hpp"
#include "core/core.hpp"

namespace exchange {

// A coroutine of `context` waits; set() is called on the context's thread.
class Event {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Event(boost::asio::io_context& context) : timer_(context) {}
  void set();
  // Whether it was set by then.
  boost::asio::awaitable<bool> wait_until(Clock::time_point deadline);

 private:
  boost::asio::steady_timer timer_;
  bool set_ = false;
};

// One request on its way through the core. Owner: the coroutine that executes it.
struct PendingRequest : Submission {
  PendingRequest(boost::asio::io_context& context, const PeerAddress& address)
      : keys(address), executed(context) {}
  KeyCheck keys;
  AddressQuota::Share share;  // of the requests under way
  Event executed;
};

class CoreClient final : public CompletionSink {
 public:
  // Coroutines run on `context`, on one thread. Both must outlive it.
  // `authenticator`: null if accounts have no keys. `executing_max`: requests under way at once; of
  // one address half as many if their keys are to be checked, for which they may wait for long.
  CoreClient(boost::asio::io_context& context, Core& core, Authenticator* authenticator,
             std::size_t executing_max)
      : context_(context),
        core_(core),
        authenticator_(authenticator),
        executing_(executing_max,
                   authenticator == nullptr ? AddressQuota::unlimited : executing_max / 2) {}

  // Fills in the outcomes once they are committed. Else returns the reason why nothing was
  // executed, as a sentence: the server stops, or too many are under way.
  boost::asio::awaitable<std::string_view> execute(PendingRequest& ticket);

  // Whether who asks may see what is this account's: always where accounts have no keys. Nothing
  // where the server stops.
  boost::asio::awaitable<std::optional<bool>> may_see(const AccountId& account, std::string key,
                                                      const PeerAddress& address);

  struct Read {
    std::string_view problem;  // a sentence; empty where the tables were read
    std::optional<StoredOrder> order;
  };
  // An order as the tables have it.
  boost::asio::awaitable<Read> read_order(OrderId order, std::chrono::milliseconds time,
                                          std::size_t waiting_max);

  // Lets nothing more in, and waits until what was let in is executed. Any thread but that of the
  // context.
  void shut();

 private:
  struct State {
    bool shut = false;
    std::size_t executing = 0;
  };
  boost::asio::awaitable<void> check_keys(KeyCheck& keys);
  void completed(std::span<Submission* const> submissions) override;

  boost::asio::io_context& context_;
  Core& core_;
  Authenticator* const authenticator_;
  AddressQuota executing_;
  Guarded<State> state_;
};

}  // namespace exchange
