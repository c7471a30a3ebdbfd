# SPDX-License-Identifier: GPL-2.0-or-later
"""How far it is: one line, rewritten on a terminal, printed now and then elsewhere."""

from __future__ import annotations

import sys
import time

from scarplib.powercut.cuts import Tried
from scarplib.powercut.judge import Judged

_EVERY_S = {True: 0.2, False: 10.0}
_WIDTH = 78


class Progress:
    """Of the cuts, then of the contents that are checked."""

    def __init__(self) -> None:
        self.began = self.shown = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """What is so now."""
        now = time.monotonic()
        if now - self.shown < _EVERY_S[self.terminal]:
            return
        self.shown = now
        line = f"  {now - self.began:4.0f} s  {text}"
        if self.terminal:
            print("\r" + line[:_WIDTH].ljust(_WIDTH), end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def cuts(self, tried: Tried) -> None:
        """After each cut."""
        bad = sum(bool(cut.violations) for cut in tried.cuts)
        text = f"{len(tried.cuts):,} of {tried.asked:,} cuts"
        self.say(text + (f", {bad:,} break the contract" if bad else ""))

    def checks(self, judged: Judged) -> None:
        """After each contents."""
        bad = sum(bool(each.failed) for each in judged.contents)
        text = f"{len(judged.contents):,} of {judged.distinct:,} contents checked"
        self.say(text + (f", {bad:,} fail" if bad else ""))

    def end(self) -> None:
        """What follows begins on a line of its own."""
        if self.terminal:
            print("\r" + " " * _WIDTH + "\r", end="", file=sys.stderr, flush=True)
