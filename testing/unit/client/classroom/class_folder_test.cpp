// The files that a teacher keeps for a class.
#include "client/classroom/class_folder.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "support/folder.hpp"

using namespace exchange::classroom;
using namespace exchange::testing;

namespace {

struct Place {
  Place() { write("scenario", scenario); }
  std::string path(const std::string& name) const { return folder / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(made.file(name.c_str())).rdbuf();
    return text.str();
  }
  NewClass wanted() const {
    return {.roster = path("roster"), .scenario = path("scenario"), .page = "http://x"};
  }
  std::size_t init() const { return made.write(wanted()).added; }
  // The sentences about a roster.
  std::vector<std::string> remarks(const std::string& roster) const {
    write("roster", roster);
    std::vector<std::string> remarks = made.write(wanted()).remarks;
    for (std::string& one : remarks) one.erase(0, one.starts_with('/') ? one.rfind('/') + 1 : 0);
    return remarks;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Member& one : made.students(made.scenario())) names.push_back(one.shown_as);
    return names;
  }
  std::string error() const {
    try {
      init();
      return "";
    } catch (const std::invalid_argument& error) {
      const std::string text = error.what();
      return text.substr(text.rfind('/') + 1);
    }
  }

  const TemporaryFolder folder;
  const std::string scenario =
      "[student]\ncash = 5\nshares = { ABC = 7 }\n[[instrument]]\nsymbol = \"ABC\"\n"
      "[[bots]]\ncharacter = \"bear\"\ncount = 2\n";
  mutable ClassFolder made{folder / "class"};
};

}  // namespace

