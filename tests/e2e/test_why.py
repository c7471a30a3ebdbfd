# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp why`: branches of a run against logs of their own, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import repeats  # noqa: E402
import timeline  # noqa: E402
from scarplib.build import cuts, first_answer  # noqa: E402
from scarplib.device_logs import changes, command_log, gc_log, log_file  # noqa: E402
from scarplib.drive import branches, verdict  # noqa: E402
from scarplib.drive.start import said  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.paths import ENGINE  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
SCRIPT = ROOT / "scripts" / "scarp"
BUFFER = "controller.buffer_bytes=65536"
SWITCHES = (
    changes.Change(60_000_000, None, "scheme", "pgc"),
    changes.Change(120_000_000, None, "scheme", "gftl", "gftl_floor=2"),
)


class Why(unittest.TestCase):
    """Runs as a guest would have left them: without power cuts, one of them switched twice."""

    top: Path
    image: Path
    run_log: Path

    @classmethod
    def setUpClass(cls) -> None:
        # What is built says so on the standard error, which the tests compare.
        cuts.first_why()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.top = Path(folder.name)
        cls.image = cls.top / "drive.img"
        cls.replay("-d", DRIVE, "-o", BUFFER, "--age", 900, "--save", cls.image)
        schemes: dict[str, Any] = {"baseline": {}, "pgc": {}, "switched": {}}
        (cls.top / "summary.json").write_text(
            json.dumps(
                {
                    "schemes": schemes,
                    "columns": {"switched": "baseline"},
                    "start": [["image", said(cls.image, cls.top)]],
                }
            )
        )
        for name in ("baseline", "switched"):
            (cls.top / name).mkdir()
        changes.write(cls.top / "switched" / changes.NAME, SWITCHES)
        load = ("-m", "closed", "-q", 8, "gen:mixed,requests=1500")
        cls.run_log = cls.top / "baseline" / "cmd.bin"
        cls.replay("-i", cls.image, "--cmd-log", cls.run_log, *load)
        switched = cls.top / "switched"
        words = ("--changes", switched / changes.NAME, "--cmd-log", switched / "cmd.bin")
        cls.replay("-i", cls.image, *words, *load)

    @classmethod
    def replay(cls, *arguments: object) -> None:
        command = [str(first_answer.first_replay()), "--quiet", "--json", "/dev/null"]
        done = subprocess.run([*command, *map(str, arguments)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr

    def why(self, *words: object) -> subprocess.CompletedProcess[str]:
        command = [str(SCRIPT), "why", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def answer(self, *words: object) -> dict[str, Any]:
        done = self.why(*words, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def refused(self, *words: object) -> str:
        done = self.why(*words)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def check_sums(self, answer: dict[str, Any], logs: Path, fact: Path) -> None:
        """Everything of the windows again, from the branches' own logs."""
        # Rows of the same order are the same command.
        run = {row[8]: row for row in command_log.command_rows(fact)}
        kinds = len(answer["episodes"][0]["branches"]) + 1
        for episode in answer["episodes"]:
            first, until = episode["at_ns"], episode["until_ns"]
            asked = {c["order"] for c in episode["commands"]}
            branches = [{"kind": "control", **episode["control"]}, *episode["branches"]]
            for i, branch in enumerate(branches, 1):
                number = (episode["episode"] - 1) * kinds + i
                name = f"{episode['episode']}-{number}-{branch['kind']}"
                rows = {r[8]: r for r in command_log.command_rows(logs / f"{name}-cmd.bin")}
                for row in rows.values():
                    self.assertEqual(sum(row[command_log.FIXED :]), row[1] - row[0], "causes")
                window = [o for o, r in run.items() if r[1] > first and r[0] < until]
                gained = {o: (rows[o][1] - rows[o][0]) - (run[o][1] - run[o][0]) for o in window}
                others = [gained[o] for o in window if o & command_log.ORDER_SEQ not in asked]
                said = branch["window"]
                self.assertEqual(said["commands"], len(window))
                self.assertEqual(said["branch_ns"] - said["fact_ns"], sum(gained.values()))
                self.assertEqual(said["waited_ns"], sum(rows[o][0] - run[o][0] for o in window))
                self.assertEqual(said["slower"]["ns"], sum(g for g in others if g > 0))
                self.assertEqual(said["faster"]["commands"], sum(g < 0 for g in others))
                total = said["asked_ns"] + said["slower"]["ns"] + said["faster"]["ns"]
                self.assertEqual(total, sum(gained.values()))
                if said["worst"]:
                    self.assertEqual(said["worst"]["ns"], max(others))
                self.check_in_flight(answer, branch, list(rows.values()), list(run.values()), first)
                self.check_exact(branch, rows, run, first)
                runs = gc_log.read_gc_runs(logs / f"{name}-gc.bin")
                in_window = [x for x in runs if first < x.end <= until]
                self.assertEqual(branch["owed"]["collections"], len(in_window))

    def check_in_flight(
        self,
        answer: dict[str, Any],
        branch: dict[str, Any],
        rows: list[tuple[Any, ...]],
        run: list[tuple[Any, ...]],
        first: int,
    ) -> None:
        """No branch has more commands in flight than the run had at once."""
        ended = [row for row in run if row[1] <= first]
        edges = [edge for r in (*rows, *ended) for edge in ((r[0], 1), (r[1], -1))]
        depth = deepest = 0
        for _, change in sorted(edges):
            depth += change
            deepest = max(deepest, depth)
        self.assertLessEqual(deepest, answer["most_in_flight"])
        self.assertLessEqual(branch["most_in_flight"], answer["most_in_flight"])

    def check_exact(
        self,
        branch: dict[str, Any],
        rows: dict[int, tuple[Any, ...]],
        run: dict[int, tuple[Any, ...]],
        first: int,
    ) -> None:
        """Exact is what ended by the first completion that differs, and nothing else."""
        changed = [
            min(row[1], run[order][1]) for order, row in rows.items() if row[1] != run[order][1]
        ]
        self.assertEqual(branch["differs_ns"], min(changed, default=None))
        for command in branch["commands"]:
            order = next(o for o in rows if o & command_log.ORDER_SEQ == command["order"])
            exact = not changed or rows[order][1] <= min(changed)
            self.assertEqual(command["exact"], exact)
            self.assertEqual(command["latency_ns"], rows[order][1] - rows[order][0])

    def test_a_branch_closes_units_as_the_run_did(self) -> None:
        """Under the scheme that ran anyway nothing differs, though the host closed units later."""
        folder = self.top / "units"
        (folder / "baseline").mkdir(parents=True)
        log, image = folder / "baseline" / "cmd.bin", folder / "drive.img"
        drive = ("-d", ROOT / "devices" / "demo.ini", "-o", "ftl.reclaim_planes=8")
        self.replay(*drive, "--age", 900, "--save", image)
        load = ("-m", "closed", "-q", 8, "gen:mixed,requests=600")
        self.replay("-i", image, "--cmd-log", log, *load)
        begin = min(row[0] for row in command_log.command_rows(log))
        closed = [changes.Change(begin + n * 20_000_000, None, "close_units", "0") for n in (1, 2)]
        changes.write(folder / "baseline" / changes.NAME, closed)
        words = ("--changes", folder / "baseline" / changes.NAME, "--cmd-log", log)
        self.replay("-i", image, *words, *load)
        (folder / "summary.json").write_text(
            json.dumps({"schemes": {"baseline": {}}, "start": [["image", said(image, folder)]]})
        )
        early = f"{begin + 10_000_000}ns"
        answer = self.answer(
            folder / "baseline", "--slowest", 1, "--at", early, "--under", "baseline"
        )
        for episode in answer["episodes"]:
            (branch,) = episode["branches"]
            window = branch["window"]
            self.assertGreater(window["commands"], 0)
            self.assertEqual(window["branch_ns"], window["fact_ns"])
            self.assertIsNone(branch["differs_ns"])

    def test_sums_are_those_of_the_logs(self) -> None:
        for name in ("baseline", "switched"):
            with self.subTest(name):
                folder, logs = self.top / name, self.top / f"logs-{name}"
                answer = self.answer(
                    *(folder, "--slowest", 6, "--under", "pgc,gftl,ideal,hios-2"),
                    *("--without", "collections", "--with", "controller.buffer_bytes=262144"),
                    *("--logs", logs),
                )
                self.assertEqual(sum(len(e["commands"]) for e in answer["episodes"]), 6)
                self.check_sums(answer, logs, folder / "cmd.bin")
                saved = [b for e in answer["episodes"] for b in e["branches"]]
                self.assertTrue(any(b["verdict"] != verdict.NOTHING for b in saved))
                self.assertTrue(any(b["differs_ns"] for b in saved))

    def test_an_unchanged_branch_is_the_run(self) -> None:
        """The run's own scheme is what runs already: nothing may become another."""
        answer = self.answer(self.top / "baseline", "--slowest", 5, "--under", "baseline")
        for episode in answer["episodes"]:
            (same,) = episode["branches"]
            self.assertIsNone(same["differs_ns"])
            self.assertEqual(same["verdict"], verdict.NOTHING)
            self.assertEqual(same["window"], episode["control"]["window"])

    def test_the_instant_is_before_the_chain(self) -> None:
        rows = self.top / "gc.bin"
        again = self.top / "again.bin"
        self.replay("-i", self.image, "--gc-log", rows, "--cmd-log", again, self.run_log)
        runs = sorted(gc_log.read_gc_runs(rows), key=lambda run: run.begin)
        answer = self.answer(self.top / "baseline", "--slowest", 4, "--without", "collections")
        for episode in answer["episodes"]:
            chain = episode["chain"]
            self.assertEqual(episode["at_ns"], chain["begin_ns"] - 1)
            here = [run for run in runs if run.die == chain["die"]]
            inside = [r for r in here if chain["begin_ns"] <= r.begin <= chain["end_ns"]]
            self.assertEqual(len(inside), chain["collections"])
            before = [r.end for r in here if r.begin < chain["begin_ns"]]
            self.assertTrue(all(end < chain["begin_ns"] for end in before))
            for command in episode["commands"]:
                self.assertLess(chain["begin_ns"], command["complete_ns"])
                self.assertGreater(chain["end_ns"], command["submit_ns"])

    def test_behind_no_collection(self) -> None:
        log = self.top / "gc-beside.bin"
        self.replay("-i", self.image, "--gc-log", log, self.run_log)
        runs = list(gc_log.read_gc_runs(log))
        row = next(
            row
            for row in command_log.command_rows(self.run_log)
            if all(run.end <= row[0] or row[1] <= run.begin for run in runs)
        )
        order = row[8] & command_log.ORDER_SEQ
        answer = self.answer(self.top / "baseline", "--command", order, "--under", "ideal")
        (episode,) = answer["episodes"]
        self.assertIsNone(episode["chain"])
        self.assertEqual(episode["at_ns"], max(row[0] - 1, 0))

    def test_one_file_for_perfetto(self) -> None:
        out = self.top / "fork.pftrace"
        done = self.why(self.top / "baseline", "--slowest", 1, "--under", "pgc", "-o", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("ui.perfetto.dev", done.stdout)
        tracks: set[int] = set()
        for group, name in ((1, "episode 1, in fact"), (2, "episode 1, under pgc")):
            slices, parents = timeline.read(out, group)
            self.assertIn(name, parents.values())
            self.assertTrue(any(s.track == "commands" for s in slices))
            # No track is in two groups.
            self.assertFalse(tracks & {s.uuid for s in slices})
            tracks |= {s.uuid for s in slices}

    def test_words(self) -> None:
        done = self.why(self.top / "baseline", "--slowest", 3)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("Episode 1", "in fact", "under pgc", "without collections", "so it is"):
            self.assertIn(word, done.stdout)

    def test_a_run_is_repeated_and_a_log_changed_by_a_nanosecond_refused(self) -> None:
        for name in ("baseline", "switched"):
            with self.subTest(name):
                repeats.check_repeats(self, self.top / name)
                repeats.check_spoiled_is_refused(self, self.top / name, 700)

    def test_a_switch_that_is_not_logged_is_found(self) -> None:
        folder = self.top / "switched"
        path = folder / changes.NAME
        whole = path.read_text()
        try:
            changes.write(path, SWITCHES[:1])
            self.assertIn("ends at", self.refused(folder, "--slowest", 1))
            path.unlink()
            self.assertIn("ends at", self.refused(folder, "--slowest", 1))
        finally:
            path.write_text(whole)

    def test_what_follows_a_power_cut_is_refused(self) -> None:
        folder = self.top / "baseline"
        path = folder / changes.NAME
        changes.write(path, [changes.Change(0, None, changes.POWER_CUT)])
        try:
            order = 1400
            self.assertIn("power was cut at 0 ns", self.refused(folder, "--command", order))
            # A command that was under way then cannot have ended: the log of changes is another's.
            rows = sorted(row[:2] for row in command_log.command_rows(self.run_log))
            submit, complete = max(rows[: len(rows) // 2], key=lambda row: row[1] - row[0])
            cut = (submit + complete) // 2
            changes.write(path, [changes.Change(cut, None, changes.POWER_CUT)])
            error = self.refused(folder, "--slowest", 1)
            self.assertIn(f"power was cut at {cut} ns", error)
            self.assertIn("of another run", error)
        finally:
            path.unlink()

    def test_commands_that_a_power_cut_took_are_told(self) -> None:
        """No log has what was under way then: others waited for it, and end sooner without."""
        rows = sorted(row[:2] for row in command_log.command_rows(self.run_log))
        submit, complete = max(rows[: len(rows) // 2], key=lambda row: row[1] - row[0])
        cut = (submit + complete) // 2
        lost = sum(row[0] < cut < row[1] for row in rows)
        whole = self.run_log.read_bytes()
        first, size = log_file.HEADER.size, command_log.LAYOUT.row.size
        kept = [
            row
            for row in (whole[at : at + size] for at in range(first, len(whole), size))
            if struct.unpack_from("<qq", row)[1] <= cut
        ]
        folder = self.top / "baseline"
        path = folder / changes.NAME
        changes.write(path, [changes.Change(cut, len(kept) + lost, changes.POWER_CUT)])
        self.run_log.write_bytes(whole[:first] + b"".join(kept))
        try:
            error = self.refused(folder, "--slowest", 1)
            self.assertIn(f"power was cut at {cut} ns, with {lost} commands under way", error)
            self.assertIn("ends at", error)
        finally:
            self.run_log.write_bytes(whole)
            path.unlink()

    def test_bad_input(self) -> None:
        folder = self.top / "baseline"
        for words, says in (
            ((self.top, "--slowest", 1), "not a scheme's folder of a run"),
            ((folder, "--under", "nonsense"), "scheme=nonsense: unknown"),
            ((folder, "--under", "dynamic"), "keeps its kind of write allocation"),
            ((folder, "--under", "pgc,pgc"), "--under: 'pgc' is named twice"),
            ((folder, "--without", "erases"), "--without=erases"),
            ((folder, "--with", "ftl.unit_bytes=4096"), "cannot change in a running drive"),
            ((folder, "--with", "controller.buffer_bytes=4096"), "can only be made larger"),
            ((folder, "--with", "controller.buffer_bytes=1"), "can only be made larger"),
            ((folder, "--command", 99999), "has no command of this order"),
            ((folder, "--command", 7, "--command", 7), "given twice"),
            ((folder, "--at", "soon"), "--at=soon"),
            ((folder, "--command", 7, "--at", "9999999999ns"), "had ended at"),
        ):
            with self.subTest(words):
                self.assertIn(says, self.refused(*words))

    def other_run(self, name: str, scheme: str, *start: tuple[str, object]) -> Path:
        """The baseline's log in a folder that says it began otherwise."""
        folder = self.top / name / scheme
        folder.mkdir(parents=True)
        shutil.copy(self.run_log, folder)
        begun = {"schemes": {scheme: {}}, "start": [[key, str(value)] for key, value in start]}
        (folder.parent / "summary.json").write_text(json.dumps(begun))
        return folder

    def check_differs(self, error: str, log: Path, again: Path | None = None) -> None:
        """It names a command that the log has, and both times; the first that differs `again`."""
        found = re.search(r"at (\d+) ns ends at (\d+) ns, in the log at (\d+) ns", error)
        self.assertTrue(found, error)
        assert found
        submit, ends, logged = map(int, found.groups())
        rows = {row[8]: row for row in command_log.command_rows(log)}
        self.assertIn((submit, logged), {row[:2] for row in rows.values()})
        self.assertNotEqual(ends, logged)
        if again:
            other = {row[8]: row for row in command_log.command_rows(again)}
            self.assertEqual(other.keys(), rows.keys())
            differ = [row[1] for order, row in other.items() if row[1] != rows[order][1]]
            self.assertEqual(ends, min(differ))

    def test_a_log_of_another_run_is_refused(self) -> None:
        """Of another drive, image, scheme or seed."""
        other, seeded = self.top / "other.img", self.top / "seeded.bin"
        self.replay("-d", DRIVE, "-o", BUFFER, "--age", 900, "--age-seed", 2, "--save", other)
        load = ("-m", "closed", "-q", 8, "gen:mixed,requests=1500")
        began = ("-i", self.image, "-s", "random", "--seed", 1)
        self.replay(*began, "--cmd-log", seeded, *load)
        image = ("image", self.image)
        slower = "timing.read_ns=50000"
        for name, scheme, start, words in (
            ("drive", "baseline", (image, ("override", slower)), ("-i", self.image, "-o", slower)),
            ("image", "baseline", (("image", other),), ("-i", other)),
            ("scheme", "pgc", (image,), ("-i", self.image, "-s", "pgc")),
            ("seed", "random", (image, ("seed", 2)), (*began[:-1], 2)),
        ):
            with self.subTest(name):
                log, again = self.run_log, self.top / f"{name}-again.bin"
                folder = self.other_run(name, scheme, *start)
                if name == "seed":
                    log = folder / "cmd.bin"
                    shutil.copy(seeded, log)
                self.replay(*words, "--cmd-log", again, log)
                error = self.refused(folder, "--slowest", 1, "--under", "gftl")
                self.check_differs(error, log, again)

    def test_a_log_of_another_engine_is_refused(self) -> None:
        """One whose firmware needs 1 ns more for each command."""
        engine = self.top / "ftl"
        shutil.copytree(ENGINE, engine)
        path = engine / "hil" / "hil.c"
        text, firmware = path.read_text(), "drive->desc.firmware_ns)"
        self.assertEqual(text.count(firmware), 1)
        path.write_text(text.replace(firmware, "drive->desc.firmware_ns + 1)"))
        sources = [engine / source.relative_to(ENGINE) for source in cuts.why_sources()]
        program = first_answer.first_program("why", "scarp-why", sources, engine)
        question = branches.Question(self.top / "baseline", slowest=1, under=["pgc"])
        with self.assertRaises(UserError) as raised:
            branches.ask(question.arguments(), program)
        self.check_differs(str(raised.exception), self.run_log)

    def test_a_command_that_never_ended_in_the_guest(self) -> None:
        folder = self.top / "baseline"
        log = folder / "cmd.bin"
        whole = log.read_bytes()
        data = bytearray(whole)
        # The status of the last row.
        at = len(data) - command_log.LAYOUT.row.size
        row = command_log.LAYOUT.row.unpack_from(data, at)
        data[at + 29] |= command_log.UNSEEN
        log.write_bytes(data)
        try:
            order = row[8] & command_log.ORDER_SEQ
            self.assertIn("never ended in the guest", self.refused(folder, "--command", order))
        finally:
            log.write_bytes(whole)


if __name__ == "__main__":
    unittest.main()
