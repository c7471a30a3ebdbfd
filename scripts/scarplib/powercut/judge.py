# SPDX-License-Identifier: GPL-2.0-or-later
"""Cuts are given to the checks: distinct contents alone, one after the other, to one guest."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.errors import UserError
from scarplib.powercut import cuts as power
from scarplib.powercut.check_guest import CheckGuest, Verdict
from scarplib.powercut.cuts import Cut, Tried
from scarplib.powercut.promises import Promises
from scarplib.powercut.recording import Recording

# Contents that lie on the disk at once: so many, or as many as have room in so many bytes.
_BATCH = 32
_BATCH_BYTES = 2 << 30
# Of so many failures the contents are kept.
_KEPT = 3


@dataclass
class Checked:
    """Contents, the last cut that left them, and what the checks found.

    Promises only become more, so what is enough for the last cut is enough for all of them.
    """

    cut: Cut
    cuts: int
    verdict: Verdict
    # The last promise that counts, as scarp-promise wrote it.
    promised: str | None = None

    @property
    def failed(self) -> list[str]:
        """Names of checks."""
        return [name for name, word in self.verdict.of.items() if word != "ok"]


@dataclass
class Judged:
    """All contents that were checked; `interrupted`: not all there are."""

    contents: list[Checked] = field(default_factory=list)
    distinct: int = 0
    interrupted: bool = False


def distinct(tried: Tried) -> list[tuple[Cut, int]]:
    """Of each contents the last cut that left them, and how many did; in the order of time."""
    last: dict[tuple[str, ...], Cut] = {}
    count: dict[tuple[str, ...], int] = {}
    for cut in tried.cuts:
        if cut.contents:
            count[cut.contents] = count.get(cut.contents, 0) + 1
            if cut.contents not in last or cut.at_ns > last[cut.contents].at_ns:
                last[cut.contents] = cut
    found = sorted(last.values(), key=lambda cut: (cut.at_ns, cut.again or 0))
    return [(cut, count[cut.contents]) for cut in found]


def batches(
    recording: Recording, found: Sequence[tuple[Cut, int]]
) -> Iterator[Sequence[tuple[Cut, int]]]:
    # What was never written takes no room.
    logs = [recording.path(drive.data_log) for drive in recording.drives]
    each = sum(log.stat().st_size for log in logs if log.is_file())
    size = max(1, min(_BATCH, _BATCH_BYTES // max(each, 1)))
    for at in range(0, len(found), size):
        yield found[at : at + size]


def _keep(checked: Checked, files: Sequence[Path], folder: Path) -> None:
    target = folder / f"cut-{checked.cut.name}"
    target.mkdir(parents=True, exist_ok=True)
    (target / "output.txt").write_text(checked.verdict.output)
    for number, path in enumerate(files):
        shutil.copyfile(path, target / f"drive{number}.raw")


def judge(
    recording: Recording,
    tried: Tried,
    guest: CheckGuest,
    promises: Promises,
    settings: Callable[[Cut], dict[str, str]],
    folder: Path,
    seen: Callable[[Judged], None] = lambda judged: None,
) -> Judged:
    """`settings`: what a check's environment has of a cut.  `seen` is called after each."""
    wanted = distinct(tried)
    judged = Judged(distinct=len(wanted))
    failures = 0
    try:
        for batch in batches(recording, wanted):
            with tempfile.TemporaryDirectory(dir=folder, prefix="contents-") as scratch:
                power.keep(recording, [cut for cut, _ in batch], Path(scratch))
                for cut, count in batch:
                    files = [Path(scratch) / f"{name}.raw" for name in cut.contents]
                    if not all(path.is_file() for path in files):
                        raise UserError(f"cut {cut.name}: it left other contents than before")
                    environment = {
                        "SCARP_CUT": cut.name,
                        "SCARP_CUT_NS": str(cut.failed_ns),
                        **settings(cut),
                    }
                    told = promises.before(cut.failed_ns)
                    verdict = guest.check(cut.cut, files, environment, told)
                    checked = Checked(cut, count, verdict, promises.last(cut.failed_ns))
                    judged.contents.append(checked)
                    if checked.failed and failures < _KEPT:
                        failures += 1
                        _keep(checked, files, folder / "failed")
                    seen(judged)
    except KeyboardInterrupt:
        judged.interrupted = True
    return judged
