"""The values in the documents are those of the code (limits and time-outs, options of the terminal
client, variables of compose files), and their figures those of docs/figures.json, which
`studies/figures` measures and `studies/figures --fill` writes into the pages."""

import json
import re
import subprocess
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from exchange_server import BIN
from tree import ROOT, tracked

loader = SourceFileLoader("figures_of_pages", str(ROOT / "studies/figures"))
figures = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(figures)

KIB, MIB, MILLION = 1 << 10, 1 << 20, 1_000_000

CONNECTION = "server/store/postgres/postgres_connection.cpp"
POSTGRES = "server/store/postgres/postgres_store.cpp"
STANDBY = "server/core/standby.cpp"
LEASE = "server/journal/lease.hpp"
PROTOCOL = "server/protocol/limits.hpp"
HTTP = "server/web/limits.hpp"
NET = "server/net/limits.hpp"
WEBSOCKET = "server/websocket/limits.hpp"
CORE = "server/core/limits.hpp"
STORE = "server/store/limits.hpp"
ORDERS = "server/engine/orders.hpp"
COMMANDS = "server/engine/commands.hpp"
REFERENCES = "server/engine/references.hpp"
JOURNAL = "server/journal/journal_file.hpp"
SQLITE = "server/store/sqlite/sqlite.cpp"
PATRONI = "ops/cluster/patroni.yml"

# Page, text before and after the value; source, text before the value; how many of the source's
# unit are one of the page's. `#` stands for the value.
CLAIMS = [
    ("operations", "`connect_timeout=#` (seconds)", CONNECTION, "connect_timeout_s = #", 1),
    ("operations", "`tcp_user_timeout=#`", CONNECTION, '{"tcp_user_timeout", "#"}', 1),
    ("operations", "does not answer for # seconds", STORE, "answer_max{#}", 1000),
    ("operations", "retries for `--store-wait-s` (#)", CORE, "store_wait_s = #", 1),
    ("operations", "for # ms after a commit", LEASE, "length_ns = #", MILLION),
    ("operations", "takes over waits # ms", LEASE, "wait_ns = #", MILLION),
    ("operations", "leaves it # ms to connect again", STANDBY, "reconnect_ns = #", MILLION),
    ("operations", "and # seconds after the", STANDBY, "failover_ns = #", 1000 * MILLION),
    ("operations", "up to # batches", POSTGRES, "kept_for_standbys_max = #", 1),
    ("operations", "`--journal-batches-kept` (#) if", CORE, "journal_batches_kept = #", 1),
    ("operations", "`--journal-batches-kept` (#) proj", CORE, "journal_batches_kept = #", 1),
    ("operations", "blocks of # MiB", JOURNAL, "usual_block_bytes = #", MIB),
    ("cluster", "takes over after # s or", POSTGRES, "set_config(name, '#s'", 1),
    ("cluster", "wal_sender_timeout: #s", PATRONI, "wal_sender_timeout: #s", 1),
    ("cluster", "or # s: no reply", PATRONI, "tcp_user_timeout: #", 1000),
    ("protocol", "length line has at most # bytes", PROTOCOL, "length_line_bytes_max = #", 1),
    ("protocol", "Elements nest at most # deep", PROTOCOL, "xml_depth_max = #", 1),
    ("protocol", "An element has at most # attributes", PROTOCOL, "xml_attributes_max = #", 1),
    ("protocol", "attribute value has at most # bytes", PROTOCOL, "xml_attribute_bytes_max = #", 1),
    ("protocol", "A request has at most # elements", PROTOCOL, "elements_max = #", 1),
    ("protocol", "followed by nothing for # seconds", NET, "complete_document_ms = #", 1000),
    ("protocol", "lists at most # executions", COMMANDS, "listed_executions_max = #", 1),
    ("protocol", "have got # executions", CORE, "reply_executions_max = #", 1),
    ("protocol", "takes the # oldest orders", ORDERS, "canceled_orders_max = #", 1),
    ("protocol", "once # executions are listed", ORDERS, "canceled_executions_max = #", 1),
    ("protocol", "more than # orders of one account under way", REFERENCES, "kept_max = #", 1),
    ("protocol", "At most # connections are open", NET, "connections_max = #", 1),
    ("protocol", "without a complete request for # seconds", NET, "idle_ms = #", 1000),
    ("protocol", "within # seconds of its first byte", NET, "stall_ms = #", 1000),
    ("cli", "at most # orders", ORDERS, "canceled_orders_max = #", 1),
    ("python", "at most # orders", ORDERS, "canceled_orders_max = #", 1),
    ("cli", "at most # s to connect", "client/cli/command.hpp", "connect_timeout_s = #", 1),
    ("http-api", "`--frame-bytes-max` (# MiB)", PROTOCOL, "frame_bytes_max = #", MIB),
    ("http-api", "or over # KiB on a path", HTTP, "body_bytes_max = #", KIB),
    ("http-api", "header over # KiB", HTTP, "header_bytes_max = #", KIB),
    ("http-api", "Limits: # connections", HTTP, "connections_max = #", 1),
    ("http-api", "up to # (fewer", "server/resource_plan.cpp", "http_connections_max = #", 1),
    ("http-api", "must arrive within # s", HTTP, "idle_ms = #", 1000),
    ("http-api", "share # MiB", HTTP, "buffered_bytes_max = #", MIB),
    ("http-api", "at most # levels per side", WEBSOCKET, "book_levels_max = #", 1),
    ("http-api", "more than # levels and trades", WEBSOCKET, "update_entries_max = #", 1),
    ("http-api", "at most # subscriptions", WEBSOCKET, "websocket_subscriptions_max = #", 1),
    ("http-api", "one over # KiB with 1009", WEBSOCKET, "websocket_message_bytes_max = #", KIB),
    ("http-api", "still # MiB behind", WEBSOCKET, "websocket_backlog_bytes_max = #", MIB),
    ("http-api", "answers no ping for # s", WEBSOCKET, "websocket_idle_ms = #", 1000),
    ("http-api", "every # ms under load", CORE, "projection_interval_ms = #", 1),
    ("security", "to the # accounts", "server/auth/limits.hpp", "session_logins_max = #", 1),
    ("security", "as a request (# s;", NET, "stall_ms = #", 1000),
    ("security", "HTTP: # s)", HTTP, "idle_ms = #", 1000),
    ("security", "begin # connections per second", NET, "handshakes_per_address = #", 1),
    ("audit", "the audit waits # seconds", JOURNAL.replace("hpp", "cpp"), "wait_us = #", MILLION),
    ("audit", "its journal waits # seconds", SQLITE, "busy_ms = #", 1000),
]


