#pragma once
// What an order of the load generator asks for beside its limit: at most one thing
// (docs/protocol.md, "Terms of an order").

#include <cstdint>
#include <string_view>

namespace exchange::run_audit {

enum class Terms : std::uint8_t {
  none,
  ioc,
  fok,
  post,
  market,          // without a limit
  cancel_resting,  // stp
  cancel_taking,
};

// Empty without terms.
struct TermsAttribute {
  std::string_view name, value;
};
constexpr TermsAttribute attribute_of(Terms terms) {
  switch (terms) {
    case Terms::none: return {};
    case Terms::ioc: return {"tif", "ioc"};
    case Terms::fok: return {"tif", "fok"};
    case Terms::post: return {"post", "true"};
    case Terms::market: return {"type", "market"};
    case Terms::cancel_resting: return {"stp", "cancel-resting"};
    case Terms::cancel_taking: return {"stp", "cancel-taking"};
  }
  return {};
}

// Whether such an order is executed when it arrives or never: it does not rest.
constexpr bool never_rests(Terms terms) {
  return terms == Terms::ioc || terms == Terms::fok || terms == Terms::market;
}

constexpr bool prevents_self_trades(Terms terms) {
  return terms == Terms::cancel_resting || terms == Terms::cancel_taking;
}

}  // namespace exchange::run_audit
