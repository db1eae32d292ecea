// A market day made from bytes: batches of commands through the Committer, projections, releases,
// restarts and clocks that jump, beside the naive exchange. Checks that every outcome equals the
// naive exchange's, that the invariants hold, that an exchange recovered from tables and journal at
// any point equals the running one, and that the journal alone replays to the same digest. Input:
// one byte that chooses a step, then bytes for its fields, repeatedly; every input is valid.

#include <spdlog/spdlog.h>

#include <deque>
#include <optional>

#include "core/committer.hpp"
#include "core/order_reader.hpp"
#include "core/recovery.hpp"
#include "fuzz/fuzz.hpp"
#include "model/naive_exchange.hpp"
#include "model/random_commands.hpp"
#include "store/memory/memory_store.hpp"

namespace exchange::fuzz {
namespace {

constexpr std::size_t commands_max = 300;  // of one input: the naive exchange takes quadratic time
constexpr int restarts_max = 2;            // each makes an exchange, which is slow
struct Names {
  // one more of each is named and never created
  static constexpr unsigned accounts = 5, symbols = 3;
  static AccountId account(unsigned number) {
    return AccountId(number == 0 ? std::string(64, '7') : std::to_string(number));
  }
  static SymbolName symbol(unsigned number) {
    return SymbolName(number == 0 ? std::string(32, 'z') : "S" + std::to_string(number));
  }
};

class HandClock final : public Clock {
 public:
  Timestamp now() override { return time; }
  std::int64_t monotonic_ns() override { return 0; }
  void pause(std::uint32_t) override { HOLDS(false, "a memory store never fails"); }
  Timestamp time{1'000'000'000'000};
};

class Day {
 public:
  explicit Day(Bytes bytes) : bytes_(bytes) {
    limits_.reply_executions_max = 1 + bytes_.below(4);
    store_.open();
    committer_.emplace(recover(store_).exchange, 0, store_, clock_, limits_, metrics());
  }

  void run() {
    while (!bytes_.empty() && commands_ < commands_max) {
      switch (const unsigned what = bytes_.below(32); what) {
        case 0: commit(); break;
        case 1: commit(), project(); break;
        case 2: commit(), release(); break;
        case 3:
          if (restarts_ < restarts_max) commit(), restart();
          break;
        // moves the clock, also backwards, but not to before the last restart
        case 4:
          clock_.time.microseconds += std::int64_t(bytes_.below(256)) * 40'000 - 2'000'000;
          clock_.time = std::max(clock_.time, restarted_);
          break;
        case 5: submissions_.emplace_back(); break;
        default: add(command(what - 6));
      }
    }
    commit();
    check_state(committer_->exchange());
    check_journal();
    restart();
  }

 private:
  // One instance for all inputs: a Metrics is large, and the target does not read it.
  static Metrics& metrics() {
    static Metrics metrics;
    return metrics;
  }

  // --- drawing commands ---

  // Draws an order in half of the cases.
  Command command(unsigned what) {
    const std::size_t kind =
        what < 12 ? boost::mp11::mp_find<Command, PlaceOrder>::value : (what - 12) % command_kinds;
    Command command = draw_command(kind, *this);
    if (auto* const replace = std::get_if<ReplaceOrder>(&command)) aim(*replace);
    return command;
  }
  // Aims mostly at an open order, in the name of its account, if the naive exchange has one
  // already.
  void aim(ReplaceOrder& replace) {
    const unsigned how = bytes_.byte();
    OrderId open = std::min(replace.order, model_.orders());
    while (open > 0 && !model_.is_open(open)) --open;
    if (open == 0 || how % 8 == 0) return;
    const PlaceOrder& placed = *model_.placed(open);
    replace.account = placed.account;
    replace.side = placed.side;
    replace.reference = how % 2 == 0 ? placed.reference : OptionalReference();
    replace.order = replace.reference ? 0 : open;
    if (how >= 128 && !placed.is_market()) replace.limit = placed.limit;
  }

