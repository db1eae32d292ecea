#include "client/connection/servers.hpp"

#include <algorithm>

#include "client/connection/command_line.hpp"
#include "client/connection/stream.hpp"

namespace exchange::client {

std::vector<std::string> split_addresses(const std::string& list) {
  std::vector<std::string> addresses;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    addresses.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return addresses;
}

void check_addresses(const std::string& list) {
  for (const std::string& address : split_addresses(list)) check_address(address);
}

Servers::Servers(const std::string& list) : text_(list) {
  std::string why;
  for (const std::string& address : split_addresses(list)) try {
      for (Address& one : resolve_all(address)) addresses_.push_back(std::move(one));
    } catch (const Unreachable& error) {
      why += (why.empty() ? "" : "; ") + std::string(error.what());
    }
  if (addresses_.empty()) throw Unreachable(why);
}

void Servers::leave(const Address& server) {
  auto at = std::size_t(&server - addresses_.data());
  current_.compare_exchange_strong(at, (at + 1) % addresses_.size());
}

Descriptor connect_to(Servers& servers, double timeout_s, const StopFlag& stop) {
  std::string why;
  for (std::size_t tries = 0; tries < servers.count(); ++tries) {
    const Address& server = servers.current();
    try {
      return connect_to(server, timeout_s, stop);
    } catch (const Unreachable& error) {
      if (why.find(error.what()) == std::string::npos)  // addresses of one name often fail alike
        why += (why.empty() ? "" : "; ") + std::string(error.what());
      servers.leave(server);
    }
  }
  throw Unreachable(why);
}

std::string ask(Servers& servers, std::string_view document, double timeout_s,
                const StopFlag& stop) {
  Descriptor connected = connect_to(servers, timeout_s, stop);
  return ask_once(Stream(std::move(connected), servers.text(), timeout_s, stop), document);
}

}  // namespace exchange::client
