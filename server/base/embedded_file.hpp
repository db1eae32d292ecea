#pragma once
// Files that are built into a program: embed_files() of CMakeLists.txt generates each function.

#include <span>
#include <string_view>

namespace exchange {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view content;
};

std::span<const EmbeddedFile> dashboard_files();
std::span<const EmbeddedFile> description_files();

}  // namespace exchange
