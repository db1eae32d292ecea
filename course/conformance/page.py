#!/usr/bin/env python3
"""Makes a page of what the conformance test wrote with --json.

    build/bin/conformance 127.0.0.1:4711 --json result.json
    course/conformance/page.py result.json > result.html"""

import argparse
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "course/grader"), str(ROOT / "client/report")]

from report import details, render, section, table, text, values  # noqa: E402
from server_page import counts_blocks, folded, rule_row  # noqa: E402

LEVELS, LOST = ("must", "should", "ours"), ("broken", "blocked")


def page(result):
    rules = {one["rule"]: one for one in result["rules"]}
    lost = [one for one in rules.values() if one["result"] in LOST]
    lost.sort(key=lambda one: (LEVELS.index(one["level"]), LOST.index(one["result"])))
    quoted = [folded(one, {}) for one in lost if one["level"] != "ours"]
    if ours := [folded(one, {}) for one in lost if one["level"] == "ours"]:
        title = f"Rules of this exchange alone, without loss of points ({len(ours)})"
        quoted.append(details(title, *ours))
    causes = [
        [one["points"], one["rule"], rules[one["rule"]]["level"], rules[one["rule"]]["why"]]
        + [" ".join(one["blocks"])]
        for one in result["causes"]
    ]
    heads = ["#points", "rule", "level", "why", "cannot be tested before"]
    score = (
        f"Score {result['score']:.1f} of 100, {result['points']} of {result['points_max']} points."
    )
    notices = [{"kind": "good" if result["score"] == 100 else "bad", "text": score}]
    for kind, name, words in (
        ("bad", "test_errors", "Error of this test, not of the server: "),
        ("warn", "form", "Differs in form alone: "),
    ):
        notices += [{"kind": kind, "text": words + one} for one in result[name]]
    mend = table(heads, causes) if causes else text("No broken rule costs points.")
    every = table(
        ["rule", "level", "result", "#cases", "what it says", "why"],
        list(map(rule_row, rules.values())),
    )
    return {
        "title": f"Conformance of {result['server']}",
        "about": f"{result['program']}, seed {result['seed']}, {result['seconds']:.1f} s",
        "notices": notices,
        "sections": [
            section("causes", "What to mend first", *counts_blocks(result), mend),
            section("lost", "Broken and blocked rules", *quoted),
            section("rules", "Rules", every),
            section("style", "How it sends its replies", values("", result["style"])),
        ],
    }


def main():
    keep = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=keep)
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    print(render(page(json.loads(parser.parse_args().result.read_text()))), end="")


if __name__ == "__main__":
    main()
