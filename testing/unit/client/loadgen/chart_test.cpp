// Charts as SVG, and the numbers and texts on them.
#include "client/loadgen/report/chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <pugixml.hpp>
#include <random>

#include "catch.hpp"
#include "client/loadgen/report/markup.hpp"

using namespace exchange::loadgen;

namespace {

using Values = std::vector<double>;
constexpr double gap = std::numeric_limits<double>::quiet_NaN();

Chart rate_chart(Values positions, std::vector<ChartLine> lines) {
  return {.title = "Rate",
          .x = {"seconds", "s"},
          .y = {"requests/s", "requests/s"},
          .positions = std::move(positions),
          .lines = std::move(lines)};
}

pugi::xml_document parsed(const Chart& chart) {
  pugi::xml_document document;
  const std::string markup = figure(chart);
  const auto result = document.load_buffer(markup.data(), markup.size());
  INFO(markup);
  REQUIRE(result.status == pugi::status_ok);
  CHECK(markup.find("nan") == std::string::npos);
  CHECK(markup.find("inf") == std::string::npos);
  return document;
}

std::vector<std::string> texts(const pugi::xml_document& document, const char* path) {
  std::vector<std::string> found;
  for (const auto& node : document.select_nodes(path)) found.push_back(node.node().text().get());
  return found;
}

std::size_t count(const std::string& text, char c) {
  return std::size_t(std::count(text.begin(), text.end(), c));
}
std::string line_path(const pugi::xml_document& document) {
  return document.select_node("//path[contains(@class, 'line')]").node().attribute("d").value();
}

}  // namespace

