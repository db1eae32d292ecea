#include "client/loadgen/report/html_page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "client/loadgen/report/chart.hpp"
#include "client/loadgen/report/html_page_parts.hpp"
#include "client/loadgen/report/markup.hpp"

namespace exchange::loadgen {
namespace {

// `content` is markup, `words` are text: escaped.
std::string element(const std::string& name, const std::string& content,
                    const std::string& classes = "") {
  return "<" + name + (classes.empty() ? "" : " class=\"" + classes + "\"") + ">" + content + "</" +
         name + ">";
}
std::string words(const std::string& text) { return element("span", escaped(text), "words"); }

bool known(double value) { return std::isfinite(value); }
std::string count_text(double count) { return known(count) ? exact_text(count) : "–"; }
std::string counted(double count, const std::string& one, const std::string& many) {
  return count_text(count) + " " + (count == 1 ? one : many);
}
std::string share_text(double share) {
  return known(share) ? number_text(100 * share) + " %" : "–";
}

// "requests_per_s" as "requests per s".
std::string spaced(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

// An option with its unit: "requests_per_s" as "requests/s", "timeout_s" as "timeout, s".
std::string option_name(const std::string& key) {
  if (key.ends_with("_per_s")) return spaced(key.substr(0, key.size() - 6)) + "/s";
  if (key.ends_with("_s")) return spaced(key.substr(0, key.size() - 2)) + ", s";
  return spaced(key);
}

double sum(const Json& counts) {
  double total = 0;
  if (counts.is_object())
    for (const auto& count : counts) total += count.is_number() ? count.get<double>() : 0;
  return total;
}

// Any value on one line: "0, 1", "create 0, order 100", "none".
std::string value_text(const Json& value) {
  if (value.is_null()) return "–";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return value.dump();  // a seed is no quantity: no separators
  if (value.is_number()) return exact_text(value.get<double>());
  if (value.empty()) return "none";
  std::string text;
  for (const auto& [key, part] : value.items())
    text += (text.empty()                ? ""
             : value.front().is_object() ? "; "
                                         : ", ") +
            (value.is_object() ? option_name(key) + " " : "") + value_text(part);
  return text;
}

class Table {
 public:
  explicit Table(std::string classes = "") : classes_(std::move(classes)) {}
  // Cells are markup. A title that starts with '#' is that of a column of numbers.
  void head(const std::vector<std::string>& titles) {
    head_ = "<thead><tr>";
    for (const std::string& title : titles) {
      numeric_.push_back(title[0] == '#');
      head_ += numeric_.back() ? "<th class=\"number\">" + title.substr(1) + "</th>"
                               : "<th>" + title + "</th>";
    }
    head_ += "</tr></thead>\n";
  }
  void row(const std::vector<std::string>& cells) {
    rows_ += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string name = i == 0 ? "th" : "td";
      rows_ += element(name, cells[i], i < numeric_.size() && numeric_[i] ? "number" : "");
    }
    rows_ += "</tr>\n";
  }
  bool empty() const { return rows_.empty(); }
  std::string markup() const {
    return "<div class=\"scroll\">" +
           element("table", "\n" + head_ + "<tbody>\n" + rows_ + "</tbody>", classes_) + "</div>\n";
  }

 private:
  const std::string classes_;
  std::string head_, rows_;
  std::vector<bool> numeric_;
};

std::string section(const std::string& id, const std::string& title, const std::string& content) {
  return content.empty()
             ? ""
             : "<section id=\"" + id + "\">\n<h2>" + title + "</h2>\n" + content + "</section>\n";
}

std::string notice(const char* kind, const std::string& headline, const std::string& rest = "") {
  return element("div", element("strong", headline) + rest, std::string("notice ") + kind) + "\n";
}

std::string list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += element("li", item);
  return out.empty() ? "" : element("ul", out);
}

// "12 wrong answer, 3 timeout".
std::string kinds_text(const Json& counts) {
  std::string text;
  if (counts.is_object())
    for (const auto& [kind, count] : counts.items())
      if (count.is_number() && count.get<double>() > 0)
        text += (text.empty() ? "" : ", ") + count_text(count.get<double>()) + " " + spaced(kind);
  return text;
}

class Page {
 public:
  explicit Page(const Json& report) : report_(report), result_(at(report, {"result"})) {
    if (const Json& series = at(report, {"series"}); series.is_array())
      for (const auto& second : series)
        if (known(number_at(second, {"second"}))) seconds_.push_back(&second);
  }

