#pragma once
// Sets a variable of the environment, for processes that are started in its scope.

#include <cstdlib>
#include <string>

namespace exchange::testing {

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* const name_;
};

}  // namespace exchange::testing
