// The descriptions for tools (docs/http-api.md) agree with the tables of the server.
#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/split.hpp>
#include <map>
#include <set>

#include "base/embedded_file.hpp"
#include "json/json_requests.hpp"
#include "protocol/description.hpp"
#include "unit/web/http_fixture.hpp"
#include "web/http_routes.hpp"

namespace exchange::testing {
namespace {

using Names = std::set<std::string>;

std::string file(const std::string& name) {
  for (const EmbeddedFile& one : description_files())
    if (one.name == name) return std::string(one.content);
  return {};
}
nlohmann::json openapi() { return nlohmann::json::parse(file("openapi.json")); }
nlohmann::json schema(const std::string& name) { return openapi()["components"]["schemas"][name]; }

Names members_of(const nlohmann::json& schema) {
  Names names;
  for (const auto& [name, value] : schema.at("properties").items()) names.insert(name);
  return names;
}

Names without(Names names, const Names& others) {
  for (const std::string& other : others) REQUIRE(names.erase(other) == 1);
  return names;
}

template <class Value>
nlohmann::json words_of() {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& one : words<Value>) list.push_back(one.word);
  return list;
}

// Returns the path as the table of the server writes it.
std::string path_and_rest(const std::string& path) {
  const std::size_t begin = path.find('{'), end = path.find('}');
  return begin == path.npos ? path : path.substr(0, begin) + path.substr(end + 1);
}

}  // namespace

TEST_CASE("the description has the paths and methods of the table, and no other") {
  std::set<std::pair<std::string, std::string>> described, real{{"/", "GET, HEAD"}};
  const nlohmann::json paths = openapi()["paths"];
  for (const auto& [path, item] : paths.items())
    for (const auto& [method, operation] : item.items())
      if (method != "parameters")
        described.emplace(path_and_rest(path),
                          method == "get" ? "GET, HEAD" : boost::to_upper_copy(method));
  for (const HttpRoutes::Path& route : HttpRoutes::paths())
    real.emplace(std::string(route.path) + std::string(route.rest), route.methods);
  CHECK(described == real);
}

TEST_CASE("the description has the parameters that each path takes, and no other") {
  const nlohmann::json api = openapi(), paths = api["paths"];
  const auto add_names = [&](const nlohmann::json& parameters, Names& names) {
    for (const nlohmann::json& one : parameters) {
      const nlohmann::json& parameter =
          one.contains("$ref")
              ? api[nlohmann::json::json_pointer(one["$ref"].get<std::string>().substr(1))]
              : one;
      if (parameter["in"] == "query") names.insert(parameter["name"]);
    }
  };
  std::map<std::pair<std::string, std::string>, Names> described;
  for (const auto& [path, item] : paths.items())
    for (const auto& [method, operation] : item.items()) {
      if (method == "parameters") continue;
      const std::string methods = method == "get" ? "GET, HEAD" : boost::to_upper_copy(method);
      Names& names = described[{path_and_rest(path), methods}];
      add_names(item.value("parameters", nlohmann::json::array()), names);
      add_names(operation.value("parameters", nlohmann::json::array()), names);
    }
  for (const HttpRoutes::Path& route : HttpRoutes::paths()) {
    Names names;
    if (!route.parameters.empty())
      boost::split(names, std::string(route.parameters), [](char c) { return c == ' '; });
    INFO(route.methods << " " << route.path);
    CHECK(described[{std::string(route.path) + std::string(route.rest),
                     std::string(route.methods)}] == names);
  }
}

