#include "base/log.hpp"

#include <spdlog/spdlog.h>

namespace exchange {

void write_log(LogLevel level, std::string_view format, std::span<const std::string> values) {
  constexpr std::string_view place = "{}";
  std::string line;
  for (const std::string& value : values) {
    const std::size_t at = format.find(place);
    line.append(format.substr(0, at)).append(value);
    format.remove_prefix(at + place.size());
  }
  line.append(format);
  constexpr spdlog::level::level_enum levels[] = {spdlog::level::info, spdlog::level::warn,
                                                  spdlog::level::err, spdlog::level::critical};
  spdlog::log(levels[int(level)], spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace exchange
