#pragma once
// A report as one HTML file that loads nothing from the network: page.html, the template of all
// reports, with its data and Chart.js.

#include <string>
#include <string_view>

namespace exchange {

// `model`: JSON in the form that page.html describes.
std::string html_page(std::string_view model);

}  // namespace exchange
