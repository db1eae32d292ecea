#pragma once
// The smallest projection: the rows of one new account.

#include "engine/exchange.hpp"

namespace exchange::testing {

inline Rows one_account() {
  Exchange exchange;
  exchange.apply(CreateAccount{AccountId("1"), Cash::whole(1)}, {});
  Rows rows;
  exchange.take_changes(rows);
  return rows;
}

}  // namespace exchange::testing