TEST_CASE("a roster becomes accounts, names, keys and links") {
  const Place place;
  place.write("roster", "Last name;First name;Email\nLovelace;Ada;ada@x\nTuring;Alan;alan@x\n");
  CHECK(place.init() == 2);
  const Scenario scenario = place.made.scenario();
  const auto students = place.made.students(scenario);
  REQUIRE(students.size() == 2);
  CHECK(students[0].account == "1001");
  CHECK(students[0].shown_as == "Ada Lovelace");
  CHECK(students[0].key.size() == 48);
  CHECK(students[1].account == "1002");
  CHECK(students[0].key != students[1].key);
  std::size_t account = 0;
  const CsvTable table = place.made.students_table(account);
  CHECK(table.heading == CsvRow{"Last name", "First name", "Email", "account", "shown as"});
  CHECK(account == 3);
  CHECK(table.rows[1][account] == "1002");
  CHECK_THAT(place.read("keys.csv"),
             Catch::Matchers::Contains(";http://x/#sign-in=1001:" + students[0].key + "\n"));
  const auto bots = place.made.bots(scenario);
  REQUIRE(bots.size() == 2);
  CHECK(bots[1].shown_as == "bear 2");
  CHECK(bots[0].account == "6001");
  for (const char* file : {"keys.csv", "bots.csv", "operator.key"}) {
    struct stat status {};
    REQUIRE(::stat(place.made.file(file).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
}

TEST_CASE("another roster keeps accounts and keys, also of those who left") {
  const Place place;
  place.write("roster", "name,email\nAda,ada@x\nAlan,alan@x\n");
  place.init();
  const auto before = place.made.students(place.made.scenario());
  place.write("roster", "group,email,name\nA,grace@x,Grace\nB,ada@x,Ada L.\n");
  CHECK(place.init() == 1);
  const auto after = place.made.students(place.made.scenario());
  REQUIRE(after.size() == 3);
  CHECK(after[0].account == "1003");
  CHECK(after[1].account == before[0].account);
  CHECK(after[1].key == before[0].key);
  CHECK(after[2].key == before[1].key);
  std::size_t account = 0;
  CHECK(place.made.students_table(account).rows[2][1] == "alan@x");
  CHECK(place.init() == 0);
}

TEST_CASE("columns that a teacher adds and moves do not matter") {
  const Place place;
  place.write("roster", "name,email\nAda,ada@x\n");
  place.init();
  const auto before = place.made.students(place.made.scenario());
  std::ofstream(place.made.file("keys.csv")) << "sent,key,Email,name,account,link,shown as\nyes,"
                                             << before[0].key << ",ada@x,Ada,1001,,Ada\n";
  CHECK(place.init() == 0);
  const auto after = place.made.students(place.made.scenario());
  REQUIRE(after.size() == 1);
  CHECK(after[0].key == before[0].key);
  CHECK(after[0].account == "1001");
  place.write("roster", "name,email\nAda,ada@x\nAlan,alan@x\n");
  std::ofstream(place.made.file("keys.csv")) << "name,email,account\nAda,ada@x,1001\n";
  CHECK(place.error() == "keys.csv has no column 'shown as'");
}

TEST_CASE("bots keep accounts and keys while a scenario is without them") {
  const Place place;
  place.write("roster", "name\nAda\n");
  place.init();
  const std::string all = place.read("bots.csv");
  place.write("scenario", place.scenario.substr(0, place.scenario.find("[[bots]]")));
  place.init();
  CHECK(place.made.bots(place.made.scenario()).empty());
  place.write("scenario", place.scenario);
  place.init();
  CHECK(place.read("bots.csv") == all);
}

TEST_CASE("a leaderboard shows nothing of a roster but names") {
  const Place place;
  place.write("roster", "email\nada@x\n");
  CHECK_THAT(place.error(), Catch::Matchers::Contains("roster has no column 'name'"));
  place.write("scenario", "anonymous = true\n" + place.scenario);
  CHECK(place.error() == "");
  const Place other;
  other.write("roster", "name\nJos\xe9\n");
  CHECK_THAT(other.error(),
             Catch::Matchers::Contains("roster, line 2: the name 'Jos\xe9' is not UTF-8"));
}

TEST_CASE("invented names are different, and accounts follow no order") {
  const Place place;
  std::string roster = "name\n";
  for (int i = 0; i < 1'000; ++i) roster += "student " + std::to_string(i) + "\n";
  place.write("roster", roster);
  place.write("scenario", "anonymous = true\n" + place.scenario);
  CHECK(place.init() == 1'000);
  std::set<std::string> names, accounts;
  bool in_order = true;
  std::string last;
  for (const Member& one : place.made.students(place.made.scenario())) {
    names.insert(one.shown_as);
    accounts.insert(one.account);
    in_order &= last < one.account;
    last = one.account;
    CHECK(one.shown_as.find("student") == std::string::npos);
  }
  CHECK(names.size() == 1'000);
  CHECK(accounts.size() == 1'000);
  CHECK_FALSE(in_order);
}

TEST_CASE("long names are cut between characters, and empty ones are accounts") {
  const Place place;
  place.write("roster", "email,name\na@x, " + std::string(39, 'x') + "\u00e9\nb@x,\n");
  place.init();
  const auto students = place.made.students(place.made.scenario());
  CHECK(students[0].shown_as == std::string(39, 'x'));
  CHECK(students[1].shown_as == "1002");
}

TEST_CASE("a roster or scenario that cannot be used leaves the class as it is") {
  const Place place;
  place.write("roster", "name,email\nAda,ada@x\nEve,ada@x\n");
  CHECK(place.error() ==
        "roster: two students have the email 'ada@x', in lines 2 and 3; --id-column COLUMN chooses "
        "another column to tell them apart");
  place.write("roster", "name,email\nAda,\nAlan,alan@x\n,\nEve, \n");
  CHECK(place.error() ==
        "roster: students without email, which tells them apart: line 2 (Ada), line 5 (Eve). Fill "
        "it in, or choose another column with --id-column COLUMN");
  place.write("roster", "name\nAda,ada@x\n");
  CHECK(place.error() == "roster, line 2: 2 cells, but the heading has 1");
  CHECK_FALSE(place.made.exists());
  place.write("roster", "name,email\nAda,ada@x\n");
  place.init();
  place.write("scenario", "nonsense");
  CHECK_FALSE(place.error().empty());
  place.write("scenario", place.scenario);
  place.write("roster", "name\nAda\n");
  CHECK(place.error() == "");  // identified by the name, which is also in the class
  place.write("roster", "name,id\nAda,7\n");
  CHECK_THAT(place.error(), Catch::Matchers::Contains("has no column 'id'"));
  CHECK(place.made.students(place.made.scenario()).size() == 1);
}

TEST_CASE("rows of an export that are not students get no account") {
  const Place place;
  CHECK(place.remarks("Student,ID,SIS User ID,SIS Login ID,Section\n,,,,\n"
                      "    Points Possible,,,,\n\"Lovelace, Ada\",1,007,ada,A\n"
                      "\"Student, Test\",2,,test,A\n") ==
        std::vector<std::string>{"roster: left out, since it is not a student: line 3 (Points "
                                 "Possible), line 5 (Student, Test)"});
  CHECK(place.names() == std::vector<std::string>{"Lovelace, Ada"});
}

TEST_CASE("one student has one account, however the roster spells it") {
  const Place place;
  CHECK(place.remarks("name,email\nAda,ada@x\nAlan,alan@x\nAda, Ada@X \n") ==
        std::vector<std::string>{
            "roster: one account for a student who is there twice: Ada@X (lines 2 and 4)"});
  CHECK(place.names() == std::vector<std::string>{"Ada", "Alan"});
  const auto before = place.made.students(place.made.scenario());
  // The same two students, with the other letter case, with é as two characters, and behind a
  // guard.
  place.write("roster", "name,email\nAda,ADA@x\nAlan,alan@x\nZo\u00e9,zo\u00e9@x\n=a,=a\n");
  CHECK(place.init() == 2);
  place.write("roster", "email,name\nZOe\u0301@x,Zo\u00e9\n=A,=a\n ada@X,Ada\nAlan@x,Alan\n");
  CHECK(place.init() == 0);
  CHECK(place.made.students(place.made.scenario())[2].key == before[0].key);
}

TEST_CASE("ids whose zeros a spreadsheet has lost are found again") {
  const Place place;
  place.write("roster", "name,id\nAda,00123\nAlan,0\nEve,0456\n");
  place.init();
  const auto before = place.made.students(place.made.scenario());
  std::string keys = place.read("keys.csv");
  keys.replace(keys.find("00123"), 5, "123").replace(keys.find("0456"), 4, "456");
  std::ofstream(place.made.file("keys.csv")) << keys;
  CHECK(place.init() == 0);
  CHECK(place.made.students(place.made.scenario())[0].key == before[0].key);
  CHECK_THAT(place.read("keys.csv"), Catch::Matchers::Contains("Ada,00123,1001"));
  // The roster has lost the zeros too.
  place.write("roster", "name,id\nAda,123\nAlan,0\nEve,456\n");
  CHECK(place.init() == 0);
  CHECK(place.made.students(place.made.scenario())[0].key == before[0].key);
  // Another student has the number without zeros.
  place.write("roster", "name,id\nAda,00123\nAlan,0\nBob,00456\n");
  CHECK(place.init() == 1);
  place.write("roster", "name,id\nAda,00123\nAlan,0\nEve,0456\n");
  CHECK(place.init() == 0);
  // 123 is another student if the roster contains both.
  CHECK(place.remarks("name,id\nAda,00123\nBob,123\nAlan,0\n") ==
        std::vector<std::string>{
            "not in the roster now, but with an account of before: 0456, 00456"});
}

TEST_CASE("columns are found by English and German headings, or as they are chosen") {
  const Place place;
  place.write("roster", "Nachname; Vorname \nM\u00fcller;J\u00fcrgen\nM\u00fcller;Ada\n");
  CHECK(place.init() == 2);
  CHECK(place.names() == std::vector<std::string>{"J\u00fcrgen M\u00fcller", "Ada M\u00fcller"});
  const Place other;
  other.write("roster", "pr\u00e9nom,nom,num\u00e9ro\nAda,Lovelace,1\nAda,Byron,2\n");
  CHECK(other.error() ==
        "roster has no column 'name', and none of 'first name' and 'last name', for the "
        "leaderboard; its columns are pr\u00e9nom, nom, num\u00e9ro. --name-column COLUMN chooses "
        "one (twice: first and last name); 'anonymous = true' in the scenario needs none");
  NewClass wanted = other.wanted();
  wanted.names = {"PR\u00c9NOM", "nom"};
  wanted.identity = "Num\u00e9ro";
  other.made.write(wanted);
  CHECK(other.names() == std::vector<std::string>{"Ada Lovelace", "Ada Byron"});
  wanted.identity = "id";
  CHECK_THROWS_WITH(other.made.write(wanted),
                    Catch::Matchers::EndsWith("roster has no column 'id'; its columns are "
                                              "pr\u00e9nom, nom, num\u00e9ro"));
}

TEST_CASE("keys.csv is a table like the roster, and starts no formula") {
  const Place place;
  place.write("roster", "\xef\xbb\xbfName;E-Mail\n=1+1;-a@x\nAda;b@x\n");
  place.init();
  CHECK(place.read("keys.csv")
            .starts_with("\xef\xbb\xbfName;E-Mail;account;shown as;key;link\n"
                         "'=1+1;'-a@x;1001;'=1+1;"));
  CHECK(place.names() == std::vector<std::string>{"=1+1", "Ada"});
  CHECK(place.init() == 0);
  CHECK(place.names() == std::vector<std::string>{"=1+1", "Ada"});
}

TEST_CASE("names on a leaderboard have visible characters, and one name of two is reported") {
  const Place place;
  CHECK(
      place.remarks("name,email\nO\u0092Brien\u202e,a@x\n\u200b,b@x\nAda,c@x\n ADA,d@x\n") ==
      std::vector<std::string>{"the leaderboard shows accounts 1003, 1004 as 'Ada': 'exchange-cli "
                               "admin name ACCOUNT NAME' gives one another name"});
  CHECK(place.names() == std::vector<std::string>{"OBrien", "1002", "Ada", "ADA"});
}

TEST_CASE("a class that the exchange would refuse is not written") {
  const Place place;
  place.write("roster", "name\nAda\nAlan\n");
  NewClass wanted = place.wanted();
  std::size_t students = 0;
  wanted.check = [&](const Scenario&, std::size_t count) {
    students = count;
    throw std::invalid_argument("refused");
  };
  CHECK_THROWS_WITH(place.made.write(wanted), "refused");
  CHECK(students == 2);
  CHECK_FALSE(std::filesystem::exists(place.made.path()));
}

TEST_CASE("two commands do not change one class at once") {
  const Place place;
  place.write("roster", "name\nAda\n");
  place.init();
  const auto held = place.made.locked();
  CHECK(place.error() == "class now");  // another command changes the class in /…/class now
}

TEST_CASE("what members begin with, as documents") {
  const Member one{.account = "1001",
                   .key = "a key of 1001",
                   .shown_as = "Blue & Co",
                   .start = {.cash = "5", .shares = {{"ABC", "7"}}},
                   .limits = {{"orders-max", "9"}}};
  const Member* const members[]{&one};
  CHECK(accounts_of(members) ==
        R"(<create><account id="1001" balance="5" key="a key of 1001"/>)"
        R"(<set-account id="1001" name="Blue &amp; Co" orders-max="9"/></create>)");
  const Gift gifts[]{{"1001", "ABC", "7"}, {"1001", "XYZ", "8"}, {"1002", "ABC", "9"}};
  CHECK(gifts_of(gifts) ==
        R"(<create><symbol sym="ABC"><account id="1001">7</account><account id="1002">9</account>)"
        R"(</symbol><symbol sym="XYZ"><account id="1001">8</account></symbol></create>)");
  const Scenario scenario{.instruments = {{.symbol = "ABC", .rules = {{"tick", "0.05"}}}}};
  CHECK(instruments_of(scenario.instruments) ==
        R"(<create><symbol sym="ABC"/><instrument sym="ABC" tick="0.05")"
        R"( trading="halted"/></create>)");
  CHECK(rules_of(scenario.instruments) ==
        R"(<create><instrument sym="ABC" tick="0.05"/></create>)");
}
