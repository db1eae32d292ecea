"""`cmake --install` brings programs that work where they are, under names of their own, and the
engine as a library.

The unit and the package's scripts are sound."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
BIN = Path(os.environ.get("EXCHANGE_BIN") or ROOT / "build/bin").resolve()
PACKAGE = ROOT / "ops/package"
COMPILED = ("server", "loadgen", "cli", "audit", "conformance")
PROGRAMS = (*COMPILED, "demo-bots", "class")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="exchange-install-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.prefix = Path(cls.folder.name) / "prefix"
        if shutil.which("help2man"):
            run("cmake", "--build", str(BIN.parent), "--target", "man")
        done = run(
            *("cmake", "--install", str(BIN.parent), "--component", "programs"),
            *("--prefix", str(cls.prefix)),
        )
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)

    def test_every_program_starts(self):
        for name in PROGRAMS:
            with self.subTest(name):
                done = run(str(self.prefix / f"bin/exchange-{name}"), "--version")
                self.assertEqual(0, done.returncode, done.stderr)

    def test_the_terminal_client_finds_the_program_of_a_class(self):
        done = run(str(self.prefix / "bin/exchange-cli"), "class", "--version")
        self.assertRegex(done.stdout, "^exchange-class ", done.stderr)

    def test_loadgen_finds_the_server(self):
        done = run(
            *(str(self.prefix / "bin/exchange-loadgen"), "-c", "2", "-d", "200ms"),
            *("--warmup", "1ms", "--store", "memory:", "--audit"),
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_every_program_has_a_man_page(self):
        if not shutil.which("help2man"):
            self.skipTest("no help2man here")
        for name in PROGRAMS:
            page = self.prefix / f"share/man/man1/exchange-{name}.1.gz"
            self.assertTrue(page.exists(), page)

    def test_the_python_client_is_there(self):
        modules = self.prefix / "lib/python3/dist-packages"
        code = "from exchange_client import Exchange; print(Exchange.__module__)"
        done = subprocess.run(
            [sys.executable, "-B", "-c", code],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(modules)},
        )
        self.assertEqual((0, "exchange_client.sync\n"), (done.returncode, done.stdout), done.stderr)

    def test_nothing_outside_of_the_prefix(self):
        manifest = (BIN.parent / "install_manifest_programs.txt").read_text().split()
        outside = [path for path in manifest if not path.startswith(str(self.prefix))]
        self.assertEqual([], outside)


def hardening_of(program):
    """What hardening-check finds in a program."""
    text = run("readelf", "--wide", "--headers", "--dynamic", str(program)).stdout
    symbols = run("readelf", "--wide", "--dyn-syms", str(program)).stdout
    return {
        "position independent": bool(re.search(r"\(FLAGS_1\) +Flags:.*\bPIE\b", text)),
        "read-only relocations": "GNU_RELRO" in text,
        "all bound at the start": bool(re.search(r"\(FLAGS_1\) +Flags:.*\bNOW\b", text)),
        "stack not executable": bool(re.search(r"GNU_STACK .* RW ", text)),
        "stack protector": "__stack_chk_fail" in symbols,
        "checked functions": bool(re.search(r" __\w+_chk@GLIBC", symbols)),
    }


@unittest.skipUnless(shutil.which("readelf"), "no readelf here (Debian: binutils)")
class Hardening(unittest.TestCase):
    """Debian's hardening flags, which builds with sanitizers lack."""

    def setUp(self):
        skip_with_sanitizers(self)

    def test_every_installed_program_is_hardened(self):
        list_ = re.search(r"set\(programs ([^)]*)\)", (PACKAGE / "CMakeLists.txt").read_text())[1]
        targets = [entry.split("=")[0] for entry in list_.split()]
        self.assertEqual(len(COMPILED), len(targets))
        for target in targets:
            with self.subTest(target):
                found = hardening_of(BIN / target)
                if "CMAKE_BUILD_TYPE:STRING=Debug" in CACHE:  # no function can be checked
                    found["checked functions"] = True
                self.assertEqual([], [what for what, is_there in found.items() if not is_there])


CACHE = (BIN.parent / "CMakeCache.txt").read_text()


def skip_with_sanitizers(test):
    if re.search(r"^EXCHANGE_SANITIZE:\w+=.|^EXCHANGE_FUZZ:\w+=ON", CACHE, re.M):
        test.skipTest("a build with sanitizers")


class Libraries(unittest.TestCase):
    def build(self, component):
        """The example of a library, built against what is installed of it."""
        skip_with_sanitizers(self)  # programs would need the same flags
        folder = tempfile.TemporaryDirectory(prefix=f"exchange-{component}-")
        self.addCleanup(folder.cleanup)
        prefix, build = Path(folder.name) / "prefix", Path(folder.name) / "build"
        example = ROOT / "server" / component / "example"
        for step in (
            ("cmake", "--install", BIN.parent, "--component", component, "--prefix", prefix),
            ("cmake", "-S", example, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"),
            ("cmake", "--build", build),
        ):
            done = run(*map(str, step))
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return build / f"{component}_example"

    def test_a_program_matches_orders_with_the_engine(self):
        done = run(str(self.build("engine")))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("order 2 buys 4 at 100\n", done.stdout)
        self.assertIn("account 2 has 600 left", done.stdout)

    def test_a_program_goes_on_with_its_store_after_kill_9(self):
        program = self.build("core")
        store = str(program.parent / "market.db")
        first = run(str(program), store, "kill")
        self.assertEqual(-signal.SIGKILL, first.returncode, first.stdout + first.stderr)
        again = run(str(program), store)
        self.assertEqual(0, again.returncode, again.stdout + again.stderr)
        (orders, executions) = map(
            int, re.search(r"the store ends with order (\d+), after (\d+) ", again.stdout).groups()
        )
        self.assertGreaterEqual(orders, 501)  # of the account that counted to 500
        self.assertGreaterEqual(orders, 2 * executions)
        newest = [int(order) for order in re.findall(r"order (\d+) is committed", again.stdout)]
        self.assertEqual(max(newest), orders + 2000)


class Package(unittest.TestCase):
    def test_scripts_are_shell(self):
        for name in ("postinst", "prerm", "postrm"):
            done = run("sh", "-n", str(PACKAGE / name))
            self.assertEqual(0, done.returncode, done.stderr)

    def test_systemd_takes_the_unit(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze here")
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder) / "exchange.service"
            text = (PACKAGE / "exchange.service").read_text()
            unit.write_text(text.replace("/usr/bin/exchange-server", "/bin/true"))
            done = run("systemd-analyze", "verify", "--man=no", str(unit))
            problems = [line for line in done.stderr.splitlines() if "exchange.service" in line]
            self.assertEqual([], problems)

    def test_every_variable_of_the_example_is_an_option(self):
        text = run(str(BIN / "server"), "--help").stdout
        for line in (PACKAGE / "exchange.default").read_text().splitlines():
            if line.startswith("#EXCHANGE_"):
                self.assertIn(f"(Env:{line[1:].split('=')[0]})", text)
