"""The page as Markdown."""

from prose import PLACEHOLDER


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def table(item):
    columns = item["columns"]
    rows = [columns, *(row + [""] * (len(columns) - len(row)) for row in item["rows"])]
    lines = ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    lines.insert(1, "|---|" + "---:|" * (len(columns) - 1))
    return [f"**{item['title']}**", "", *lines]


def plot(item, experiment):
    return [
        f"![{item['title']}: {item['y']} by {item['x']}](experiments/{experiment}-{item['key']}.svg)"
    ]


def excerpt(item):
    fence = "`" * max(
        3, 1 + max((len(run) for run in item["text"].split() if set(run) == {"`"}), default=0)
    )
    return [f"{item['title']}:", "", fence + "text", *item["text"].rstrip("\n").split("\n"), fence]


def body(experiment, text):
    """The prose, each placeholder replaced."""
    made = {("table", item["key"]): table(item) for item in experiment["tables"]}
    made |= {("plot", item["key"]): plot(item, experiment["name"]) for item in experiment["plots"]}
    made |= {("excerpt", item["key"]): excerpt(item) for item in experiment.get("excerpts", [])}
    lines = []
    for line in text.lines:
        match = PLACEHOLDER.match(line)
        lines += made[match.groups()] if match else [line]
    return lines


def check_lines(checks):
    """What must hold on any machine: how many do, and first the ones that do not."""
    if not checks:
        return []
    failed = [check for check in checks if not check["holds"]]
    lines = [""]
    if failed:
        lines += [f"**{len(failed)} of {len(checks)} checks did not hold:**", ""]
        lines += [f"- **{check['what']}**: {check['seen']}" for check in failed] + [""]
    held = [check for check in checks if check["holds"]]
    if held:
        count = (
            f"{len(held)} other checks hold"
            if failed
            else f"All {len(held)} checks hold"
            if len(held) > 1
            else "Its one check holds"
        )
        lines += [
            "<details>",
            f"<summary>{count}</summary>",
            "",
            *(f"- {check['what']}: {check['seen']}" for check in held),
            "",
            "</details>",
        ]
    return lines


def section(experiment, text):
    lines = [
        "",
        f'<a id="{experiment["name"]}"></a>',
        "",
        f"## {experiment['title']}",
        "",
        f"**{text.answer}**",
        "",
        *body(experiment, text),
    ]
    if experiment["notes"]:
        lines += [
            "",
            "Not measured here, or not as asked:",
            "",
            *(f"- {note}" for note in experiment["notes"]),
        ]
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
        "[experiments/results.json](experiments/results.json) holds every figure of this page.",
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


def page(run, texts, missing):
    lines = opening(run, missing) + ["", "## Questions and answers", ""]
    lines += [
        f"- [{experiment['title']}](#{experiment['name']})<br>\n  {texts[experiment['name']].answer}"
        for experiment in run["experiments"]
    ]
    for experiment in run["experiments"]:
        lines += section(experiment, texts[experiment["name"]])
    return "\n".join(lines) + "\n"
