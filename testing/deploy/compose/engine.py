"""A Docker engine to prove things on: the one that answers, else one of our own in a temporary folder, with the compose plugin."""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

COMPOSE = "v2.40.3"  # built from its Go module where no plugin is installed
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "exchange-compose"


class Skip(Exception):
    """This machine cannot run the proof; says why."""


def words_of(command, *words):
    """`command` is split at its spaces, `words` are taken as they are."""
    return [*command.split(), *map(str, words)]


def run(*command, **more):
    """The output of words_of(*command). Raises RuntimeError, with the end of the output, if it fails."""
    words, output = words_of(*command), subprocess.PIPE
    done = subprocess.run(words, stdout=output, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: status {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


def succeeds(*command, **more):
    return subprocess.run(words_of(*command), capture_output=True, **more).returncode == 0


def need(*tools):
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise Skip(f"no {' and no '.join(missing)} here")


class Engine:
    """Sets DOCKER_HOST and DOCKER_CONFIG of `environment` so that `docker compose` works with it."""

    def __init__(self, folder, environment):
        self.folder, self.environment, self.own = Path(folder), environment, None
        need("docker")
        if succeeds("docker info", env=environment):
            host = run(
                "docker context inspect --format {{.Endpoints.docker.Host}}", env=environment
            )
            environment.setdefault("DOCKER_HOST", host.strip())
        else:
            self.own = OwnEngine(self.folder)
            environment["DOCKER_HOST"] = self.own.host
        version = run("docker version --format {{.Server.Version}}", env=environment)
        self.description = f"Docker {version.strip()}"

    def provide_compose(self):
        if succeeds("docker compose version", env=self.environment):
            return
        config = self.folder / "config"
        (config / "cli-plugins").mkdir(parents=True)
        (config / "cli-plugins/docker-compose").symlink_to(compose_plugin(self.folder))
        self.environment["DOCKER_CONFIG"] = str(config)
        run("docker compose version", env=self.environment)

    def close(self):
        if self.own:
            self.own.stop()


def compose_plugin(folder):
    kept = CACHE / f"docker-compose-{COMPOSE}"
    if kept.exists():
        return kept
    if shutil.which("go") is None:
        raise Skip("docker has no compose plugin, and there is no Go to build it with")
    print(f"building the compose plugin {COMPOSE}; it is kept in {CACHE}", flush=True)
    try:
        download = f"go mod download -json github.com/docker/compose/v2@{COMPOSE}"
        module = json.loads(run(download, cwd=folder))
    except RuntimeError as error:
        raise Skip(f"docker has no compose plugin, and its module cannot be had: {error}") from None
    # Its go.mod excludes versions, which `go install` does not accept.
    source = Path(folder) / "compose-source"
    shutil.copytree(module["Dir"], source, copy_function=shutil.copyfile)
    for path in [source, *source.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    built = Path(folder) / "docker-compose"
    flags = f"-X github.com/docker/compose/v2/internal.Version={COMPOSE}"
    run("go build -o", built, "-ldflags", flags, "./cmd", cwd=source)
    shutil.rmtree(source)
    CACHE.mkdir(parents=True, exist_ok=True)
    shutil.move(built, f"{kept}.{os.getpid()}")
    os.replace(f"{kept}.{os.getpid()}", kept)
    return kept


class OwnEngine:
    """dockerd with everything of it in `folder`. Leaves the machine as it was: rules, bridge, mounts and control groups."""

    def __init__(self, folder):
        need("dockerd", "containerd", "runc", "iptables-save")
        if os.geteuid() != 0:
            raise Skip("no Docker engine answers, and starting one takes root")
        self.folder, self.process = folder / "engine", None
        self.host = f"unix://{self.folder}/socket"
        self.before = {
            "rules": rules(),
            "bridge": Path("/sys/class/net/docker0").exists(),
            "forward": forwarding().read_text(),
            "groups": set(control_groups()),
        }
        refusals = []
        for storage in ([], ["--storage-driver=vfs"]):
            refusal = self.start(storage)
            if refusal is None:
                return
            refusals.append(f"dockerd {' '.join(storage)}: {refusal}")
            self.stop()
        raise Skip("no Docker engine can be started here: " + "; ".join(refusals))

    def start(self, storage):
        self.folder.mkdir()
        log_path = self.folder / "log"
        command = ["dockerd", "--host", self.host, *storage]
        for option in ("data-root", "exec-root", "pidfile"):
            command += [f"--{option}", self.folder / option]
        with open(log_path, "w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not succeeds("docker --host", self.host, "info"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                return " ".join(log_path.read_text().splitlines()[-1:])[-500:]
            time.sleep(0.2)
        return None

    def stop(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            listed = subprocess.run(
                ["docker", "--host", self.host, "ps", "-aq"],
                capture_output=True,
                text=True,
                check=False,  # it may have failed before
            )
            if containers := listed.stdout.split():
                succeeds("docker --host", self.host, "rm", "-f", *containers)
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None
        mounts = [line.split()[1] for line in open("/proc/self/mounts")]
        own = [mount for mount in mounts if mount.startswith(f"{self.folder}/")]
        for mount in sorted(own, reverse=True):
            succeeds("umount -l", mount)
        if not self.before["bridge"]:
            succeeds("ip link delete docker0")
        restore_rules(self.before["rules"])
        forwarding().write_text(self.before["forward"])
        for group in sorted(set(control_groups()) - self.before["groups"], reverse=True):
            succeeds("rmdir", group)
        shutil.rmtree(self.folder)


def forwarding():
    return Path("/proc/sys/net/ipv4/ip_forward")


def control_groups():
    return (
        str(path)
        for pattern in ("docker", "*/docker", "docker/**/", "*/docker/**/")
        for path in Path("/sys/fs/cgroup").glob(pattern)
    )


def rules():
    """{table: (policies and chains, rules)} of the packet filter."""
    tables, table = {}, None
    for line in run("iptables-save").splitlines():
        if line.startswith("*"):
            table = tables.setdefault(line[1:], ({}, []))
        elif line.startswith(":"):
            chain, policy, _ = line[1:].split()
            table[0][chain] = policy
        elif line.startswith("-A"):
            table[1].append(line)
    return tables


def restore_rules(before):
    """Takes away what an engine added, and nothing else."""
    for name, (chains, lines) in rules().items():
        old_chains, old_lines = before.get(name, ({}, []))
        for line in lines:
            if line not in old_lines and re.search("DOCKER|docker0|-j MASQUERADE", line):
                succeeds("sh -c", f"iptables -t {name} -D{line[2:]}")
        mine = [chain for chain in chains if chain.startswith("DOCKER") and chain not in old_chains]
        for action in ("-F", "-X"):
            for chain in mine:
                succeeds("iptables -t", name, action, chain)
    # An engine that finds no forwarding switches it on, and lets nothing else through.
    if before.get("filter", ({}, []))[0].get("FORWARD", "ACCEPT") == "ACCEPT":
        succeeds("iptables -P FORWARD ACCEPT")
