#include "client/loadgen/audit/order_ids.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace exchange::run_audit {
namespace {

struct Texts {
  std::mutex mutex;
  std::deque<std::string> texts;  // they never move
  std::unordered_map<std::string_view, std::uint64_t> numbers;
};
Texts& known() {
  static Texts texts;
  return texts;
}

std::string_view text_of(std::uint64_t id) {
  Texts& all = known();
  const std::lock_guard lock(all.mutex);
  return all.texts.at(std::size_t(id - text_ids_begin));
}

}  // namespace

std::uint64_t number_of_id(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_plain = error == std::errc() && end == text.data() + text.size() &&
                        !text.starts_with('0') && number < text_ids_begin;
  if (is_plain) return number;
  if (text.empty() || text.size() > id_bytes_max || text.find_first_of("\"<") != text.npos)
    return 0;
  Texts& all = known();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.numbers.find(text); found != all.numbers.end()) return found->second;
  number = text_ids_begin + all.texts.size();
  all.numbers.emplace(all.texts.emplace_back(text), number);
  return number;
}

std::string id_text(std::uint64_t id) {
  return id < text_ids_begin ? std::to_string(id) : std::string(text_of(id));
}

char* write_id(char* out, std::uint64_t id) {
  if (id < text_ids_begin) return std::to_chars(out, out + 20, id).ptr;
  const std::string_view text = text_of(id);
  return std::copy(text.begin(), text.end(), out);
}

}  // namespace exchange::run_audit
