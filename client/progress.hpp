#pragma once
// The line on stderr that shows a run under way: rewritten each second on a terminal, else a new one
// each five seconds.

#include "client/tally.hpp"

namespace exchange::loadgen {

class Progress {
 public:
  enum class Form { none, lines, live };
  explicit Progress(Form form) : form_(form) {}
  ~Progress() { clear(); }
  void show(const Snapshot& snapshot);
  // Takes a live line away, before something else is written.
  void clear();

 private:
  const Form form_;
  bool shown_ = false;
  double next_line_s_ = 0;
};

}  // namespace exchange::loadgen
