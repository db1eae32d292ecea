// The report of ThreadSanitizer about a program, without what varies from run to run.

#include <regex>
#include <sstream>

#include "studies/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

// "    #0 increment ../studies/experiments/racy_counter.cpp:16 (racy_counter_tsan+0x2c67)"
// -> " #0 increment racy_counter.cpp:16"
std::string frame(const std::string& line) {
  static const std::regex module(R"( \([^()]*\+0x[0-9a-f]+\).*$)"), folders(R"((\.\.)?/[^ ]*/)");
  return std::regex_replace(std::regex_replace(line, module, ""), folders, "");
}

}  // namespace

std::optional<RaceReport> check_race(const std::vector<std::string>& command,
                                     const std::string& what, Report& out, std::size_t frames_max) {
  ChildResult child = run_child(command, 60);
  // Kernels that scatter mappings widely are too much for older versions of the sanitizer.
  if (child.output.find("FATAL: ThreadSanitizer") != std::string::npos) {
    std::vector<std::string> in_order{"/usr/bin/setarch", "-R"};
    in_order.insert(in_order.end(), command.begin(), command.end());
    const ChildResult again = run_child(in_order, 60);
    if (again.output.find("WARNING: ThreadSanitizer") == std::string::npos) {
      out.notes.push_back("ThreadSanitizer cannot run here: " +
                          child.output.substr(0, child.output.find('\n')));
      return {};
    }
    child = again;
  }

  static const std::regex access(
      R"(^ *((Previous )?(atomic )?(read|write) of size \d+) at 0x[0-9a-f]+ (by .*):$)",
      std::regex::icase);
  RaceReport report{.excerpt = {}, .output = child.output};
  std::vector<std::string> accesses;  // "Write of size 8 by thread T1"
  std::istringstream lines(child.output);
  std::size_t frames = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with("WARNING: ThreadSanitizer")) {
      if (!report.excerpt.empty()) break;  // the first one is enough
      report.excerpt = line.substr(0, line.find(" (pid")) + "\n";
    } else if (std::regex_match(line, match, access) && accesses.size() < 2) {
      accesses.push_back(match[1].str() + " " + match[5].str());
      report.excerpt += "  " + accesses.back() + ":\n";
      frames = frames_max;
    } else if (frames > 0 && line.find('#') != std::string::npos) {
      report.excerpt += frame(line) + "\n";
      --frames;
    } else if (line.empty()) {
      frames = 0;
    }
  }
  out.check("ThreadSanitizer names both accesses " + what, accesses.size() == 2,
            accesses.size() == 2 ? accesses[0] + "; " + accesses[1] : "it found none");
  return report;
}

}  // namespace exchange::experiments
