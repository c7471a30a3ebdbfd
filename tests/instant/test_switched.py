# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that switches its drive's scheme twice: its run is repeated from its logs.

Switches by QMP, whose moments the host chooses, are in tests/qtest/test_replay.py.
"""

from __future__ import annotations

import unittest

import guests
import repeats
from guests import ALL
from scarplib.device_logs import changes
from scarplib.guest.user_guest import User
from scarplib.runs import run

_LOAD = (
    "fio --name=load --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --thread --rw=randrw "
    "--bs=4k --iodepth=16 --norandommap --size=400m --io_size=1t --number_ios=3000"
)
# The load goes on while the scheme changes.
_SCRIPT = f"""#!/bin/sh
set -e
{_LOAD} --randseed=1 >$SCARP_OUT/fio &
sleep 0.3
scarp-scheme $SCARP_CTRL pgc
sleep 0.3
scarp-scheme $SCARP_CTRL gftl:gftl_floor=2
wait
"""


class Switched(unittest.TestCase):
    if ALL:

        def test_twice_by_the_guest(self) -> None:
            folder = guests.fresh("switched")
            script = guests.OUT / "switch.sh"
            script.write_text(_SCRIPT)
            asked = guests.settings(folder, None, user=User(script=script))
            outcome = run.compare(asked)
            self.assertEqual(outcome.failures, {})
            column = folder / "baseline"
            found = changes.read(column / changes.NAME)
            schemes = [(change.scheme, change.params) for change in found]
            self.assertEqual(schemes, [("pgc", ""), ("gftl", "gftl_floor=2")])
            rows = guests.rows(column)
            for change in found:
                # In the middle of the load: commands are under way.
                self.assertTrue(any(row[0] < change.time_ns < row[1] for row in rows))
            repeats.check_repeats(self, column)
            repeats.check_spoiled_is_refused(self, column, len(rows) // 2)


if __name__ == "__main__":
    raise SystemExit(f"run {guests.ROOT}/tests/instant/run.py")
