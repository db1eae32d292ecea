#pragma once
// The requests of the clients. A Workload is what all clients share; a Script is one client: it
// writes that client's next request. The requests follow from the seed and the client's index, with
// two exceptions that depend on the server: the ids of orders, and, if the client is far ahead of
// the replies (pipelines, the first requests of a run), whether there is an order yet to query,
// cancel or replace. If there is not, an order is placed instead. Pure; a Script serves one thread
// at a time.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/loadgen/audit/history.hpp"
#include "client/loadgen/options.hpp"
#include "client/loadgen/random.hpp"

namespace exchange::loadgen {

BOOST_DEFINE_FIXED_ENUM_CLASS(Asked, std::uint8_t, create, order, query, cancel, replace,
                              cancel_all)

// The content of one request element. It gets one reply element; a cancel of all gets one or more.
struct Action {
  enum class Kind : std::uint8_t {
    account,
    placement,
    order,
    query,
    cancel,
    replace,
    cancel_all
  } kind = Kind::order;
  Terms terms = Terms::none;  // of an order
  // From 1. For a placement or an order: its symbol; for a replace: that of the order. cancel_all:
  // 0 for all symbols.
  std::uint16_t symbol = 0;
  // order: its shares; replace: the new shares; both negative to sell. placement: the shares
  // placed.
  std::int32_t amount = 0;
  std::int32_t limit_cents = 0;  // of an order or replace; 0 for a market order
  // query, cancel, replace: the id of the order. account, placement: the account's number among the
  // client's new accounts. order: its number among the client's orders, for its reference.
  std::uint64_t id = 0;
};
Asked asked_of(Action::Kind kind);

// A request that was written. Its actions belong to the script, and are valid until the next
// request.
struct ScriptedRequest {
  std::uint32_t account = 0;  // whose transactions these are; for creations, the client's number
  std::span<const Action> actions;
};

class Workload {
 public:
  // Divides the accounts among `clients`.
  Workload(const WorkloadOptions& options, unsigned clients);

  const WorkloadOptions& options() const { return options_; }
  unsigned accounts() const { return accounts_; }
  std::string account_id(std::uint32_t account) const;
  // digits of an account or client number in an id, with leading zeros
  unsigned account_digits() const { return account_digits_; }
  std::string symbol_name(unsigned symbol) const {
    return options_.symbol_prefix + std::to_string(symbol);
  }
  // Whether the workload places orders. Their accounts must exist before.
  bool trades() const { return options_.mix.all() > options_.mix.create; }
  unsigned actions_max() const {
    const bool pairs = options_.mix.replace + options_.mix.cancel_all > 0;
    return std::max(2u, options_.orders_per_request * (pairs ? 2 : 1));
  }

  // The start tag of a create request.
  const std::string& create_tag() const { return create_tag_; }
  std::int64_t shares_per_account() const;  // of each symbol, at the start
  // The cash of a new account.
  static constexpr std::int64_t cash_of_new_account = 100'000;

 private:
  friend class Script;
  WorkloadOptions options_;
  unsigned clients_, accounts_, weights_, account_digits_;
  std::string create_tag_;
};

// Append text, a number, or a price in cents, as requests write them; return the end.
char* write_text(char* out, std::string_view text);
char* write_number(char* out, std::int64_t number);
char* write_cents(char* out, std::int32_t cents);
// Append the id of an account, or the name of a symbol; return the end.
char* write_account(char* out, const Workload& workload, std::uint32_t account);
char* write_symbol(char* out, const Workload& workload, unsigned symbol);

class Script {
 public:
  // `workload` must outlive it.
  Script(const Workload& workload, unsigned client);

  // Draws the next request. next() also appends its frame: the length line, then the document.
  void draw();
  void next(std::string& out);
  // The request drawn last; valid until the next one.
  ScriptedRequest request() const { return {account_, actions_}; }
  // Call it when the server has opened an order of this client: later requests may name the order.
  void opened(std::uint64_t order, std::uint32_t account, const Action& action);

 private:
  static constexpr unsigned orders_kept_max = 64;  // the latest orders, which requests may name
  // Assumes that each replace is accepted: the next request must not depend on replies.
  struct Order {
    std::uint64_t id = 0;  // 0: canceled
    std::uint32_t account = 0;
    std::uint16_t symbol = 0;
    Terms terms = Terms::none;
    std::int32_t amount = 0, limit_cents = 0;
  };

  Terms draw_terms(std::uint32_t at);
  Action draw_order(std::uint64_t random, std::uint64_t prices, Terms terms);
  void draw_replace(Action order, std::uint32_t back, bool own_account);
  void draw_cancel_all(const Action& order);
  bool rests(const Order& order) const;
  Order* name_order(Action::Kind kind, std::uint32_t back, bool own_account);
  std::uint32_t draw_account(std::uint32_t random) const;
  char* write(char* out) const;
  char* write(char* out, const Action& action) const;
  char* write_order(char* out, const Action& action) const;

  const Workload* workload_;
  unsigned client_;
  Random random_;
  std::uint32_t account_ = 0;
  std::vector<Action> actions_;
  std::uint64_t new_accounts_ = 0, referenced_ = 0, stp_orders_ = 0, cancels_of_all_ = 0;
  std::uint64_t opened_ = 0;   // orders so far; the latest orders_kept_max are in orders_
  std::vector<Order> orders_;  // ring by opened_
};

// Writes the reference of an order in the same form as the order request; returns the end.
char* write_reference(char* out, std::uint32_t client, std::uint64_t number);

// Writes the id of a new account in the same form as its request; returns the end.
char* write_new_account(char* out, const Workload& workload, std::uint32_t client,
                        std::uint64_t number);

// Creates what the clients' requests need: every account with ample cash, and ample shares of every
// symbol. If the workload does not trade, creates one account: the first request shows that a
// server is there, and creates the account that set_up_query() names.
struct SetupRequest {
  std::string document;
  std::size_t elements;  // required number of reply elements, none of them an error
};
std::vector<SetupRequest> setup_requests(const Workload& workload);
// Returns a request that changes nothing, from an account that the set-up created.
std::string set_up_query(const Workload& workload);

}  // namespace exchange::loadgen
