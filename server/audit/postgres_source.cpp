// Reads a PostgreSQL store on one connection, in one read-only transaction with one snapshot
// (repeatable read), so that journal and tables are of the same moment even while a server writes.
// Takes only the locks of a reader, which do not delay a server; needs only the SELECT privilege.

#include "audit/source.hpp"
#include "base/text.hpp"
#include "journal/store_errors.hpp"
#include "store/postgres/postgres_connection.hpp"
#include "store/postgres/postgres_rows.hpp"

namespace exchange::audit {
namespace {

constexpr int rows_at_once = 5'000;
constexpr std::size_t selected_at_once = 100;  // a row may have hundreds of kilobytes

// Runs `work`; failures of libpqxx become CannotRead.
template <class Work>
auto translated(Work work) {
  try {
    return work();
  } catch (const pqxx::failure& error) {
    std::string text = std::string("PostgreSQL: ") + error.what();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    throw CannotRead(text);
  } catch (const StoreUnavailable& error) {
    throw CannotRead(error.what());
  }
}

std::int64_t integer_of(const pqxx::field& field) {
  const auto value = parse_number<std::int64_t>(field.is_null() ? "" : field.c_str());
  if (!value) throw BadValue(std::string(field.name()) + " is not an integer");
  return *value;
}

class Cursor final : public RowStream {
 public:
  Cursor(pqxx::transaction_base& work, const std::string& select) {
    translated([&] { stream_.emplace(work, select, "audit", rows_at_once); });
  }

  bool next() override {
    if (++at_ < int(rows_.size())) return true;
    translated([&] { *stream_ >> rows_; });
    at_ = 0;
    return !rows_.empty();
  }
  std::int64_t integer(int column) const override { return integer_of(rows_[at_][column]); }
  std::string_view text(int column) const override { return rows_[at_][column].c_str(); }

 private:
  std::optional<pqxx::icursorstream> stream_;
  pqxx::result rows_;
  int at_ = 0;
};

class PostgresSource final : public Source {
 public:
  explicit PostgresSource(const std::string& url)
      : hosts_(url + (url.find('?') == std::string::npos ? "?" : "&") +
               "application_name=exchange-audit"),
        description_(hosts_.description()) {
    translated([&] {
      connection_ = hosts_.connect().connection;
      pqxx::nontransaction(*connection_)
          .exec(
              "SET bytea_output = hex; SET client_min_messages = warning; SET "
              "default_transaction_read_only = on");
      work_ = std::make_unique<SnapshotWork>(*connection_);
      const pqxx::result fence = work_->exec("SELECT epoch, schema_version FROM fence");
      if (fence.size() != 1) throw CannotRead(description_ + " is not a store of the exchange");
      require_this_format(description_, integer_of(fence[0][1]));
      epoch_ = Epoch(integer_of(fence[0][0]));
    });
  }
  ~PostgresSource() override { work_.reset(); }

  std::string describe() const override { return description_; }
  std::unique_ptr<RowStream> tables(const std::string& select) override {
    return std::make_unique<Cursor>(*work_, select);
  }
  std::string journal_hidden() const override { return {}; }
  Epoch epoch() const override { return epoch_; }
  std::optional<Epoch> tables_epoch() const override { return {}; }
  std::optional<BatchNumber> acknowledged() const override { return {}; }

  std::vector<JournalRow> journal(BatchNumber after) override {
    return translated([&] { return select_journal(*work_, "journal", after, selected_at_once); });
  }

  // PostgreSQL has its own tools to check its files: pg_amcheck, pg_checksums.
  bool check_files(Findings&) override { return true; }

 private:
  PostgresHosts hosts_;
  const std::string description_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<SnapshotWork> work_;
  Epoch epoch_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_postgres_source(const std::string& url) {
  return std::make_unique<PostgresSource>(url);
}

}  // namespace exchange::audit
