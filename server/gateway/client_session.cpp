#include "gateway/client_session.hpp"

#include <algorithm>

namespace exchange {

ClientSession::ClientSession(Submission& submission, Authenticator* authenticator, Metrics& metrics,
                             const Peer& peer, DoorPolicy policy)
    : submission_(submission),
      authenticator_(authenticator),
      metrics_(metrics),
      proven_(peer.proven) {
  submission_.policy = policy;
  if (authenticator_ != nullptr) keys_.emplace(peer.address, peer.socket);
}

void ClientSession::count_requests(std::size_t requests, std::size_t errors) {
  submission_.stamps.end(Stage::parse);
  Metrics::add(metrics_.requests, requests);
  if (errors > 0) Metrics::add(metrics_.client_errors, errors);
}

ClientSession::Step ClientSession::begin_batch(std::span<Command> commands,
                                               std::span<Credential> credentials) {
  commands_ = commands;
  noted_ = 0;
  executed_ = !commands.empty();
  submission_.commands = commands;
  if (!keys_) return commands.empty() ? Step::reply : Step::execute;
  keys_->begin_batch(credentials, commands);
  if (commands.empty() && credentials.empty()) return Step::reply;
  proves_ = proven_ != nullptr && std::ranges::all_of(credentials, [](const Credential& one) {
              return !one.key.empty();
            });
  if (proves_) keys_->logins = *proven_;
  return authenticator_->is_checked(*keys_) ? keys_checked() : Step::check_keys;
}

void ClientSession::check_keys(std::function<void()> on_done) {
  keys_->on_done = std::move(on_done);
  authenticator_->check(*keys_);
}

ClientSession::Step ClientSession::keys_checked() {
  if (keys_->refused) {
    submission_.refuse(Reason::key_unchecked);
    return Step::reply;
  }
  // Keep the newest proven logins, without accounts whose key was wrong since.
  if (proves_) *proven_ = keys_->logins;
  submission_.commands = keys_->accepted();
  return Step::execute;  // even if no command is left (invariant 3)
}

void ClientSession::end_batch() {
  submission_.stamps.end(Stage::deliver);
  // before the client gets the reply that its accounts exist
  if (keys_ && !is_disconnecting()) authenticator_->complete(*keys_, submission_.outcomes);
}

void ClientSession::note_request(std::size_t commands, bool ties_orders) {
  if (ties_orders || !tied_orders_.empty())
    tied_orders_.note(commands_.subspan(noted_, commands), outcomes().subspan(noted_, commands),
                      ties_orders);
  noted_ += commands;
}

void ClientSession::replied() {
  submission_.stamps.end(Stage::write);
  if (executed_) metrics_.stage_times.record(submission_.stamps);
}

bool ClientSession::begin_tied_cancels() {
  constexpr std::size_t at_once_max = 1'000;
  cancels_.clear();
  tied_orders_.take(cancels_, at_once_max);
  if (cancels_.empty()) return false;
  submission_.stamps.begin();
  disconnecting_ = true;
  submission_.commands = cancels_;
  return true;
}

}  // namespace exchange
