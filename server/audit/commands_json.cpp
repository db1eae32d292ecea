#include "audit/commands_json.hpp"

#include <nlohmann/json.hpp>

#include "journal/store_errors.hpp"

namespace exchange::audit {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json to_json(const Value& value) {
  if constexpr (std::is_same_v<Value, KeyHash>)
    return value.has_key();
  else if constexpr (requires { value.view(); })
    return value.view();
  else if constexpr (std::is_enum_v<Value>)
    return to_string(value);
  else if constexpr (requires(std::string & text) { append_decimal(text, value); })
    return to_string(value);
  else if constexpr (requires { *value; })
    return to_json(*value);
  else
    return value;  // a number or a truth value
}

template <class AnyCommand>
Json members_of(const AnyCommand& command) {
  const AnyCommand usual{};
  Json members = Json::object();
  for_each_member<AnyCommand>([&](auto member) {
    const auto& value = command.*member.pointer;
    constexpr bool is_side = std::is_same_v<decltype(value), const Side&>;
    if (is_side || !(value == usual.*member.pointer)) members[member.name] = to_json(value);
  });
  return members;
}

// Returns the reason why the journal's records cannot be read; empty if they can.
std::string unreadable(Source& source) {
  if (const std::string hidden = source.journal_hidden(); !hidden.empty()) return hidden;
  if (source.epoch() != 0) return {};
  Findings findings(1);
  source.check_files(findings);
  return findings.kept().empty() ? "the journal cannot be read" : findings.kept().front().problem;
}

}  // namespace

std::string json_line(BatchNumber batch, const JournalRecord& record) {
  Json commands = Json::array();
  for (const Command& command : record.commands)
    std::visit(
        [&](const auto& one) {
          commands.push_back({{std::remove_cvref_t<decltype(one)>::word, members_of(one)}});
        },
        command);
  const Json line = {{"batch", batch},
                     {"time_us", record.time.microseconds},
                     {"orders", record.orders},
                     {"executions", record.executions},
                     {"commands", std::move(commands)}};
  return line.dump();
}

void write_commands(Source& source, std::FILE* out) {
  if (const std::string why = unreadable(source); !why.empty()) throw CannotRead(why);
  BatchNumber last = 0;
  for (std::vector<JournalRow> rows; !(rows = source.journal(last)).empty();)
    for (const JournalRow& row : rows) {
      last = row.batch;
      try {
        std::fputs((json_line(last, decode_journal_record(row.payload)) + "\n").c_str(), out);
      } catch (const StoreCorrupt& error) {
        throw CannotRead("journal batch " + std::to_string(last) + ": " + error.what());
      }
      if (std::ferror(out) != 0) return;  // the process reports it at its end
    }
}

}  // namespace exchange::audit
