# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-cuts as `scarp powercut` uses it: a run of the replayer's is cut, judged, repeated."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import cuts, replayer  # noqa: E402
from scarplib.device_logs import command_log  # noqa: E402
from scarplib.device_logs.log_file import HEADER, rows  # noqa: E402
from scarplib.powercut.recording import Drive, Recording  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
POWER_CUT = ROOT / "devices" / "power-cut.ini"
KEYS = ("nand.power_cuts=1", "ftl.recovery=2", "controller.buffer_bytes=65536")
FUA = 1 << 31
ALL = bool(os.environ.get("SCARP_TEST_ALL"))
LIES = ("flush_ignored", "fua_ignored", "flush_queued_only", "shorn_writes", "unserialised",
        "deallocation_undone")  # fmt: skip


def run(program: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)


class Runs(unittest.TestCase):
    """A run of the replayer's, told as scarp-cuts wants it."""

    folder: ClassVar[Path]
    honest: ClassVar[list[str]]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.honest = cls.recorded("honest", "--age", "700")

    @classmethod
    def replay(cls, *words: str | Path) -> None:
        done = run(replayer.ensure_replay(), "--quiet", "--json", "/dev/null", *words)
        assert not done.returncode, done.stderr

    @classmethod
    def recorded(cls, name: str, *age: str, more: tuple[str, ...] = ()) -> list[str]:
        """A run with flushes, deallocations and FUA; the options that tell scarp-cuts of it."""
        keys = [word for key in (*KEYS, *more) for word in ("-o", key)]
        image, first, log = (cls.folder / f"{name}.{end}" for end in ("img", "first", "cmd"))
        start: list[str | Path] = ["-d", DRIVE, *keys]
        cls.replay(*start, *age, "--save", image)
        load = ["-m", "closed", "-q", "8", "gen:mixed,requests=1500,flush=40"]
        cls.replay("-i", image, *start, "--cmd-log", first, *load)
        layout = command_log.LAYOUT
        order = [name for name, _ in layout.columns].index("order")
        with first.open("rb") as stream:
            head = HEADER.unpack(stream.read(HEADER.size))
        changed = [
            (*row[:order], row[order] | (FUA if number % 5 == 0 else 0), *row[order + 1 :])
            for number, row in enumerate(rows(first, layout))
        ]
        first.write_bytes(HEADER.pack(*head) + b"".join(layout.row.pack(*r) for r in changed))
        cls.replay("-i", image, *start, "--cmd-log", log, first)
        return [str(word) for word in (*start, "--image", image, "--cmd-log", log)]


