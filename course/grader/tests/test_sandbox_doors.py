"""Ways out of the sandbox, each tried by itself: what a submission is, sees, may call and leaves
behind."""

import json
import os
import platform
import re
import shutil
import socket
import stat
import struct
import sys
import unittest
import uuid
from contextlib import suppress
from pathlib import Path
from unittest import mock

import apart
import sandbox
import server
import syscalls
import toys
from server import CommandServer, Limits
from submissions import Submission
from test_sandbox import WHY_NOT

PROBES = Path(__file__).parent / "hostile/probes.py"
REFUSED = {"EPERM", "ENOSYS"}
STATUS, MAP = (Path("/proc/self", name).read_text() for name in ("status", "uid_map"))
CAP_SYS_ADMIN = 1 << 21
# Root, unless it is that of a container, or of a user namespace with few users.
HAS_USERS = bool(int(re.search(r"CapEff:\s*(\w+)", STATUS)[1], 16) & CAP_SYS_ADMIN)
HAS_USERS = HAS_USERS and os.geteuid() == 0 and "4294967295" in MAP
X86_HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
GENERIC_HEADER = Path("/usr/include/asm-generic/unistd.h")


def results_of(log):
    found = {}
    for line in log.read_text().splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    return found


def build(one, work, log, limits):
    """As the grader does it; returns how it failed."""

    def run():
        if limits.sandbox:
            sandbox.enter()
        with sandbox.lent(one.top if limits.sandbox else None):
            return server.run_build(one, work, log, limits)

    return apart.run(run)


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
class Doors(unittest.TestCase):
    TOPS = ("/opt", "/usr/local")

    @classmethod
    def setUpClass(cls):
        case = cls.case = toys.TestCase()
        case.setUp()
        cls.addClassCleanup(case.doCleanups)
        cls.top, cls.work = case.folder / "all/eve", case.folder / "out/eve"
        cls.work.mkdir(parents=True)
        case.write("out/ada/conformance.json", "{}")
        cls.top.mkdir(parents=True)
        shutil.copy(PROBES, cls.top)
        outside = socket.socket(socket.AF_UNIX)
        cls.addClassCleanup(outside.close)
        cls.name = uuid.uuid4().hex
        outside.bind("\0" + cls.name)
        outside.listen()
        cls.secrets = list(map(str, cls.hide()))
        cls.found = cls.probe(Limits(sandbox=True))

    @classmethod
    def hide(cls):
        """Files that only the grader may read, where it may write any."""
        for top in cls.TOPS:
            with suppress(OSError):
                file = Path(top, f"grade-test-{uuid.uuid4().hex}")
                file.write_text("secret")
                cls.addClassCleanup(file.unlink)
                file.chmod(0o600)
                yield file
        sandbox.system.cache_clear()
        cls.addClassCleanup(sandbox.system.cache_clear)

    @classmethod
    def probe(cls, limits, only=""):
        """Results of the probes, which run as a build does."""
        words = ["RESULTS=" + str(cls.work), "PROBES=" + only, toys.PYTHON, "probes.py", cls.name]
        command = " ".join([*words, *cls.secrets])
        one = Submission("eve", cls.top, "x", build=command, top=cls.top, slug="eve")
        log = cls.work / "build.log"
        log.unlink(missing_ok=True)
        how = build(one, cls.work, log, limits)
        cls.mode_of_log = stat.S_IMODE(log.stat().st_mode)
        assert not how, f"{how}: {log.read_text()}"
        return results_of(log)

    def test_it_has_no_privileges_and_is_never_root(self):
        found = self.found["identity"]
        self.assertEqual(
            [0] * 4, [found[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")]
        )
        self.assertEqual((1, 2), (found["NoNewPrivs"], found["Seccomp"]))
        if HAS_USERS:
            self.assertIn(found["uid"], sandbox.UIDS)
            self.assertEqual((found["uid"], 0), (found["gid"], found["groups"]))

    def test_the_first_process_has_no_more_than_the_submission(self):
        found = self.found["first_process"]
        self.assertEqual(2, found["Seccomp"])
        if HAS_USERS:  # another user's
            self.assertEqual("EACCES", found["files"])
        else:
            kinds = {name.split(":")[0] for name in found["files"]}
            self.assertLessEqual(kinds, {"/dev/null", "pipe", "anon_inode"})

    def test_nothing_of_the_kernel_is_written(self):
        self.assertEqual([], self.found["kernel_files_that_can_be_written"])
        self.assertIn(self.found["core_pattern"], ("EROFS", "EACCES"))

    def test_nothing_but_its_own_is_written(self):
        self.assertEqual([], self.found["places_that_can_be_written"])

    def test_no_file_gets_a_set_id_bit(self):
        found = dict(self.found["set_id_bits"])
        self.assertIsNone(found.pop("a plain mode"))
        self.assertLessEqual(set(found.values()), REFUSED)
        outside = self.probe(Limits(), "set_id_bits")["set_id_bits"]
        self.assertIn("bits left", outside["chmod"])
        self.assertIn("bits left", outside["open"])

    def test_its_log_is_a_pipe(self):
        self.assertEqual("pipe", self.found["log"])
        self.assertEqual(0, self.mode_of_log & 0o6022, oct(self.mode_of_log))

    def test_no_descriptor_is_inherited(self):
        self.assertEqual([], self.found["descriptors"])

    def test_sockets_are_of_the_internet_of_unix_and_of_routes(self):
        families = [socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK]
        self.assertEqual(list(map(int, families)), self.found["sockets"])
        self.assertEqual("EAFNOSUPPORT", self.found["vsock"])

    def test_an_abstract_socket_outside_is_not_reached(self):
        self.assertEqual("ECONNREFUSED", self.found["abstract_socket"])
        self.assertEqual("connected", self.probe(Limits(), "log")["abstract_socket"])

    def test_a_build_with_the_network_reaches_no_abstract_socket_either(self):
        if syscalls.landlock_version() < syscalls.SCOPED_VERSION:
            self.skipTest("the kernel's Landlock does not know abstract sockets")
        found = self.probe(Limits(sandbox=True, build_network=True), "sockets,descriptors")
        self.assertEqual("EPERM", found["abstract_socket"])
        self.assertEqual([], found["descriptors"])

    def test_there_are_no_further_namespaces(self):
        self.assertEqual({"EPERM"}, set(self.found["namespaces"].values()))
        self.assertEqual("EPERM", self.found["setns"])

    def test_its_namespaces_are_its_own(self):
        for name, place in self.found["own_namespaces"].items():
            if name in ("ipc", "mnt", "net", "pid", "uts"):
                self.assertNotEqual(os.readlink(f"/proc/self/ns/{name}"), place)

    def test_interfaces_of_the_kernel_are_closed(self):
        self.assertLessEqual(set(self.found["interfaces"].values()), REFUSED)
        outside = self.probe(Limits(), "interfaces")["interfaces"]
        self.assertNotEqual("EPERM", outside["keyctl"])  # it complains that it has no arguments

    def test_numbers_of_other_architectures_are_closed(self):
        self.assertLessEqual(set(self.found["other_numbers"].values()), {"ENOSYS"})

    def test_nothing_is_typed_into_a_terminal(self):
        self.assertEqual("ENXIO", self.found["terminal"]["of the grader"])
        self.assertEqual(["EPERM"] * 3, self.found["terminal"]["own"])

    def test_it_sees_its_own_processes_only(self):
        names = {name for name in self.found["other_processes"] if not name.startswith("python")}
        self.assertLessEqual({"bwrap"}, names)
        self.assertLessEqual(names, {"bwrap", "sh"})

    def test_files_of_others_get_no_name_in_its_folder(self):
        self.assertEqual("EXDEV", self.found["links"])

    def test_there_is_no_core_dump_nor_a_program_for_it(self):
        wanted = {"limit": 1, "kept": True, "dumped": False, "files": []}
        self.assertEqual(wanted, self.found["core_dump"])

    def test_results_are_not_seen_and_nothing_is_planted_there(self):
        self.assertEqual({"seen": ["eve", "eve/data"], "planted": "EROFS"}, self.found["results"])

    def test_what_not_every_user_may_read_is_hidden(self):
        if not self.secrets:
            self.skipTest(f"this user may write to none of {', '.join(self.TOPS)}")
        self.assertEqual(["EACCES"] * len(self.secrets), self.found["secrets"])
        places = {str(place): words for place, words in sandbox.system()}
        for file in self.secrets:
            self.assertIn("/dev/null", places[file])


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
class InSystem(toys.TestCase):
    def test_submissions_in_a_folder_of_the_system_do_not_see_each_other(self):
        for top in ("/opt", "/usr/local", "/usr/share"):
            course = Path(top, f"grade-test-{uuid.uuid4().hex}")
            try:
                course.mkdir()
            except OSError:
                self.skipTest(f"this user may not write to {top}")
            self.addCleanup(shutil.rmtree, course)
            course.chmod(0o755)
            for name in ("eve", "bob"):
                (course / name).mkdir()
                (course / name / "secret").write_text(name)
            (course / "bob/closed").write_text("x")
            (course / "bob/closed").chmod(0o600)
            (course / "eve/closed").write_text("x")
            (course / "eve/closed").chmod(0o600)
            work, log = course / "out/eve", course / "out/eve/build.log"
            work.mkdir(parents=True)
            sandbox.system.cache_clear()
            self.addCleanup(sandbox.system.cache_clear)
            command = "ls ..; cat secret ../bob/secret; echo >> closed; echo > ../planted; "
            command += "touch ../out/eve/data/x && touch made"
            one = Submission("eve", course / "eve", "x", build=command, top=course / "eve")
            self.assertEqual("", build(one, work, log, Limits(sandbox=True)), log.read_text())
            lines = log.read_text().splitlines()[1:]
            self.assertEqual(["eve", "out", "eve"], [*lines[:2], lines[2][:3]])
            self.assertIn("../bob/secret: No such file", log.read_text())
            self.assertIn("planted: Read-only file system", log.read_text())
            self.assertTrue((course / "eve/made").exists())
            self.assertEqual("x\n", (course / "eve/closed").read_text())

    def test_what_is_hidden_around_a_submission(self):
        for folder, around in (
            ("/opt/course/eve", "/opt/course"),
            ("/opt/eve", None),
            ("/usr/eve", None),
            ("/usr/local/eve", None),
            ("/usr/local/course/eve", "/usr/local/course"),
            ("/home/course/eve", None),
            ("/eve", None),
        ):
            self.assertEqual(around and Path(around), sandbox._around(Path(folder)), folder)


class Secrets(toys.TestCase):
    def test_files_and_folders_that_not_every_user_may_read(self):
        self.folder.chmod(0o755)
        self.write("open/file", "").chmod(0o644)
        self.write("open/closed", "").chmod(0o640)
        self.write("closed/file", "").chmod(0o644)
        (self.folder / "closed").chmod(0o750)
        for nth in range(sandbox.HIDDEN_MAX + 1):
            self.write(f"many/below/{nth}", "").chmod(0o600)
        wanted = ["closed", "many", "open/closed"]
        found = sorted(os.path.relpath(path, self.folder) for path in sandbox.secrets(self.folder))
        self.assertEqual(wanted, found)


class Lent(toys.TestCase):
    def test_a_folder_of_a_group_does_not_stop_a_build(self):
        self.write("all/own/x", "")
        for name in ("all", "all/own", "."):
            (self.folder / name).chmod(0o2755)
        with sandbox.lent(self.folder / "all/own"):
            sandbox.make_private(self.folder / "out")
            (self.folder / "all/own/made").mkdir()
        for name in ("all/own/made", "out/data", "out/tmp", "out/home"):
            self.assertEqual(0, (self.folder / name).stat().st_mode & 0o6000, name)

    def test_set_id_bits_are_gone_afterwards_wherever_they_are(self):
        top, names = self.folder / "top", ("plain", "-rf", "line\nbreak", "closed/in", "a b/c")
        for name in names:
            self.write(f"top/{name}", "", executable=True)
        with sandbox.lent(top):
            for name in names:
                (top / name).chmod(0o6755)
            self.write("top/locks", "").chmod(0o2644)
            (top / "closed").chmod(0o011)
        names = (*names, "locks")
        self.assertEqual([0] * len(names), [(top / name).stat().st_mode & 0o6000 for name in names])

    @unittest.skipUnless(HAS_USERS, "root alone gives files away")
    def test_files_get_their_owner_again_and_links_are_not_followed(self):
        outside, top = self.write("outside", ""), self.folder / "top"
        self.write("top/file", "")
        os.chown(outside, 12345, 12345)
        (top / "link").symlink_to(outside)
        with sandbox.lent(top):
            self.assertEqual(sandbox.user(), (top / "file").stat().st_uid)
            self.write("top/new", "")
            os.chown(top / "new", sandbox.user(), sandbox.user())
        owners = [(top / name).lstat().st_uid for name in ("", "file", "link", "new")]
        self.assertEqual([0] * 4, owners)
        self.assertEqual(12345, outside.stat().st_uid)

    @unittest.skipUnless(HAS_USERS, "root alone gives files away")
    def test_after_a_kill_the_owner_is_that_of_the_folder_above(self):
        file = self.write("top/file", "")
        os.chown(self.folder / "top", sandbox.UIDS[0], sandbox.UIDS[0])
        with sandbox.lent(self.folder / "top"):
            pass
        self.assertEqual([0, 0], [path.stat().st_uid for path in (file, file.parent)])


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
class Pinned(toys.TestCase):
    CODE = """import os, socket, sys
before = os.sched_getaffinity(0)
os.sched_setaffinity(0, range(os.cpu_count()))
print(sorted(before), sorted(os.sched_getaffinity(0)), flush=True)
socket.create_server(("127.0.0.1", int(sys.argv[1]))).accept()"""

    def test_a_server_does_not_take_other_cpus_than_it_is_given(self):
        cpu = min(os.sched_getaffinity(0))
        self.write("all/eve/eve.py", self.CODE)
        top, work = self.folder / "all/eve", self.folder / "out/eve"
        work.mkdir(parents=True)
        one = Submission("eve", top, f"{toys.PYTHON} eve.py {{port}}", top=top, slug="eve")

        def run():
            sandbox.enter()
            sandbox.cut_network()
            with sandbox.lent(top), CommandServer(one, Limits(sandbox=True), work, [cpu]):
                pass

        apart.run(run)
        self.assertIn(f"[{cpu}] [{cpu}]", (work / "server.log").read_text())


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
@unittest.skipUnless(HAS_USERS, "root alone has several users")
class Tools(toys.TestCase):
    """What reads the replies of a submission has no more rights than it, if root runs the
    grader."""

    TEST = """#!/bin/sh
case "$*" in *--help*) exit {status} ;; esac
id -u >&2
exec "$(dirname "$0")/conformance.py" "$@"
"""

    def user_of_test(self, status):
        self.folder.chmod(0o755)
        (self.tools() / "conformance").rename(self.folder / "bin/conformance.py")
        self.write("bin/conformance", self.TEST.format(status=status), executable=True)
        arguments = ["--server", "toy=" + self.toy("{data}/orders"), "--sandbox", "on"]
        arguments += ["--restart-from-scratch", "--parts", "conformance,audit"]
        _, out, said = self.grade(*arguments)
        self.assertRegex(out, "toy +55.0 of 65", said)
        return int((self.folder / "out/toy/conformance.log").read_text())

    def test_it_is_the_user_of_the_submission(self):
        if not sandbox.as_user(sandbox.user(), sys.executable):
            self.skipTest(f"other users may not start {sys.executable}")
        self.assertIn(self.user_of_test(0), sandbox.UIDS)

    def test_where_that_user_may_not_start_it_it_is_that_of_the_grader(self):
        self.assertEqual(0, self.user_of_test(1))


class Filter(unittest.TestCase):
    """The program itself, also of the architecture that this machine does not have."""

    def run_filter(self, machine, name, *arguments, is_pinned=False):
        """The error number that it returns; None: the call is let through."""
        column, architecture = syscalls.MACHINES[machine]
        number = syscalls.NUMBERS[name][column]
        words = [*arguments, *[0] * (6 - len(arguments))]
        data = struct.pack("<IIQ6Q", number, architecture, 0, *words)
        return self.interpret(syscalls.program(is_pinned, machine), data)

    def interpret(self, program, data):
        at, value = 0, 0
        while True:
            code, if_so, if_not, constant = struct.unpack_from("<HBBI", program, 8 * at)
            at += 1
            if code == syscalls.LOAD:
                value = struct.unpack_from("<I", data, constant)[0]
            elif code == syscalls.RETURN:
                return None if constant == syscalls.ALLOW else constant & 0xFFFF
            else:
                compared = {
                    syscalls.EQUAL: value == constant,
                    syscalls.AT_LEAST: value >= constant,
                    syscalls.ANY_BIT: bool(value & constant),
                }
                at += if_so if compared[code] else if_not

    def test_each_machine(self):
        for machine in syscalls.MACHINES:
            run = lambda *call, of=machine, **more: self.run_filter(of, *call, **more)
            self.assertEqual(1, run("keyctl"))
            self.assertEqual(38, run("clone3"))
            self.assertEqual([97, None, None, None], [run("socket", one) for one in (40, 1, 2, 10)])
            self.assertEqual([None, 97], [run("socket", 16, 3, one) for one in (0, 15)])
            self.assertEqual(
                [1, 1, None], [run("fchmod", 3, one) for one in (0o4755, 0o2000, 0o1777)]
            )
            self.assertEqual([1, None], [run("openat", 3, 0, one, 0o4755) for one in (0x41, 0)])
            self.assertEqual(1, run("ioctl", 0, 0x5412 | 1 << 32))
            self.assertEqual([1, None], [run("clone", one) for one in (1 << 28 | 17, 0x3D0F00)])
            self.assertEqual(
                [0, None, None],
                [run("prlimit64", 0, *one) for one in ((4, 1 << 32), (4, 0), (6, 1))],
            )
            self.assertEqual(0, run("setrlimit", 4))
            self.assertIsNone(run("sched_setaffinity"))
            self.assertEqual(0, run("sched_setaffinity", is_pinned=True))

    def test_calls_of_another_architecture(self):
        data = struct.pack("<IIQ6Q", 39, 0x40000003, 0, *[0] * 6)
        self.assertEqual(38, self.interpret(syscalls.program(machine="x86_64"), data))
        data = struct.pack("<IIQ6Q", 0x40000000 | 39, 0xC000003E, 0, *[0] * 6)
        self.assertEqual(38, self.interpret(syscalls.program(machine="x86_64"), data))

    @unittest.skipUnless(
        X86_HEADER.exists() and GENERIC_HEADER.exists(), "no headers of the kernel"
    )
    def test_numbers_are_those_of_the_headers(self):
        for column, header in enumerate((X86_HEADER, GENERIC_HEADER)):
            lines = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())
            known = {name: int(number) for name, number in lines}
            for name, numbers in syscalls.NUMBERS.items():
                if name in known:
                    self.assertEqual(known[name], numbers[column], f"{name} in {header}")


class Elsewhere(toys.TestCase):
    def test_root_of_a_container_that_lacks_a_privilege_gives_no_files_away(self):
        every = (1 << 41) - 1
        names = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}
        names |= {"SETPCAP": 8, "SYS_PTRACE": 19, "SYS_ADMIN": 21}
        with mock.patch.object(os, "geteuid", return_value=0), mock.patch.object(
            sandbox, "_is_mapped", return_value=True
        ), mock.patch.object(Path, "read_text") as status:
            for name, number in {"none": 41, **names}.items():
                status.return_value = f"CapEff:\t{every & ~(1 << number):016x}\n"
                self.assertEqual(name != "none", sandbox.user() is None, name)

    def test_a_machine_without_a_filter_has_no_sandbox(self):
        with mock.patch.object(platform, "machine", return_value="riscv64"):
            why = apart.run(sandbox.why_not)
        self.assertIn("no filter of system calls for riscv64" if shutil.which("bwrap") else "", why)
