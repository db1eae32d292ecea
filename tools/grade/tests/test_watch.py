"""What the grader sees of a server while it runs: its log, and what it uses."""

import os
import socket
import subprocess
import tempfile
from unittest import mock

import processes
import toys
import watch


class Logs(toys.TestCase):
    def log_of(self, command):
        """A log, and the process that writes it."""
        log = watch.Log(self.write("log", "$ begin\n"))
        run = subprocess.Popen(["/bin/sh", "-c", command], stdout=log.input)
        os.close(log.input)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return log, run

    def test_all_that_was_written_is_there_when_its_writer_has_ended(self):
        log, run = self.log_of("seq 100000")
        run.wait()
        log.end()
        wanted = "$ begin\n" + "".join(f"{nth}\n" for nth in range(1, 100001))
        self.assertEqual(wanted, (self.folder / "log").read_text())

    def test_of_a_long_one_the_end_is_kept(self):
        with mock.patch.object(watch, "LOG_BYTES_MAX", 50_000):
            log, run = self.log_of("seq 100000")
            run.wait()
            log.end()
        text = (self.folder / "log").read_text()
        self.assertLess(len(text), 200_000)
        self.assertTrue(text.startswith("(the log was too long; its beginning is gone)\n"))
        self.assertTrue(text.endswith("99999\n100000\n"))

    def test_a_writer_without_an_end_is_not_waited_for(self):
        log, _ = self.log_of("exec yes")
        self.assertTrue(toys.waits_for(lambda: "y\n" in (self.folder / "log").read_text()))
        log.end()

    def test_a_full_disk_does_not_stop_the_writer(self):
        with mock.patch.object(watch.Log, "_write", side_effect=OSError(28, "no space")):
            log, run = self.log_of("seq 100000")
            self.assertEqual(0, run.wait(toys.PATIENCE_S))
            log.end()


class Uses(toys.TestCase):
    def test_files_without_a_name_count_once_wherever_they_are_open(self):
        memory = os.memfd_create("x")
        self.addCleanup(os.close, memory)
        before = processes.unnamed_files_bytes([os.getpid()], 0)[0]
        os.write(memory, b"x" * (1 << 20))
        other = os.dup(memory)
        self.addCleanup(os.close, other)
        found = processes.unnamed_files_bytes([os.getpid()], 0)[0]
        self.assertEqual(1 << 20, found - before)

    def test_a_file_without_a_name_counts_for_its_disk(self):
        with tempfile.TemporaryFile(dir=self.folder) as file:
            file.write(b"x" * (1 << 20))
            file.flush()
            device = os.stat(self.folder).st_dev
            self.assertGreaterEqual(
                processes.unnamed_files_bytes([os.getpid()], device)[1], 1 << 20
            )
            self.assertEqual(0, processes.unnamed_files_bytes([os.getpid()], -1)[1])

    def test_what_is_on_its_way_through_sockets_counts(self):
        before = processes.socket_bytes()
        sender, receiver = socket.socketpair(socket.AF_UNIX)
        with sender, receiver:
            sender.send(b"x" * 100_000)
            found = processes.socket_bytes()
        if not found:
            self.skipTest("the kernel has no list of UNIX sockets")
        self.assertGreater(found - before, 90_000)

    def test_more_open_files_than_the_grader_looks_at(self):
        with mock.patch.object(processes, "OPEN_FILES_MAX", 1):
            with self.assertRaises(processes.TooManyFiles):
                processes.unnamed_files_bytes([os.getpid()], 0)

    def test_others_may_take_more_if_several_submissions_run(self):
        limit, others = 1 << 30, watch.BYTES_OF_OTHERS
        taken = limit + others + (1 << 20)
        self.assertEqual(taken >> 20, watch._above(taken, limit))
        with mock.patch.object(watch, "at_once", 2):
            self.assertEqual(0, watch._above(taken, limit))

    def test_a_closed_folder_counts(self):
        self.write("a/b/file", "x" * 100_000)
        (self.folder / "a/b").chmod(0)
        self.assertGreater(processes.folder_bytes(self.folder / "a"), 100_000)

    def test_a_link_that_replaces_a_folder_meanwhile_is_not_followed(self):
        outside = self.write("outside/in/file", "x" * 1_000_000).parent
        outside.chmod(0)
        blocks = processes._blocks

        def replaced(entry):
            """A link to the outside has the place of a/sub once `at` was seen."""
            if entry.name == at:
                sub.rename(self.folder / f"gone-{at}")
                sub.symlink_to(self.folder / "outside")
            return blocks(entry)

        for at in ("sub", "in"):
            sub = self.folder / f"a-{at}/sub"
            self.write(f"a-{at}/sub/in/file", "x")
            with mock.patch.object(processes, "_blocks", replaced):
                self.assertLess(processes.folder_bytes(sub.parent), 100_000, at)
            self.assertTrue(sub.is_symlink())
        self.assertEqual(0, outside.stat().st_mode & 0o777)
        outside.chmod(0o700)