  template <class Struct, class Source>
  friend Struct exchange::draw(Source& source);
  // Draws a positive number. Mostly a few small numbers, so that orders meet.
  std::int64_t units(std::uint8_t byte) {
    constexpr std::int64_t whole = 100'000'000, most = 9'223'372'036'799'999'999;
    if (byte < 200) return (1 + byte % 10) * whole / (byte < 150 ? 1 : 4);
    if (byte < 220) return most - (byte - 200);
    if (byte < 240) return 1 + byte - 220;
    return 1 + std::int64_t(bytes_.word() % std::uint64_t(most));
  }
  void draw(Shares& shares, std::string_view) { shares = Shares::from_units(units(bytes_.byte())); }
  void draw(Price& price, std::string_view) {
    if (const std::uint8_t byte = bytes_.byte(); byte < 250) price = Price::from_units(units(byte));
  }
  void draw(Cash& cash, std::string_view) {
    const std::uint8_t byte = bytes_.byte();
    cash = Cash::whole(byte);
    if (byte < 200) return;
    const std::uint64_t high = bytes_.word() >> 1;
    cash =
        byte < 210 ? cash_total_max : Cash::from_units(Int128(UInt128(high) << 64 | bytes_.word()));
  }
  void draw(std::uint64_t& number, std::string_view name) {
    const std::uint8_t byte = bytes_.byte();
    const OrderId newest = model_.orders() + 1;  // an id that is not given yet
    if (name == "from")
      number = byte < 200 ? 1 : 1 + byte % 4;
    else if (byte >= 253)
      number = byte == 255 ? 0 : byte == 254 ? UINT64_MAX : bytes_.word();
    else
      number = byte % 2 == 0 ? newest - std::min<OrderId>(newest, byte / 2) : 1 + byte / 2;
  }
  void draw(AccountId& id, std::string_view) {
    id = Names::account(bytes_.below(Names::accounts + 1));
  }
  void draw(SymbolName& name, std::string_view) {
    name = Names::symbol(bytes_.below(Names::symbols + 1));
  }
  void draw(std::optional<SymbolName>& name, std::string_view) {
    if (bytes_.below(2) == 0) draw(name.emplace(), "");
  }
  template <class Optional>
  requires requires(Optional optional) { optional.emplace(); }
  void draw(Optional& value, std::string_view name) {
    if (bytes_.below(2) == 0) draw(value.emplace(), name);
  }
  void draw(OrderReference& reference, std::string_view) {
    reference = OrderReference(std::to_string(bytes_.byte()));
  }
  void draw(OptionalName& name, std::string_view) {
    const unsigned number = bytes_.byte() / 8;
    if (number < 4) name = AccountName(number == 0 ? "" : "Zo\u00eb " + std::to_string(number));
  }
  void draw(OptionalReference& reference, std::string_view) {
    const unsigned number = bytes_.byte() / 8;
    if (number < 8)
      reference = OrderReference(number == 0 ? std::string(64, ':') : std::to_string(number));
  }
  void draw(KeyHash& key, std::string_view) {
    if (const std::uint8_t byte = bytes_.byte(); byte >= 200) key.log2_n = byte;
  }
  void draw(bool& value, std::string_view) { value = bytes_.below(8) == 1; }
  void draw(Side& side, std::string_view) { side = Side(bytes_.below(2)); }
  // Draws mostly the first value.
  template <class Enum>
  requires std::is_enum_v<Enum>
  void draw(Enum& value, std::string_view) {
    if (const unsigned number = bytes_.below(8); number < enumerators<Enum>) value = Enum(number);
  }

  void add(const Command& command) {
    ++commands_;
    if (submissions_.empty()) submissions_.emplace_back();
    submissions_.back().push_back(command);
  }

  // --- the two exchanges ---

  // Commits all commands that were added, as one batch.
  void commit() {
    std::deque<Submission> batch;
    std::vector<Submission*> pointers;
    for (const auto& commands : submissions_)
      if (!commands.empty()) batch.emplace_back().commands = commands;
    for (Submission& submission : batch) pointers.push_back(&submission);
    // the exchange's time never decreases
    const Timestamp now = std::max(clock_.time, newest_change_);
    if (!batch.empty()) HOLDS(committer_->commit(pointers) == pointers.size(), "a batch is cut");
    for (const Submission& submission : batch) compare(submission, now);
    submissions_.clear();
  }

