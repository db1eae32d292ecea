// Replays the committed commands through the naive model and compares every reply with it.

#include <algorithm>
#include <span>

#include "journal/journal_record.hpp"
#include "model/naive_exchange.hpp"
#include "model/print.hpp"
#include "protocol/reply.hpp"
#include "simulation/world.hpp"

namespace exchange::simulation {
namespace {

[[noreturn]] void violated(const std::string& what) { throw Violation(what); }

// One command of the journal, in the order in which it was written.
struct Step {
  BatchNumber batch;
  Epoch epoch;
  Timestamp time;
  Command command;
};

std::vector<Step> read_archive(const Disk& disk) {
  std::vector<Step> steps;
  BatchNumber batch = 0;
  Epoch epoch = 0;
  Timestamp time{};
  for (const auto& [number, row] : disk.archive) {
    if (number != ++batch) violated("the journal lacks batch " + std::to_string(batch));
    if (row.epoch < epoch)
      violated("batch " + std::to_string(batch) +
               " was written by a server that had been replaced");
    epoch = row.epoch;
    const JournalRecord record = decode_journal_record(row.payload);
    if (record.time < time) violated("time goes back in batch " + std::to_string(batch));
    time = record.time;
    for (const Command& command : record.commands) steps.push_back({batch, epoch, time, command});
  }
  return steps;
}

// Returns the reply to a request whose commands had these outcomes.
std::string reply_to(const AskedRequest& asked, std::span<const Outcome> outcomes) {
  std::string text = asked.bytes.substr(asked.bytes.find('\n') + 1);
  const std::size_t size = text.size();
  text.push_back('\0');  // read_request() looks at the byte behind the document
  XmlDocument document;
  std::vector<RequestElement> elements;
  std::vector<Command> commands;
  const Request request =
      read_request(text.data(), size, ProtocolLimits(), document, elements, commands);
  std::string reply;
  if (commands.size() == outcomes.size()) append_results(reply, request, elements, outcomes, false);
  return reply;
}

class Judge {
 public:
  explicit Judge(World& world)
      : world_(world),
        steps_(read_archive(world.disk)),
        replied_(world.connections.size()),
        commands_(world.connections.size()) {}

  void run() {
    for (std::size_t number = 0; number < world_.connections.size(); ++number)
      for (const AskedRequest& request : world_.connections[number].asked)
        for (const Command& command : request.commands) commands_[number].push_back(&command);
    std::vector<const ProcessRecord*> processes;
    for (const ProcessRecord& record : world_.processes) processes.push_back(&record);
    std::sort(processes.begin(), processes.end(),
              [](const auto* a, const auto* b) { return a->epoch < b->epoch; });
    for (const ProcessRecord* record : processes) judge_process(*record);
    if (at_ != steps_.size())
      violated("batch " + std::to_string(steps_[at_].batch) +
               " holds a command that no server was asked for");
    for (std::size_t number = 0; number < world_.connections.size(); ++number)
      judge_connection(number);
    judge_tables();
  }

 private:
  void judge_process(const ProcessRecord& record) {
    if (record.replaced_at_start) return;  // later checks report any row or reply of it
    const std::string who = "the server of epoch " + std::to_string(record.epoch);
    const BatchNumber before = at_ == 0 ? 0 : steps_[at_ - 1].batch;
    if (at_ < steps_.size() && steps_[at_].epoch < record.epoch)
      violated("batch " + std::to_string(steps_[at_].batch) +
               " holds a command that no server was asked for");
    if (record.recovered_batch != before)
      violated(who + " recovered batch " + std::to_string(record.recovered_batch) + ", not " +
               std::to_string(before));
    if (record.state != state_of(model_))
      violated(who + " recovered another state than was promised");
    for (const Submitted& submitted : record.submitted)
      if (!judge_submission(record, submitted)) return;
  }

