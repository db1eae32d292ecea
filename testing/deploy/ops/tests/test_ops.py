"""ops/: the metrics of the dashboard and of the alerts exist on a running server; checked by
Prometheus too, if it is installed. What ops/kubernetes asks for exists, and its proxy is that of
ops/cluster."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from exchange_server import BINARY, ROOT, ExchangeServer, free_ports, wait_until

try:
    import yaml
except ImportError:
    yaml = None

DASHBOARD = ROOT / "ops/grafana/exchange-dashboard.json"
ALERTS = ROOT / "ops/alerts.yml"
# What Prometheus adds by itself, and bounds of buckets.
OF_PROMETHEUS = {"up", "job", "instance", "le"}
IDENTIFIER = r"[a-zA-Z_][a-zA-Z0-9_]*"
TRAFFIC = (
    (
        '<create><account id="1" balance="1000"/><account id="1" balance="1"/><symbol'
        ' sym="SPY"><account id="1">50</account></symbol></create>'
    ),
    (
        '<transactions id="1"><order sym="SPY" amount="10" limit="5"/><order sym="SPY" amount="-4"'
        ' limit="5"/><order sym="SPY" amount="-900" limit="5"/><query id="1"/><cancel'
        ' id="1"/></transactions>'
    ),
    '<transactions id="1"><order sym="SPY" amount="ten" limit="5"/></transactions>',
    "<not-ours/>",
)
SAMPLED_ONE_IN = 31  # request batches that are timed; DESIGN.md, "Measuring"
PROMTOOL, PROMETHEUS = (
    os.environ.get(name.upper()) or shutil.which(name) for name in ("promtool", "prometheus")
)
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/sbin")
LABEL = re.compile(r'(\w+)="')


def dashboard_expressions(dashboard):
    """(panel title, expression) of each target."""
    return [
        (panel["title"], target["expr"])
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    ]


def filled_in(expression):
    """As Grafana sends it, for all servers."""
    return expression.replace("$__rate_interval", "30s").replace("$instance", ".*")


def alert_expressions(text):
    """(alert, expression) of each rule; of one line each, so that no YAML library is needed."""
    found = re.findall(r"- alert: (\S+)\n\s+expr: (.+)", text)
    assert len(found) == text.count("alert:"), "an expression is not on the line after its alert"
    return found


def asked(expression):
    """({metric: labels asked of it}) of an expression. Labels in `by (...)` are asked of each
    metric of the expression."""
    labels = set()
    for group in re.findall(r"\b(?:by|without|on|ignoring) \(([^)]*)\)", expression):
        labels |= set(re.findall(IDENTIFIER, group))
    bare = re.sub(r"\b(?:by|without|on|ignoring) \([^)]*\)", "", expression)
    metrics = {}
    bare = re.sub(r"\[[^]]*\]", "", re.sub(r'"[^"]*"', '""', bare))
    for name, selector in re.findall(rf"\b({IDENTIFIER})\b(?!\s*\()(?:\{{([^}}]*)\}})?", bare):
        if name in ("or", "and", "unless"):
            continue
        own = set(re.findall(rf"({IDENTIFIER})\s*(?:=~|!~|!=|=)", selector))
        metrics.setdefault(name, set()).update(own | labels)
    return metrics


def offered(page):
    """{metric: its labels} of a page in Prometheus' text format."""
    metrics = {}
    for line in page.splitlines():
        match = re.match(rf"({IDENTIFIER})(?:\{{(.*)\}})? \S+$", line)
        if match and not line.startswith("#"):
            metrics.setdefault(match[1], set()).update(
                re.findall(rf'({IDENTIFIER})="', match[2] or "")
            )
    return metrics


def lacking(expressions, page):
    """What expressions ask for and the page has not, in words."""
    there = offered(page)
    problems = []
    for where, expression in expressions:
        for metric, labels in asked(expression).items():
            if metric in OF_PROMETHEUS:
                continue
            if metric not in there:
                problems.append(f"{where}: no metric {metric}")
            elif missing := sorted(labels - there[metric] - OF_PROMETHEUS):
                problems.append(f"{where}: {metric} has no label {', '.join(missing)}")
    return problems


