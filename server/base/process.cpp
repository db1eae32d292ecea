#include "base/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace exchange {

void prepare_process() {
  int file = 0;
  while (file <= STDERR_FILENO) {
    file = ::open("/dev/null", O_RDWR);  // the lowest descriptor that is free
    if (file < 0) return;
  }
  ::close(file);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace exchange
