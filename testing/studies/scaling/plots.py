"""The plots, as SVG and PNG. One colour for each policy everywhere (Okabe and Ito's, told apart by the colour-blind too)."""

import io
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))
from cells import CORES, KINDS, LOADS, POLICIES, STORES  # noqa: E402
from summary import PROJECTED_CORES, STAGES  # noqa: E402
from svg import compact  # noqa: E402
from tables import cores_text, find, has  # noqa: E402

# Stand-ins that the page replaces by its own colours, so that the plots follow light and dark.
INK, MUTED, GRID, PAPER = "#111213", "#6b6c6d", "#dfe0e1", "#fefdfc"
COLOURS = {"thread": "#d55e00", "pool-40": "#cc79a7", "pool-cpus": "#e69f00", "loop": "#0072b2"}
MARKS = {"thread": "s", "pool-40": "^", "pool-cpus": "D", "loop": "o"}
WHO = {"server": "#0072b2", "database": "#009e73", "client": "#a9adb3"}
STAGE_COLOURS = {
    "read": "#56b4e9",
    "parse": "#0072b2",
    "queue": "#c9ccd1",
    "apply": "#d55e00",
    "commit": "#e69f00",
    "deliver": "#cc79a7",
    "write": "#009e73",
}

plt.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 10,
        "svg.fonttype": "none",
        "svg.hashsalt": "scaling",
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
        "grid.linewidth": 0.8,
        "ytick.left": False,
        "axes.axisbelow": True,
        "lines.linewidth": 2,
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "figure.dpi": 100,
    }
)


def thousands(value, _=None):
    if value >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def errorbar(axes, x, figures, colour, mark, **more):
    """Median, with a bar from the lowest to the highest trial."""
    y = [f["median"] for f in figures]
    bars = [[f["median"] - f["low"] for f in figures], [f["high"] - f["median"] for f in figures]]
    return axes.errorbar(
        x,
        y,
        yerr=bars,
        color=colour,
        marker=mark,
        markersize=5.5,
        capsize=2.5,
        elinewidth=1.1,
        capthick=1.1,
        markeredgecolor=PAPER,
        markeredgewidth=0.8,
        **more,
    )


def finish(figure, top=0.9):
    figure.tight_layout(rect=(0, 0, 1, top), w_pad=2.2, h_pad=2.0)
    return figure


def by_clients(summary, cores, figure_of, label, log=False):
    """One panel for each kind and store; a line for each policy; the case with idle connections set apart."""
    cells = [c for c in summary["cells"] if c["part"] == "sweep" and c["cores"] == cores and has(c)]
    stores = [s for s in STORES if any(c["store"] == s for c in cells)]
    kinds = [k for k in KINDS if any(c["kind"] == k for c in cells)]
    loads = [load for load in LOADS if any((c["clients"], c["idle"]) == load for c in cells)]
    if not cells:
        return None
    position = {load: i + (0.4 if load[1] else 0) for i, load in enumerate(loads)}
    figure, panels = plt.subplots(
        len(kinds),
        len(stores),
        figsize=(1.9 + 3.5 * len(stores), 0.3 + 2.9 * len(kinds)),
        squeeze=False,
        sharex=True,
        sharey="row",
    )
    for row, kind in zip(panels, kinds):
        for axes, store in zip(row, stores):
            for nth, policy in enumerate(POLICIES):
                own = [
                    (
                        load,
                        find(
                            summary,
                            part="sweep",
                            store=store,
                            kind=kind,
                            cores=cores,
                            policy=policy,
                            clients=load[0],
                            idle=load[1],
                        ),
                    )
                    for load in loads
                ]
                own = [(load, cell) for load, cell in own if has(cell)]
                shift = (nth - 1.5) * 0.07
                for group, style in (
                    ([o for o in own if not o[0][1]], "-"),
                    ([o for o in own if o[0][1]], "none"),
                ):
                    if group:
                        errorbar(
                            axes,
                            [position[load] + shift for load, _ in group],
                            [figure_of(cell) for _, cell in group],
                            COLOURS[policy],
                            MARKS[policy],
                            linestyle=style,
                        )
                for load, cell in own:
                    if cell["errors"]:
                        axes.annotate(
                            "errors",
                            (position[load] + shift, figure_of(cell)["median"]),
                            xytext=(0, 8),
                            textcoords="offset points",
                            ha="center",
                            fontsize=8,
                            color=COLOURS[policy],
                        )
            axes.set_title(f"{kind}, {store}")
            axes.set_xticks([position[load] for load in loads])
            axes.set_xticklabels(
                [f"{c:,}" + (f"\n+ {i // 1000}k idle" if i else "") for c, i in loads], fontsize=9
            )
            axes.set_xlim(-0.4, max(position.values()) + 0.4)
            axes.yaxis.set_major_formatter(FuncFormatter(thousands))
            if log:
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
                axes.yaxis.set_major_formatter(FuncFormatter(thousands))
                axes.yaxis.set_minor_formatter(NullFormatter())
                axes.yaxis.set_tick_params(which="minor", left=False)
            else:
                axes.margins(y=0.1)
                axes.set_ylim(bottom=0)
                axes.yaxis.set_major_locator(MaxNLocator(5))
        row[0].set_ylabel(label)
        ends = {}
        for policy in POLICIES:
            own = [
                c
                for c in cells
                if (c["store"], c["kind"], c["policy"]) == (stores[-1], kind, policy)
            ]
            if own:
                ends[policy] = figure_of(max(own, key=lambda c: position[c["clients"], c["idle"]]))[
                    "median"
                ]
        direct_labels(row[-1], max(position.values()) + 0.3, ends)
    for axes in panels[-1]:
        axes.set_xlabel("clients")
    return finish(figure, 1)


