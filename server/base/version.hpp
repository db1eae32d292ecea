#pragma once
// The version of this build, for --version and reports.

namespace exchange {

const char* version();  // "0.5.0 (commit 1a2b3c4d5e)"
const char* commit();   // "1a2b3c4d5e"; with "-dirty" if files were changed since

}  // namespace exchange
