#pragma once
// Node is the common part of ledger and shard: one thread that takes all waiting messages as a
// batch, applies them, commits, and only then sends. A crash loses what is not committed; recovery
// replays the journal. Called by World; owns nothing but its inbox and its batch.

#include <utility>

#include "studies/scale-out/world.hpp"

namespace exchange::scale_out {

class Node {
 public:
  explicit Node(World& world) : world_(world) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;

  void receive(Message message) {
    if (!is_up_) return;  // the connection broke
    inbox_.push_back(std::move(message));
    if (!is_busy_) start_batch();
  }
  // `is_committed`: the commit in progress reaches the journal, but no other node learns of it.
  void crash(bool is_committed) {
    if (is_busy_ && is_committed) commit();
    is_up_ = is_busy_ = false;
    ++incarnation_;
    inbox_.clear();
    replies_.clear();
  }
  void recover() {
    replay();
    is_up_ = true;
  }
  // Sends again all items that were not acknowledged.
  virtual void retransmit() = 0;

  bool is_up() const { return is_up_; }
  virtual bool is_at_rest() const { return is_up_ && !is_busy_ && inbox_.empty(); }
  Nanoseconds cpu_used() const { return cpu_used_; }
  std::uint64_t commits() const { return commits_; }

 protected:
  // Changes the state in memory and adds to the batch: records, messages to send, CPU time.
  virtual void take(const Message& message) = 0;
  virtual void end_of_batch() = 0;
  // Makes the records of the batch durable, and reports them to the audit.
  virtual void commit() = 0;
  // Sends the messages that may leave now that all is committed.
  virtual void send_committed() = 0;
  virtual void replay() = 0;

  void reply(RequestId id, const Outcome& outcome) {
    needs_commit();  // a reply reveals state
    charge(world_.config().costs.complete);
    replies_.emplace_back(Reply{id, outcome});
  }
  void charge(Nanoseconds cpu) { cpu_ += cpu; }
  void needs_commit() { needs_commit_ = true; }
  unsigned incarnation() const { return incarnation_; }

  World& world_;

 private:
  void start_batch() {
    is_busy_ = true;
    needs_commit_ = false;
    cpu_ = 0;
    for (const Message& message : std::exchange(inbox_, {})) take(message);
    end_of_batch();
    if (world_.config().plant == Plant::reply_before_commit)
      for (Message& message : std::exchange(replies_, {}))
        world_.send_to_client(std::move(message));
    const Costs& costs = world_.config().costs;
    if (needs_commit_) charge(costs.commit);
    cpu_used_ += cpu_;
    const Nanoseconds wait = needs_commit_ ? world_.between(costs.wait_min, costs.wait_max) : 0;
    world_.after(cpu_ + wait, [this, incarnation = incarnation_] { end_commit(incarnation); });
  }
  void end_commit(unsigned incarnation) {
    if (incarnation != incarnation_) return;
    commits_ += needs_commit_ ? 1 : 0;
    commit();
    is_busy_ = false;
    for (Message& message : std::exchange(replies_, {})) world_.send_to_client(std::move(message));
    send_committed();
    if (!inbox_.empty()) start_batch();
  }

  std::vector<Message> inbox_, replies_;
  bool is_up_ = true, is_busy_ = false, needs_commit_ = false;
  unsigned incarnation_ = 0;  // how often it has crashed
  Nanoseconds cpu_ = 0, cpu_used_ = 0;
  std::uint64_t commits_ = 0;
};

}  // namespace exchange::scale_out