  std::string markup() const {
    const std::string title = title_text();
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n" +
           element("title", escaped(title)) + "\n<style>" + chart_style() + page_style +
           "</style>\n</head>\n<body>\n<header>\n" + element("h1", escaped(title)) + "\n" +
           about() + "</header>\n<main>\n" + notices() + headline() +
           section("capacity", "Capacity", capacity()) + section("time", "Over time", over_time()) +
           section("latency", "Latency", latency()) +
           section("answers", "Errors and rejections", answers()) +
           section("expectations", "Expectations", expectations()) +
           section("audit", "Audit", audit()) +
           section("stages", "Stages of the server", stages()) +
           section("resources", "CPU and memory", resources()) +
           section("setup", "Set-up", setup()) + "</main>\n<script>" + page_script +
           "</script>\n</body>\n</html>\n";
  }

 private:
  double number(Keys keys) const { return number_at(report_, keys); }
  std::string text(Keys keys) const { return text_at(report_, keys); }
  bool open_loop() const { return text({"load", "mode"}) == "open"; }
  double errors() const { return sum(at(result_, {"errors"})); }

  std::string title_text() const {
    const std::string kind = text({"workload", "kind"});
    std::string title = "Load test";
    if (!kind.empty()) title += ": " + kind;
    if (const double clients = number({"load", "clients"}); known(clients))
      title += ", " + counted(clients, "client", "clients");
    if (!text({"load", "mode"}).empty()) title += ", " + text({"load", "mode"}) + " loop";
    return title;
  }

  std::string about() const {
    std::string started = text({"started"});
    if (started.size() == 20 && started[10] == 'T' && started[19] == 'Z')
      started = started.substr(0, 10) + " " + started.substr(11, 8) + " UTC";
    std::string out;
    for (const std::string& part : {text({"server", "description"}), started,
                                    text({"commit"}).empty() ? "" : "commit " + text({"commit"})})
      if (!part.empty()) out += (out.empty() ? "" : " · ") + escaped(part);
    return element("p", out, "about") + "\n";
  }

  // What must not be overlooked.

  std::string notices() const {
    std::string out = bottleneck_notice() + error_notice() + audit_notice() + expectation_notice() +
                      shortfall_notice();
    if (at(report_, {"load", "reply_check"}) == Json(false))
      out += notice("warn", "Replies were not checked.");
    if (!out.empty()) return out;
    std::string fine = "No errors";
    if (const double answered = number_at(result_, {"answered"}); known(answered))
      fine += " in " + counted(answered, "answer", "answers");
    fine += ".";
    if (true_at(report_, {"audit", "passed"})) fine += " The audit passed.";
    if (const std::size_t count = at(report_, {"expectations"}).size(); count > 0)
      fine += " " + std::to_string(count) +
              (count == 1 ? " expectation was met." : " expectations were met.");
    return notice("good", fine);
  }

  std::string bottleneck_notice() const {
    if (!true_at(report_, {"client_was_the_bottleneck"})) return {};
    return notice(
        "bad", "The client was the bottleneck: the server could do more than this.",
        element("p",
                "The load generator used " + share_text(number({"client", "cpu_share"})) +
                    " of the CPU it had. Rates and latencies here are its own, not the server’s."));
  }

  std::string error_notice() const {
    if (!(errors() > 0)) return {};
    std::string rest;
    for (const auto& [name, key] : {std::pair{"First wrong answer: ", "first_wrong_answer"},
                                    {"First connection error: ", "first_connect_error"}})
      if (const std::string said = text_at(result_, {key}); !said.empty())
        rest += element("p", name + words(said));
    return notice("bad",
                  counted(errors(), "error", "errors") + ": " +
                      escaped(kinds_text(at(result_, {"errors"}))) + ".",
                  rest);
  }

  std::vector<std::string> findings() const {
    std::vector<std::string> items;
    if (const Json& all = at(report_, {"audit", "findings"}); all.is_array())
      for (const auto& finding : all) items.push_back(escaped(value_text(finding)));
    return items;
  }

  std::string audit_notice() const {
    std::string out;
    if (at(report_, {"audit", "passed"}) == Json(false)) {
      constexpr std::size_t shown_max = 5;
      std::vector<std::string> items = findings();
      if (items.size() > shown_max) {
        const std::size_t more = items.size() - shown_max;
        items.resize(shown_max);
        items.push_back("<a href=\"#audit\" class=\"bad\">and " + std::to_string(more) +
                        " more</a>");
      }
      out += notice("bad", "The audit failed: the server’s answers do not add up.", list(items));
    }
    if (const std::string why = text({"audit", "not_checked"}); !why.empty())
      out += notice("warn", "The audit did not check everything.", element("p", escaped(why)));
    return out;
  }

