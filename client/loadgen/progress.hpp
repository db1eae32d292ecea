#pragma once
// The line on stderr that shows a run under way: rewritten each second on a terminal, else a new
// one each five seconds.

#include "client/loadgen/fleet.hpp"

namespace exchange::loadgen {

class Progress {
 public:
  enum class Form { none, lines, live };
  explicit Progress(Form form) : form_(form) {}
  ~Progress() { clear(); }
  void show(const Second& second, const Counts& so_far, double share_done);
  // A sentence on what is being done between runs.
  void say(const std::string& text);
  // Takes a live line away, before something else is written.
  void clear();

 private:
  void write(const std::string& text);
  const Form form_;
  bool shown_ = false;
  double next_line_s_ = 0;
};

}  // namespace exchange::loadgen
