// Measures ten times how long a cache line takes to another CPU and back, in ns. The result shows
// whether the two CPUs that a benchmark uses share a cache now. Arguments: the numbers of the CPUs.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int batches = 2'000, rounds_of_batch = 50;  // a batch is short compared with a time slice
alignas(128) std::atomic<int> line = 0;

void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) != 0) {
    std::fprintf(stderr, "cannot run on CPU %d\n", cpu);
    std::exit(2);
  }
}

// Answers each odd number with the next even one.
void answer(int cpu) {
  run_on(cpu);
  for (int i = 0; i < batches * rounds_of_batch; ++i) {
    while (line.load(std::memory_order_acquire) != 2 * i + 1) {
    }
    line.store(2 * i + 2, std::memory_order_release);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int here = argc > 2 ? std::atoi(argv[1]) : 0, there = argc > 2 ? std::atoi(argv[2]) : 1;
  run_on(here);
  for (int run = 0; run < 10; ++run) {
    line = 0;
    std::thread other(answer, there);
    std::vector<double> ns;  // a round in each batch
    for (int batch = 0; batch < batches; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = batch * rounds_of_batch; i < (batch + 1) * rounds_of_batch; ++i) {
        line.store(2 * i + 1, std::memory_order_release);
        while (line.load(std::memory_order_acquire) != 2 * i + 2) {
        }
      }
      const auto taken = std::chrono::steady_clock::now() - start;
      ns.push_back(double(std::chrono::nanoseconds(taken).count()) / rounds_of_batch);
    }
    other.join();
    std::nth_element(ns.begin(), ns.begin() + batches / 2, ns.end());
    std::printf("%.0f ns\n", ns[batches / 2]);
  }
}
