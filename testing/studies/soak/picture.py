"""The course of a soak as SVG. Needs matplotlib; the colours are those of the scaling plots."""

import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scaling"))
from plots import MUTED, compact, finish, plt, thousands  # noqa: E402

BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
MIB = 1 << 20
POINTS_MAX = 600  # of a line; the panels are 520 points wide


def draw(result, file):
    samples, (span, spans) = result["samples"], highest(result["latency"])
    minutes = [sample["t"] / 60 for sample in samples]
    panels = [
        (
            "resident memory, MiB",
            [("server", BLUE, minutes, [sample["rss"] / MIB for sample in samples])],
        ),
        (
            "response time, ms" + (f" (highest of {span} s)" if span > 1 else ""),
            [
                (name, colour, [one["t"] / 60 for one in spans], [one[name] for one in spans])
                for name, colour in (("p50", GREEN), ("p99", BLUE), ("p99.9", RED))
            ],
        ),
        (
            "age of what the tables lack, s",
            [("lag", ORANGE, minutes, [sample["lag_s"] for sample in samples])],
        ),
        (
            "orders in memory",
            [("orders", GREEN, minutes, [sample["orders_in_memory"] for sample in samples])],
        ),
    ]
    if "journal_bytes" in samples[0]:
        panels.append(
            (
                "files, MiB",
                [
                    (what, colour, minutes, [sample[f"{what}_bytes"] / MIB for sample in samples])
                    for what, colour in (("tables", BLUE), ("journal", ORANGE))
                ],
            )
        )
    figure, axes = plt.subplots(len(panels), 1, figsize=(8, 1.9 * len(panels)), sharex=True)
    for one, (title, lines) in zip(axes, panels):
        for name, colour, x, y in lines:
            one.plot(x, y, color=colour, linewidth=1.2, label=name)
        one.set_title(title)
        if len(lines) > 1:
            one.legend(
                frameon=False,
                fontsize=9,
                ncol=3,
                loc="lower right",
                bbox_to_anchor=(1, 1),
                borderaxespad=0.2,
            )
        if title.startswith("response"):
            one.set_yscale("log")
        else:
            one.set_ylim(bottom=0)
        one.yaxis.set_major_formatter(thousands)
        one.axvline(
            minutes[-1] / 2, color=MUTED, linewidth=0.8, linestyle=(0, (2, 3))
        )  # what is judged begins here
    axes[-1].set_xlabel("minutes")
    text = io.StringIO()
    finish(figure, 1).savefig(text, format="svg", metadata={"Date": None})
    file.write_text(compact(text.getvalue()))
    plt.close(figure)


def highest(seconds):
    """(seconds of a span, the highest of each figure in each span): few enough to draw."""
    span = max(1, -(-len(seconds) // POINTS_MAX))
    spans = [seconds[i : i + span] for i in range(0, len(seconds), span)]
    return span, [
        {
            name: one[0]["t"] if name == "t" else max(second[name] for second in one)
            for name in one[0]
        }
        for one in spans
    ]
