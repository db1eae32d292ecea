#pragma once
// What each program does first in main(), before it opens a file or starts a thread.

namespace exchange {

// Opens /dev/null on descriptors 0 to 2 that the caller left closed: else a file of the program
// gets such a descriptor, and what is printed overwrites that file. Ignores SIGXFSZ: a write beyond
// the limit of file sizes fails with EFBIG instead of ending the process.
void prepare_process();

}  // namespace exchange
