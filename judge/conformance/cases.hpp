#pragma once
// The test cases, each of one rule. A case runs several times, with other data each time.

#include <vector>

#include "judge/conformance/talk.hpp"

namespace exchange::conformance {

struct Case {
  const char* rule;  // its number in docs/protocol.md
  const char* name;
  void (*run)(Talk&);
  bool once = false;  // a second round would show nothing new, and takes long
};

std::vector<Case> all_cases();

using Cases = std::vector<Case>;
void add_framing_cases(Cases& cases);
void add_document_cases(Cases& cases);
void add_reply_cases(Cases& cases);
void add_create_cases(Cases& cases);
void add_transaction_cases(Cases& cases);
void add_reference_cases(Cases& cases);
void add_term_cases(Cases& cases);
void add_cancel_cases(Cases& cases);
void add_replace_cases(Cases& cases);
void add_market_cases(Cases& cases);
void add_number_cases(Cases& cases);
void add_concurrency_cases(Cases& cases);

}  // namespace exchange::conformance