TEST_CASE("ticks are round numbers within the range") {
  CHECK(linear_ticks(0, 100, 5) == Values{0, 20, 40, 60, 80, 100});
  CHECK(linear_ticks(0, 16'207, 5) == Values{0, 5000, 10'000, 15'000});
  CHECK(linear_ticks(0, 1, 5) == Values{0, 0.2, 0.4, 0.6, 0.8, 1});
  CHECK(linear_ticks(1, 12, 6) == Values{2, 4, 6, 8, 10, 12});
  CHECK(linear_ticks(7, 7, 5) == Values{7});
}

TEST_CASE("random ranges get ticks inside them, neither none nor many") {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 1000; ++i) {
    const double low = std::pow(10, std::uniform_real_distribution(-6.0, 9.0)(random)),
                 high = low * std::uniform_real_distribution(1.5, 1000.0)(random);
    const Values ticks = linear_ticks(low, high, 6);
    CAPTURE(low, high, ticks);
    CHECK((ticks.size() >= 2 && ticks.size() <= 7));
    CHECK((ticks.front() >= low * (1 - 1e-6) && ticks.back() <= high * (1 + 1e-6)));
    const Values around = log_ticks(low, high);
    CAPTURE(around);
    CHECK((around.size() >= 2 && around.size() <= 16));
    CHECK((around.front() <= low * (1 + 1e-6) && around.back() >= high * (1 - 1e-6)));
  }
}

TEST_CASE("logarithmic ticks have multiples by 2 and 5 where there is room") {
  CHECK(log_ticks(1.2, 8) == Values{1, 2, 5, 10});
  CHECK(log_ticks(0.3, 20) == Values{0.1, 1, 10, 100});
  CHECK(log_ticks(3, 40) == Values{2, 5, 10, 20, 50});
  CHECK(log_ticks(1, 1) == Values{1, 2});
}

TEST_CASE("numbers have thousands separators and three figures") {
  CHECK(number_text(0) == "0");
  CHECK(number_text(0.012345) == "0.0123");
  CHECK(number_text(3.2149) == "3.21");
  CHECK(number_text(48.25) == "48.2");
  CHECK(number_text(999.6) == "1,000");
  CHECK(number_text(1'234'567.8) == "1,234,568");
  CHECK(number_text(-1234) == "-1,234");
  CHECK(number_text(-123) == "-123");
  CHECK(number_text(gap) == "–");
  CHECK(exact_text(0.05) == "0.05");
  CHECK(exact_text(1234.5) == "1,234.5");
}

TEST_CASE("escaped text cannot end an element or an attribute, and is UTF-8") {
  CHECK(escaped("<a href=\"x\" title='y'>&") ==
        "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;");
  CHECK(escaped("größer €😀\n\t") == "größer €😀\n\t");
  CHECK(escaped(std::string_view("\0\x1b\x7f", 3)) == "���");
  CHECK(escaped("\xff\xc0\x80 \xe2\x82 \xed\xa0\x80") == "��� �� ���");
}

TEST_CASE("titles and names are escaped in a chart") {
  Chart chart = rate_chart({1, 2}, {{"<b>\"a\"", {1, 2}}, {"c & d", {2, 3}}});
  chart.title = "<script>";
  chart.limit = {2, "p99<10ms"};
  const auto document = parsed(chart);
  CHECK(texts(document, "//strong") == std::vector<std::string>{"<script>"});
  CHECK(texts(document, "//li") == std::vector<std::string>{"<b>\"a\"", "c & d"});
  CHECK(texts(document, "//text[@class='limit-name']") == std::vector<std::string>{"p99<10ms"});
}

TEST_CASE("a chart tells what it shows to those who cannot see it") {
  const auto document = parsed(rate_chart({1, 2, 3}, {{"achieved", {1500, 2500, gap}}}));
  const auto svg = document.select_node("//svg").node();
  CHECK(svg.attribute("role").value() == std::string("img"));
  CHECK(svg.attribute("aria-label").value() ==
        std::string("Rate: achieved from 1,500 to 2,500 requests/s"));
  CHECK(texts(document, "//rect/title") ==
        std::vector<std::string>{"1 s\nachieved  1,500 requests/s",
                                 "2 s\nachieved  2,500 requests/s", "3 s"});
}

TEST_CASE("a line breaks at a gap, and a point alone between gaps is a dot") {
  const auto document = parsed(rate_chart({1, 2, 3, 4, 5, 6}, {{"a", {1, 2, gap, 3, gap, 4}}}));
  CHECK(count(line_path(document), 'M') == 3);
  CHECK(count(line_path(document), 'L') == 1);
  const std::string dots =
      document.select_node("//path[contains(@class, 'points')]").node().attribute("d").value();
  CHECK(count(dots, 'M') == 4);
}

TEST_CASE("charts without a value, with one, and with zeros only are whole") {
  CHECK(line_path(parsed(rate_chart({}, {}))) == "");
  CHECK(line_path(parsed(rate_chart({}, {{"a", {}}}))) == "");
  CHECK(line_path(parsed(rate_chart({1, 2}, {{"a", {gap, gap}}}))) == "");
  CHECK(count(line_path(parsed(rate_chart({1}, {{"a", {5}}}))), 'M') == 1);
  CHECK(count(line_path(parsed(rate_chart({1, 2}, {{"a", {0, 0}}}))), 'L') == 1);
}

TEST_CASE("on a logarithmic axis what is not above 0 is a gap") {
  Chart chart = rate_chart({1, 2, 3}, {{"a", {1, 0, 10}}});
  chart.y.scale = Scale::log;
  CHECK(count(line_path(parsed(chart)), 'M') == 2);
  chart.lines[0].values = {0, -1, gap};
  CHECK(line_path(parsed(chart)) == "");
}

TEST_CASE("a long run is drawn with fewer points and keeps its spike") {
  Values positions, values;
  for (int i = 1; i <= 20'000; ++i) {
    positions.push_back(i);
    values.push_back(i == 7001 ? 100 : 1);
  }
  const auto document = parsed(rate_chart(positions, {{"a", values}}));
  CHECK(count(line_path(document), 'L') < 1100);
  CHECK(line_path(document).find(" 26.0") != std::string::npos);  // the upper edge
  std::size_t with_spike = 0;
  const auto readouts = texts(document, "//rect/title");
  for (const std::string& readout : readouts)
    with_spike += readout.ends_with("highest\na  100 requests/s");
  CHECK(with_spike == 1);
  CHECK(readouts.size() <= 240);
}

TEST_CASE("the warm-up is shaded and named") {
  Chart chart = rate_chart({1, 2, 3}, {{"a", {1, 1, 1}}});
  CHECK(!parsed(chart).select_node("//rect[@class='warm-up']"));
  chart.warm_up_end = 1.5;
  CHECK(parsed(chart).select_node("//rect[@class='warm-up']"));
  CHECK(texts(parsed(chart), "//li") == std::vector<std::string>{"a", "warm-up"});
}

TEST_CASE("a percentile chart reads its values from the buckets and ends with them") {
  const Chart chart =
      percentile_chart("Latency", {{"response", {{1000, 90}, {2500, 9}, {8000, 1}}, Color::blue}});
  const Values& values = chart.lines.at(0).values;
  REQUIRE(values.size() == chart.positions.size());
  const auto at_share = [&](double share) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::abs(chart.positions[i] - share) < 1e-9) return values[i];
    return -1.0;
  };
  CHECK(at_share(0.5) == 1);
  CHECK(at_share(0.9) == 1);
  CHECK(at_share(0.99) == 2.5);
  CHECK(std::isnan(at_share(0.999)));  // of a hundred values
  CHECK(texts(parsed(chart), "//text[starts-with(@class, 'x')]") ==
        std::vector<std::string>{"50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"});
}

TEST_CASE("a percentile chart of nothing is empty") {
  CHECK(line_path(parsed(percentile_chart("Latency", {{"response", {}, Color::blue}}))) == "");
  CHECK(line_path(parsed(percentile_chart("Latency", {}))) == "");
}
