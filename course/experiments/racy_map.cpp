// racy_map TASKS KEYS: writes to one std::unordered_map without any guard, on purpose, so it is a
// separate program, run as a child. Prints the state of the map: "intact", or "corrupt" with the
// error; often it crashes or hangs before. A limit on CPU time (SIGXCPU), which does not depend on
// the load of the machine, kills a run that does not end.

#include <sys/resource.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

std::unordered_map<long, long> map;

void write_keys(long first, long keys) {
  for (long key = first; key < first + keys; ++key) map[key] = key;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int tasks = std::atoi(argv[1]);
  const long keys = std::atol(argv[2]);
  const rlimit cpu{1, 2}, none{0, 0};  // seconds; an intact run takes some hundredths
  setrlimit(RLIMIT_CPU, &cpu);
  setrlimit(RLIMIT_CORE, &none);

  std::vector<std::thread> threads;
  std::barrier start(tasks);
  for (int task = 0; task < tasks; ++task)
    threads.emplace_back([&, task] {
      start.arrive_and_wait();
      write_keys(task * keys, keys);
    });
  for (std::thread& thread : threads) thread.join();

  const long expected = tasks * keys;
  long walked = 0, missing = 0;
  for (const auto& entry : map) {
    if (entry.first != entry.second || ++walked > 10 * expected) break;
  }
  for (long key = 0; key < expected; ++key) {
    const auto found = map.find(key);
    missing += found == map.end() || found->second != key;
  }
  const long size = long(map.size());
  const bool intact = size == expected && walked == expected && missing == 0;
  std::printf("%s: size() %ld of %ld, %ld reached by walking, %ld keys not found\n",
              intact ? "intact" : "corrupt", size, expected, walked, missing);
  std::fflush(stdout);
  std::_Exit(0);  // destroying a corrupt map could crash after all output is written
}
