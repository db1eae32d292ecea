// The requests of the load generator: the same for the same seed, accepted by the server's own
// parser, in the promised mix.
#include "client/loadgen/workload.hpp"

#include <cmath>
#include <map>
#include <set>
#include <variant>

#include "catch.hpp"
#include "client/connection/framing.hpp"
#include "client/loadgen/audit/order_ids.hpp"
#include "engine/exchange.hpp"
#include "protocol/framing.hpp"
#include "protocol/request.hpp"

using namespace exchange;
using namespace exchange::loadgen;

namespace {

using Kind = loadgen::Action::Kind;
constexpr WorkloadKind every_kind[] = {WorkloadKind::create, WorkloadKind::transactions,
                                       WorkloadKind::mix, WorkloadKind::reads};

WorkloadOptions options_of(WorkloadKind kind, std::uint64_t seed) {
  return {.kind = kind,
          .mix = mix_of(kind),
          .symbols = 7,
          .seed = seed,
          .account_prefix = "1234567890123456"};
}
Workload workload(WorkloadKind kind, std::uint64_t seed) {
  return Workload(options_of(kind, seed), 5);
}

// Returns the next frame; the server opens every order, with ids from `order` + 1.
std::string next_frame(Script& script, std::uint64_t& order) {
  std::string frame;
  script.next(frame);
  const loadgen::ScriptedRequest request = script.request();
  for (const loadgen::Action& element : request.actions)
    if (element.kind == Kind::order) script.opened(++order, request.account, element);
  return frame;
}

std::string requests_of(const Workload& workload, unsigned client, unsigned count) {
  Script script(workload, client);
  std::string all;
  std::uint64_t order = 0;
  for (unsigned i = 0; i < count; ++i) all += next_frame(script, order);
  return all;
}

struct Understood {
  std::string error;
  std::vector<Command> commands;
};

// Reads one frame as the server does.
Understood read(std::string frame_bytes) {
  const ProtocolLimits limits;
  const Frame frame = find_frame(frame_bytes, limits);
  REQUIRE(frame.state == Frame::State::complete);
  REQUIRE(frame.skip + frame.header + frame.bytes == frame_bytes.size());
  XmlDocument document;
  std::vector<exchange::RequestElement> elements;
  Understood understood;
  understood.error = read_request(frame_bytes.data() + frame.header, frame.bytes, limits, document,
                                  elements, understood.commands)
                         .error;
  for (const exchange::RequestElement& element : elements) understood.error += element.error;
  return understood;
}

std::map<Kind, int> kinds_of(const WorkloadOptions& options, int count) {
  const Workload shared(options, 1);
  Script script(shared, 0);
  std::map<Kind, int> kinds;
  std::uint64_t order = 0;
  for (int i = 0; i < count; ++i) {
    next_frame(script, order);
    for (const loadgen::Action& element : script.request().actions) ++kinds[element.kind];
  }
  return kinds;
}

// Returns the share of the ordered shares that trade, if each of `clients` clients sends the same
// number of orders in turns.
double matched_share(const WorkloadOptions& options, unsigned clients, unsigned orders) {
  const Workload shared(options, clients);
  Exchange exchange;
  for (const SetupRequest& request : setup_requests(shared))
    for (const Command& command : read(client::framed(request.document)).commands)
      exchange.apply(command, {1});
  std::vector<Script> scripts;
  for (unsigned client = 0; client < clients; ++client) scripts.emplace_back(shared, client);
  double ordered = 0, open = 0;
  std::vector<std::pair<AccountId, OrderId>> placed;
  for (unsigned i = 0; i < orders * clients; ++i) {
    std::uint64_t ignored = 0;
    const Understood understood = read(next_frame(scripts[i % clients], ignored));
    const auto& order = std::get<PlaceOrder>(understood.commands.at(0));
    const Outcome outcome = exchange.apply(order, {1});
    placed.emplace_back(order.account, std::get<Opened>(outcome).order);
    ordered += double(order.shares.units());
  }
  for (const auto& [account, order] : placed)
    open += double(std::get<Status>(exchange.apply(QueryOrder{account, order}, {1})).open.units());
  return 1 - open / ordered;
}

}  // namespace

