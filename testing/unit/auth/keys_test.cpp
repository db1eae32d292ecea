// Keys as text, in files, as hashes, and on the ring.

#include <fstream>

#include "auth/credentials.hpp"
#include "base/key_file.hpp"
#include "support/folder.hpp"
#include "unit/auth/support.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Returns the error of one document if accounts have keys, and the credentials that it contains.
std::pair<std::string, std::vector<Credential>> read(std::string document, bool keys = true) {
  const std::size_t size = document.size();
  document.push_back('\0');
  XmlDocument parsed;
  std::vector<RequestElement> elements;
  std::vector<Command> commands;
  std::vector<Credential> credentials;
  const Request request = read_request(document.data(), size, ProtocolLimits{.keys = keys}, parsed,
                                       elements, commands, keys ? &credentials : nullptr);
  std::string errors = request.error;
  for (const RequestElement& element : elements) errors += element.error;
  for (const Command& command : commands)
    // the authenticator does this
    if (const auto* create = std::get_if<CreateAccount>(&command))
      CHECK_FALSE(create->key.has_key());
  return {errors, credentials};
}

std::string creation_with(const std::string& key) {
  return "<create key='of the operator'><account id='1' balance='1' key='" + key + "'/></create>";
}

}  // namespace

TEST_CASE("a key has 8 to 128 bytes; without one no account is created") {
  CHECK(read("<create><account id='1' balance='1'/></create>").second.empty());
  CHECK(read("<create><account id='1' balance='1'/></create>").first ==
        "missing attribute 'key': this exchange wants one for each account");
  CHECK(read(creation_with("")).first == "key must have 8 to 128 bytes");
  CHECK(read(creation_with("1234567")).first == "key must have 8 to 128 bytes");
  CHECK(read(creation_with(std::string(129, 'k'))).first == "key must have 8 to 128 bytes");
  for (const std::size_t bytes : {8, 128}) {
    const auto [error, batch] = read(creation_with(std::string(bytes, 'k')));
    CHECK(error == "");
    REQUIRE(batch.size() == 2);
    CHECK(batch[0].use == Credential::Use::operate);
    CHECK(batch[0].key == "of the operator");
    CHECK((batch[0].first_command == 0 && batch[0].commands == 1));
    CHECK(batch[1].use == Credential::Use::create);
    CHECK(batch[1].key == std::string(bytes, 'k'));
  }
  // 7: references count as the characters that they stand for
  CHECK(read(creation_with("a&amp;b&lt;c&#65;&quot;")).first == "key must have 8 to 128 bytes");
  CHECK(read(creation_with("a&amp;b&lt;c&#65;&quot;&apos;")).second[1].key == R"(a&b<cA"')");
}

TEST_CASE("a key file has one line of UTF-8, and a key has no blanks at its ends") {
  const TemporaryFolder folder;
  const std::string path = folder / "key";
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return read_key_file(path).key;
  };
  for (const std::string key : {"operator-key-1", "two words", "k\u00e4se\U0001F9C0"})
    for (const std::string end : {"", "\n", "\r\n"})
      for (const std::string mark : {"", "\xEF\xBB\xBF"}) CHECK(read(mark + key + end) == key);
  for (const char* text : {"operator-key-1 ", " operator-key-1\n", "          \n"})
    CHECK_THROWS_WITH(read(text), contains_text("has a blank at the beginning or the end"));
  for (const char* text : {"operator\xFCkey", "operator\xC0\xAFkey", "operator-key\xE2\x82",
                           "operator\xED\xA0\x80key", "operator\xF5\x80\x80\x80key"})
    CHECK_THROWS_WITH(read(text), contains_text("is not UTF-8"));
  for (const char* text : {"two\nlines\n", "tab\tin it", "key\n\n"})
    CHECK_THROWS_WITH(read(text), contains_text("is not a key: one line of text"));
  CHECK_THROWS_WITH(read("\n"), contains_text("is empty"));
}

TEST_CASE("a request creates so many accounts with keys at most: each costs a hash") {
  std::string accounts;
  for (std::size_t i = 0; i <= keys_per_batch_max; ++i)
    accounts += "<account id='" + std::to_string(i) + "' balance='1' key='long enough'/>";
  const auto [error, batch] = read("<create>" + accounts + "</create>");
  CHECK(error == "more than 256 accounts with keys in one request");  // only in the last one
  CHECK(batch.size() == 1 + keys_per_batch_max);
}

