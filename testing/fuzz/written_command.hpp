#pragma once
// For the targets whose input becomes commands: writes a command as a document of the protocol, and
// reads it back; and which commands a journal may have.

#include "fuzz/fuzz.hpp"
#include "protocol/request.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::fuzz {

inline bool is_journaled(const Command& command) {
  return boost::mp11::mp_with_index<command_kinds>(command.index(), [](auto index) {
    return !requires { boost::mp11::mp_at<Command, decltype(index)>::changes_nothing; };
  });
}

inline std::string write_document(const Command& command) {
  const auto account_of = [](const auto& one) {
    if constexpr (requires { one.account; })
      return one.account;
    else
      return AccountId();
  };
  return write_request({&command, 1}, std::visit(account_of, command));
}

// Requires: the document is one request of one command.
inline Command read_back(const std::string& written, const ProtocolLimits& limits) {
  std::string text = written + " ";
  XmlDocument document;
  std::vector<RequestElement> elements;
  std::vector<Command> commands;
  const Request request =
      read_request(text.data(), written.size(), limits, document, elements, commands);
  HOLDS(request.error.empty() && commands.size() == 1, written);
  return commands[0];
}

}  // namespace exchange::fuzz
