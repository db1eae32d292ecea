// The seconds of a run as CSV.
#include "client/loadgen/report/csv.hpp"

#include "catch.hpp"

using namespace exchange::loadgen;

TEST_CASE("the header of the CSV names the figures of a second") {
  CHECK(
      csv_header() ==
      "second,warmup,planned_per_s,requests_per_s,response_mean_ms,response_p50_ms,response_p99_ms,response_max_ms,service_p50_ms,service_p99_ms,"
      "errors,rejected,in_flight,client_cpu_share,server_cpu_share,stolen_cpu_share\r\n");
}

TEST_CASE("a second is a row, with empty fields for null and for what is missing") {
  const Json second{{"second", 3},
                    {"warmup", false},
                    {"planned_per_s", nullptr},
                    {"requests_per_s", 4990.25},
                    {"response_p50_ms", 0.1},
                    {"errors", 2},
                    {"in_flight", 200},
                    {"server_cpu_share", 0.9}};
  CHECK(csv_row(second) == "3,false,,4990.25,,0.1,,,,,2,,200,,0.9,\r\n");
}

TEST_CASE("a field with a comma, a quote or the end of a line is quoted") {
  CHECK(csv_row({{"second", "a,b"},
                 {"warmup", "say \"x\""},
                 {"errors", "1\r\n2"},
                 {"rejected", "plain"}}) ==
        "\"a,b\",\"say \"\"x\"\"\",,,,,,,,,\"1\r\n2\",plain,,,,\r\n");
}

TEST_CASE("of nothing there is a row of empty fields") {
  CHECK(csv_row(Json()) == ",,,,,,,,,,,,,,,\r\n");
}
