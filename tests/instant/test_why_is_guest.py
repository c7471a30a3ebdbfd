# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp why` against guests that switched at the same instants: exact is exact.

Until the first completion that differs, a branch of `why` and a guest that forked are one: the same
commands end at the same nanoseconds.  Behind it the guest reacts, and `why` only assumes: how far
that is off is measured here, and docs/why.md has it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import guests
from guests import ALL, OUT, ROOT, Stem
from scarplib.device_logs import changes
from scarplib.drive.switch import Switch
from scarplib.results.units import human_ns

SCHEMES = ("pgc", "gftl", "hios-2", "ideal") if ALL else ("pgc", "gftl")
INSTANTS = 10 if ALL else 2
# Of a moment that no chain of collections names, the slowest commands that were under way or came
# within so long.
SLOWEST, WITHIN_NS = 3, 50_000_000
# Whether a latency that is assumed is right within a tenth.
NEAR = 0.1


@dataclass
class Tally:
    """Of the commands asked for: exact ones, those of them that changed, and assumed ones."""

    exact: int = 0
    changed: int = 0
    # Relative errors of the assumed latencies, of those asked for and of all in the windows.
    asked: list[float] = field(default_factory=list)
    window: list[float] = field(default_factory=list)
    compared: int = 0

    def text(self) -> str:
        total = self.exact + len(self.asked)
        said = f"{total} asked: {self.exact} exact, {self.changed} of them changed"
        for name, errors in (("asked, assumed", self.asked), ("windows, assumed", self.window)):
            if errors:
                near = sum(error <= NEAR for error in errors)
                ordered = sorted(errors)
                said += (
                    f"; {name}: {len(errors)}, median error {statistics.median(errors):.1%}, 90th "
                    f"percentile {ordered[len(ordered) * 9 // 10]:.1%}, within 10 %: {near}"
                )
        return f"{said}; {self.compared} completions equal to the nanosecond"


class WhyIsGuest(unittest.TestCase):
    stem: Stem
    fact: list[tuple[Any, ...]]

    @classmethod
    def setUpClass(cls) -> None:
        # What `make run` runs; for `make test` a shorter one.
        cls.stem = Stem.boot("why", "demo.fio") if ALL else Stem.short()
        cls.fact = guests.rows(cls.stem.folder)

    def why(self, *words: object) -> dict[str, Any]:
        command = [str(ROOT / "scripts" / "scarp"), "why", str(self.stem.folder), "--json"]
        done = subprocess.run(
            [*command, *map(str, words)], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def questions(self) -> list[tuple[int, list[int]]]:
        """Instants, each with the orders of the commands that are asked for."""
        answer = self.why("--slowest", 40 if ALL else 6, "--under", "pgc")
        found = [
            (episode["at_ns"], [command["order"] for command in episode["commands"]])
            for episode in answer["episodes"]
        ]
        # The slowest come first in nobody's order: those of the longest chains.
        found = found[:: max(1, len(found) // (INSTANTS // 2))][: INSTANTS // 2]
        for i in range(INSTANTS - len(found)):
            at_ns = self.stem.moment((i + 0.5) / (INSTANTS - len(found)))
            under_way = [r for r in self.fact if r[1] > at_ns and r[0] < at_ns + WITHIN_NS]
            under_way.sort(key=lambda row: row[0] - row[1])
            found.append((at_ns, [guests.seq(row) for row in under_way[:SLOWEST]]))
        return found

    def check_branch(
        self, branch: dict[str, Any], rows: list[tuple[Any, ...]], folder: Path, tally: Tally
    ) -> None:
        guest = guests.rows(folder)
        by_seq = {guests.seq(row): row for row in guest}
        fact = {guests.seq(row): row for row in self.fact}
        differs = branch["differs_ns"]
        self.assertTrue(rows)
        last = rows[-1][1] if differs is None else differs
        # The first completion that differs is the guest's, too.
        there = guests.first_difference(self.fact, guest)
        if differs is not None:
            self.assertEqual(differs, there)
        else:
            self.assertTrue(there is None or there > last)
        for row in rows:
            if row[1] <= last:
                self.assertEqual(row, by_seq[guests.seq(row)])
                tally.compared += 1
        # The other way round: nothing else ended by then.
        first = rows[0][1]
        own = {guests.seq(row) for row in rows if row[1] <= last}
        theirs = {guests.seq(row) for row in guest if first <= row[1] <= last}
        self.assertLessEqual(theirs - own, {guests.seq(r) for r in self.fact if r[1] < first})
        for command in branch["commands"]:
            row = by_seq[command["order"]]
            latency, was = row[1] - row[0], fact[command["order"]][1] - fact[command["order"]][0]
            if command["exact"]:
                self.assertEqual(command["latency_ns"], latency)
                tally.exact += 1
                tally.changed += latency != was
            else:
                # The n-th of its job is the same command: fio draws them in that order.
                self.assertEqual(row[2:5], fact[command["order"]][2:5])
                tally.asked.append(abs(command["latency_ns"] - latency) / latency)
        for row in rows:
            there_row = by_seq.get(guests.seq(row))
            if row[1] > last and there_row and there_row[2:5] == row[2:5]:
                latency = there_row[1] - there_row[0]
                tally.window.append(abs(row[1] - row[0] - latency) / max(1, latency))

    def test_why_is_guest(self) -> None:
        tallies = {scheme: Tally() for scheme in SCHEMES}
        questions = self.questions()
        self.assertEqual(len(questions), INSTANTS)
        asked = [(i, s) for i in range(INSTANTS) for s in SCHEMES]
        if not ALL:
            # Two instants, each under one scheme.
            asked = [(0, SCHEMES[0]), (1, SCHEMES[1])]
        switches = [Switch(questions[i][0], scheme) for i, scheme in asked]
        for (i, scheme), (switch, folder) in zip(asked, self.stem.fork(switches), strict=True):
            with self.subTest(at_ns=switch.at_ns, scheme=scheme):
                (change,) = changes.read(folder / changes.NAME)
                self.assertEqual(change.time_ns, switch.at_ns)
                logs = OUT / "why" / f"logs-{switch.at_ns}-{scheme}"
                words = [word for order in questions[i][1] for word in ("--command", order)]
                answer = self.why(
                    *words, "--at", f"{switch.at_ns}ns", "--under", scheme, "--logs", logs
                )
                kinds = 2
                for episode in answer["episodes"]:
                    number = (episode["episode"] - 1) * kinds + 2
                    (path,) = logs.glob(f"{episode['episode']}-{number}-*-cmd.bin")
                    (branch,) = episode["branches"]
                    self.check_branch(branch, guests.rows(path), folder, tallies[scheme])
        whole = Tally()
        for scheme, tally in tallies.items():
            print(f"# {scheme}: {tally.text()}", file=sys.stderr)
            whole.exact += tally.exact
            whole.changed += tally.changed
            whole.asked += tally.asked
            whole.window += tally.window
            whole.compared += tally.compared
        span = human_ns(self.stem.column["end_ns"] - self.stem.column["begin_ns"])
        print(f"# all, of a run of {span}: {whole.text()}", file=sys.stderr)
        # A comparison of nothing would prove nothing.
        self.assertGreater(whole.exact + len(whole.asked), 0)
        self.assertGreater(whole.compared, 100 if ALL else 0)


if __name__ == "__main__":
    raise SystemExit(f"run {ROOT}/tests/instant/run.py")
