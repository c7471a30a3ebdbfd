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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import guests
from guests import ALL, OUT, ROOT, Stem
from scarplib.device_logs import changes, command_log
from scarplib.drive.switch import Switch
from scarplib.results.units import human_ns

INSTANTS = 10 if ALL else 2
# I/Os of `make run`, and as many of them as the guests do: until its job ends a guest is the same.
ALL_IOS, BEGINNING_IOS = 90_000, 20_000
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


def alike(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is equal of equal commands: their numbers are not, as collections take some, too."""
    return (*row[:8], row[8] & ~command_log.ORDER_SEQ, *row[9:])


def beginning() -> Path:
    """The job of `make run`, which ends sooner."""
    text = (ROOT / "fio-jobs" / "demo.fio").read_text()
    assert text.count(f"number_ios={ALL_IOS}\n") == 1
    path = OUT / "beginning" / "demo.fio"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(f"number_ios={ALL_IOS}\n", f"number_ios={BEGINNING_IOS}\n"))
    return path


class WhyIsGuest(unittest.TestCase):
    stem: Stem
    fact: list[tuple[Any, ...]]
    tallies: dict[str, Tally]

    @classmethod
    def setUpClass(cls) -> None:
        # What `make run` runs, its beginning; for `make test` a shorter one.
        cls.stem = Stem.boot("why", beginning()) if ALL else Stem.short()
        cls.fact = guests.rows(cls.stem.folder)
        cls.tallies = {}

    @classmethod
    def tearDownClass(cls) -> None:
        whole = Tally()
        for scheme, tally in cls.tallies.items():
            print(f"# {scheme}: {tally.text()}", file=sys.stderr)
            whole.exact += tally.exact
            whole.changed += tally.changed
            whole.asked += tally.asked
            whole.window += tally.window
            whole.compared += tally.compared
        span = human_ns(cls.stem.column["end_ns"] - cls.stem.column["begin_ns"])
        print(f"# all, of a run of {span}: {whole.text()}", file=sys.stderr)

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
        others = INSTANTS - len(found)
        for i in range(others):
            at_ns = self.stem.moment((i + 0.5) / others)
            under_way = [r for r in self.fact if r[1] > at_ns and r[0] < at_ns + WITHIN_NS]
            under_way.sort(key=lambda row: row[0] - row[1])
            found.append((at_ns, [guests.seq(row) for row in under_way[:SLOWEST]]))
        begin_ns, end_ns = self.stem.column["begin_ns"], self.stem.column["end_ns"]
        self.assertTrue(all(begin_ns <= at_ns < end_ns for at_ns, _ in found), found)
        return found

    def check_branch(
        self, branch: dict[str, Any], rows: list[tuple[Any, ...]], folder: Path, tally: Tally
    ) -> None:
        guest = guests.rows(folder)
        # The n-th command of both is the same: fio draws them in that order.
        place, of_guest = guests.places(self.fact), sorted(guest, key=guests.seq)
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
                self.assertEqual(alike(row), alike(of_guest[place[guests.seq(row)]]))
                tally.compared += 1
        # The other way round: nothing else ended by then.
        first = rows[0][1]
        own = {place[guests.seq(row)] for row in rows if row[1] <= last}
        own |= {place[guests.seq(row)] for row in self.fact if row[1] < first}
        theirs = {n for n, row in enumerate(of_guest) if first <= row[1] <= last}
        self.assertLessEqual(theirs, own)
        self.check_asked(branch, of_guest, tally)
        for row in rows:
            there_row = of_guest[place[guests.seq(row)]]
            if row[1] > last and there_row[2:5] == row[2:5]:
                latency = there_row[1] - there_row[0]
                tally.window.append(abs(row[1] - row[0] - latency) / max(1, latency))

    def check_asked(
        self, branch: dict[str, Any], of_guest: list[tuple[Any, ...]], tally: Tally
    ) -> None:
        """Of the commands asked for the exact ones; by how much the others are off."""
        place = guests.places(self.fact)
        fact = {guests.seq(row): row for row in self.fact}
        for command in branch["commands"]:
            row, was = of_guest[place[command["order"]]], fact[command["order"]]
            self.assertEqual(row[2:5], was[2:5])
            latency = row[1] - row[0]
            if command["exact"]:
                self.assertEqual(command["latency_ns"], latency)
                tally.exact += 1
                tally.changed += latency != was[1] - was[0]
            else:
                tally.asked.append(abs(command["latency_ns"] - latency) / latency)

    def hold(self, asked: Sequence[tuple[int, str]]) -> None:
        """Each branch is its guest: asked are numbers of instants, each with a scheme."""
        questions = self.questions()
        self.assertEqual(len(questions), INSTANTS)
        switches = [Switch(questions[i][0], scheme) for i, scheme in asked]
        for (i, scheme), (switch, folder) in zip(asked, self.stem.fork(switches), strict=True):
            tally = self.tallies.setdefault(scheme, Tally())
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
                    self.assertLessEqual(branch["most_in_flight"], answer["most_in_flight"])
                    self.check_branch(branch, guests.rows(path), folder, tally)
        # A comparison of nothing would prove nothing: each branch has the first that differs.
        for scheme, branches in Counter(scheme for _, scheme in asked).items():
            tally = self.tallies[scheme]
            self.assertGreater(tally.exact + len(tally.asked), 0, scheme)
            self.assertGreaterEqual(tally.compared, branches, scheme)

    def under(self, scheme: str) -> None:
        self.hold([(i, scheme) for i in range(INSTANTS)])

    if ALL:

        def test_pgc(self) -> None:
            self.under("pgc")

        def test_gftl(self) -> None:
            self.under("gftl")

        def test_hios_2(self) -> None:
            self.under("hios-2")

        def test_ideal(self) -> None:
            self.under("ideal")

        def test_the_stem_is_the_beginning_of_make_run(self) -> None:
            """Until the last command of the shorter job comes the guest is that of `make run`."""
            whole = guests.rows(Stem.boot("make-run", "demo.fio").folder)
            begin_ns = self.stem.column["begin_ns"]
            came = sorted(row[0] for row in self.fact if row[0] >= begin_ns)
            last_ns = came[BEGINNING_IOS - 1]
            same = [row for row in self.fact if row[1] <= last_ns]
            self.assertGreater(len(same), BEGINNING_IOS * 9 // 10)
            self.assertEqual(same, [row for row in whole if row[1] <= last_ns])

    else:

        def test_two_instants(self) -> None:
            """Each under one scheme."""
            self.hold([(0, "pgc"), (1, "gftl")])


if __name__ == "__main__":
    raise SystemExit(f"run {ROOT}/tests/instant/run.py")
