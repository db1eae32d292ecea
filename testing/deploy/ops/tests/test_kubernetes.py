"""ops/kubernetes/exchange.yml asks for paths and options that exist, and its proxy is that of ops/cluster."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

ROOT = Path(__file__).resolve().parents[4]
BIN = Path(os.environ.get("EXCHANGE_BIN") or ROOT / "build/bin")
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/sbin")


@unittest.skipUnless(yaml, "no yaml here (Debian: python3-yaml)")
class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = (ROOT / "ops/kubernetes/exchange.yml").read_text()
        cls.objects = {each["kind"]: each for each in yaml.safe_load_all(text)}
        cls.server = cls.objects["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
        cls.proxy = cls.objects["ConfigMap"]["data"]["haproxy.cfg"]

    def test_probes_are_those_of_the_documents(self):
        health = (ROOT / "docs/http-api.md").read_text()
        paths = [
            self.server[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")
        ]
        self.assertEqual(["/healthz", "/readyz?standby"], paths)
        for path in paths:
            self.assertIn(f"`{path}`", health)

    def test_every_variable_is_an_option(self):
        text = subprocess.run(
            [BIN / "server", "--help"], capture_output=True, text=True, check=True
        ).stdout
        for variable in self.server["env"]:
            if variable["name"].startswith("EXCHANGE_"):
                self.assertIn(f"(Env:{variable['name']})", text)

    def test_the_proxy_has_the_settings_of_the_cluster(self):
        lines = (ROOT / "ops/cluster/haproxy.cfg").read_text().split("listen xml")[0].splitlines()
        settings = [re.sub(r" *#.*", "", line).strip() for line in lines]
        found = [line.strip() for line in self.proxy.splitlines()]
        self.assertEqual([], [line for line in settings if line and line not in found])

    @unittest.skipUnless(HAPROXY, "no haproxy here (Debian: haproxy)")
    def test_haproxy_takes_the_configuration(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(self.proxy)
            file.flush()
            done = subprocess.run([HAPROXY, "-c", "-f", file.name], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