  std::string expectation_notice() const {
    std::vector<std::string> items;
    if (const Json& all = at(report_, {"expectations"}); all.is_array())
      for (const auto& expectation : all)
        if (!true_at(expectation, {"met"}))
          items.push_back(element("strong", escaped(text_at(expectation, {"text"}))) + ": " +
                          measured(expectation));
    if (items.empty()) return {};
    return notice("bad",
                  items.size() == 1 ? "An expectation was not met."
                                    : std::to_string(items.size()) + " expectations were not met.",
                  list(items));
  }

  std::string shortfall_notice() const {
    std::string out;
    if (true_at(result_, {"stopped_early"})) out += notice("warn", "The run was stopped early.");
    if (const double unsent = number_at(result_, {"unsent"}); unsent > 0)
      out += notice(
          "warn",
          count_text(unsent) + " of " + count_text(number_at(result_, {"planned"})) +
              " planned requests were never sent.",
          element("p", "Their time came, and no connection was free for them before the end."));
    return out;
  }

  static std::string measured(const Json& expectation) {
    const std::string unit = text_at(expectation, {"unit"});
    const Json& value = at(expectation, {"measured"});
    return value.is_number()
               ? number_text(value.get<double>()) + (unit.empty() ? "" : " " + escaped(unit))
               : "not measured";
  }

  // The figures.

  using Facts = std::vector<std::pair<std::string, std::string>>;
  static std::string card(const std::string& title, const std::string& figure, const Facts& facts,
                          bool bad = false) {
    std::string list;
    for (const auto& [name, value] : facts) list += element("dt", name) + element("dd", value);
    return element("div",
                   element("h3", title) + element("div", figure, bad ? "figure bad" : "figure") +
                       element("dl", list),
                   "card") +
           "\n";
  }

  std::string headline() const {
    std::string cards;
    if (const double capacity = number({"capacity", "requests_per_s"}); known(capacity))
      cards += card("Capacity, requests/s", number_text(capacity),
                    {{"while", escaped(text({"capacity", "expectation"}))}});
    Facts rate{{"answered", count_text(number_at(result_, {"answered"}))},
               {"in", number_text(number_at(result_, {"seconds"})) + " s"}};
    if (open_loop())
      rate.insert(rate.begin(), {"planned", count_text(number_at(result_, {"planned"}))});
    cards +=
        card("Throughput, requests/s", number_text(number_at(result_, {"requests_per_s"})), rate);
    cards += card("Response p99, ms", number_text(number_at(result_, {"response_ms", "p99"})),
                  {{"p50", number_text(number_at(result_, {"response_ms", "p50"}))},
                   {"p99.9", number_text(number_at(result_, {"response_ms", "p99_9"}))}});
    const double answered = number_at(result_, {"answered"}),
                 share =
                     errors() > 0 ? errors() / (errors() + (known(answered) ? answered : 0)) : 0;
    cards += card("Errors", count_text(errors()),
                  {{"of all requests", share_text(share)},
                   {"rejected", count_text(sum(at(result_, {"rejected"})))}},
                  errors() > 0);
    Facts cpu{{"client", cpu_text({"client"})}};
    if (at(report_, {"database"}).is_object()) cpu.push_back({"database", cpu_text({"database"})});
    if (known(number({"server_process", "cpu_us_per_request"})))
      cards += card("Server CPU, µs/request", cpu_text({"server_process"}), cpu);
    else
      cards += card("Client CPU, µs/request", cpu_text({"client"}), {{"server", "not known"}});
    return element("div", "\n" + cards, "cards") + "\n";
  }

  std::string cpu_text(Keys process) const {
    const double us = number_at(at(report_, process), {"cpu_us_per_request"});
    return known(us) ? number_text(us) : "not known";
  }

  // Charts.

  std::vector<double> column(const char* key, double factor = 1) const {
    std::vector<double> values;
    for (const Json* second : seconds_) values.push_back(number_at(*second, {key}) * factor);
    return values;
  }
  static bool any(const std::vector<double>& values) {
    return std::any_of(values.begin(), values.end(), known);
  }
  static bool any_above_zero(const std::vector<double>& values) {
    return std::any_of(values.begin(), values.end(), [](double value) { return value > 0; });
  }

