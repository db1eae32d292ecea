// Requests of the clients, as the server reads them.
#include "protocol/request_writer.hpp"

#include "catch.hpp"
#include "protocol/request.hpp"

using namespace exchange;

namespace {

// Returns what a server whose accounts have keys reads, and the keys that it gives to accounts.
struct Read {
  std::vector<Command> commands;
  std::vector<std::string> keys;
};
Read read(std::string document) {
  const std::size_t size = document.size();
  document.push_back('\0');  // read_request() looks at the byte after the document
  XmlDocument parsed;
  std::vector<RequestElement> elements;
  std::vector<Credential> credentials;
  Read found;
  const Request request = read_request(document.data(), size, ProtocolLimits(), parsed, elements,
                                       found.commands, &credentials);
  CHECK(request.error == "");
  for (const RequestElement& element : elements) CHECK(element.error == "");
  for (const Credential& credential : credentials)
    if (credential.use == Credential::Use::create) found.keys.push_back(credential.key);
  return found;
}

const AccountId one("1");
const SymbolName spy("SPY");

}  // namespace

TEST_CASE("the server reads each command as it was written") {
  const Command creations_[] = {
      CreateSymbol{spy},
      PlaceShares{spy, one, Shares::from_units(150'000'000)},
      SetInstrument{.symbol = spy,
                    .tick = Price::whole(5),
                    .lot = Shares(),
                    .at_band = AtBand::auction,
                    .trading = Trading::halted},
      SetAccount{one},
      SetAccount{.account = one, .role = Role::market_operator},
      SetAccount{.account = one, .name = AccountName("")},
      SetAccount{.account = one, .name = AccountName("Zo\u00eb & <\"Co\"> '")},
      SetAccount{.account = one, .access = Access::frozen, .cancel_orders = true},
      SetAccount{.account = one,
                 .role = Role::trader,
                 .access = Access::active,
                 .orders_max = 7,
                 .orders_per_second_max = 0,
                 .position_max = Shares::from_units(150'000'000)},
      AdjustCash{one, false, Cash::whole(5)},
      AdjustCash{one, true, Cash::from_units(1), OrderReference("a:fine")},
      AdjustCash{one, true, Cash()},
      AdjustShares{one, spy, false, Shares::whole(5), OrderReference("gift")},
      AdjustShares{one, spy, true, Shares::from_units(1)}};
  for (const Command& command : creations_) {
    const std::string document = write_creations(write_element(command), "operator-1");
    INFO(document);
    CHECK(read(document).commands == std::vector{command});
  }
  const Command trades[] = {
      PlaceOrder{one, spy, Side::sell, Shares::whole(3), Price::whole(2), OrderReference("mine")},
      ReplaceOrder{one, Side::buy, 9, Shares::whole(3), Price::whole(2)}, CancelOrder{one, 9},
      CancelAll{one, spy}, QueryOrder{one, 9}};
  for (const Command& command : trades) {
    const std::string document = write_transactions("1", write_element(command), "secret-of-1");
    INFO(document);
    CHECK(read(document).commands == std::vector{command});
  }
}

TEST_CASE("a key is given, changed and revoked") {
  const std::string key = R"(a"b<c&d key=")";
  const std::string elements = write_element(CreateAccount{one, Cash::whole(5)}, key) +
                               write_element(SetKey{one}, "another key") +
                               write_element(SetKey{one});
  const Read found = read(write_creations(elements, ""));
  CHECK(found.commands ==
        std::vector<Command>{CreateAccount{one, Cash::whole(5)}, SetKey{one}, SetKey{one}});
  CHECK(found.keys == std::vector{key, std::string("another key")});
}
