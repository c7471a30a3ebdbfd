# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's command log of any length, as numpy makes it: known answers, written in a second."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import synthetic
from scarplib.device_logs.command_log import CAUSES, LAYOUT
from scarplib.device_logs.log_file import HEADER

BEGIN_NS = synthetic.BEGIN_NS
DIES = 8
# Every so many-th command waits so long for a collection of its die.
SLOW_EACH, SLOW_NS = 997, 40_000_000


def write(folder: Path, scheme: str, count: int, slow: bool = True) -> None:
    """A scheme's folder, with where each command was served as a replay would leave it."""
    folder.mkdir(parents=True)
    number = np.arange(count)
    rng = np.random.default_rng(7)
    submit = BEGIN_NS + np.cumsum(rng.integers(5_000, 25_000, count))
    op = (rng.random(count) > 0.7).astype(np.uint8)
    causes = np.zeros((count, len(CAUSES)), np.int64)
    causes[:, CAUSES.index("controller")] = 2_000
    causes[:, CAUSES.index("array")] = np.where(op, 700_000, 80_000) + rng.integers(0, 9000, count)
    waits = (number % SLOW_EACH == 500) & slow
    causes[waits, CAUSES.index("die_gc_program")] = SLOW_NS
    names, codes = zip(*LAYOUT.columns, strict=True)
    kinds = [{"q": "<i8", "Q": "<u8", "I": "<u4", "H": "<u2", "B": "u1"}[code] for code in codes]
    rows = np.zeros(count, [*zip(names, kinds, strict=True), ("causes", "<i8", len(CAUSES))])
    rows["submit"], rows["complete"] = submit, submit + causes.sum(axis=1)
    rows["offset"] = rng.integers(0, 1 << 20, count) * 4096
    rows["length"], rows["op"], rows["causes"], rows["order"] = 4096, op, causes, number
    # In the order of completion, as a log is.
    rows = rows[np.argsort(rows["complete"], kind="stable")]
    head = HEADER.pack(LAYOUT.magic, LAYOUT.row.size, len(CAUSES), LAYOUT.version)
    (folder / "cmd.bin").write_bytes(head + rows.tobytes())
    die = rows["order"] % DIES
    where = np.stack([die, die, rows["order"] % 64, rows["order"] % 256], axis=1).astype("<u4")
    (folder / "flash.bin").write_bytes(HEADER.pack(b"SCARPFL1", 16, 0, 0) + where.tobytes())
    _collections(folder, rows[rows["complete"] - rows["submit"] > SLOW_NS])
    values = {"cmds_accepted": count, "cmds_completed": count, "gc_runs": 1}
    (folder / "stats-begin.bin").write_bytes(synthetic.stats_page(scheme, BEGIN_NS, {}))
    end = int(rows["complete"][-1])
    (folder / "stats-end.bin").write_bytes(synthetic.stats_page(scheme, end, values))
    part = synthetic.fio_part([80_000, 90_000], 1)
    fio = {"jobs": [{"jobname": "many", "error": 0, "read": part, "write": part}]}
    (folder / "fio.json").write_text(json.dumps(fio))


def _collections(folder: Path, slow: np.ndarray[tuple[int, ...], np.dtype[np.void]]) -> None:
    """The one that each slow command stood behind: of its die, and begun just before it."""
    kind = [("b", "<i8"), ("e", "<i8"), *((name, "<u4") for name in ("die", "plane", "k", "m"))]
    runs = np.zeros(len(slow), kind)
    runs["b"], runs["e"] = slow["submit"] - 1_000, slow["submit"] + SLOW_NS
    runs["die"] = runs["plane"] = slow["order"] % DIES
    runs["k"], runs["m"] = slow["order"] % 64, 40
    head = HEADER.pack(b"SCARPGC1", runs.itemsize, 0, 0)
    (folder / "gc.bin").write_bytes(head + runs.tobytes())
