#pragma once
// Reads options of CLI11 from environment variables, for the server and exchange-cli. Does not
// include CLI11: its headers are slow to compile.

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace exchange {

// Maps each option whose value came from a variable to that variable, such as "--port" to
// "EXCHANGE_PORT".
using OptionVariables = std::map<std::string, std::string>;

// Kubernetes and Docker set NAME_PORT=tcp://ADDRESS:PORT for a service NAME. Such a value is not
// our port.
inline bool is_service_link(std::string_view variable, std::string_view value) {
  return variable.ends_with("_PORT") &&
         (value.starts_with("tcp://") || value.starts_with("udp://") ||
          value.starts_with("sctp://"));
}

// Removes service links from the environment, with a warning on stderr. Call it before the app
// parses, while the process has one thread.
template <class App>  // CLI::App
void ignore_service_links(const App& app) {
  for (const auto* option : app.get_options()) {
    const std::string variable = option->get_envname();
    const char* const value = variable.empty() ? nullptr : std::getenv(variable.c_str());
    if (value == nullptr || !is_service_link(variable, value)) continue;
    std::fprintf(stderr, "%s: ignored %s=%s: this is a service link, not a value of %s\n",
                 app.get_name().c_str(), variable.c_str(), value, option->get_name().c_str());
    ::unsetenv(variable.c_str());
  }
}

// Returns the options whose values came from variables. Call it after the app has parsed, even if
// that failed.
template <class App>  // CLI::App
OptionVariables variables_used(const App& app) {
  OptionVariables used;
  for (const auto* option : app.get_options())
    if (option->count() > 0 && !option->get_envname().empty())
      used[option->get_name()] = option->get_envname();
  for (const auto* given : app.parse_order()) used.erase(given->get_name());
  return used;
}

// Returns the message with the names of variables in place of the options that they set.
inline std::string name_variables(std::string message, const OptionVariables& used) {
  const auto is_of_name = [&](std::size_t at) {
    return at < message.size() &&
           (std::isalnum(static_cast<unsigned char>(message[at])) != 0 || message[at] == '-');
  };
  for (const auto& [option, variable] : used)
    for (std::size_t at = 0; (at = message.find(option, at)) != message.npos;) {
      const std::size_t end = at + option.size();
      if (is_of_name(end) || (at > 0 && is_of_name(at - 1))) {
        at = end;
        continue;
      }
      message.replace(at, option.size(), variable);
      at += variable.size();
    }
  return message;
}

}  // namespace exchange
