#pragma once
// Conversations for random tests: mostly sound requests about few accounts, symbols and orders, so
// that they interact; some have errors; they are written in the many ways that XML allows.

#include <random>
#include <string>

#include "support/local.hpp"

namespace exchange {
using namespace testing;

class RandomRequests {
 public:
  explicit RandomRequests(std::mt19937_64& random) : random_(random) {}

  std::string document() {
    if (chance(40)) return odd_document();
    std::string text = chance(4) ? "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" : "";
    text += chance(3) ? create() : transactions();
    return text + (chance(4) ? "\n" : "");
  }

 private:
  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  template <std::size_t N>
  std::string pick(const char* const (&choices)[N]) {
    return choices[random_() % N];
  }
  std::string attribute(const std::string& name, std::string value) {
    if (chance(60)) return "";
    if (chance(60))
      value = pick({"", "x", "&amp;&lt;", "a'b", "a\"b", "€", "-", "1e5", "0",
                    "99999999999999999999999", "&#65;"});
    const char quote =
        value.find('"') != std::string::npos || (value.find('\'') == std::string::npos && chance(2))
            ? '\''
            : '"';
    return " " + name + "=" + quote + value + quote;
  }
  std::string account() { return pick({"1", "2", "3", "007", "&#49;"}); }
  std::string symbol() { return pick({"SPY", "BTC", "X", "&#x58;"}); }
  std::string number() { return pick({"1", "2", "3.5", "10", ".5", "7.", "100", "0.00000001"}); }
  std::string amount() { return (chance(2) ? "-" : "") + number(); }
  std::string order_id() { return std::to_string(1 + random_() % 30); }
  std::string blank() { return pick({"", "", "", " ", "\n  ", "<!-- note -->", "<?pi x?>"}); }

  std::string create() {
    std::string text = "<create>";
    for (auto i = random_() % 5; i > 0; --i) {
      text += blank();
      if (chance(30)) {
        text += "<what/>";
      } else if (chance(2)) {
        text += "<account" + attribute("id", account()) + attribute("balance", number() + "0000") +
                "/>";
      } else {
        text += "<symbol" + attribute("sym", symbol()) + ">";
        for (auto j = random_() % 4; j > 0; --j)
          text +=
              blank() + "<account" + attribute("id", account()) + "> " + number() + "</account>";
        text += "</symbol>";
      }
    }
    return text + "</create>";
  }
  std::string transactions() {
    std::string text = "<transactions" + attribute("id", account()) + ">";
    for (auto i = random_() % 6; i > 0; --i) {
      text += blank();
      if (chance(30))
        text += "<what a='b'>c</what>";
      else if (chance(4))
        text += "<query" + attribute("id", order_id()) + "/>";
      else if (chance(5))
        text += "<cancel" + attribute("id", order_id()) + "/>";
      else if (chance(5))
        text += "<replace" + attribute("id", order_id()) + attribute("amount", amount()) +
                attribute("limit", number()) + "/>";
      else
        text += "<order" + attribute("sym", symbol()) + attribute("amount", amount()) +
                attribute("limit", number()) + "/>";
    }
    return text + "</transactions>";
  }
  std::string odd_document() {
    return pick({"<create", "<create/><create/>", "<what/>", "text",
                 "<transactions id='1'>text</transactions>", "<a>&foo;</a>", "\xFF",
                 "<create>\x01</create>", "<!DOCTYPE a><create/>",
                 "<create><account id='1' id='1'/></create>"});
  }

  std::mt19937_64& random_;
};

inline std::string random_conversation(std::mt19937_64& random, std::size_t requests) {
  RandomRequests source(random);
  std::string text;
  for (std::size_t i = 0; i < requests; ++i) {
    text += framed(source.document());
    if (random() % 4 == 0) text += "\r\n";
  }
  return text;
}

}  // namespace exchange
