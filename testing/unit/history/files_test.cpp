// What the judges read: histories that the load generator writes, and a journal that must be whole.
#include "history/inputs.hpp"

#include <sstream>

#include "catch.hpp"
#include "client/loadgen/transcript.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/folder.hpp"
#include "support/journal_rows.hpp"

using namespace exchange;
using namespace exchange::history;
using namespace exchange::testing;

namespace {

std::vector<RecordedRequest> read(const std::string& text) {
  std::istringstream in(text);
  std::uint64_t runs = 0;
  std::vector<RecordedRequest> requests;
  read_history(in, "h", runs, requests);
  return requests;
}

struct Journal {
  Journal() {
    SqliteStore store(folder / "x.db");
    store.open();
    JournalWriter writer;
    for (BatchNumber batch = 1; batch <= 3; ++batch) {
      writer.begin({std::int64_t(batch)});
      writer.add(CreateAccount{AccountId(std::to_string(batch)), Cash()});
      store.journal().append(batch, writer.finish({}));
    }
  }
  std::string problem() const {
    try {
      return std::to_string(history::read_journal("sqlite:" + folder / "x.db").size()) + " batches";
    } catch (const history::Unusable& unusable) {
      return unusable.what();
    }
  }

  TemporaryFolder folder;
  const std::string path = folder / "x.db.journal";
};

}  // namespace

TEST_CASE("a transcript is read back with every element, by the time of sending") {
  const std::string opened = R"(<opened sym="SPY" amount="-2" limit="1.5" id="10"/>)",
                    status = R"(<status id="9"><open shares="1"/></status>)";
  loadgen::Transcript one, other;
  const auto order = one.asked(
      3, 8, 500,
      "<?xml version='1.0'?>\n<transactions id='7'># two<order sym='SPY' amount='-2' limit='1.5'/>"
      "then<query id='9'/></transactions>\n");
  const auto lost =
      other.asked(4, 9, 400,
                  "<create># new<symbol sym='SPY'># one<account id='7'> 5 </account></symbol>"
                  "<symbol sym='A'># none</symbol></create>");
  one.answered(order, 600, "<results>" + opened + status + "</results>\n");
  one.add(std::move(other));
  CHECK((one.size() == 2 && lost == 0));
  std::ostringstream text;
  one.write(text, {"loadgen", "-c", "1"});
  const std::vector<RecordedRequest> requests = read(text.str());
  REQUIRE(requests.size() == 2);
  CHECK((requests[0].line == "h:2" && requests[0].client == 4 && requests[0].connection == 9 &&
         requests[0].call == 400 && !requests[0].answered));
  REQUIRE(requests[0].elements.size() == 2);
  CHECK(reply_to(requests[0].elements[0], Created()) == R"(<created sym="SPY" id="7"/>)");
  CHECK(std::get<PlaceShares>(*requests[0].elements[0].command).shares == Shares::whole(5));
  CHECK(std::get<CreateSymbol>(*requests[0].elements[1].command).symbol == SymbolName("A"));
  CHECK((requests[1].run == 1 && requests[1].answered == 600));
  CHECK(requests[1].replies == std::vector<std::string>{opened, status});
  const auto& placed = std::get<PlaceOrder>(*requests[1].elements[0].command);
  CHECK((placed.side == Side::sell && placed.shares == Shares::whole(2) &&
         placed.limit == parse_price("1.5").value));
}

TEST_CASE("replies that are no text and long ones are kept") {
  loadgen::Transcript transcript;
  const std::string big(3'000'000, 'x');
  transcript.answered(transcript.asked(1, 1, 5, "<a/>"), 6, big);
  transcript.answered(transcript.asked(1, 1, 7, "<a/>"), 8, "\xff\xfe");
  std::ostringstream text;
  transcript.write(text, {});
  CHECK(text.str().find(big) != std::string::npos);
  const std::vector<RecordedRequest> requests = read(text.str());
  REQUIRE(requests.size() == 2);
  CHECK((requests[1].replies.empty() && requests[1].answered == 8));
}

TEST_CASE("what is no history is refused with its line") {
  CHECK_THROWS_WITH(read(""), "h: holds no history");
  CHECK_THROWS_WITH(read("{\"history\":2}\n"), "h:1: this is a history of another version");
  CHECK_THROWS_WITH(read("{\"client\":1}\n"), "h:1: a history begins with its header line");
  CHECK_THROWS_AS(read("{\"history\":1}\nnonsense\n"), Unusable);
  CHECK_THROWS_WITH(
      read("{\"history\":1}\n"
           R"({"client":1,"connection":1,"call":9,"return":8,"request":"<a/>","reply":""})"),
      "h:2: a reply before its request");
}

TEST_CASE_METHOD(Journal, "a whole journal is read") { CHECK(problem() == "3 batches"); }

TEST_CASE_METHOD(Journal, "a journal that was pruned is no basis for a judgement") {
  keep_batches(path, 2, 3);
  CHECK(problem() ==
        "the journal has no batch 1 but has 2: was the server started with --keep-journal?");
}

TEST_CASE_METHOD(Journal, "a journal that is damaged, locked or missing is no basis either") {
  SECTION("a record") {
    edit_journal(path, [](JournalContent& content) { content.rows[1].payload[3] ^= 1; });
    CHECK_THAT(problem(), contains_text("batch 2: journal record fails its checksum"));
  }
  SECTION("the file") {
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(4'096 + 90).put('?');
    CHECK_THAT(problem(),
               contains_text("cannot read the journal: " + path + ": the record at byte "));
  }
  SECTION("locked") {
    const JournalFile server(path, JournalFile::Use::write);
    CHECK(problem() == "a running server has locked " + path);
  }
  SECTION("missing") {
    std::filesystem::remove(path);
    CHECK(problem() == "cannot read the journal: " + path + " is missing or cannot be read");
  }
}
