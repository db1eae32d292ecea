// What the load generator asks for: the same for the same seed, taken by the server's own parser, in the
// mix that was promised.
#include "client/workload.hpp"

#include <map>
#include <set>
#include <variant>

#include "catch.hpp"
#include "protocol/framing.hpp"
#include "protocol/request.hpp"

using namespace exchange;
using namespace exchange::loadgen;
using Kind = loadgen::RequestKind;

namespace {

WorkloadOptions workload(WorkloadKind kind, std::uint64_t seed) {
  return {.kind = kind, .symbols = 7, .seed = seed, .account_prefix = "1234567890123456"};
}

// `count` requests of one client whose server opens every order, with ids from 1.
std::string requests_of(Script script, unsigned count) {
  FrameBuffer buffer;
  std::string all;
  std::uint64_t order = 0;
  for (unsigned i = 0; i < count; ++i) {
    all += script.next(buffer);
    if (script.request().kind == Kind::order) script.opened(++order);
  }
  return all;
}

struct Understood {
  std::string mistake;
  std::vector<Command> commands;
};

// As the server reads one frame.
Understood read(std::string frame_bytes) {
  const ProtocolLimits limits;
  const Frame frame = find_frame(frame_bytes, limits);
  REQUIRE(frame.state == Frame::State::complete);
  REQUIRE(frame.skip + frame.header + frame.bytes == frame_bytes.size());
  XmlDocument document;
  std::vector<Leaf> leaves;
  Understood understood;
  understood.mistake = read_request(frame_bytes.data() + frame.header, frame.bytes, limits, document, leaves, understood.commands).mistake;
  for (const Leaf& leaf : leaves) understood.mistake += leaf.mistake;
  return understood;
}

}  // namespace

TEST_CASE("the same seed gives the same requests, another seed or client gives others") {
  for (const WorkloadKind kind : {WorkloadKind::create, WorkloadKind::transactions, WorkloadKind::mix}) {
    const WorkloadOptions one = workload(kind, 1), again = workload(kind, 1), two = workload(kind, 2);
    const std::string requests = requests_of(Script(one, 3), 200);
    CHECK(requests == requests_of(Script(again, 3), 200));
    CHECK(requests != requests_of(Script(two, 3), 200));
    CHECK(requests != requests_of(Script(one, 4), 200));
  }
}

TEST_CASE("ids that the server gives do not shift the sequence of a mix") {
  const WorkloadOptions options = workload(WorkloadKind::mix, test_seed());
  Script one(options, 0), other(options, 0);
  FrameBuffer buffer;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    const std::string_view ignored = one.next(buffer);
    REQUIRE(!ignored.empty());
    other.next(buffer);
    REQUIRE(one.request().kind == other.request().kind);
    if (one.request().kind != Kind::order) continue;
    REQUIRE(one.request().amount == other.request().amount);
    one.opened(i);
    other.opened(1'000'000'007 * i);
  }
}

TEST_CASE("the server understands every request of every workload") {
  for (const WorkloadKind kind : {WorkloadKind::create, WorkloadKind::transactions, WorkloadKind::mix}) {
    const WorkloadOptions options = workload(kind, test_seed());
    Script script(options, 99'999);
    FrameBuffer buffer;
    for (unsigned i = 0; i < 2'000; ++i) {
      const Understood understood = read(std::string(script.next(buffer)));
      REQUIRE(understood.mistake == "");
      REQUIRE(understood.commands.size() == (script.request().kind == Kind::account_with_shares ? 2 : 1));
      if (script.request().kind == Kind::order) script.opened(UINT64_MAX - i);  // as long as ids get
    }
  }
}

TEST_CASE("orders are buys and sells of 1 to 100 shares of every symbol, within 1 % of the mid price") {
  const WorkloadOptions options = workload(WorkloadKind::transactions, test_seed());
  Script script(options, 0);
  FrameBuffer buffer;
  std::map<std::string, int> symbols;
  constexpr int count = 20'000;
  int buys = 0;
  for (int i = 0; i < count; ++i) {
    const Understood understood = read(std::string(script.next(buffer)));
    const auto& order = std::get<PlaceOrder>(understood.commands.at(0));
    REQUIRE(order.account.view() == "123456789012345600000");
    REQUIRE(order.shares >= Shares::whole(1));
    REQUIRE(order.shares <= Shares::whole(100));
    REQUIRE(order.limit >= Price::whole(99));
    REQUIRE(order.limit <= Price::whole(101));
    REQUIRE(order.limit.units() % 1'000'000 == 0);
    ++symbols[std::string(order.symbol.view())];
    buys += order.side == Side::buy;
  }
  CHECK(std::abs(buys - count / 2) < count / 20);
  CHECK(symbols.size() == options.symbols);
  for (const auto& [symbol, orders] : symbols) CHECK(orders > count / 14);
}

TEST_CASE("a mix has 70 % orders, 20 % queries and 10 % cancels of the client's own orders") {
  const WorkloadOptions options = workload(WorkloadKind::mix, test_seed());
  Script script(options, 0);
  FrameBuffer buffer;
  std::map<Kind, int> kinds;
  std::set<std::uint64_t> opened, canceled;
  constexpr int count = 20'000;
  for (std::uint64_t i = 1; i <= count; ++i) {
    script.next(buffer);
    const auto request = script.request();
    ++kinds[request.kind];
    if (request.kind == Kind::order) {
      script.opened(i);
      opened.insert(i);
    } else {
      REQUIRE(opened.contains(request.id));
      REQUIRE(!canceled.contains(request.id));
      if (request.kind == Kind::cancel) canceled.insert(request.id);
    }
  }
  // Draws that hit an order canceled before give an order.
  CHECK(std::abs(kinds[Kind::order] - count * 72 / 100) < count * 3 / 100);
  CHECK(std::abs(kinds[Kind::query] - count * 185 / 1000) < count * 2 / 100);
  CHECK(std::abs(kinds[Kind::cancel] - count * 9 / 100) < count * 2 / 100);
}

TEST_CASE("set-up creates every account with shares of every symbol, in requests that the server takes") {
  const WorkloadOptions options = workload(WorkloadKind::transactions, 1);
  constexpr unsigned clients = 1'234;
  std::set<std::string> accounts, positions;
  for (const SetupRequest& request : setup_requests(options, clients)) {
    const Understood understood = read(request.frame);
    REQUIRE(understood.mistake == "");
    REQUIRE(understood.commands.size() == request.leaves);
    for (const Command& command : understood.commands) {
      if (const auto* account = std::get_if<CreateAccount>(&command)) REQUIRE(accounts.insert(std::string(account->account.view())).second);
      if (const auto* shares = std::get_if<PlaceShares>(&command)) {
        REQUIRE(accounts.contains(std::string(shares->account.view())));
        positions.insert(std::string(shares->symbol.view()) + " " + std::string(shares->account.view()));
      }
    }
  }
  CHECK(accounts.size() == clients);
  CHECK(positions.size() == clients * options.symbols);
  CHECK(setup_requests(workload(WorkloadKind::create, 1), clients).empty());
}
