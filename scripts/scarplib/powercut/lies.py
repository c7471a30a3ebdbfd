# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut --lies`: drives that do not what they say, and which check sees it.

A lie may change what the workload meets: then it is recorded on such a drive.  One that only
changes what a power cut leaves is told in the recording of the honest drive; its replay notices if
it is not the same.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scarplib.errors import UserError
from scarplib.guest.file_system import FileSystem
from scarplib.guest.user_guest import User
from scarplib.powercut import checks as known
from scarplib.powercut import record
from scarplib.powercut import run as run_module
from scarplib.powercut.checks import Check
from scarplib.powercut.cuts import Which
from scarplib.powercut.recording import Recording

SCHEMA = "scarp-lies-1"
FILE = "lies.json"
_CHECKPOINTS = "ftl.mapping=demand,ftl.recovery=1,ftl.checkpoint_pages=16"


@dataclass(frozen=True)
class Lie:
    """`key`: of [lie]; without it the drive is honest.

    `more`: keys without which it has no occasion.  `overwrite`: of the ageing, as --overwrite.
    `late`: it only changes what a power cut leaves.
    """

    name: str
    says: str
    key: str | None
    more: str = ""
    overwrite: int | None = None
    late: bool = False

    @property
    def keys(self) -> str:
        """For --set."""
        return f"lie.{self.key}=1" if self.key else ""

    @property
    def recorded(self) -> str:
        """For --set, while the workload runs."""
        return _joined(self.more, "" if self.late else self.keys)


def _joined(*parts: str | None) -> str:
    return ",".join(filter(None, parts))


def _lie(
    key: str, says: str, more: str = "", overwrite: int | None = None, late: bool = False
) -> Lie:
    return Lie(key, says, key, more, overwrite, late)


LIES = (
    Lie("none", "the drive is honest", None),
    _lie("flush_ignored", "a flush completes at once"),
    _lie("fua_ignored", "a write with FUA completes from the cache"),
    _lie("flush_queued_only", "a flush does not wait for what is on its way to flash"),
    _lie("shorn_writes", "of a write that was cut short half is there", late=True),
    # Eight bits of a version cannot tell what ageing has overwritten.
    _lie("unserialised", "an older version of a unit may come back as the newest", overwrite=0),
    _lie("deallocation_undone", "what was deallocated is there again", late=True),
    Lie("none, with checkpoints", "the drive is honest", None, _CHECKPOINTS),
    _lie(
        "no_checkpoint",
        "only what came after the last checkpoint is found",
        _CHECKPOINTS,
        late=True,
    ),
)


@dataclass(frozen=True)
class Asked:
    """Of the user's options, those that count."""

    device: Path
    checks: Sequence[str]
    which: Which
    limit: int
    overrides: str | None = None


def _user(check: Check) -> User:
    # Deleted files are deallocated: else one of the lies has no occasion.
    systems = (FileSystem("ext4", "discard"),) if check.in_file_system else ()
    return User(script=check.workload, packages=check.packages, file_systems=systems)


class _Recordings:
    """Of each workload on each drive that differs while it runs, made when it is first needed."""

    def __init__(self, asked: Asked, folder: Path) -> None:
        self._asked, self._folder = asked, folder
        self._made: dict[tuple[Any, ...], Recording] = {}

    def of(self, lie: Lie, check: Check) -> Recording:
        key = (check.name, lie.recorded, lie.overwrite)
        if key not in self._made:
            self._made[key] = self._record(lie, check, self._folder / str(len(self._made)))
        return self._made[key].changed(lie.keys) if lie.late else self._made[key]

    def _record(self, lie: Lie, check: Check, folder: Path) -> Recording:
        folder.mkdir()
        wanted = record.Wanted(
            device=self._asked.device,
            job=check.job,
            user=_user(check),
            overrides=_joined(self._asked.overrides, lie.recorded) or None,
            overwrite=lie.overwrite,
        )
        record.check(wanted)
        return record.record(replace(wanted, files=dict(known.programs())), folder)


def _cell(asked: Asked, made: Recording, lie: Lie, check: Check, out: Path) -> dict[str, Any]:
    name = re.sub(r"\W+", "-", lie.name)
    folder = out / f"{check.name}-{name}"
    folder.mkdir()
    found = run_module.run(made, run_module.Asked(asked.which, [check], asked.limit), folder).found
    violated = found["violated"]
    return {
        "cuts": found["cuts"],
        "contract": len(violated["contract"]),
        "contents": found["contents"],
        "check": len(violated.get(check.name, [])),
        "interrupted": found["interrupted"],
    }


def table(asked: Asked, out: Path) -> tuple[dict[str, Any], bool]:
    """All cells, and whether Ctrl-C ended it before that; each is kept at once."""
    chosen = []
    for name in asked.checks:
        (check,) = known.chosen([name], "ext4" if name == "fs" else None, False)
        if not (check.workload or check.job):
            raise UserError(f"--lies: --check must be of {', '.join(known.NAMES)}")
        chosen.append(check)
    rows: dict[str, dict[str, Any]] = {}
    found = {"schema": SCHEMA, "checks": [check.name for check in chosen], "lies": rows}
    with tempfile.TemporaryDirectory(dir=out, prefix="recordings-") as folder:
        recordings = _Recordings(asked, Path(folder))
        for lie in LIES:
            rows[lie.name] = {}
            for check in chosen:
                print(f"{lie.name}: {check.title}", file=sys.stderr)
                try:
                    cell = _cell(asked, recordings.of(lie, check), lie, check, out)
                except KeyboardInterrupt:
                    return found, True
                rows[lie.name][check.name] = cell
                (out / FILE).write_text(json.dumps(found, indent=1) + "\n")
                if cell["interrupted"]:
                    return found, True
    return found, False


def _seen(cell: dict[str, Any] | None, key: str, of: str) -> str:
    return f"{cell[key]} of {cell[of]}" if cell else "–"


def text(found: dict[str, Any]) -> str:
    """Of each workload: how many cuts break the contract, how many contents fail the check."""
    head = ["the drive's lie"]
    for name in found["checks"]:
        head += [f"{name}: contract", f"{name}: check"]
    lines = [head]
    for lie, cells in found["lies"].items():
        line = [lie]
        for name in found["checks"]:
            cell = cells.get(name)
            line += [_seen(cell, "contract", "cuts"), _seen(cell, "check", "contents")]
        lines.append(line)
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def as_it_should(found: dict[str, Any]) -> bool:
    """Honest drives pass everything; the contract sees each lie."""
    for lie in LIES:
        cells = found["lies"].get(lie.name, {}).values()
        contract = sum(cell["contract"] for cell in cells)
        if not lie.key and (contract or any(cell["check"] for cell in cells)):
            return False
        if lie.key and not contract:
            return False
    return True
