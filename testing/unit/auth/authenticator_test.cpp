// Tests which keys the authenticator accepts, and how many hashes it computes.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <semaphore>

#include "auth/scrypt.hpp"
#include "unit/auth/support.hpp"

using namespace exchange;
using namespace exchange::testing;

TEST_CASE(
    "the right key logs in; each other is refused with the same bytes, and costs one hash, once") {
  Guard guard;
  Talk owner(guard);
  CHECK(owner.ask(account("1", "first secret")) == created_1);
  CHECK(guard.hashes() == 2);  // the operator's key too
  // An account that was created without --auth.
  guard.service.exchange().apply(CreateAccount{AccountId("2"), Cash()},
                                 Timestamp{FixedClock::seconds * 1'000'000});

  const std::pair<std::string, std::string> refused[] = {
      {"1", "wrong secret"}, {"1", "first secre"},  {"1", "first secret+"},
      {"1", "First secret"}, {"3", "first secret"}, {"2", "first secret"}};
  for (const auto& [id, key] : refused)
    for (const std::uint64_t hashes : {1, 0}) {  // the second time the key is known
      INFO(id << " " << key);
      Talk talk(guard);
      const std::uint64_t before = guard.hashes();
      CHECK(talk.ask(query(id, key)) == unknown);
      CHECK(guard.hashes() == before + hashes);
    }
  const std::pair<std::string, std::string> without_key[] = {
      {"1", ""}, {"1", "short"}, {"1", std::string(200, 'x')}, {"2", ""}, {"3", ""}};
  for (const auto& [id, key] : without_key) {
    Talk talk(guard);
    const std::uint64_t before = guard.hashes();
    CHECK(talk.ask(query(id, key)) == unknown);
    CHECK(guard.hashes() == before);
  }
  CHECK(guard.metrics.logins[LoginResult::refused] ==
        2 * std::size(refused) + std::size(without_key));
  Talk talk(guard);
  CHECK(talk.ask(query("1", "first secret")) == in);
  CHECK(guard.metrics.logins[LoginResult::accepted] == 1);
}

TEST_CASE(
    "a refused order changes nothing, and is refused for each child as of an unknown account") {
  Guard guard;
  Talk talk(guard);
  talk.ask(account("1", "first secret") + creation(R"(<symbol sym="S"/>)"));
  const auto orders = [](const std::string& head) {
    return framed(
        "<transactions " + head +
        "><order sym='S' amount='1' limit='2'/><cancel id='1'/><query id='1'/><order sym='S'/>"
        "<cancel all='true'/><replace id='1' amount='1' limit='2'/></transactions>");
  };
  const std::string of_wrong_key = talk.ask(orders(R"(id="1" key="another secret")"));
  CHECK(of_wrong_key == talk.ask(orders(R"(id="77" key="another secret")")));
  CHECK(of_wrong_key ==
        results(R"(<error sym="S" amount="1" limit="2">unknown account</error>)"
                R"(<error id="1">unknown account</error><error id="1">unknown account</error>)"
                R"(<error sym="S">missing attribute 'amount'</error><error>unknown account</error>)"
                R"(<error id="1" amount="1" limit="2">unknown account</error>)"));
  CHECK(guard.service.exchange().totals().orders == 0);
  CHECK(guard.service.exchange().balance(AccountId("1")) == Cash::whole(1000));
}

TEST_CASE("an order is replaced with the key of its account, and with no other") {
  Guard guard;
  Talk talk(guard);
  talk.ask(account("1", "first secret") + account("2", "second secret"));
  const auto ask = [](const std::string& key, const std::string& child) {
    return framed("<transactions id='1' key='" + key + "'>" + child + "</transactions>");
  };
  const auto book = [&] { return guard.service.exchange().depth(SymbolName("S"), Side::buy); };
  talk.ask(ask("first secret", "<order sym='S' amount='1' limit='2' ref='r'/>"));
  const auto before = book();
  REQUIRE(before.size() == 1);
  for (const std::string key : {"second secret", "wrong secret", ""}) {
    CHECK(talk.ask(ask(key, "<replace id='1' amount='3' limit='4'/>")) ==
          results(R"(<error id="1" amount="3" limit="4">unknown account</error>)"));
    CHECK(talk.ask(ask(key, "<replace ref='r' amount='3' limit='4'/>")) ==
          results(R"(<error ref="r" amount="3" limit="4">unknown account</error>)"));
    CHECK(book() == before);
  }
  CHECK(talk.ask(ask("first secret", "<replace id='1' amount='3' limit='4'/>")) ==
        results(R"(<replaced id="1" amount="3" limit="4"/>)"));
  CHECK(book() == std::vector{Exchange::Depth{Price::whole(4), Shares::whole(3).units(), 1}});
}

