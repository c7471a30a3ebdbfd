# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp` says of arguments that it refuses."""

from __future__ import annotations

import contextlib
import io
import unittest

from scarplib import cli


class Refused(unittest.TestCase):
    """Tests of arguments that are wrong."""

    def error(self, *arguments: str) -> str:
        """The one line that it says."""
        stream = io.StringIO()
        with contextlib.redirect_stderr(stream):
            self.assertNotEqual(cli.main(list(arguments)), 0)
        lines = stream.getvalue().splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0]
