"""The journal file of a SQLite store (server/journal/journal_file.hpp): as much of its format as
tests need."""

import struct
from pathlib import Path

HEADER_BYTES, BLOCK_HEADER_BYTES, FRAGMENT_HEADER_BYTES, ALIGN_BYTES = 4096, 32, 32, 32


def fragments(path):
    """Offset and bytes of each fragment in the first block of a file; its end is zeros."""
    with open(path, "rb") as file:
        (block_bytes,) = struct.unpack_from("<Q", file.read(HEADER_BYTES), 40)
        block = file.read(block_bytes)
    at = BLOCK_HEADER_BYTES
    while any(header := block[at : at + FRAGMENT_HEADER_BYTES]):
        (payload,) = struct.unpack_from("<I", header, 8)
        size = FRAGMENT_HEADER_BYTES + -(-payload // ALIGN_BYTES) * ALIGN_BYTES
        yield HEADER_BYTES + at, size
        at += size


def bytes_of_records(path):
    """The bytes of records in the first block; 0 if there is no file yet."""
    if not Path(path).exists() or Path(path).stat().st_size <= HEADER_BYTES:
        return 0
    return sum(size for _, size in fragments(path))


def lose_newest_record(path):
    """Zeros in place of the newest record, of a file with one block: as if its write never reached
    the disk."""
    offset, size = list(fragments(path))[-1]
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(bytes(size))
