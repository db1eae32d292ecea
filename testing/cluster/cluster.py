"""Three nodes of etcd and PostgreSQL under Patroni, two exchange servers, and haproxy, on loopback
addresses of this machine.

For development and tests: everyone on this machine may connect, without passwords. The settings are
those of docker-compose.ha.yml, from ops/cluster. Each process runs in the background, in a session
of its own, with its messages in the cluster's folder; state.json there names them."""

import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))
import postgres  # noqa: E402
from exchange_server import BIN, ROOT, ServerError, wait_until  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

OPS = ROOT / "ops/cluster"
NODES, SERVERS = (1, 2, 3), (1, 2)
PATRONI_MIN = (4, 1)
# Addresses of the cluster's own network.
ETCD, ETCD_PEER, POSTGRES, PATRONI, XML, HTTP = 2379, 2380, 5432, 8008, 12345, 8080


class ClusterError(RuntimeError):
    pass


def require_server():
    if not os.access(BIN / "server", os.X_OK):
        raise ClusterError(
            f"there is no server at {BIN}: build it (cmake --build build --target server loadgen"
            " exchange-cli), or name its folder as EXCHANGE_BIN"
        )


def database_user():
    """PostgreSQL does not run as root. None: as the user of this program."""
    return "postgres" if os.geteuid() == 0 else None


def programs():
    """{name: path} of what a cluster needs. Raises ClusterError with a sentence that names what is
    missing."""
    found = {name: shutil.which(name) for name in ("etcd", "haproxy", "patroni")}
    found["patroni"] = os.environ.get("PATRONI") or found["patroni"]
    found["patroni"] = found["patroni"] and os.path.abspath(found["patroni"])
    found["haproxy"] = found["haproxy"] or shutil.which("haproxy", path="/usr/sbin:/sbin")
    try:
        found["postgresql"] = str(postgres.find_binaries())
    except postgres.ClusterError:
        found["postgresql"] = None
    found["yaml"] = yaml
    packages = {
        "etcd": "Debian: etcd-server",
        "haproxy": "Debian: haproxy",
        "patroni": "PyPI: patroni[etcd3] and psycopg2; PATRONI=PATH names it",
        "postgresql": "Debian: postgresql",
        "yaml": "Debian: python3-yaml",
    }
    missing = [f"{name} ({packages[name]})" for name, path in found.items() if not path]
    if missing:
        raise ClusterError("a cluster needs " + ", ".join(missing))
    version = re.search(r"(\d+)\.(\d+)", output_of([found["patroni"], "--version"]))
    if not version or tuple(map(int, version.groups())) < PATRONI_MIN:
        raise ClusterError(
            f"Patroni {version and version[0]} is too old: older versions than"
            f" {'.'.join(map(str, PATRONI_MIN))} can let a stale primary win (docs/cluster.md)"
        )
    return found


def output_of(command):
    """What a program run by PostgreSQL's user prints. Raises ClusterError if that user cannot."""
    user = database_user()
    try:
        done = subprocess.run(command, capture_output=True, text=True, user=user, cwd="/")
    except (OSError, LookupError) as error:
        problem = str(error)
    else:
        if done.returncode == 0:
            return done.stdout
        problem = done.stderr.strip()[-300:] or f"it ended with status {done.returncode}"
    advice = f"; put it where the user {user} can read it, such as /opt" if user else ""
    raise ClusterError(
        f"{'the user ' + user if user else 'this user'} cannot run {command[0]}: {problem}{advice}"
    )