TEST_CASE("open queries are open to accounts that have logged in, and to no other") {
  Guard guard;
  Talk talk(guard);
  talk.submission.policy.open_queries = true;
  const std::string opened = results(R"(<opened sym="S" amount="1" limit="2" id="1"/>)");
  CHECK(talk.ask(account("1", "first secret")) == created_1);
  CHECK(talk.ask(account("2", "second secret")) == results(R"(<created id="2"/>)"));
  CHECK(talk.ask(framed("<transactions id='1' key='first secret'><order sym='S' amount='1' "
                        "limit='2'/></transactions>")) == opened);
  const auto ask = [](const std::string& key) {
    return framed("<transactions id='2' key='" + key +
                  "'><query id='1'/><cancel id='1'/></transactions>");
  };
  CHECK(talk.ask(ask("first secret")) ==
        results(R"(<error id="1">unknown account</error><error id="1">unknown account</error>)"));
  CHECK(talk.ask(ask("second secret")) ==
        results(R"(<status id="1"><open shares="1"/></status>)"
                R"(<error id="1">no such order of this account</error>)"));
}

TEST_CASE("a session stays logged in to the accounts it has logged in to, and to no other") {
  Guard guard;
  Talk talk(guard);
  CHECK(talk.ask(account("1", "first secret") + account("2", "second secret")) ==
        created_1 + results(R"(<created id="2"/>)"));
  CHECK(talk.ask(query("1", "")) == unknown);  // creating an account does not log in
  CHECK(talk.ask(query("1", "first secret") + query("1", "") + query("2", "")) ==
        in + in + unknown);
  const std::uint64_t before = guard.hashes();
  // the same key again costs nothing
  CHECK(talk.ask(query("1", "") + query("1", "first secret")) == in + in);
  CHECK(guard.hashes() == before);
  CHECK(talk.ask(query("2", "first secret")) == unknown);
  CHECK(talk.ask(query("2", "second secret") + query("1", "") + query("2", "")) == in + in + in);
  Talk other(guard);
  CHECK(other.ask(query("1", "")) == unknown);
}

TEST_CASE("a wrong key logs the session out of that account alone") {
  Guard guard;
  Talk talk(guard);
  talk.ask(account("1", "first secret") + account("2", "second secret"));
  CHECK(talk.ask(query("1", "first secret") + query("2", "second secret")) == in + in);
  CHECK(talk.ask(query("1", "wrong secret") + query("1", "") + query("2", "")) ==
        unknown + unknown + in);
}

TEST_CASE("a session stays logged in to a bounded number of accounts, the newest") {
  Guard guard;
  Talk talk(guard);
  const std::size_t count = guard.limits.session_logins_max + 1;
  for (std::size_t i = 1; i <= count; ++i) {
    talk.ask(account(std::to_string(i), "the same secret"));
    CHECK(talk.ask(query(std::to_string(i), "the same secret")) == in);
  }
  CHECK(talk.keys.logins.size() == guard.limits.session_logins_max);
  CHECK(talk.ask(query("2", "")) == unknown);  // the operator's login counts too
  CHECK(talk.ask(query("3", "")) == in);
}

TEST_CASE("creating an account again leaves its key") {
  Guard guard;
  Talk talk(guard);
  talk.ask(account("1", "first secret"));
  CHECK(talk.ask(account("1", "other secret")) ==
        results(R"(<error id="1">account already exists</error>)"));
  CHECK(talk.ask(query("1", "other secret")) == unknown);
  CHECK(talk.ask(query("1", "first secret")) == in);
}

TEST_CASE("a key counts once its account is committed, and not before") {
  Guard guard;
  Talk creator(guard), early(guard);
  creator.send(account("1", "first secret"));
  Submission& creation = guard.service.next();  // verified, not committed
  CHECK_FALSE(guard.keys.find(AccountId("1")));
  CHECK(early.ask(query("1", "first secret")) == unknown);
  guard.service.commit(creation);
  creator.submission.wait();
  CHECK(creator.replies() == created_1);
  CHECK(guard.keys.find(AccountId("1")));
  CHECK(early.ask(query("1", "first secret")) == in);
}

