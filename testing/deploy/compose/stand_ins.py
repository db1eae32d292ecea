"""Images in place of the official ones, where no registry can be reached: made with debootstrap from Debian's packages."""

import os
import re
import shutil
import ssl
import subprocess
from pathlib import Path

from engine import CACHE, need, run

HERE = Path(__file__).resolve().parent
SUITE = "bookworm"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def make(tag, folder, environment):
    """Builds `tag`:base and `tag`:postgres; returns their names."""
    root_archive = CACHE / f"{SUITE}.tar"
    if not root_archive.exists():
        bootstrap(root_archive, Path(folder))
    bare, base, postgres = f"{tag}:bare", f"{tag}:base", f"{tag}:postgres"
    run("docker import", root_archive, bare, env=environment)
    # pip trusts what this machine trusts, such as a proxy's certificate; in the stand-in only.
    context = Path(folder) / "base"
    context.mkdir()
    shutil.copy(ssl.get_default_verify_paths().cafile or CERTIFICATES, context / "machine.crt")
    (context / "pip.conf").write_text("[global]\ncert = /etc/ssl/machine.crt\n")
    copies = "COPY machine.crt /etc/ssl/\nCOPY pip.conf /etc/\n"
    (context / "Dockerfile").write_text(f"FROM {bare}\n{copies}")
    run("docker build --tag", base, context, env=environment)
    print("building the stand-in for the image of PostgreSQL", flush=True)
    build = f"docker build --build-arg BASE={base} --tag {postgres}"
    run(build, HERE / "postgres", env=environment)
    return base, postgres


def bootstrap(archive, folder):
    need("debootstrap", "tar")
    print(f"making a {SUITE} with debootstrap; it is kept in {CACHE}", flush=True)
    root = folder / "root"
    mirror = machine_mirror()
    run("debootstrap --variant=minbase", SUITE, root, *([mirror] if mirror else []))
    # This machine's way to the packages, such as a proxy; in the stand-in only.
    proxies = re.findall(r"^Acquire::.*::Proxy.*\n", run("apt-config dump"), re.M)
    (root / "etc/apt/apt.conf.d/99machine").write_text("".join(proxies))
    CACHE.mkdir(parents=True, exist_ok=True)
    run("tar --create --file", f"{archive}.{os.getpid()}", "--directory", root, ".")
    os.replace(f"{archive}.{os.getpid()}", archive)
    shutil.rmtree(root)


def machine_mirror():
    """Where this machine has the suite from; else debootstrap's own default."""
    columns = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    command = ["apt-get", "indextargets", "--format", columns, "Created-By: Packages"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^(\S+) {SUITE} main$", listed, re.M)
    return found and found[1]
