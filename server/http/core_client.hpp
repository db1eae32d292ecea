#pragma once
// The HTTP thread's way to the core: executes requests and reads orders, until it is shut, before
// the core ends.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <optional>

#include "auth/authenticator.hpp"
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
  explicit PendingRequest(boost::asio::io_context& context) : executed(context) {}
  Event executed;
};

class CoreClient final : public CompletionSink {
 public:
  // Coroutines run on `context`, on one thread. Both must outlive it.
  // `authenticator`: null where accounts have no keys.
  CoreClient(boost::asio::io_context& context, Core& core, Authenticator* authenticator)
      : context_(context),
        core_(core),
        authenticator_(authenticator),
        service_(authenticator == nullptr ? static_cast<Service&>(core) : *authenticator) {}

  // Fills in the outcomes once they are committed. Else says in a sentence why nothing was
  // executed: the door is shut, or `executing_max` are under way, or half as many of this peer
  // whose keys are to be checked.
  boost::asio::awaitable<std::string_view> execute(PendingRequest& ticket,
                                                   std::size_t executing_max);

  // Whether who asks may see what is this account's: always where accounts have no keys. Nothing
  // where the server stops.
  boost::asio::awaitable<std::optional<bool>> may_see(const AccountId& account, std::string key,
                                                      Peer peer);

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
    // where accounts have keys, and one may wait for long
    std::map<Peer, std::size_t> executing_of;
  };
  void completed(std::span<Submission* const> submissions) override;

  boost::asio::io_context& context_;
  Core& core_;
  Authenticator* const authenticator_;
  Service& service_;
  Guarded<State> state_;
};

}  // namespace exchange
