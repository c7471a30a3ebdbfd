# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp shell` on a terminal of odd size: its size, job control and history in the guest."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Outcome = tuple[bool, str]

ROWS, COLUMNS = 37, 113
# Against hanging alone: a busy machine must not reach it.
_LIMIT_S = 1800


class Typist:
    """Types into a program's terminal, and reads what it shows."""

    def __init__(self, command: list[str]) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "vt220"},
            start_new_session=True,
        )
        os.close(theirs)
        self.said = ""
        self._seen = 0
        self._end = time.monotonic() + _LIMIT_S

    def until(self, pattern: str) -> None:
        """Read on until it was shown, after what was waited for last."""
        while not (match := re.compile(pattern).search(self.said, self._seen)):
            left = self._end - time.monotonic()
            if left <= 0 or not select.select([self.ours], [], [], left)[0]:
                raise TimeoutError(pattern)
            # When the other side is closed, this raises an OSError.
            data = os.read(self.ours, 4096).decode(errors="replace")
            # The guest's terminal makes them, and ours once more.
            self.said += data.replace("\r", "")
        self._seen = match.end()

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def end(self) -> int:
        """Read the rest, so that it can end; its status."""
        try:
            self.until(r"\Znever")
        except TimeoutError:  # It is an OSError, too.
            raise
        except OSError:
            pass
        return self.process.wait(max(1.0, self._end - time.monotonic()))


def terminal() -> Outcome:
    """Size, kind, Ctrl-Z and fg, Ctrl-C, and the line before by its key."""
    user = Typist([sys.executable, str(ROOT / "scripts" / "scarp"), "shell", "--age", "0"])
    # A quote within what is typed keeps its echo from passing for the output.  A key such as
    # Ctrl-Z goes to whoever is in the foreground, which is cat once it has numbered a line.
    steps = (
        ("stty size; echo kind'='$TERM\r", rf"\n{ROWS} {COLUMNS}\nkind=vt220\n"),
        ("cat -n\r", r"cat -n\n"),
        ("one\r", r" 1\tone\n"),
        ("\x1a", r"Stopped[^\n]*cat -n\n"),
        ("jobs; fg\r", r"Stopped[^\n]*cat -n\ncat -n\n"),
        ("two\r", r" 2\ttwo\n"),
        ("\x03", r"# "),
        ("echo after'='$?\r", r"\nafter=130\n"),
        ("echo first'='line\r", r"\nfirst=line\n"),
        ("\x1b[A\r", r"\nfirst=line\n"),
        ("exit\r", r"exit"),
    )
    try:
        user.until("exit ends the guest")
        user.until(r"# ")
        for keys, shown in steps:
            user.type(keys)
            user.until(shown)
        good = user.end() == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        user.process.kill()
        user.process.wait()
        good, user.said = False, f"{user.said}\n{error!r}"
    return good, "".join(f"# {line!r}\n" for line in user.said.splitlines()[-25:])


TESTS = [("scarp shell on a terminal of odd size", terminal)]