def direct_labels(axes, x, ends):
    """Each line's name beside its end, in its colour; pushed apart where ends are close."""
    axes.figure.canvas.draw()
    pixel = axes.transData.transform
    height, placed = 14 * axes.figure.dpi / 100, []
    for policy, y in sorted(ends.items(), key=lambda item: item[1]):
        at = pixel((0, y))[1]
        placed.append([policy, max(at, placed[-1][1] + height) if placed else at])
    over = placed[-1][1] - axes.bbox.y1 if placed else 0
    for policy, at in placed:
        y = axes.transData.inverted().transform((0, at - max(0, over)))[1]
        axes.text(
            x,
            y,
            policy,
            color=COLOURS[policy],
            fontsize=9.5,
            fontweight="bold",
            va="center",
            clip_on=False,
        )


def by_cores(summary, store):
    """One panel for each kind and policy: what was measured, and two projections that hold the truth between them."""
    fits = {
        (f["kind"], f["policy"]): f
        for f in summary["fits_over_cores"]
        if f["store"] == store and (f["clients"], f["idle"]) == (200, 0)
    }
    kinds = [k for k in KINDS if any((k, p) in fits for p in POLICIES)]
    policies = [p for p in POLICIES if any((k, p) in fits for k in kinds)]
    if not fits:
        return None
    xs = sorted(set(CORES) | set(PROJECTED_CORES))
    position = {n: i for i, n in enumerate(xs)}
    figure, panels = plt.subplots(
        len(kinds),
        len(policies),
        figsize=(1.2 + 2.75 * len(policies), 0.8 + 2.8 * len(kinds)),
        squeeze=False,
        sharex=True,
        sharey="row",
    )
    for row, kind in zip(panels, kinds):
        for axes, policy in zip(row, policies):
            axes.set_title(f"{kind}, {policy}")
            fit = fits.get((kind, policy))
            if fit is None:
                axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color=MUTED)
                continue
            draw_cores(axes, summary, store, fit, position)
        row[0].set_ylabel("requests/s")
    for axes in panels.flat:
        axes.set_xticks(range(len(xs)))
        axes.set_xticklabels(xs)
        axes.set_xlim(-0.3, len(xs) - 0.5)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(thousands))
        axes.yaxis.set_major_locator(MaxNLocator(5))
    for axes in panels[-1]:
        axes.set_xlabel("cores of the server")
    figure.legend(
        handles=[
            plt.Line2D([], [], color=INK, marker="o", linestyle="none", label="measured"),
            plt.Line2D(
                [],
                [],
                color=INK,
                marker="o",
                linestyle="none",
                markerfacecolor=PAPER,
                label="measured, CPUs shared with the client",
            ),
            plt.Line2D(
                [], [], color=INK, linestyle=(0, (5, 3)), linewidth=1.4, label="projection: the fit"
            ),
            plt.Line2D(
                [],
                [],
                color=INK,
                linestyle=(0, (1, 2)),
                linewidth=1.6,
                label="projection: by CPU, upper bound",
            ),
        ],
        loc="upper left",
        bbox_to_anchor=(0.0, 1.0),
        ncol=4,
        frameon=False,
        fontsize=9.5,
        handlelength=2.4,
        columnspacing=1.6,
    )
    return finish(figure, 0.92 if len(kinds) > 1 else 0.88)


