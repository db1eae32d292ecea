// The state of an order in a few bytes.
#include "client/loadgen/audit/order_digest.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "client/connection/results.hpp"

using namespace exchange;
using namespace exchange::run_audit;

namespace {

constexpr std::int64_t seconds = 1'700'000'000;

Status read(const std::string& content) {
  const std::string document = "<results><status id=\"12\">" + content + "</status></results>\n";
  return std::get<Status>(client::read_outcomes(document, 1).front());
}

}  // namespace

TEST_CASE("a digest differs for other executions, and not for another order of them") {
  const std::string first = "<executed shares=\"2\" price=\"1\" time=\"1700000000\"/>",
                    second = "<executed shares=\"1\" price=\"2.5\" time=\"1700000000\"/>";
  const auto digest = [](const std::string& content) { return digest_of(read(content)); };
  const auto both = digest("<canceled shares=\"4\" time=\"1700000000\"/>" + first + second);
  REQUIRE(both);
  CHECK(both->open == 0);
  CHECK(both->canceled == 4);
  CHECK(both->canceled_time == seconds);
  CHECK(both->executed == 3);
  CHECK(both->executions == 2);
  CHECK(both->fingerprint == digest(first + second)->fingerprint);
  CHECK(both->fingerprint == digest(second + first)->fingerprint);
  CHECK(digest(first)->fingerprint != digest(second)->fingerprint);
  CHECK(digest("")->fingerprint == 0);

  CHECK(!digest("<open shares=\"0.5\"/>"));
  CHECK(!digest("<executed shares=\"1.5\" price=\"1\" time=\"1\"/>"));
  CHECK(!digest("<open shares=\"3000000000\"/>"));
}
