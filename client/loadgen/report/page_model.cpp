#include "client/loadgen/report/page_model.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "client/loadgen/report/numbers.hpp"
#include "client/loadgen/report/page_blocks.hpp"

namespace exchange::loadgen {
namespace {

using namespace page;

List row_of(List row, const Json& from, std::initializer_list<const char*> keys) {
  for (const char* key : keys) row.push_back(at(from, {key}));
  return row;
}

Values column(const Json& rows, const char* key, double factor = 1) {
  Values values;
  for (const auto& row : rows) values.push_back(number_at(row, {key}) * factor);
  return values;
}
bool any_above_zero(const Values& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

double sum(const Json& counts) {
  double total = 0;
  for (const auto& count : counts) total += count.get<double>();
  return total;
}

// "12 wrong answer, 3 timeout".
List kinds(const Json& counts) {
  List parts;
  for (const auto& [kind, count] : counts.items()) {
    if (count == Json(0)) continue;
    parts.insert(parts.end(), {parts.empty() ? "" : ", ", count, " " + kind});
  }
  return parts;
}

// What the server sent, word for word.
List examples(const Json& result,
              const std::vector<std::pair<const char*, const char*>>& names_and_keys) {
  List found;
  for (const auto& [name, key] : names_and_keys)
    if (const std::string sent = text_at(result, {key}); !sent.empty())
      found.push_back(List{name, as("code", sent)});
  return found;
}

class Page {
 public:
  explicit Page(const Json& report) : report_(report), result_(at(report, {"result"})) {}

  Json model() const {
    Json sections = Json::array();
    for (const auto& [id, title, blocks] : {std::tuple{"capacity", "Capacity", capacity()},
                                            {"time", "Over time", over_time()},
                                            {"latency", "Latency", latency()},
                                            {"answers", "Errors and rejections", answers()},
                                            {"expectations", "Expectations", expectations()},
                                            {"audit", "Audit", audit()},
                                            {"stages", "Stages of the server", stages()},
                                            {"resources", "CPU and memory", resources()},
                                            {"setup", "Set-up", setup()}})
      if (!blocks.empty()) sections.push_back({{"id", id}, {"title", title}, {"blocks", blocks}});
    return {
        {"title",
         {"Load test: ", get({"workload", "kind"}), ", ",
          counted(get({"load", "clients"}), "client"), ", ", get({"load", "mode"}), " loop"}},
        {"about",
         {get({"server", "description"}), " · ", get({"started"}), " · commit ", get({"commit"})}},
        {"notices", notices()},
        {"cards", cards()},
        {"sections", sections}};
  }

 private:
  const Json& get(Keys keys) const { return at(report_, keys); }
  bool open_loop() const { return get({"load", "mode"}) == Json("open"); }
  double errors() const { return sum(at(result_, {"errors"})); }

  // What must not be overlooked.
  List notices() const {
    List out;
    const auto notice = [&](const char* kind, const Json& text, List details = {}) {
      out.push_back({{"kind", kind}, {"text", text}, {"details", std::move(details)}});
    };
    if (true_at(report_, {"client_was_the_bottleneck"}))
      notice("bad", "The client was the bottleneck: the server could do more than this.",
             {List{"The load generator used ", percent(number_at(report_, {"client", "cpu_share"})),
                   " of the CPU it had. Rates and latencies here are its own, not the server’s."}});
    if (const double stolen = number_at(result_, {"stolen_cpu_share"});
        stolen > stolen_cpu_share_max)
      notice("warn",
             "The hypervisor took CPU time from this machine: the latencies include its pauses.",
             {List{"It took ", percent(stolen), " of the time of all CPUs (steal time)."}});
    const std::size_t about_measuring = out.size();  // the rest is about the server
    if (errors() > 0)
      notice("bad", {counted(errors(), "error"), ": ", kinds(at(result_, {"errors"})), "."},
             examples(result_, {{"First wrong answer: ", "first_wrong_answer"},
                                {"First connection error: ", "first_connect_error"}}));
    if (get({"audit", "passed"}) == Json(false)) {
      constexpr std::size_t shown_max = 5;
      List items = get({"audit", "findings"});
      if (items.size() > shown_max) {
        const std::string more = "and " + std::to_string(items.size() - shown_max) + " more";
        items.resize(shown_max);
        items.push_back({{"text", more}, {"section", "audit"}});
      }
      notice("bad",
             items.empty() ? "Nothing was audited."
                           : "The audit failed: the server’s answers do not add up.",
             items);
    }
    if (const Json& deviations = at(result_, {"deviations"}); !deviations.empty())
      notice("warn", "Replies differ from the protocol in form.", deviations);
    if (const std::string why = text_at(report_, {"audit", "not_checked"}); !why.empty())
      notice("warn", "The audit did not check everything.", {why});
    List missed;
    for (const auto& one : get({"expectations"}))
      if (!true_at(one, {"met"}))
        missed.push_back(List{as("strong", at(one, {"text"})), ": ", measured(one)});
    if (!missed.empty()) notice("bad", {counted(missed.size(), "expectation"), " missed."}, missed);
    if (true_at(result_, {"stopped_early"})) notice("warn", "The run was stopped early.");
    if (const Json& unsent = at(result_, {"unsent"}); unsent != Json(0))
      notice("warn",
             {unsent, " of ", at(result_, {"planned"}), " planned requests were never sent."},
             {"Their time came, and no connection was free for them before the end."});
    if (get({"load", "reply_check"}) == Json(false)) notice("warn", "Replies were not checked.");
    if (out.size() == about_measuring) {
      List fine{"No errors in ", counted(at(result_, {"answered"}), "answer"), "."};
      if (true_at(report_, {"audit", "passed"})) fine.push_back(" The audit passed.");
      if (const std::size_t count = get({"expectations"}).size(); count > 0)
        fine.insert(fine.end(), {" ", counted(count, "expectation"), " met."});
      notice("good", fine);
    }
    return out;
  }

  static Json measured(const Json& expectation) {
    const Json& value = at(expectation, {"measured"});
    return value.is_null() ? Json("not measured")
                           : Json(List{value, " ", at(expectation, {"unit"})});
  }

  List cards() const {
    List cards;
    const auto card = [&](const char* title, const Json& figure, List facts, bool bad = false) {
      cards.push_back(
          {{"title", title}, {"figure", figure}, {"facts", std::move(facts)}, {"bad", bad}});
    };
    const auto fact = [](const char* name, const Json& value) { return Json(List{name, value}); };
    const auto cpu = [&](const char* process) {
      const Json& us = get({process, "cpu_us_per_request"});
      return us.is_null() ? Json("not known") : us;
    };
    if (const Json& capacity = get({"capacity", "requests_per_s"}); !capacity.is_null())
      card("Capacity, requests/s", capacity, {fact("while", get({"capacity", "expectation"}))});
    List rate{fact("answered", at(result_, {"answered"})),
              fact("in", List{at(result_, {"seconds"}), " s"})};
    if (open_loop()) rate.insert(rate.begin(), fact("planned", at(result_, {"planned"})));
    card("Throughput, requests/s", at(result_, {"requests_per_s"}), rate);
    card("Response p99, ms", at(result_, {"response_ms", "p99"}),
         {fact("p50", at(result_, {"response_ms", "p50"})),
          fact("p99.9", at(result_, {"response_ms", "p99_9"}))});
    card("Errors", errors(),
         {fact("of all requests",
               percent(errors() / std::max(1.0, errors() + number_at(result_, {"answered"})))),
          fact("rejected", sum(at(result_, {"rejected"})))},
         errors() > 0);
    List clients{fact("client", cpu("client"))};
    if (get({"database"}).is_object()) clients.push_back(fact("database", cpu("database")));
    if (get({"server_process"}).is_object())
      card("Server CPU, µs/request", cpu("server_process"), clients);
    else
      card("Client CPU, µs/request", cpu("client"), {fact("server", "not known")});
    return cards;
  }

  List over_time() const {
    const Json& seconds = get({"series"});
    Json shade_to;
    for (const auto& second : seconds)
      if (true_at(second, {"warmup"})) shade_to = number_at(second, {"second"}) + 0.5;
    const auto values = [&](const char* key, double factor = 1) {
      return column(seconds, key, factor);
    };
    List charts;
    const auto chart = [&](const char* title, const char* note, const char* unit, List lines,
                           const char* scale = "linear") {
      std::erase_if(lines, [](const Json& line) {
        const Values drawn = line["values"];
        return std::none_of(drawn.begin(), drawn.end(), [](double one) { return one == one; });
      });
      if (!lines.empty())
        charts.push_back({{"type", "chart"},
                          {"title", title},
                          {"note", note},
                          {"x", {{"name", "seconds from the start"}, {"unit", "s"}}},
                          {"y", {{"name", unit}, {"unit", unit}, {"scale", scale}}},
                          {"positions", values("second")},
                          {"lines", std::move(lines)},
                          {"shade_to", shade_to}});
    };
    chart(open_loop() ? "Rate, planned and achieved" : "Rate", "", "requests/s",
          {line("achieved", values("requests_per_s"), "blue"),
           line("planned", values("planned_per_s"), "grey", "dashed")});
    chart("Latency", "Each second’s percentiles, logarithmic", "ms",
          {line("response max", values("response_max_ms"), "grey"),
           line("response p99", values("response_p99_ms"), "orange"),
           line("response p50", values("response_p50_ms"), "blue"),
           line("service p99", values("service_p99_ms"), "green", "dashed")},
          "log");
    List cpu{line("server", values("server_cpu_share", 100), "violet"),
             line("client", values("client_cpu_share", 100), "orange")};
    if (const Values stolen = values("stolen_cpu_share", 100); any_above_zero(stolen))
      cpu.push_back(line("taken by the hypervisor", stolen, "red"));
    chart(
        "CPU",
        "Client: share of the CPUs that it could use; server: of one CPU; hypervisor: of all CPUs",
        "%", std::move(cpu));
    chart("In flight", "Requests sent and not yet answered", "requests",
          {line("in flight", values("in_flight"), "blue")});
    if (const Values errors = values("errors"); any_above_zero(errors))
      chart("Errors", "", "a second", {line("errors", errors, "red")});
    if (const Values rejected = values("rejected"); any_above_zero(rejected))
      chart("Rejections", "Right answers that hold an error", "a second",
            {line("rejections", rejected, "violet")});
    return charts.empty() ? List() : List{side_by_side(charts)};
  }

  List latency() const {
    List blocks, rows;
    if (const Json& response = at(result_, {"response_histogram"}); !response.empty())
      blocks.push_back(distribution(
          "Distribution",
          {distribution_line("response", response, "blue"),
           distribution_line("service", at(result_, {"service_histogram"}), "green", "dashed")}));
    for (const auto& [key, response] : at(result_, {"response_ms"}).items())
      rows.push_back(
          List{key == "p99_9" ? "p99.9" : key, response, at(result_, {"service_ms", key.c_str()})});
    const std::string due =
        open_loop()
            ? "when it was due by the plan, and so holds the wait behind slower ones"
            : "when its client was free to send it, and so holds the connecting where each request has a connection of its own";
    blocks.push_back(table({"", "#response, ms", "#service, ms"}, rows,
                           "Response counts from " + due +
                               "; service from the first byte sent. Both end with the reply."));
    return {side_by_side(blocks)};
  }

  List capacity() const {
    const Json& capacity = get({"capacity"});
    if (capacity.is_null()) return {};
    const Json& expectation = at(capacity, {"expectation"});
    // of the first condition, as is what was measured
    const std::string unit = text_at(capacity, {"unit"});
    Json trials = at(capacity, {"trials"});
    List rows;
    for (const auto& trial : trials) {
      rows.push_back(
          row_of({}, trial, {"requests_per_s", "achieved_per_s", "response_p99_ms", "measured"}));
      rows.back().push_back(verdict(at(trial, {"held"}), "held", "not held"));
    }
    std::stable_sort(trials.begin(), trials.end(), [](const Json& a, const Json& b) {
      return number_at(a, {"requests_per_s"}) < number_at(b, {"requests_per_s"});
    });
    Values held, missed;
    for (const auto& trial : trials) {
      const double measured = number_at(trial, {"measured"});
      held.push_back(true_at(trial, {"held"}) ? measured : std::nan(""));
      missed.push_back(true_at(trial, {"held"}) ? std::nan("") : measured);
    }
    const Json chart{
        {"type", "chart"},
        {"title", "Trials"},
        {"note", "What was measured at each rate"},
        {"x", {{"name", "planned requests/s"}, {"unit", "requests/s"}}},
        {"y", {{"name", unit}, {"unit", unit}, {"scale", "log"}}},
        {"positions", column(trials, "requests_per_s")},
        {"lines",
         {line("held", held, "green", "dots"), line("not held", missed, "red", "crosses")}},
        {"limit", {{"value", at(capacity, {"limit"})}, {"name", expectation}}}};
    return {text_block({"The highest rate tried at which ", as("strong", expectation), " held: ",
                        as("strong", List{at(capacity, {"requests_per_s"}), " requests/s"}), "."}),
            side_by_side({chart, table({"#planned/s", "#achieved/s", "#response p99, ms",
                                        "#measured, " + unit, "held"},
                                       rows)})};
  }

  List answers() const {
    List tables;
    for (const auto& [title, key] :
         {std::pair{"errors", "errors"}, {"rejections, by what was asked", "rejected"}}) {
      List rows;
      for (const auto& [kind, count] : at(result_, {key}).items())
        rows.push_back(List{kind, count == Json(0) ? count : as("strong", count)});
      tables.push_back(table({title, "#count"}, rows));
    }
    List blocks{side_by_side(tables)};
    for (const Json& example :
         examples(result_, {{"First rejection: ", "first_rejection"},
                            {"First wrong answer: ", "first_wrong_answer"},
                            {"First connection error: ", "first_connect_error"}}))
      blocks.push_back(text_block(example));
    return blocks;
  }

  List expectations() const {
    List rows;
    for (const auto& one : get({"expectations"}))
      rows.push_back(
          List{at(one, {"text"}), measured(one), verdict(at(one, {"met"}), "met", "not met")});
    return rows.empty() ? rows : List{table({"expected", "#measured", ""}, rows)};
  }

  List audit() const {
    const Json& audit = get({"audit"});
    if (audit.is_null()) return {};
    List blocks{text_block(
        {verdict(at(audit, {"passed"}), "Passed.",
                 at(audit, {"findings"}).empty() ? "Nothing was audited." : "Failed."),
         " Compared what the server answered and holds: ", counted(at(audit, {"orders"}), "order"),
         ", ", counted(at(audit, {"executions"}), "execution"), ", ",
         counted(at(audit, {"accounts"}), "account"), "; cash moved ", at(audit, {"cash_moved"}),
         ". It took ", at(audit, {"seconds"}), " s."})};
    if (const std::string why = text_at(audit, {"not_checked"}); !why.empty())
      blocks.push_back(text_block({"Not checked: " + why}));
    if (const Json& findings = at(audit, {"findings"}); !findings.empty())
      blocks.push_back({{"type", "list"}, {"items", findings}});
    return blocks;
  }

  // Each stage starts where the mean of the one before it ends.
  List stages() const {
    const Json& stages = get({"server_stages_us"});
    if (stages.is_null()) return {};
    double total = 0, before = 0;
    for (const auto& stage : stages) total += number_at(stage, {"mean"});
    List rows;
    for (const auto& [name, stage] : stages.items()) {
      const double after = before + number_at(stage, {"mean"});
      const Json bar{{"bar", {before / total, after / total}}};
      rows.push_back(row_of({name, bar}, stage, {"mean", "p50", "p99", "count"}));
      before = after;
    }
    return {table({"stage", "mean, in order", "#mean, µs", "#p50", "#p99", "#count"}, rows,
                  {"As the server measured them; together ", total, " µs on average."})};
  }

  List resources() const {
    List rows;
    for (const auto& [name, key] :
         {std::pair{"client", "client"}, {"server", "server_process"}, {"database", "database"}}) {
      const Json& process = get({key});
      if (process.is_null()) continue;
      List row = row_of({name}, process, {"cpu_s", "cpu_us_per_request"});
      row.push_back(percent(number_at(process, {"cpu_share"})));
      row.push_back(number_at(process, {"resident_bytes"}) / 1e6);
      rows.push_back(row_of(row, process, {"voluntary_switches", "involuntary_switches"}));
    }
    return {table({"", "#CPU, s", "#µs/request", "#share", "#memory, MB", "#voluntary switches",
                   "#involuntary"},
                  rows)};
  }

  List setup() const {
    List tables;
    for (const auto& [title, key] : {std::pair{"Load", "load"},
                                     {"Workload", "workload"},
                                     {"Server", "server"},
                                     {"Machine", "machine"}}) {
      Json values = get({key});
      if (!values.is_object()) continue;
      // all its digits, which a number of a script may not have
      if (values.contains("seed")) values["seed"] = values["seed"].dump();
      tables.push_back({{"type", "values"}, {"title", title}, {"values", values}});
    }
    return {command_block(get({"command"})), side_by_side(tables)};
  }

  const Json& report_;
  const Json& result_;
};

}  // namespace

Json page_model(const Json& report) { return Page(report).model(); }

}  // namespace exchange::loadgen
