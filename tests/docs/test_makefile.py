# SPDX-License-Identifier: GPL-2.0-or-later
"""Only git and make may be assumed: what make does on a machine without python3."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "make", "tail", "cp")


class WithoutPython(unittest.TestCase):
    def make(self, **programs: str) -> tuple[int, str]:
        """`make run` where nothing but a few tools and these scripts is found."""
        with tempfile.TemporaryDirectory() as folder:
            for name in TOOLS:
                found = shutil.which(name)
                assert found, name
                (Path(folder) / name).symlink_to(found)
            for name, script in programs.items():
                path = Path(folder) / name.replace("_", "-")
                path.write_text(f"#!/bin/sh\nD={folder}\n{script}\n")
                path.chmod(0o755)
            done = subprocess.run(
                ["make", "-C", str(ROOT), "run"],
                env={"PATH": folder},
                capture_output=True,
                text=True,
                check=False,
            )
        return done.returncode, done.stdout + done.stderr

    def test_no_apt(self) -> None:
        status, said = self.make()
        self.assertEqual(status, 2)
        self.assertIn("python3 is missing, and there is no apt-get", said)

    def test_a_user_is_told_what_to_run(self) -> None:
        status, said = self.make(id="echo 1000", apt_get="echo called")
        self.assertEqual(status, 2)
        self.assertRegex(said, "run: sudo apt-get update && sudo apt-get install .* python3")
        self.assertNotIn("called", said)

    def test_root_installs_and_waits_for_another_apt(self) -> None:
        # The first call meets a lock; what is installed then runs the script.
        status, said = self.make(
            id="echo 0",
            sleep=":",
            made="echo python3 ran",
            apt_get='[ -e "$D/met" ] || { : >"$D/met"; echo "E: Could not get lock"; exit 100; }\n'
            '[ "$1" = update ] || cp "$D/made" "$D/python3"',
        )
        self.assertEqual(status, 0, said)
        self.assertIn("python3 ran", said)
        self.assertNotIn("Could not get lock", said)

    def test_what_apt_says_is_shown(self) -> None:
        status, said = self.make(id="echo 0", apt_get="echo E: no such mirror; exit 100")
        self.assertEqual(status, 2)
        self.assertIn("E: no such mirror", said)
        self.assertIn("'apt-get update -qq' failed", said)

    def test_every_target_that_runs_python_gets_it_first(self) -> None:
        makefile = (ROOT / "Makefile").read_text()
        joined = makefile.replace("\\\n", " ")
        first = re.findall(r"^(?:NEED_PYTHON|NEED_COMPILER) := (.*)$", joined, re.MULTILINE)
        covered = set(" ".join(first).split()) | {"compiler"}
        recipes = re.findall(r"^([a-z0-9-]+):(?!=)[^\n]*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        users = {n for n, r in recipes if re.search(r"python3 |\$\(SCARP\)|tests/.*\.sh", r)}
        self.assertGreater(len(users), 20)
        self.assertEqual(users - covered, set())


if __name__ == "__main__":
    unittest.main()