TEST_CASE("only the operator's key creates; all others are refused alike, before the core") {
  Guard guard;
  const std::string everything =
      "<account id='1' balance='5' key='first secret'/><symbol sym='S'/><account id='x'/>"
      "<symbol sym='S'><account id='1'>5</account></symbol>";
  Talk(guard).ask(account("7", "seventh secret"));
  const std::uint64_t accepted = guard.metrics.operator_logins[LoginResult::accepted];
  const std::string refused =
      results(R"(<error id="1">creating needs the operator's key</error>)"
              R"(<error sym="S">creating needs the operator's key</error>)"
              R"(<error id="x">missing attribute 'balance'</error>)"
              R"(<error sym="S" id="1">creating needs the operator's key</error>)");
  for (const std::string& wrong : {std::string(), operator_key + "+", std::string("x"),
                                   std::string("seventh secret"), std::string(200, 'x')}) {
    INFO(wrong);
    Talk talk(guard);
    const std::uint64_t before = guard.hashes();
    CHECK(talk.ask(creation(everything, wrong)) == refused);
    // and none for the keys of its accounts
    CHECK(guard.hashes() == before + (is_key(wrong) ? 1 : 0));
    for (const Credential& credential : talk.session.credentials()) CHECK(credential.key.empty());
    CHECK(guard.service.idle());
  }
  CHECK(Talk(guard).ask(framed("<create>" + everything + "</create>")) == refused);
  CHECK(guard.metrics.operator_logins[LoginResult::refused] == 6);
  CHECK(guard.metrics.operator_logins[LoginResult::accepted] == accepted);
  CHECK(guard.service.exchange().accounts() == 1);
  CHECK_FALSE(guard.keys.find(AccountId("1")));

  CHECK(Talk(guard).ask(creation(everything)) ==
        results(R"(<created id="1"/><created sym="S"/>)"
                R"(<error id="x">missing attribute 'balance'</error><created sym="S" id="1"/>)"));
  CHECK(Talk(guard).ask(query("1", "first secret")) == in);
}

TEST_CASE("what came before a refused creation is executed, and what comes after it too") {
  Guard guard;
  Talk talk(guard);
  talk.ask(account("1", "first secret"));
  const auto order = framed(
      "<transactions id='1' key='first secret'><order sym='S' amount='1' limit='2'/>"
      "</transactions>");
  const auto opened = [](const char* id) {
    return results(R"(<opened sym="S" amount="1" limit="2" id=")" + std::string(id) + R"("/>)");
  };
  CHECK(talk.ask(order + creation("<symbol sym='T'/>", "wrong secret") + order) ==
        opened("1") + results(R"(<error sym="T">creating needs the operator's key</error>)") +
            opened("2"));
}

TEST_CASE("a session stays the operator's until a wrong key comes, and never an account's") {
  Guard guard;
  Talk talk(guard);
  const std::string symbol = "<symbol sym='S'/>", created = results(R"(<created sym="S"/>)"),
                    refused =
                        results(R"(<error sym="S">creating needs the operator's key</error>)");
  const std::string without_key = framed("<create>" + symbol + "</create>");
  CHECK(talk.ask(without_key) == refused);
  CHECK(talk.ask(account("1", "first secret")) == created_1);
  const std::uint64_t before = guard.hashes();
  CHECK(talk.ask(without_key) == created);
  CHECK(talk.ask(creation(symbol)) == created);
  CHECK(guard.hashes() == before);
  CHECK(talk.ask(query("1", "")) == unknown);
  CHECK(talk.ask(query("1", operator_key)) == unknown);
  CHECK(talk.ask(creation(symbol, "wrong secret") + without_key) == refused + refused);
  CHECK(Talk(guard).ask(query("1", "first secret") + without_key) == in + refused);
}

