#pragma once
// Draws commands and rows from random numbers, or from the bytes of a fuzzer. Each described member
// (base/described.hpp) is drawn by its type: Source::draw(member, name) fills one member.

#include <variant>

#include "engine/commands.hpp"

namespace exchange {

template <class Struct, class Source>
Struct draw(Source& source) {
  Struct value{};
  for_each_member<Struct>(
      [&](auto member) { source.draw(value.*member.pointer, std::string_view(member.name)); });
  return value;
}

// Corrects values that requests cannot have together: only a market order has no limit, and it
// never rests; a post-only order may rest.
inline void make_whole(PlaceOrder& order) {
  order.post_only = order.post_only && !order.is_market();
  if (order.is_market() && order.lifetime == Lifetime::fill_or_kill)
    order.lifetime = Lifetime::immediate_or_cancel;
  if (order.post_only) order.lifetime = Lifetime::until_canceled;
}

// Draws a command of this kind, an index of Command. Its members agree as in requests: an order is
// named by its reference or its id.
template <class Source>
Command draw_command(std::size_t kind, Source& source) {
  return boost::mp11::mp_with_index<command_kinds>(kind, [&](auto index) -> Command {
    auto command = draw<std::variant_alternative_t<index, Command>>(source);
    if constexpr (requires { command.order = 0; })
      if (command.reference) command.order = 0;
    if constexpr (requires { make_whole(command); }) {
      make_whole(command);
    } else if constexpr (requires { command.limit; }) {
      command.limit = std::max(command.limit, Price::from_units(1));
    }
    return command;
  });
}

}  // namespace exchange
