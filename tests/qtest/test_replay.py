# SPDX-License-Identifier: GPL-2.0-or-later
"""What the device recorded, replayed without QEMU, ends at the same nanoseconds."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import repeats
from fixture import ALL, DESCRIPTION, KIB, TWO_PLANES, DriveTest
from logs import Command, read_commands
from nvme import FUA, Op, Status
from scarplib.build import replayer
from scarplib.device_logs import changes
from test_scheme import set_scheme

COMMANDS = 1500
DEPTH = 16


class Replay(DriveTest):
    def recorded(
        self,
        scheme: str,
        more: str,
        switches: Mapping[int, str] = MappingProxyType({}),
        ways: Sequence[str] = ("vendor command", "QMP"),
    ) -> tuple[list[Command], Path]:
        """Reads, writes and trims with many in flight, on an aged drive that collects.

        switches: schemes by the number of the command before which the drive is switched to them,
        in the ways that are named, in turn.
        """
        machine, ctrl, ns = self.drive(more=more, scheme=scheme)
        way = itertools.cycle(ways)
        pick = random.Random(scheme)
        units = machine.stats()["logical_bytes"] // (4 * KIB) - 8
        slots = [ns.buffer(16 * KIB)[1] for _ in range(DEPTH)]
        waiting: list[int] = []
        for number in range(COMMANDS):
            prp = slots[number % DEPTH]
            at, size = pick.randrange(units) * 4 * KIB, pick.choice((4, 4, 8, 16)) * KIB
            kind = pick.random()
            if number in switches:
                if next(way) == "QMP":
                    path = "/machine/peripheral/f0"
                    value = switches[number]
                    machine.qmp("qom-set", path=path, property="running-scheme", value=value)
                else:
                    self.assertEqual(set_scheme(ctrl, switches[number]), Status.OK)
            if kind < 0.4:
                # With each access latency that there is, and with none.
                cid = ns.start(Op.READ, at, size, prp, dsm=(number % 4) << 4)
            elif kind < 0.95:
                cid = ns.start(Op.WRITE, at, size, prp, FUA if kind < 0.5 else 0)
            else:
                cid = ns.start(Op.WRITE_ZEROES, at, size)
            waiting.append(cid)
            if len(waiting) == DEPTH:
                ns.queue.wait(waiting.pop(0))
        for cid in waiting:
            ns.queue.wait(cid)
        self.assertGreater(machine.stats()["gc_runs"], 0)
        commands = self.finish(machine)
        self.assertEqual(len(commands), COMMANDS)
        return commands, machine.dir / "f0.cmd"

    def replayed(self, *arguments: str | Path) -> str:
        done = subprocess.run(
            [replayer.ensure_replay(), "--quiet", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def compare(self, scheme: str, more: str, *start: str | Path) -> None:
        """The device's times and the replayer's are the same, both starting so."""
        before, log = self.recorded(scheme, more)
        again = log.with_name("again.cmd")
        result = self.replayed("-d", DESCRIPTION, "-s", scheme, *start, "--cmd-log", again, log)
        self.assertEqual(json.loads(result)["stats"]["cmds_completed"], COMMANDS)
        after = read_commands(again)
        self.assertEqual(len(after), COMMANDS)
        shift = min(c.submit_ns for c in before) - min(c.submit_ns for c in after)
        # In the order of completion, as both logs are.
        self.assertEqual(
            [
                (c.submit_ns, c.complete_ns, c.offset, c.length, c.op, c.deadline_ns, c.causes)
                for c in before
            ],
            [
                (
                    c.submit_ns + shift,
                    c.complete_ns + shift,
                    c.offset,
                    c.length,
                    c.op,
                    c.deadline_ns,
                    c.causes,
                )
                for c in after
            ],
        )

    def test_identical_times(self) -> None:
        for scheme in ("baseline", "pgc"):
            with self.subTest(scheme):
                self.compare(scheme, ",age=900,age-seed=5", "--age", "900", "--age-seed", "5")

    def test_identical_times_of_host_queues(self) -> None:
        """With fewer slots than commands, policies choose and wait; merges are paced, too."""
        slots = (
            "controller.slots=4;controller.deadline_low_us=900;controller.deadline_idle_us=90000"
        )
        blocks = "ftl.mapping=block;ftl.over_provisioning_permille=600"
        # One that counts and one that plans by time; the others draw on the same queue.
        cells = [("flash-aware", slots), ("hios-2", f"{slots};{blocks}")]
        if ALL:
            cells += [(name, slots) for name in ("deadline", "anticipatory", "hios-2")]
        for scheme, keys in cells:
            with self.subTest(f"{scheme} {keys}"):
                given = [part for key in keys.split(";") for part in ("-o", key)]
                aged = ("--age", "900", "--age-seed", "5")
                self.compare(scheme, f",age=900,age-seed=5,overrides={keys}", *aged, *given)

    def test_switched_runs(self) -> None:
        """Each switch is logged: with it the replay has the device's times, and without it not."""
        aged = ("--age", "900", "--age-seed", "5")
        switches = {400: "pgc", 800: "gftl:gftl_floor=2", 1200: "gftl:gftl_floor=2"}
        more = ",age=900,age-seed=5,change-log={dir}/f0.changes"
        commands, log = self.recorded("baseline", more, switches)
        found = changes.read(log.with_name("f0.changes"))
        # The last is to what runs already: accepted, and without an effect.
        self.assertEqual(
            [(c.change, c.scheme, c.params) for c in found],
            [("scheme", "pgc", ""), *[("scheme", "gftl", "gftl_floor=2")] * 2],
        )
        for number, change in zip(switches, found, strict=True):
            # The vendor command takes no number of its own.
            self.assertEqual(change.next_command, number)
            before = sorted(commands, key=lambda c: c.seq)[number - 1]
            self.assertLessEqual(before.submit_ns, change.time_ns)
        words: list[str | Path] = ["-d", DESCRIPTION, *aged, "--exact"]
        self.replayed(*words, "--changes", log.with_name("f0.changes"), log)
        for kept in (found[1:], found[:1], [], [replace(found[0], next_command=401), *found[1:]]):
            with self.subTest(kept):
                changes.write(log.with_name("other.changes"), kept)
                command: list[str | Path] = [replayer.ensure_replay(), "--quiet", *words]
                command += ["--changes", log.with_name("other.changes"), log]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "ends at|of another run")

    def test_a_switched_run_is_repeated_by_who_asks(self) -> None:
        """`scarp why`, `scarp timeline` and the report, from a folder as a guest leaves it.

        Both switches are QMP's: tests/instant has a guest that switches its drive itself.
        """
        with tempfile.TemporaryDirectory() as name:
            top = Path(name)
            column, image = top / "baseline", top / "aged.img"
            column.mkdir()
            self.replayed("-d", DESCRIPTION, "--age", "900", "--save", image)
            more = f",image={image},change-log={{dir}}/f0.changes"
            switches = {400: "pgc", 800: "gftl:gftl_floor=2"}
            commands, log = self.recorded("baseline", more, switches, ways=["QMP"])
            shutil.copy(log, column / "cmd.bin")
            shutil.copy(log.with_name("f0.changes"), column / changes.NAME)
            found = changes.read(column / changes.NAME)
            self.assertEqual([change.scheme for change in found], ["pgc", "gftl"])
            for change in found:
                # In the middle of the load: commands are under way.
                during = [c for c in commands if c.submit_ns < change.time_ns < c.complete_ns]
                self.assertTrue(during)
            begun = {"schemes": {"baseline": {}}, "start": [["image", str(image)]]}
            (top / "summary.json").write_text(json.dumps(begun))
            repeats.check_repeats(self, column)
            repeats.check_spoiled_is_refused(self, column, COMMANDS // 2)

    def test_switched_at_an_instant(self) -> None:
        """By a timer: until then it is the run without one, and its log has the exact nanosecond.

        At one of these instants a command ends and another comes, so several events have one time.
        """
        aged = ",age=900,age-seed=5"
        plain, _ = self.recorded("baseline", aged)
        ends = sorted(command.complete_ns for command in plain)
        words: list[str | Path] = ["-d", DESCRIPTION, "--age", "900", "--age-seed", "5", "--exact"]
        for at in (0, ends[len(ends) // 2], ends[len(ends) // 2] + 1, ends[-1] - 1):
            with self.subTest(at):
                switch = f",switch-at-ns={at},switch-to=gftl:gftl_floor=2"
                more = f"{aged}{switch},change-log={{dir}}/f0.changes"
                commands, log = self.recorded("baseline", more)
                (change,) = changes.read(log.with_name("f0.changes"))
                self.assertEqual((change.time_ns, change.scheme), (at, "gftl"))
                self.assertEqual(change.params, "gftl_floor=2")
                before = [command for command in plain if command.complete_ns < at]
                self.assertEqual([c for c in commands if c.complete_ns < at], before)
                self.replayed(*words, "--changes", log.with_name("f0.changes"), log)
                if 0 < at < ends[-1] - 1:
                    self.assertNotEqual(commands, plain)

    def test_a_switch_to_what_runs_changes_nothing(self) -> None:
        plain, _ = self.recorded("pgc", ",age=900,age-seed=5")
        for at in (0, plain[len(plain) // 2].complete_ns):
            switch = f",switch-at-ns={at},switch-to=pgc"
            same, _ = self.recorded("pgc", f",age=900,age-seed=5{switch}")
            self.assertEqual(same, plain)

    def test_a_power_cut_is_logged(self) -> None:
        cuts = ",overrides=nand.power_cuts=1;ftl.recovery=2,age=900,change-log={dir}/f0.changes"
        machine, _, ns = self.drive(more=cuts, scheme="baseline")
        for number in range(20):
            ns.write(number * 4 * KIB, bytes(4 * KIB))
        path = "/machine/peripheral/f0"
        machine.qmp("qom-set", path=path, property="power", value="cut")
        machine.quit()
        (cut,) = changes.read(machine.dir / "f0.changes")
        self.assertEqual((cut.change, cut.scheme, cut.next_command), ("power_cut", "", 20))
        self.assertGreater(cut.time_ns, 0)

    def test_identical_from_an_image(self) -> None:
        """Saved after a workload under another scheme, the image is both drives' beginning."""
        with tempfile.TemporaryDirectory() as folder:
            image = Path(folder) / "aged.img"
            planes = [part for key in TWO_PLANES for part in ("-o", key)]
            self.replayed(
                "-d",
                DESCRIPTION,
                *planes,
                "-s",
                "cost-benefit",
                "--age",
                "900",
                "--save",
                image,
                "-m",
                "closed",
                "-q",
                "4",
                "gen:mixed,requests=500",
            )
            for scheme in ("baseline", "gc-par") if ALL else ("gc-par",):
                with self.subTest(scheme):
                    more = f",image={image},overrides={';'.join(TWO_PLANES)}"
                    self.compare(scheme, more, "--image", image, *planes)