TEST_CASE("a key that is changed or revoked logs in no more, on any connection") {
  Guard guard;
  Talk owner(guard), other(guard);
  owner.ask(account("1", "first secret"));
  CHECK(other.ask(query("1", "first secret") + query("1", "")) == in + in);
  CHECK(owner.ask(creation("<set-key id='1' key='second secret'/>")) == created_1);
  CHECK(other.ask(query("1", "")) == unknown);
  CHECK(other.ask(query("1", "first secret")) == unknown);
  CHECK(other.ask(query("1", "second secret") + query("1", "")) == in + in);
  CHECK(owner.ask(creation("<set-key id='1' revoke='true'/>")) == created_1);
  CHECK(other.ask(query("1", "")) == unknown);
  CHECK(other.ask(query("1", "second secret")) == unknown);
  CHECK(owner.ask(creation("<set-key id='1' revoke='true' key='third secret'/>")) ==
        results(R"(<error id="1">both 'key' and 'revoke' are given</error>)"));
  CHECK(owner.ask(creation("<set-key id='1' key='third secret'/>")) == created_1);
  CHECK(other.ask(query("1", "third secret")) == in);
}

TEST_CASE("an account changes its own key, and no other") {
  Guard guard;
  Talk talk(guard);
  talk.ask(account("1", "first secret") + account("2", "other secret"));
  const auto change = [](const std::string& id, const std::string& key, const std::string& child) {
    return framed("<transactions id='" + id + "'" + key_attribute(key) + ">" + child +
                  "</transactions>");
  };
  const std::string to_second = "<set-key key='second secret'/>";
  Talk stranger(guard);
  const std::uint64_t before = guard.hashes();
  CHECK(stranger.ask(change("1", "wrong secret", to_second)) ==
        results("<error>unknown account</error>"));
  CHECK(guard.hashes() == before + 1);
  CHECK(stranger.ask(change("1", "first secret", "<set-key id='2' key='second secret'/>")) ==
        results(R"(<error id="2">the account is that of transactions</error>)"));
  CHECK(stranger.ask(change("1", "first secret", "<set-key account='2' key='second secret'/>")) ==
        results("<error>the account is that of transactions</error>"));
  CHECK(stranger.ask(change("1", "first secret", to_second)) == results("<created/>"));
  CHECK(stranger.ask(query("1", "first secret")) == unknown);
  CHECK(stranger.ask(query("1", "second secret")) == in);
  CHECK(stranger.ask(query("2", "other secret")) == in);
}

TEST_CASE("an account that is an operator creates with its own key, until it is none") {
  Guard guard;
  Talk owner(guard), talk(guard);
  owner.ask(account("1", "first secret") + account("2", "other secret"));
  const auto create = [](const std::string& id, const std::string& key) {
    return framed("<create id='" + id + "'" + key_attribute(key) + "><symbol sym='S'/></create>");
  };
  const std::string created = results(R"(<created sym="S"/>)"),
                    refused =
                        results(R"(<error sym="S">creating needs the operator's key</error>)");
  CHECK(talk.ask(query("1", "first secret")) == in);
  const std::uint64_t before = guard.hashes();
  CHECK(talk.ask(create("1", "")) == refused);
  CHECK(talk.ask(create("1", "first secret")) == refused);
  CHECK(guard.hashes() == before);
  CHECK(owner.ask(creation("<set-account id='1' role='operator'/>")) == created_1);
  CHECK(talk.ask(create("1", "first secret") + create("1", "")) == created + created);
  CHECK(talk.ask(query("1", "")) == in);
  CHECK(talk.ask(create("2", "other secret")) == refused);
  CHECK(talk.ask(create("1", "wrong secret")) == refused);
  CHECK(talk.ask(create("1", "first secret")) == created);
  CHECK(owner.ask(creation("<set-account id='1' role='trader'/>")) == created_1);
  CHECK(talk.ask(create("1", "") + create("1", "first secret")) == refused + refused);
  CHECK(talk.ask(query("1", "first secret")) == in);
}

TEST_CASE("a pipeline may create an account and trade with it") {
  Guard guard;
  Talk talk(guard);
  CHECK(talk.ask(account("1", "first secret") + query("1", "first secret") + query("1", "")) ==
        created_1 + in + in);
}

TEST_CASE("nothing of a key is left in what the core or the client gets") {
  Guard guard;
  Talk talk(guard);
  talk.send(account("1", "unmistakable-secret"));
  Submission& creation = guard.service.next();
  for (const Credential& credential : talk.session.credentials()) CHECK(credential.key.empty());
  guard.service.commit(creation);
  talk.submission.wait();
  CHECK(talk.replies().find("unmistakable") == std::string::npos);
  std::string journal;
  guard.store.read(0, [&](const JournalRow& row) { journal += row.payload; });
  CHECK(journal.size() > 60);
  CHECK(journal.find("unmistakable") == std::string::npos);
}

