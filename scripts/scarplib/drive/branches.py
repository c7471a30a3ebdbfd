# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks scarp-why about a run's folder: the run's log and state as its arguments; its answer."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib import scheme_text
from scarplib.device_logs import changes
from scarplib.drive import timeline, verdict
from scarplib.errors import UserError

SLOWEST = 10
WITHOUT = "collections"


@dataclass(frozen=True)
class Question:
    """What is asked of a run's folder of a scheme; each member is an option of `scarp why`."""

    folder: Path
    slowest: int = SLOWEST
    # Not empty: these commands, by the order of their submission, and not the slowest.
    orders: Sequence[int] = ()
    at: str | None = None
    # Without any of the three: the run's other schemes, and without collections.
    under: Sequence[str] = ()
    without: Sequence[str] = ()
    larger: Sequence[str] = ()
    logs: Path | None = None
    # 0: as many episodes as there are.
    episodes: int = 0
    # What the die in question did.
    strips: bool = False

    def arguments(self) -> list[str]:
        """Of scarp-why."""
        folder = self.folder.resolve()
        found = [*timeline.beginning(self.folder).words(), "--cmd-log", str(folder / "cmd.bin")]
        found += [*changes.words(self.folder), *self._which(), *self._branches()]
        found += ["--at", self.at] if self.at else []
        found += ["--episodes", str(self.episodes)] if self.episodes else []
        found += ["--strips"] if self.strips else []
        found += ["--jobs", str(len(os.sched_getaffinity(0)))]
        if self.logs:
            self.logs.mkdir(parents=True, exist_ok=True)
            found += ["--logs", str(self.logs.resolve())]
        return found

    def _summary(self) -> tuple[dict[str, Any], str]:
        """The run's, and the name of this folder's column in it."""
        whole = self.folder.resolve()
        found: dict[str, Any] = json.loads((whole.parent / "summary.json").read_text())
        return found, scheme_text.column_in(found["schemes"], whole.name)

    def others(self) -> list[str]:
        """Schemes of the run's other columns, which are compared with this one in its table."""
        result, own = self._summary()
        # A column that forked begins as its stem does; its own scheme is that from then on.
        forked = {name: fork["scheme"] for name, fork in result.get("forks", {}).items()}
        schemes = {name: name for name in result["schemes"]}
        schemes |= {**result.get("columns", {}), **forked}
        others = (schemes[name] for name in result["schemes"] if name != own)
        return [scheme for scheme in dict.fromkeys(others) if scheme != schemes.get(own)]

    def _job(self) -> list[str]:
        """Words for when the job ran: --slowest asks for its commands alone."""
        result, own = self._summary()
        column = result["schemes"].get(own, {})
        said = [("--from-ns", column.get("begin_ns")), ("--to-ns", column.get("end_ns"))]
        return [word for name, ns in said if isinstance(ns, int) for word in (name, str(ns))]

    def _which(self) -> list[str]:
        if self.orders:
            return [word for order in self.orders for word in ("--command", str(order))]
        return ["--slowest", str(self.slowest), *self._job()]

    def _branches(self) -> list[str]:
        under, without = self.under, self.without
        if not (under or without or self.larger):
            under, without = self.others(), [WITHOUT]
        asked = [("--under", under), ("--without", without), ("--with", self.larger)]
        return [word for name, texts in asked for text in texts for word in (name, text)]


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


def ask(arguments: list[str], program: Path | None = None) -> dict[str, Any]:
    """The answer of scarp-why, or of that program of it; what it refuses is a UserError."""
    from scarplib.build.cuts import first_why

    done = subprocess.run(
        [str(program or first_why()), *arguments],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().split("\n")[-1].removeprefix("scarp-why: ")
        raise UserError(said or f"scarp-why ended with status {done.returncode}")
    return _joined([json.loads(line) for line in done.stdout.splitlines()])