TEST_CASE("the schemas of requests have the members of the protocol's description") {
  Names order{"account", "side"};
  for_each_attribute<PlaceOrder>(
      [&](auto place) { order.emplace(attributes_of<PlaceOrder>[place].member); });
  CHECK(members_of(schema("LimitOrder")) == order);
  CHECK(members_of(schema("ListedMarketOrder")) == without(order, {"account", "limit"}));
  CHECK(schema("LimitOrder")["properties"]["tif"]["enum"] == words_of<Lifetime>());
  CHECK(schema("MarketOrder")["properties"]["tif"]["enum"] == nlohmann::json{"ioc"});
  CHECK(schema("Replacement")["required"] == nlohmann::json{"side", "shares", "limit"});
  CHECK(schema("NewAccount")["required"] == nlohmann::json{"account", "balance"});
  CHECK(members_of(schema("RevokedKey")) == Names{"account", "revoke"});
  CHECK(!members_of(schema("Instrument")).contains("symbol"));
  const nlohmann::json components = nlohmann::json::parse(file("asyncapi.json"))["components"];
  for_each_kind([&](auto type) {
    using Asked = typename decltype(type)::type;
    const std::string message(request_element<Asked>.message);
    if (message.empty()) return;
    INFO(message);
    const nlohmann::json payload = components["messages"].at(message)["payload"];
    const std::string name =
        payload["$ref"].get<std::string>().substr(sizeof "#/components/schemas");
    CHECK(components["schemas"].at(name)["properties"].contains(message));
  });
  CHECK(members_of(components["schemas"]["SetAccount"]["properties"]["set_account"]).size() ==
        std::size(attributes_of<SetAccount>));
  for (const nlohmann::json& shown :
       {schema("Account"), components["schemas"]["AccountSnapshot"],
        components["schemas"]["Subscribed"], components["schemas"]["Rules"]})
    for_each_member<AccountRules>(
        [&](auto rule) { CHECK(shown["properties"].contains(std::string(rule.name))); });
}

TEST_CASE("each example of a message is read, and its response has members of the schema") {
  const nlohmann::json components = nlohmann::json::parse(file("asyncapi.json"))["components"];
  const Names known = members_of(components["schemas"]["Response"]);
  const AccountId account("1");
  Exchange exchange;
  exchange.apply(CreateAccount{account, Cash::whole(1'000)}, {});
  exchange.apply(PlaceShares{SymbolName("SPY"), account, Shares::whole(100)}, {});
  ProtocolLimits limits;
  limits.keys = true;
  for_each_kind([&](auto type) {
    using Asked = typename decltype(type)::type;
    const std::string message(request_element<Asked>.message);
    if (message.empty()) return;
    for (const nlohmann::json& example : components["messages"].at(message).at("examples")) {
      INFO(example);
      std::vector<Command> commands;
      const JsonRequest request = read_json_request(
          command_kind<Asked>, read_json(example["payload"][message].dump()).value, account, limits,
          nullptr, commands);
      CHECK(request.problem.sentence == "");
      REQUIRE(!commands.empty());
      std::vector<Outcome> outcomes;
      for (const Command& command : commands) outcomes.push_back(exchange.apply(command, {}));
      const nlohmann::json response = request.response(outcomes).json;
      for (const auto& [name, value] : response.items()) CHECK(known.contains(name));
    }
  });
}

TEST_CASE_METHOD(Market, "the descriptions are answered as they are, with the limits of pages") {
  for (const char* const name : {"openapi.json", "asyncapi.json"}) {
    const Exchanged got = get(std::string("/api/") + name);
    CHECK((got.status == 200 && got.content_type == "application/json"));
    CHECK(got.body == file(name));
  }
  const nlohmann::json paths = openapi()["paths"];
  for (const auto& [path, item] : paths.items())
    for (const nlohmann::json& parameter :
         item.value("/get/parameters"_json_pointer, nlohmann::json::array())) {
      if (!parameter.contains("schema") || !parameter["schema"].contains("default")) continue;
      const auto status = [&](std::uint64_t count) {
        std::string target = path;
        for (const auto& [from, to] : {std::pair("{symbol}", "SPY"), std::pair("{id}", "1")})
          if (const auto at = target.find(from); at != std::string::npos)
            target.replace(at, std::string(from).size(), to);
        target += "?" + parameter["name"].get<std::string>() + "=" + std::to_string(count);
        if (path == "/api/trades" || path == "/api/moments") target += "&sym=SPY";
        if (path == "/api/moments") target += "&day=monday";
        return get(target).status;
      };
      const std::uint64_t max = parameter["schema"]["maximum"];
      INFO(path << " " << parameter["name"]);
      const unsigned good = path == "/api/moments" ? 404 : 200;  // no day is closed
      CHECK(
          (status(0) == 400 && status(1) == good && status(max) == good && status(max + 1) == 400));
    }
}

}  // namespace exchange::testing
