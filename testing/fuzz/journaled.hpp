#pragma once
// Which commands a journal may have.

#include "engine/commands.hpp"

namespace exchange::fuzz {

inline bool is_journaled(const Command& command) {
  return boost::mp11::mp_with_index<command_kinds>(command.index(), [](auto index) {
    return !requires { boost::mp11::mp_at<Command, decltype(index)>::changes_nothing; };
  });
}

}  // namespace exchange::fuzz
