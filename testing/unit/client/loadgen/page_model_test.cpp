// The page of a run: what it shows, what it leaves out, and that it is safe to open.
#include "client/loadgen/report/page_model.hpp"

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "client/report/html_page.hpp"
#include "sample_report.hpp"

using namespace exchange;
using namespace exchange::loadgen;

namespace {

using Lines = std::vector<std::string>;

// A text of the model as the page shows it, numbers apart.
std::string shown(const Json& text) {
  if (text.is_string()) return text;
  if (text.is_object()) return shown(text["text"]);
  if (!text.is_array()) return text.dump();
  std::string all;
  for (const auto& part : text) all += shown(part);
  return all;
}

Lines all_of(const Json& list, const char* key) {
  Lines found;
  for (const auto& one : list) found.push_back(shown(one[key]));
  return found;
}
Lines notices(const Json& report) { return all_of(page_model(report)["notices"], "text"); }

Json section(const Json& report, const std::string& id) {
  const Json model = page_model(report);
  for (const auto& section : model["sections"])
    if (section["id"] == id) return section["blocks"];
  return {};
}

// Titles of all charts, in order.
void add_charts(const Json& blocks, Lines& titles) {
  for (const auto& block : blocks) {
    if (block["type"] == "chart") titles.push_back(block["title"]);
    if (block.contains("blocks")) add_charts(block["blocks"], titles);
  }
}
Lines charts(const Json& report) {
  const Json model = page_model(report);
  Lines titles;
  for (const auto& section : model["sections"]) add_charts(section["blocks"], titles);
  return titles;
}

// A column of a table, or one row of it.
Lines column(const Json& table, std::size_t i) {
  Lines cells;
  for (const auto& row : table["rows"]) cells.push_back(shown(row[i]));
  return cells;
}

// Puts a text into every text of a document.
void replace_texts(Json& json, const std::string& text) {
  if (json.is_string())
    json = text;
  else if (json.is_structured())
    for (auto& part : json) replace_texts(part, text);
}

Json full_report() {
  Json report = sample_report();
  report["load"]["mode"] = "open";
  report["load"]["stages"] = {{{"seconds", 10}, {"requests_per_s", 5000}}};
  report["database"] = report["client"];
  report["expectations"] = {
      {{"text", "p99<20ms"}, {"measured", 3.5}, {"unit", "ms"}, {"met", true}},
      {{"text", "p50<1ms"}, {"measured", 1.1}, {"unit", "ms"}, {"met", false}}};
  report["audit"] = {{"passed", false},        {"orders", 10},
                     {"executions", 5},        {"accounts", 2},
                     {"cash_moved", "123.45"}, {"findings", {"order 7 was paid twice"}},
                     {"seconds", 1.2},         {"not_checked", ""}};
  report["server_stages_us"] = {
      {"read", {{"count", 10}, {"mean", 1.0}, {"p50", 1.0}, {"p99", 2.0}}},
      {"commit", {{"count", 10}, {"mean", 3.0}, {"p50", 1.0}, {"p99", 2.0}}}};
  report["capacity"] = {{"expectation", "p99<10ms"},
                        {"requests_per_s", 41'000},
                        {"unit", "ms"},
                        {"limit", 10},
                        {"trials",
                         {{{"requests_per_s", 80'000},
                           {"achieved_per_s", 50'000},
                           {"response_p99_ms", 90.5},
                           {"measured", 90.5},
                           {"held", false}},
                          {{"requests_per_s", 41'000},
                           {"achieved_per_s", 40'990},
                           {"response_p99_ms", 9.5},
                           {"measured", 9.5},
                           {"held", true}}}}};
  report["result"]["errors"]["timeout"] = 12;
  report["result"]["errors"]["wrong answer"] = 3;
  report["result"]["first_wrong_answer"] = "<opened/>";
  report["client_was_the_bottleneck"] = true;
  report["result"]["stolen_cpu_share"] = 0.1;
  for (auto& second : report["series"]) {
    second["planned_per_s"] = 5000;
    second["server_cpu_share"] = 0.9;
    second["errors"] = 1;
    second["rejected"] = 1;
  }
  report["series"][0]["warmup"] = true;
  return report;
}

}  // namespace

TEST_CASE("a quiet run has its sections, and one line that all is well") {
  const Json model = page_model(sample_report());
  CHECK(shown(model["title"]) == "Load test: transactions, 200 clients, closed loop");
  CHECK(notices(sample_report()) == Lines{"No errors in 100000 answers."});
  CHECK(all_of(model["sections"], "id") ==
        Lines{"time", "latency", "answers", "resources", "setup"});
  CHECK(charts(sample_report()) == Lines{"Rate", "Latency", "CPU", "In flight", "Distribution"});
  CHECK(all_of(model["cards"], "title") ==
        Lines{"Throughput, requests/s", "Response p99, ms", "Errors", "Server CPU, µs/request"});
  CHECK(all_of(model["cards"], "figure") == Lines{"10000.0", "3.5", "0.0", "41.0"});
}

TEST_CASE("a run with everything has every section") {
  const Json report = full_report();
  CHECK(all_of(page_model(report)["sections"], "id") == Lines{"capacity", "time", "latency",
                                                              "answers", "expectations", "audit",
                                                              "stages", "resources", "setup"});
  CHECK(charts(report) == Lines{"Trials", "Rate, planned and achieved", "Latency", "CPU",
                                "In flight", "Errors", "Rejections", "Distribution"});
  CHECK(column(section(report, "resources")[0], 0) == Lines{"client", "server", "database"});
  CHECK(column(section(report, "expectations")[0], 2) == Lines{"met", "not met"});
  CHECK(column(section(report, "capacity")[1]["blocks"][1], 4) == Lines{"not held", "held"});
  const Json stages = section(report, "stages")[0]["rows"];
  CHECK(stages[0][1] == Json{{"bar", {0.0, 0.25}}});
  CHECK(stages[1][1] == Json{{"bar", {0.25, 1.0}}});
}

TEST_CASE("trials are drawn by rate, those that held apart from the others") {
  const Json chart = section(full_report(), "capacity")[1]["blocks"][0];
  CHECK(chart["positions"] == Json{41'000.0, 80'000.0});
  CHECK(to_text(chart["lines"][0]["values"]) == "[9.5,null]");
  CHECK(to_text(chart["lines"][1]["values"]) == "[null,90.5]");
  CHECK(chart["limit"] == Json{{"value", 10}, {"name", "p99<10ms"}});
}

TEST_CASE("the charts over time have the warm-up shaded, and lines with values only") {
  const Json charts = section(full_report(), "time")[0]["blocks"];
  CHECK(charts[0]["shade_to"] == 1.5);
  CHECK(all_of(charts[0]["lines"], "name") == Lines{"achieved", "planned"});
  const Json quiet = section(sample_report(), "time")[0]["blocks"];
  CHECK(quiet[0]["shade_to"].is_null());
  CHECK(all_of(quiet[0]["lines"], "name") == Lines{"achieved"});
  CHECK(all_of(quiet[2]["lines"], "name") == Lines{"client"});
}

TEST_CASE("what went wrong stands before the figures, the client as bottleneck first") {
  Json report = full_report();
  report["result"]["stopped_early"] = true;
  report["result"]["unsent"] = 1;
  report["load"]["reply_check"] = false;
  CHECK(notices(report) ==
        Lines{"The client was the bottleneck: the server could do more than this.",
              "The hypervisor took CPU time from this machine: the latencies include its pauses.",
              "15.0 errors: 12 timeout, 3 wrong answer.",
              "The audit failed: the server’s answers do not add up.", "1 expectation missed.",
              "The run was stopped early.", "1 of 100000 planned requests were never sent.",
              "Replies were not checked."});
  CHECK(page_model(report)["notices"][0]["kind"] == "bad");
}

TEST_CASE("deviations in form, and that nothing was audited, are notices of their own") {
  Json report = sample_report();
  report["result"]["errors"] = Json::object();
  report["result"]["deviations"] = {"3 times (R12)"};
  report["audit"] = {{"passed", false}, {"findings", Json::array()}};
  const Lines shown = notices(report);
  CHECK(std::count(shown.begin(), shown.end(), "Nothing was audited.") == 1);
  CHECK(std::count(shown.begin(), shown.end(), "Replies differ from the protocol in form.") == 1);
}

TEST_CASE("nothing in a report can close the script that contains it") {
  const std::string hostile = "</script></style><img src=x onerror=alert(1)>\"'&<!--<script>";
  Json report = full_report();
  replace_texts(report, hostile);
  report["workload"][hostile] = hostile;
  report["result"]["errors"][hostile] = 4;
  report["server_stages_us"][hostile] = report["server_stages_us"]["read"];
  const std::string model = to_text(page_model(report)), page = html_page(model);
  const std::string start = "<script id=\"model\" type=\"application/json\">";
  const std::size_t begin = page.find(start) + start.size();
  const std::string data = page.substr(begin, page.find("</script>", begin) - begin);
  CHECK(data.find('<') == std::string::npos);
  CHECK(Json::parse(data) == Json::parse(model));
}

TEST_CASE("the set-up names the command line as a shell needs it, and every option") {
  Json report = sample_report();
  report["command"] = {"loadgen", "-c", "200", "it's", ""};
  report["workload"]["seed"] = 18'446'744'073'709'551'615u;
  const Json setup = section(report, "setup");
  CHECK(setup[0]["text"] == "loadgen -c 200 'it'\\''s' ''");
  CHECK(all_of(setup[1]["blocks"], "title") == Lines{"Load", "Workload", "Server", "Machine"});
  CHECK(setup[1]["blocks"][0]["values"] == report["load"]);
  CHECK(setup[1]["blocks"][1]["values"]["seed"] == "18446744073709551615");
}

TEST_CASE("a percentile chart reads its values from the buckets and ends with them") {
  Json report = sample_report();
  report["result"]["response_histogram"] = {{1000, 90}, {2500, 9}, {8000, 1}};
  report["result"]["service_histogram"] = Json::array();  // nothing was sent
  const Json chart = section(report, "latency")[0]["blocks"][0];
  const auto at_share = [&](double share) {
    for (std::size_t i = 0; i < chart["positions"].size(); ++i)
      if (std::abs(chart["positions"][i].get<double>() - share) < 1e-9)
        return chart["lines"][0]["values"][i].get<double>();
    return -1.0;
  };
  CHECK(at_share(0.5) == 1);
  CHECK(at_share(0.9) == 1);
  CHECK(at_share(0.99) == 2.5);
  CHECK(std::isnan(at_share(0.999)));  // of a hundred values
  CHECK(std::isnan(chart["lines"][1]["values"][0].get<double>()));
}
