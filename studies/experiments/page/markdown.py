"""The page as Markdown, and its plots as charts of studies.report."""

from claims import warnings
from prose import PLACEHOLDER
from studies.report.tables import plain


TABLES = "experiments/tables.md"  # of docs
ROWS_MAX = 6  # of a table on the page; a larger one is for looking something up


def table(item):
    text = plain(item["columns"], item["rows"]).markdown()
    return [f"**{item['title']}**", "", *text.splitlines()]


def is_large(item):
    return len(item["rows"]) > ROWS_MAX


def anchor(experiment, item):
    return f"{experiment['name']}-{item['key']}".replace("_", "-").lower()


def link(experiment, item):
    """To a large table."""
    return [f"[Table: {item['title']}]({TABLES}#{anchor(experiment, item)})"]


def tables_page(run):
    """The large tables; empty if there are none."""
    if not any(
        is_large(item) for experiment in run["experiments"] for item in experiment["tables"]
    ):
        return ""
    lines = ["# Concurrency experiments: the large tables", ""]
    lines += [
        "For looking something up; [experiments.md](../experiments.md) says what follows from them."
    ]
    for experiment in run["experiments"]:
        large = list(filter(is_large, experiment["tables"]))
        if large:
            lines += ["", f"## {experiment['title']}"]
        for item in large:
            lines += ["", f'<a id="{anchor(experiment, item)}"></a>', "", *table(item)]
    return "\n".join(lines) + "\n"


def plot(item, experiment):
    return [
        f"![{item['title']}: {item['y']} by {item['x']}](experiments/{experiment}-{item['key']}.svg)"
    ]


def chart(item):
    lines = [one for one in item["series"] if one["points"]]
    band = 0.14 if len(lines) <= 3 else 0.07
    return {
        "size": [10, 4.1],
        "layout": {
            "left": 0.085,
            "right": 0.68 if len(lines) > 1 else 0.97,
            "bottom": 0.13,
            "top": 0.9,
        },
        "panels": [[{"title": item["title"], "lines": [{**line, "band": band} for line in lines]}]],
        "marks": True,
        "legend": "right",
        "x": {"label": item["x"], "log": item["log_x"]},
        "y": {"label": item["y"], "log": item["log_y"]},
    }


def excerpt(item):
    fence = "`" * max(
        3, 1 + max((len(run) for run in item["text"].split() if set(run) == {"`"}), default=0)
    )
    return [f"{item['title']}:", "", fence + "text", *item["text"].rstrip("\n").split("\n"), fence]


def body(experiment, text):
    """The prose, each placeholder replaced."""
    made = {
        ("table", item["key"]): link(experiment, item) if is_large(item) else table(item)
        for item in experiment["tables"]
    }
    made |= {("plot", item["key"]): plot(item, experiment["name"]) for item in experiment["plots"]}
    made |= {("excerpt", item["key"]): excerpt(item) for item in experiment.get("excerpts", [])}
    lines = []
    for line in text.lines:
        match = PLACEHOLDER.match(line)
        lines += made[match.groups()] if match else [line]
    return lines


def check_lines(checks):
    """What must hold on any machine: failed checks first, the others on request."""
    failed = [check for check in checks if not check["holds"]]
    held = [check for check in checks if check["holds"]]
    lines = [""] if checks else []
    if failed:
        lines += [f"**{len(failed)} of {len(checks)} checks did not hold:**", ""]
        lines += [f"- **{check['what']}**: {check['seen']}" for check in failed] + [""]
    if held:
        count = f"All {len(held)} checks hold" if len(held) > 1 else "Its one check holds"
        if failed:
            count = f"{len(held)} other checks hold"
        lines += ["<details>", f"<summary>{count}</summary>", ""]
        lines += [f"- {check['what']}: {check['seen']}" for check in held] + ["", "</details>"]
    return lines


def section(experiment, text):
    name, title = experiment["name"], experiment["title"]
    lines = ["", f'<a id="{name}"></a>', "", f"## {title}", "", f"**{text.answer}**", ""]
    for words in warnings(experiment):
        lines += [words, ""]
    lines += body(experiment, text)
    if experiment["notes"]:
        lines += ["", "Not measured here, or not as asked:", ""]
        lines += [f"- {note}" for note in experiment["notes"]]
    return lines + check_lines(experiment["checks"])


def opening(run, missing):
    machine = run["machine"]
    checks = [
        (experiment["name"], check)
        for experiment in run["experiments"]
        for check in experiment["checks"]
    ]
    failed = [name for name, check in checks if not check["holds"]]
    lines = [
        "# Concurrency experiments",
        "",
        "For teachers and students. The write-ups that this project starts from asked nine questions about threads, locks and files. This page repeats them in C++,",
        'with measurements and their consequences for the exchange. Columns "there" hold the figures of the write-ups, from other machines: compare the ratios.',
        "",
        f"Measured on {machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, {run['started']}, commit {run['commit']}, seed {run['seed']},",
        f"{run['repetitions']} repetitions of each measurement, in random order. Figures are medians, with the lowest and the highest in brackets; in plots",
        "a bar or band shows that range. Racy variants run as child processes.",
        "",
        "`./experiments.sh --docs docs` measures everything and rewrites this page; `./experiments.sh locks` prints one experiment, `--list` names them.",
        f"[experiments/results.json](experiments/results.json) holds every figure of this page, [a page of their own]({TABLES}) the large tables. A test compares",
        "each sentence that states a figure or a rank with the tables.",
        "",
    ]
    if run["quick"]:
        lines += [
            "**These figures come from a run with `--quick`: the sizes test the programs and measure nothing.**",
            "",
        ]
    if missing:
        lines += ["**Not part of this run:** " + "; ".join(missing) + ".", ""]
    if failed:
        names = ", ".join(f"[{name}](#{name})" for name in dict.fromkeys(failed))
        lines += [f"**{len(failed)} of {len(checks)} checks did not hold:** see {names}."]
    else:
        lines += [
            f"{len(checks)} checks were made during the run (no lost update in guarded variants, mutual exclusion, totals, data read back), and all hold."
        ]
    return lines


def page(run, texts, missing, refuted=()):
    lines = opening(run, missing)
    if refuted:
        lines += ["", "**Of the text below, this run does not bear out:**", ""]
        lines += [f"- {words}" for words in refuted]
    lines += ["", "## Questions and answers", ""]
    lines += [
        f"- [{experiment['title']}](#{experiment['name']})<br>\n  {texts[experiment['name']].answer}"
        for experiment in run["experiments"]
    ]
    for experiment in run["experiments"]:
        lines += section(experiment, texts[experiment["name"]])
    return "\n".join(lines) + "\n"