TEST_CASE("transactions stand on one credential for all their commands, and errors need none") {
  const auto [error, batch] =
      read(R"(<transactions id="1" key="long enough"><query id="1"/><query/><cancel id="2"/>)"
           "</transactions>");
  REQUIRE(batch.size() == 1);
  CHECK(batch[0].use == Credential::Use::login);
  CHECK(batch[0].account == AccountId("1"));
  CHECK((batch[0].first_command == 0 && batch[0].commands == 2));
  CHECK(read(R"(<transactions id="1" key="long enough"><query/></transactions>)").second.empty());
  CHECK(read(R"(<transactions id="x" key="long enough"><query id="1"/></transactions>)")
            .second.empty());
  CHECK(read(R"(<transactions id="1" key="long enough">text</transactions>)").second.empty());
  std::string too_many;
  for (std::size_t i = 0; i <= ProtocolLimits().elements_max; ++i) too_many += "<query id='1'/>";
  CHECK(read("<transactions id='1' key='long enough'>" + too_many + "</transactions>")
            .second.empty());
}

TEST_CASE("without --auth a key is an unknown attribute") {
  CHECK(read(creation_with("short"), false).first == "");
  CHECK(read(creation_with("short"), false).second.empty());
  CHECK(read(R"(<transactions id="1" key=""><query id="1"/></transactions>)", false).first == "");
}

TEST_CASE("a hash is of its key alone, with a salt of its own") {
  const KeyHash hash = hash_key("long enough", cheap), again = hash_key("long enough", cheap);
  CHECK((hash.has_key() && hash.log2_n == cheap && hash.r == 8 && hash.p == 1));
  CHECK(is_hash_of("long enough", hash));
  for (const char* other : {"", "long enoug", "long enough ", "Long enough", "long enougi"})
    CHECK_FALSE(is_hash_of(other, hash));
  CHECK(hash.salt != again.salt);
  CHECK(hash.digest != again.digest);
  for (std::size_t at = 0; at < hash.digest.size(); ++at) {  // every byte counts
    KeyHash changed = hash;
    changed.digest[at] ^= 1;
    CHECK_FALSE(is_hash_of("long enough", changed));
  }
  for (std::size_t at = 0; at < hash.salt.size(); ++at) {
    KeyHash changed = hash;
    changed.salt[at] ^= 1;
    CHECK_FALSE(is_hash_of("long enough", changed));
  }
}

TEST_CASE("a hash is checked with the parameters that it was made with") {
  const KeyHash old = hash_key("long enough", cheap), later = hash_key("long enough", cheap + 1);
  CHECK(is_hash_of("long enough", old));
  CHECK(is_hash_of("long enough", later));
  KeyHash absurd = old;
  absurd.log2_n = 60;
  CHECK_THROWS_AS(is_hash_of("long enough", absurd), std::runtime_error);
}

TEST_CASE("the newest key of an account is on the ring, and its version tells of changes") {
  KeyRing ring;
  const KeyHash first = hash_key("long enough", cheap), second = hash_key("another one", cheap);
  CHECK_FALSE(ring.find(AccountId("1")));
  ring.set_key(AccountId("1"), first);
  ring.set_key(AccountId("01"), second);
  const std::uint64_t version = ring.version();
  CHECK(ring.find(AccountId("1")) == first);
  CHECK(ring.find(AccountId("01")) == second);
  ring.set_key(AccountId("1"), second);
  CHECK(ring.version() != version);
  CHECK(ring.version(AccountId("1")) == ring.version());
  CHECK(ring.version(AccountId("01")) == version);
  CHECK(ring.find(AccountId("1")) == second);
  ring.set_key(AccountId("1"), {});
  CHECK_FALSE(ring.find(AccountId("1")));
  CHECK_FALSE(ring.is_operator(AccountId("01")));
  ring.set_role(AccountId("01"), Role::market_operator);
  CHECK(ring.is_operator(AccountId("01")));
}

TEST_CASE("HTTP Basic gives an account and its key") {
  const auto read_basic = [](const char* text) { return read_basic_credentials(text); };
  const auto good = read_basic("Basic MTIzOnNlY3JldDphbmQgbW9yZQ==");  // 123:secret:and more
  REQUIRE(good);
  CHECK(good->account == AccountId("123"));
  CHECK(good->key == "secret:and more");
  CHECK(read_basic("basic MTIzOnNlY3JldDphbmQgbW9yZQ"));
  for (const char* bad :
       {"", "Basic", "Basic ", "Basic !!!!", "Bearer MTIzOnNlY3JldDphbmQgbW9yZQ==", "Basic MTIz",
        "Basic eDpzZWNyZXQ6YW5kIG1vcmU=", "Basic MTIzOnNob3J0", "Basic OnNlY3JldDphbmQgbW9yZQ=="})
    CHECK_FALSE(read_basic(bad));
}
