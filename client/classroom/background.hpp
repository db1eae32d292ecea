#pragma once
// Runs a program in the background, at most one for each lock file, which contains its process id.
// The lock ends with the process, however the process ends. Thread: the only one of the process.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "client/connection/socket.hpp"

namespace exchange::classroom {

// Locks a file until the descriptor is closed; returns an empty descriptor if another process holds
// the lock. Throws std::system_error.
client::Descriptor lock(const std::string& file);

// Returns the process that holds the lock, if any; 0 if it has only just started.
std::optional<pid_t> background_process(const std::string& lock_file);

// Forks: `work` runs in a session of its own, and writes to `log_file`. Returns the process id;
// nothing if such a process runs already. Throws std::system_error.
std::optional<pid_t> start_in_background(const std::string& lock_file, const std::string& log_file,
                                         const std::function<void()>& work);

// Asks the process to end, and waits up to `timeout_s`. Returns false if it has not ended.
bool stop_background(const std::string& lock_file, double timeout_s);

}  // namespace exchange::classroom
