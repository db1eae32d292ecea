#pragma once
// Server owns the parts of a running server, connects them, and stops them in a fixed order. main()
// calls it in steps, because it waits for the store and for signals between them; tests run it in
// their own process:
//   Server server(options, {store, system_clock(), metrics, keys}, die);  // HTTP: not ready
//   server.load();                                                        // the store is open
//   server.serve();                                                       // clients are served
// stop(): authenticator, timetable, HTTP, XML port, core; then the lease of the store ends.
// Thread: that of the caller; the parts have their own threads. Errors: each step throws the
// exceptions of its parts.

#include <memory>

#include "auth/authenticator.hpp"
#include "core/core.hpp"
#include "core/recovery.hpp"
#include "core/spare_pages.hpp"
#include "core/standby.hpp"
#include "days/new_day.hpp"
#include "market_data/market_feed.hpp"
#include "market_data/market_view.hpp"
#include "net/certificate.hpp"
#include "net/transport.hpp"
#include "options.hpp"
#include "store/store.hpp"
#include "timetable/scheduler.hpp"
#include "web/http_server.hpp"

namespace exchange {

class Server {
 public:
  // The objects that the server uses and that must outlive it.
  struct Surroundings {
    Store& store;
    Clock& clock;
    Metrics& metrics;
    KeyRing& keys;              // has the operator's key; the server adds those of accounts
    NewDay* new_day = nullptr;  // null: the store is not closed as a day
  };
  // Reads the certificate and the timetable, and opens the HTTP port. `options` must outlive the
  // server; its threads call `on_fatal`.
  Server(const Options& options, const Surroundings& surroundings, OnFatal on_fatal);
  ~Server() { stop(); }
  Server(const Server&) = delete;

  // Loads the acknowledged state of the exchange from the store, which must be open or attached.
  void load();
  // Call it instead of serve() while another server is active: shows the state that the other
  // server has committed.
  void begin_standby();
  // Reads what the active server has committed since. Returns whether this server is the active one
  // now, and may serve(). If it throws StoreUnavailable, call it again later.
  bool follow();
  // Opens the XML port, and answers requests there and over HTTP.
  void serve();
  // Answers the accepted requests, brings the tables up to date and ends all threads. Further calls
  // do nothing.
  void stop();
  // Stops in the same way, and closes the store as this day. Throws like Store::close_day().
  void close_day(const std::string& day);

  std::uint16_t port() const { return transport_->port(); }                         // after serve()
  std::uint16_t http_port() const { return http_ == nullptr ? 0 : http_->port(); }  // 0: none
  // Call it after serve(): leaves projection to a standby server, if the store allows one.
  void leave_projection() {
    if (store_.allows_standby()) core_->leave_projection();
  }
  Core& core() { return *core_; }
  HttpServer& http() { return *http_; }
  Certificate* certificate() { return certificate_.get(); }  // null: no TLS
  Scheduler* scheduler() { return scheduler_.get(); }        // null: no timetable

 private:
  // Ends all parts. Returns whether the server has served clients until now.
  bool end();
  void change_logins(const std::vector<LoginChange>& changes) {
    for (const LoginChange& change : changes) keys_.change(change);
  }

  // The order of the members matters: core threads may be inside the members before the core.
  const Options& options_;
  Store& store_;
  Clock& clock_;
  Metrics& metrics_;
  KeyRing& keys_;
  const OnFatal on_fatal_;
  std::unique_ptr<Certificate> certificate_;
  SparePages spare_pages_;
  MarketFeed feed_;
  OnProjected on_projected_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<MarketView> view_;      // from load() until HTTP shows it
  std::unique_ptr<Recovered> recovered_;  // from load() until the core, or the standby, has it
  std::unique_ptr<Standby> standby_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Core> core_;
  bool stopped_ = false;
};

}  // namespace exchange
