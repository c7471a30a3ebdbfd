# SPDX-License-Identifier: GPL-2.0-or-later
"""Where each command was served, which its log does not say, but a replay of the log does.

A log that is replayed on the state from which it began gives the same nanoseconds.  So the replayer
is asked, and believed only if they are the same.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarplib.build.first_answer import first_replay
from scarplib.device_logs import changes, command_log, flash_log
from scarplib.device_logs.log_file import HEADER, LogError, check
from scarplib.drive.start import Start
from scarplib.results.summary import SchemeData

Column = NDArray[Any]


@dataclass(frozen=True)
class Served:
    """For each command; flash_log.NOWHERE if it needed no flash command."""

    die: Column
    plane: Column
    block: Column
    page: Column


def _rows(path: Path) -> Column:
    """A command log's times and status."""
    columns = command_log.LAYOUT.columns
    codes = [("<" + code).replace("q", "i8").replace("Q", "u8") for _, code in columns]
    layout = command_log.layout(path)
    check(path, layout)
    fixed = np.dtype([(name, code) for (name, _), code in zip(columns, codes, strict=True)])
    causes = np.dtype((np.void, 8 * layout.causes))
    rows = np.fromfile(path, np.dtype([("fixed", fixed), ("causes", causes)]), offset=HEADER.size)
    return np.asarray(rows["fixed"])


def _read(path: Path, chosen: Column) -> Served | None:
    check(path, flash_log.LAYOUT)
    rows = np.fromfile(path, "<u4", offset=HEADER.size).reshape(-1, len(flash_log.LAYOUT.columns))
    if len(rows) != len(chosen):
        return None
    return Served(*(rows[chosen, i] for i in range(rows.shape[1])))


def find(data: SchemeData, start: Start | None) -> Served | None:
    """For each of the commands, which are rows of the log in the scheme's folder.

    None if it is not known where the log began, or if the replay differs.  What a replay left in
    the folder itself is taken as it is.
    """
    log = data.folder / "cmd.bin"
    if not len(data.commands):
        return None
    try:
        rows = _rows(log)
        # The rows that the commands are of, which their numbers tell.
        chosen = (rows["status"] & command_log.UNSEEN) == 0
        numbers = rows["order"] & command_log.ORDER_SEQ
        chosen &= np.isin(numbers, np.frombuffer(data.commands.order, np.uint32))
        chosen &= rows["submit"] >= min(data.commands.submit)
        chosen &= rows["submit"] <= max(data.commands.submit)
        if (data.folder / "flash.bin").is_file():
            return _read(data.folder / "flash.bin", chosen)
        if start is None:
            return None
        with tempfile.TemporaryDirectory(prefix="scarp-served-") as scratch:
            again, flash = Path(scratch) / "cmd.bin", Path(scratch) / "flash.bin"
            command = [str(first_replay()), "--quiet", *start.words(), "--json", "/dev/null"]
            command += changes.words(data.folder)
            command += ["--cmd-log", str(again), "--flash-log", str(flash), str(log)]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                return None
            repeated = _rows(again)
            if any(not np.array_equal(rows[x], repeated[x]) for x in ("submit", "complete")):
                return None
            return _read(flash, chosen)
    except (LogError, OSError):
        return None