def start_of(pid):
    """When a process started, in ticks since the start of the machine; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def get(url, timeout_s=1.0):
    """HTTP status and body; (0, reason) if there is no answer."""
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


class Cluster:
    def __init__(self, folder, net="127.71", network=None, settings=()):
        """`network`: where each address is a host of its own (network.py); without it they are
        loopback addresses. `settings`: of Patroni, in place of those in ops/cluster."""
        self.folder, self.net, self.network = Path(folder).resolve(), net, network
        self.settings = dict(settings)
        self.state_file = self.folder / "state.json"
        self.pids = {}
        if self.state_file.exists():
            state = json.loads(self.state_file.read_text())
            self.net, self.pids = state["net"], state["pids"]

    # --- names ---

    def node(self, number):
        return f"{self.net}.0.{number}"

    def server(self, number):
        return f"{self.net}.0.{10 + number}"

    @property
    def proxy(self):
        return f"{self.net}.0.20"

    @property
    def store(self):
        return f"postgresql://exchange@{','.join(map(self.node, NODES))}/exchange"

    @property
    def addresses(self):
        """For --connect of a client that finds the active server itself."""
        return ",".join(f"{self.server(n)}:{XML}" for n in SERVERS)

    # --- the life of the cluster ---

    def up(self, say=print, seconds=90):
        """Starts everything, and returns once the exchange is ready behind haproxy. If that fails,
        nothing runs; the messages stay."""
        require_server()
        paths = programs()
        if any(self.alive(name) for name in self.pids):
            raise ClusterError(f"the cluster in {self.folder} is up already")
        if self.state_file.exists():  # of one that did not come up, or of before a restart
            self.down()
        if not self.network:
            self._check_free()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._own(self.folder)
        try:
            self._start_all(paths, say, seconds)
        except BaseException:
            self._end_all()
            raise

    def _start_all(self, paths, say, seconds):
        for number in NODES:
            self.start_etcd(number)
        for number in NODES:
            self.start_patroni(number)
        say("waiting for PostgreSQL")
        whole = lambda: self.primary() and len(self.replicas()) == 2
        self._wait(whole, "a primary and two replicas", seconds)
        self._create_database(paths)
        for number in SERVERS:
            self.start_server(number)
        self._start_haproxy(paths)
        say("waiting for the exchange")
        ready = lambda: get(f"http://{self.proxy}:{HTTP}/readyz")[0] == 200
        self._wait(ready, "the exchange", seconds)

    def down(self):
        """Ends everything and removes the folder."""
        self._end_all()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end_all(self):
        for prefix in ("haproxy", "exchange", "patroni", "etcd"):
            names = [name for name in self.pids if name.startswith(prefix)]
            for name in names:
                self.signal(name, signal.SIGCONT, group=True)
                self.signal(name, signal.SIGTERM, group=True)
            deadline = time.monotonic() + 15
            while any(self.alive(name) for name in names) and time.monotonic() < deadline:
                time.sleep(0.05)
            for name in names:
                self.signal(name, signal.SIGKILL, group=True)
        for number in NODES:  # if Patroni was killed, PostgreSQL goes on
            with contextlib.suppress(OSError, ValueError, IndexError):
                data = self.folder / f"node{number}/data"
                pid = int((data / "postmaster.pid").read_text().splitlines()[0])
                if os.readlink(f"/proc/{pid}/cwd") == str(data):  # not another that has its number
                    os.kill(pid, signal.SIGQUIT)
        self.pids = {}

    def ask_patroni(self, number, role):
        """The HTTP status: 200 if Patroni holds the node for that."""
        return get(f"http://{self.node(number)}:{PATRONI}/{role}")[0]

    def ask_server(self, number):
        """HTTP status and body: 200 if the exchange server is active."""
        return get(f"http://{self.server(number)}:{HTTP}/readyz")

    def primary(self):
        """The number of the node; None if there is none."""
        return next((n for n in NODES if self.ask_patroni(n, "primary") == 200), None)

    def replicas(self):
        return [n for n in NODES if self.ask_patroni(n, "replica") == 200]

    def active(self):
        """The number of the exchange server; None if there is none."""
        return next((n for n in SERVERS if self.ask_server(n)[0] == 200), None)

    def standbys(self):
        return [n for n in SERVERS if "standby" in self.ask_server(n)[1]]

    def is_well(self):
        nodes = self.primary() and len(self.replicas()) == 2
        return nodes and self.active() and len(self.standbys()) == 1

    def status(self):
        """Lines for people."""
        lines = []
        for number in NODES:
            role = {200: "primary", 503: "replica"}.get(self.ask_patroni(number, "primary"), "away")
            health, _ = get(f"http://{self.node(number)}:{ETCD}/health")
            etcd = "well" if health == 200 else "away"
            place = f"{self.node(number)}:{POSTGRES}"
            lines.append(f"node {number}    {place}  PostgreSQL {role}, etcd {etcd}")
        for number in SERVERS:
            code, text = self.ask_server(number)
            role = "active" if code == 200 else "standby" if "standby" in text else "away"
            lines.append(f"server {number}  {self.server(number)}:{XML}  HTTP {HTTP}, {role}")
        lines.append(f"haproxy   {self.proxy}:{XML}  HTTP {HTTP}, the active server")
        return lines

    # --- processes ---

    def alive(self, name):
        """Whether the process runs; another one that got its number later does not count."""
        pid, began = self.pids.get(name, (None, None))
        return pid is not None and start_of(pid) == began

    def signal(self, name, number, group=False):
        if self.alive(name):
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if group else os.kill)(self.pids[name][0], number)

    def start_server(self, number):
        """An exchange server that is started again whenever it ends, as a supervisor does."""
        words = [
            str(BIN / "server"),
            *("--bind", self.server(number), "--port", str(XML), "--http-port", str(HTTP)),
            *("--store", self.store, "--standby", "--require-replicas", "1", "--keep-journal"),
            *("--store-wait-s", "600"),
        ]
        loop = 'while :; do "$@"; echo "server ended with status $?"; sleep 0.2; done'
        command = ["sh", "-c", loop, "supervisor", *words]
        self._start(f"exchange{number}", command, self.server(number))

    def stop_server(self, number, seconds=10):
        """The server and its supervisor, for good."""
        name = f"exchange{number}"
        self.signal(name, signal.SIGTERM, group=True)
        gone = lambda: not self.alive(name) and self.ask_server(number)[0] == 0
        self._wait(gone, f"the end of {name}", seconds)

    def switch_over(self):
        """Hands over from the active server to the standby, as an operator does. Returns what
        ops/cluster/switchover says."""
        active, standbys = self.active(), self.standbys()
        if active is None or not standbys:
            raise ClusterError("a switchover needs an active server and a standby: see status")
        command = [OPS / "switchover", f"{self.server(standbys[0])}:{HTTP}"]
        command += [f"--active={self.server(active)}:{HTTP}"]
        command += [f"--signal=kill -USR2 {self.server_pid(active)}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise ClusterError(done.stderr.strip())
        return done.stdout.strip()

    def server_pid(self, number):
        """The pid of the server itself, not its supervisor; None if it is being started."""
        supervisor = self.pids[f"exchange{number}"][0]
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children")
        with contextlib.suppress(FileNotFoundError):
            for pid in map(int, children.read_text().split()):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/exe").endswith("/server"):
                        return pid
        return None

    def _start(self, name, command, address, user=None):
        """Runs a command on the host with this address."""
        if self.network and address in self.network.holders:
            command, user = [*self.network.enter(address, user), *command], None
        ours = ("EXCHANGE_", "PATRONI_", "ETCD_")
        options = {
            "stdin": subprocess.DEVNULL,
            "start_new_session": True,
            "env": {k: v for k, v in os.environ.items() if not k.startswith(ours)},
            "user": user,
            "cwd": self.folder,
        }
        with open(self.folder / f"{name}.log", "ab") as log:
            try:
                process = subprocess.Popen(command, stdout=log, stderr=log, **options)
            except OSError as error:  # such as a folder that the user of PostgreSQL cannot reach
                raise ClusterError(f"cannot start {name} in {self.folder}: {error}") from None
        self.pids[name] = (process.pid, start_of(process.pid))
        self.state_file.write_text(json.dumps({"net": self.net, "pids": self.pids}))

    def _own(self, path):
        if database_user():
            entry = pwd.getpwnam(database_user())
            os.chown(path, entry.pw_uid, entry.pw_gid)

    def _check_free(self):
        for address in (*map(self.node, NODES), *map(self.server, SERVERS), self.proxy):
            for port in (ETCD, POSTGRES, PATRONI, XML, HTTP):
                with socket.socket() as one:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        one.bind((address, port))
                    except OSError as error:
                        raise ClusterError(
                            f"{address}:{port} is in use ({error.strerror}); --net chooses other"
                            " addresses"
                        ) from None

    def start_etcd(self, number):
        name, address = f"etcd{number}", self.node(number)
        client, peer = (f"http://{address}:{port}" for port in (ETCD, ETCD_PEER))
        peers = ",".join(f"n{n}=http://{self.node(n)}:{ETCD_PEER}" for n in NODES)
        command = [programs()["etcd"], "--data-dir", str(self.folder / name)]
        command += f"--name n{number} --logger zap".split()
        command += f"--listen-client-urls {client} --advertise-client-urls {client}".split()
        command += f"--listen-peer-urls {peer} --initial-advertise-peer-urls {peer}".split()
        command += f"--initial-cluster {peers} --initial-cluster-state new".split()
        self._start(name, command, address)

    def start_patroni(self, number):
        paths, home = programs(), self.folder / f"node{number}"
        home.mkdir(exist_ok=True)
        self._own(home)
        config = home / "patroni.yml"
        settings = patroni_settings(self, paths, number, home)
        config.write_text(json.dumps(settings, indent=1))  # YAML reads JSON
        self._own(config)
        command = [paths["patroni"], str(config)]
        self._start(f"patroni{number}", command, self.node(number), database_user())

    def _create_database(self, paths):
        primary = self.node(self.primary())

        def run(sql):
            command = [f"{paths['postgresql']}/psql", "-h", primary]
            command += [*"-U postgres -d postgres -qAtc".split(), sql]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise ClusterError(f"{sql}: {done.stderr.strip()}")
            return done.stdout.strip()

        replicates = lambda: run("SHOW synchronous_standby_names")
        self._wait(replicates, "synchronous replication", 60)
        run("CREATE ROLE exchange LOGIN")
        run("CREATE DATABASE exchange OWNER exchange")

    def _start_haproxy(self, paths):
        names = {"EXCHANGE_BIND": self.proxy}
        names.update({f"EXCHANGE_{n}": self.server(n) for n in SERVERS})
        words = [f"{name}={value}" for name, value in names.items()]
        command = ["env", *words, paths["haproxy"], "-f", str(OPS / "haproxy.cfg"), "-db"]
        self._start("haproxy", command, self.proxy)

    def _wait(self, condition, what, seconds):
        try:
            wait_until(condition, what, seconds)
        except ServerError as error:
            raise ClusterError(f"{error}; see the messages in {self.folder}") from None


def patroni_settings(cluster, paths, number, home):
    """Those of docker-compose.ha.yml, with addresses and files of this cluster, and without
    passwords."""
    address = cluster.node(number)
    settings = yaml.safe_load((OPS / "patroni.yml").read_text())
    settings["name"] = f"n{number}"
    settings["etcd3"] = {"hosts": ",".join(f"{cluster.node(n)}:{ETCD}" for n in NODES)}
    settings["restapi"] = {key: f"{address}:{PATRONI}" for key in ("listen", "connect_address")}
    settings["bootstrap"]["dcs"].update(cluster.settings)
    del settings["bootstrap"]["post_bootstrap"]
    networks = ("127.0.0.0/8", f"{cluster.net}.0.0/16")
    settings["postgresql"].update(
        {
            "listen": f"{address}:{POSTGRES}",
            "connect_address": f"{address}:{POSTGRES}",
            "data_dir": str(home / "data"),
            "bin_dir": paths["postgresql"],
            "pgpass": str(home / "pgpass"),
            "authentication": {
                "superuser": {"username": "postgres"},
                "replication": {"username": "replicator"},
                "rewind": {"username": "postgres"},
            },
            "parameters": {"unix_socket_directories": str(home)},
            "pg_hba": [
                "local all all trust",
                *(f"host all all {of} trust" for of in networks),
                *(f"host replication replicator {of} trust" for of in networks),
            ],
        }
    )
    return settings
