"""One trial of a row: a server of its own, the load, and what both sides used."""

import json
import os
import re
import tempfile
import urllib.error
from pathlib import Path

from exchange_server import ExchangeServer, free_ports, loadgen_command, wait_until
from measure import NotMeasured, Watch, read_failures, read_marks, read_statistics
from rows import SPAWN_RATE, USERS
from load import run_session

HERE = Path(__file__).resolve().parent
RAMP_S = USERS / SPAWN_RATE
GRACE_S = 60  # beyond the time wanted; then a trial counts as hung


def prepare(server):
    """Accounts with cash and shares, an order of each, and the order that grows; what users need to
    know of them."""
    accounts = [str(number) for number in range(1, 201)]
    shares = "".join(f'<account id="{account}">1000000</account>' for account in accounts)
    server.request(
        "<create>"
        + "".join(f'<account id="{account}" balance="1000000000"/>' for account in accounts)
        + f'<symbol sym="LOAD">{shares}</symbol><symbol sym="GROW">{shares}</symbol></create>'
    )

    def order(account, text):
        (reply,) = server.request(f'<transactions id="{account}"><order {text}/></transactions>')
        return int(re.search(r'<opened .* id="(\d+)"/>', reply)[1])

    prepared = {account: order(account, 'sym="LOAD" amount="1" limit="1"') for account in accounts}
    quiet = order("1", 'sym="GROW" amount="2" limit="2"')
    order("2", 'sym="GROW" amount="-1" limit="2"')
    # The quiet order keeps one share open below everything that trades from now on: its reply stays
    # as it is.
    growing = order("1", 'sym="GROW" amount="100000000" limit="3"')
    last = growing

    def readable():
        try:
            return server.http(f"/api/orders/{last}")
        except urllib.error.HTTPError:
            return None

    wait_until(readable, "the prepared orders to be in the tables")
    return {
        "accounts": prepared,
        "growing": {"buyer": "1", "order": growing, "quiet_order": quiet, "sellers": accounts[1:]},
    }


def run_watched(command, server, folder, seconds, environment=None):
    """Runs the command; returns the watch, and what it wrote."""
    limit_s = RAMP_S + seconds + GRACE_S
    log, watch_of = folder / "log", lambda pid: Watch(server, pid)
    code, watch = run_session(command, log, limit_s, watch_of, environment)
    text = log.read_text()[-1000:]
    if code != 0:
        ended = f"no end after {limit_s:.0f} s" if code is None else f"it ended with {code}"
        raise NotMeasured(f"{ended}: {text}")
    return watch, text


def run_locust(row, seconds, python, server, folder):
    (folder / "state.json").write_text(json.dumps(prepare(server)))
    host = f"http://127.0.0.1:{server.http_port}" if row.over_http else f"127.0.0.1:{server.port}"
    limit_s = round(RAMP_S + seconds + GRACE_S / 2)
    command = [str(python), *("-m", "locust", "-f"), str(HERE / "locustfile.py"), row.user]
    command += f"--host {host} --headless -u {USERS} -r {SPAWN_RATE} -t {limit_s}s".split()
    command += "--reset-stats --only-summary --exit-code-on-error 0 --csv".split()
    command.append(str(folder / "csv"))
    if row.workers > 1:
        port = free_ports(1)[0]
        command += f"--processes {row.workers} --master-bind-host 127.0.0.1".split()
        command += f"--master-bind-port {port} --master-port {port}".split()
    environment = {
        **os.environ,
        "EXCHANGE_LOCUST_STATE": str(folder / "state.json"),
        "EXCHANGE_LOCUST_MARKS": str(folder / "marks"),
        "EXCHANGE_LOCUST_WAIT": ",".join(map(str, row.wait)),
        "EXCHANGE_LOCUST_SECONDS": str(seconds),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    watch, log = run_watched(command, server, folder, seconds, environment)
    marks = read_marks(folder / "marks") if (folder / "marks").exists() else {}
    if not (folder / "csv_stats.csv").exists() or set(marks) != {"spawned", "stopping"}:
        raise NotMeasured(f"Locust {' and '.join(marks) or 'never loaded'}: {log}")
    statistics = read_statistics(folder / "csv_stats.csv")
    if not statistics.get("Aggregated", {}).get("requests"):
        raise NotMeasured(f"no request was made: {(folder / 'csv_exceptions.csv').read_text()}")
    return {
        "statistics": statistics,
        "failures": read_failures(folder / "csv_failures.csv"),
        "usage": watch.usage(marks["spawned"], marks["stopping"]),
    }


def run_loadgen(row, seconds, server, folder):
    command = loadgen_command(
        f"-c {USERS} --ramp-up {SPAWN_RATE} --warmup {RAMP_S:g}s -d {seconds:g}s --workload reads"
        f" --workers {row.workers} --connect 127.0.0.1:{server.port} --server-pid"
        f" {server.pid} --json {folder / 'report.json'}"
    )
    watch, _ = run_watched(command, server, folder, seconds)
    report = json.loads((folder / "report.json").read_text())["result"]
    times, errors = report["response_ms"], sum(report["errors"].values())
    ended = watch.samples[-1].at
    whole = {
        "requests": report["answered"] + errors,
        "failures": errors,
        "median": times["p50"],
        "p95": times["p95"],
        "p99": times["p99"],
        "average": times["mean"],
        "size": None,
        "rate": report["requests_per_s"],
    }
    return {
        "statistics": {"Aggregated": whole},
        "failures": {},
        "usage": watch.usage(ended - report["seconds"], ended),
    }


def run_trial(row, seconds, python):
    """The record of a trial. Raises NotMeasured."""
    with tempfile.TemporaryDirectory(prefix="exchange-locust-") as name, ExchangeServer(
        store="sqlite:{folder}/exchange.db"
    ) as server:
        folder = Path(name)
        if row.user:
            record = run_locust(row, seconds, python, server, folder)
        else:
            record = run_loadgen(row, seconds, server, folder)
        settings = server.ready_line.split("policy=")[1].split(" http-port")[0]
        settings = settings.replace(server.folder.name + "/", "")
        return {"row": row.key, "seconds": seconds, "server": settings, **record}
