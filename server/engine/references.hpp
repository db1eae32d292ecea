#pragma once
// References keeps the names that accounts give their orders (docs/protocol.md, "Order
// references"), the newest 1,024 of each account. Accounts without references take no memory.
// Thread: that of the Exchange.

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "engine/flat_map.hpp"
#include "engine/rows.hpp"

namespace exchange {

class References {
 public:
  static constexpr std::size_t kept_max = 1'024;  // for one account

  // `seed` has the same purpose as in FlatMap: no client can choose references that collide.
  explicit References(std::uint64_t seed) : seed_(seed) {}

  // Returns null if the account's newest orders do not have this reference.
  const ReferenceRow* find(AccountNumber account, const OrderReference& reference) const {
    const auto known = accounts_.find(account);
    if (known == accounts_.end()) return nullptr;
    const auto found = known->second.rows.find(reference);
    return found == known->second.rows.end() ? nullptr : &found->second;
  }
  // Requires: the reference is new. Forgets the oldest one if there are too many.
  void add(const ReferenceRow& row) {
    OfAccount& known = accounts_.try_emplace(row.account, seed_).first->second;
    const auto [at, is_new] = known.rows.try_emplace(row.reference, row);
    ENSURE(is_new);
    known.oldest_first.push_back(&at->first);
    ++size_;
    if (known.rows.size() <= kept_max) return;
    --size_;
    known.rows.erase(known.rows.find(*known.oldest_first.front()));
    known.oldest_first.pop_front();
  }
  std::size_t size() const { return size_; }
  std::size_t count(AccountNumber account) const {
    const auto known = accounts_.find(account);
    return known == accounts_.end() ? 0 : known->second.rows.size();
  }
  // Visits the references of each account, oldest first; accounts come in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [account, known] : accounts_)
      for (const OrderReference* reference : known.oldest_first)
        visit(known.rows.find(*reference)->second);
  }

 private:
  struct Hash {
    std::uint64_t seed;
    std::size_t operator()(const OrderReference& reference) const {
      std::uint64_t hash = seed ^ reference.view().size();
      for (std::size_t at = 0; at < reference.words(); ++at)
        hash = mix_bits(hash ^ reference.word(at));
      return hash;
    }
  };
  struct OfAccount {
    explicit OfAccount(std::uint64_t seed) : rows(0, Hash{seed}) {}
    std::unordered_map<OrderReference, ReferenceRow, Hash> rows;
    std::deque<const OrderReference*> oldest_first;  // keys of rows
  };

  std::uint64_t seed_;
  std::size_t size_ = 0;
  std::unordered_map<AccountNumber, OfAccount> accounts_;
};

}  // namespace exchange
