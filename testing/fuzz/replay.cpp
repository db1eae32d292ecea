// Drives a fuzz target without libFuzzer: runs every given file (of a folder, every file in it),
// then random mutations of them from a printed seed. Works with any compiler; the tests run it.
//   replay_framing [--mutations N] [--seed N] FILE|FOLDER...
// If a property fails, the input is left in a file, and the command that runs it again is printed.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "fuzz/fuzz.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t input_bytes_max = 4'096;  // of a mutated input, the default of libFuzzer

std::string input;       // the input that is running
std::string input_path;  // empty for a mutation
std::string program, failure_path;

void print(const std::string& text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) std::_Exit(1);
}

// Keeps the input after the target has stopped the process.
void on_crash(int signal) {
  std::signal(signal, SIG_DFL);
  if (input_path.empty()) {
    const int file = open(failure_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0 && write(file, input.data(), input.size()) == ssize_t(input.size()))
      input_path = failure_path;
  }
  print("run it again: " + program + " --mutations 0 " + input_path + "\n");
  std::raise(signal);
}

void run(std::string bytes, const std::string& path) {
  input = std::move(bytes);
  input_path = path;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Makes a few changes of the kinds that libFuzzer makes; `other` is another input to take a piece
// from.
void mutate(std::string& bytes, const std::string& other, std::mt19937_64& random) {
  for (auto changes = 1 + random() % 5; changes > 0; --changes) {
    const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
    const std::size_t length =
        std::min<std::size_t>(1 + random() % (random() % 3 == 0 ? 32 : 3), bytes.size() - at);
    switch (random() % 8) {
      case 0:
        if (!bytes.empty()) bytes[at] = char(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = char(random());
        break;
      case 2: bytes.insert(at, 1 + random() % 3, char(random())); break;
      case 3: bytes.erase(at, length); break;
      case 4:
        bytes.insert(bytes.empty() ? 0 : random() % bytes.size(), bytes.substr(at, length));
        break;
      case 5:
        if (!bytes.empty()) bytes[at] = char(bytes[at] + int(random() % 9) - 4);
        break;
      case 6: {
        const std::size_t from = other.empty() ? 0 : random() % other.size();
        bytes.insert(at, other.substr(from, 1 + random() % 40));
        break;
      }
      case 7: bytes = bytes.substr(0, at) + other.substr(std::min(other.size(), at)); break;
    }
  }
  if (bytes.size() > input_bytes_max) bytes.resize(input_bytes_max);
}

}  // namespace

int main(int argc, char** argv) {
  program = argv[0];
  failure_path = fs::current_path() / ("failed_" + fs::path(program).filename().string() + "." +
                                       std::to_string(getpid()));
  std::uint64_t seed = std::random_device()(), mutations = 0;
  std::vector<std::string> inputs;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if ((argument == "--mutations" || argument == "--seed") && i + 1 < argc) {
      (argument == "--seed" ? seed : mutations) = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    if (!fs::exists(argument)) {
      std::fprintf(stderr, "%s: no such file or folder: %s\n", argv[0], argv[i]);
      return 2;
    }
    for (const fs::path& file : files_in(argument)) {
      std::ifstream stream(file, std::ios::binary);
      inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
      std::signal(SIGABRT, on_crash);
      std::signal(SIGSEGV, on_crash);
      run(inputs.back(), file.string());
    }
  }
  if (inputs.empty()) {
    std::fprintf(stderr, "usage: %s [--mutations N] [--seed N] FILE|FOLDER...\n", argv[0]);
    return 2;
  }
  std::printf("%zu inputs, and %llu mutations of them from --seed %llu\n", inputs.size(),
              static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < mutations; ++i) {
    std::string bytes = inputs[random() % inputs.size()];
    mutate(bytes, inputs[random() % inputs.size()], random);
    run(std::move(bytes), "");
  }
  std::printf("all properties held\n");
  return 0;
}
