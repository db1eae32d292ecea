"""docker-compose.yml, docker-compose.ha.yml, Dockerfile and docs/docker.md, read without an engine:
what must never slip in, and whether they agree."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from exchange_server import BINARY

try:
    import yaml
except ImportError:
    yaml = None

ROOT = Path(__file__).resolve().parents[4]


def text_of(name):
    return (ROOT / name).read_text()


def variables(text):
    """${NAME:-default} in a composition: {name: set of defaults}. ${NAME:+text} adds none."""
    found = {}
    for name, sign, default in re.findall(r"\$\{(\w+)(?::([-+])([^}]*))?\}", text):
        found.setdefault(name, set()).update([] if sign == "+" else [default])
    return found


def without_comments(text):
    return "\n".join(re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())


def filled_in(text):
    """With every variable at its default."""
    text = re.sub(r"\$\{\w+:\+[^}]*\}", "", text)
    return yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text))


def common_violations(composition):
    """What an exchange that holds money must not be started with, alone or in a cluster."""
    found = []
    services = composition["services"]
    for name, service in services.items():
        for key in "privileged network_mode pid ipc devices cap_add userns_mode".split():
            if key in service:
                found.append(f"{name}: {key}")
        if "no-new-privileges:true" not in service.get("security_opt", []):
            found.append(f"{name}: may gain privileges")
        if not {"max-size", "max-file"} <= set(service.get("logging", {}).get("options", {})):
            found.append(f"{name}: its log grows without end")
        for port in service.get("ports", []):
            if not str(port).startswith("127.0.0.1:"):
                found.append(f"{name}: publishes {port} beyond the loopback")
        for volume in service.get("volumes", []):
            if not re.match(r"[a-z][a-z0-9-]*:/", str(volume)):
                found.append(f"{name}: mounts {volume} of the host")
            elif volume.split(":")[0] not in composition["volumes"]:
                found.append(f"{name}: mounts {volume}, which is no volume")
        if "healthcheck" not in service and "build" not in service:
            found.append(f"{name}: no health check")
        if "profiles" not in service and service.get("restart") != "unless-stopped":
            found.append(f"{name}: does not come back")
        if "profiles" in service and service.get("ports"):
            found.append(f"{name}: a client that publishes ports")
        for other, condition in service.get("depends_on", {}).items():
            if condition != {"condition": "service_healthy"}:
                found.append(f"{name}: does not wait until {other} is healthy")
        if "build" in service:
            if service.get("read_only") is not True:
                found.append(f"{name}: may write to its image")
            if service.get("cap_drop") != ["ALL"]:
                found.append(f"{name}: keeps capabilities")
    return found


def violations(composition):
    """The same of docker-compose.yml."""
    found = common_violations(composition)
    services = composition["services"]
    without = [name for name, service in services.items() if "cpuset" not in service]
    found += [f"{name}: its CPUs cannot be chosen" for name in without]
    if "ports" in services["db"]:
        found.append("db: is published")
    for name, wanted in (("exchange", "db"), ("loadgen", "exchange"), ("bots", "exchange")):
        if wanted not in services[name].get("depends_on", {}):
            found.append(f"{name}: does not wait for {wanted}")
    if re.search(r"//[^@/]*:.*@", services["exchange"]["environment"]["EXCHANGE_STORE"]):
        found.append("exchange: a password in the store's address, which is shown")
    return found


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class Composition(unittest.TestCase):
    def setUp(self):
        self.composition = filled_in(text_of("docker-compose.yml"))

    def test_starts_nothing_that_it_must_not(self):
        self.assertEqual(violations(self.composition), [])

    def test_ports_are_those_of_the_image(self):
        exposed = re.search(r"^EXPOSE (.*)$", text_of("Dockerfile"), re.M)[1].split()
        ports = self.composition["services"]["exchange"]["ports"]
        self.assertEqual([port.split(":")[-1] for port in ports], exposed)
        for port, name in zip(exposed, ("EXCHANGE_PORT", "EXCHANGE_HTTP_PORT"), strict=True):
            self.assertIn(f"{name}={port}", text_of("Dockerfile"))

    def test_bots_are_healthy_while_they_reach_the_http_port_and_have_time_to_cancel(self):
        bots = self.composition["services"]["bots"]
        http = re.search(r"EXCHANGE_HTTP_PORT=(\d+)", text_of("Dockerfile"))[1]
        self.assertIn(f"/exchange/{http}", bots["healthcheck"]["test"][-1])
        wait = re.search(r"^REPLY_TIMEOUT_S = (\d+)", text_of("client/bots/floor.py"), re.M)[1]
        self.assertGreater(int(bots["stop_grace_period"].rstrip("s")), 2 * int(wait))


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class Cluster(unittest.TestCase):
    def setUp(self):
        self.composition = filled_in(text_of("docker-compose.ha.yml"))
        self.services = self.composition["services"]

    def test_starts_nothing_that_it_must_not(self):
        self.assertEqual(common_violations(self.composition), [])
        self.assertEqual([n for n, s in self.services.items() if "ports" in s], ["proxy"])

    def test_every_service_has_an_address_and_a_volume_of_its_own(self):
        networks = [s["networks"] for s in self.services.values() if "networks" in s]
        fixed = [of["cluster"]["ipv4_address"] for of in networks if isinstance(of, dict)]
        self.assertEqual(len(set(fixed)), 9)
        volumes = [v for s in self.services.values() for v in s.get("volumes", [])]
        self.assertEqual(len(set(volumes)), 6)

    def test_servers_need_replicas_and_name_every_database(self):
        for name in ("exchange1", "exchange2"):
            environment = self.services[name]["environment"]
            self.assertEqual(environment["EXCHANGE_REQUIRE_REPLICAS"], 1)
            self.assertEqual(environment["EXCHANGE_STANDBY"], "true")
            for database in ("db1", "db2", "db3"):
                address = self.services[database]["networks"]["cluster"]["ipv4_address"]
                self.assertIn(address, environment["EXCHANGE_STORE"])


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
@unittest.skipUnless(BINARY.exists(), "the server is not built")
class Passed(unittest.TestCase):
    def test_an_empty_variable_is_none(self):
        command = [BINARY, *"--store nowhere: --port 0".split()]
        empty = {"EXCHANGE_AUTH": "", "EXCHANGE_OPERATOR_KEY_FILE": ""}
        ended = subprocess.run(command, env=empty, capture_output=True, text=True)
        self.assertIn("nowhere:", ended.stderr)
        self.assertNotIn("AUTH", ended.stderr)
        self.assertNotIn("key", ended.stderr)


class Published(unittest.TestCase):
    """The entry point of both compositions, with a stand-in for the server."""

    def run_with(self, **variables):
        with tempfile.TemporaryDirectory() as folder:
            server = Path(folder) / "server"
            server.write_text('#!/bin/sh\necho started "$@"\n')
            server.chmod(0o755)
            return subprocess.run(
                [ROOT / "ops/docker/published-server", "--policy", "pool"],
                env={"PATH": f"{folder}:/usr/bin:/bin", **variables},
                capture_output=True,
                text=True,
            )

    def test_other_machines_need_keys_or_a_word(self):
        for variables in (
            {"EXCHANGE_PUBLISH": "127.0.0.1"},
            {"EXCHANGE_PUBLISH": "[::1]"},
            {"EXCHANGE_PUBLISH": "0.0.0.0", "EXCHANGE_AUTH": "1"},
            {"EXCHANGE_PUBLISH": "10.1.2.3", "EXCHANGE_AUTH": "true"},
            {"EXCHANGE_PUBLISH": "::", "EXCHANGE_PUBLISH_WITHOUT_AUTH": "yes"},
        ):
            ended = self.run_with(**variables)
            self.assertEqual((ended.stdout, ended.stderr), ("started --policy pool\n", ""))
        for variables in (
            {"EXCHANGE_PUBLISH": "0.0.0.0"},
            {"EXCHANGE_PUBLISH": "::"},
            {"EXCHANGE_PUBLISH": ""},
            {},
            {"EXCHANGE_PUBLISH": "127x"},
            {"EXCHANGE_PUBLISH": "10.1.2.3", "EXCHANGE_AUTH": "false"},
            {"EXCHANGE_PUBLISH": "10.1.2.3", "EXCHANGE_AUTH": "0"},
            {"EXCHANGE_PUBLISH": "10.1.2.3", "EXCHANGE_PUBLISH_WITHOUT_AUTH": "no"},
        ):
            ended = self.run_with(**variables)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""), variables)
            self.assertIn("EXCHANGE_AUTH=1", ended.stderr)

    def test_both_compositions_start_the_server_by_it(self):
        for name in ("docker-compose.yml", "docker-compose.ha.yml"):
            self.assertIn("entrypoint: [published-server]\n", text_of(name))
        self.assertIn("COPY ops/docker/published-server /usr/local/bin/\n", text_of("Dockerfile"))


class Agreement(unittest.TestCase):
    def test_a_variable_has_one_default(self):
        for name in ("docker-compose.yml", "docker-compose.ha.yml"):
            used = variables(without_comments(text_of(name)))
            self.assertEqual({n: d for n, d in used.items() if len(d) != 1}, {}, name)

    def test_the_image_is_built_with_all_that_building_needs(self):
        script = text_of("install-dependencies.sh")
        needed = re.search(r"^packages=\((.*?)\)", script, re.M | re.S)[1].split()
        installed = re.search(r"apt-get install(.*?)&&", text_of("Dockerfile"), re.S)[1].split()
        self.assertLessEqual(set(needed) - {"netcat-openbsd", "sqlite3"}, set(installed))

    def test_the_image_runs_as_nobody_in_particular(self):
        final = text_of("Dockerfile").rsplit("\nFROM ", 1)[1]
        self.assertRegex(final, r"(?m)^USER [1-9][0-9]*:[1-9][0-9]*$")
        self.assertLess(final.index("\nUSER "), final.index("\nENTRYPOINT "))
        self.assertIn("STOPSIGNAL SIGTERM", final)
        self.assertIn("HEALTHCHECK", final)

    def test_the_build_sees_every_folder_that_cmake_reads(self):
        allowed = set(re.findall(r"^!(.*)$", text_of(".dockerignore"), re.M))
        top = text_of("CMakeLists.txt").split("if(EXCHANGE_TESTS)")[0]
        read = {"CMakeLists.txt", "db", *re.findall(r"add_subdirectory\((\w+)", top)}
        course = text_of("course/CMakeLists.txt").split("if(EXCHANGE_TESTS)")[0]
        folders = re.findall(r"CONFIGURE_DEPENDS (\w+)/", course)
        self.assertIn("class", folders)
        read |= {f"course/{one}" for one in ("CMakeLists.txt", *folders)}
        self.assertLessEqual(read, allowed)
