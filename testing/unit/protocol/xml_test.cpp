// What is XML; testing/wire has more, and fuzz/xml.cpp compares it with libxml2.
#include "protocol/xml.hpp"

#include "catch.hpp"
#include "support/xml_text.hpp"

using namespace exchange;
using namespace exchange::testing;
using namespace std::string_literals;

namespace {

// Returns the error of a document; empty if the parser accepts it.
std::string problem(std::string text) {
  XmlDocument document;
  return document.parse(text.data(), text.size(), ProtocolLimits());
}
// Checks that each of these documents is accepted, or refused with this sentence.
using Texts = std::vector<std::string>;
void takes(const Texts& texts) {
  for (const std::string& text : texts) {
    INFO(text);
    CHECK(problem(text) == "");
  }
}
void refuses(const Texts& texts) {
  for (const std::string& text : texts) {
    INFO(text);
    CHECK(problem(text).starts_with("malformed XML: "));
  }
}
void refuses(const std::string& sentence, const Texts& texts) {
  for (const std::string& text : texts) {
    INFO(text);
    CHECK(problem(text) == "malformed XML: " + sentence);
  }
}

const std::string bad_text = "not UTF-8, or a character that XML does not allow";

}  // namespace

TEST_CASE("known encodings may be declared, by any of their names") {
  const auto declared = [](const std::string& encoding) {
    return "<?xml version='1.0' encoding='" + encoding + "'?><a/>";
  };
  for (const char* name : {"utf8", "UTF8", "UTF_8", "Utf-8", "utf-8", "ASCII", "ascii", "us_ascii",
                           "US-ASCII", "ANSI_X3.4-1968"})
    takes({declared(name)});
  for (const char* name :
       {"utf", "utf-80", "utf 8", "u-t-f-8", "", "UTF-16", "latin1", "ascii1", "usascii"})
    refuses("encodings other than UTF-8 are not accepted", {declared(name)});
  refuses("a character that is not of the declared encoding",
          {"<?xml version='1.0' encoding='ASCII'?><a b='\xC3\xA9'/>"});
}

TEST_CASE("text that is not UTF-8 is refused") {
  const std::string bad[] = {
      "\x80", "\xBF", "\xFE", "\xFF", "\xF8\x88\x80\x80\x80",  // never a first byte
      // overlong
      "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xE0\x9F\xBF", "\xF0\x80\x80\xAF",
      "\xF0\x8F\xBF\xBF",
      "\xC0\x80",                                                              // overlong NUL
      "\xED\xA0\x80", "\xED\xBF\xBF", "\xED\xA0\xBD\xED\xB8\x80",              // surrogates
      "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF7\xBF\xBF\xBF",              // beyond U+10FFFF
      "\xC3", "\xE2\x82", "\xE2", "\xF0\x9F\x98", "\xC3\xC3", "\xE2\x28\xA1",  // truncated
      "\xEF\xBF\xBE", "\xEF\xBF\xBF"};                                         // U+FFFE, U+FFFF
  for (const std::string& bytes : bad)
    refuses(bad_text, {"<a>" + bytes + "</a>", "<a b='" + bytes + "'/>", "<a>" + bytes,
                       "<!--" + bytes + "--><a/>"});
}

