#pragma once
// Requests and replies as text.

#include <string>
#include <string_view>

namespace exchange::testing {

// Returns a request in the form that goes over the wire.
inline std::string framed(std::string_view xml) {
  return std::to_string(xml.size()) + "\n" + std::string(xml);
}

// Returns a reply with these elements.
inline std::string results(std::string_view elements) {
  return "<results>" + std::string(elements) + "</results>\n";
}
inline std::string error_reply(std::string_view sentence) {
  return results("<error>" + std::string(sentence) + "</error>");
}

inline std::string repeated(std::string_view text, int times) {
  std::string all;
  for (; times > 0; --times) all += text;
  return all;
}

// Returns the value of the first attribute `name` in `xml`, from `from` on; empty if it does not
// exist.
inline std::string attribute(const std::string& xml, const std::string& name,
                             std::size_t from = 0) {
  const std::string key = " " + name + "=\"";
  const std::size_t at = xml.find(key, from);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return xml.substr(begin, xml.find('"', begin) - begin);
}

}  // namespace exchange::testing
