#include "options.hpp"

#include <pwd.h>
#include <sys/un.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <charconv>
#include <concepts>
#include <cstdlib>
#include <type_traits>

#include "base/described.hpp"
#include "base/version.hpp"

namespace exchange {
namespace {

std::string check_ip_address(const std::string& text) {
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  return error ? "'" + text + "' is not an IP address" : "";
}

std::uint32_t user_id(const std::string& text) {
  std::uint32_t id = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, id).ptr == end && !text.empty()) return id;
  const passwd* const user = ::getpwnam(text.c_str());
  if (user == nullptr) throw CLI::ValidationError("'" + text + "' is not a user of this machine");
  return user->pw_uid;
}

// Reads "unix:PATH" or "unix:PATH?mode=660".
LocalSocket local_socket(const std::string& text) {
  const auto invalid = [&](const char* problem) {
    return CLI::ValidationError("'" + text + "' " + problem);
  };
  constexpr std::string_view scheme = "unix:", mode = "?mode=";
  constexpr std::size_t path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
  if (!text.starts_with(scheme)) throw invalid("is not unix:PATH");
  LocalSocket socket{.path = text.substr(scheme.size())};
  if (const std::size_t at = socket.path.rfind(mode); at != std::string::npos) {
    const std::string digits = socket.path.substr(at + mode.size());
    if (digits.size() != 3 || digits.find_first_not_of("01234567") != std::string::npos)
      throw invalid("does not end with three digits from 0 to 7, as ?mode=660");
    socket.mode = unsigned(std::stoul(digits, nullptr, 8));
    socket.path.resize(at);
  }
  if (socket.path.empty() || socket.path.size() > path_bytes_max)
    throw invalid("needs a path of 1 to 107 bytes");
  return socket;
}

// Returns EXCHANGE_HTTP_PORT for --http-port.
std::string variable_of(std::string flag) {
  for (char& c : flag) c = c == '-' ? '_' : char(std::toupper(static_cast<unsigned char>(c)));
  return "EXCHANGE" + flag.substr(1);
}

// Makes a CLI11 option from each declaration (base/option.hpp).
class AddOption {
 public:
  explicit AddOption(CLI::App& app) : app_(app) {}

  void operator()(const std::string& flag, bool& value, const char* help) const {
    app_.add_flag(flag, value, help)->envname(variable_of(flag));
  }
  void operator()(const std::string& flag, std::string& value, const char* help) const {
    text(flag, value, help);
  }
  void operator()(const std::string& flag, std::string& value, const char* help, IpAddress) const {
    text(flag, value, help)->check(CLI::Validator(check_ip_address, ""));
  }
  void operator()(const std::string& flag, LocalSocket& value, const char* help) const {
    function<std::string>(
        flag, [&value](const std::string& text) { value = local_socket(text); }, help, "");
  }
  void operator()(const std::string& flag, std::optional<std::uint32_t>& value, const char* help,
                  UserName) const {
    function<std::string>(
        flag, [&value](const std::string& text) { value = user_id(text); }, help, "");
  }
  template <std::unsigned_integral Number>
  void operator()(const std::string& flag, Number& value, const char* help,
                  const Range& range = {}) const {
    const auto set = [&value, unit = range.unit](std::uint64_t number) {
      value = Number(number * unit);
    };
    CLI::Option* const option =
        function<std::uint64_t>(flag, set, help, std::to_string(value / range.unit));
    if (range.least > 0 || range.most < Range().most)
      option->check(CLI::Range(range.least, range.most));
  }
  // Adds an option that is a number, or off.
  void operator()(const std::string& flag, std::optional<std::uint16_t>& value, const char* help,
                  const Range& range) const {
    const auto set = [&value](const std::string& text) {
      value.reset();
      if (text != "off") value = std::uint16_t(std::stoul(text));
    };
    function<std::string>(flag, set, help, value ? std::to_string(*value) : "off")
        ->check(CLI::Range(range.least, range.most) | CLI::IsMember({"off"}));
  }
  void operator()(const std::string& flag, std::string& value, const char* help,
                  const Words& words) const {
    text(flag, value, help)->check(CLI::IsMember(words));
  }
  template <class Choice>
  void operator()(const std::string& flag, Choice& value, const char* help,
                  const Words& words) const {
    const auto set = [&value, words](const std::string& word) {
      value = Choice(std::find(words.begin(), words.end(), word) - words.begin());
    };
    function<std::string>(flag, set, help, words[std::size_t(value)])->check(CLI::IsMember(words));
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const std::string& flag, Enum& value, const char* help) const {
    Words words;
    for (std::size_t i = 0; i < enumerators<Enum>; ++i) words.emplace_back(to_string(Enum(i)));
    (*this)(flag, value, help, words);
  }

 private:
  CLI::Option* text(const std::string& flag, std::string& value, const char* help) const {
    return app_.add_option(flag, value, help)->envname(variable_of(flag));
  }
  template <class Given, class Set>
  CLI::Option* function(const std::string& flag, const Set& set, const char* help,
                        const std::string& usual) const {
    return app_.add_option_function<Given>(flag, set, help)
        ->default_str(usual)
        ->envname(variable_of(flag));
  }

  CLI::App& app_;
};

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  options.net.limits.buffered_bytes_max = options.net.limits.connections_max =
      0;  // plan_memory() sets them (resource_plan.hpp)
  CLI::App app(
      "An order-matching exchange: XML over TCP in, price-time matching, every reply after its "
      "commit.\n"
      "Each option can also be given as the environment variable in brackets.",
      "server");
  app.set_version_flag("--version", std::string("server ") + version());
  app.option_defaults()->always_capture_default();
  add_options(options, AddOption(app));
  CLI::Option *const certificate = app.get_option("--tls-cert"), *const key =
                                                                     app.get_option("--tls-key");
  certificate->needs(key);
  key->needs(certificate);

  app.failure_message([](const CLI::App* parsed, const CLI::Error& error) {
    return name_variables(CLI::FailureMessage::simple(parsed, error), variables_used(*parsed));
  });
  ignore_service_links(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  options.variables = variables_used(app);
  if (options.http_bind.empty()) options.http_bind = options.net.bind;
  options.protocol.keys = options.auth.required;
  return options;
}

}  // namespace exchange
