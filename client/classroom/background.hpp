#pragma once
// A program that goes on in the background, at most one for each lock file, which has its process
// id. The lock ends with the process, however that ends. Thread: the only one of the process.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "client/connection/socket.hpp"

namespace exchange::classroom {

// A lock file, held until the descriptor is closed; none if another process holds it. Throws
// std::system_error.
client::Descriptor lock(const std::string& file);

// The process that holds the lock; 0 if it has only begun.
std::optional<pid_t> background_process(const std::string& lock_file);

// Forks: `work` runs in a session of its own, and writes to `log_file`. Returns its process id;
// nothing if there is one already. Throws std::system_error.
std::optional<pid_t> start_in_background(const std::string& lock_file, const std::string& log_file,
                                         const std::function<void()>& work);

// Asks it to end, and waits so long. False: it has not ended.
bool stop_background(const std::string& lock_file, double timeout_s);

}  // namespace exchange::classroom
