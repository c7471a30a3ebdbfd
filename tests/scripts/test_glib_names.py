# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/test-names.sh, which asks a program of GLib's for its tests."""

import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "test-names.sh"


class GlibNames(unittest.TestCase):
    """A list is complete, or an error."""

    def ask(self, said: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "test-what"
            program.write_text(f"#!/bin/sh\ncat <<'E'\n{said}E\nexit {status}\n")
            program.chmod(0o755)
            return subprocess.run(
                ["sh", str(SCRIPT), str(program)], capture_output=True, text=True, check=False
            )

    def test_as_lines(self) -> None:
        done = self.ask("/a/b\n/a/c 2\n")
        self.assertEqual((done.returncode, done.stdout), (0, "/a/b\n/a/c 2\n"))

    def test_as_comments(self) -> None:
        """GLib 2.84, of Debian 13: all unit tests were lost there, and most of the array's."""
        done = self.ask(
            "TAP version 14\n# random seed: R02S7d\n1..2\n# Start of a tests\n# /a/b\n# /a/c\n"
            "# End of a tests\n"
        )
        self.assertEqual((done.returncode, done.stdout), (0, "/a/b\n/a/c\n"))

    def test_none(self) -> None:
        done = self.ask("TAP version 14\n1..0\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("names no test", done.stderr)

    def test_a_program_that_fails(self) -> None:
        self.assertNotEqual(self.ask("/a/b\n", status=3).returncode, 0)


if __name__ == "__main__":
    unittest.main()
