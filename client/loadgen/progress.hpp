#pragma once
// The line on a terminal that shows the progress of a run, rewritten each second.

#include "client/loadgen/fleet.hpp"

namespace exchange::loadgen {

class Progress {
 public:
  // `live`: stderr is a terminal; otherwise nothing is shown.
  explicit Progress(bool live) : live_(live) {}
  ~Progress() { clear(); }
  void show(const Second& second, const Counts& so_far, double share_done);
  // Shows what the program does between runs.
  void say(const std::string& text);
  // Removes the live line before other output is written.
  void clear();

 private:
  void write(const std::string& text);
  const bool live_;
  bool shown_ = false;
};

}  // namespace exchange::loadgen
