"""A network of hosts on this machine whose links can be cut: a network namespace for each host, and
a bridge between them.

Only within private(): the bridge lies in a network namespace of this process, and everything ends
with it. A cut needs no packet filter: the host that shall not be heard gets a wrong hardware
address of the other one, so its packets arrive nowhere."""

import os
import pwd
import shutil
import subprocess
import sys
import time

PRIVATE = "EXCHANGE_CHAOS_PRIVATE"
NOWHERE = "02:00:00:00:00:ff"  # a hardware address that no interface has


def private():
    """Starts this program again in a network and mount namespace of its own. Returns only inside,
    or with the reason why it cannot."""
    if os.environ.get(PRIVATE):
        return None
    if os.geteuid() != 0:
        return "they take root"
    missing = [name for name in ("unshare", "nsenter", "ip") if not shutil.which(name)]
    if missing:
        return f"no {' and no '.join(missing)} here (Debian: util-linux, iproute2)"
    trial = (
        "ip link add trial0 type bridge && ip link add trial1 type veth peer name trial2 && mount"
        " -t tmpfs t /mnt"
    )
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", trial], capture_output=True, text=True
    )
    if done.returncode != 0:
        return f"no namespaces here: {done.stderr.strip()}"
    sys.stdout.flush()
    os.execvpe(
        "unshare",
        ["unshare", "--net", "--mount", sys.executable, "-B", *sys.argv],
        {**os.environ, PRIVATE: "1"},
    )


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")


class Network:
    """`hosts`: addresses in `net`.0.0/16. `net`.0.254 is this process, and so is each address of
    `here`."""

    def __init__(self, net, hosts, here=()):
        self.holders = {}
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge", "type", "bridge")
        for address in (f"{net}.0.254", *here):
            run("ip", "address", "add", f"{address}/16", "dev", "bridge")
        run("ip", "link", "set", "bridge", "up")
        for number, address in enumerate(hosts):
            self._add(f"host{number}", address)

    def _add(self, name, address):
        holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"]
        )
        self.holders[address] = holder
        ours = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == ours:
            if holder.poll() is not None:
                raise RuntimeError(f"no network namespace for {address}")
            time.sleep(0.01)
        peer = ("peer", "name", "eth0", "netns", str(holder.pid))
        run("ip", "link", "add", name, "type", "veth", *peer)
        run("ip", "link", "set", name, "master", "bridge", "up")
        run(*self.enter(address), "ip", "link", "set", "lo", "up")
        run(*self.enter(address), "ip", "address", "add", f"{address}/16", "dev", "eth0")
        run(*self.enter(address), "ip", "link", "set", "eth0", "up")

    def enter(self, address, user=None):
        """What to put before a command that shall run on a host, as this user."""
        words = ["nsenter", f"--net=/proc/{self.holders[address].pid}/ns/net"]
        if user:
            entry = pwd.getpwnam(user)
            words += [f"--setgid={entry.pw_gid}", f"--setuid={entry.pw_uid}"]
        return words

    def cut(self, sender, receiver):
        """Packets of one host to another are lost from now on."""
        run(
            *self.enter(sender),
            *("ip", "neighbour", "replace", receiver, "lladdr", NOWHERE),
            *("dev", "eth0", "nud", "permanent"),
        )

    def mend(self, sender, receiver):
        """Ends a cut, if it has not ended yet."""
        words = ("ip", "neighbour", "delete", receiver, "dev", "eth0")
        subprocess.run([*self.enter(sender), *words], capture_output=True, check=False)

    def close(self):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()


class Disk:
    """A file system of its own in memory, which can be full. For private() processes."""

    def __init__(self, folder, size="8g"):
        self.folder, self.size = str(folder), size
        run("mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "none", self.folder)

    def fill(self):
        for attempt in range(10):  # it may grow meanwhile, and cannot be made smaller than it is
            now = os.statvfs(self.folder)
            size = (now.f_blocks - now.f_bfree + attempt * 16) * now.f_frsize
            words = ["mount", "-o", f"remount,size={size}", self.folder]
            if subprocess.run(words, capture_output=True).returncode == 0:
                return
        raise RuntimeError(f"{self.folder} grows too fast to be made full")

    def empty(self):
        run("mount", "-o", f"remount,size={self.size}", self.folder)

    def close(self):
        subprocess.run(["umount", "-l", self.folder], capture_output=True, check=False)
