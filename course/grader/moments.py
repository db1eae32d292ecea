"""Links from broken rules to moments of a day in which this project's own server got the same
requests.

The conformance test draws the numbers of a case from its seed. It runs once more, with one rule,
against our server: that is the day. The conversation of a submission is only compared with the
requests of the day, to find the moment: nothing that a submission sent reaches our server. A
request that depends on a wrong reply has no match, and its rule has no link."""

import http.client
import json
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import processes
import weights as weighing
from results import write_atomically
from server import environment

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "client/python/src"))
STORE = "moments.db"  # in the results; the days are beside it, as those that a server closes
RULES_MAX = 20
PATIENCE_S = 20  # for our server to start or to stop, and for the cases of one rule
PAGE = "http://127.0.0.1:8080/#replay/"  # of a server with its usual port
NAME = re.compile(r'\b(id|sym)="[^"]+"')
SYMBOL = re.compile(r'\bsym="([^"]+)"')


def find(grade, shared):
    """Sets grade.moments, {rule: moment}. Never raises but for an interruption: a grade does not
    depend on it."""
    grade.moments = {}
    if (ROOT / "bundle.json").exists():  # a course platform keeps no folder of results
        return
    try:
        for rule in failed(grade.parts.get("conformance") or {}, shared.weights):
            turns = [turn["sent"] for turn in rule["conversation"]]
            if any(SYMBOL.search(turn) for turn in turns):
                if moment := moment_of(turns, day_of(rule["rule"], shared)):
                    grade.moments[rule["rule"]] = moment
    except Exception as error:  # noqa: BLE001
        shared.progress.say(f"{grade.submission.name}: no more links to moments: {error}")


def serving(shared):
    """The command that shows the days."""
    store = f"sqlite:{shared.output / STORE}"
    return shlex.join([str(shared.bin / "server"), "--store", store])


def failed(result, weights):
    """Those with a conversation, root causes first."""
    first = [rule for rule, _ in weighing.rule_losses(result, weights)]
    rest = [rule for rule in result.get("rules", []) if rule not in first]
    wanted = [rule for rule in first + rest if rule.get("result") in ("broken", "blocked")]
    wanted = [rule for rule in wanted if re.fullmatch("[A-Z][0-9]+", str(rule.get("rule")))]
    return [rule for rule in wanted if rule.get("conversation")][:RULES_MAX]


def moment_of(turns, day):
    """The moment of the last of these requests. None if the day does not have them, or they name no
    symbol that it has by then."""
    wanted, there = compared(turns), compared([sent for sent, _ in day["turns"]])
    size = len(wanted)
    for end in range(size, len(there) + 1):
        if [form for form, _ in there[end - size : end]] != [form for form, _ in wanted]:
            continue
        position = day["turns"][there[end - 1][1]][1]
        for (_, theirs), (_, ours) in zip(reversed(wanted), reversed(there[:end]), strict=False):
            found = SYMBOL.search(turns[theirs]), SYMBOL.search(day["turns"][ours][0])
            if all(found):
                symbol, name = found[1][1], found[0][1]
                is_there = day["symbols"].get(symbol, position + 1) <= position
                moment = {"link": f"{day['name']}/{symbol}@{position}", "symbol": symbol}
                return {**moment, "named": name} if is_there else None
    return None


def compared(turns):
    """[(request without ids and symbols, its index)]. Of queries in a row, the last: cases may
    repeat them until the reply changes."""
    found = []
    for index, sent in enumerate(turns):
        form = NAME.sub(r'\1=""', re.sub(r"^\d+\n", "", sent)).strip()
        if found and "<query" in form and found[-1][0] == form:
            found.pop()
        found.append((form, index))
    return found


