#pragma once
// Core is the one thread through which everything goes that changes or reveals the exchange's
// state. It drains what waits, commits it as one batch (Committer) and completes it, in order;
// while a commit is under way the next batch fills by itself. Completions are called here and in
// OrderReader, nowhere else.

#include <deque>
#include <vector>

#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "core/committer.hpp"
#include "core/order_reader.hpp"
#include "core/projector.hpp"
#include "core/recovery.hpp"
#include "core/service.hpp"

namespace exchange {

class Core final : public Service {
 public:
  // `store` is open and `recovered` came from it. `on_fatal` is called, once, from a core thread,
  // when nothing can be acknowledged any more (fenced, corrupt, our own bug); the process must end.
  Core(Recovered recovered, Store& store, Clock& clock, const CoreLimits& limits, Metrics& metrics,
       OnFatal on_fatal, OnProjected on_projected = {});
  // Completes what was submitted, projects what is journaled, and stops.
  ~Core();

  void submit(std::span<Submission* const> submissions) override;
  // Reads an order from the tables (OrderReader::look_up). Any thread.
  bool look_up(OrderId order, OrderReader::OnFound found, std::size_t waiting_max) {
    return order_reader_.look_up(order, std::move(found), waiting_max);
  }
  // What decisions read of this core's state. Outlives it.
  std::shared_ptr<const Health> health() const { return health_; }

 private:
  struct Inbox {
    std::vector<Submission*> submissions;
    bool projector_idle = false;
    bool stopping = false;
  };

  void run();
  void defer_large(std::vector<Submission*>& submissions);
  void take_large(std::vector<Submission*>& submissions);
  void wait_for_reply_memory();
  void run_batches(std::vector<Submission*>& submissions);
  void complete(std::span<Submission* const> submissions);
  void note_unprojected();
  void offer_projection();
  void wait_for_projector();
  void project_rest();

  const CoreLimits& limits_;
  Metrics& metrics_;
  Clock& clock_;
  const OnFatal on_fatal_;
  Committer committer_;
  const std::shared_ptr<Health> health_;
  Guarded<Inbox> inbox_;  // bounded by the number of connections: each has one submission at most
  std::deque<Submission*> large_;  // taken, and waiting behind small ones
  Rows rows_;                      // lent to the projector and back
  std::vector<std::pair<CompletionSink*, std::vector<Submission*>>> by_sink_;
  OrderReader order_reader_;
  Projector projector_;
  Thread thread_;
};

}  // namespace exchange
