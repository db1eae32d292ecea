#pragma once
// What each program does first in main(), before it opens a file or starts a thread.

namespace exchange {

// Opens /dev/null on descriptors 0 to 2 that the caller left closed: else a file of the program
// gets such a descriptor, and what is printed overwrites that file. Ignores SIGXFSZ: a write beyond
// the limit of file sizes fails with EFBIG instead of ending the process.
// At the end of the process stdout is flushed: if something that was printed could not be written,
// such as to a full disk, stderr gets `program` and the cause, and the status is 1. `program` must
// outlive the process.
void prepare_process(const char* program);

}  // namespace exchange