class Cuts(Runs):
    def cuts(self, *words: str | Path, status: int = 0) -> tuple[dict[str, Any], list[Any]]:
        done = run(cuts.ensure_cuts(), *words)
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        head, *found = map(json.loads, done.stdout.splitlines())
        return head, found

    def refused(self, *words: str | Path) -> str:
        done = run(cuts.ensure_cuts(), *words)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.removesuffix("\n").isprintable(), repr(done.stderr))
        return done.stderr

    def test_honest(self) -> None:
        head, found = self.cuts(*self.honest, "--count", "60", "--twice")
        self.assertEqual(head["cuts"], 60)
        self.assertEqual(sum(cut["again"] is None for cut in found), 60)
        self.assertGreater(len(found), 110)
        for cut in found:
            self.assertEqual((cut["fault"], cut["error"], cut["stories"]), (None, None, [None]))
            self.assertGreater(cut["ready_ns"], 0)
        self.assertEqual([c["cut"] for c in found], sorted(c["cut"] for c in found))
        # As far as there is room, each kind is met.
        kinds = {kind["met"] for kind in head["kinds"]}
        self.assertEqual({cut["met"] for cut in found if not cut["again"]}, kinds)
        self.assertTrue(all("recovery" in cut["met"] for cut in found if cut["again"]))
        self.assertGreater(sum(cut["torn_pages"] for cut in found), 0)
        self.assertGreater(sum(cut["lost_sectors"] > 0 for cut in found), 10)
        self.assertGreater(len({cut["contents"][0] for cut in found}), 20)

    def test_the_same_again(self) -> None:
        _, found = self.cuts(*self.honest, "--count", "20", "--twice")
        _, same = self.cuts(*self.honest, "--count", "20", "--twice", "--jobs", "3")
        self.assertEqual(found, same)
        chosen = [cut for cut in found if cut["cut"] in (found[8]["cut"], found[20]["cut"])]
        named = ",".join(
            f"{cut['cut']}+{cut['again']}" if cut["again"] else str(cut["cut"]) for cut in chosen
        )
        _, again = self.cuts(*self.honest, "--cuts", named)
        self.assertEqual(again, chosen)

    def test_a_range(self) -> None:
        head, found = self.cuts(*self.honest, "--cuts", "500-511,900")
        self.assertEqual([cut["cut"] for cut in found], [*range(500, 512), 900])
        times = [cut["at_ns"] for cut in found]
        self.assertEqual(times, sorted(set(times)))
        last = head["moments"]
        _, found = self.cuts(*self.honest, "--cuts", str(last))
        # All was on flash by then.
        self.assertEqual((found[0]["cut_commands"], found[0]["torn_pages"]), (0, 0))

    def test_lies(self) -> None:
        for lie in LIES:
            with self.subTest(lie):
                # Versions of eight bits would not tell an image's own units apart.
                age = () if lie == "unserialised" else ("--age", "700")
                words = self.recorded(lie, *age, more=(f"lie.{lie}=1",))
                # A cut in fifty is inside of a shorn write; each other lie shows in 16 or more.
                few = not ALL and lie != "shorn_writes"
                _, found = self.cuts(*words, "--count", "50" if few else "150")
                bad = [cut for cut in found if cut["stories"][0]]
                self.assertGreater(len(bad), 0)
                self.assertTrue(all(cut["fault"] is None for cut in found))
                wanted = "shorn" if lie == "shorn_writes" else "durable by"
                self.assertTrue(any(wanted in cut["stories"][0] for cut in bad), bad[0])

    def test_two_drives_at_one_instant(self) -> None:
        other = self.recorded("other", "--age", "700", more=("gc.trigger_free_blocks=3",))
        both = [*self.honest, *other[other.index("--image") :], "--seed", "1", "--seed", "1"]
        _, found = self.cuts(*both, "--count", "40", "--twice")
        for cut in found:
            self.assertEqual(len(cut["contents"]), 2)
            self.assertEqual((cut["fault"], cut["stories"]), (None, [None, None]))
        # Whatever the other drive does meanwhile: what each contains is as if it was alone.
        alone = {}
        for number, drive in enumerate((self.honest, other)):
            at = [cut["at_ns"] for cut in found if not cut["again"]]
            for ns in at[5::10]:
                head, _ = self.cuts(*drive, "--count", "0", "--to-ns", str(ns))
                last = sum(kind["moments"] for kind in head["kinds"])
                _, one = self.cuts(*drive, "--cuts", str(last))
                alone[ns, number] = one[0]["contents"][0]
        for cut in found:
            for number in (0, 1):
                if not cut["again"] and (cut["at_ns"], number) in alone:
                    self.assertEqual(cut["contents"][number], alone[cut["at_ns"], number])

    def test_contents_and_image(self) -> None:
        contents, image = self.folder / "contents", self.folder / "cut.img"
        contents.mkdir()
        _, found = self.cuts(*self.honest, "--count", "6", "--contents", contents)
        names = {cut["contents"][0] for cut in found}
        self.assertEqual({path.stem for path in contents.iterdir()}, names)
        kept = {path.stem: path.read_bytes() for path in contents.iterdir()}
        self.assertEqual(len(set(kept.values())), len(names))
        cut = found[-1]
        self.cuts(*self.honest, "--cuts", str(cut["cut"]), "--save", image)
        keys = [word for key in KEYS for word in ("-o", key)]
        self.replay("-i", image, "-d", DRIVE, *keys, "-n", "50", "gen:mixed")

    def test_data_log(self) -> None:
        """The bytes are those of the log; without one each sector tells whose it is."""
        pick = random.Random(3)
        sizes = [row[3] for row in rows(Path(self.honest[-1]), command_log.LAYOUT) if row[4] == 1]
        data = self.folder / "data"
        written = b"".join(pick.randbytes(size) for size in sizes)
        data.write_bytes(b"SCARPDT1" + bytes(8) + written)
        contents = self.folder / "of-data"
        contents.mkdir()
        head, _ = self.cuts(*self.honest, "--count", "0")
        words = [*self.honest, "--data-log", str(data), "--contents", str(contents)]
        _, found = self.cuts(*words, "--cuts", str(head["moments"]))
        self.assertEqual(found[0]["stories"], [None])
        raw = (contents / f"{found[0]['contents'][0]}.raw").read_bytes()
        where = {bytes(raw[at : at + 512]) for at in range(0, len(raw), 512)} - {bytes(512)}
        sectors = {written[at : at + 512] for at in range(0, len(written), 512)}
        self.assertGreater(len(where), 1000)
        self.assertLessEqual(where, sectors)
        data.write_bytes(data.read_bytes()[:-1])
        self.assertIn("bytes of writes", self.refused(*words, "--cuts", "5"))
        data.write_bytes(struct.pack("<8sQ", b"SCARPDTX", 0) + written)
        self.assertIn("no data log", self.refused(*words, "--cuts", "5"))

    def test_refused(self) -> None:
        head, _ = self.cuts(*self.honest, "--count", "0")
        beyond = head["moments"] + 1
        said = self.refused(*self.honest, "--cuts", f"1-{beyond}")
        self.assertIn(f"cut {beyond}: is beyond the run, which has {beyond - 1} moments", said)
        self.assertIn("its recovery has", self.error_of("50+100000000"))
        for words, says in (
            (("-o", "timing.program_ns=700000"), "another drive, image, scheme, seed or engine"),
            (("--cuts", "0"), "--cuts=0"),
            (("--cuts", "5-4"), "--cuts=5-4"),
            (("--cuts", "5-9+3"), "--cuts=5-9+3"),
            (("--jobs", "0"), "--jobs=0"),
            (("--save", "x", "--count", "2"), "--save"),
            (("--image", "x"), "once for each drive"),
        ):
            with self.subTest(words):
                self.assertIn(says, self.refused(*self.honest, *words))
        self.assertIn("No such file", self.refused(*self.honest[:-1], self.folder / "none"))
        self.assertIn("a\ufffd[2J", self.refused(*self.honest[:-1], self.folder / "a\x1b[2J"))
        other = self.recorded("no-cuts", "--age", "700", more=("nand.power_cuts=0",))
        self.assertIn("nand.power_cuts=0: must be 1", self.refused(*other))

    def error_of(self, cut: str) -> str:
        _, found = self.cuts(*self.honest, "--cuts", cut)
        return str(found[0]["error"])


