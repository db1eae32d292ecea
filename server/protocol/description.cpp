#include "protocol/description.hpp"

namespace exchange {
namespace {

using enum ErrorCode;

}  // namespace

Problem read_type(std::optional<std::string_view> text, bool has_limit) {
  OrderType type = OrderType::limit;
  if (text)
    if (Problem problem = read_value(*text, type, "type")) return problem;
  const bool market = type == OrderType::market;
  if (market && has_limit) return {conflicting_attributes, "a market order has no limit"};
  if (!market && !has_limit) return {missing_attribute, "missing attribute 'limit'"};
  return {};
}

template <class Order>
Problem read_amount(std::string_view text, Order& order, std::string_view name) {
  const auto amount = parse_shares(text, Rounding::towards_zero);
  if (!amount) return number_problem(amount.error, name, describe_shares_error(amount.error));
  if (amount.value == Shares()) return {number_out_of_range, std::string(name) + " is zero"};
  const bool buy = amount.value > Shares();
  order.side = buy ? Side::buy : Side::sell;
  order.shares = buy ? amount.value : Shares() - amount.value;
  return {};
}
template Problem read_amount(std::string_view, PlaceOrder&, std::string_view);
template Problem read_amount(std::string_view, ReplaceOrder&, std::string_view);

// Rounds in the owner's favour, so that no execution has a price that the order did not allow.
template <class Order>
Problem read_limit(std::string_view text, Order& order, std::string_view name) {
  const bool buy = order.side == Side::buy;
  const auto limit = parse_price(text, buy ? Rounding::towards_zero : Rounding::up);
  if (!limit) return number_problem(limit.error, name, describe_shares_error(limit.error));
  if (limit.value <= Price()) return {number_out_of_range, "limit must be above zero"};
  order.limit = limit.value;
  return {};
}
template Problem read_limit(std::string_view, PlaceOrder&, std::string_view);
template Problem read_limit(std::string_view, ReplaceOrder&, std::string_view);

bool write_type(const PlaceOrder& order, std::string& text) {
  return write_value(order.is_market() ? OrderType::market : OrderType::limit, text);
}

Problem read_lifetime(std::string_view text, PlaceOrder& order, std::string_view name) {
  if (Problem problem = read_value(text, order.lifetime, name)) return problem;
  if (order.is_market() && order.lifetime != Lifetime::immediate_or_cancel)
    return {conflicting_attributes, "a market order cannot have tif gtc or fok"};
  return {};
}

Problem read_post(std::string_view text, PlaceOrder& order, std::string_view name) {
  if (Problem problem = read_value(text, order.post_only, name)) return problem;
  if (order.post_only && order.is_market())
    return {conflicting_attributes, "a market order cannot have post"};
  if (order.post_only && order.lifetime != Lifetime::until_canceled)
    return {conflicting_attributes, "an order with post cannot have tif ioc or fok"};
  return {};
}

Problem read_all(std::string_view text, CancelAll&, std::string_view) {
  if (text != "true") return {unknown_value, "all must be true"};
  return {};
}
bool write_all(const CancelAll& cancel, std::string& text) {
  return !cancel.symbol && write_value(true, text);
}

bool read_outcome_value(std::string_view text, OrderId& value) {
  const auto order = parse_order_id(text);
  value = order.value_or(0);
  return bool(order);
}
bool read_outcome_value(std::string_view text, Price& value) {
  const auto price = parse_price(text);
  value = price.value;
  return bool(price);
}
bool read_outcome_value(std::string_view text, Shares& value) {
  const auto shares = parse_shares(text);
  value = shares.value;
  return bool(shares);
}

}  // namespace exchange