def load_dashboard():
    return json.loads(DASHBOARD.read_text())


def make_traffic(server):
    server.request(*TRAFFIC)
    server.request(*['<transactions id="1"><query id="1"/></transactions>'] * 3 * SAMPLED_ONE_IN)


class Names(unittest.TestCase):
    """The extraction itself."""

    def test_what_is_missing_is_said(self):
        page = '# HELP a of a\na{kind="x y",le="1"} 5\nb 1e+06\n'
        self.assertEqual(offered(page), {"a": {"kind", "le"}, "b": set()})
        expressions = {"one": "a + b", "two": "sum by (kind) (b)", "three": "c"}
        expressions["four"] = 'a{kind="z"}'
        problems = ["two: b has no label kind", "three: no metric c"]
        self.assertEqual(lacking(expressions.items(), page), problems)


class AgainstAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(ExchangeServer())
        make_traffic(cls.server)
        cls.page = cls.server.http("/metrics")

    def test_each_metric_of_the_dashboard_exists_with_its_labels(self):
        self.assertEqual(lacking(dashboard_expressions(load_dashboard()), self.page), [])

    def test_each_metric_of_the_alerts_exists_with_its_labels(self):
        of_server = [
            (name, expression)
            for name, expression in alert_expressions(ALERTS.read_text())
            if "node_" not in expression  # of the node exporter
        ]
        self.assertEqual(lacking(of_server, self.page), [])

    def test_each_limit_has_an_alert_before_it_is_reached(self):
        limits = {name for name in offered(self.page) if name.endswith("_max")}
        self.assertGreaterEqual(len(limits), 3)
        text = "\n".join(expression for _, expression in alert_expressions(ALERTS.read_text()))
        self.assertEqual({name for name in limits if f"> 0.8 * {name}" not in text}, set())

    def test_the_runbook_says_what_to_do_for_each_alert(self):
        runbook = (ROOT / "docs/runbook.md").read_text()
        names = {name for name, _ in alert_expressions(ALERTS.read_text())}
        self.assertEqual(names, set(re.findall(r"`(Exchange\w+)`", runbook)))

    def test_documented_metrics_have_their_types_and_labels(self):
        text = (ROOT / "docs/http-api.md").read_text().split("## Metrics")[1]
        rows = re.findall(r"^\| (`.*?) \| (\w*) \| (.*) \|$", text, re.M)
        self.assertGreater(len(rows), 5)
        types = dict(re.findall(r"(?m)^# TYPE (\w+) (\w+)", self.page))
        for names, kind, meaning in rows:
            for name, labels in re.findall(r"`(\w+)(?:\{([^}]*)\})?`", names):
                full = name if name.startswith("process_") else "exchange_" + name
                with self.subTest(full):
                    self.assertIn(kind, types.get(full, "no such metric"))
                    samples = re.findall(rf"(?m)^{full}(?:_count)?(\{{.*\}})? ", self.page)
                    self.assertLessEqual(
                        set(labels.split(",")) - {""}, set(LABEL.findall(samples[0]))
                    )
                    if kind == "counter" and "," not in labels:  # the values are listed
                        values = set(re.findall(r'="(.*?)"', "".join(samples)))
                        self.assertLessEqual(values, set(re.findall(r"`(\w+)`", meaning)))


class Dashboard(unittest.TestCase):
    def test_each_panel_draws_something_from_the_data_source_that_is_chosen(self):
        panels = [panel for panel in load_dashboard()["panels"] if panel["type"] != "row"]
        for panel in panels:
            with self.subTest(panel["title"]):
                self.assertTrue(panel["targets"])
                for part in [panel, *panel["targets"]]:
                    self.assertEqual(part["datasource"]["uid"], "${datasource}")
                for target in panel["targets"]:
                    self.assertIn('instance=~"$instance"', target["expr"])