def number(text):
    """12,345, of a page; 12'345, 128u << 20 or 1 << 20, of C++."""
    value, _, shift = re.sub(r"['u,]", "", text).partition("<<")
    return int(value) << int(shift or 0)


def find(text, pattern, value):
    """The values in place of `#`, where the text around them fits. A space may be a line end."""
    whole = re.sub(r"(\\ )+", r"\\s+", re.escape(pattern)).replace(re.escape("#"), f"({value})")
    return re.findall(r"(?<!\w)" + whole, text)


def rows(page):
    """The cells of each table row of a page that begins with code."""
    lines = re.findall(r"^\| (`.*) \|$", (ROOT / page).read_text(), re.M)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


class Values(unittest.TestCase):
    maxDiff = None

    def test_limits_and_time_outs(self):
        for page, claim, source, assignment, unit in CLAIMS:
            with self.subTest(f"{page}: {claim}"):
                text, code = (ROOT / f"docs/{page}.md").read_text(), (ROOT / source).read_text()
                claimed = find(text, claim, r"\d[\d,]*\d|\d")
                found = find(code, assignment, r"\d[\d']*u?(?: << \d+)?")
                self.assertTrue(claimed, f"docs/{page}.md has no '{claim}' any more")
                self.assertTrue(found, f"{source} has no '{assignment}' any more")
                self.assertEqual(
                    {number(each) for each in found},
                    {number(each) * unit for each in claimed},
                )

    @unittest.skipUnless((BIN / "exchange-cli").exists(), f"no exchange-cli in {BIN}")
    def test_options_of_the_terminal_client(self):
        help_ = subprocess.run(
            [BIN / "exchange-cli", "--help"], capture_output=True, text=True, check=True
        )
        real = {
            option: (re.findall(r"\$(\w+)", rest), re.findall(r"default: ([\d.:]+)\)", rest))
            for option, rest in re.findall(r"^ +(?:-\w,)?(--[\w-]+)(.*)$", help_.stdout, re.M)
            if option not in ("--help", "--version")
        }
        documented = {
            re.search(r"--[\w-]+", option)[0]: (
                re.findall(r"\w+", variable),
                re.findall(r"^[\d.:]+$", default),
            )
            for option, variable, default, *_ in rows("docs/cli.md")
            if option.startswith("`-")
        }
        self.assertEqual(real, documented)

    def test_variables_of_compose_files(self):
        for page in ("docker-compose.yml", "docker-compose.ha.yml"):
            whole = (ROOT / page).read_text()
            text = re.sub(r"^#.*$", "", whole, flags=re.M)
            real = dict(re.findall(r"\$\{(\w+):-([^}]*)\}", text))
            comment = r"^#   ([A-Z][A-Z_, ]+?)  +[^[\n]*\[?([^]\n]*)"
            explained = re.findall(comment, whole, re.M)
            named = {
                name.strip("` "): default
                for names, default in explained
                for name in names.split(",")
            }
            with self.subTest(page):
                self.assertEqual(set(real), set(named))
                for name, default in named.items():
                    # what a sentence describes, such as "the database", is not compared
                    if re.fullmatch(r"[\d.]+|[a-z]+:[\w-]+", default):
                        self.assertEqual(real[name], default, name)


class Figures(unittest.TestCase):
    maxDiff = None

    def test_pages_quote_what_was_measured(self):
        pages = {path.relative_to(ROOT): path.read_text() for path in tracked("*.md")}
        known = json.loads(figures.FILE.read_text())
        self.assertEqual([], list(figures.problems(pages, known)))

    def test_another_value_an_unknown_name_a_mark_without_end_and_an_unused_figure_are_named(self):
        known = {
            "rate": {"value": 91_700, "unit": "requests/s"},
            "cpu": {"value": 9.4, "unit": "us"},
        }
        page = (
            "It does\n<!--= rate -->103,100<!--=-->/s.\n<!--= p99 -->3<!--=-->\n<!--= rate -->9\n"
        )
        found = [problem.partition(": ")[0] for problem in figures.problems({"a.md": page}, known)]
        self.assertEqual(["a.md:2", "a.md:3", "a.md:4", "docs/figures.json"], found)
