# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether `scarp why`, `scarp timeline` and the report repeat a run from its folder."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.build import cuts, first_answer  # noqa: E402
from scarplib.device_logs import command_log, log_file  # noqa: E402
from scarplib.results.interactive import instants  # noqa: E402


def scarp(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts" / "scarp"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def report(folder: Path) -> tuple[dict[str, Any] | None, str]:
    """What the report finds for a scheme's folder, and what it says on the standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        found = instants.find(folder)
    return found, said.getvalue()


def check_repeats(test: unittest.TestCase, folder: Path) -> None:
    """All three give the nanoseconds of the folder's command log, to its end."""
    # What is built says so on the standard error, which is compared.
    cuts.first_why()
    first_answer.first_replay()
    last_ns = max(row[0] for row in command_log.command_rows(folder / "cmd.bin"))
    # The command that came last: why and timeline repeat all that was before it.
    order = next(
        row[8] & command_log.ORDER_SEQ
        for row in command_log.command_rows(folder / "cmd.bin")
        if row[0] == last_ns
    )
    done = scarp("why", folder, "--command", order, "--without", "collections", "--json")
    test.assertEqual((done.returncode, done.stderr), (0, ""))
    (episode,) = json.loads(done.stdout)["episodes"]
    test.assertIsNone(episode["control"]["differs_ns"])
    done = scarp("timeline", folder, "--around", last_ns, "-o", folder.parent / "moment")
    test.assertEqual((done.returncode, done.stderr), (0, ""))
    found, said = report(folder)
    test.assertEqual(said, "")
    test.assertTrue(found and found["episodes"])


def check_spoiled_is_refused(test: unittest.TestCase, folder: Path, row: int) -> None:
    """The row ends 1 ns later: all three say so, with both times; the log is whole again after."""
    log = folder / "cmd.bin"
    whole = log.read_bytes()
    data = bytearray(whole)
    at = log_file.HEADER.size + row * command_log.LAYOUT.row.size
    submit, complete = struct.unpack_from("<qq", data, at)
    struct.pack_into("<q", data, at + 8, complete + 1)
    log.write_bytes(data)
    try:
        around = ("--around", submit, "-o", folder.parent / "moment")
        for words in (("why", folder, "--slowest", 1), ("timeline", folder, *around)):
            done = scarp(*words)
            test.assertEqual((done.returncode, done.stdout), (1, ""))
            for number in (submit, complete, complete + 1):
                test.assertIn(f"{number} ns", done.stderr)
        found, said = report(folder)
        test.assertIsNone(found)
        test.assertEqual(len(said.splitlines()), 1, said)
        for number in (submit, complete, complete + 1):
            test.assertIn(f"{number} ns", said)
    finally:
        log.write_bytes(whole)
