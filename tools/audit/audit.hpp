#pragma once
// The audit of a store, from outside: tables, journal, replay, and what clients were told
// (docs/audit.md). Reads only.

#include "tools/audit/findings.hpp"

namespace exchange::audit {

struct AuditOptions {
  std::string store;              // sqlite:PATH or postgresql://...
  std::string acknowledged_file;  // empty: none (acknowledged.hpp)
  bool complete = false;          // that file tells of all orders of its accounts
  std::size_t violations_kept = 100;
};

struct Audit {
  std::string store;  // without secrets
  Findings findings;
};

// Throws CannotRead (source.hpp), std::invalid_argument.
Audit audit(const AuditOptions& options);

// For people, and for programs.
std::string text_of(const Audit& audit);
std::string json_of(const Audit& audit);

}  // namespace exchange::audit
