#include "client/report.hpp"

#include <cerrno>
#include <cmath>
#include <memory>
#include <system_error>

namespace exchange::loadgen {
namespace {

double milliseconds(std::uint64_t nanoseconds) { return double(nanoseconds) / 1e6; }

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

// "12 wrong answer, 3 timeout", or `none`.
template <class Kind, std::size_t N>
std::string list(const std::array<std::uint64_t, N>& counts, const char* none) {
  std::string text;
  for (std::size_t i = 0; i < N; ++i)
    if (counts[i] > 0) text += (text.empty() ? "" : ", ") + grouped(counts[i]) + " " + name_of(Kind(i));
  return text.empty() ? none : text;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    char escape[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", *value);
  return text;
}

template <class Kind, std::size_t N>
std::string object(const std::array<std::uint64_t, N>& counts) {
  std::string text = "{";
  for (std::size_t i = 0; i < N; ++i) text += (i ? ", " : "") + quoted(name_of(Kind(i))) + ": " + std::to_string(counts[i]);
  return text + "}";
}

double per_answer_us(double cpu_s, const Tally& tally) { return tally.answered == 0 ? 0 : cpu_s * 1e6 / double(tally.answered); }

void print_problems(std::FILE* out, const Tally& tally) {
  if (!tally.first_refusal.empty()) std::fprintf(out, "first refusal  %s\n", tally.first_refusal.c_str());
  if (!tally.last_connect_error.empty()) std::fprintf(out, "not connected  %s\n", tally.last_connect_error.c_str());
  if (!tally.first_wrong_answer.empty()) std::fprintf(out, "wrong answer   %s\n", tally.first_wrong_answer.c_str());
}

}  // namespace

double Report::requests_per_s() const { return tally.seconds > 0 ? double(tally.answered) / tally.seconds : 0; }
double Report::client_cpu_us() const { return per_answer_us(client_cpu_s, tally); }
std::optional<double> Report::server_cpu_us() const {
  return server_cpu_s ? std::optional(per_answer_us(*server_cpu_s, tally)) : std::nullopt;
}

bool Report::client_was_the_bottleneck() const {
  return client_cpu_s > 0.9 * measured_s && (!server_cpu_s || client_cpu_s > *server_cpu_s);
}

void print_text(std::FILE* out, const Report& report) {
  const Tally& tally = report.tally;
  const Options& options = report.options;
  if (report.client_was_the_bottleneck())
    std::fprintf(out, "WARNING: the client was the bottleneck (%.0f %% of a core): the server could do more than this.\n",
                 100 * report.client_cpu_s / report.measured_s);
  std::fprintf(out, "%s, %u clients, %s connections, seed %llu%s; %s\n", name_of(options.workload.kind), options.load.clients,
               name_of(options.load.connection), static_cast<unsigned long long>(options.workload.seed),
               options.load.check_replies ? "" : ", replies not checked", report.server.c_str());
  std::fprintf(out, "requests       %s answered in %.3f s%s\n", grouped(tally.answered).c_str(), tally.seconds,
               tally.stopped ? ", stopped early" : "");
  std::fprintf(out, "throughput     %s requests/s\n", grouped(std::uint64_t(report.requests_per_s() + 0.5)).c_str());
  const Histogram& latency = tally.latency_ns;
  std::fprintf(out, "latency        mean %.3f  p50 %.3f  p95 %.3f  p99 %.3f  max %.3f ms\n", latency.mean() / 1e6,
               milliseconds(latency.quantile(0.5)), milliseconds(latency.quantile(0.95)), milliseconds(latency.quantile(0.99)),
               milliseconds(latency.max()));
  std::fprintf(out, "errors         %s\n", list<ErrorClass>(tally.errors, "none").c_str());
  std::fprintf(out, "refused        %s\n", list<RequestKind>(tally.refused, "none").c_str());
  print_problems(out, tally);
  std::fprintf(out, "client CPU     %.2f us per request, %.0f %% of a core\n", report.client_cpu_us(),
               report.measured_s > 0 ? 100 * report.client_cpu_s / report.measured_s : 0);
  if (report.server_cpu_s)
    std::fprintf(out, "server CPU     %.2f us per request, %.0f %% of a core\n", *report.server_cpu_us(),
                 report.measured_s > 0 ? 100 * *report.server_cpu_s / report.measured_s : 0);
  if (report.server_resident_bytes)
    std::fprintf(out, "server memory  %.1f MB resident at the end\n", double(*report.server_resident_bytes) / 1e6);
}

void write_json(const std::string& path, const Report& report) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (!file) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
  const Tally& tally = report.tally;
  const Options& options = report.options;
  const Histogram& latency = tally.latency_ns;
  const auto line = [&](const char* name, const std::string& value, const char* end = ",") {
    std::fprintf(file.get(), "  \"%s\": %s%s\n", name, value.c_str(), end);
  };
  const auto boolean = [](bool value) { return std::string(value ? "true" : "false"); };
  std::fputs("{\n", file.get());
  line("workload", quoted(name_of(options.workload.kind)));
  line("clients", std::to_string(options.load.clients));
  line("connection", quoted(name_of(options.load.connection)));
  line("symbols", std::to_string(options.workload.symbols));
  line("seed", std::to_string(options.workload.seed));
  line("account_prefix", quoted(options.workload.account_prefix));
  line("reply_check", boolean(options.load.check_replies));
  line("server", quoted(report.server));
  line("requests", std::to_string(tally.answered));
  line("stopped_early", boolean(tally.stopped));
  line("seconds", number(tally.seconds));
  line("requests_per_s", number(report.requests_per_s()));
  line("latency_mean_ms", number(latency.mean() / 1e6));
  line("latency_p50_ms", number(milliseconds(latency.quantile(0.5))));
  line("latency_p95_ms", number(milliseconds(latency.quantile(0.95))));
  line("latency_p99_ms", number(milliseconds(latency.quantile(0.99))));
  line("latency_max_ms", number(milliseconds(latency.max())));
  line("errors", object<ErrorClass>(tally.errors));
  line("refused", object<RequestKind>(tally.refused));
  line("first_refusal", quoted(tally.first_refusal));
  line("last_connect_error", quoted(tally.last_connect_error));
  line("first_wrong_answer", quoted(tally.first_wrong_answer));
  line("client_cpu_us_per_request", number(report.client_cpu_us()));
  line("server_cpu_us_per_request", number(report.server_cpu_us()));
  line("server_resident_bytes", report.server_resident_bytes ? std::to_string(*report.server_resident_bytes) : "null");
  line("client_was_the_bottleneck", boolean(report.client_was_the_bottleneck()), "");
  std::fputs("}\n", file.get());
  if (std::ferror(file.get())) throw std::runtime_error("cannot write " + path);
}

}  // namespace exchange::loadgen
