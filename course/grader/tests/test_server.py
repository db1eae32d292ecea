"""Starts, limits and ends of servers that behave badly, of which nothing may be left; their logs,
and what they use. Also of a docker compose project, with a stand-in for docker that starts the
toy."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from unittest import mock

import compose
import durability
import processes
import toys
import watch
from dialogue import Style
from exchange_server import wait_until
from server import Limits, NotStarted, environment, free_port, run_build
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
        self.refused(self.python("import time; time.sleep(99)"), start_s=0.5)

    def test_one_that_exits_at_once_is_quoted(self):
        reason, server = self.refused("echo 'no such database' >&2; exit 3 # {port}")
        self.assertIn("status 3", reason)
        self.assertIn("no such database", server.tail())

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
                wait_until(lambda: "[]" in server.tail(), "an empty folder", toys.PATIENCE_S)
            self.assertFalse(toys_data.exists())


class Broken(toys.TestCase):
    WAIT = "while not os.path.exists(sys.argv[2] + '/go'): time.sleep(0.02)\n"
    BOMB = "kept = [subprocess.Popen(['sleep', '99']) for _ in range(30)]; time.sleep(99)"

    def breaks(self, code, **limits):
        """A block with a server that breaks a limit once its port was seen."""
        return self.server(self.python(LISTEN + self.WAIT + code) + " {data}", **limits)

    def await_end(self, server):
        (server.data / "go").touch()
        wait_until(lambda: not server.alive(), "its end", toys.PATIENCE_S)

    def killed(self, code, **limits):
        with self.breaks(code, **limits) as server:
            self.await_end(server)
            return server.events

    def test_memory_of_all_its_processes_together(self):
        fork = "b = [os.fork() for _ in range(2)]; kept = bytearray(40 << 20); time.sleep(99)"
        events = self.killed(fork, memory_bytes=100 << 20)
        self.assertIn("of memory", events[0])

    def test_threads_and_processes(self):
        self.assertIn("the limit is 20", self.killed(self.BOMB, threads=20)[0])

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
                # It may end before its port is seen; what it left in the background must go all the
                # same.
                try:
                    with self.server(self.python(code + end), start_s=2):
                        wait_until(lambda: toys.is_running(mark), "a child", toys.PATIENCE_S)
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
            wait_until(lambda: marks.read_text() == "...", "three marks", toys.PATIENCE_S)

    def test_a_restart_command_starts_it_again(self):
        again = self.python(LISTEN + "print('again'); sys.stdout.flush(); time.sleep(99)")
        with self.server(self.python(LISTEN + "time.sleep(99)"), restart=again) as server:
            server.kill()
            server.start_again()
            wait_until(lambda: server.tail().endswith("again"), "its words", toys.PATIENCE_S)

    def test_a_build_that_takes_too_long_is_ended(self):
        mark = uuid.uuid4().hex
        command = f"sleep 99 & exec {self.python('import time; time.sleep(99)')} {mark}"
        submission = Submission("toy", self.folder, build=command)
        how = run_build(submission, self.folder / "out", self.folder / "log", Limits(build_s=0.3))
        self.assertIn("0.3 s", how)
        self.assertFalse(toys.is_running(mark))
        self.assertFalse(processes.servers_processes(None))


# Up starts the toy on a port of its own, kill ends it, port tells where it is. It notes its
# arguments.
DOCKER = """#!/bin/sh
state={state}
echo "$@" >> "$state/calls"
case "$*" in
  "compose version" | version*) exit 0 ;;
  *" up -d") if test -e "$state/pid"; then exit 0; fi
    setsid {toy} > /dev/null 2>&1 & echo $! > "$state/pid" ;;
  *" config --services") echo "db web" ;;
  *" port web 12345") echo "0.0.0.0:{port}" ;;
  *" port "*) exit 1 ;;
  *" kill" | *" down "*) kill -9 $(cat "$state/pid") 2> /dev/null
    rm -f "$state/pid" ;;
  *" ps -q"*) test -e "$state/pid" && echo 123 ;;
esac
"""


class Compose(toys.TestCase):
    def setUp(self):
        super().setUp()
        port = str(free_port())
        toy = self.toy(str(self.folder / "orders")).replace("{port}", port)
        script = DOCKER.replace("{state}", str(self.folder)).replace("{toy}", toy)
        self.write("path/docker", script.replace("{port}", port), executable=True)
        path = f"{self.folder / 'path'}:{os.environ['PATH']}"
        patch = mock.patch.dict(os.environ, PATH=path)
        patch.start()
        self.addCleanup(patch.stop)
        self.submission = Submission("web", self.folder, is_compose=True, slug="web")

    def calls(self):
        return (self.folder / "calls").read_text()

    def test_orders_survive_a_kill_of_all_containers(self):
        self.assertEqual("", compose.why_no_engine())
        plan = {"clients": 2, "kills": 1, "load_s": 0.3, "seed": 1, "timeout_s": 5}
        with compose.ComposeServer(self.submission, Limits(), self.folder, (0,)) as server:
            found = durability.run(server, Style(), plan, time.monotonic() + 30)
        self.assertEqual("", found["problem"])
        self.assertGreater(found["acknowledged"], 0)
        self.assertEqual((0, 0), (found["gone"], found["changed"]))
        self.assertIn("update --cpuset-cpus 0 123", self.calls())
        self.assertIn(f"-p {server.project} down -v", self.calls())

    def test_a_project_that_publishes_nothing(self):
        script = (self.folder / "path/docker").read_text().replace("port web 12345", "port none")
        self.write("path/docker", script, executable=True)
        server = compose.ComposeServer(self.submission, Limits(), self.folder)
        with self.assertRaises(NotStarted) as caught, server:
            pass
        self.assertIn("12345", str(caught.exception))
        self.assertIn("down -v", self.calls())


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
        self.assertTrue(text.endswith("99999\n100000\n"))

    def test_a_writer_without_an_end_is_not_waited_for(self):
        log, _ = self.log_of("exec yes")
        wait_until(lambda: "y\n" in (self.folder / "log").read_text(), "a line", toys.PATIENCE_S)
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
