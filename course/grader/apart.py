"""Work in a process of its own: it may give up the network, and its end is not that of the grader.
"""

import os
import pickle
import signal
import sys
import traceback

import processes

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 130


class Died(Exception):
    """One sentence: how the process ended without a result."""


def run(work):
    """The result of work(). Raises Died, or KeyboardInterrupt if a signal ended it."""
    return finish(start(work))


def start(work):
    """Begins work(), for finish()."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _child(work, writer)
    os.close(writer)
    return pid, reader


def finish(begun):
    """As run()."""
    pid, reader = begun
    try:
        with open(reader, "rb") as file:
            data = file.read()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except BaseException:
        os.kill(pid, signal.SIGTERM)  # Ctrl-C alone has reached it too
        os.waitpid(pid, 0)
        raise
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status:
        how = f"signal {-status}" if status < 0 else f"status {status}"
        raise Died(f"the grader's process for it ended with {how}")
    return pickle.loads(data)


def _child(work, writer):
    status = 1
    try:
        processes.end_with_parent()
        processes.adopt_orphans()
        for number in SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, signal.SIG_DFL):
                signal.signal(number, _interrupt)
        result = work()
        with open(writer, "wb") as file:
            pickle.dump(result, file)
        status = 0
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        ignore_signals()
        processes.kill_all(None)
        sys.stderr.flush()
        os._exit(status)


def _interrupt(*_):
    ignore_signals()  # the parent's comes too, in the middle of the end
    raise KeyboardInterrupt


def ignore_signals():
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
