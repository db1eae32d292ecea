"""What a run measured as blocks of text, of which course/docs/experiments.md shows some, and as
charts."""

import re

from documents import fill, plain

PAGE = "experiments.md"  # of course/docs


class PageError(Exception):
    """Run and page do not fit together; the message names what."""


def experiments(docs):
    return re.findall(r'^<a id="(\w+)"></a>$', (docs / PAGE).read_text(), re.M)


def blocks(run):
    """{owner: {name: text}}: of the run, and of each experiment."""
    made = {"run": {"machine": machine(run)}}
    for experiment in run["experiments"]:
        own = {one["key"]: table(one) for one in experiment["tables"]}
        own["held"] = held(experiment)
        made[experiment["name"]] = own
    return made


def table(one):
    return f"**{one['title']}**\n\n{plain(one['columns'], one['rows']).markdown()}"


def remarks(experiment):
    """What the reader of the page must know of its checks: those that failed, and what was not
    measured."""
    failed = [check for check in experiment["checks"] if not check["holds"]]
    lines = [f"**a check did not hold: {one['what']}**: {one['seen']}" for one in failed]
    lines += [f"not measured, or not as asked: {note}" for note in experiment["notes"]]
    return [f"- {experiment['name']}: {line}" for line in lines]


def held(experiment):
    return "\n".join(
        ["Checks that hold:", ""]
        + [f"- {one['what']}: {one['seen']}" for one in experiment["checks"] if one["holds"]]
    )


def machine(run):
    about = run["machine"]
    every = [check["holds"] for experiment in run["experiments"] for check in experiment["checks"]]
    return (
        f"Measured on {about['cpu']}, {about['cpus']} CPUs, Linux {about['kernel']},"
        f" {run['started']}, commit {run['commit']}, seed"
        f" {run['seed']},\n{run['repetitions']} repetitions of each measurement, in random order."
        f" {sum(every)} of {len(every)} checks made during the run hold (no lost update in\nguarded"
        " variants, mutual exclusion, totals, data read back).\n"
        + "**A run with `--quick`: its sizes test the programs and measure nothing.**\n"
        * run["quick"]
        + "\n".join(["", *sum(map(remarks, run["experiments"]), [])])
    )


def chart(plot):
    lines = [{**line, "band": 0.07} for line in plot["series"]]
    return {
        "size": [10, 4.1],
        "layout": {"left": 0.085, "right": 0.68, "bottom": 0.13, "top": 0.9},
        "panels": [[{"title": plot["title"], "lines": lines}]],
        "marks": True,
        "legend": "right",
        "x": {"label": plot["x"], "log": True},
        "y": {"label": plot["y"], "log": True},
    }


def charts_of(run):
    return {
        f"{experiment['name']}-{plot['key']}": chart(plot)
        for experiment in run["experiments"]
        for plot in experiment["plots"]
    }


def filled(docs, run):
    """The page with the blocks of this run. A program that was built without fibers leaves theirs
    as they are."""
    text, made = (docs / PAGE).read_text(), blocks(run)
    unknown = set(re.findall(r"<!-- begin (\w+)/", text)) - {"run", *experiments(docs)}
    shown = re.findall(r"\(experiments/(\w+)(-[\w-]+)\.svg\)", text)
    unknown |= {"".join(one) for one in shown if one[0] in made} - set(charts_of(run))
    if unknown:
        raise PageError(f"no run makes what course/docs/{PAGE} shows: {', '.join(sorted(unknown))}")
    for owner, own in made.items():
        text = fill(text, own, f"{owner}/")
    return text