  // Lines without a value are left out; empty without lines.
  std::string time_figure(const std::string& title, const std::string& note, const Axis& y,
                          const std::vector<ChartLine>& lines) const {
    Chart chart{.title = title,
                .note = note,
                .x = {"seconds from the start", "s"},
                .y = y,
                .positions = column("second"),
                .lines = {}};
    for (const ChartLine& line : lines)
      if (any(line.values)) chart.lines.push_back(line);
    for (const Json* second : seconds_)
      if (true_at(*second, {"warmup"})) chart.warm_up_end = number_at(*second, {"second"}) + 0.5;
    return chart.lines.empty() ? "" : figure(chart);
  }

  std::string over_time() const {
    if (seconds_.empty()) return {};
    const std::vector<double> planned = column("planned_per_s"), errors = column("errors"),
                              rejected = column("rejected");
    std::string out = time_figure(any(planned) ? "Rate, planned and achieved" : "Rate", "",
                                  {"requests/s", "requests/s"},
                                  {{"achieved", column("requests_per_s"), Color::blue},
                                   {"planned", planned, Color::grey, Look::dashed}});
    out +=
        time_figure("Latency", "Each second’s percentiles, logarithmic", {"ms", "ms", Scale::log},
                    {{"response max", column("response_max_ms"), Color::grey},
                     {"response p99", column("response_p99_ms"), Color::orange},
                     {"response p50", column("response_p50_ms"), Color::blue},
                     {"service p99", column("service_p99_ms"), Color::green, Look::dashed}});
    out += time_figure("CPU", "Client: share of the CPUs that it could use; server: of one CPU",
                       {"%", "%"},
                       {{"server", column("server_cpu_share", 100), Color::violet},
                        {"client", column("client_cpu_share", 100), Color::orange}});
    out += time_figure("In flight", "Requests sent and not yet answered", {"requests", "requests"},
                       {{"in flight", column("in_flight"), Color::blue}});
    if (any_above_zero(errors))
      out += time_figure("Errors", "", {"a second", "a second"}, {{"errors", errors, Color::red}});
    if (any_above_zero(rejected))
      out += time_figure("Rejections", "Right answers that hold an error", {"a second", "a second"},
                         {{"rejections", rejected, Color::violet}});
    return out.empty() ? "" : element("div", "\n" + out, "charts level") + "\n";
  }

  Distribution distribution(const char* name, const char* key, Color color) const {
    Distribution found{name, {}, color};
    if (const Json& buckets = at(result_, {key}); buckets.is_array())
      for (const auto& bucket : buckets)
        if (bucket.is_array() && bucket.size() == 2 && bucket[0].is_number() &&
            bucket[1].is_number())
          found.buckets.emplace_back(bucket[0].get<double>(), bucket[1].get<std::uint64_t>());
    return found;
  }

  std::string latency() const {
    std::vector<Distribution> distributions;
    for (Distribution each : {distribution("response", "response_histogram", Color::blue),
                              distribution("service", "service_histogram", Color::green)})
      if (!each.buckets.empty()) distributions.push_back(std::move(each));
    std::string out;
    if (!distributions.empty()) {
      Chart chart = percentile_chart("Distribution", distributions);
      chart.note = "How many per cent of the requests took no longer";
      if (chart.lines.size() == 2) chart.lines[1].look = Look::dashed;
      out += figure(chart);
    }
    static constexpr std::pair<const char*, const char*> rows[] = {
        {"mean", "mean"}, {"min", "min"}, {"p50", "p50"},     {"p75", "p75"}, {"p90", "p90"},
        {"p95", "p95"},   {"p99", "p99"}, {"p99_9", "p99.9"}, {"max", "max"}};
    Table table;
    table.head({"", "#response, ms", "#service, ms"});
    for (const auto& [key, name] : rows) {
      const double response = number_at(result_, {"response_ms", key}),
                   service = number_at(result_, {"service_ms", key});
      if (known(response) || known(service))
        table.row({name, number_text(response), number_text(service)});
    }
    const std::string due =
        open_loop()
            ? "when it was due by the plan, and so holds the wait behind slower ones"
            : "when its client was free to send it, and so holds the connecting where each request has a connection of its own";
    const std::string note = "Response counts from " + due +
                             "; service from the first byte sent. Both end with the reply.";
    if (!table.empty()) out += element("div", table.markup() + element("p", note, "note"));
    return out.empty() ? "" : element("div", "\n" + out, "charts") + "\n";
  }

