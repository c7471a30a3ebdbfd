# SPDX-License-Identifier: GPL-2.0-or-later
"""A search: every scheme that is tried is replayed, the best few run in the guest, all is kept."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scarplib import scheme_text
from scarplib.build.replayer import ensure_replay, key_of
from scarplib.device_logs import command_log
from scarplib.drive import age, choices
from scarplib.errors import UserError, of_system
from scarplib.paths import SCRIPTS
from scarplib.results import replayed
from scarplib.results.percentiles import PERCENTILES, percentile
from scarplib.search.goal import Goal
from scarplib.search.walk import BASELINE, Walk

SCHEMA = "scarp-search-1"
TRIED, SETTINGS, RESULT, IMAGE, GUEST = (
    *("tried.jsonl", "settings.json", "search.json", "drive.img", "guest"),
)
_SHOWN = 10
_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Wanted:
    """What is searched: `rest` is the replayer's, with the workload; `guest`: options of `scarp
    compare`, empty for no guest; `first`: the schemes to begin with, all of them if empty."""

    goal: Goal
    device: Path
    overrides: tuple[str, ...]
    age: int
    seed: int
    first: tuple[str, ...]
    tries: int
    best: int
    guest: str
    rest: tuple[str, ...]
    # The folder of the results; or, unless the user has named one, where each search has its own.
    out: Path
    named: bool = True

    def key(self, program: Path) -> str:
        """Of all that the figures depend on."""
        files = [self.device, *(Path(word) for word in self.rest if Path(word).is_file())]
        made = [key_of(program), self.goal.text, self.overrides, self.age, self.seed, self.rest]
        made += [_digest(path) for path in files]
        return hashlib.sha256(json.dumps(made).encode()).hexdigest()


def _digest(path: Path) -> str:
    """Of a file, which may be larger than the memory."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Replays:
    """The figures of schemes on the replayer, each found once: kept in the folder, line by line."""

    def __init__(self, wanted: Wanted, program: Path) -> None:
        self.wanted, self.program = wanted, program
        self.path = wanted.out / TRIED
        self.kept: dict[str, dict[str, Any]] = {}
        self.asked = 0
        if self.path.is_file():
            for line in self.path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    # The end of one that was interrupted.
                    continue
                self.kept[row["scheme"]] = row
            self._write_whole()

    def _write_whole(self) -> None:
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self.kept.values()))

    def value(self, scheme: str) -> float | None:
        """For a walk."""
        if scheme not in self.kept:
            row = {"scheme": scheme, **self.replay(scheme)}
            self.kept[scheme] = row
            self.asked += 1
            with self.path.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(f"{len(self.kept):4}  {self.wanted.goal.said(row['value']):>10}  {scheme}",
                  file=sys.stderr, flush=True)  # fmt: skip
        found = self.kept[scheme]["value"]
        return None if found is None else float(found)

    def replay(self, scheme: str) -> dict[str, Any]:
        """Its row: the figure, and why the drive refuses it if it does."""
        log = self.wanted.out / "cmd.tmp"
        flushes = self.wanted.goal.direction == "sync"
        words = [str(self.program), "--quiet", *scheme_text.split(scheme).words()]
        words += ["--image", str(self.wanted.out / IMAGE), "--seed", str(self.wanted.seed)]
        words += [word for key in self.wanted.overrides for word in ("--override", key)]
        words += ["--json", "-", *(("--cmd-log", str(log)) if flushes else ()), *self.wanted.rest]
        done = subprocess.run(
            words, capture_output=True, text=True, errors="surrogateescape", check=False
        )
        if -done.returncode in _INTERRUPTIONS:
            raise KeyboardInterrupt
        if done.returncode < 0:
            by = signal.strsignal(-done.returncode)
            raise UserError(f"'{scheme}': the replayer was ended by a signal: {by}")
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return {"value": None, "refused": said.removeprefix("scarp-replay: ")}
        column = replayed.summary(json.loads(done.stdout))
        if flushes:
            column["device"]["sync"] = _flushes(log)
            log.unlink()
        return {"value": self.wanted.goal.value(column)}


def _flushes(log: Path) -> dict[str, float] | None:
    rows = command_log.read_commands(log)
    took = sorted(rows.complete[i] - rows.submit[i] for i in rows.indices(command_log.FLUSH))
    if not took:
        return None
    points = {f"p{percent}_ns": percentile(took, percent) for percent in PERCENTILES}
    return {**points, "mean_ns": sum(took) / len(took), "max_ns": took[-1]}


def begin(wanted: Wanted, program: Path) -> None:
    """The folder: a new one with the drive that all start from, or that of the same search."""
    path, key = wanted.out / SETTINGS, wanted.key(program)
    if path.is_file():
        if json.loads(path.read_text()).get("key") != key:
            raise UserError(f"--out: {wanted.out}: is of another search, or of other programs")
        return
    if wanted.out.exists() and (not wanted.out.is_dir() or any(wanted.out.iterdir())):
        raise UserError(f"--out: {wanted.out}: is neither empty nor a search's")
    try:
        wanted.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out: {of_system(error)}") from error
    overrides = ",".join(wanted.overrides) or None
    image = wanted.out / IMAGE
    try:
        age.make(age.command(wanted.device, image, wanted.age, wanted.seed, overrides=overrides))
    except BaseException:
        image.unlink(missing_ok=True)
        raise
    path.write_text(json.dumps({"schema": SCHEMA, "key": key, "goal": wanted.goal.text}) + "\n")


def in_guest(wanted: Wanted, schemes: Sequence[str]) -> dict[str, float | None]:
    """The goal of each of these in the guest; what a finished run has is not run again."""
    folder = wanted.out / GUEST
    path = folder / "summary.json"
    words = ["compare", "--device", str(wanted.device), "--age", str(wanted.age)]
    words += ["--seed", str(wanted.seed), "--schemes", ",".join(schemes)]
    words += ["--set", ",".join(wanted.overrides)] if wanted.overrides else []
    words += shlex.split(wanted.guest)
    kept = folder.with_suffix(".words")
    if not (path.is_file() and kept.is_file() and json.loads(kept.read_text()) == words):
        shutil.rmtree(folder, ignore_errors=True)
        kept.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-B", str(SCRIPTS / "scarp"), *words, "--out", str(folder)],
            check=False,
        )
        if done.returncode == 130:
            raise KeyboardInterrupt
        if done.returncode:
            raise UserError(f"in the guest (above): scarp {shlex.join(words)}")
        kept.write_text(json.dumps(words))
    columns = json.loads(path.read_text())["schemes"]
    return {name: wanted.goal.value(columns[name]) for name in schemes}


def _table(rows: list[dict[str, Any]], goal: Goal, guest: bool) -> str:
    heads = ["", "scheme", "replayer", *(["guest"] if guest else [])]
    cells = [
        [str(row["rank"]), row["scheme"], goal.said(row["replayer"]),
         *([goal.said(row["guest"])] if guest else [])]
        for row in rows
    ]  # fmt: skip
    wide = [max(len(line[i]) for line in (heads, *cells)) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, wide, strict=True))
        ).rstrip()
        for line in (heads, *cells)
    )


def result(wanted: Wanted, walk: Walk) -> dict[str, Any]:
    """The ranking: of those that ran in the guest by what they did there, then the others."""
    ranked = walk.ranked()
    rows: list[dict[str, Any]] = [
        {"scheme": name, "replayer": value, "guest": None} for name, value in ranked
    ]
    if wanted.guest:
        chosen = [name for name, _ in ranked[: wanted.best]]
        chosen += [] if BASELINE in chosen else [BASELINE]
        values = in_guest(wanted, chosen)
        for row in rows:
            row["guest"] = values.get(row["scheme"])
        rows.sort(key=lambda row: (row["guest"] is None, row["guest"] or 0))
    for rank, row in enumerate(rows, 1):
        row["rank"] = rank
    without = [name for name, value in walk.found.items() if value is None]
    return {
        "schema": SCHEMA,
        "goal": wanted.goal.text,
        "tried": len(walk.found),
        "ranking": rows,
        "refused": without,
    }


def _say(wanted: Wanted, found: dict[str, Any]) -> None:
    rows, goal = found["ranking"], wanted.goal
    print(_table(rows[:_SHOWN], goal, bool(wanted.guest)))
    if len(rows) > _SHOWN:
        print(f"… and {len(rows) - _SHOWN} more")
    where = "guest" if rows[0]["guest"] is not None else "replayer"
    usual = next((row for row in rows if row["scheme"] == BASELINE), None)
    beside = f", {goal.said(usual[where])} under {BASELINE}" if usual else ""
    print(f"\nBest by {goal.text}: {rows[0]['scheme']}, {goal.said(rows[0][where])}{beside}.")
    out = (
        wanted.out.relative_to(Path.cwd()) if wanted.out.is_relative_to(Path.cwd()) else wanted.out
    )
    print(f"\nResults: {out}/  ({RESULT}, {TRIED}{', guest/' if wanted.guest else ''})")


def main(wanted: Wanted) -> int:
    """The exit status."""
    began = time.monotonic()
    program = ensure_replay()
    if not wanted.named:
        wanted = replace(wanted, out=wanted.out / wanted.key(program)[:12])
    schemes = {each.name: each for each in choices.schemes(choices.listed(program)[0])}
    for name in (part for each in wanted.first for part in scheme_text.split(each).name.split("+")):
        if name not in schemes:
            raise UserError(f"--schemes: '{name}' is no scheme; `scarp schemes` lists them")
    begin(wanted, program)
    replays = Replays(wanted, program)
    walk = Walk(replays.value, schemes, wanted.tries)
    try:
        if replays.value(BASELINE) is None:
            refused = replays.kept[BASELINE].get("refused")
            raise UserError(
                refused or f"--goal: under this load there is no {wanted.goal.text} to be seen"
            )
        walk.run(list(wanted.first))
        found = result(wanted, walk)
    except KeyboardInterrupt:
        said = f"interrupted; {len(replays.kept)} schemes are kept, and the same command goes on"
        print(f"scarp: {said}", file=sys.stderr)
        return 130
    (wanted.out / RESULT).write_text(json.dumps(found, indent=1) + "\n")
    _say(wanted, found)
    print(f"{replays.asked} replayed now, {found['tried']} in all; took "
          f"{time.monotonic() - began:.0f} s.")  # fmt: skip
    return 0
