"""Charts of tests and studies, in one style, from a description that holds only texts, numbers and
lists:

  size      inches of the whole; `layout` fixes the edges of the panels, else they follow the labels
  panels    rows of panels; share_y: the panels of a row share the y axis
  x, y      axes: label, log, ticks as [[position, text], ...], range
  legend    right: names beside the panel, in the order in which the lines end; top: `keys` above
            all panels
  keys      name, colour and mark of lines

  panel     title; lines; texts as [[x, y, text, colour], ...]
  line      name; points as [x, y] or [x, y, low, high]; colour; mark; dash: dashed or none; band:
            how dense the area from low to high is; with a mark, error bars show that range too

The colours are Okabe and Ito's, which colour-blind readers can distinguish. Every chart has its own
background, so it is readable on light and dark pages.
"""

import io
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator  # noqa: E402
from matplotlib.ticker import MaxNLocator, NullLocator  # noqa: E402
from scour.scour import parse_args, scourString  # noqa: E402

# What matplotlib writes becomes half as long: a tenth of a point is enough.
SMALL = parse_args(
    "--set-precision=4 --set-c-precision=3 --enable-id-stripping --shorten-ids --remove-metadata "
    "--disable-style-to-xml --create-groups --strip-xml-prolog --indent=none".split()
)

INK, MUTED, GRID, PAPER = "#111213", "#5b5c5d", "#dfe0e1", "#fefdfc"
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a7f00"]
BLUE, VERMILION, _, PINK, AMBER, *_ = PALETTE
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*"]
DASHES = {"dashed": (0, (5, 3)), "none": "none", None: "-"}
X_TICKS_MAX = 12

plt.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "svg.fonttype": "none",
        "svg.hashsalt": "studies",
        "text.color": INK,
        "axes.labelcolor": MUTED,
        "axes.edgecolor": MUTED,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "grid.color": GRID,
        "ytick.left": False,
        "axes.axisbelow": True,
        "lines.linewidth": 1.8,
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "legend.frameon": False,
        "legend.fontsize": 9.5,
    }
)