TEST_CASE("the same seed gives the same requests, another seed or client gives others") {
  for (const WorkloadKind kind : every_kind) {
    const Workload one = workload(kind, 1), again = workload(kind, 1), two = workload(kind, 2);
    const std::string requests = requests_of(one, 3, 200);
    CHECK(requests == requests_of(again, 3, 200));
    CHECK(requests != requests_of(two, 3, 200));
    CHECK(requests != requests_of(one, 4, 200));
  }
}

TEST_CASE("ids that the server gives do not shift the sequence of a mix") {
  WorkloadOptions options = options_of(WorkloadKind::mix, test_seed());
  options.mix.replace = 20;
  options.mix.cancel_all = 2;
  const Workload shared(options, 5);
  Script one(shared, 0), other(shared, 0);
  std::string ignored;
  std::uint64_t order = 0;
  for (int i = 0; i < 500; ++i) {
    one.next(ignored);
    other.next(ignored);
    const std::span<const loadgen::Action> mine = one.request().actions,
                                           its = other.request().actions;
    REQUIRE(mine.size() == its.size());
    for (std::size_t element = 0; element < mine.size(); ++element) {
      REQUIRE(mine[element].kind == its[element].kind);
      REQUIRE(mine[element].amount == its[element].amount);
      REQUIRE(mine[element].limit_cents == its[element].limit_cents);
      if (mine[element].kind != Kind::order) continue;
      one.opened(++order, 0, mine[element]);
      other.opened(1'000'000'007 * order, 0, its[element]);
    }
  }
}

TEST_CASE(
    "the server understands every request of every workload, with as many orders as it may have") {
  for (const WorkloadKind kind : every_kind)
    for (const unsigned orders : {1u, 3u, orders_per_request_max}) {
      WorkloadOptions options = options_of(kind, test_seed());
      options.orders_per_request = orders;
      if (kind == WorkloadKind::mix) options.mix.replace = options.mix.cancel_all = 20;
      options.accounts = accounts_max;
      options.symbol_prefix = std::string(28, 'Z');
      options.symbols = symbols_max;
      const Workload shared(options, clients_max);
      Script script(shared, clients_max - 1);
      for (unsigned i = 0; i < 2'000 / orders + 5; ++i) {
        std::uint64_t id = text_ids_begin - orders_per_request_max - 1;  // as long as ids can be
        const Understood understood = read(next_frame(script, id));
        REQUIRE(understood.error == "");
        REQUIRE(understood.commands.size() == script.request().actions.size());
      }
    }
}

TEST_CASE(
    "orders are buys and sells of 1 to 100 shares of every symbol, within 1 % of the mid price") {
  const WorkloadOptions options = options_of(WorkloadKind::transactions, test_seed());
  const Workload shared(options, 1);
  Script script(shared, 0);
  std::map<std::string, int> symbols;
  constexpr int count = 20'000;
  int buys = 0;
  for (int i = 0; i < count; ++i) {
    std::uint64_t ignored = 0;
    const Understood understood = read(next_frame(script, ignored));
    const auto& order = std::get<PlaceOrder>(understood.commands.at(0));
    REQUIRE(order.account.view() == "12345678901234560");
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

TEST_CASE("a mix has the shares that its weights say") {
  constexpr int count = 20'000;
  const auto near = [](int got, double wanted) {
    return std::abs(got - wanted * count) < 0.02 * count;
  };
  WorkloadOptions options = options_of(WorkloadKind::mix, test_seed());
  std::map<Kind, int> kinds = kinds_of(options, count);
  CHECK(near(kinds[Kind::order], 0.7));
  CHECK(near(kinds[Kind::query], 0.2));
  CHECK(near(kinds[Kind::cancel], 0.1));

  kinds = kinds_of(options_of(WorkloadKind::reads, test_seed()), count);
  CHECK(near(kinds[Kind::order], 0.25));
  CHECK(near(kinds[Kind::query], 0.75));

  options.mix = {.create = 1, .order = 1, .cancel = 2};
  kinds = kinds_of(options, count);
  CHECK(near(kinds[Kind::account], 0.25));
  // Cancels are twice as frequent as orders to cancel: half of them find no order and place one.
  CHECK(near(kinds[Kind::order] - kinds[Kind::cancel], 0));
}

TEST_CASE("orders have the terms that the weights say, and prices that fit them") {
  constexpr int count = 20'000;
  WorkloadOptions options = options_of(WorkloadKind::mix, test_seed());
  options.mix = {
      .order = 3, .query = 1, .cancel = 1, .ioc = 1, .fok = 1, .post = 1, .market = 1, .stp = 2};
  const Workload shared(options, 1);
  Script script(shared, 0);
  std::map<Terms, int> terms;
  std::set<std::int32_t> cents;
  std::uint64_t order = 0;
  for (int i = 0; i < count; ++i) {
    const std::string frame = next_frame(script, order);
    const loadgen::Action& action = script.request().actions[0];
    if (action.kind != Kind::order) continue;
    ++terms[action.terms];
    const bool buy = action.amount > 0;
    if (action.terms == Terms::market) {
      REQUIRE(action.limit_cents == 0);
      REQUIRE_THAT(frame, contains_text("\" type=\"market\"/>") && !contains_text("limit"));
    } else if (never_rests(action.terms)) {
      REQUIRE(action.limit_cents == (buy ? 101'00 : 99'00));
    } else {
      cents.insert(action.limit_cents);
    }
    if (action.terms == Terms::market || action.terms == Terms::cancel_resting) continue;
    const Understood understood = read(frame);
    REQUIRE(understood.error == "");
    const auto& placed = std::get<PlaceOrder>(understood.commands.at(0));
    REQUIRE((placed.lifetime == Lifetime::immediate_or_cancel) == (action.terms == Terms::ioc));
    REQUIRE((placed.lifetime == Lifetime::fill_or_kill) == (action.terms == Terms::fok));
    REQUIRE(placed.post_only == (action.terms == Terms::post));
  }
  CHECK(cents.size() > 100);
  for (const Terms one : {Terms::ioc, Terms::fok, Terms::post, Terms::market, Terms::cancel_resting,
                          Terms::cancel_taking})
    CHECK(std::abs(terms[one] - count / 11) < count / 50);
  CHECK(std::abs(terms[Terms::cancel_resting] - terms[Terms::cancel_taking]) <= 1);
}

TEST_CASE("a replace follows an order and names an older one that may rest, in four ways") {
  constexpr int count = 20'000;
  WorkloadOptions options = options_of(WorkloadKind::mix, test_seed());
  options.mix = {.order = 2, .cancel = 1, .ioc = 1, .replace = 4};
  options.accounts = 12;
  const Workload shared(options, 5);
  Script script(shared, 1);
  struct Placed {
    loadgen::Action action;
    std::uint32_t account;
  };
  std::map<std::uint64_t, Placed> orders;  // as replaced last
  std::map<std::string, int> ways;
  std::uint64_t order = 0;
  int replaces = 0;
  for (int i = 0; i < count; ++i) {
    const Understood understood = read(next_frame(script, order));
    REQUIRE(understood.error == "");
    const loadgen::ScriptedRequest request = script.request();
    if (request.actions.size() == 2) {
      ++replaces;
      REQUIRE(request.actions[0].kind == Kind::order);
      REQUIRE(request.actions[0].terms == Terms::none);
      const loadgen::Action& replace = request.actions[1];
      REQUIRE(replace.kind == Kind::replace);
      const auto& asked = std::get<ReplaceOrder>(understood.commands.at(1));
      REQUIRE(asked.order == replace.id);
      REQUIRE((asked.side == Side::buy) == (replace.amount > 0));
      REQUIRE(asked.shares == Shares::whole(std::abs(replace.amount)));
      REQUIRE(asked.limit == Price::from_units(replace.limit_cents * 1'000'000ll));
      Placed& placed = orders.at(replace.id);
      REQUIRE(placed.account == request.account);
      const bool buy = replace.amount > 0;
      REQUIRE(!never_rests(placed.action.terms));
      REQUIRE((buy ? placed.action.limit_cents < 100'00 : placed.action.limit_cents > 100'00));
      REQUIRE(buy == (placed.action.amount > 0));
      REQUIRE(replace.amount != 0);
      if (replace.limit_cents == placed.action.limit_cents)
        ++ways[std::abs(replace.amount) <= std::abs(placed.action.amount) ? "keeps" : "grows"];
      else
        ++ways[(buy ? replace.limit_cents > 100'00 : replace.limit_cents < 100'00) ? "takes"
                                                                                   : "moves"];
      placed.action.amount = replace.amount;
      placed.action.limit_cents = replace.limit_cents;
    }
    if (request.actions[0].kind == Kind::order)
      orders[order] = {request.actions[0], request.account};
  }
  CHECK(std::abs(replaces - count / 2) < count / 40);
  for (const char* way : {"keeps", "grows", "moves", "takes"}) CHECK(ways[way] > replaces / 6);
}

TEST_CASE(
    "requests name orders of the account that asks, and none that was canceled, alone or with all others") {
  WorkloadOptions options = options_of(WorkloadKind::mix, test_seed());
  options.mix = {.order = 10, .query = 5, .cancel = 2, .replace = 4, .cancel_all = 1};
  options.accounts = 12;
  options.orders_per_request = 3;
  const Workload shared(options, 5);
  Script script(shared, 1);
  struct Placed {
    std::uint16_t symbol;
    std::uint32_t account;
    bool canceled = false;
  };
  std::map<std::uint64_t, Placed> orders;
  std::uint64_t order = 0;
  std::set<std::uint32_t> accounts;
  int cancels = 0, named = 0;
  std::string ignored;
  for (int i = 0; i < 5'000; ++i) {
    script.next(ignored);
    const loadgen::ScriptedRequest request = script.request();
    accounts.insert(request.account);
    int in_request = 0;
    for (const loadgen::Action& element : request.actions) {
      if (element.kind == Kind::cancel_all) {
        REQUIRE(++in_request == 1);
        REQUIRE((&element + 1)->kind == Kind::order);
        REQUIRE((element.symbol == 0) == (cancels++ % 2 == 0));
        for (auto& [id, placed] : orders)
          if (placed.account == request.account &&
              (element.symbol == 0 || placed.symbol == element.symbol))
            placed.canceled = true;
      } else if (element.kind != Kind::order) {
        ++named;
        Placed& placed = orders.at(element.id);
        REQUIRE(placed.account == request.account);
        REQUIRE(!placed.canceled);
        placed.canceled = element.kind == Kind::cancel;
      }
    }
    for (const loadgen::Action& element : request.actions) {
      if (element.kind != Kind::order) continue;
      script.opened(++order, request.account, element);
      orders[order] = {element.symbol, request.account};
    }
  }
  CHECK(cancels > 300);
  CHECK(named > 4'000);
  CHECK(accounts == std::set<std::uint32_t>{1, 6, 11});  // those that leave 1 when divided by 5
}

TEST_CASE(
    "accounts are dealt out to the clients: each to one of them, or shared where they are fewer") {
  for (const unsigned accounts : {3u, 5u, 7u, 10u, 23u}) {
    WorkloadOptions options = options_of(WorkloadKind::transactions, test_seed());
    options.accounts = accounts;
    const Workload shared(options, 5);
    std::map<std::uint32_t, std::set<unsigned>> users;
    for (unsigned client = 0; client < 5; ++client) {
      Script script(shared, client);
      std::string ignored;
      for (int i = 0; i < 400; ++i) {
        script.next(ignored);
        users[script.request().account].insert(client);
      }
    }
    CHECK(users.size() == accounts);
    CHECK(users.rbegin()->first == accounts - 1);
    if (accounts >= 5)
      for (const auto& [account, clients] : users) CHECK(clients.size() == 1);
  }
}

TEST_CASE("the match ratio is about the share of the shares ordered that trade") {
  for (const double ratio : {0.0, 0.25, 0.5, 0.8, 1.0}) {
    WorkloadOptions options = options_of(WorkloadKind::transactions, test_seed());
    options.match_ratio = ratio;
    const double matched = matched_share(options, 10, 600);
    CAPTURE(ratio, matched);
    // if all should match, the rest is a random walk
    CHECK(std::abs(matched - ratio) < (ratio == 1 ? 0.12 : 0.07));
  }
}

TEST_CASE(
    "set-up creates every account with shares of every symbol, in requests that the server takes") {
  WorkloadOptions options = options_of(WorkloadKind::transactions, 1);
  options.accounts = 1'234;
  const Workload shared(options, 10);
  std::set<std::string> accounts, positions;
  for (const SetupRequest& request : setup_requests(shared)) {
    const Understood understood = read(client::framed(request.document));
    REQUIRE(understood.error == "");
    REQUIRE(understood.commands.size() == request.elements);
    for (const Command& command : understood.commands) {
      if (const auto* account = std::get_if<CreateAccount>(&command))
        REQUIRE(accounts.insert(std::string(account->account.view())).second);
      if (const auto* shares = std::get_if<PlaceShares>(&command)) {
        REQUIRE(accounts.contains(std::string(shares->account.view())));
        positions.insert(std::string(shares->symbol.view()) + " " +
                         std::string(shares->account.view()));
      }
    }
  }
  CHECK(accounts.size() == options.accounts);
  CHECK(accounts.contains(shared.account_id(1'233)));
  CHECK(positions.size() == options.accounts * options.symbols);
  const std::vector<SetupRequest> without_trades =
      setup_requests(workload(WorkloadKind::create, 1));
  CHECK(without_trades.size() == 1);
  CHECK(without_trades.at(0).elements == 1);
}

TEST_CASE("ids of a small run stay below 2^31: other servers may keep them in 32 bits") {
  WorkloadOptions options = options_of(WorkloadKind::create, 1);
  options.account_prefix = "999";
  const Workload shared(options, 20);
  char id[64];
  const std::string last(id, write_new_account(id, shared, 19, 9'999));
  CHECK(last == "999199999");
  CHECK(shared.account_id(7) == "99907");
}

TEST_CASE("with keys each account is made with its own, and each request gives it") {
  ProtocolLimits limits;
  limits.keys = true;
  for (const WorkloadKind kind : every_kind) {
    WorkloadOptions options = options_of(kind, 1);
    options.keys = true;
    options.operator_key = std::string(42, '"');    // the longest as written
    options.account_prefix = std::string(24, '9');  // the longest
    const Workload shared(options, 150);
    std::vector<std::string> documents;
    for (const SetupRequest& request : setup_requests(shared))
      documents.push_back(request.document);
    Script script(shared, 3);
    std::uint64_t order = 0;
    for (int i = 0; i < 200; ++i) {
      const std::string frame = next_frame(script, order);
      documents.push_back(frame.substr(frame.find('\n') + 1));
    }
    for (std::string document : documents) {
      const std::size_t size = document.size();
      document.push_back('\0');
      XmlDocument parsed;
      std::vector<exchange::RequestElement> elements;
      std::vector<Command> commands;
      std::vector<Credential> credentials;
      REQUIRE(read_request(document.data(), size, limits, parsed, elements, commands, &credentials)
                  .error == "");
      for (const exchange::RequestElement& element : elements) REQUIRE(element.error == "");
      REQUIRE(!credentials.empty());
      REQUIRE(credentials.size() <= 101);
      for (const Credential& credential : credentials)
        REQUIRE(credential.key == (credential.use == Credential::Use::operate
                                       ? options.operator_key
                                       : "loadgen-" + std::string(credential.account.view())));
    }
  }
}
