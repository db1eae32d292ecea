"""The course of a soak as a chart."""

from flatness import MIB
from charts import AMBER, BLUE, GREEN, VERMILION, svg

POINTS_MAX = 600  # of a line; the panels are 520 points wide


def draw(result, file):
    samples, (span, spans) = result["samples"], highest(result["latency"])
    end = samples[-1]["t"] / 60

    def line(name, colour, figure, unit=1, points=samples):
        course = [[one["t"] / 60, one[figure] / unit] for one in points]
        return {"name": name, "colour": colour, "points": course, "width": 1.2}

    latency = (("p50", GREEN), ("p99", BLUE), ("p99.9", VERMILION))
    span_text = f" (highest of {span} s)" if span > 1 else ""
    panels = [
        {"title": "resident memory, MiB", "lines": [line("server", BLUE, "rss", MIB)]},
        {
            "title": f"response time, ms{span_text}",
            "lines": [line(name, colour, name, points=spans) for name, colour in latency],
            "y": {"log": True},
        },
        {"title": "lag of the tables, s", "lines": [line("lag", AMBER, "lag_s")]},
        {"title": "orders in memory", "lines": [line("orders", GREEN, "orders_in_memory")]},
    ]
    if "journal_bytes" in samples[0]:
        files = (("tables", BLUE), ("journal", AMBER))
        lines = [line(name, colour, f"{name}_bytes", MIB) for name, colour in files]
        panels.append({"title": "files, MiB", "lines": lines})
    chart = {
        "size": [8, 1.9 * len(panels)],
        "panels": [[{**panel, "rule": end / 2}] for panel in panels],  # the second half is judged
        "legend": "panel",
        "x": {"label": "minutes"},
        "y": {},
    }
    file.write_text(svg(chart))


def highest(seconds):
    """(seconds of a span, the highest of each figure in each span): few enough to draw."""
    span = max(1, -(-len(seconds) // POINTS_MAX))
    spans = [seconds[i : i + span] for i in range(0, len(seconds), span)]
    return span, [
        {name: max(second[name] for second in one) for name in one[0]} | {"t": one[0]["t"]}
        for one in spans
    ]