  std::string capacity() const {
    const Json& capacity = at(report_, {"capacity"});
    if (!capacity.is_object()) return {};
    const std::string expectation = text_at(capacity, {"expectation"});
    std::string out =
        element("p", "The highest rate tried at which " + element("strong", escaped(expectation)) +
                         " held: " +
                         element("strong", number_text(number_at(capacity, {"requests_per_s"})) +
                                               " requests/s") +
                         ".");
    const Json& listed = at(capacity, {"trials"});
    if (!listed.is_array() || listed.empty()) return out;
    // of the first condition, as is what was measured
    const std::string unit = text_at(capacity, {"unit"});
    const double limit = number_at(capacity, {"limit"});
    Table table;
    table.head({"#planned/s", "#achieved/s", "#response p99, ms",
                "#measured" + (unit.empty() ? "" : ", " + escaped(unit)), "held"});
    std::vector<const Json*> trials;
    for (const auto& trial : listed) {
      if (known(number_at(trial, {"requests_per_s"}))) trials.push_back(&trial);
      table.row({number_text(number_at(trial, {"requests_per_s"})),
                 number_text(number_at(trial, {"achieved_per_s"})),
                 number_text(number_at(trial, {"response_p99_ms"})),
                 number_text(number_at(trial, {"measured"})),
                 true_at(trial, {"held"}) ? element("span", "held", "good")
                                          : element("span", "not held", "bad")});
    }
    std::stable_sort(trials.begin(), trials.end(), [](const Json* a, const Json* b) {
      return number_at(*a, {"requests_per_s"}) < number_at(*b, {"requests_per_s"});
    });
    Chart chart{.title = "Trials",
                .note = "What was measured at each rate",
                .x = {"planned requests/s", "requests/s"},
                .y = {unit.empty() ? "measured" : unit, unit, Scale::log},
                .positions = {},
                .lines = {}};
    ChartLine held{"held", {}, Color::green, Look::dots},
        missed{"not held", {}, Color::red, Look::crosses};
    for (const Json* trial : trials) {
      const double measured = number_at(*trial, {"measured"}), gap = std::nan("");
      chart.positions.push_back(number_at(*trial, {"requests_per_s"}));
      held.values.push_back(true_at(*trial, {"held"}) ? measured : gap);
      missed.values.push_back(true_at(*trial, {"held"}) ? gap : measured);
    }
    chart.lines = {held, missed};
    if (known(limit)) chart.limit = {limit, expectation};
    return out + element("div", "\n" + figure(chart) + table.markup(), "charts") + "\n";
  }

  // Tables.

  std::string counts_table(const char* title, const Json& counts) const {
    if (!counts.is_object()) return {};
    Table table;
    table.head({title, "#count"});
    for (const auto& [kind, count] : counts.items()) {
      const double value = count.is_number() ? count.get<double>() : 0;
      table.row({escaped(spaced(kind)), value > 0 ? element("strong", count_text(value)) : "0"});
    }
    return table.markup();
  }

  std::string answers() const {
    std::string out = counts_table("errors", at(result_, {"errors"})) +
                      counts_table("rejections, by what was asked", at(result_, {"rejected"}));
    if (!out.empty()) out = element("div", "\n" + out, "sides") + "\n";
    for (const auto& [name, key] : {std::pair{"First rejection: ", "first_rejection"},
                                    {"First wrong answer: ", "first_wrong_answer"},
                                    {"First connection error: ", "first_connect_error"}})
      if (const std::string said = text_at(result_, {key}); !said.empty())
        out += element("p", name + words(said)) + "\n";
    return out;
  }

  std::string expectations() const {
    const Json& all = at(report_, {"expectations"});
    if (!all.is_array() || all.empty()) return {};
    Table table;
    table.head({"expected", "#measured", ""});
    for (const auto& expectation : all)
      table.row({escaped(text_at(expectation, {"text"})), measured(expectation),
                 true_at(expectation, {"met"}) ? element("span", "met", "good")
                                               : element("span", "not met", "bad")});
    return table.markup();
  }

