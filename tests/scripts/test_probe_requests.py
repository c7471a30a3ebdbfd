# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-requests on its own: what a latency is where a drive does not keep up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import unittest
from array import array
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build.requests import ensure_requests  # noqa: E402

# So many are in flight at most; each of so many bytes.
MOST, BYTES = 1000, 4096
READ = 0
# So long nothing ends.  A host that is so busy that the program has not begun by then gets longer.
LATE_S, LATEST_S = 0.3, 60.0


class ADriveThatIsBehind(unittest.TestCase):
    """A pipe: no read of it ends until something is written."""

    def times(self, count: int, gap_ns: int, late_s: float) -> tuple[list[int], list[int], int]:
        """Of so many reads, when each came and when it was done; and before when none was done."""
        out, into = os.pipe()
        counter = os.memfd_create("begun")
        os.ftruncate(counter, 8)
        requests = array("q")
        for i in range(count):
            # The last word is two halves: bytes, and the kind.
            requests.extend((i * gap_ns, 0, READ << 32 | BYTES))
        words = [str(one) for one in (ensure_requests(), out, 0, os.getpid(), counter)]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(out, counter)
        ) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(requests.tobytes())
            process.stdin.close()
            time.sleep(late_s)
            # The program's clock.
            written_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            for _ in range(count):
                os.write(into, bytes(BYTES))
            times = array("q", process.stdout.read())
        for fd in (out, into, counter):
            os.close(fd)
        self.assertEqual(process.returncode, 0)
        return list(times[0::2]), list(times[1::2]), written_ns

    def test_what_waited_for_room_came_when_it_was_due(self) -> None:
        gap_ns, late_s = 500, LATE_S
        while True:
            submit, complete, written_ns = self.times(MOST + 40, gap_ns, late_s)
            if submit[MOST - 1] < written_ns or late_s > LATEST_S:
                break
            late_s *= 4
        # From the first that found no room on each is due so long after the one before, however
        # long all of them waited.
        gaps = {after - one for one, after in pairwise(submit[MOST:])}
        self.assertEqual(gaps, {gap_ns})
        self.assertLess(submit[-1], written_ns)
        self.assertGreater(min(complete), written_ns)

    def test_what_finds_room_comes_when_it_is_submitted(self) -> None:
        gap_ns = 1_000_000
        submit, _, _ = self.times(20, gap_ns, LATE_S)
        # None before it is due, and hardly one at the nanosecond.
        since = [came - submit[0] - i * gap_ns for i, came in enumerate(submit)]
        self.assertGreater(len(set(since)), 1)


if __name__ == "__main__":
    unittest.main()