TEST_CASE(
    "an authenticator that stops refuses what needs a hash and lets through what needs none") {
  Guard guard;
  Talk in_already(guard), late(guard);
  in_already.ask(account("1", "first secret") + query("1", "first secret"));
  guard.authenticator->stop();
  CHECK(in_already.ask(query("1", "")) == in);
  late.send(query("1", "wrong secret"));
  late.submission.wait();
  CHECK(late.replies() ==
        results(R"(<error id="9">the key could not be checked now; nothing was executed</error>)"));
  CHECK(guard.service.idle());
}

TEST_CASE("a wrong key of a login without commands costs one hash, whatever the account") {
  Guard guard;
  Talk(guard).ask(account("1", "first secret"));
  const auto ask = [&](const char* id, const char* key) {
    Credential login{Credential::Use::login, AccountId(id), key};
    KeyCheck check{PeerAddress()};
    check.begin_batch({&login, 1}, {});
    std::binary_semaphore done(0);
    check.on_done = [&] { done.release(); };
    if (!guard.authenticator->is_checked(check)) {
      guard.authenticator->check(check);
      done.acquire();
    }
    CHECK_FALSE(check.refused);
    return check.is_logged_in(AccountId(id));
  };
  const std::uint64_t before = guard.hashes();
  CHECK(ask("1", "first secret"));
  CHECK_FALSE(ask("1", "wrong secret"));
  CHECK_FALSE(ask("3", "first secret"));
  CHECK(guard.hashes() == before + 3);
  CHECK_FALSE(ask("1", ""));
  CHECK_FALSE(ask("3", ""));
  CHECK_FALSE(ask("", ""));
  CHECK(guard.hashes() == before + 3);
}

