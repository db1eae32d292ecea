#include "judge/history/journal_file.hpp"

#include "journal/journal_file.hpp"
#include "store/postgres/pqxx_shim.hpp"

namespace exchange::history {
namespace {

void add(std::vector<Batch>& batches, BatchNumber number, std::string_view payload) {
  if (number != batches.size() + 1)
    throw Unusable("the journal has no batch " + std::to_string(batches.size() + 1) + " but has " +
                   std::to_string(number) + ": was the server started with --keep-journal?");
  try {
    batches.push_back({number, decode_journal_record(payload)});
  } catch (const StoreCorrupt& error) {
    throw Unusable("batch " + std::to_string(number) + ": " + error.what());
  }
}

std::vector<Batch> read_sqlite(const std::string& path) {
  std::vector<Batch> batches;
  const auto cannot_read = [&](const std::exception& error) {
    return Unusable("cannot read " + path + ": " + error.what());
  };
  try {
    JournalFile journal(path, JournalFile::Use::read);
    journal.read(0, [&](const JournalRow& row) {
      add(batches, row.batch, row.payload);
      return true;
    });
  } catch (const StoreFenced&) {
    throw Unusable("cannot read " + path + ", which is locked; is a server still running?");
  } catch (const StoreUnavailable& error) {
    throw cannot_read(error);
  } catch (const StoreCorrupt& error) {
    throw cannot_read(error);
  }
  return batches;
}

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes += char(digit(hex[at]) << 4 | digit(hex[at + 1]));
  return bytes;
}

std::vector<Batch> read_postgres(const std::string& url) {
  constexpr int rows_at_once = 1'000;
  std::vector<Batch> batches;
  try {
    pqxx::connection connection(url);
    pqxx::read_transaction work(connection);
    while (true) {
      const auto rows = work.exec(
          "SELECT batch, encode(payload, 'hex') FROM journal WHERE batch > " +
          std::to_string(batches.size()) + " ORDER BY batch LIMIT " + std::to_string(rows_at_once));
      for (const auto& row : rows) add(batches, row[0].as<BatchNumber>(), from_hex(row[1].c_str()));
      if (rows.size() < rows_at_once) return batches;
    }
  } catch (const pqxx::failure& error) {
    throw Unusable(std::string("cannot read the journal: ") + error.what());
  }
}

}  // namespace

std::vector<Batch> read_journal(const std::string& store) {
  if (store.starts_with("sqlite:")) return read_sqlite(store.substr(7) + ".journal");
  if (store.starts_with("postgresql://") || store.starts_with("postgres://"))
    return read_postgres(store);
  throw Unusable("'" + store +
                 "' is neither sqlite:PATH nor postgresql://…: only these keep a journal");
}

}  // namespace exchange::history