def draw_cores(axes, summary, store, fit, position):
    colour, mark = COLOURS[fit["policy"]], MARKS[fit["policy"]]
    cells = {
        n: find(
            summary,
            part="sweep",
            store=store,
            kind=fit["kind"],
            policy=fit["policy"],
            cores=n,
            clients=200,
            idle=0,
        )
        for n in position
    }
    measured = {n: cell for n, cell in cells.items() if has(cell)}
    last = max(measured)
    if fit["fits"] and fit["fits"][-1]["projection"]:
        ahead = {int(n): value for n, value in fit["fits"][-1]["projection"].items()}
        n = sorted(ahead)
        axes.plot(
            [position[last], *(position[i] for i in n)],
            [measured[last]["requests_per_s"]["median"], *(ahead[i][0] for i in n)],
            color=colour,
            linestyle=(0, (5, 3)),
            linewidth=1.4,
        )
        if all(ahead[i][1] is not None for i in n):
            axes.fill_between(
                [position[i] for i in n],
                [ahead[i][1] for i in n],
                [ahead[i][2] for i in n],
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
        label_end(axes, position[n[-1]], ahead[n[-1]][0], colour)
    ceiling = fit["by_cpu"]["projection"] if fit["by_cpu"] else {}
    if ceiling:
        n = sorted(int(i) for i in ceiling if int(i) >= min(measured))
        axes.plot(
            [position[i] for i in n],
            [ceiling[str(i)] for i in n],
            color=colour,
            linestyle=(0, (1, 2)),
            linewidth=1.6,
        )
        label_end(axes, position[n[-1]], ceiling[str(n[-1])], colour)
    axes.plot(
        [position[i] for i in measured],
        [cell["requests_per_s"]["median"] for cell in measured.values()],
        color=colour,
    )
    for i, cell in measured.items():
        errorbar(axes, [position[i]], [cell["requests_per_s"]], colour, mark, linestyle="none")
        if cell["shared"]:
            axes.plot(
                [position[i]],
                [cell["requests_per_s"]["median"]],
                marker=mark,
                markersize=6.5,
                color=colour,
                markerfacecolor=PAPER,
                zorder=5,
            )


def label_end(axes, x, y, colour):
    axes.annotate(
        thousands(float(f"{y:.2g}")),
        (x, y),
        xytext=(0, 6),
        textcoords="offset points",
        ha="center",
        fontsize=8.5,
        color=colour,
    )


def stacked(summary, cores, parts_of, colours, label, number):
    """Horizontal bars: kinds side by side; a bar for each store and policy, cut into its parts."""
    cells = [
        c
        for c in summary["cells"]
        if c["part"] == "sweep"
        and c["cores"] == cores
        and (c["clients"], c["idle"]) == (200, 0)
        and has(c)
        and parts_of(c)
    ]
    if not cells:
        return None
    kinds = [k for k in KINDS if any(c["kind"] == k for c in cells)]
    rows = [
        (s, p)
        for s in STORES
        for p in POLICIES
        if any((c["store"], c["policy"]) == (s, p) for c in cells)
    ]
    figure, panels = plt.subplots(
        1,
        len(kinds),
        figsize=(1.8 + 4.8 * len(kinds), 1.3 + 0.36 * len(rows)),
        squeeze=False,
        sharey=True,
        sharex=True,
    )
    stores = sorted({s for s, _ in rows}, key=STORES.index)
    y = {row: i + 0.7 * stores.index(row[0]) for i, row in enumerate(rows)}
    totals = [sum(parts_of(c).values()) for c in cells]
    for axes, kind in zip(panels[0], kinds):
        for row in rows:
            cell = find(
                summary,
                part="sweep",
                kind=kind,
                store=row[0],
                policy=row[1],
                cores=cores,
                clients=200,
                idle=0,
            )
            if not has(cell) or not parts_of(cell):
                continue
            left = 0.0
            for name, value in parts_of(cell).items():
                axes.barh(
                    y[row],
                    value,
                    left=left,
                    height=0.72,
                    color=colours[name],
                    edgecolor=PAPER,
                    linewidth=0.8,
                )
                if value > 0.07 * max(totals):
                    axes.text(
                        left + value / 2,
                        y[row],
                        number(value),
                        ha="center",
                        va="center",
                        fontsize=8,
                        color=contrast(colours[name]),
                    )
                left += value
            axes.text(left + 0.012 * max(totals), y[row], number(left), va="center", fontsize=9)
        axes.set_title(kind)
        axes.grid(False)
        axes.grid(True, axis="x")
        axes.set_xlim(0, 1.1 * max(totals))
        axes.set_xlabel(label)
        axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    panels[0][0].set_yticks([y[row] for row in rows])
    panels[0][0].set_yticklabels([f"{s}  {p}" for s, p in rows])
    panels[0][0].invert_yaxis()
    present = [name for name in colours if any(name in parts_of(c) for c in cells)]
    figure.legend(
        handles=[plt.Rectangle((0, 0), 1, 1, color=colours[name], label=name) for name in present],
        loc="upper left",
        bbox_to_anchor=(0, 1),
        ncol=len(present),
        frameon=False,
        fontsize=10,
        handlelength=1,
        handleheight=1,
        columnspacing=1.6,
    )
    return finish(figure, 1 - 0.45 / figure.get_size_inches()[1])


def contrast(colour):
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#1b1c1d" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def cpu_parts(cell):
    return {who: cell["cpu_us"][who]["median"] for who in WHO if cell["cpu_us"][who]}


def stage_parts(cell):
    return {
        name: cell["stages_us"][name]["mean"] / 1000
        for name in STAGES
        if name in (cell["stages_us"] or {})
    }


def all_figures(summary):
    """{name: (title, caption, figure)}"""
    run = [
        cores
        for cores in CORES
        if any(c["part"] == "sweep" and c["cores"] == cores and has(c) for c in summary["cells"])
    ]
    bars = "Bars: the lowest and the highest trial."
    made = {}
    for cores in run:
        on = f"server on {cores_text(cores)}"
        made[f"throughput-{cores}"] = (
            f"Throughput by clients, {on}",
            bars,
            by_clients(summary, cores, lambda c: c["requests_per_s"], "requests/s"),
        )
    for cores in run:
        made[f"p99-{cores}"] = (
            f"99th percentile of the reply time by clients, server on {cores_text(cores)}",
            bars + " The scale is logarithmic.",
            by_clients(summary, cores, lambda c: c["p99_ms"], "p99, ms", log=True),
        )
    for store in STORES:
        made[f"cores-{store}"] = (
            f"Throughput by cores, 200 clients, {store}",
            bars
            + " Projections are no measurements. The fit assumes that what was measured goes on, CPU time that the client took included; "
            "the one by CPU assumes that the server has the cores to itself and that nothing but the core thread is serial.",
            by_cores(summary, store),
        )
    if run:
        on = f"200 clients, server on {cores_text(run[0])}"
        made["cpu"] = (
            f"CPU time of one request, {on}",
            "Medians.",
            stacked(summary, run[0], cpu_parts, WHO, "CPU us per request", lambda v: f"{v:.1f}"),
        )
        made["stages"] = (
            f"Where the time of one request goes, {on}",
            "Mean time in each stage; apply and commit are of the batch that the request is in.",
            stacked(summary, run[0], stage_parts, STAGE_COLOURS, "ms", lambda v: f"{v:.2f}"),
        )
    return {name: entry for name, entry in made.items() if entry[2] is not None}


def write(figures, folder):
    """Writes NAME.svg and NAME.png; returns {name: SVG text} for the page."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for name, (_, _, figure) in figures.items():
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        texts[name] = compact(buffer.getvalue())
        (folder / f"{name}.svg").write_text(texts[name])
        figure.savefig(folder / f"{name}.png", dpi=160)
        plt.close(figure)
    return texts


def for_page(name, svg):
    """With ids of its own; ink and paper as the page says."""
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg).replace("url(#", f"url(#{name}-")
    for colour, variable in (
        (INK, "--ink"),
        (MUTED, "--muted"),
        (GRID, "--grid"),
        (PAPER, "--paper"),
    ):
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(
        r'<svg ([^>]*?)width="([\d.]+)pt" height="[\d.]+pt"',
        r'<svg \1style="max-width:\2pt" role="img"',
        svg,
        count=1,
    )
    return svg.replace("'DejaVu Sans'", "'DejaVu Sans', system-ui, sans-serif")
