#include "protocol/reply.hpp"

#include "catch.hpp"

using namespace exchange;

TEST_CASE("a status that lists not all executions says where the next begin") {
  Status part{
      7, Shares::whole(5), {}, {}, {{Shares::whole(200), Price::whole(127), {123'999'999}}}};
  part.next = 100'001;
  std::string out;
  append_outcome(out, {command_kind<QueryOrder>, {"7"}}, part);
  CHECK(out == R"(<status id="7" next="100001"><open shares="5"/>)"
               R"(<executed shares="200" price="127" time="123"/></status>)");
}
