# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp shell` as one who types at it meets it: terminal, job control, history, a power cut."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
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


def _talk(options: list[str], steps: Sequence[tuple[str | None, str]], socket: str = "") -> Outcome:
    """Each of the steps is what is typed, and then shown.  In place of None, `scarp cut` runs."""
    scarp = [sys.executable, str(ROOT / "scripts" / "scarp")]
    user = Typist([*scarp, "shell", "--age", "0", *options])
    try:
        user.until("exit ends the guest")
        user.until(r"# ")
        for keys, shown in steps:
            if keys is None:
                command = [*scarp, "cut", socket]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode or not re.fullmatch(shown, done.stdout):
                    raise OSError(f"scarp cut: {done.stdout}{done.stderr}")
                continue
            user.type(keys)
            user.until(shown)
        good = user.end() == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        user.process.kill()
        user.process.wait()
        good, user.said = False, f"{user.said}\n{error!r}"
    return good, "".join(f"# {line!r}\n" for line in user.said.splitlines()[-25:])


def prompt() -> Outcome:
    """One boot: a terminal of odd size, a file system, and a power cut from outside.

    Size, kind, Ctrl-Z and fg, Ctrl-C, and the line before by its key; what was written is there
    when the guest has reset the drive.
    """
    dd = "dd bs=4k count=16 2>/dev/null"
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
        ("grep ' /mnt ' /proc/mounts\r", r"\n/dev/nvme0n1 /mnt ext4 rw"),
        ("echo kept by''tes >/mnt/f; sync; cat /mnt/f\r", r"\nkept bytes\n"),
        # What is written past the file system, it does not notice.
        ("mount -o remount,ro /mnt; echo apart'='$?\r", r"\napart=0\n"),
        (f"{dd} if=/dev/urandom of=/tmp/a; {dd} if=/tmp/a of=$SCARP_DEV oflag=direct\r", r"# "),
        ("blockdev --flushbufs $SCARP_DEV; sync; echo now'='$?\r", r"\nnow=0\n"),
        (None, r"f0: cut number 1: \d+ commands under way, \d+ pages torn\n"),
        ("nvme reset $SCARP_CTRL; echo reset'='$?\r", r"\nreset=0\n"),
        (f"{dd} if=$SCARP_DEV iflag=direct | cmp - /tmp/a; echo same'='$?\r", r"\nsame=0\n"),
        ("exit\r", r"exit"),
    )
    keys = "nand.power_cuts=1,ftl.recovery=2,ftl.over_provisioning_permille=300"
    with tempfile.TemporaryDirectory(prefix="scarp-test-") as folder:
        socket = f"{folder}/qmp"
        return _talk(["--mkfs", "ext4", "--set", keys, "--qmp", socket], steps, socket)


TESTS = [("scarp shell on a terminal of odd size, with ext4 and a power cut", prompt)]
