# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp timeline`: what the drive did around one moment of a run, for ui.perfetto.dev.

The run itself has written no timeline, which would be large.  Its command log is replayed on the
state from which it began, with each change of its scheme.  The replay must have the log's
nanoseconds, and only the window is written.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from scarplib import scheme_text, whole_file
from scarplib.device_logs import changes, command_log
from scarplib.device_logs.log_file import LogError
from scarplib.drive import start
from scarplib.errors import UserError, printable

# So much of the window is before the moment: what led to it.
BEFORE = 6


def beginning(folder: Path) -> start.Start:
    """Of a scheme's folder in the folder of a run."""
    whole = folder.resolve()
    for path in (whole / "cmd.bin", whole.parent / "summary.json"):
        if not path.is_file():
            raise UserError(
                f"{folder}: not a scheme's folder of a run, such as out/latest/baseline: "
                f"{path} is missing"
            )
    try:
        result = json.loads((whole.parent / "summary.json").read_text())
        column = scheme_text.column_in(result.get("schemes", {}), whole.name)
        found = start.of_run(result, whole.parent, column)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        why = printable(str(error))
        raise UserError(f"{whole.parent / 'summary.json'}: damaged: {why}") from error
    if not found:
        raise UserError(
            f"{folder}: the drive's state from which it began is not there, or its summary.json "
            "does not name it"
        )
    return found


def _changes(folder: Path, end_ns: int) -> list[str]:
    """Words for the changes of the run's scheme; what follows a power cut is not repeated."""
    try:
        end = changes.first_end(folder)
        if end and end.time_ns < end_ns:
            what = "power was cut" if end.change == changes.POWER_CUT else "drive was sanitized"
            raise UserError(
                f"--around, --for: the {what} at {end.time_ns} ns of the drive's clock; a window "
                "must end before that"
            )
        return changes.words(folder)
    except LogError as error:
        raise UserError(str(error)) from error


def _check_begin(log: Path, from_us: int) -> None:
    """A window behind the run's end would be an empty picture."""
    try:
        end_ns = command_log.end_ns(log)
    except LogError as error:
        raise UserError(str(error)) from error
    if from_us * 1000 > end_ns:
        raise UserError(
            f"--around, --for: the window begins at {from_us * 1000} ns of the drive's clock, and "
            f"the run's last command completed at {end_ns}"
        )


def timeline(arguments: argparse.Namespace) -> int:
    """Replay as the command line says; the exit status."""
    began = beginning(arguments.folder)
    read = [arguments.folder / "cmd.bin", arguments.folder.resolve().parent / "summary.json"]
    read += [Path(value) for name, value in began.options if name in ("image", "description")]
    whole_file.check("-o", arguments.output, *read)
    window_us: int = arguments.length
    from_us = max(0, arguments.around // 1000 - window_us // BEFORE)
    _check_begin(read[0], from_us)
    words = [*began.words(), "--json", "/dev/null", "--trace", str(arguments.output)]
    words += ["--trace-from", str(from_us), "--trace-for", str(window_us)]
    # What comes after the window is not needed.
    words += ["--runtime", str(from_us + window_us), "--exact"]
    words += _changes(arguments.folder, (from_us + window_us) * 1000)
    from scarplib.build.first_answer import first_replay

    # Absolute: a name that begins with a dash would be an option.
    command = [str(first_replay()), *words, str(arguments.folder.resolve() / "cmd.bin")]
    done = subprocess.run(command, stderr=None, check=False)
    if done.returncode:
        return done.returncode
    size = arguments.output.stat().st_size
    print(
        f"{arguments.output}: {size / 2**20:.1f} MiB, from {from_us / 1e6:.6f} to "
        f"{(from_us + window_us) / 1e6:.6f} s of the drive's clock; open it at ui.perfetto.dev"
    )
    return 0
