#pragma once
// The files of the dashboard page, built into the server (CMakeLists.txt generates page.cpp from
// page/).

#include <span>
#include <string_view>

namespace exchange {

struct PageFile {
  std::string_view path;  // "/app.js"; the page itself is "/"
  std::string_view content_type;
  std::string_view content;
};
std::span<const PageFile> page_files();

}  // namespace exchange