@unittest.skipUnless(PROMTOOL, "promtool is not installed (Debian: prometheus)")
class Promtool(unittest.TestCase):
    def run_promtool(self, *arguments):
        done = subprocess.run([PROMTOOL, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_configuration_and_rules_are_valid(self):
        self.run_promtool("check", "config", ROOT / "ops/prometheus.yml")
        self.run_promtool("check", "rules", ALERTS)

    def test_the_page_is_valid(self):
        with ExchangeServer() as server:
            make_traffic(server)
            page = server.http("/metrics")
        command = [PROMTOOL, "check", "metrics"]
        done = subprocess.run(command, input=page, capture_output=True, text=True)
        # The documented names of two counters have another unit than Prometheus recommends.
        found = [line for line in done.stderr.splitlines() if "_microseconds_total" not in line]
        self.assertEqual(found, [])

    def test_alerts_fire_when_they_should(self):
        self.run_promtool("test", "rules", ROOT / "testing/deploy/ops/alerts_test.yml")


@unittest.skipUnless(PROMETHEUS, "prometheus is not installed")
class Prometheus(unittest.TestCase):
    """The shipped configuration with the ports and the interval of a test; every expression is
    asked of a real Prometheus."""

    def test_every_expression_has_an_answer(self):
        with tempfile.TemporaryDirectory() as folder, ExchangeServer() as server:
            configuration = (ROOT / "ops/prometheus.yml").read_text()
            for was, now in (
                ("scrape_interval: 5s", "scrape_interval: 1s"),
                ("evaluation_interval: 15s", "evaluation_interval: 1s"),
                ("127.0.0.1:8080", f"127.0.0.1:{server.http_port}"),
            ):
                self.assertEqual(configuration.count(was), 1)
                configuration = configuration.replace(was, now)
            Path(folder, "prometheus.yml").write_text(configuration)
            shutil.copy(ALERTS, folder)
            (port,) = free_ports(1)
            command = [PROMETHEUS, f"--config.file={folder}/prometheus.yml"]
            command += [f"--storage.tsdb.path={folder}/data"]
            command += [f"--web.listen-address=127.0.0.1:{port}"]
            with open(Path(folder, "log"), "w") as log:
                process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
            try:
                self.ask_everything(server, f"http://127.0.0.1:{port}/api/v1/")
            except AssertionError:
                print(Path(folder, "log").read_text()[-3000:], file=sys.stderr)
                raise
            finally:
                process.terminate()
                process.wait(30)

    def ask_everything(self, server, api):
        def answer(path, **parameters):
            url = api + path + "?" + urllib.parse.urlencode(parameters)
            try:
                with urllib.request.urlopen(url, timeout=10) as reply:
                    return json.load(reply)["data"]
            except urllib.error.HTTPError as error:
                if error.code != 503:  # still starting
                    self.fail(f"{parameters}: {error.read().decode()}")
            except urllib.error.URLError:
                pass  # not up yet

        def values(expression):
            found = answer("query", query=filled_in(expression))
            return [float(series["value"][1]) for series in found["result"]] if found else []

        # Rates need two scrapes with traffic between them, and a counter that existed at the first.
        make_traffic(server)
        scrapes_of = "count_over_time(exchange_requests_total[1h])"
        wait_until(lambda: values(scrapes_of), "a first scrape")
        first = values(scrapes_of)[0]
        make_traffic(server)
        wait_until(lambda: values(scrapes_of)[0] >= first + 2, "two more scrapes")
        for title, expression in dashboard_expressions(load_dashboard()):
            with self.subTest(title, expression=expression):
                found = values(expression)
                self.assertTrue(found, "no data")
                self.assertTrue(all(value == value for value in found), "not a number")
        rules = lambda: [rule for group in answer("rules")["groups"] for rule in group["rules"]]
        names = {name for name, _ in alert_expressions(ALERTS.read_text())}
        self.assertEqual({rule["name"] for rule in rules()}, names)
        wait_until(lambda: all(one["health"] != "unknown" for one in rules()), "the rules to run")
        for rule in rules():
            with self.subTest(rule["name"]):
                self.assertEqual((rule["health"], rule["state"]), ("ok", "inactive"))


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
        for probe in ("livenessProbe", "readinessProbe"):
            self.assertIn(f"`{self.server[probe]['httpGet']['path']}`", health)

    def test_every_variable_is_an_option(self):
        text = subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout
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
