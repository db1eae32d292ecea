#include <algorithm>
#include <boost/algorithm/string/replace.hpp>

#include "store/kept_days.hpp"
#include "store/postgres/postgres_connection.hpp"
#include "store/postgres/postgres_rows.hpp"
#include "store/postgres/postgres_store.hpp"

namespace exchange {
namespace {

constexpr std::size_t rows_at_once = 1'000;  // a row may have hundreds of kilobytes

class PostgresDayJournal final : public JournalReader {
 public:
  PostgresDayJournal(PostgresConnection& connection, std::string schema)
      : connection_(connection), schema_(std::move(schema)) {}

  std::vector<JournalRow> read(BatchNumber after, std::size_t rows_max) override {
    return connection_.with([&](pqxx::connection& connection) {
      pqxx::nontransaction work(connection);
      return select_journal(work, schema_ + ".journal", after, std::min(rows_at_once, rows_max));
    });
  }
  BatchNumber newest() override {
    return connection_.with([&](pqxx::connection& connection) {
      return pqxx::nontransaction(connection)
          .exec("SELECT GREATEST((SELECT max(batch) FROM " + schema_ +
                ".projection), (SELECT max(batch) FROM " + schema_ + ".journal), 0)")[0][0]
          .as<BatchNumber>();
    });
  }

 private:
  PostgresConnection& connection_;
  const std::string schema_;
};

class PostgresDays final : public KeptDays {
 public:
  PostgresDays(const std::string& url, const StoreLimits& limits)
      : hosts_(url), connection_(hosts_, limits.bulk_answer_max, [](pqxx::connection& connection) {
          pqxx::nontransaction(connection).exec("SET default_transaction_read_only = on");
        }) {}

  std::vector<std::string> names() override {
    return connection_.with([](pqxx::connection& connection) {
      std::vector<std::string> names;
      for (const auto& row : pqxx::nontransaction(connection)
                                 .exec("SELECT nspname FROM pg_namespace WHERE starts_with("
                                       "nspname::text, '" +
                                       schema_of_day("") +
                                       "') AND to_regclass(quote_ident(nspname) || '.fence') IS "
                                       "NOT NULL ORDER BY nspname COLLATE \"C\"")) {
        const std::string schema = row[0].c_str();
        const std::string day =
            boost::replace_all_copy(schema.substr(schema_of_day("").size()), "_", "-");
        if (is_day_name(day) && schema_of_day(day) == schema) names.push_back(day);
      }
      return names;
    });
  }

  std::unique_ptr<JournalReader> open(const std::string& day) override {
    if (!is_day_name(day)) return nullptr;
    const std::string schema = schema_of_day(day);
    const bool exists = connection_.with([&](pqxx::connection& connection) {
      return pqxx::nontransaction(connection)
          .exec("SELECT to_regclass('" + schema + ".fence') IS NOT NULL")[0][0]
          .as<bool>();
    });
    if (!exists) return nullptr;
    return std::make_unique<PostgresDayJournal>(connection_, schema);
  }

 private:
  PostgresHosts hosts_;
  PostgresConnection connection_;
};

}  // namespace

std::unique_ptr<KeptDays> make_postgres_days(const std::string& url, const StoreLimits& limits) {
  return std::make_unique<PostgresDays>(url, limits);
}

}  // namespace exchange
