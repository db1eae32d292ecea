#include "server.hpp"

#include <ctime>
#include <random>

#include "base/fail_point.hpp"
#include "base/log.hpp"
#include "store/kept_days.hpp"
#include "store/store_url.hpp"
#include "timetable/schedule.hpp"

namespace exchange {
namespace {

// At full load the engine needs five pages a second.
constexpr std::size_t spare_pages_kept = 4;

ServerInfo server_info(const Options& options) {
  return {.policy = std::string(to_string(options.net.policy)),
          .threads = threads_name(options.net),
          .store = options.store.substr(0, options.store.find(':')),
          .version = EXCHANGE_VERSION,
          .started_s = ::time(nullptr),
          .replicas_required = options.store_limits.replicas_required,
          .state = options.state};
}

}  // namespace

Server::Server(const Options& options, const Surroundings& surroundings, OnFatal on_fatal)
    : options_(options),
      store_(surroundings.store),
      clock_(surroundings.clock),
      metrics_(surroundings.metrics),
      keys_(surroundings.keys),
      on_fatal_(std::move(on_fatal)),
      spare_pages_(spare_pages_kept, on_fatal_),
      feed_(options.http.unread_rows_max) {
  if (options.tls.enabled()) certificate_ = std::make_unique<Certificate>(options.tls, metrics_);
  if (options.auth.required)
    authenticator_ = std::make_unique<Authenticator>(options.auth, keys_, metrics_);
  if (!options.timetable.empty()) {
    require_time_zone();
    scheduler_ = std::make_unique<Scheduler>(options.timetable, clock_, metrics_, on_fatal_);
  }
  if (scheduler_ || options.http_port)
    on_projected_ = [this](const Rows& rows, BatchNumber batch) {
      if (scheduler_) scheduler_->apply(rows.symbols);
      if (options_.http_port) feed_.push(rows, batch);
    };
  if (!options.http_port) return;
  CloseDay close_day;
  if (surroundings.new_day != nullptr)
    close_day = [&store = store_, &new_day = *surroundings.new_day](const std::string& day) {
      return new_day.ask(store, day);
    };
  http_ = std::make_unique<HttpServer>(
      HttpOptions{options.http_bind, *options.http_port, options.http, options.protocol,
                  options.http_listen},
      server_info(options), feed_, store_, metrics_, authenticator_.get(), certificate_.get(),
      std::move(close_day),
      [&options] { return make_kept_days(options.store, options.store_limits); });
}

void Server::load() {
  recovered_ = std::make_unique<Recovered>(recover(store_, std::random_device()()));
  Recovered& recovered = *recovered_;
  recovered.exchange.take_pages_from(spare_pages_);
  log_info("{}: {} accounts, {} open orders, batch {} ({} replayed from the journal)",
           store_kind(options_.store) == StoreKind::memory ? "memory store" : store_.describe(),
           recovered.exchange.accounts(), recovered.exchange.open_orders(), recovered.last_batch,
           recovered.batches_replayed);
  if (http_) {
    view_ = std::make_unique<MarketView>(options_.http.trades_kept_max,
                                         options_.http.trades_in_all_max, std::random_device()());
    std::vector<ExecutionRow> trades =
        store_.tables().newest_executions(options_.http.trades_loaded_max);
    // An active server may have projected more executions since the tables were loaded. They come
    // as changes later.
    std::erase_if(trades, [&](const ExecutionRow& row) {
      return row.id > recovered.tables.totals.executions;
    });
    view_->load(recovered.tables, recovered.last_batch - recovered.batches_replayed, trades);
    if (const std::vector<RoundRow>& rounds = recovered.tables.rounds; !rounds.empty()) {
      store_.tables().read_trades(rounds.front().executions_before,
                                  [&](const Leaderboard::Trade& trade) {
                                    if (trade.id <= recovered.tables.totals.executions)
                                      view_->leaderboard().add(trade);
                                  });
      view_->leaderboard().update();
    }
    view_->take_pages_from(spare_pages_);
  }
  recovered.tables = {};
}

void Server::begin_standby() {
  standby_ = std::make_unique<Standby>(std::move(*recovered_), store_, clock_, options_.core,
                                       metrics_, on_projected_);
  if (http_) http_->show(std::move(*view_), standby_->health());
}

bool Server::follow() {
  const bool active = standby_->follow();
  if (options_.auth.required) change_logins(standby_->take_logins());
  if (!active) return false;
  if (standby_->was_handed_over())
    log_info("no other server is active: this one takes over at batch {}", standby_->last_batch());
  else
    log_warning("the active server was lost: this one takes over at batch {}",
                standby_->last_batch());
  *recovered_ = standby_->take();
  return true;
}

void Server::serve() {
  if (http_ && standby_ == nullptr) http_->show(std::move(*view_));
  standby_.reset();
  view_.reset();
  if (options_.auth.required) change_logins(recovered_->logins);
  recovered_->exchange.set_limits(options_.state);
  if (scheduler_) scheduler_->apply(recovered_->exchange.symbol_rows());
  core_ = std::make_unique<Core>(std::move(*recovered_), store_, clock_, options_.core, metrics_,
                                 on_fatal_, on_projected_,
                                 [this](auto events, auto references, BatchNumber batch) {
                                   feed_.push_events(events, references, batch);
                                 });
  recovered_.reset();
  if (scheduler_) scheduler_->start(*core_);
  transport_ = make_transport({.options = options_.net,
                               .protocol = options_.protocol,
                               .service = *core_,
                               .metrics = metrics_,
                               .authenticator = authenticator_.get(),
                               .certificate = certificate_.get()});
  if (http_)
    http_->attach(*core_, [&transport = *transport_](std::int64_t now_ns) {
      return transport.silence_ns(now_ns);
    });
}

void Server::stop() {
  if (end()) store_.end_lease();
}

void Server::close_day(const std::string& day) {
  end();
  fail_point<StoreUnavailable>("day.before");
  store_.close_day(day);
}

bool Server::end() {
  if (std::exchange(stopped_, true)) return false;
  if (authenticator_) authenticator_->stop();
  if (scheduler_) scheduler_->stop();
  if (http_) http_->stop();
  if (transport_) transport_->stop();
  const bool served = core_ != nullptr;
  core_.reset();  // the other parts outlive it: it may be inside one of their sinks
  log_info("stopped");
  return served;
}

}  // namespace exchange
