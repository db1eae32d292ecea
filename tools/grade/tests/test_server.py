"""Starts, limits and ends of servers that behave badly. Nothing of them may be left."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
import uuid
from unittest import mock

import processes
import toys
from server import (
    CommandServer,
    Limits,
    NotStarted,
    environment,
    first_error,
    free_port,
    run_build,
)
from submissions import Submission

LISTEN = (
    "import os,socket,subprocess,sys,time\ns=socket.create_server(('127.0.0.1',int(sys.argv[1])))\n"
)


class Starts(toys.TestCase):
    def refused(self, command, **limits):
        server = self.server(command, **limits)
        with self.assertRaises(NotStarted) as caught, server:
            pass
        self.assertFalse(processes.servers_processes(None))
        return str(caught.exception), server

    def test_one_that_never_listens(self):
        reason, _ = self.refused(self.python("import time; time.sleep(99)"), start_s=0.5)
        self.assertIn("did not listen on port", reason)

    def test_one_that_exits_at_once_is_quoted(self):
        reason, server = self.refused("echo 'no such database' >&2; exit 3 # {port}")
        self.assertIn("ended with status 3", reason)
        self.assertIn("no such database", server.tail())

    def test_a_command_that_does_not_exist(self):
        reason, server = self.refused("./nothing-here {port}")
        self.assertIn("status 127", reason)
        self.assertIn("not found", server.tail())

    def test_the_first_error_of_a_log_is_found(self):
        log = self.write(
            "log", "$ make error\ncc -Werror a.c\na.c:3: error: no x\nmake: *** Error 1\n"
        )
        self.assertEqual("a.c:3: error: no x", first_error(log))
        self.assertEqual("", first_error(self.write("log", "0 warnings\n")))
        self.assertEqual("", first_error(self.folder / "none"))

    def test_a_machine_without_core_files_starts_it(self):
        code = "import subprocess, sys, server, submissions; from pathlib import Path\n"
        code += "one = submissions.Submission('x', Path('/'))\n"
        code += "words = server.protected('exit 7', one, Path('/'), server.Limits())\n"
        code += "sys.exit(subprocess.run(words).returncode)"
        command = ["prlimit", "--core=0:0", "--", sys.executable, "-c", code]
        without = ["setpriv", "--inh-caps=-sys_resource", "--bounding-set=-sys_resource", "--"]
        is_root = os.geteuid() == 0
        for may_raise in (False, True)[: 1 + is_root]:
            words = [*without * (is_root and not may_raise), *command]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual((7, ""), (done.returncode, done.stderr), may_raise)

    def test_a_script_does_not_see_cdpath(self):
        with mock.patch.dict(os.environ, CDPATH="/tmp", EXCHANGE_STORE="x"):
            self.assertFalse({"CDPATH", "EXCHANGE_STORE"} & set(environment()))

    def test_a_fixed_port_that_another_program_has(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            submission = Submission("toy", self.folder, "exit 1", port=port, slug="toy")
            with self.assertRaises(NotStarted) as caught:
                CommandServer(submission, Limits(), self.folder).__enter__()
        self.assertIn(
            f"another program of this machine listens on its port {port}", str(caught.exception)
        )

    def test_a_fixed_port_is_used_for_each_start(self):
        code = LISTEN.replace("int(sys.argv[1])", str(free_port())) + "time.sleep(99)"
        port = int(re.search(r"1',(\d+)", code)[1])
        submission = Submission("toy", self.folder, self.python(code), port=port, slug="toy")
        with CommandServer(submission, Limits(start_s=toys.PATIENCE_S), self.folder) as server:
            server.kill()
            server.start_again()
            self.assertEqual(port, server.port)

    def test_one_that_eats_memory(self):
        eater = "import time\nkept = bytearray(200 << 20)\ntime.sleep(99)"
        reason, _ = self.refused(self.python(eater), memory_bytes=50 << 20)
        self.assertRegex(reason, "killed: it used .* MB of memory, the limit is 50 MB")

    def test_the_ready_port_is_seen_without_a_connection(self):
        # It serves one connection in its life, as it must not be the grader's.
        once = LISTEN + "s.accept()[0].close(); time.sleep(0.2)"
        with self.server(self.python(once)) as server:
            time.sleep(0.3)
            self.assertTrue(server.alive())

    def test_its_own_folder_is_empty_and_goes_away(self):
        look = LISTEN + "print(os.listdir(sys.argv[2])); open(sys.argv[2]+'/x','w'); time.sleep(99)"
        for _ in range(2):
            with self.server(self.python(look) + " {data}") as server:
                toys_data = server.data
                self.assertTrue(toys.waits_for(lambda: "[]" in server.tail()), server.tail())
            self.assertFalse(toys_data.exists())


class Broken(toys.TestCase):
    WAIT = "while not os.path.exists(sys.argv[2] + '/go'): time.sleep(0.02)\n"
    BOMB = "kept = [subprocess.Popen(['sleep', '99']) for _ in range(30)]; time.sleep(99)"

    def breaks(self, code, **limits):
        """A block with a server that breaks a limit once its port was seen."""
        return self.server(self.python(LISTEN + self.WAIT + code) + " {data}", **limits)

    def await_end(self, server):
        (server.data / "go").touch()
        self.assertTrue(toys.waits_for(lambda: not server.alive()))

    def killed(self, code, **limits):
        with self.breaks(code, **limits) as server:
            self.await_end(server)
            return server.events

    def test_memory_of_all_its_processes_together(self):
        fork = "b = [os.fork() for _ in range(2)]; kept = bytearray(40 << 20); time.sleep(99)"
        events = self.killed(fork, memory_bytes=100 << 20)
        self.assertRegex(events[0], "of memory")

    def test_threads_and_processes(self):
        self.assertRegex(
            self.killed(self.BOMB, threads=20)[0], "threads and processes, the limit is 20"
        )

    def test_what_kills_it_has_ended_before_its_data_is_removed(self):
        kill_all, goes_on = processes.kill_all, threading.Event()

        def slow(first):
            kill_all(first)
            goes_on.wait()

        with self.breaks(self.BOMB, threads=20) as server:
            with mock.patch("processes.kill_all", slow):
                self.await_end(server)
            threading.Timer(0.3, goes_on.set).start()
            server.kill()
            self.assertFalse(server.watches[0].is_alive())

    def test_disk(self):
        fill = "open(sys.argv[2] + '/x', 'wb').write(os.urandom(3 << 20)); time.sleep(99)"
        self.assertRegex(self.killed(fill, disk_bytes=1 << 20)[0], "its data took 3 MB")


class Ends(toys.TestCase):
    def test_children_are_gone_with_their_server(self):
        mark = uuid.uuid4().hex
        child = f"[sys.executable, '-c', 'import time; time.sleep(99)', '{mark}']"
        code = (
            LISTEN
            + f"subprocess.Popen({child}); subprocess.Popen({child}, start_new_session=True); "
        )
        for end in ("time.sleep(99)", "os._exit(0)"):
            with self.subTest(end=end):
                # It may end before its port is seen; what it left in the background must go all the same.
                try:
                    with self.server(self.python(code + end), start_s=2):
                        self.assertTrue(toys.waits_for(lambda: toys.is_running(mark)))
                except NotStarted:
                    pass
                self.assertFalse(toys.is_running(mark))

    def test_one_that_ignores_a_request_to_end(self):
        deaf = "import signal; signal.signal(15, signal.SIG_IGN); " + LISTEN + "time.sleep(99)"
        with self.server(self.python(deaf)) as server:
            first = server.process.pid
        self.assertFalse(os.path.exists(f"/proc/{first}"))

    def test_a_kill_keeps_the_data_and_a_restart_the_port(self):
        count = LISTEN + "open(sys.argv[2]+'/x','a').write('.'); time.sleep(99)"
        with self.server(self.python(count) + " {data}") as server:
            port = server.port
            self.assertTrue(server.restart())
            self.assertEqual(port, server.port)
            server.kill()
            self.assertFalse(server.alive())
            server.start_again()
            marks = server.data / "x"
            self.assertTrue(toys.waits_for(lambda: marks.read_text() == "..."), marks.read_text())

    def test_a_restart_command_starts_it_again(self):
        again = self.python(LISTEN + "print('again'); sys.stdout.flush(); time.sleep(99)")
        with self.server(self.python(LISTEN + "time.sleep(99)"), restart=again) as server:
            server.kill()
            server.start_again()
            self.assertTrue(toys.waits_for(lambda: server.tail().endswith("again")), server.tail())

    def test_a_build_that_takes_too_long_is_ended(self):
        mark = uuid.uuid4().hex
        command = f"sleep 99 & exec {self.python('import time; time.sleep(99)')} {mark}"
        submission = Submission("toy", self.folder, build=command)
        how = run_build(submission, self.folder / "out", self.folder / "log", Limits(build_s=0.3))
        self.assertEqual("took more than 0.3 s", how)
        self.assertFalse(toys.is_running(mark))
        self.assertFalse(processes.servers_processes(None))