def day_of(rule, shared):
    """Its name, its requests with the position behind each, and its symbols with the position of
    their creation. Made once."""
    name = rule.lower()
    folder = shared.output / f"{STORE}.days" / name
    file, chosen = folder / "requests.json", shared.settings
    programs = shared.fingerprint("conformance", "server")
    key = [chosen.seed, chosen.conformance_rounds, programs]
    try:
        day = json.loads(file.read_text())
        if day["key"] == key:
            return day
    except (OSError, ValueError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    turns = record(rule, folder / STORE, shared)
    positions, symbols = read_journal(folder / f"{STORE}.journal")
    turns = [(sent, positions[batch]) for sent, batch in turns]
    day = {"name": name, "key": key, "turns": turns, "symbols": symbols}
    write_atomically(file, json.dumps(day))
    return day


def read_journal(path):
    """(number of commands up to each batch, {symbol: position of its creation})"""
    from exchange_replay import journal  # not in a bundle

    positions, symbols = [0], {}
    for record in journal.records(path):
        for nth, (_, fields) in enumerate(record.commands, positions[-1] + 1):
            symbols.setdefault(fields.get("symbol"), nth)
        positions.append(positions[-1] + len(record.commands))
    return positions, symbols


def record(rule, store, shared):
    """[(request, newest batch behind its reply)] of the cases of the rule with our server, which
    writes this store."""
    command = [shared.bin / "server", "--bind", "127.0.0.1", "--port", "0", "--http-port", "0"]
    command += ["--keep-journal", "--log-level", "off", "--store", f"sqlite:{store}"]
    options = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment()}
    with processes.Tool(command, stdout=subprocess.PIPE, **options) as server:
        with server.stdout as output:
            is_ready = select.select([output], [], [], PATIENCE_S)[0]
            words = output.readline().decode() if is_ready else ""
            ports = re.fullmatch(r"ready port=(\d+) .* http-port=(\d+)\n", words)
            if not ports:
                raise RuntimeError("our server did not start")
            with Recorder(int(ports[1]), int(ports[2])) as recorder:
                is_kept = keeps(rule, recorder.port, shared)
            server.terminate()
            server.wait(PATIENCE_S)
    return recorder.turns if is_kept else []


def keeps(rule, port, shared):
    """Runs its cases."""
    command = [shared.bin / "conformance", f"127.0.0.1:{port}", "--rule", rule]
    command += ["--seed", str(shared.settings.seed)]
    command += ["--rounds", str(shared.settings.conformance_rounds)]
    silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        file = Path(folder) / "report.json"
        with processes.Tool([*command, "--json", file], **silent) as test:
            test.wait(PATIENCE_S)
        report = json.loads(file.read_text())
    return [one["result"] for one in report["rules"]] == ["kept"]


class Recorder:
    """Passes bytes between clients and our server, and keeps each request with the newest batch
    when its reply came."""

    def __init__(self, server_port, http_port):
        self.server_port, self.turns, self.lock = server_port, [], threading.Lock()
        self.http = http.client.HTTPConnection("127.0.0.1", http_port, timeout=PATIENCE_S)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # accept() in its thread ends
        self.listener.close()
        self.http.close()

    def _accept(self):
        try:
            while True:
                client = self.listener.accept()[0]
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()
        except OSError:
            pass

    def _pass_on(self, client):
        try:
            with client, socket.create_connection(("127.0.0.1", self.server_port)) as server:
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._pass_both_ways({client: server, server: client}, client)
        except OSError:
            pass

    def _pass_both_ways(self, peers, client):
        reading, sent = set(peers), b""
        while reading:
            for one in select.select(reading, [], [])[0]:
                data = one.recv(1 << 16)
                if not data:
                    reading.discard(one)
                    peers[one].shutdown(socket.SHUT_WR)
                    continue
                if one is client:
                    sent += data
                elif sent:
                    self._note(sent)
                    sent = b""
                peers[one].sendall(data)

    def _note(self, sent):
        with self.lock:
            self.http.request("GET", "/metrics")
            page = self.http.getresponse().read().decode()
            batch = int(re.search(r"^exchange_journal_batch (\d+)$", page, re.M)[1])
            self.turns.append((sent.decode("utf-8", "replace"), batch))
