#include "client/connection/framing.hpp"
#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string account_element(const std::string& id) {
  return "<account id=\"" + id + "\" balance=\"10\"/>";
}
void expect_created(Talk& talk, const std::string& document, const std::string& why) {
  const std::vector<Element> answers = talk.ask(document);
  expect(!answers.empty(), why + ": <created> was expected, the reply is empty");
  for (const Element& answer : answers)
    expect(answer.name == "created", why + ": <created> was expected, got " + answer.print());
}

void declarations(Talk& talk) {
  for (const char* declaration : {"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                                  "<?xml version=\"1.0\"?>", "<?xml version='1.0'?>\n\n", ""})
    expect_created(
        talk, declaration + ("<create>" + account_element(talk.source().account())) + "</create>",
        "with the declaration '" + std::string(declaration) + "'");
}

void other_quotes_and_space(Talk& talk) {
  const std::string id = talk.source().account();
  expect_created(
      talk,
      "<create >\n\t<account\n   id = '" + id + "'   balance='10'\n></account   >\n</create\n>",
      "with other white space and single quotes");
}

void byte_order_mark(Talk& talk) {
  expect_created(talk,
                 "\xef\xbb\xbf<create>" + account_element(talk.source().account()) + "</create>",
                 "after a byte order mark");
}

void document_type(Talk& talk) {
  const std::string id = talk.source().account();
  talk.expect_error("<!DOCTYPE create [<!ENTITY n \"" + id +
                        "\">]><create><account id=\"&n;\" balance=\"1\"/></create>",
                    "a document type");
  expect_created(talk, "<create>" + account_element(id) + "</create>",
                 "nothing of a refused document is executed");
}

void comments(Talk& talk) {
  expect_created(talk,
                 "<!-- a --><create><!-- <account/> --><?pi x?>" +
                     account_element(talk.source().account()) + "<!-- b --></create><!-- c -->",
                 "with comments");
}

void character_data(Talk& talk) {
  const std::string account = talk.given_account(100), symbol = talk.given_symbol({{account, 1}});
  expect_created(talk,
                 "<create><symbol sym=\"" + symbol + "\"><account id=\"" + account +
                     "\"><![CDATA[12]]></account></symbol></create>",
                 "with a CDATA section");
}

void references(Talk& talk) {
  talk.given_symbol({{talk.given_account(4), 1}});
  const std::string id = talk.source().account();
  std::string written;
  for (const char digit : id) written += "&#" + std::to_string(int(digit)) + ";";
  expect_created(talk, "<create>" + account_element(written) + "</create>",
                 "with character references");
  expect_created(talk,
                 "<create><symbol sym=\"" + talk.source().symbol() + "\"><account id=\"" + id +
                     "\">1</account></symbol></create>",
                 "shares for an account whose id was written with character references");
}

// The document gets an error, nothing of it is executed, and the connection goes on.
void expect_malformed(Talk& talk, const std::string& document, const std::string& id) {
  const std::vector<Element> answers = talk.ask(document);
  expect(!answers.empty() && answers.front().name == "error",
         "an <error> to a malformed document was expected");
  expect_created(talk, "<create>" + account_element(id) + "</create>",
                 "nothing of a malformed document is executed");
}

void missing_end_tag(Talk& talk) {
  const std::string id = talk.source().account();
  expect_malformed(talk, "<create>" + account_element(id) + "<account id=\"1\" balance=\"1\">", id);
}
void wrong_nesting(Talk& talk) {
  const std::string id = talk.source().account();
  expect_malformed(talk, "<create>" + account_element(id) + "<symbol></create></symbol>", id);
}
void no_xml(Talk& talk) {
  expect_malformed(talk, std::string(std::size_t(talk.between(1, 60)), 'x'),
                   talk.source().account());
}
void missing_quote(Talk& talk) {
  const std::string id = talk.source().account();
  expect_malformed(talk, "<create><account id=\"" + id + " balance=\"1\"/></create>", id);
}

void repeated_attribute(Talk& talk) {
  const std::string id = talk.source().account();
  expect_malformed(talk,
                   "<create><account id=\"" + id + "\" balance=\"1\" balance=\"2\"/></create>", id);
}

void nested_deeply(Talk& talk) {
  std::string document = "<create>";
  for (int i = 0; i < 17; ++i) document += "<a>";
  for (int i = 0; i < 17; ++i) document += "</a>";
  talk.expect_error(document + "</create>", "elements nested 18 deep");
}

void many_attributes(Talk& talk) {
  std::string document = "<create><account id=\"" + talk.source().account() + "\" balance=\"1\"";
  for (int i = 0; i < 15; ++i) document += " a" + std::to_string(i) + "=\"1\"";
  talk.expect_error(document + "/></create>", "an element of 17 attributes");
}