def short(value, _=None):
    """10, 0.5, 20k, 3M; powers of ten where that would be long."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    for unit, name, least in ((1e6, "M", 1e6), (1e3, "k", 1e4)):
        if size >= least:
            return f"{value / unit:g}{name}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:g}"


def svg(chart):
    figure = draw(chart)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return scourString(text.getvalue(), SMALL)


def draw(chart):
    rows, is_shared = chart["panels"], chart.get("share_y", False)
    figure, grid = plt.subplots(
        len(rows),
        len(rows[0]),
        figsize=chart["size"],
        squeeze=False,
        sharex=True,
        sharey="row" if is_shared else False,
    )
    for row, axes_of_row in zip(rows, grid, strict=True):
        points = [draw_panel(*pair, chart) for pair in zip(axes_of_row, row, strict=True)]
        for axes, own in zip(axes_of_row, points, strict=True):
            set_axis(axes, "x", chart["x"], [point[0] for point in own])
            on_axis = sum(points, []) if is_shared else own
            set_axis(axes, "y", chart["y"], [value for point in on_axis for value in point[1:]])
    for axes in grid[-1]:
        axes.set_xlabel(chart["x"].get("label"))
    for axes in grid[:, 0]:
        axes.set_ylabel(chart["y"].get("label"))
    if chart.get("legend") == "top":
        columns = {"ncol": len(chart["keys"]), "columnspacing": 1.6}
        handles = [
            plt.Line2D([], [], color=key["colour"], marker=key["mark"], label=key["name"])
            for key in chart["keys"]
        ]
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, 1), **columns)
    if "layout" in chart:
        figure.subplots_adjust(**chart["layout"])
    else:
        top = 1 - (0.45 / chart["size"][1] if chart.get("legend") == "top" else 0)
        figure.tight_layout(rect=(0, 0, 1, top), w_pad=2.2, h_pad=2.0)
    return figure


def draw_panel(axes, panel, chart):
    """Returns all points that it drew."""
    axes.set_title(panel.get("title", ""))
    lines = [line for line in panel.get("lines", []) if line["points"]]
    if not lines:
        style = {"transform": axes.transAxes, "ha": "center", "color": MUTED}
        axes.text(0.5, 0.5, "nothing was measured", **style)
    handles, drawn = [], []
    for nth, line in enumerate(lines):
        mark = MARKS[nth % len(MARKS)] if chart.get("marks") else None
        style = {"colour": PALETTE[nth % len(PALETTE)], "mark": mark}
        style["dash"] = "dashed" if nth >= len(PALETTE) else None
        points = clipped(line["points"], chart["y"].get("log"))
        handles.append(draw_line(axes, {**style, **line}, points))
        drawn += points
    for x, y, text, colour in panel.get("texts", []):
        annotate(axes, x, y, text, colour)
    if len(lines) > 1 and chart.get("legend") == "right":
        ends = [max(line["points"])[:2] for line in lines]
        order = sorted(range(len(lines)), key=lambda i: (-ends[i][0], -ends[i][1]))
        handles = [handles[i] for i in order]
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.03))
    return drawn


def clipped(points, log):
    """Zero as the lowest of positive values is drawn at the least other value: it would stretch a
    logarithmic axis."""
    positive = [value for point in points for value in point[1:] if value > 0]
    if not log or not positive or min(point[1] for point in points) <= 0:
        return sorted(points)
    least = min(positive)
    return sorted([x, *(max(value, least) for value in values)] for x, *values in points)


def draw_line(axes, line, points):
    ranges = [point for point in points if len(point) == 4]
    x, y = [point[0] for point in points], [point[1] for point in points]
    if line.get("band"):
        in_range, _, low, high = zip(*ranges, strict=True) if ranges else [()] * 4
        area = {"color": line["colour"], "alpha": line["band"], "linewidth": 0}
        axes.fill_between(in_range, low, high, **area)
    style = {
        "color": line["colour"],
        "linestyle": DASHES[line["dash"]],
        "label": textwrap.fill(line.get("name", ""), 36),
    }
    if not line["mark"]:
        return axes.plot(x, y, **style)[0]
    bars = None
    if len(ranges) == len(points):
        bars = [[p[1] - p[2] for p in points], [p[3] - p[1] for p in points]]
    return axes.errorbar(
        x,
        y,
        yerr=bars,
        marker=line["mark"],
        markersize=5.5,
        markerfacecolor=line["colour"],
        markeredgecolor=PAPER,
        markeredgewidth=0.8,
        elinewidth=1.1,
        **style,
    )


def annotate(axes, x, y, text, colour):
    above = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center"}
    axes.annotate(text, (x, y), fontsize=8.5, color=colour, **above)


def set_axis(axes, name, wanted, values):
    """Linear and from zero, or logarithmic; zero on a logarithmic axis stands just before the least
    other value."""
    axis = axes.xaxis if name == "x" else axes.yaxis
    set_scale, set_limits = getattr(axes, f"set_{name}scale"), getattr(axes, f"set_{name}lim")
    positive = [value for value in values if value > 0]
    if wanted.get("log") and positive:
        if min(values) <= 0:
            set_scale("symlog", linthresh=min(positive), linscale=0.4)
        else:
            set_scale("log")
            decades = max(values) / min(positive)
            axis.set_major_locator(
                LogLocator(subs=(1, 2, 5) if decades < 30 else (1, 3) if decades < 1000 else (1,))
            )
        if name == "x" and len(set(values)) <= X_TICKS_MAX:
            axis.set_major_locator(FixedLocator(sorted(set(values))))
        axis.set_minor_locator(NullLocator())
    elif name == "y" and values:
        axes.margins(y=0.1)
        set_limits(bottom=min(0, *values))
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(short))
    if "ticks" in wanted:
        axis.set_ticks(*zip(*wanted["ticks"], strict=True))
    if "range" in wanted:
        set_limits(*wanted["range"])