TEST_CASE("all of UTF-8 is taken, to its edges") {
  for (const std::string good :
       {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBD", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "ä€😀"})
    takes({"<a b='" + good + "'>" + good + "</a>"});
}

TEST_CASE("control characters are refused, in bytes and in references") {
  for (int c = 0; c < 0x20; ++c) {
    if (c == '\t' || c == '\n' || c == '\r') continue;
    refuses(bad_text, {"<a>"s + char(c) + "</a>"});
    refuses("bad reference after '&'", {"<a>&#" + std::to_string(c) + ";</a>"});
  }
  refuses(bad_text, {"<a/>\0"s, "<a>\0</a>"s, "\0<a/>"s});
}

TEST_CASE("every place in a document is looked at for what XML does not allow") {
  for (std::size_t at = 0; at < 20; ++at)
    for (const char next : {' ', '\x7F'}) {  // the lowest and the highest plain character
      std::string text(20, next);
      takes({"<a>" + text + "</a>"});
      for (const char bad : {'\x01', '\x1F', '\x80', '\xFF'}) {
        text[at] = bad;
        refuses(bad_text, {"<a>" + text + "</a>"});
      }
      text[at] = '\n';
      takes({"<a>" + text + "</a>"});
    }
}

TEST_CASE("a reference must be one of the five names or a character that XML allows") {
  const Texts no_names{"&", "&;", "& ", "&nbsp;", "&foo;", "&LT;", "&lt", "&amp;&", "&lt ;"};
  const Texts no_characters{"&#;",           "&#x;",
                            "&#0;",          "&#x0;",
                            "&#xD800;",      "&#xDFFF;",
                            "&#xFFFE;",      "&#x110000;",
                            "&#-1;",         "&#+65;",
                            "&# 65;",        "&#X41;",
                            "&#4294967361;", "&#99999999999999999999;",
                            "&#x41"};
  for (const Texts& texts : {no_names, no_characters})
    for (const std::string& bad : texts)
      refuses("bad reference after '&'", {"<a>" + bad + "</a>", "<a b='" + bad + "'/>"});
  for (const std::string good :
       {"&lt;", "&gt;", "&amp;", "&apos;", "&quot;", "&#65;", "&#x41;", "&#x0041;", "&#9;", "&#10;",
        "&#x10FFFF;", "&#xe4;", "&#xE4;", "&amp;foo;", "&#00065;"})
    takes({"<a b='" + good + "'>" + good + "</a>"});
}

TEST_CASE("references are resolved") {
  std::string text =
      "<a b='&lt;&gt;&amp;&apos;&quot;&#65;&#x42;&#xe4;&#8364;&#x1F600;' c='plain'> "
      "&#32;x&amp;amp;<![CDATA[&lt;]]><!-- - -->y&#9; </a>";
  XmlDocument document;
  REQUIRE(document.parse(text.data(), text.size(), ProtocolLimits{}) == "");
  std::string scratch;
  CHECK(raw_attribute(document.root(), "b") ==
        "&lt;&gt;&amp;&apos;&quot;&#65;&#x42;&#xe4;&#8364;&#x1F600;");
  CHECK(resolve_references(raw_attribute(document.root(), "b"), scratch) == "<>&'\"ABä€😀");
  CHECK(resolve_references(raw_attribute(document.root(), "c"), scratch) == "plain");
  CHECK(raw_attribute(document.root(), "d").data() == nullptr);
  CHECK(element_text(document.root()) == "x&amp;&lt;y");
}

TEST_CASE("a byte order mark stands at the start, once") {
  refuses({"\xEF\xBB\xBF\xEF\xBB\xBF<a/>", "<a/>\xEF\xBB\xBF", "\xFE\xFF\0<\0a\0/\0>"s});
}

TEST_CASE("names are made of what names may be made of") {
  for (const std::string good : {"ä", "é1", "日本", "a\xC2\xB7", "a\xCC\x80", "\xF0\x90\x80\x80"})
    takes({"<" + good + "/>", "<a " + good + "=''/>"});
  for (const std::string bad : {"×", "a÷",
                                "\xC2\xB7"
                                "a",
                                "\xCC\x80", "\xE2\x80\xA8", "\xF3\xB0\x80\x80"})
    refuses({"<" + bad + "/>", "<a " + bad + "=''/>", "<a><?" + bad + " x?></a>"});
}

TEST_CASE("a declaration has its three attributes in their order and no others") {
  refuses({"<?xml version='1.0' lone='yes'?><a/>", "<?xml version='1.0' standalone='maybe'?><a/>",
           "<?xml version='1.0' version='1.0'?><a/>", "<?xml encoding='UTF-8' version='1.0'?><a/>",
           "<?xml version='1.0' standalone='no' encoding='UTF-8'?><a/>",
           "<?xml version='1.0' VERSION='1.0'?><a/>", "<?xml version='1.0' & ?><a/>"});
}

TEST_CASE("a declaration is not closed like an element") {
  refuses({"<?xml version='1.0'/><a/><?go ?><?on ?>", "<?xml version='1.0'></xml><a/><!--?>-->",
           "<?xml version='1.0'><b/></xml><a/><!--?>-->"});
}

TEST_CASE("elements nest to the limit and no deeper, however deep") {
  const auto nested = [](int depth) { return repeated("<a>", depth) + repeated("</a>", depth); };
  takes({nested(16)});
  refuses("elements nested too deep", {nested(17), nested(1'000'000)});
  refuses({repeated("<a>", 1'000'000)});
}

TEST_CASE("one parser object reads document after document, good ones after bad ones") {
  XmlDocument document;
  const ProtocolLimits limits;
  for (int i = 0; i < 3; ++i) {
    std::string good = "<a b='" + std::to_string(i) + "'/>", bad = "<a><b c='1'>";
    CHECK(document.parse(bad.data(), bad.size(), limits) != "");
    REQUIRE(document.parse(good.data(), good.size(), limits) == "");
    CHECK(document.root().attribute("b").as_int() == i);
  }
}
