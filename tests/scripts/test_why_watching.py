# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp why --watch`: which changes are answered, and what does not end it."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.errors import UserError  # noqa: E402
from scarplib.why import watching  # noqa: E402


class Watch(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.file = self.folder / "victim_mine.c"
        self.file.write_text("first")

    def watched(self, changes: list[Callable[[], object]], fails: int = 0) -> tuple[int, str]:
        """How often it was answered while these changes were made, one after the other."""
        answers = 0

        def answer() -> None:
            nonlocal answers
            answers += 1
            if answers == fails:
                raise UserError("scarp-why does not build")

        def wait(_: float) -> None:
            if not changes:
                raise KeyboardInterrupt
            changes.pop(0)()

        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = watching.watch(answer, lambda: sorted(self.folder.glob("*.[ch]")), wait)
        self.assertEqual(status, 0)
        return answers, said.getvalue()

    def test_saved_added_and_removed_files(self) -> None:
        other = self.folder / "more.h"
        answers, _ = self.watched(
            [
                lambda: self.file.write_text("longer"),
                lambda: other.write_text("new"),
                other.unlink,
                # A new file in its place, as editors save.
                lambda: (
                    (self.folder / "x").write_text("again!")
                    and (self.folder / "x").replace(self.file)
                ),
            ]
        )
        self.assertEqual(answers, 5)

    def test_nothing_changed_nothing_is_answered(self) -> None:
        answers, _ = self.watched([lambda: None, lambda: None])
        self.assertEqual(answers, 1)

    def test_what_does_not_compile_is_said_and_the_next_change_answered(self) -> None:
        answers, said = self.watched([lambda: self.file.write_text("mended")], fails=1)
        self.assertEqual(answers, 2)
        self.assertIn("scarp: error: scarp-why does not build", said)

    def test_a_change_during_the_answer(self) -> None:
        """It is answered, too: the answer may be of what was there before."""
        left = [1]

        def answer() -> None:
            if left:
                left.pop()
                self.file.write_text("while it was answered")
            else:
                raise KeyboardInterrupt

        with contextlib.redirect_stderr(io.StringIO()):
            status = watching.watch(answer, lambda: [self.file], lambda _: self.fail("it waits"))
        self.assertEqual(status, 0)


if __name__ == "__main__":
    unittest.main()
