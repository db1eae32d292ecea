#pragma once
// The terms of an order of the load generator besides its limit: at most one (docs/protocol.md,
// "Terms of an order").

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

// Both are empty for an order without terms.
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

// Whether an order with these terms executes only when it arrives, and does not rest.
constexpr bool never_rests(Terms terms) {
  return terms == Terms::ioc || terms == Terms::fok || terms == Terms::market;
}

constexpr bool prevents_self_trades(Terms terms) {
  return terms == Terms::cancel_resting || terms == Terms::cancel_taking;
}

}  // namespace exchange::run_audit
