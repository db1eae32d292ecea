#include "wire/script.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace exchange {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool take_word(std::string& text, const std::string& word) {
  if (text != word && text.substr(0, word.size() + 1) != word + " ") return false;
  text = trimmed(text.substr(word.size()));
  return true;
}

class ScriptReader {
 public:
  ScriptReader(const std::string& path, std::int64_t time)
      : path_(path), time_(std::to_string(time)) {}

  Script read() {
    script_.name = std::filesystem::path(path_).stem().string();
    std::ifstream in(path_);
    if (!in) fail("cannot be opened");
    std::string text;
    for (std::string line; std::getline(in, line);) {
      ++line_;
      if (trimmed(line).empty() || line[0] == '#') continue;
      if (line[0] == ' ') {
        if (!step_) fail("continues nothing");
        text_ += trimmed(line);
        continue;
      }
      finish_step();
      start(trimmed(line));
    }
    finish_step();
    if (script_.steps.empty()) fail("says nothing");
    return script_;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(path_ + ":" + std::to_string(line_) + ": " + why);
  }

  void start(std::string text) {
    if (take_word(text, "server")) return set_option(text);
    const std::size_t space = text.find(' ');
    const std::string client = text.substr(0, space);
    text = space == std::string::npos ? "" : trimmed(text.substr(space));
    raw_ = false;
    if (take_word(text, "sends")) {
      raw_ = take_word(text, "raw");
      begin(Step::Kind::send, client, text);
    } else if (take_word(text, "gets")) {
      begin(Step::Kind::expect, client, text);
    } else if (text == "ends") {
      begin(Step::Kind::end_stream, client, "");
    } else if (text == "is closed") {
      begin(Step::Kind::expect_close, client, "");
    } else {
      fail("no such step: " + client + " " + text);
    }
  }
  void begin(Step::Kind kind, const std::string& client, const std::string& text) {
    step_ = true;
    text_ = text;
    script_.steps.push_back({kind, client, "", line_});
  }
  void set_option(const std::string& option) {
    if (!script_.steps.empty()) fail("options come before the first step");
    if (option == "closes after the reply")
      script_.limits.close_after_reply = true;
    else if (option == "reads leniently")
      script_.limits.lenient_framing = true;
    else if (option == "refuses unknown symbols")
      script_.limits.refuse_unknown_symbols = true;
    else if (option == "opens queries")
      script_.limits.open_queries = true;
    else if (option == "writes lengths")
      script_.limits.length_before_reply = true;
    else
      fail("no such option: " + option);
  }

  void finish_step() {
    if (!step_) return;
    step_ = false;
    Step& step = script_.steps.back();
    const std::string bytes = unescaped(text_);
    switch (step.kind) {
      case Step::Kind::send:
        step.bytes = raw_ ? bytes : std::to_string(bytes.size()) + "\n" + bytes;
        break;
      case Step::Kind::expect: {
        const std::string reply = bytes + "\n";
        step.bytes = script_.limits.length_before_reply
                         ? std::to_string(reply.size()) + "\n" + reply
                         : reply;
        break;
      }
      default:
        if (!bytes.empty()) fail("that step has no text");
    }
  }

  std::string unescaped(const std::string& text) const {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text.compare(i, 6, "{time}") == 0) {
        bytes += time_;
        i += 5;
      } else if (text[i] != '\\') {
        bytes += text[i];
      } else {
        const char escape = i + 1 < text.size() ? text[++i] : ' ';
        if (escape == 'x' && i + 2 < text.size()) {
          bytes += char(std::stoi(text.substr(i + 1, 2), nullptr, 16));
          i += 2;
          continue;
        }
        const std::size_t at = std::string_view("nrts\\").find(escape);
        if (at == std::string_view::npos) fail("no such escape");
        bytes += "\n\r\t \\"[at];
      }
    }
    return bytes;
  }

  const std::string path_, time_;
  Script script_;
  int line_ = 0;
  bool step_ = false, raw_ = false;
  std::string text_;
};

}  // namespace

Script read_script(const std::string& path, std::int64_t time) {
  return ScriptReader(path, time).read();
}

std::vector<std::string> script_paths(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace exchange
