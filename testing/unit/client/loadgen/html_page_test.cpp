// The page of a run: what it shows, what it leaves out, and that it is safe to open.
#include "client/loadgen/report/html_page.hpp"

#include <pugixml.hpp>

#include "catch.hpp"
#include "sample_report.hpp"

using namespace exchange::loadgen;

namespace {

using Lines = std::vector<std::string>;

pugi::xml_document parsed(const Json& report) {
  const std::string page = html_page(report);
  pugi::xml_document document;
  const auto result =
      document.load_buffer(page.data(), page.size(), pugi::parse_default | pugi::parse_doctype);
  INFO(result.description() << " at " << page.substr(std::size_t(result.offset), 200));
  REQUIRE(result.status == pugi::status_ok);
  return document;
}

std::string text_of(const pugi::xml_node& node) {
  std::string text;
  for (const auto& part : node.select_nodes(".//text()")) text += part.node().value();
  return text;
}

Lines texts(const pugi::xml_document& document, const char* path) {
  Lines found;
  for (const auto& node : document.select_nodes(path)) found.push_back(text_of(node.node()));
  return found;
}

Lines attributes(const pugi::xml_document& document, const char* path) {
  Lines found;
  for (const auto& node : document.select_nodes(path)) found.push_back(node.attribute().value());
  return found;
}

const char* const notices = "//div[starts-with(@class, 'notice')]/strong";
const char* const captions = "//figcaption/strong";

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
  const auto document = parsed(sample_report());
  CHECK(texts(document, "//h1") == Lines{"Load test: transactions, 200 clients, closed loop"});
  CHECK(texts(document, notices) == Lines{"No errors in 100,000 answers."});
  CHECK(attributes(document, "//section/@id") ==
        Lines{"time", "latency", "answers", "resources", "setup"});
  CHECK(texts(document, captions) == Lines{"Rate", "Latency", "CPU", "In flight", "Distribution"});
  CHECK(texts(document, "//div[@class='card']/h3") ==
        Lines{"Throughput, requests/s", "Response p99, ms", "Errors", "Server CPU, µs/request"});
  CHECK(texts(document, "//div[@class='card']/div") == Lines{"10,000", "3.50", "0", "41.0"});
}

TEST_CASE("a run with everything has every section") {
  const auto document = parsed(full_report());
  CHECK(attributes(document, "//section/@id") == Lines{"capacity", "time", "latency", "answers",
                                                       "expectations", "audit", "stages",
                                                       "resources", "setup"});
  CHECK(texts(document, captions) == Lines{"Trials", "Rate, planned and achieved", "Latency", "CPU",
                                           "In flight", "Errors", "Rejections", "Distribution"});
  CHECK(texts(document, "//section[@id='resources']//tbody/tr/th") ==
        Lines{"client", "server", "database"});
  CHECK(texts(document, "//section[@id='expectations']//tbody/tr/td[2]") ==
        Lines{"met", "not met"});
  CHECK(texts(document, "//section[@id='capacity']//tbody/tr/td[4]") == Lines{"not held", "held"});
  CHECK(attributes(document, "//section[@id='stages']//td/div/@style") ==
        Lines{"margin-left: 0.00%; width: 25.00%", "margin-left: 25.00%; width: 75.00%"});
}

TEST_CASE("what went wrong stands before the figures, the client as bottleneck first") {
  Json report = full_report();
  report["result"]["stopped_early"] = true;
  report["result"]["unsent"] = 1;
  report["load"]["reply_check"] = false;
  const auto document = parsed(report);
  CHECK(texts(document, notices) ==
        Lines{"The client was the bottleneck: the server could do more than this.",
              "15 errors: 12 timeout, 3 wrong answer.",
              "The audit failed: the server’s answers do not add up.",
              "An expectation was not met.", "The run was stopped early.",
              "1 of 100,000 planned requests were never sent.", "Replies were not checked."});
  CHECK(document.select_node("//main/*[1]").node().attribute("class").value() ==
        std::string("notice bad"));
  const std::string page = html_page(report);
  CHECK(page.rfind("class=\"notice") < page.find("class=\"cards\""));
}

TEST_CASE("nothing in a report can become markup") {
  const std::string hostile = "</script></style><img src=x onerror=alert(1)>\"'&<!--";
  Json report = full_report();
  const auto elements = parsed(report).select_nodes("//*").size();
  replace_texts(report, hostile);
  report["workload"][hostile] = hostile;
  report["result"]["errors"][hostile] = 4;
  report["server_stages_us"][hostile] = report["server_stages_us"]["read"];
  const auto document = parsed(report);
  CHECK(document.select_nodes("//img").empty());
  CHECK(document.select_nodes("//script").size() == 1);
  CHECK(document.select_nodes("//*").size() < elements + 60);
  CHECK(html_page(report).find("<img") == std::string::npos);
  CHECK(html_page(report).find("onerror=alert(1)>") == std::string::npos);
}

TEST_CASE("bytes of a server that are no text do not break the page") {
  Json report = full_report();
  report["result"]["first_wrong_answer"] = std::string("\xff\0\x1b<", 4);
  CHECK_THAT(texts(parsed(report), "//span[@class='words']").at(0), Catch::Equals("���<"));
}

TEST_CASE("the page fetches nothing") {
  const std::string page = html_page(full_report());
  for (const char* fetched : {"http://", "https://", "src=", "url(", "@import", "<link", "//cdn"}) {
    CAPTURE(fetched);
    CHECK(page.find(fetched) == std::string::npos);
  }
}

TEST_CASE("the set-up tells the command line as a shell needs it, and every option") {
  Json report = sample_report();
  report["command"] = {"loadgen", "-c", "200", "it's", ""};
  report["load"]["timeout_s"] = 30;
  report["load"]["stages"] = {{{"seconds", 10}, {"requests_per_s", 5000}},
                              {{"seconds", 5}, {"requests_per_s", 7000}}};
  const auto document = parsed(report);
  CHECK(texts(document, "//pre") == Lines{"loadgen -c 200 'it'\\''s' ''"});
  CHECK(texts(document, "//section[@id='setup']//h3") ==
        Lines{"Load", "Workload", "Server", "Machine"});
  CHECK(texts(document, "(//section[@id='setup']//table)[1]//tr") ==
        Lines{"modeclosed", "clients200", "workers1", "requests100000",
              "stagesseconds 10, requests/s 5000; seconds 5, requests/s 7000", "arrivals–",
              "duration, s–", "reply checkyes", "timeout, s30"});
}

TEST_CASE("a report with nothing in it still makes a page") {
  for (const Json& report : {Json::object(), Json(), Json::array(),
                             Json{{"series", 1},
                                  {"result", "x"},
                                  {"capacity", Json::object()},
                                  {"audit", 3},
                                  {"command", nullptr},
                                  {"expectations", 5}}})
    CHECK(texts(parsed(report), "//h1") == Lines{"Load test"});
}

TEST_CASE("latencies stand beside each other, response and service") {
  Json report = sample_report();
  report["result"]["service_ms"]["p99"] = 2.25;
  CHECK(texts(parsed(report), "//section[@id='latency']//tbody/tr[7]/*") ==
        Lines{"p99", "3.50", "2.25"});
}