  std::string audit() const {
    const Json& audit = at(report_, {"audit"});
    if (!audit.is_object()) return {};
    const bool passed = true_at(audit, {"passed"});
    const std::string verdict =
        element("strong", passed ? "Passed." : "Failed.", passed ? "good" : "bad");
    const std::string extent =
        counted(number_at(audit, {"orders"}), "order", "orders") + ", " +
        counted(number_at(audit, {"executions"}), "execution", "executions") + ", " +
        counted(number_at(audit, {"accounts"}), "account", "accounts");
    std::string out =
        element("p", verdict + " Compared what the server answered and holds: " + extent +
                         "; cash moved " + escaped(value_text(at(audit, {"cash_moved"}))) +
                         ". It took " + number_text(number_at(audit, {"seconds"})) + " s.");
    out += "\n";
    if (const std::string why = text_at(audit, {"not_checked"}); !why.empty())
      out += element("p", "Not checked: " + escaped(why)) + "\n";
    return out + list(findings());
  }

  // Each stage starts where the mean of the one before it ends.
  std::string stages() const {
    const Json& stages = at(report_, {"server_stages_us"});
    if (!stages.is_object() || stages.empty()) return {};
    double total = 0;
    for (const auto& stage : stages)
      if (const double mean = number_at(stage, {"mean"}); mean > 0) total += mean;
    Table table("stages");
    table.head({"stage", "mean, in order", "#mean, µs", "#p50", "#p99", "#count"});
    double before = 0;
    for (const auto& [name, stage] : stages.items()) {
      const double mean = number_at(stage, {"mean"});
      std::string bar;
      if (mean > 0) {
        char style[96];
        std::snprintf(style, sizeof style, "margin-left: %.2f%%; width: %.2f%%",
                      100 * before / total, 100 * mean / total);
        bar = std::string("<div style=\"") + style + "\"></div>";
        before += mean;
      }
      table.row({escaped(spaced(name)), bar, number_text(mean),
                 number_text(number_at(stage, {"p50"})), number_text(number_at(stage, {"p99"})),
                 count_text(number_at(stage, {"count"}))});
    }
    return table.markup() +
           element(
               "p",
               "As the server measured them; together " + number_text(total) + " µs on average.",
               "note") +
           "\n";
  }

  std::string resources() const {
    Table table;
    table.head({"", "#CPU, s", "#µs/request", "#share", "#memory, MB", "#voluntary switches",
                "#involuntary"});
    for (const auto& [name, key] :
         {std::pair{"client", "client"}, {"server", "server_process"}, {"database", "database"}}) {
      const Json& process = at(report_, {key});
      if (!process.is_object()) continue;
      table.row({name, number_text(number_at(process, {"cpu_s"})),
                 number_text(number_at(process, {"cpu_us_per_request"})),
                 share_text(number_at(process, {"cpu_share"})),
                 number_text(number_at(process, {"resident_bytes"}) / 1e6),
                 count_text(number_at(process, {"voluntary_switches"})),
                 count_text(number_at(process, {"involuntary_switches"}))});
    }
    return table.empty() ? "" : table.markup();
  }

  static std::string options_table(const std::string& title, const Json& options) {
    if (!options.is_object() || options.empty()) return {};
    Table table("plain");
    for (const auto& [key, value] : options.items()) {
      const bool bytes = key.ends_with("_bytes") && value.is_number();
      table.row(
          {escaped(bytes ? spaced(key.substr(0, key.size() - 6)) : option_name(key)),
           bytes ? number_text(value.get<double>() / 1e6) + " MB" : escaped(value_text(value))});
    }
    return element("div", element("h3", title) + table.markup()) + "\n";
  }

  std::string setup() const {
    std::string out;
    if (const Json& command = at(report_, {"command"}); command.is_array() && !command.empty()) {
      std::string line;
      for (const auto& argument : command)
        line += (line.empty() ? "" : " ") + shell_word(value_text(argument));
      out += element("pre", escaped(line)) + "\n";
    }
    const std::string tables = options_table("Load", at(report_, {"load"})) +
                               options_table("Workload", at(report_, {"workload"})) +
                               options_table("Server", at(report_, {"server"})) +
                               options_table("Machine", at(report_, {"machine"}));
    return tables.empty() ? out : out + element("div", "\n" + tables, "sides") + "\n";
  }

  // As a shell would need it.
  static std::string shell_word(const std::string& argument) {
    static constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
    if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos)
      return argument;
    std::string quoted = "'";
    for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
  }

  const Json& report_;
  const Json& result_;
  std::vector<const Json*> seconds_;
};

}  // namespace

std::string html_page(const Json& report) { return Page(report).markup(); }

}  // namespace exchange::loadgen
