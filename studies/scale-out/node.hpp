#pragma once
// Node is what ledger and shard have in common: one thread that takes all messages that wait as a
// batch, applies them, commits, and only then sends. A crash loses what is not committed; recovery
// replays the journal. Called by World; owns nothing but its inbox and its batch.

#include "studies/scale-out/messages.hpp"

namespace exchange::scale_out {

class World;

class Node {
 public:
  explicit Node(World& world) : world_(world) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;

  void receive(Message message);
  // `is_committed`: the commit that is in progress reaches the journal, though no other node learns
  // of it.
  void crash(bool is_committed);
  void recover();
  // Sends again what was not acknowledged.
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
  // Messages that may leave now that all is committed.
  virtual void send_committed() = 0;
  virtual void replay() = 0;

  void reply(RequestId id, const Outcome& outcome);
  void charge(Nanoseconds cpu) { cpu_ += cpu; }
  void needs_commit() { needs_commit_ = true; }
  unsigned incarnation() const { return incarnation_; }

  World& world_;

 private:
  void start_batch();
  void end_commit(unsigned incarnation);

  std::vector<Message> inbox_, replies_;
  bool is_up_ = true, is_busy_ = false, needs_commit_ = false;
  unsigned incarnation_ = 0;  // how often it has crashed
  Nanoseconds cpu_ = 0, cpu_used_ = 0;
  std::uint64_t commits_ = 0;
};

}  // namespace exchange::scale_out