  // Returns false if it was not committed: then nothing after it was committed in this process.
  bool judge_submission(const ProcessRecord& record, const Submitted& submitted) {
    for (std::size_t i = 0; i < submitted.commands.size(); ++i) {
      const Command& command = submitted.commands[i];
      const bool more = at_ < steps_.size() && steps_[at_].epoch == record.epoch;
      std::optional<NaiveExchange> before;
      if (!more) before = model_;
      const Outcome outcome = model_.apply(command, more ? steps_[at_].time : Timestamp{});
      if (changed_state(outcome)) {
        world_.counts.replaced += more && std::holds_alternative<Replaced>(outcome);
        if (!more) {
          model_ = *before;
          if (std::any_of(replied_now_.begin(), replied_now_.end(), changed_state))
            violated("a request is committed in part");
          replied_now_.clear();
          world_.counts.lost_steps += submitted.connection == Submitted::timetable;
          return false;
        }
        if (!(steps_[at_].command == command))
          violated("batch " + std::to_string(steps_[at_].batch) + " holds " +
                   print(steps_[at_].command) + ", but asked for was " + print(command));
        ++at_;
      }
      replied_now_.push_back(outcome);
    }
    if (submitted.connection == Submitted::timetable) {
      judge_steps(submitted);
      replied_now_.clear();
      return true;
    }
    std::vector<Outcome>& replied = replied_[submitted.connection];
    const auto& asked = commands_[submitted.connection];
    for (std::size_t i = 0; i < submitted.commands.size(); ++i)
      if (replied.size() + i >= asked.size() ||
          !(*asked[replied.size() + i] == submitted.commands[i]))
        violated("the engine was given a command that the client did not send");
    replied.insert(replied.end(), replied_now_.begin(), replied_now_.end());
    replied_now_.clear();
    return true;
  }
  // Each step must be taken once and in order, whichever servers took the steps.
  void judge_steps(const Submitted& submitted) {
    std::map<std::string, Timestamp> taken;
    for (const Command& command : submitted.commands) {
      const std::string symbol(std::get<SetInstrument>(command).symbol->view());
      taken[symbol] = newest_step(simulated_day(), symbol, submitted.looked_at).at;
    }
    for (const auto& [symbol, at] : taken) {
      if (const auto [newest, is_new] = taken_.try_emplace(symbol, at); !is_new) {
        if (newest->second >= at) violated("a step of the timetable is taken again for " + symbol);
        newest->second = at;
      }
      ++world_.counts.steps;
    }
  }
  void judge_connection(std::size_t number) {
    const Connection& connection = world_.connections[number];
    std::string_view received = connection.received;
    std::span<const Outcome> replied = replied_[number];
    constexpr std::string_view end = "</results>\n";
    for (const AskedRequest& request : connection.asked) {
      const std::size_t length = received.find(end);
      if (length == std::string_view::npos) {
        world_.counts.unanswered += 1;
        continue;
      }
      const std::string_view reply = received.substr(0, length + end.size());
      received.remove_prefix(reply.size());
      if (request.commands.empty() && reply.starts_with("<results><error>")) continue;
      if (connection.cut && received.empty() &&
          reply.starts_with("<results><error>bad framing: the stream ended inside a request"))
        continue;
      if (replied.size() < request.commands.size())
        violated("acknowledged, but not committed: " + std::string(reply));
      const std::string expected = reply_to(request, replied.first(request.commands.size()));
      if (reply != expected)
        violated("reply " + std::string(reply) + " should be " + expected + " to " + request.bytes);
      replied = replied.subspan(request.commands.size());
      ++world_.counts.answered;
    }
    if (const std::size_t length = received.find(end); length != std::string_view::npos)
      violated("a reply to nothing that was asked: " +
               std::string(received.substr(0, length + end.size())));
  }

  // After a polite stop the tables must hold everything.
  void judge_tables() {
    const Disk::Projection& last = world_.disk.projections.back();
    const BatchNumber newest = steps_.empty() ? 0 : steps_.back().batch;
    if (last.batch != newest)
      violated("the tables end with batch " + std::to_string(last.batch) + ", not " +
               std::to_string(newest));
    const Exchange exchange(last.tables.image());
    if (const std::string violation = exchange.check_invariants(); !violation.empty())
      violated(violation);
    if (state_of(exchange) != state_of(model_))
      violated("the tables hold another state than was promised");
    for (OrderId id = 1; id <= model_.orders(); ++id) {
      const std::optional<OrderRow> row = last.tables.order(id);
      const std::optional<ReplacementRow> replacement = last.tables.replacement(id);
      const bool is_order = model_.placed(id) != nullptr;
      if (row.has_value() != is_order || replacement.has_value() == is_order)
        violated((is_order ? "order " : "replacement ") + std::to_string(id) +
                 " is not in the tables, or as something else");
      if (!is_order) continue;
      if (row->place != model_.place(id))
        violated("order " + std::to_string(id) + " has another place in the tables");
      const Status status{id, row->open, row->canceled, row->canceled_at,
                          last.tables.executions_of(id)};
      if (!(model_.status(id) == status))
        violated("order " + std::to_string(id) + " is another in the tables");
    }
    if (last.tables.order(model_.orders() + 1) || last.tables.replacement(model_.orders() + 1))
      violated("the tables hold an order that no client was promised");
  }

  World& world_;
  const std::vector<Step> steps_;
  std::size_t at_ = 0;  // the next step that a request must explain
  NaiveExchange model_;
  // by connection: the outcomes of its commands, in order
  std::vector<std::vector<Outcome>> replied_;
  std::vector<std::vector<const Command*>> commands_;  // by connection: the commands that were sent
  std::vector<Outcome> replied_now_;
  std::map<std::string, Timestamp> taken_;  // of the timetable: the newest step of each symbol
};

}  // namespace

void judge(World& world) { Judge(world).run(); }

}  // namespace exchange::simulation
