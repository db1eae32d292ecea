#include "client/loadgen/command_line.hpp"

#include <chrono>
#include <csignal>

namespace exchange::loadgen {

StopFlag& stop_flag() {
  static StopFlag flag{false};
  return flag;
}

void stop_on_signals() {
  stop_flag();  // made before a signal can ask for it
  struct sigaction action {};
  action.sa_handler = [](int) { stop_flag() = true; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

std::string prefix_from_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace exchange::loadgen
