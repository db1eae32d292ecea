#include "client/report/html_page.hpp"

#include "base/embedded_file.hpp"

namespace exchange {

std::string html_page(std::string_view model) {
  std::string_view rest = report_files()[0].content;
  std::string page;
  const auto append_until = [&](std::string_view marker) {
    const std::size_t at = rest.find(marker);
    page += rest.substr(0, at);
    rest.remove_prefix(at + marker.size());
  };
  append_until("@CHART_JS@");
  page += report_files()[1].content;
  append_until("@MODEL@");
  // JSON contains '<' only in texts: if it is escaped, no text can close the script element.
  for (const char c : model)
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  page += rest;
  return page;
}

}  // namespace exchange
