#pragma once
// The kinds of metrics. Each metric is declared once, as a member of Metrics, with its name, help
// and labels. It adds itself to a MetricList, from which the text of /metrics is written. Counting
// is one relaxed atomic addition. Any thread, without locks, except where noted.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.hpp"
#include "base/guarded.hpp"
#include "base/histogram.hpp"

namespace exchange {

// Builds text in the Prometheus format, version 0.0.4.
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
class MetricText {
 public:
  // The unit of a histogram's values. Times are written in seconds.
  enum class Unit { nanoseconds, number };

  void family(std::string_view name, std::string_view type, std::string_view help);
  // `labels` has the form used inside the braces: NAME="VALUE",...
  void sample(std::string_view name, const std::string& labels, double value);
  void histogram(const std::string& name, const std::string& labels, const Histogram& histogram,
                 Unit unit);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string metric_label(std::string_view name, std::string_view value);

class Metric;
// Lists metrics in the order of their declarations, which is the order of the text.
using MetricList = std::vector<const Metric*>;

// A Metric is a family of samples that share a name. Its texts must be literals.
class Metric {
 public:
  Metric(const Metric&) = delete;
  void write(MetricText& text) const {
    text.family(name_, type_, help_);
    write_samples(text);
  }

 protected:
  Metric(MetricList& all, const char* type, const char* name, const char* help)
      : name_(name), type_(type), help_(help) {
    all.push_back(this);
  }
  ~Metric() = default;
  virtual void write_samples(MetricText& text) const = 0;

  const char* const name_;

 private:
  const char* const type_;
  const char* const help_;
};

using MetricValue = std::atomic<std::uint64_t>;

class SingleMetric : public Metric, public MetricValue {
 public:
  // Set it before another thread reads it.
  std::string labels;

 protected:
  SingleMetric(MetricList& all, const char* type, const char* name, const char* help,
               double units_of_one)
      : Metric(all, type, name, help), units_of_one_(units_of_one) {}

 private:
  void write_samples(MetricText& text) const override {
    text.sample(name_, labels, double(load()) / units_of_one_);
  }
  const double units_of_one_;
};

// A Counter only grows. It counts from the start of the process, unless its help says otherwise.
// `units_of_one` is the number of units of the value, such as nanoseconds, in one unit of the text,
// such as a second.
struct Counter : SingleMetric {
  Counter(MetricList& all, const char* name, const char* help, double units_of_one = 1)
      : SingleMetric(all, "counter", name, help, units_of_one) {}
};
// A Gauge is set to the current value.
struct Gauge : SingleMetric {
  Gauge(MetricList& all, const char* name, const char* help, double units_of_one = 1)
      : SingleMetric(all, "gauge", name, help, units_of_one) {}
};

// A counter for each value of a label. The values are the enumerators of a described enumeration.
template <class Enum>
class CounterBy : public Metric {
 public:
  CounterBy(MetricList& all, const char* name, const char* label, const char* help)
      : Metric(all, "counter", name, help), label_(label) {}
  MetricValue& operator[](Enum value) { return values_[std::size_t(value)]; }

 private:
  void write_samples(MetricText& text) const override {
    for (std::size_t i = 0; i < values_.size(); ++i)
      text.sample(name_, metric_label(label_, to_string(Enum(i))), double(values_[i]));
  }
  const char* const label_;
  std::array<MetricValue, enumerators<Enum>> values_{};
};

// A histogram of numbers, such as sizes. It takes a lock.
class NumberHistogram : public Metric {
 public:
  NumberHistogram(MetricList& all, const char* name, const char* help)
      : Metric(all, "histogram", name, help) {}
  void record(std::uint64_t value) {
    histogram_.with([&](Histogram& histogram) { histogram.record(value); });
  }

 private:
  void write_samples(MetricText& text) const override {
    const auto copy = histogram_.with([](const Histogram& histogram) { return histogram; });
    text.histogram(name_, "", copy, MetricText::Unit::number);
  }
  mutable Guarded<Histogram> histogram_;
};

}  // namespace exchange
