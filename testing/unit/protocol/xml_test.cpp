#include "protocol/xml.hpp"

#include "unit/protocol/support.hpp"

using namespace exchange;
using namespace std::string_literals;

namespace {

// What the parser says of a document; empty where it takes it.
std::string problem(std::string text, const ProtocolLimits& limits = {}) {
  XmlDocument document;
  return document.parse(text.data(), text.size(), limits);
}
// As problem(), without the words that introduce every one.
std::string refusal(const std::string& text) {
  const std::string sentence = problem(text), introduction = "malformed XML: ";
  REQUIRE(sentence.substr(0, introduction.size()) == introduction);
  return sentence.substr(introduction.size());
}
bool is_refused(const std::string& text) {
  return problem(text).substr(0, 15) == "malformed XML: ";
}

std::string nested(std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += "<a>";
  for (std::size_t i = 0; i < depth; ++i) text += "</a>";
  return text;
}

const std::string bad_text = "not UTF-8, or a character that XML does not allow";

}  // namespace

TEST_CASE("plain documents are taken") {
  for (const std::string good :
       {"<a/>", "<a></a>", "<a b='c'/>", "<a b=\"c\" d = 'e' />", "<a >t</a >", "<a:b/>",
        "<_a-1.x/>", " \n<a/>\r\n\t", "<a><b/><c><d>text</d></c></a>", "<a b='>'>></a>",
        "<a b=''/>", "<a b='\t\n'/>", "<a>]] ></a>"})
    CHECK(problem(good) == "");
}

TEST_CASE(
    "declarations, comments, CDATA, processing instructions and a byte order mark are taken") {
  for (const std::string good :
       {"<?xml version=\"1.0\"?><a/>", "<?xml version='1.0' encoding='UTF-8'?>\n<a/>",
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>",
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?><a/>",
        "<?xml version='1.1'?><a/>", "<?xml version='1.0' encoding='US-ASCII'?><a/>",
        "\xEF\xBB\xBF<a/>", "\xEF\xBB\xBF<?xml version='1.0'?><a/>",
        "<!-- before --><a><!-- - inside < & ]]> --></a><!-- after -->", "<!----><a/>",
        "<a><![CDATA[<&]] > ]]></a>", "<?go fast?><a><?go <slow & ?></a><?xml-style x?>",
        "<a><![CDATA[]]></a>"})
    CHECK(problem(good) == "");
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
  for (const std::string& bytes : bad) {
    CHECK(refusal("<a>" + bytes + "</a>") == bad_text);
    CHECK(refusal("<a b='" + bytes + "'/>") == bad_text);
    CHECK(refusal("<a>" + bytes) == bad_text);
    CHECK(refusal("<!--" + bytes + "--><a/>") == bad_text);
  }
}

