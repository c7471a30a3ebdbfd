# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate before it is overwritten, made once however long its erases take.

Half of a candidate's probe comes before anything is collected.  There nothing depends on an erase's
time, which is what is searched most.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition

from scarplib.errors import UserError
from scarplib.own_drive import on_replayer
from scarplib.own_drive.model import Model
from scarplib.own_drive.plan import Step
from scarplib.own_drive.probe_file import Result

ERASE = "timing.erase_ns"
# So many are kept; each is a file of some MiB.
MOST = 32


@dataclass
class State:
    """A drive's image, and what the steps before have shown."""

    image: Path
    results: dict[str, Result] = field(default_factory=dict)


@dataclass
class _Entry:
    # None: one of the steps needed an erase, or it is no drive.
    state: State | None = None
    made: bool = False
    users: int = 0


class States:
    """Those that were made last."""

    def __init__(self, replay: Path, scratch: Path, traces: on_replayer.Traces) -> None:
        self.replay, self.scratch, self.traces = replay, scratch, traces
        self.entries: dict[tuple[str, tuple[str, ...]], _Entry] = {}
        self.changed = Condition()

    @contextmanager
    def of(self, candidate: Model, steps: Sequence[Step]) -> Iterator[State | None]:
        """After these steps; it stays as long as this is open.  None where an erase was needed."""
        name = (candidate.with_values({ERASE: 0}).text(), tuple(one.name for one in steps))
        with self.changed:
            maker = name not in self.entries
            # The last one used is the last.
            entry = self.entries.pop(name, _Entry())
            self.entries[name] = entry
            entry.users += 1
            while not (maker or entry.made):
                self.changed.wait()
        try:
            if maker:
                try:
                    entry.state = self._made(candidate, steps)
                finally:
                    with self.changed:
                        entry.made = True
                        self.changed.notify_all()
            yield entry.state
        finally:
            with self.changed:
                entry.users -= 1
                self._forget()

    def _forget(self) -> None:
        for name, old in list(self.entries.items())[: max(0, len(self.entries) - MOST)]:
            if not old.users:
                del self.entries[name]
                if old.state:
                    old.state.image.unlink()

    def _made(self, candidate: Model, steps: Sequence[Step]) -> State | None:
        # It is gone with the bench.
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        path = folder / "candidate.ini"
        candidate.write(path)
        drive = on_replayer.Replayed(self.replay, path, folder)
        results = {}
        try:
            for step in steps:
                done = drive.run(step, self.traces)
                if drive.erases():
                    return None
                if not step.prepares:
                    results[step.name] = done
        except UserError:
            return None
        assert drive.saved
        return State(drive.saved, results)
