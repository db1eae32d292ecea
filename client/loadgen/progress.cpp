#include "client/loadgen/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace exchange::loadgen {

void Progress::show(const Second& second, const Counts& so_far, double share_done) {
  constexpr int bar_characters = 20;
  if (!live_) return;
  const int filled = std::clamp(int(share_done * bar_characters), 0, bar_characters);
  const std::string bar = std::string(std::size_t(filled), '#') +
                          std::string(std::size_t(bar_characters - filled), '.');
  char planned[40] = "";
  if (second.planned_per_s)
    std::snprintf(planned, sizeof planned, " of %.0f planned", *second.planned_per_s);
  char text[256];
  char latency[64] = "no answer";
  if (second.response_p50_ms)
    std::snprintf(latency, sizeof latency, "p50 %.2f ms  p99 %.2f ms", *second.response_p50_ms,
                  *second.response_p99_ms);
  std::snprintf(text, sizeof text,
                "[%s] %3.0f %%  %5.0f s  %8.0f requests/s%s  %s  %llu in flight  %llu errors%s",
                bar.c_str(), share_done * 100, second.second, second.requests_per_s, planned,
                latency, static_cast<unsigned long long>(second.in_flight),
                static_cast<unsigned long long>(so_far.errors_in_all()),
                second.warmup ? "  warming up" : "");
  write(text);
}

void Progress::say(const std::string& text) {
  if (live_) write(text);
}

void Progress::write(const std::string& text) {
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace exchange::loadgen
