# SPDX-License-Identifier: GPL-2.0-or-later
"""A command whose errors go to a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """Its exit status, its output, and what the terminal got."""

    status: int
    output: str
    said: str


def run(command: list[str]) -> Ended:
    """Until it has ended."""
    ours, theirs = pty.openpty()
    with (
        tempfile.TemporaryFile("w+") as output,  # Not a pipe, which would fill up.
        subprocess.Popen(command, stdout=output, stderr=theirs) as process,
    ):
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 4096):
                said += chunk
        except OSError:  # Linux: the other side is closed.
            pass
        os.close(ours)
        status = process.wait()
        output.seek(0)
        return Ended(status, output.read(), said.decode())
