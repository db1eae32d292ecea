"""The plots as SVG: median, with the spread as bars and a band. They bring their own paper, so they read well on light and dark pages."""

import io
import sys
import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
)  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parents[3] / "support"))
from svg import compact  # noqa: E402

INK, MUTED, GRID, PAPER = "#111213", "#5b5c5d", "#dfe0e1", "#fefdfc"
# Okabe and Ito's colours, told apart by the colour-blind too; the marks tell them apart without any colour.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a7f00"]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*"]
TICKS_MAX = 12

STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "experiments",
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
}


def short(value, _=None):
    """10, 0.5, 20k, 3M; powers of ten where that would be long."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    for unit, name in ((1e6, "M"), (1e4, "k")):
        if size >= unit:
            return f"{value / (1e6 if name == 'M' else 1e3):g}{name}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:g}"


def set_scale(axis, set_to, values, log):
    """A logarithmic axis; zero, where there is one, stands just before the least other value."""
    positive = [value for value in values if value > 0]
    if not log or not positive:
        return
    if min(values) <= 0:
        set_to("symlog", linthresh=min(positive), linscale=0.4)
    else:
        set_to("log")
    axis.set_minor_locator(NullLocator())


def set_ticks(axes, xs, ys, plot):
    if len(xs) <= TICKS_MAX and plot["log_x"]:
        axes.xaxis.set_major_locator(FixedLocator(xs))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if plot["log_y"] and min(ys) > 0:
        decades = max(ys) / min(ys)
        axes.yaxis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if decades < 30 else (1, 3) if decades < 1000 else (1,))
        )
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif not plot["log_y"]:
        axes.set_ylim(bottom=min(0, *ys))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(short))


def draw(axes, series, nth, floor, band):
    colour, mark = COLOURS[nth % len(COLOURS)], MARKS[nth % len(MARKS)]
    points = sorted(series["points"])
    x, median = [p[0] for p in points], [p[1] for p in points]
    low, high = [max(p[2], floor) for p in points], [max(p[3], floor) for p in points]
    # A spread as wide as the mark says nothing; a band helps the eye where lines cross.
    axes.fill_between(x, low, high, color=colour, alpha=band, linewidth=0)
    bars = [
        [max(0, m - l) for m, l in zip(median, low)],
        [max(0, h - m) for h, m in zip(high, median)],
    ]
    return axes.errorbar(
        x,
        median,
        yerr=bars,
        color=colour,
        marker=mark,
        markersize=5.5,
        capsize=2.5,
        elinewidth=1,
        capthick=1,
        markeredgecolor=PAPER,
        markeredgewidth=0.7,
        linestyle="-" if nth < len(COLOURS) else "--",
        label=textwrap.fill(series["name"], 36),
    )


def svg(plot):
    series = [one for one in plot["series"] if one["points"]]
    points = [point for one in series for point in one["points"]]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(10, 4.1))
        figure.subplots_adjust(
            left=0.085, right=0.68 if len(series) > 1 else 0.97, bottom=0.13, top=0.9
        )
        if points:
            xs = sorted({point[0] for point in points})
            ys = [value for point in points for value in point[1:]]
            medians = [point[1] for point in points]
            # A least of zero among positive medians is drawn down to the edge instead of stretching the axis.
            positive = [value for value in ys if value > 0]
            floor = (
                min(positive) if plot["log_y"] and positive and min(medians) > 0 else float("-inf")
            )
            set_scale(axes.xaxis, axes.set_xscale, xs, plot["log_x"])
            set_scale(
                axes.yaxis, axes.set_yscale, [max(value, floor) for value in ys], plot["log_y"]
            )
            drawn = [
                draw(axes, one, nth, floor, 0.14 if len(series) <= 3 else 0.07)
                for nth, one in enumerate(series)
            ]
            set_ticks(axes, xs, [max(value, floor) for value in ys], plot)
            if len(series) > 1:
                # The names stand as the lines end, from above.
                order = sorted(
                    range(len(series)),
                    key=lambda i: (-max(series[i]["points"])[0], -max(series[i]["points"])[1]),
                )
                axes.legend(
                    handles=[drawn[i] for i in order],
                    loc="upper left",
                    bbox_to_anchor=(1.01, 1.03),
                    frameon=False,
                    fontsize=9.5,
                )
        else:
            axes.text(
                0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center", color=MUTED
            )
        axes.set_title(plot["title"])
        axes.set_xlabel(plot["x"])
        axes.set_ylabel(plot["y"])
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        plt.close(figure)
    return compact(buffer.getvalue())
