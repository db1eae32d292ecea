#include "client/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace exchange::loadgen {

void Progress::show(const Snapshot& snapshot) {
  constexpr double line_interval_s = 5;
  constexpr int bar_characters = 20;
  if (form_ == Form::none || (form_ == Form::lines && snapshot.elapsed_s < next_line_s_)) return;
  next_line_s_ = snapshot.elapsed_s + line_interval_s - 0.5;

  const int filled = std::clamp(int(snapshot.share_done * bar_characters), 0, bar_characters);
  const std::string bar = std::string(std::size_t(filled), '#') + std::string(std::size_t(bar_characters - filled), '.');
  std::fprintf(stderr, "%s[%s] %3.0f %%  %5.0f s  %8.0f requests/s  p50 %.2f ms  p99 %.2f ms  %llu in flight  %llu errors%s",
               form_ == Form::live ? "\r" : "", bar.c_str(), snapshot.share_done * 100, snapshot.elapsed_s,
               snapshot.requests_per_s, double(snapshot.p50_ns) / 1e6, double(snapshot.p99_ns) / 1e6,
               static_cast<unsigned long long>(snapshot.in_flight), static_cast<unsigned long long>(snapshot.errors),
               form_ == Form::live ? "\x1b[K" : "\n");
  std::fflush(stderr);
  shown_ = form_ == Form::live;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace exchange::loadgen
