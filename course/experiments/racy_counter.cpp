// racy_counter TASKS INCREMENTS: has a data race on purpose, so it is a separate program, run as a
// child. Prints the remaining count, and the seconds from the barrier to the end of the last task.
// Built twice: plain, and under ThreadSanitizer.

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

long counter = 0;

void increment_plainly(long times) {
  for (long i = 0; i < times; ++i) {
    counter = counter + 1;
    asm volatile("" ::: "memory");  // one load and one store each time, as written
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int tasks = std::atoi(argv[1]);
  const long increments = std::atol(argv[2]);
  std::vector<std::thread> threads;
  std::chrono::steady_clock::time_point begin;
  // Without a barrier the first task would be done before the last one exists.
  std::barrier start(tasks, [&]() noexcept { begin = std::chrono::steady_clock::now(); });
  for (int task = 0; task < tasks; ++task)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      increment_plainly(increments);
    });
  for (std::thread& thread : threads) thread.join();
  const auto end = std::chrono::steady_clock::now();
  std::printf("%ld %.9f\n", counter, std::chrono::duration<double>(end - begin).count());
}
