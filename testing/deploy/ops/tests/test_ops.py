"""ops/: the metrics of the dashboard and of the alerts exist on a running server; checked by Prometheus too, if it is installed."""

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

from exchange_server import ExchangeServer, free_ports, wait_until
from metric_names import (
    ALERTS,
    ROOT,
    alert_expressions,
    asked,
    dashboard_expressions,
    filled_in,
    lacking,
    load_dashboard,
    offered,
)


TRAFFIC = (
    '<create><account id="1" balance="1000"/><account id="1" balance="1"/><symbol sym="SPY"><account id="1">50</account></symbol></create>',
    '<transactions id="1"><order sym="SPY" amount="10" limit="5"/><order sym="SPY" amount="-4" limit="5"/><order sym="SPY" amount="-900" limit="5"/>'
    '<query id="1"/><cancel id="1"/></transactions>',
    '<transactions id="1"><order sym="SPY" amount="ten" limit="5"/></transactions>',
    "<not-ours/>",
)
SAMPLED_ONE_IN = 31  # request batches that are timed; DESIGN.md, "Measuring"
PROMTOOL, PROMETHEUS = (
    os.environ.get(name.upper()) or shutil.which(name) for name in ("promtool", "prometheus")
)
LABEL = re.compile(r'(\w+)="')
PANEL_TYPES = {"row", "stat", "timeseries"}


def make_traffic(server):
    server.request(*TRAFFIC)
    server.request(*['<transactions id="1"><query id="1"/></transactions>'] * 3 * SAMPLED_ONE_IN)


class Names(unittest.TestCase):
    """The extraction itself."""

    def test_metrics_and_labels_are_found(self):
        self.assertEqual(
            asked(
                'sum by (kind, le) (rate(a_total{instance=~"$instance", result!="ok"}[$__rate_interval])) / 1e6'
            ),
            {"a_total": {"instance", "result", "kind", "le"}},
        )
        self.assertEqual(asked("a > 0 or max(b) - c{} == 5"), {"a": set(), "b": set(), "c": set()})

    def test_what_is_missing_is_said(self):
        page = '# HELP a of a\na{kind="x y",le="1"} 5\nb 1e+06\n'
        self.assertEqual(offered(page), {"a": {"kind", "le"}, "b": set()})
        self.assertEqual(
            lacking(
                [
                    ("one", "a + b"),
                    ("two", "sum by (kind) (b)"),
                    ("three", "c"),
                    ("four", 'a{kind="z"}'),
                ],
                page,
            ),
            ["two: b has no label kind", "three: no metric c"],
        )


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
    def setUp(self):
        self.dashboard = load_dashboard()
        self.panels = self.dashboard["panels"]

    def test_ids_are_unique_and_panels_do_not_overlap(self):
        self.assertEqual(len({panel["id"] for panel in self.panels}), len(self.panels))
        taken = {}
        for panel in self.panels:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24)
            for cell in (
                (x, y)
                for x in range(at["x"], at["x"] + at["w"])
                for y in range(at["y"], at["y"] + at["h"])
            ):
                self.assertNotIn(cell, taken, f"{panel['title']} lies on {taken.get(cell)}")
                taken[cell] = panel["title"]

    def test_each_panel_draws_something_from_the_data_source_that_is_chosen(self):
        self.assertEqual(
            {
                variable["name"]: variable["type"]
                for variable in self.dashboard["templating"]["list"]
            },
            {"datasource": "datasource", "instance": "query"},
        )
        for panel in self.panels:
            with self.subTest(panel["title"]):
                self.assertIn(panel["type"], PANEL_TYPES)
                if panel["type"] == "row":
                    continue
                targets = panel["targets"]
                self.assertEqual(len({target["refId"] for target in targets}), len(targets))
                for part in [panel, *targets]:
                    self.assertEqual(
                        part["datasource"], {"type": "prometheus", "uid": "${datasource}"}
                    )
                for target in targets:
                    self.assertIn('instance=~"$instance"', target["expr"])

    def test_titles_are_unique(self):
        titles = [panel["title"] for panel in self.panels]
        self.assertEqual(len(set(titles)), len(titles))


@unittest.skipUnless(PROMTOOL, "promtool is not installed (Debian: prometheus)")
class Promtool(unittest.TestCase):
    def run_promtool(self, *arguments):
        done = subprocess.run([PROMTOOL, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_configuration_and_rules_are_valid(self):
        self.assertIn(
            "1 rule files found", self.run_promtool("check", "config", ROOT / "ops/prometheus.yml")
        )
        self.run_promtool("check", "rules", ALERTS)

    def test_the_page_is_valid(self):
        with ExchangeServer() as server:
            make_traffic(server)
            done = subprocess.run(
                [PROMTOOL, "check", "metrics"],
                input=server.http("/metrics"),
                capture_output=True,
                text=True,
            )
        # The documented names of two counters have another unit than Prometheus recommends.
        self.assertEqual(
            done.stderr.splitlines(),
            [
                f'exchange_{name}_microseconds_total use base unit "seconds" instead of "microseconds"'
                for name in ("commit", "key_hash")
            ],
        )

    def test_alerts_fire_when_they_should(self):
        self.run_promtool("test", "rules", ROOT / "testing/deploy/ops/alerts_test.yml")


@unittest.skipUnless(PROMETHEUS, "prometheus is not installed")
class Prometheus(unittest.TestCase):
    """The shipped configuration with the ports and the interval of a test; every expression is asked of a real Prometheus."""

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
            with open(Path(folder, "log"), "w") as log:
                process = subprocess.Popen(
                    [
                        PROMETHEUS,
                        "--config.file",
                        f"{folder}/prometheus.yml",
                        "--storage.tsdb.path",
                        f"{folder}/data",
                        "--web.listen-address",
                        f"127.0.0.1:{port}",
                    ],
                    stdout=log,
                    stderr=log,
                    cwd=folder,
                )
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
            try:
                with urllib.request.urlopen(
                    api + path + "?" + urllib.parse.urlencode(parameters), timeout=10
                ) as reply:
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
        rules = [rule for group in answer("rules")["groups"] for rule in group["rules"]]
        self.assertEqual(
            {rule["name"] for rule in rules},
            {name for name, _ in alert_expressions(ALERTS.read_text())},
        )
        wait_until(
            lambda: all(
                rule["health"] != "unknown"
                for group in answer("rules")["groups"]
                for rule in group["rules"]
            ),
            "the rules to run",
        )
        for rule in (rule for group in answer("rules")["groups"] for rule in group["rules"]):
            with self.subTest(rule["name"]):
                self.assertEqual((rule["health"], rule["state"]), ("ok", "inactive"))


if __name__ == "__main__":
    unittest.main()
