#pragma once
// The requests of a test case and its expectations. Each case has its own accounts and symbols,
// whose names and numbers come from a seed. The given_…() functions prepare what a case needs: if
// one fails, another rule, which the function names, blocks the case. The other functions are what
// the case tests: if one fails, the rule of the case is broken. Prices are multiples of a quarter,
// which a double holds exactly, so that only the cases of N9 depend on exact arithmetic. Thread:
// one.

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "course/conformance/reply.hpp"
#include "course/conformance/target.hpp"

namespace exchange::conformance {

struct Broken : std::runtime_error {
  using runtime_error::runtime_error;
};
// The reply cannot be read (R1), independent of what the case asked for.
struct Unreadable : Broken {
  using Broken::Broken;
};
// `by`: the rule that must be fixed first; empty: not known.
struct Blocked : std::runtime_error {
  Blocked(const std::string& why, std::string by_) : runtime_error(why), by(std::move(by_)) {}
  std::string by;
};

// Numbers of shares, and quarters for prices and cash.
using Quarters = std::int64_t;  // 4: 1.00
std::string price(Quarters quarters);
inline constexpr std::int64_t units_per_share = 100'000'000, units_per_quarter = 25'000'000;

struct Exchanged {
  std::string sent, got;
};

struct Fill {
  std::int64_t shares, price;  // units of 1e-8
  std::int64_t time;
  bool operator==(const Fill&) const = default;
};
// The content of <status> or <canceled> for an order; numbers in units of 1e-8.
struct OrderState {
  std::optional<std::int64_t> open, canceled;
  std::vector<Fill> fills;
  std::int64_t executed() const;
};

// Gives ids and symbols that no other run or case uses, and numbers; the same seed gives the same
// numbers. An id has nine digits: other servers may keep ids in 32 bits.
class Source {
 public:
  explicit Source(std::string prefix) : prefix_(std::move(prefix)) {}
  void seed(std::uint64_t seed) { random_.seed(seed); }
  std::string account() { return prefix_ + padded(++accounts_, 5); }
  // Returns digits that no other id starts with, if up to three digits follow.
  std::string account_prefix() {
    const std::uint64_t thousand = accounts_ / 1'000 + 1;
    accounts_ = thousand * 1'000 + 999;
    return prefix_ + padded(thousand, 2);
  }
  std::string symbol() { return "S" + prefix_ + std::to_string(++symbols_); }
  std::int64_t between(std::int64_t from, std::int64_t to) {
    return from + std::int64_t(random_() % std::uint64_t(to - from + 1));
  }
  const std::string& prefix() const { return prefix_; }

 private:
  static std::string padded(std::uint64_t number, std::size_t digits);
  std::string prefix_;  // four digits
  std::uint64_t accounts_ = 0, symbols_ = 0;
  std::mt19937_64 random_;
};

// An account, and a kind of order that the server refuses to it: an order for more cash than it
// has, else for more shares, else with a limit of 0.
struct Refusal {
  bool sells = false;
  std::string limit, account, symbol;
  // For an order of at least 2 shares.
  std::string amount(std::int64_t shares) const { return std::to_string(sells ? -shares : shares); }
  std::string order(std::int64_t shares) const;
};

class Talk {
 public:
  Talk(const Target& target, Source& source) : target_(target), source_(source) {}

  // --- asking ---
  // Sends one document, on the connection of this Talk, or on a new one if the server closes after
  // each reply. Throws Broken if no right reply comes.
  std::vector<Element> ask(const std::string& document);
  // Sends a document that must get one reply element, several, or an <error> for each.
  Element ask_one(const std::string& document);
  static void expect_elements(const std::vector<Element>& answers, std::size_t count);
  std::vector<Element> ask_several(const std::string& document, std::size_t elements);
  // The reply must be one element: <error>.
  Element expect_error(const std::string& document, const std::string& why);
  // Sends bytes unchanged.
  Link& link();
  void send(const std::string& bytes);
  std::vector<Element> receive();
  void reconnect() { link_.reset(); }
  // Fails with a reason if this server closes after each reply.
  void need_persistent() const;

  // --- preparing ---
  // Runs a step that the case needs: if it fails, `rule` blocks the case.
  template <class Step>
  auto given(const char* rule, Step step) {
    try {
      return step();
    } catch (const Unreadable& error) {
      throw Blocked(error.what(), "R1");
    } catch (const Broken& error) {
      throw Blocked(error.what(), rule);
    }
  }
  std::string given_account(Quarters cash);
  std::string given_account(const std::string& balance);
  // Creates a symbol with shares for these accounts.
  std::string given_symbol(const std::vector<std::pair<std::string, std::int64_t>>& placed);
  void given_shares(const std::string& symbol, const std::string& account, std::int64_t shares);
  std::string given_order(const std::string& account, const std::string& symbol,
                          std::int64_t amount, Quarters limit);
  OrderState given_status(const std::string& account, const std::string& id);
  // Returns the state of an order that was executed at least in part.
  OrderState given_executed(const std::string& account, const std::string& id);
  void given_canceled(const std::string& account, const std::string& id);
  // The account has also bought a share for 1.25, and its cash is enough for hundreds.
  Refusal given_refusal();
  // Returns the first <error> for a document that, by `rule`, gets only errors.
  Element given_error(const std::string& document, const char* rule);

  // --- testing ---
  OrderState status(const std::string& account, const std::string& id);
  OrderState cancel(const std::string& account, const std::string& id);

  std::int64_t between(std::int64_t from, std::int64_t to) { return source_.between(from, to); }
  Quarters any_price() { return source_.between(40, 800); }
  std::int64_t any_shares() { return source_.between(2, 400); }
  Source& source() { return source_; }
  const Target& target() const { return target_; }
  const std::vector<Exchanged>& conversation() const { return conversation_; }
  // The first reply in another form than docs/protocol.md gives.
  const std::string& other_form() const { return other_form_; }
  // Why a reply broke R1: the first such reply; empty if none did.
  const std::string& wrong_reply() const { return wrong_reply_; }
  // The last reply as it was received, if the values read from it may differ; else empty.
  const std::string& misread() const { return misread_; }

  static std::string order(const std::string& symbol, const std::string& amount,
                           const std::string& limit, const std::string& more = "");
  static std::string transactions(const std::string& account, const std::string& inside,
                                  const std::string& more = "");

 private:
  [[noreturn]] void no_answer(const NoReply& error);
  void note_form(const std::string& document);

  const Target& target_;
  Source& source_;
  std::unique_ptr<Link> link_;
  std::vector<Exchanged> conversation_;
  std::string other_form_, wrong_reply_, misread_;
};

[[noreturn]] void broken(const std::string& sentence);
inline void expect(bool kept, const std::string& sentence) {
  if (!kept) broken(sentence);
}
// Returns "2.5" for a number in units of 1e-8.
std::string plain(std::int64_t units);
// Cuts a text between two characters, and adds "…" at the end.
std::string shortened(std::string_view text, std::size_t bytes_max);

}  // namespace exchange::conformance
