# SPDX-License-Identifier: GPL-2.0-or-later
"""The replayer that is built of objects says what the one with LTO says, to the byte.

With SCARP_TEST_ALL=1 in the environment (`make test-e2e-long`) that of a first answer, with every
scheme; otherwise the one that changed_engine.py has built, which checks its tables, with few.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import changed_engine
from scarplib.build import first_answer
from scarplib.build.replayer import ensure_replay, scheme_names

ROOT = Path(__file__).resolve().parents[2]
_TINY = ROOT / "tests" / "qtest" / "tiny.ini"
_ALL = bool(os.environ.get("SCARP_TEST_ALL"))
_LOGS = ("cmd-log", "gc-log", "flash-log")
# Besides the default: each mapping, and what has programs of its own.
_KEYS = (
    *("ftl.mapping=demand", "ftl.mapping=block", "ftl.mapping=fast", "ftl.mapping=superblock"),
    *("ftl.parity_width=4", "nand.cache=1", "nand.power_cuts=1"),
)


class EqualAnswers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # As before the one with LTO was built.
        missing = mock.patch.object(first_answer, "built_program", lambda *_: Path("none"))
        with missing:
            first = first_answer.first_replay() if _ALL else changed_engine.program()
            self.programs = (ensure_replay(), first)
        self.assertNotEqual(*self.programs)

    def outputs(self, program: Path, scheme: str, key: str) -> list[bytes] | None:
        """All that it writes; None: it refuses that scheme on such a drive."""
        words = [str(program), "--quiet", "-d", str(_TINY), "--age", "900", "-s", scheme]
        words += ["-m", "closed", "-q", "8", "--json", str(self.folder / "json")]
        words += ["-o", "ftl.over_provisioning_permille=400", *(["-o", key] if key else [])]
        words += [word for log in _LOGS for word in (f"--{log}", str(self.folder / log))]
        command = [*words, "gen:mixed,requests=2000"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        result = json.loads((self.folder / "json").read_text())
        del result["wall_s"]
        return [json.dumps(result).encode(), *((self.folder / x).read_bytes() for x in _LOGS)]

    def test_equal_bytes(self) -> None:
        every = scheme_names(self.programs[0])
        pairs = [(scheme, "") for scheme in (every if _ALL else every[::4])]
        pairs += [(scheme, key) for scheme in ("baseline", "pgc") for key in _KEYS]
        ran = 0
        for scheme, key in pairs:
            with self.subTest(scheme=scheme, key=key):
                whole, first = (self.outputs(program, scheme, key) for program in self.programs)
                self.assertEqual(whole, first)
                ran += whole is not None
        # The rest needs what this drive has not.
        self.assertGreater(ran, len(pairs) * 2 // 3)


if __name__ == "__main__":
    unittest.main()
