// Keys in the text of requests.
#include "client/connection/keys.hpp"

#include "catch.hpp"

using namespace exchange::client;

TEST_CASE("the operator's key is an attribute of <create>, and no key is shown") {
  CHECK(create_tag("") == "<create>");
  CHECK(create_tag(R"(a<b&"c'd)") == R"(<create key="a&lt;b&amp;&quot;c'd">)");
  CHECK(without_keys(create_tag("secret") +
                     R"(<account id="1" key="other" balance="5"/></create>)") ==
        R"(<create key="…"><account id="1" key="…" balance="5"/></create>)");
  CHECK(without_keys("<create/>") == "<create/>");
  CHECK(without_keys(R"(cut off key="sec)") == R"(cut off key="…)");
}
