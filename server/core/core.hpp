#pragma once
// Core owns the only thread that changes or reads the state of the exchange. It takes all waiting
// submissions, commits them as one batch (Committer) and completes them in order. While a commit is
// in progress, the next batch collects in the inbox, so batches form without a timer. run_batches()
// holds replies until their commit; only Core and OrderReader call completion sinks.
// Owner: Server. Thread: private functions run on the core thread; public ones as noted.

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/guarded.hpp"
#include "base/thread.hpp"
#include "core/committer.hpp"
#include "core/order_reader.hpp"
#include "core/projector.hpp"
#include "core/recovery.hpp"
#include "core/service.hpp"
#include "store/store.hpp"

namespace exchange {

// Called on the core thread, once the batch is committed and completed, with its events of accounts
// and the references of orders of these accounts. It must not wait.
using OnEvents = std::function<void(std::span<const EventRow> events,
                                    std::span<const ReferenceRow> references, BatchNumber batch)>;

class Core final : public Service {
 public:
  // Starts the core, projector and order reader threads. `store` is open, and `recovered` came from
  // it. One of these threads calls `on_fatal` once if the server cannot acknowledge anything any
  // more (fenced, corrupt store, a bug); then the process must end. All references must outlive the
  // core.
  Core(Recovered recovered, Store& store, Clock& clock, const CoreLimits& limits, Metrics& metrics,
       OnFatal on_fatal, OnProjected on_projected = {}, OnEvents on_events = {});
  // Completes every submission, projects every journaled batch, and joins the threads.
  ~Core();
  // Makes the destructor skip the projection; the server that takes over does it. Any thread.
  void leave_projection();

  void submit(std::span<Submission* const> submissions) override;
  // Reads an order from the tables (OrderReader::look_up). Any thread.
  bool look_up(OrderId order, const ExecutionRange& range, OrderReader::OnFound found,
               std::size_t waiting_max) {
    return order_reader_.look_up(order, range, std::move(found), waiting_max);
  }
  // Calls OrderReader::read_events(). Any thread.
  void read_events(std::vector<EventRange> ranges, OrderReader::OnEvents on_read) {
    order_reader_.read_events(std::move(ranges), std::move(on_read));
  }
  // Calls OrderReader::read_fills(). Any thread.
  bool read_fills(const FillRange& range, OrderReader::OnFills on_read, std::size_t waiting_max) {
    return order_reader_.read_fills(range, std::move(on_read), waiting_max);
  }
  // Call it if a reader waits for rows of a committed batch. It shortens the pause before the next
  // projection. Any thread.
  void await_projection() { projector_.await_rows(); }
  // Does the same, and ends the rests of the projection under way. Any thread.
  void hurry_projection() { projector_.hurry(); }
  // Sets whether the core calls on_events(). Once this returns, it does so for each batch after
  // health()->committed_batch(). Any thread.
  void expect_events(bool expected) { events_expected_ = expected; }
  // Calls `confirmed` on the core thread once the store has confirmed that this server is still the
  // active one. Does not call it while the store is unavailable, or if the core ends first. Any
  // thread.
  void confirm(std::function<void()> confirmed);
  // Returns the state of this core that decisions read. It outlives the core.
  std::shared_ptr<const Health> health() const { return health_; }

 private:
  struct Inbox {
    std::vector<Submission*> submissions;
    std::vector<std::function<void()>> confirmations;
    bool projector_idle = false;
    bool stopping = false, leaves_projection = false;
  };

  // The rows that the projector gets once all of them are copied into rows_.
  struct HandOver {
    BatchNumber batch;
    ClosedMark closed;
    std::size_t portion;  // orders to copy in a turn, at least: a large one takes 32 turns
  };

  void run();
  void beat() { health_->beat(clock_.monotonic_ns()); }
  void defer_large(std::vector<Submission*>& submissions);
  void take_large(std::vector<Submission*>& submissions);
  void wait_for_reply_memory();
  std::size_t run_batches(std::vector<Submission*>& submissions);  // returns the number of commands
  void complete(std::span<Submission* const> submissions);
  void show_state();
  void show_events();
  void note_unprojected();
  void release_closed(std::size_t orders_max);
  void offer_projection(std::size_t orders_max);
  void slow_down();
  void wait_for_projector();
  void project_rest();

  const CoreLimits& limits_;
  Metrics& metrics_;
  Clock& clock_;
  const bool may_have_standbys_;
  const OnFatal on_fatal_;
  Committer committer_;
  const std::shared_ptr<Health> health_;
  Guarded<Inbox> inbox_;  // bounded by the number of connections: at most one submission each
  std::deque<Submission*> large_;      // taken from the inbox, deferred behind small ones
  Rows rows_;                          // swapped with the projector's, so that memory is reused
  std::optional<HandOver> hand_over_;  // in progress
  std::size_t collected_before_ = 0;   // rows that had changed again when the projector got those
  const OnEvents on_events_;
  std::atomic<bool> events_expected_ = false;
  // those of the exchange's new rows that on_events_ got, or that it need not get
  std::size_t events_shown_ = 0, references_shown_ = 0;
  std::vector<ReferenceRow> references_of_events_;
  bool all_released_ = true;  // of the closed orders that the tables have
  std::vector<std::pair<CompletionSink*, std::vector<Submission*>>> by_sink_;
  OrderReader order_reader_;
  Projector projector_;
  Thread thread_;
};

}  // namespace exchange
