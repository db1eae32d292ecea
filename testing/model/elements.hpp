#pragma once
// The reply element of docs/protocol.md for an outcome, written apart from the server's own code,
// for judges of replies.

#include <string>

#include "engine/commands.hpp"

namespace exchange {

inline std::string status_element(const std::string& name, const std::string& echo,
                                  const Status& status) {
  std::string text = "<" + name + echo + ">";
  if (status.open > Shares()) text += "<open shares=\"" + to_string(status.open) + "\"/>";
  if (status.canceled > Shares())
    text += "<canceled shares=\"" + to_string(status.canceled) + "\" time=\"" +
            std::to_string(status.canceled_at.seconds()) + "\"/>";
  for (const Execution& execution : status.executions)
    text += "<executed shares=\"" + to_string(execution.shares) + "\" price=\"" +
            to_string(execution.price) + "\" time=\"" + std::to_string(execution.time.seconds()) +
            "\"/>";
  return text + "</" + name + ">";
}

// `echo`: the attributes that replies to the command repeat. An order without a number is opened
// without an id.
inline std::string reply_element(const Outcome& outcome, const std::string& echo) {
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    return "<error" + echo + ">" + std::string(describe(rejected->reason)) + "</error>";
  if (const auto* opened = std::get_if<Opened>(&outcome))
    return "<opened" + echo +
           (opened->order != 0 ? " id=\"" + std::to_string(opened->order) + "\"" : "") + "/>";
  if (const auto* status = std::get_if<Status>(&outcome))
    return status_element("status", echo, *status);
  if (const auto* canceled = std::get_if<Canceled>(&outcome))
    return status_element("canceled", echo, canceled->status);
  return "<created" + echo + "/>";
}

}  // namespace exchange