TEST_CASE("addresses take turns, and the jobs of one come in the order they came") {
  FairQueue<int> queue;
  const PeerAddress crowd{0, 1}, lone{0, 2};
  for (int i = 0; i < 100; ++i) queue.push(crowd, "1", i);
  queue.push(lone, "1", 1'000);
  CHECK(queue.size() == 101);
  CHECK(queue.pop() == 0);
  CHECK(queue.pop() == 1'000);
  CHECK(queue.pop() == 1);
  queue.push(lone, "1", 1'001);
  queue.push(lone, "1", 1'002);
  CHECK(queue.pop() == 2);
  CHECK(queue.pop() == 1'001);
  CHECK(queue.pop() == 3);
  CHECK(queue.pop() == 1'002);
  for (int i = 4; i < 100; ++i) CHECK(queue.pop() == i);
  CHECK(queue.empty());
}

TEST_CASE("the accounts of one address take turns, and its longest queue gives way first") {
  FairQueue<int> queue;
  const PeerAddress address{0, 1};
  for (int i = 0; i < 9; ++i) queue.push(address, "1", i);
  queue.push(address, "2", 20);
  queue.push(address, "3", 30);
  CHECK(queue.pop_newest_of_longest(address) == 8);
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) order.push_back(queue.pop());
  CHECK(order == std::vector{0, 20, 30, 1, 2});
  CHECK(queue.size() == 5);
  CHECK(queue.contains(address));
  while (!queue.empty()) queue.pop_newest_of_longest(address);
  CHECK_FALSE(queue.contains(address));
}

TEST_CASE("a request batch of many wrong keys is verified one key at a time, in turn with others") {
  Guard guard;
  Talk(guard).ask(account("1", "first secret"));
  Talk flood(guard), good(guard, PeerAddress{0, 9});
  std::string documents;
  for (int i = 0; i < 3'000; ++i)
    documents += query("1", "wrong secret " + std::to_string(1'000 + i));
  flood.send(documents.substr(0, 60'000));
  good.send(query("1", "first secret"));
  CHECK(flood.session.credentials().size() == keys_per_batch_max);
  CHECK(&guard.service.next() == &good.submission);  // the first that gets through
  CHECK(guard.metrics.logins[LoginResult::accepted] == 1);
  guard.authenticator->stop();
  flood.submission.wait();
}

namespace {

// Keeps the one thread that hashes busy, with the check of another address, until it is destroyed.
class Busy {
 public:
  explicit Busy(Guard& guard) {
    check_.begin_batch({&login_, 1}, {});
    check_.on_done = [this] {
      hashing_.release();
      go_on_.acquire();
    };
    guard.authenticator->check(check_);
    hashing_.acquire();
  }
  ~Busy() { go_on_.release(); }

 private:
  std::binary_semaphore hashing_{0}, go_on_{0};
  Credential login_{Credential::Use::login, AccountId("999"), "any secret"};
  KeyCheck check_{PeerAddress{0, 7}};
};

const std::string unchecked =
    results(R"(<error id="9">the key could not be checked now; nothing was executed</error>)");

}  // namespace

TEST_CASE("a bounded number of checks of one address wait for a hash") {
  Guard guard(2);
  for (const char* id : {"1", "2", "3"}) Talk(guard).ask(account(id, "first secret"));
  std::optional<Busy> busy(guard);
  Talk first(guard), second(guard), third(guard), other(guard, PeerAddress{0, 9});
  first.send(query("1", "first secret"));
  second.send(query("1", "first secret"));
  // One more displaces the newest of the account that has the most.
  third.send(query("1", "first secret"));
  second.submission.wait();
  CHECK(second.replies() == unchecked);
  other.send(query("1", "first secret"));
  Talk of_another(guard);
  of_another.send(query("2", "first secret"));
  third.submission.wait();
  CHECK(third.replies() == unchecked);
  // Now no account has more than another.
  Talk of_third(guard);
  of_third.send(query("3", "first secret"));
  busy.reset();
  for (int i = 0; i < 3; ++i) guard.service.commit(guard.service.next());
  std::size_t logged_in = 0;
  for (Talk* talk : {&first, &of_another, &of_third, &other}) {
    talk->submission.wait();
    logged_in += talk->replies() == in;
  }
  CHECK(logged_in == 3);
}

TEST_CASE("a key that was right is right on the next connection without a hash, until it changes") {
  Guard guard;
  Talk owner(guard);
  owner.ask(account("1", "first secret"));
  CHECK(Talk(guard).ask(query("1", "first secret")) == in);
  const std::uint64_t before = guard.hashes();
  for (int i = 0; i < 3; ++i) CHECK(Talk(guard).ask(query("1", "first secret")) == in);
  CHECK(guard.hashes() == before);
  owner.ask(creation("<set-key id='1' key='second secret'/>"));
  CHECK(Talk(guard).ask(query("1", "first secret")) == unknown);
  CHECK(guard.hashes() == before + 2);  // for the new key, and for the old one
  CHECK(Talk(guard).ask(query("1", "second secret")) == in);
}

TEST_CASE("a key that was wrong before its account existed is right afterwards") {
  Guard guard;
  for (int i = 0; i < 2; ++i) CHECK(Talk(guard).ask(query("1", "first secret")) == unknown);
  Talk(guard).ask(account("1", "first secret"));
  CHECK(Talk(guard).ask(query("1", "first secret")) == in);
}

TEST_CASE("while a key of an account waits, no other is looked up: a guess takes a hash's time") {
  Guard guard;
  Talk(guard).ask(account("1", "first secret") + account("2", "other secret"));
  CHECK(Talk(guard).ask(query("1", "first secret") + query("2", "other secret")) == in + in);
  std::optional<Busy> busy(guard);
  Talk guess(guard), owner(guard), other(guard);
  guess.send(query("1", "wrong secret"));
  owner.send(query("1", "first secret"));
  CHECK(guard.service.idle());
  other.send(query("2", "other secret"));  // another account: at once
  CHECK(&guard.service.next() == &other.submission);
  guard.service.commit(other.submission);
  const std::uint64_t before = guard.hashes();
  busy.reset();
  for (int i = 0; i < 2; ++i) guard.service.commit(guard.service.next());
  guess.submission.wait();
  owner.submission.wait();
  CHECK(guess.replies() == unknown);
  CHECK(owner.replies() == in);
  CHECK(guard.hashes() == before + 1);
}

TEST_CASE("what an operator creates is hashed before the logins that wait") {
  Guard guard;
  Talk owner(guard);
  owner.ask(creation("<symbol sym='S'/>"));
  std::optional<Busy> busy(guard);
  std::deque<Talk> crowd;
  for (int i = 0; i < 20; ++i) {
    Talk& talk = crowd.emplace_back(guard);
    talk.send(query(std::to_string(i + 1), "wrong secret"));
  }
  std::string accounts;
  for (int i = 0; i < 10; ++i)
    accounts += "<account id='" + std::to_string(100 + i) + "' balance='1' key='long enough'/>";
  owner.send(creation(accounts));
  busy.reset();
  CHECK(&guard.service.next() == &owner.submission);
  guard.authenticator->stop();
  for (Talk& talk : crowd) talk.submission.wait_for(0);
}

TEST_CASE("a right generated key takes no turn, when it is created and when it logs in") {
  Guard guard;
  const std::string key = "0123456789abcdef0123456789abcdef0123456789abcdef",
                    wrong = "1" + key.substr(1);
  CHECK(is_generated_key(key));
  CHECK_FALSE(is_generated_key(std::string(48, '0')));
  CHECK_FALSE(is_generated_key(key.substr(1)));
  CHECK_FALSE(is_generated_key(key.substr(1) + "G"));
  Talk owner(guard);
  owner.ask(creation("<symbol sym='S'/>"));
  guard.authenticator->stop();  // whatever waits for a turn is refused from now on
  CHECK(owner.ask(account("1", key)) == created_1);
  CHECK(is_quick(*guard.keys.find(AccountId("1"))));
  CHECK(Talk(guard).ask(query("1", key)) == in);
  // A wrong key costs a hash, as any other: its time reveals nothing about the account.
  for (const auto& [id, other] :
       {std::pair("1", wrong), std::pair("2", key), std::pair("1", std::string("not generated"))})
    CHECK(Talk(guard).ask(query(id, other)) == unchecked);
}

TEST_CASE("a generated key with a slow hash, of an earlier version, logs in") {
  Guard guard;
  const std::string key = "0123456789abcdef0123456789abcdef0123456789abcdef";
  Talk(guard).ask(account("1", "first secret"));
  const KeyHash slow = hash_key(key, cheap);
  guard.keys.set_key(AccountId("1"), slow);
  CHECK_FALSE(is_quick(slow));
  CHECK(Talk(guard).ask(query("1", "f" + key.substr(1))) == unknown);
  CHECK(Talk(guard).ask(query("1", key)) == in);
}

TEST_CASE("the check of a connection that is gone ends without a hash") {
  Guard guard;
  Talk(guard).ask(account("1", "first secret"));
  boost::asio::io_context context;
  boost::asio::ip::tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  const auto connect = [&] {
    boost::asio::ip::tcp::socket client(context);
    client.connect(acceptor.local_endpoint());
    return std::pair{std::move(client), acceptor.accept()};
  };
  auto [reset, of_reset] = connect();
  auto [half_closed, of_half_closed] = connect();
  auto [live, of_live] = connect();
  std::optional<Busy> busy(guard);
  const auto talk_of = [&](auto& socket) {
    auto talk = std::make_unique<Talk>(guard, PeerAddress{}, socket.native_handle());
    talk->send(query("1", "wrong secret " + std::to_string(socket.native_handle())));
    return talk;
  };
  const auto gone = talk_of(of_reset), patient = talk_of(of_half_closed), here = talk_of(of_live);
  reset.set_option(boost::asio::socket_base::linger(true, 0));
  reset.close();
  half_closed.shutdown(boost::asio::socket_base::shutdown_send);
  const std::uint64_t before = guard.hashes();
  busy.reset();
  gone->submission.wait();
  CHECK(gone->replies() == unchecked);
  CHECK(guard.metrics.key_checks_abandoned == 1);
  // A connection that has closed its side waits behind the others, and gets its reply.
  CHECK(&guard.service.next() == &here->submission);
  CHECK(&guard.service.next() == &patient->submission);
  CHECK(guard.hashes() == before + 2);
}

TEST_CASE("after a large document a session keeps no more memory for keys than before") {
  Guard guard;
  Talk talk(guard);
  std::string accounts;
  for (int i = 0; i < 16'385; ++i) accounts += "<account id='1' balance='1' key='long enough'/>";
  const std::size_t at_rest = talk.session.memory_bytes();
  const std::string document = creation(accounts);
  bool batch = false;
  for (std::size_t at = 0; at < document.size(); at += 1'000)
    batch = talk.receive(std::string_view(document).substr(at, 1'000));
  REQUIRE(batch);
  CHECK(talk.replies() == error_reply("more than 16384 elements in one request"));
  talk.ask(query("1", "wrong secret"));
  CHECK(talk.session.memory_bytes() < at_rest + 65'536);
}
