#pragma once
// Each program calls prepare_process() first in main(), before it opens a file or starts a thread.

namespace exchange {

// Opens /dev/null on descriptors 0 to 2 that the caller left closed. Otherwise a file of the
// program gets such a descriptor, and printed text overwrites that file. Ignores SIGXFSZ: a write
// beyond the limit of file sizes fails with EFBIG instead of ending the process.
// Also arranges that stdout is flushed at the end of the process. If printed text could not be
// written, such as to a full disk, stderr gets `program` and the cause, and the exit status is 1.
// `program` must outlive the process.
void prepare_process(const char* program);

}  // namespace exchange
