// For any bytes, a session neither crashes nor hangs, and its replies stay readable.

#include "unit/protocol/random_requests.hpp"
#include "unit/protocol/support.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Flips, inserts, deletes, doubles or swaps some bytes; bytes of the structure more often than
// others.
void mutate(std::string& bytes, std::mt19937_64& random) {
  static const std::string structural =
      std::string("<>&;/\"'=!?-[] \r\n#x0123456789\x80\xC3\xE2\xED\xF0\xFF\xEF\xBB\xBF") + '\0';
  const auto some_byte = [&] {
    return random() % 3 == 0 ? char(random()) : structural[random() % structural.size()];
  };
  for (auto count = 1 + random() % 6; count > 0 && !bytes.empty(); --count) {
    const std::size_t at = random() % bytes.size();
    const std::size_t length =
        std::min<std::size_t>(1 + random() % (random() % 4 == 0 ? 50 : 2), bytes.size() - at);
    switch (random() % 6) {
      case 0: bytes[at] = char(bytes[at] ^ (1 << random() % 8)); break;
      case 1: bytes[at] = some_byte(); break;
      case 2: bytes.insert(at, 1, some_byte()); break;
      case 3: bytes.erase(at, length); break;
      case 4: bytes.insert(random() % bytes.size(), bytes.substr(at, length)); break;
      case 5: std::swap(bytes[at], bytes[random() % bytes.size()]); break;
    }
  }
}

// Mutates documents inside sound frames, so that the test does not cover only framing.
std::string mutated_documents(std::mt19937_64& random) {
  RandomRequests source(random);
  std::string text;
  for (auto i = 1 + random() % 8; i > 0; --i) {
    std::string document = source.document();
    if (random() % 2 == 0) mutate(document, random);
    if (!document.empty()) text += framed(document);
  }
  return text;
}

std::size_t documents_in(std::string_view replies) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = replies.find("</results>\n", at)) != std::string_view::npos; ++at)
    ++count;
  return count;
}

}  // namespace

TEST_CASE("no bytes in a document break the replies or the connection") {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 20'000; ++round) {
    const std::string conversation = mutated_documents(random);
    LocalService service;
    const ProtocolLimits limits;
    LocalClient client(service, limits);
    client.send(conversation);
    const std::string replies = client.replies();
    INFO("round " << round << "\n" << conversation << "\n" << replies);
    REQUIRE(replies_problem(replies) == "");
    REQUIRE(!client.closed());  // the framing was sound
    client.send(framed("<create/>"));
    REQUIRE(client.replies() == results(""));
    REQUIRE(service.exchange().check_invariants() == "");
  }
}

TEST_CASE("no bytes at all break the replies, and slicing does not change them") {
  std::mt19937_64 random(test_seed() + 1);
  for (int round = 0; round < 20'000; ++round) {
    std::string conversation = random_conversation(random, 1 + random() % 8);
    mutate(conversation, random);
    const std::string whole = serve_requests(conversation);
    const std::size_t closed = whole.find(" [closed]");
    INFO("round " << round << "\n" << conversation << "\n" << whole);
    REQUIRE(replies_problem(whole.substr(0, closed)) == "");
    REQUIRE(documents_in(whole) <= conversation.size());
    if (round % 4 == 0) REQUIRE(serve_requests(conversation, random_slices(random)) == whole);
  }
}

TEST_CASE("noise gets one error") {
  std::mt19937_64 random(test_seed() + 2);
  for (int round = 0; round < 2'000; ++round) {
    std::string noise(1 + random() % 200, '\0');
    for (char& c : noise) c = char(random());
    noise.insert(0, "x");
    REQUIRE(serve_requests(noise, random_slices(random)) ==
            error_reply("bad framing: a request begins with its length in digits") + " [closed]");
  }
}
