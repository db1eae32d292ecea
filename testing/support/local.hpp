#pragma once
// A whole exchange without sockets or threads: sessions on one side, a Committer over a MemoryStore
// on the other. Its clock stands still, so that every byte of each reply is known. Thread: one at a
// time.

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/committer.hpp"
#include "core/order_reader.hpp"
#include "core/recovery.hpp"
#include "gateway/client_session.hpp"
#include "protocol/xml_session.hpp"
#include "store/memory/memory_store.hpp"
#include "support/clocks.hpp"
#include "support/xml_text.hpp"

namespace exchange::testing {

inline Recovered open_and_recover(Store& store) {
  store.open();
  return recover(store);
}

// Copies as many bytes to a session as it has room for, and removes them from `bytes`.
inline void receive_some(XmlSession& session, std::string_view& bytes) {
  const std::span<char> space = session.read_space();
  ENSURE(!space.empty());
  const std::size_t taken = std::min(bytes.size(), space.size());
  std::memcpy(space.data(), bytes.data(), taken);
  session.received(taken);
  bytes.remove_prefix(taken);
}
// Copies all bytes; returns whether there is a request batch.
inline bool receive(XmlSession& session, std::string_view bytes) {
  while (!bytes.empty()) receive_some(session, bytes);
  return session.take_requests();
}

class LocalService {
 public:
  LocalService()
      : committer_(open_and_recover(store_).exchange, 0, store_.journal(), clock_, limits_,
                   metrics_) {}

  // Executes the session's request batch and writes its replies. Requires: the client has no orders
  // that end with its connection.
  void answer(XmlSession& session) {
    Submission submission{.commands = session.commands()};
    if (!submission.commands.empty()) execute(submission);
    session.reply(submission.outcomes);
  }
  // Executes the commands of a client session.
  void execute(Submission& submission) {
    Submission* const one = &submission;
    committer_.commit({&one, 1});
    // the number of a replacement is not the id of an order
    for (std::size_t i = 0; i < submission.outcomes.size(); ++i)
      if (const auto* missing = std::get_if<NotInMemory>(&submission.outcomes[i]))
        submission.outcomes[i] = outcome_from_tables(
            submission.commands[i], missing->account,
            store_.read_order(missing->order, executions_to_read(submission.commands[i])),
            submission.policy);
  }
  Metrics& metrics() { return metrics_; }
  Exchange& exchange() { return committer_.exchange(); }

 private:
  MemoryStore store_;
  FixedClock clock_;
  CoreLimits limits_;
  Metrics metrics_;
  Committer committer_;
};

// One client of the service: the loop of xml_session.hpp, with memory in place of a socket.
class LocalClient {
 public:
  LocalClient(LocalService& service, const ProtocolLimits& limits)
      : service_(service),
        limits_(limits),
        session_(limits),
        client_(submission_, nullptr, service.metrics(), {}, limits.policy()) {}
  // a session keeps the reference
  LocalClient(LocalService& service, ProtocolLimits&& limits) = delete;

  // Sends the bytes together, as far as the session has room. A finished session takes no more
  // bytes.
  void send(std::string_view bytes) {
    while (!bytes.empty() && !session_.finished()) {
      receive_some(session_, bytes);
      answer();
    }
  }
  void end() {
    session_.end_of_stream();
    answer();
  }
  // Returns all replies since the last call.
  std::string replies() { return std::exchange(replies_, {}); }
  bool closed() const { return session_.finished(); }
  XmlSession& session() { return session_; }

 private:
  void answer() {
    while (!session_.finished() &&
           session_.take_requests(client_.tie_problem(limits_.tied_orders_max))) {
      submission_.outcomes.clear();
      if (client_.begin_batch(session_.commands(), {}) == ClientSession::Step::execute)
        service_.execute(submission_);
      session_.reply(client_.outcomes(), [this](std::size_t commands, bool ties_orders) {
        client_.note_request(commands, ties_orders);
      });
      replies_ += session_.output();
      session_.output().clear();
    }
    while (session_.finished() && client_.begin_tied_cancels()) service_.execute(submission_);
  }

  LocalService& service_;
  const ProtocolLimits& limits_;
  XmlSession session_;
  Submission submission_;
  ClientSession client_;
  std::string replies_;
};

}  // namespace exchange::testing
