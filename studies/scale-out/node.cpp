#include "studies/scale-out/node.hpp"

#include <utility>

#include "studies/scale-out/world.hpp"

namespace exchange::scale_out {

void Node::receive(Message message) {
  if (!is_up_) return;  // the connection broke
  inbox_.push_back(std::move(message));
  if (!is_busy_) start_batch();
}

void Node::start_batch() {
  is_busy_ = true;
  needs_commit_ = false;
  cpu_ = 0;
  for (const Message& message : std::exchange(inbox_, {})) take(message);
  end_of_batch();
  if (world_.config().plant == Plant::reply_before_commit)
    for (Message& message : std::exchange(replies_, {})) world_.send_to_client(std::move(message));
  const Costs& costs = world_.config().costs;
  if (needs_commit_) charge(costs.commit);
  cpu_used_ += cpu_;
  const Nanoseconds wait = needs_commit_ ? world_.between(costs.wait_min, costs.wait_max) : 0;
  world_.after(cpu_ + wait, [this, incarnation = incarnation_] { end_commit(incarnation); });
}

void Node::end_commit(unsigned incarnation) {
  if (incarnation != incarnation_) return;
  commits_ += needs_commit_ ? 1 : 0;
  commit();
  is_busy_ = false;
  for (Message& message : std::exchange(replies_, {})) world_.send_to_client(std::move(message));
  send_committed();
  if (!inbox_.empty()) start_batch();
}

void Node::crash(bool is_committed) {
  if (is_busy_ && is_committed) commit();
  is_up_ = is_busy_ = false;
  ++incarnation_;
  inbox_.clear();
  replies_.clear();
}

void Node::recover() {
  replay();
  is_up_ = true;
}

void Node::reply(RequestId id, const Outcome& outcome) {
  needs_commit();  // a reply reveals state
  charge(world_.config().costs.complete);
  replies_.emplace_back(Reply{id, outcome});
}

}  // namespace exchange::scale_out