class Ready(Runs):
    """--power-cut of the replayer."""

    def after(self, *words: str | Path) -> dict[str, Any]:
        at = self.folder / "ready.json"
        self.replay("-d", POWER_CUT, *words, "--power-cut", at)
        found: dict[str, Any] = json.loads(at.read_text())
        self.assertLess(found["ready_ns"], found["bound_ns"])
        return found

    def test_size_and_shut_down(self) -> None:
        aged = ("--age", "900")
        small = self.after(*aged)
        large = self.after(*aged, "-o", "geometry.blocks_per_plane=192")
        self.assertGreater(large["page_reads"], 3 * small["page_reads"])
        self.assertGreater(large["ready_ns"], 3 * small["ready_ns"])
        told = self.after(*aged, "--shut-down")
        self.assertTrue(told["shut_down"])
        self.assertLess(told["ready_ns"], small["ready_ns"] / 50)
        self.assertLess(self.after(*aged, "gen:uniform,requests=500")["ready_ns"], 2 * 10**8)

    def test_refused(self) -> None:
        for words, says in (
            (("--shut-down", "gen:uniform"), "--shut-down: needs --power-cut=FILE"),
            (("--power-cut", "-", "-o", "nand.power_cuts=0"), "nand.power_cuts"),
            (("--power-cut", self.folder / "no" / "x"), "--power-cut="),
        ):
            done = run(replayer.ensure_replay(), "-d", POWER_CUT, *words)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Command(Runs):
    """`scarp powercut --from`, of a recording that no guest has made."""

    recording: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.recording = cls.folder / "recording"
        cls.recording.mkdir()
        words = dict(zip(cls.honest[::1], cls.honest[1::1], strict=False))
        shutil.copyfile(words["--image"], cls.recording / "drive0.img")
        shutil.copyfile(words["--cmd-log"], cls.recording / "cmd0.bin")
        shutil.copyfile(DRIVE, cls.recording / "drive.ini")
        log = list(rows(cls.recording / "cmd0.bin", command_log.LAYOUT))
        pick = random.Random(5)
        data = b"".join(pick.randbytes(row[3]) for row in log if row[4] == command_log.WRITE)
        (cls.recording / "data0.bin").write_bytes(b"SCARPDT1" + bytes(8) + data)
        made = Recording(
            folder=cls.recording,
            drives=(Drive("drive0.img", "cmd0.bin", "data0.bin", 1),),
            scheme="baseline",
            description="drive.ini",
            overrides=",".join(KEYS),
            begin_ns=log[len(log) // 4][0],
            end_ns=log[len(log) // 2][0],
            work="gen:mixed",
            job=None,
            guest={"file_systems": [], "packages": [], "kernel": None, "modules": None,
                   "memory_mib": None, "over": None},
            manifest={},
        )  # fmt: skip
        made.write()

    def command(self, name: str, *words: str) -> list[str]:
        script = str(ROOT / "scripts" / "scarp")
        start = [script, "powercut", "--from", str(self.recording)]
        return [*start, "--out", str(self.folder / name), *words]

    def scarp(self, name: str, *words: str) -> tuple[int, str, str]:
        cuts.ensure_cuts()
        done = subprocess.run(
            self.command(name, *words), capture_output=True, text=True, check=False
        )
        # On a busy machine it also says how far it is.
        errors = [line for line in done.stderr.splitlines() if not line.startswith("  ")]
        return done.returncode, done.stdout, "\n".join(errors)

    def found(self, name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        folder = self.folder / name
        lines = (folder / "cuts.jsonl").read_text().splitlines()
        return json.loads((folder / "summary.json").read_text()), [json.loads(x) for x in lines]

    def test_table_and_json(self) -> None:
        status, said, errors = self.scarp("table", "--cuts", "40")
        self.assertEqual((status, errors), (0, ""))
        self.assertRegex(said, r"\ncuts +40\n")
        self.assertRegex(said, r"\ncuts that break NVMe's contract +0\n")
        whole, each = self.found("table")
        self.assertEqual((whole["cuts"], len(each)), (40, 40))
        # The workload's own time alone.
        text = json.loads((self.recording / "recording.json").read_text())
        for cut in each:
            self.assertTrue(text["begin_ns"] <= cut["failed_ns"] <= text["end_ns"] + 10**7)
        status, said, errors = self.scarp("json", "--cuts", "40", "--json")
        self.assertEqual((status, errors, json.loads(said)), (0, "", whole))
        name = str(each[7]["cut"])
        self.assertEqual(self.scarp("one", "--cut", name)[0], 0)
        self.assertEqual(self.found("one")[1], [each[7]])

    def test_a_lie_that_only_power_cuts_see(self) -> None:
        lie = ("--set", "lie.shorn_writes=1", "--cuts", "150")
        status, said, errors = self.scarp("shorn", *lie)
        self.assertEqual((status, errors), (3, ""))
        self.assertIn("it is shorn", said)
        whole, each = self.found("shorn")
        bad = [str(cut["cut"]) for cut in each if cut["stories"][0]]
        self.assertEqual(whole["violated"], {"contract": bad})
        stories = (self.folder / "shorn" / "stories.txt").read_text()
        self.assertEqual(stories.count("the power failed during: "), len(bad))

    def test_refused_in_one_line(self) -> None:
        for words, says in (
            (("--cut", "99999999"), "cut 99999999: is beyond the run"),
            (("--set", "timing.program_ns=1"), "--set: timing.program_ns=1: the run itself "),
            (("--set", "lie.flush_ignored=1"), "another drive, image, scheme, seed or engine"),
            (("--set", "lie.nothing=1"), "lie.nothing"),
            (("--check", "none"), "--check: none: no such file"),
        ):
            with self.subTest(words):
                status, said, errors = self.scarp(f"refused {words}", *words)
                self.assertEqual((status, said), (1, ""))
                self.assertEqual(len(errors.splitlines()), 1, errors)
                self.assertIn(says, errors)

    def test_interrupted(self) -> None:
        """Ctrl-C: what has been done is told and kept."""
        cuts.ensure_cuts()
        words = self.command("stopped", "--cuts", "100000")
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
        ) as process:
            assert process.stderr
            # It says how far it is.
            self.assertRegex(process.stderr.readline(), r" of [\d,]+ cuts$")
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("scarp: interrupted; what was done is kept", errors)
        whole, each = self.found("stopped")
        self.assertTrue(whole["interrupted"])
        self.assertEqual(whole["cuts"], len(each))
        self.assertTrue(0 < len(each) < 100000)
        self.assertRegex(said, rf"\ncuts +{len(each):,}\n")
