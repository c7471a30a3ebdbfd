# SPDX-License-Identifier: GPL-2.0-or-later
"""What the slowest commands of a report would have cost: `scarp why`, asked while it is drawn."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scarplib.device_logs.log_file import LogError
from scarplib.drive import branches, start
from scarplib.errors import UserError
from scarplib.paths import ROOT

# So many episodes of a column are asked for, and at most so many commands, the slowest first.
EPISODES, COMMANDS = 20, 200
# A strip is drawn of so many columns, each of what took most of its time.
COLUMNS = 300
# The works of a strip, as scarp-why names them; the page has their colours in this order.
WORKS = (
    *("host_read", "host_program", "gc_read", "gc_program", "erase", "other"),
    # Of a drive with an SLC cache, whose page has folds.js.
    *("fold_read", "fold_program"),
)


def find(folder: Path) -> dict[str, Any] | None:
    """The answer for one column's folder.

    None if the run cannot be repeated from an instant on; a line on the standard error says why.
    """
    question = branches.Question(folder, slowest=COMMANDS, episodes=EPISODES, strips=True)
    try:
        return branches.ask(question.arguments())
    except (UserError, LogError) as error:
        print(
            f"scarp: {folder.name}: the report lacks what slow commands would have cost: {error}",
            file=sys.stderr,
        )
        return None


def strip(slices: Sequence[Sequence[Any]], span_ns: int) -> list[list[int]]:
    """[first column, the one behind the last, work] of each stretch that is one colour."""
    took: list[dict[int, int]] = [{} for _ in range(COLUMNS)]
    for begin, length, name in slices:
        work, end = WORKS.index(name), min(begin + length, span_ns)
        first, last = begin * COLUMNS // span_ns, min((end - 1) * COLUMNS // span_ns, COLUMNS - 1)
        for column in range(first, last + 1):
            low = max(begin, column * span_ns // COLUMNS)
            high = min(end, (column + 1) * span_ns // COLUMNS)
            took[column][work] = took[column].get(work, 0) + high - low
    found: list[list[int]] = []
    for column, works in enumerate(took):
        # A die that did nothing for most of the column's time was idle.
        if not works or 2 * sum(works.values()) < span_ns // COLUMNS:
            continue
        most = max(works, key=lambda work: works[work])
        if found and found[-1][1:] == [column, most]:
            found[-1][1] = column + 1
        else:
            found.append([column, column + 1, most])
    return found


def _strips(episode: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of the fact, then of each branch, on one axis of time."""
    sides = [episode["control"], *episode["branches"]]
    if any(side["strip"] is None for side in sides):
        return None
    span_ns = max(side["strip"]["until_ns"] for side in sides) - episode["at_ns"]
    if span_ns <= 0:
        return None
    return {
        "die": sides[0]["strip"]["die"],
        "span": span_ns,
        "runs": [strip(side["strip"]["slices"], span_ns) for side in sides],
    }


def _branch(branch: Mapping[str, Any]) -> dict[str, Any]:
    window = branch["window"]
    return {
        "name": f"{branch['kind']} {branch['text']}",
        "verdict": branch["verdict"],
        "all": window["branch_ns"] - window["fact_ns"],
        "held": window["waited_ns"],
    }


def described(
    answer: Mapping[str, Any], places: Mapping[int, int], begin_ns: int
) -> dict[str, Any]:
    """What the page has of an answer.

    places: by the order of a command where it is among those that the page keeps.  begin_ns: the
    job's begin, from which times of the page count.
    """
    episodes, commands = [], {}
    for number, episode in enumerate(answer["episodes"]):
        episodes.append({
            "at": episode["at_ns"] - begin_ns,
            "window": episode["until_ns"] - episode["at_ns"],
            "branches": [_branch(branch) for branch in episode["branches"]],
            "strips": _strips(episode),
        })  # fmt: skip
        for i, command in enumerate(episode["commands"]):
            if (place := places.get(command["order"])) is None:
                continue
            found = [branch["commands"][i] for branch in episode["branches"]]
            commands[str(place)] = {
                "episode": number,
                "branches": [[x["latency_ns"], int(x["exact"]), x["waited_ns"]] for x in found],
            }
    return {"episodes": episodes, "commands": commands}


def compare_words(result: Mapping[str, Any], folder: Path) -> str | None:
    """`scarp compare` as it would run this run's guests again, without schemes; None: it cannot.

    result: the summary.json in the folder.
    """
    if not (again := result.get("again")):
        return None
    words = ["scripts/scarp", "compare"]
    for name, value in again:
        if name in ("image", "device", "job"):
            path = start.meant(value, folder.resolve())
            value = str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
        # A value that begins with a dash would be an option.
        words += [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]
    return shlex.join(words)


def schemes_of(result: Mapping[str, Any], name: str) -> list[str]:
    """A column's scheme, then those of the others; empty for one that forked from another."""
    if name in result.get("forks", {}):
        return []
    columns = {**{each: each for each in result["schemes"]}, **result.get("columns", {})}
    forked = {each: fork["scheme"] for each, fork in result.get("forks", {}).items()}
    columns |= forked
    found = dict.fromkeys([columns[name], *columns.values()])
    return list(found) if len(found) > 1 else []