void long_attribute(Talk& talk) {
  const std::string account = talk.given_account(100), symbol = talk.given_symbol({{account, 1}});
  talk.given_order(account, symbol, 1, 4);
  talk.expect_error(
      Talk::transactions(account,
                         Talk::order(symbol, "1", "1", " a=\"" + std::string(257, 'x') + "\"")),
      "an attribute of 257 bytes");
}

void many_elements(Talk& talk) {
  const std::string account = talk.given_account(100);
  std::string inside;
  for (int i = 0; i < 16'385; ++i) inside += "<query id=\"1\"/>";
  const std::vector<Element> answers = talk.ask(Talk::transactions(account, inside));
  expect(answers.size() == 1 && answers[0].name == "error",
         "one <error> to a request of 16,385 elements was expected");
}

void unknown_root(Talk& talk) {
  talk.expect_error("<nothing><account id=\"1\" balance=\"1\"/></nothing>", "an unknown root");
  talk.expect_error("<results/>", "an unknown root");
}

void case_of_names(Talk& talk) {
  talk.expect_error("<Create>" + account_element(talk.source().account()) + "</Create>",
                    "<Create> with a capital letter");
}

void unknown_child(Talk& talk) {
  const std::vector<Element> answers =
      talk.ask_several("<create>" + account_element(talk.source().account()) + "<thing/>" +
                           account_element(talk.source().account()) + "</create>",
                       3);
  expect(answers[0].name == "created" && answers[1].name == "error" && answers[2].name == "created",
         "<created>, <error>, <created> was expected");
}

void unknown_attribute(Talk& talk) {
  expect_created(talk,
                 "<create><account id=\"" + talk.source().account() +
                     "\" balance=\"1\" colour=\"red\"/></create>",
                 "with an unknown attribute");
}

void attribute_order(Talk& talk) {
  const std::string account = talk.given_account(400'000),
                    symbol = talk.given_symbol({{account, 5}});
  talk.given_status(account, talk.given_order(account, symbol, 1, 4));
  const std::string amount = std::to_string(talk.between(1, 9)), limit = price(talk.any_price());
  expect_created(talk,
                 "<create><account balance=\"5\" id=\"" + talk.source().account() + "\"/></create>",
                 "with the balance before the id");
  const Element answer =
      talk.ask_one(Talk::transactions(account, "<order limit=\"" + limit + "\" sym=\"" + symbol +
                                                   "\" amount=\"" + amount + "\"/>"));
  expect(answer.name == "opened", "<opened> was expected, got " + answer.print());
  talk.expect_open(account, answer.attribute("id"), std::stoll(amount),
                   "an order with the limit before the amount");
}

void text_between(Talk& talk) {
  expect_created(
      talk, "<create>\n some text " + account_element(talk.source().account()) + " more </create>",
      "with text between the elements");
}

void content_of_order(Talk& talk) {
  const std::string account = talk.given_account(400), symbol = talk.given_symbol({{account, 1}});
  talk.given_order(account, symbol, 1, 4);
  talk.expect_error(Talk::transactions(account, "<order sym=\"" + symbol +
                                                    "\" amount=\"1\" limit=\"1\"><now/></order>"),
                    "an order with a child");
}

}  // namespace

void add_document_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"X1", "XML declarations", declarations},
                                {"X1", "white space and quotes", other_quotes_and_space},
                                {"X2", "a byte order mark", byte_order_mark},
                                {"X3", "a document type", document_type},
                                {"X4", "comments and processing instructions", comments},
                                {"X4", "a CDATA section", character_data},
                                {"X5", "character references", references},
                                {"X6", "a missing end tag", missing_end_tag},
                                {"X6", "wrong nesting", wrong_nesting},
                                {"X6", "no XML at all", no_xml},
                                {"X6", "a missing quote", missing_quote},
                                {"X7", "elements that nest deeply", nested_deeply},
                                {"X8", "many attributes", many_attributes},
                                {"X9", "a long attribute", long_attribute},
                                {"X10", "too many elements", many_elements, true},
                                {"X11", "an unknown root", unknown_root},
                                {"X12", "a root with a capital letter", case_of_names},
                                {"X13", "an unknown child", unknown_child},
                                {"X14", "an unknown attribute", unknown_attribute},
                                {"X15", "attributes in another order", attribute_order},
                                {"X16", "an attribute that stands twice", repeated_attribute},
                                {"X17", "text between elements", text_between},
                                {"X18", "an order with content", content_of_order},
                            });
}

}  // namespace exchange::conformance
