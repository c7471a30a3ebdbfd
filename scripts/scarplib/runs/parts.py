# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run --times`: what each part of a run takes, by the clock and of the processors."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable


def _now() -> tuple[float, float]:
    """The clock, and the processor time of this process and of those that it has waited for."""
    return time.monotonic(), sum(os.times()[:4])


class Parts:
    """Parts that follow one another, each with the two times that it took."""

    def __init__(self) -> None:
        self._last = _now()
        self.rows: list[tuple[str, float, float]] = []

    def end(self, what: str) -> None:
        """What was done since the last part ended."""
        now = _now()
        self.rows.append((what, now[0] - self._last[0], now[1] - self._last[1]))
        self._last = now

    def end_guests(self, spans: Iterable[tuple[float, float]]) -> None:
        """The same of guests, of which (boot, all of it) in seconds of the clock are known.

        A guest that boots keeps its core as busy as one that works, so processor time is shared out
        as the clock's is.
        """
        self.end("guests")
        _, wall, used = self.rows.pop()
        spans = list(spans)
        share = sum(boot for boot, _ in spans) / (sum(whole for _, whole in spans) or 1)
        boot = max((boot for boot, _ in spans), default=0)
        self.rows.append(("guests: until the job begins", boot, used * share))
        self.rows.append(("guests: the job", wall - boot, used * (1 - share)))

    def text(self) -> str:
        whole = sum(wall for _, wall, _ in self.rows)
        together = ("together", whole, sum(used for _, _, used in self.rows))
        lines = [f"  {'part':<32}{'time':>9}{'processor time':>17}"]
        for what, wall, used in [*self.rows, together]:
            lines.append(f"  {what:<32}{wall:>7.1f} s{used:>15.1f} s")
        return "\n".join(lines)
