#pragma once
// AddressTurns allows at most `per_address_max` pieces of work of one address at once; the others
// wait. So even if one address requests a lot of work, the work of another address waits for at
// most that many pieces of it.
//   const AddressTurns::Turn turn = co_await turns.take(address);
// Owner: the door's server. Thread: that of the context.

#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <utility>

#include "base/address_limits.hpp"
#include "base/event.hpp"

namespace exchange {

class AddressTurns {
 public:
  // One piece of work of an address; the destructor ends it.
  class Turn {
   public:
    Turn(AddressTurns& turns, const PeerAddress& address) : turns_(&turns), address_(address) {}
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), address_(other.address_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() { end(); }
    void end() {
      if (AddressTurns* const turns = std::exchange(turns_, nullptr)) turns->end(address_);
    }

   private:
    AddressTurns* turns_;
    const PeerAddress address_;
  };

  AddressTurns(boost::asio::io_context& context, std::size_t per_address_max)
      : context_(context), per_address_max_(per_address_max) {}

  // Waits for a turn; the order is first come, first served.
  boost::asio::awaitable<Turn> take(PeerAddress address) {
    OfAddress& of_address = of_[address];
    if (of_address.under_way < per_address_max_) {
      ++of_address.under_way;
      // Continue after the handlers that are queued now. Those that request a turn find this one
      // taken.
      co_await boost::asio::post(context_, boost::asio::use_awaitable);
    } else {
      Event handed_over(context_);
      of_address.waiting.push_back(&handed_over);
      co_await handed_over.wait();
    }
    co_return Turn(*this, address);
  }
  // No work begins any more. Call it before the context ends, which destroys the waiting
  // coroutines.
  void close() { closed_ = true; }

 private:
  struct OfAddress {
    std::size_t under_way = 0;
    std::deque<Event*> waiting;
  };
  void end(const PeerAddress& address) {
    if (closed_) return;
    const auto found = of_.find(address);
    OfAddress& of_address = found->second;
    if (!of_address.waiting.empty()) {
      of_address.waiting.front()->set();
      of_address.waiting.pop_front();
    } else if (--of_address.under_way == 0) {
      of_.erase(found);
    }
  }

  boost::asio::io_context& context_;
  const std::size_t per_address_max_;
  std::map<PeerAddress, OfAddress> of_;  // a tree: clients cannot choose colliding keys
  bool closed_ = false;
};

}  // namespace exchange