  void compare(const Submission& submission, Timestamp now) {
    ReplyLength length(limits_.reply_executions_max);
    HOLDS(submission.outcomes.size() == submission.commands.size(), "outcomes are missing");
    for (std::size_t i = 0; i < submission.commands.size(); ++i) {
      const Command& command = submission.commands[i];
      Outcome outcome = submission.outcomes[i];
      const bool is_long = length.is_long(), too_long = length.refuses(command);
      length.add(outcome);
      Outcome expected =
          too_long ? Outcome(Rejected{Reason::reply_too_long}) : model_.apply(command, now);
      if (changed_state(expected)) newest_change_ = now;
      if (is_long) list_no_executions(expected);
      const auto must_be_forgotten = [&](OrderId order) {
        HOLDS(order <= released_orders_ || model_.placed(order) == nullptr,
              "forgot order " + std::to_string(order));
      };
      // The tables are not read for a cancel at a disconnect, so whose order it was is not known.
      const auto* const cancel = std::get_if<CancelOrder>(&command);
      if (cancel && cancel->at_disconnect && outcome == Outcome(Rejected{Reason::nothing_open}) &&
          expected == Outcome(Rejected{Reason::unknown_order})) {
        must_be_forgotten(cancel->order);
        continue;
      }
      if (const auto* forgotten = std::get_if<NotInMemory>(&outcome)) {
        must_be_forgotten(forgotten->order);
        outcome =
            outcome_from_tables(command, forgotten->account,
                                store_.read_order(forgotten->order, executions_to_read(command)));
      }
      HOLDS(outcome == expected, print(command) + "\n  " + print(outcome) +
                                     "\nbut by the naive exchange\n  " + print(expected));
    }
  }

  void check_state(const Exchange& exchange) const {
    HOLDS(exchange.check_invariants().empty(), exchange.check_invariants());
    HOLDS(exchange.accounts() == model_.accounts() && exchange.totals().orders == model_.orders(),
          "miscounted");
    const auto state = state_of<Names>(exchange), expected = state_of<Names>(model_);
    for (std::size_t i = 0; i < state.size(); ++i)
      HOLDS(state[i] == expected[i], state[i] + "\nbut by the naive exchange\n" + expected[i]);
  }

  // --- tables and restarts ---

  // Hands the changed rows over to the tables. Repeating it does no harm.
  void project() {
    Rows rows;
    mark_ = committer_->exchange().take_changes(rows);
    orders_in_tables_ = rows.totals.orders;
    store_.project(rows, committer_->last_batch());
    if (rows.size() % 2 == 0) store_.project(rows, committer_->last_batch());
    check_state(committer_->exchange());
  }
  void release() {
    committer_->exchange().release_closed(mark_);
    released_orders_ = orders_in_tables_;
    check_state(committer_->exchange());
  }
  // Drops what is only in memory: tables and journal restore it.
  void restart() {
    ++restarts_;
    // A restart takes a moment: how many orders an account sent in a second is not kept.
    clock_.time = std::max(clock_.time, newest_change_);
    clock_.time.microseconds += 1'000'000;
    restarted_ = clock_.time;
    const Totals before = committer_->exchange().totals();
    Recovered recovered = recover(store_, bytes_.byte());
    HOLDS(recovered.exchange.totals() == before, "recovered to another state");
    HOLDS(recovered.last_batch == committer_->last_batch(),
          "recovered to batch " + std::to_string(recovered.last_batch));
    check_state(recovered.exchange);
    mark_ = 0;  // closed orders are counted from the start
    released_orders_ = orders_in_tables_;
    committer_.emplace(std::move(recovered.exchange), recovered.last_batch, store_, clock_, limits_,
                       metrics());
  }
  // Replays the journal from its beginning, without any tables.
  void check_journal() {
    Exchange replayed;
    store_.read(0, [&](const JournalRow& row) {
      const JournalRecord record = decode_journal_record(row.payload);
      JournalWriter writer;
      writer.begin(record.time);
      for (const Command& command : record.commands) {
        HOLDS(changed_state(replayed.apply(command, record.time)),
              "a journaled command is refused: " + print(command));
        writer.add(command);
      }
      HOLDS(replayed.totals().digest == record.digest,
            "digest of batch " + std::to_string(row.batch));
      HOLDS(writer.finish(replayed.totals()) == row.payload, "encodes to other bytes");
    });
    HOLDS(replayed.totals() == committer_->exchange().totals(), "the journal leads elsewhere");
    check_state(replayed);
  }

  Bytes bytes_;
  std::size_t commands_ = 0;
  int restarts_ = 0;
  std::vector<std::vector<Command>> submissions_;  // of the batch that is being put together
  NaiveExchange model_;
  Timestamp newest_change_, restarted_;
  MemoryStore store_;
  HandClock clock_;
  CoreLimits limits_;
  std::optional<Committer> committer_;
  ClosedMark mark_ = 0;  // of the last projection since the start
  OrderId orders_in_tables_ = 0, released_orders_ = 0;
};

}  // namespace
}  // namespace exchange::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace exchange;
  spdlog::set_level(spdlog::level::off);
  fuzz::Day(fuzz::Bytes(data, size)).run();
  return 0;
}
