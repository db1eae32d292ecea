#include "client/loadgen/audit_input.hpp"

namespace exchange::loadgen {

AuditInput audit_input(const Workload& workload, const LoadOptions& load, History history) {
  AuditInput input{
      .symbol_name = [&workload](unsigned symbol) { return workload.symbol_name(symbol); },
      .probe_symbol = workload.options().symbol_prefix + "X",
      .precision = load.audit_precision,
      .lenient = load.lenient};
  if (workload.trades()) {  // accounts that the set-up created, by number, as orders name them
    for (std::uint32_t account = 0; account < workload.accounts(); ++account) {
      AuditAccount& created = input.accounts.emplace_back(
          AuditAccount{workload.account_id(account), workload.options().cash, {}});
      for (unsigned symbol = 1; symbol <= workload.options().symbols; ++symbol)
        created.shares.push_back({std::uint16_t(symbol), workload.shares_per_account()});
    }
  }
  const std::size_t stride =
      (history.new_accounts.size() + new_accounts_audited_max - 1) / new_accounts_audited_max;
  for (std::size_t i = 0; i < history.new_accounts.size(); i += stride) {
    const NewAccount& account = history.new_accounts[i];
    char id[128];
    char* const end = write_new_account(id, workload, account.client, account.number);
    AuditAccount& created = input.accounts.emplace_back(
        AuditAccount{std::string(id, end), Workload::cash_of_new_account, {}});
    if (account.symbol != 0) created.shares.push_back({account.symbol, account.shares});
  }
  input.history = std::move(history);
  return input;
}

}  // namespace exchange::loadgen
