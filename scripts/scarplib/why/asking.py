# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks scarp-why about a run's folder, and gives its answer out."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from scarplib import whole_file
from scarplib.device_logs import changes
from scarplib.device_logs.log_file import LogError
from scarplib.drive import timeline
from scarplib.errors import UserError
from scarplib.why import verdict, words

SLOWEST = 10
WITHOUT = "collections"


def _summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder.resolve().parent / "summary.json").read_text())
    return found


def _others(folder: Path) -> list[str]:
    """Schemes of the run's other columns, which are compared with this one in its table."""
    result = _summary(folder)
    # A column that forked begins as its stem does; its own scheme is that from then on.
    forked = {name: fork["scheme"] for name, fork in result.get("forks", {}).items()}
    schemes = {**dict.fromkeys(result["schemes"]), **result.get("columns", {}), **forked}
    from scarplib import scheme_text

    own = scheme_text.column_in(result["schemes"], folder.resolve().name)
    others = [schemes[name] or name for name in result["schemes"] if name != own]
    return list(dict.fromkeys(others))


def _job(folder: Path) -> list[str]:
    """Words for when the job ran: --slowest asks for its commands alone."""
    result = _summary(folder)
    from scarplib import scheme_text

    own = scheme_text.column_in(result["schemes"], folder.resolve().name)
    column = result["schemes"].get(own, {})
    said = [("--from-ns", column.get("begin_ns")), ("--to-ns", column.get("end_ns"))]
    return [word for name, ns in said if isinstance(ns, int) for word in (name, str(ns))]


def _which(options: argparse.Namespace) -> list[str]:
    if options.orders:
        return [word for order in options.orders for word in ("--command", str(order))]
    return ["--slowest", str(options.slowest or SLOWEST), *_job(options.folder)]


def _branches(options: argparse.Namespace) -> list[str]:
    under, without = options.under, options.without
    if not (under or without or options.larger):
        under, without = _others(options.folder), [WITHOUT]
    asked = [("--under", under), ("--without", without), ("--with", options.larger)]
    return [word for name, texts in asked for text in texts for word in (name, text)]


def _arguments(options: argparse.Namespace) -> list[str]:
    folder: Path = options.folder
    began = timeline.beginning(folder)
    found = [*began.words(), "--cmd-log", str(folder.resolve() / "cmd.bin")]
    found += [*changes.words(folder), *_which(options), *_branches(options)]
    found += ["--at", options.at] if options.at else []
    found += ["--jobs", str(len(os.sched_getaffinity(0)))]
    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
        found += ["--logs", str(options.logs.resolve())]
    return found


def _joined(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The program's lines as one object: each episode with its branches, the control apart."""
    head, *rest = lines
    count = head.pop("episodes")
    head.pop("branches")
    episodes = [{**line, "branches": []} for line in rest[:count]]
    for line in rest[count:]:
        number = line.pop("episode")
        if fault := line.get("fault") or line.pop("error", None):
            what = " ".join(filter(None, (line.get("branch"), line.get("text"))))
            raise UserError(f"episode {number}, {what}: {fault}")
        kind = line.pop("branch")
        if kind == "control":
            episodes[number - 1]["control"] = line
        else:
            episodes[number - 1]["branches"].append({"kind": kind, **line})
    for episode in episodes:
        _check_control(episode)
        for branch in episode["branches"]:
            branch["verdict"] = verdict.of(branch, episode["control"])
    return {**head, "episodes": episodes}


def _check_control(episode: dict[str, Any]) -> None:
    """Without a change nothing may be another: else no branch means anything."""
    window = episode["control"]["window"]
    if episode["control"]["differs_ns"] is not None or window["fact_ns"] != window["branch_ns"]:
        raise UserError(
            f"episode {episode['episode']}: the branch without a change is not the run: "
            f"completions differ from {episode['control']['differs_ns']} ns on"
        )


def ask(arguments: list[str]) -> dict[str, Any]:
    """The program's answer; what it refuses is a UserError."""
    from scarplib.build.cuts import first_why

    done = subprocess.run(
        [str(first_why()), *arguments],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().split("\n")[-1].removeprefix("scarp-why: ")
        raise UserError(said or f"scarp-why ended with status {done.returncode}")
    return _joined([json.loads(line) for line in done.stdout.splitlines()])


def _with_trace(arguments: list[str], output: Path) -> dict[str, Any]:
    """The timelines of all branches, each a group of tracks, in one file."""
    with tempfile.TemporaryDirectory(prefix="scarp-why-") as scratch:
        parts = Path(scratch) / "part"
        answer = ask([*arguments, "--trace", str(parts)])
        numbered = sorted(Path(scratch).glob("part.*"), key=lambda path: int(path.suffix[1:]))
        with output.open("wb") as stream:
            for part in numbered:
                stream.write(part.read_bytes())
    return answer


def _answer(options: argparse.Namespace) -> None:
    """Ask, and say the answer as the command line wants it."""
    try:
        arguments = _arguments(options)
    except LogError as error:
        raise UserError(str(error)) from error
    if options.output:
        whole_file.check("-o", options.output, options.folder / "cmd.bin")
        answer = _with_trace(arguments, options.output)
    else:
        answer = ask(arguments)
    print(json.dumps(answer, indent=1) if options.json else words.text(answer), end="")
    if options.json:
        print()
    elif options.output:
        print(f"\n{options.output}: fact and branches; open it at ui.perfetto.dev")


def main(options: argparse.Namespace) -> int:
    """As the command line says; the exit status."""
    if not options.watch:
        _answer(options)
        return 0
    from scarplib.build.cuts import why_sources
    from scarplib.why import watching

    return watching.watch(lambda: _answer(options), why_sources)