TEST_CASE("all of UTF-8 is taken, to its edges") {
  for (const std::string good :
       {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBD", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "ä€😀"})
    CHECK(problem("<a b='" + good + "'>" + good + "</a>") == "");
}

TEST_CASE("control characters are refused, in bytes and in references") {
  for (int c = 0; c < 0x20; ++c) {
    if (c == '\t' || c == '\n' || c == '\r') continue;
    CHECK(refusal("<a>"s + char(c) + "</a>") == bad_text);
    CHECK(refusal("<a>&#" + std::to_string(c) + ";</a>") == "bad reference after '&'");
  }
  CHECK(refusal("<a/>\0"s) == bad_text);
  CHECK(refusal("<a>\0</a>"s) == bad_text);
  CHECK(refusal("\0<a/>"s) == bad_text);
}

TEST_CASE("a reference must be one of the five names or a character that XML allows") {
  for (const std::string bad : {"&",
                                "&;",
                                "& ",
                                "&#;",
                                "&#x;",
                                "&#0;",
                                "&#x0;",
                                "&#xD800;",
                                "&#xDFFF;",
                                "&#xFFFE;",
                                "&#x110000;",
                                "&#-1;",
                                "&#+65;",
                                "&# 65;",
                                "&#X41;",
                                "&#4294967361;",
                                "&#99999999999999999999;",
                                "&#x41",
                                "&nbsp;",
                                "&foo;",
                                "&LT;",
                                "&lt",
                                "&amp;&",
                                "&lt ;"}) {
    INFO(bad);
    CHECK(refusal("<a>" + bad + "</a>") == "bad reference after '&'");
    CHECK(refusal("<a b='" + bad + "'/>") == "bad reference after '&'");
  }
  for (const std::string good :
       {"&lt;", "&gt;", "&amp;", "&apos;", "&quot;", "&#65;", "&#x41;", "&#x0041;", "&#9;", "&#10;",
        "&#x10FFFF;", "&#xe4;", "&#xE4;", "&amp;foo;", "&#00065;"})
    CHECK(problem("<a b='" + good + "'>" + good + "</a>") == "");
}

TEST_CASE("references are resolved") {
  std::string text =
      "<a b='&lt;&gt;&amp;&apos;&quot;&#65;&#x42;&#xe4;&#8364;&#x1F600;' c='plain'> &#32;x&amp;amp;<![CDATA[&lt;]]><!-- - -->y&#9; </a>";
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

TEST_CASE("a document has one root and nothing beside it") {
  CHECK(refusal("") == "no root element");
  CHECK(refusal(" \n") == "no root element");
  CHECK(refusal("\xEF\xBB\xBF") == "no root element");
  CHECK(refusal("<!-- only -->") == "no root element");
  CHECK(refusal("<?xml version='1.0'?>") == "no root element");
  CHECK(refusal("<a/><b/>") == "more than one root element");
  CHECK(refusal("<a></a> <a></a>") == "more than one root element");
  for (const std::string bad :
       {"text<a/>", "<a/>text", "x<a/>", "<a/> text", "<a/>&#32;", "&amp;<a/>", "<a/><![CDATA[]]>",
        "<![CDATA[x]]><a/>", "only text", "<a/>äö", "]]><a/>"})
    CHECK(refusal(bad) == "text outside the root element");
}

TEST_CASE("one character behind the root is too many, as are more") {
  for (const char c : "x&<>]1;\"/"s) {
    INFO(c);
    CHECK(is_refused("<a/>"s + c));
    CHECK(is_refused("<a></a>\n"s + c));
    CHECK(is_refused("<a/><!-- c -->"s + c));
    CHECK(is_refused("<a/>"s + c + c));
  }
  CHECK(is_refused("<a/><"));
}

TEST_CASE("a byte order mark stands at the start, once") {
  CHECK(is_refused("\xEF\xBB\xBF\xEF\xBB\xBF<a/>"));
  CHECK(is_refused("<a/>\xEF\xBB\xBF"));
  CHECK(is_refused("\xFE\xFF\0<\0a\0/\0>"s));
}

TEST_CASE("attributes are quoted, apart, not repeated and hold no '<'") {
  CHECK(refusal("<a b='1' b='2'/>") == "repeated attribute");
  CHECK(refusal("<a b='1' c='2' b='1'></a>") == "repeated attribute");
  CHECK(refusal("<a><b c='' c=''/></a>") == "repeated attribute");
  CHECK(refusal("<a b='<'/>") == "'<' in an attribute value");
  CHECK(refusal("<a b=\"x<y\"/>") == "'<' in an attribute value");
  CHECK(problem("<a b='1' B='2' bb='3'/>") == "");
  for (const std::string bad :
       {"<a b/>", "<a b=c/>", "<a b=/>", "<a b='c/>", "<a b='c\"/>", "<a b='1'c='2'/>", "<a 'c'/>",
        "<a ='c'/>", "<a 1='c'/>", "<a/ b='c'>", "<a></a b='c'>"}) {
    INFO(bad);
    CHECK(is_refused(bad));
  }
}

TEST_CASE("an element has few attributes") {
  const auto with = [](std::size_t count) {
    std::string text = "<a";
    for (std::size_t i = 0; i < count; ++i) text += " b" + std::to_string(i) + "=''";
    return text + "/>";
  };
  CHECK(problem(with(16)) == "");
  CHECK(refusal(with(17)) == "too many attributes on one element");
  CHECK(refusal(with(100'000)) == "too many attributes on one element");
}

TEST_CASE("an attribute value is short, since a reply may repeat it for every element") {
  CHECK(problem("<a b='" + std::string(256, 'x') + "'/>") == "");
  CHECK(refusal("<a b='" + std::string(257, 'x') + "'/>") == "attribute value too long");
  CHECK(refusal("<a><c b='" + std::string(900'000, '"') + "'/></a>") == "attribute value too long");
}

TEST_CASE("tags are closed in order, and are tags") {
  for (const std::string bad :
       {"<a>",      "</a>",    "<a></b>",     "<a><b></a></b>", "<a",
        "<a/",      "<",       "<>",          "< a/>",          "<1/>",
        "<-a/>",    "<.a/>",   "</a/>",       "<a></ a>",       "<a><b/>",
        "<a></a",   "<a></A>", "<a></a></a>", "<a/></a>",       "<a><</a>",
        "<a<b/>",   "<!a/>",   "<a!/>",       "<a><!></a>",     "<!ELEMENT a ANY><a/>",
        "<a></aa>", "<aa></a>"}) {
    INFO(bad);
    CHECK(is_refused(bad));
  }
}

TEST_CASE("names are made of what names may be made of") {
  for (const std::string good : {"ä", "é1", "日本", "a\xC2\xB7", "a\xCC\x80", "\xF0\x90\x80\x80"}) {
    INFO(good);
    CHECK(problem("<" + good + "/>") == "");
    CHECK(problem("<a " + good + "=''/>") == "");
  }
  for (const std::string bad : {"×", "a÷",
                                "\xC2\xB7"
                                "a",
                                "\xCC\x80", "\xE2\x80\xA8", "\xF3\xB0\x80\x80"}) {
    INFO(bad);
    CHECK(is_refused("<" + bad + "/>"));
    CHECK(is_refused("<a " + bad + "=''/>"));
    CHECK(is_refused("<a><?" + bad + " x?></a>"));
  }
}

TEST_CASE("comments, CDATA and processing instructions end, and hold what they may") {
  CHECK(refusal("<a><!-- a -- b --></a>") == "'--' in a comment");
  CHECK(refusal("<!-- a ---><a/>") == "'--' in a comment");
  CHECK(refusal("<!-----><a/>") == "'--' in a comment");
  CHECK(refusal("<a>x]]>y</a>") == "']]>' in text");
  CHECK(refusal("<a>]]></a>") == "']]>' in text");
  for (const std::string bad :
       {"<a/><!--", "<a/><!-- x", "<a/><!-- x -", "<a/><!-- x --", "<a/><!- x -->",
        "<a><![CDATA[x</a>", "<a><![CDATA[x]]</a>", "<a><![cdata[x]]></a>", "<a/><?go",
        "<a/><?go ?", "<? go?><a/>", "<\?\?><a/>", "<a/><?go>"}) {
    INFO(bad);
    CHECK(is_refused(bad));
  }
}

TEST_CASE("document types are refused, so that no entity is ever defined") {
  std::string bomb = "<!DOCTYPE a [<!ENTITY x0 'ha'>";
  for (int i = 1; i < 30; ++i)
    bomb += "<!ENTITY x" + std::to_string(i) + " '&x" + std::to_string(i - 1) + ";&x" +
            std::to_string(i - 1) + ";'>";
  CHECK(refusal(bomb + "]><a>&x29;</a>") == "document types are not accepted");
  CHECK(refusal("<!DOCTYPE a><a/>") == "document types are not accepted");
  CHECK(refusal("<!DOCTYPE a SYSTEM 'file:///dev/zero'><a/>") == "document types are not accepted");
  CHECK(refusal("<?xml version='1.0'?>\n<!DOCTYPE a><a/>") == "document types are not accepted");
  CHECK(is_refused("<a><!DOCTYPE a></a>"));
  std::string open = "<!DOCTYPE ";
  for (int i = 0; i < 300'000; ++i) open += "<![";
  CHECK(is_refused(open + "<a/>"));
}

TEST_CASE("the declaration stands at the very start, once, and declares what we read") {
  CHECK(refusal(" <?xml version='1.0'?><a/>") == "XML declaration not at the start");
  CHECK(refusal("<a/><?xml version='1.0'?>") == "XML declaration not at the start");
  CHECK(refusal("<!-- --><?xml version='1.0'?><a/>") == "XML declaration not at the start");
  CHECK(refusal("<?xml version='1.0'?><?xml version='1.0'?><a/>") ==
        "XML declaration not at the start");
  CHECK(refusal("<?XML version='1.0'?><a/>") == "XML declaration not at the start");
  CHECK(is_refused("<a><?xml version='1.0'?></a>"));
  CHECK(refusal("<?xml version='1.0' encoding='us-ascii'?><a b='\xC3\xA9'/>") ==
        "a character that is not of the declared encoding");
  CHECK(refusal("<?xml version='1.0' encoding='UTF-16'?><a/>") ==
        "encodings other than UTF-8 are not accepted");
  CHECK(refusal("<?xml version='1.0' encoding='ISO-8859-1'?><a/>") ==
        "encodings other than UTF-8 are not accepted");
  CHECK(refusal("<?xml version='1.0' encoding=''?><a/>") ==
        "encodings other than UTF-8 are not accepted");
  CHECK(refusal("<?xml version='2.0'?><a/>") == "unknown XML version");
  CHECK(refusal("<?xml encoding='UTF-8'?><a/>") == "unknown XML version");
  CHECK(refusal("<?xml?><a/>") == "unknown XML version");
  for (const std::string bad : {"<?xml version='1.0'", "<?xml version='1.0'?",
                                "<?xml version=1.0?><a/>", "<?xmlversion='1.0'?><a/>"}) {
    INFO(bad);
    CHECK(is_refused(bad));
  }
}

TEST_CASE("a declaration has its three attributes in their order and no others") {
  for (const std::string bad :
       {"<?xml version='1.0' lone='yes'?><a/>", "<?xml version='1.0' standalone='maybe'?><a/>",
        "<?xml version='1.0' version='1.0'?><a/>", "<?xml encoding='UTF-8' version='1.0'?><a/>",
        "<?xml version='1.0' standalone='no' encoding='UTF-8'?><a/>",
        "<?xml version='1.0' VERSION='1.0'?><a/>", "<?xml version='1.0' & ?><a/>"}) {
    INFO(bad);
    CHECK(is_refused(bad));
  }
}

TEST_CASE("a declaration is not closed like an element") {
  CHECK(is_refused("<?xml version='1.0'/><a/><?go ?><?on ?>"));
  CHECK(is_refused("<?xml version='1.0'></xml><a/><!--?>-->"));
  CHECK(is_refused("<?xml version='1.0'><b/></xml><a/><!--?>-->"));
}

TEST_CASE("elements nest to the limit and no deeper, however deep") {
  CHECK(problem(nested(16)) == "");
  CHECK(refusal(nested(17)) == "elements nested too deep");
  CHECK(refusal(nested(1'000'000)) == "elements nested too deep");
  std::string open;
  for (int i = 0; i < 1'000'000; ++i) open += "<a>";
  CHECK(is_refused(open));
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
