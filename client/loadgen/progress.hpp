#pragma once
// The line on a terminal that shows a run under way, rewritten each second.

#include "client/loadgen/fleet.hpp"

namespace exchange::loadgen {

class Progress {
 public:
  // `live`: stderr is a terminal; without, nothing is shown.
  explicit Progress(bool live) : live_(live) {}
  ~Progress() { clear(); }
  void show(const Second& second, const Counts& so_far, double share_done);
  // A sentence on what is being done between runs.
  void say(const std::string& text);
  // Takes a live line away, before something else is written.
  void clear();

 private:
  void write(const std::string& text);
  const bool live_;
  bool shown_ = false;
};

}  // namespace exchange::loadgen
