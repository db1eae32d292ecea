#include "audit/audit.hpp"

#include <nlohmann/json.hpp>

#include "audit/checks.hpp"

namespace exchange::audit {

Audit audit(const AuditOptions& options) {
  const std::unique_ptr<Source> source = open_source(options.store);
  Audit audit{source->describe(), Findings(options.violations_kept)};
  Findings& findings = audit.findings;
  if (!source->check_files(findings)) {
    findings.not_checked("tables, journal and replay: the files are damaged");
    return audit;
  }
  const std::uint64_t violations_before = findings.violations();
  const TablesImage image = check_tables(*source, findings);
  const bool sound = findings.violations() == violations_before;
  AfterTables after;
  JournalLeaderboard board;
  if (const std::string hidden = source->journal_hidden(); !hidden.empty())
    findings.not_checked("the journal and its replay: " + hidden);
  else
    after = check_journal(*source, image, sound, findings, options.leaderboard ? &board : nullptr);
  if (options.leaderboard) {
    const auto standings = board.standings.standings(*options.leaderboard);
    if (!board.complete)
      findings.not_checked("the leaderboard: it needs the whole journal, and its replay");
    else if (!standings)
      findings.not_checked("the leaderboard: there is no such round, or it is too old");
    else
      audit.leaderboard = standings_csv(*standings, [&](AccountNumber number) {
        return ShownAccount(board.accounts.at(number).view(), board.names[number].view(),
                            options.leaderboard_ids);
      });
  }
  if (!options.acknowledged_file.empty())
    check_acknowledged(*source, image, after, options.acknowledged_file, options.complete,
                       findings);
  return audit;
}

std::string text_of(const Audit& audit) {
  const Findings& findings = audit.findings;
  std::string text = "audit of " + audit.store + "\n";
  for (const auto& [what, number] : findings.counts())
    text += "  " + what + ": " + std::to_string(number) + "\n";
  for (const std::string& what : findings.not_checked()) text += "not checked: " + what + "\n";
  for (const Violation& violation : findings.kept())
    text += "VIOLATION [" + violation.check + "] " + violation.row +
            (violation.row.empty() ? "" : ": ") + violation.problem + "\n";
  if (findings.violations() > findings.kept().size())
    text += "and " + std::to_string(findings.violations() - findings.kept().size()) + " more\n";
  return text + (findings.violations() == 0
                     ? "clean: no violation\n"
                     : std::to_string(findings.violations()) + " violations\n");
}

std::string to_json(const Audit& audit) {
  const Findings& findings = audit.findings;
  nlohmann::ordered_json counts = nlohmann::ordered_json::object(),
                         violations = nlohmann::ordered_json::array();
  for (const auto& [what, number] : findings.counts()) counts[what] = number;
  for (const Violation& violation : findings.kept())
    violations.push_back(
        {{"check", violation.check}, {"row", violation.row}, {"problem", violation.problem}});
  const nlohmann::ordered_json document = {
      {"store", audit.store},     {"clean", findings.violations() == 0},
      {"counts", counts},         {"violation_count", findings.violations()},
      {"violations", violations}, {"not_checked", findings.not_checked()}};
  // Texts of a damaged store may be invalid UTF-8.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace exchange::audit
