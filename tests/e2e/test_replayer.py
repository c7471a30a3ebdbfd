# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-replay as its users see it: formats, options, results, exit status, progress, memory."""

from __future__ import annotations

import ctypes
import ctypes.util
import gzip
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import terminal  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.device_logs import command_log  # noqa: E402
from scarplib.version import version  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"

# Four requests of each format, made up; the last field is bytes read and written by them.
FORMATS = {
    "msr": (
        "128166385295514663,hm,0,Write,905601433600,2048,2833\n"
        "128166385295514878,hm,1,Read,512,4096,2617\n"
        "128166385295524878,hm,1,Read,8192,4096,2617\n"
        "128166385295534878,hm,0,Write,0,4096,2617\n"
    ),
    "systor17": (
        "Timestamp,Response,IOType,LUN,Offset,Size\n"
        "1456095145.133076000,0.000806000,R,2,4096,131072\n"
        "1456095145.133077001,,W,2,8192,512\n"
        "1456095145.143077001,0.1,R,0,90000384,512\n"
        "1456095145.153077001,,W,1,8192,4096\n"
    ),
    "spc": "0,20,8192,W,0.551706\n1,21,512,r,0.651706,x\n0,99999999,512,R,0.7\n2,8,4096,w,0.8\n",
    "fiu": (
        "garbage at its head\n100 4270 nfsd 16 8 W 6 0 d6c75b\n160 1 a 8 8 R 6 1 0\n"
        "170 1 a 8 8 R 6 1 0\n9000 1 a 80000000 8 W 6 1 0\n"
    ),
    "blkparse": (
        "  8,16   3        4     0.000000001  3645  I   R 8 + 8 [a]\n"
        "  8,16   3        5     0.000000010  3645  D   R 8 + 8 [a]\n"
        "  8,16   3        6     0.000000030  3645  D   WS 16 + 1 [b]\n"
        "  8,16   3        7     0.000100030  3645  D   DS 16 + 16 [b]\n"
        "  8,16   3        8     0.000200030  3645  D   W 900000000 + 8 [b]\n"
        "CPU0 (8,16):\n Reads Queued:   0,        0KiB\n"
    ),
    "fio2": (
        "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a read 4096 512\n"
        "/dev/a write 0 8192\n/dev/a sync 0 0\n/dev/a trim 0 4096\n/dev/a close\n"
    ),
    "fio3": (
        "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n5 /dev/a read 4096 512\n"
        "7 /dev/a write 0 8192\n8 /dev/a datasync 0 0\n9 /dev/a read 0 4096\n9 /dev/a close\n"
    ),
    "mqsim": "938513000 4 100 16 0\n938513007 3 8 1 1\n938513107 3 8 1 1\n938519000 4 100 16 0\n",
    "ssdsim": "0 0 303567 7 0\n26214000 1 8 6 1\n26215000 1 8 6 1\n26216000 1 8 6 0\n",
    "heimdall": "0.000 0 8192 4096 1\n22.810 1 512 512 0\n23.000 0 0 512 1\n24.5 1 0 1024 0\n",
    "disksim": "26.214\t0\t16\t1\t0\n78.643\t0\t8\t1\t1\n79.000\t0\t8\t1\t1\n80.1\t0\t9\t9\t0\n",
}  # fmt: skip


def zstd(data: bytes) -> bytes:
    """By the library that the replayer itself is linked with."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(
        out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), ctypes.c_int(1)
    )
    assert size <= room
    return out.raw[:size]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = replayer.ensure_replay()

    def run_replay(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), "-d", str(DRIVE), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def result(self, *arguments: object) -> dict[str, Any]:
        done = self.run_replay(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        out: dict[str, Any] = json.loads(done.stdout)
        stats = out["stats"]
        self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
        self.assertEqual(stats["oob_mismatches"], 0)
        return out

    def fails(self, *arguments: object, words: tuple[str, ...], status: int = 1) -> None:
        done = self.run_replay(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertTrue(done.stderr.removesuffix("\n").isprintable(), repr(done.stderr))
        self.assertTrue(done.stderr.startswith("scarp-replay: "))
        for word in words:
            self.assertIn(word, done.stderr)


class Formats(Case):
    def test_the_list_is_complete(self) -> None:
        done = self.run_replay("--list")
        listed = {line.split(":")[0] for line in done.stdout.split("\n\n")[-1].splitlines()}
        self.assertLessEqual({*FORMATS, "cmdlog"}, listed)
        known = {name for name in listed if f"{name}: " in done.stdout} & {*FORMATS, "cmdlog"}
        self.assertEqual(known, {*FORMATS, "cmdlog"})

    def test_every_format_is_replayed(self) -> None:
        for name, text in FORMATS.items():
            for suffix, pack in ((".txt", bytes), (".gz", gzip.compress), (".zst", zstd)):
                with self.subTest(name + suffix):
                    path = self.folder / (name + suffix)
                    path.write_bytes(pack(text.encode()))
                    # Two formats look alike: one has to be named.
                    named = ("-f", name) if name == "ssdsim" else ()
                    out = self.result("--age", 900, *named, path)
                    self.assertEqual(out["trace"]["format"], name)
                    self.assertEqual((out["requests"], out["measured"]), (4, 4))
                    self.assertEqual(out["stats"]["cmds_completed"], 4)
                    self.assertEqual(
                        out["reads"] + out["writes"] + out["deallocates"] + out["flushes"], 4
                    )

    def test_a_command_log_is_replayed(self) -> None:
        log, again = self.folder / "a.bin", self.folder / "b.bin"
        workload = "gen:mixed,requests=2000,iops=1500"
        self.result("--age", 900, "--cmd-log", log, workload)
        out = self.result("--age", 900, "--cmd-log", again, log)
        self.assertEqual((out["trace"]["format"], out["requests"]), ("cmdlog", 2000))
        self.assertEqual(log.read_bytes(), again.read_bytes())
        self.fails("--speed", 500, log, words=("--speed: not of a command log",))
        slow = self.result("-m", "think", "--speed", 500, log)
        self.assertGreater(slow["drive_ns"], self.result("-m", "think", log)["drive_ns"])

    def test_a_bad_line_is_named(self) -> None:
        path = self.folder / "bad"
        path.write_text(FORMATS["mqsim"] + "938513000 4 100 16 7\n")
        self.fails("-f", "mqsim", path, words=(f"{path}:5: ", "mqsim"))
        rising = "".join(f"{938513000 + 1000 * i} 4 {i * 16} 16 {i % 2}\n" for i in range(16000))
        path.write_bytes(gzip.compress(rising.encode())[:-100])
        self.fails("-f", "mqsim", path, words=(str(path), "gzip"))
        path.write_bytes(zstd(rising.encode())[:-10])
        self.fails("-f", "mqsim", path, words=(str(path), "zstd"))
        path.write_text("what is this\n" * 9)
        self.fails(path, words=(str(path), "--format"))


class Options(Case):
    def test_version(self) -> None:
        """Said in one place: by the programs, in results, in images."""
        self.assertEqual(self.run_replay("--version").stdout, f"scarp-replay {version()}\n")
        script = [str(ROOT / "scripts" / "scarp")]
        for words, says in (([], "scarp"), (["replay"], "scarp-replay")):
            done = subprocess.run(
                [*script, *words, "--version"], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.stdout, f"{says} {version()}\n", done.stderr)
        image = self.folder / "image"
        out = self.result("--save", image, "gen:uniform,requests=10")
        self.assertEqual(out["stats"]["scarp_version"], version())
        self.assertTrue(image.read_bytes().endswith(f"scarp {version()}\n".encode()))

    def test_results(self) -> None:
        out = self.result("--age", 900, "-m", "closed", "-q", 8, "gen:mixed,requests=3000")
        self.assertEqual(out["schema"], "scarp-replay-1")
        self.assertEqual((out["mode"], out["depth"], out["peak_in_flight"]), ("closed", 8, 8))
        self.assertEqual(out["requests"], 3000)
        self.assertGreater(out["stats"]["gc_runs"], 0)
        for op in ("read", "write"):
            latency = out["stats"][f"{op}_latency"]
            points = [latency[f"p{p}_ns"] for p in ("50", "90", "95", "99", "99_9", "99_99")]
            self.assertEqual([*points, latency["max_ns"]], sorted([*points, latency["max_ns"]]))
            self.assertEqual(latency["n"], out[f"{op}s"])
            tail = latency["slowest_1_percent"]
            self.assertEqual(tail["n"], -(-latency["n"] // 100))
            self.assertGreater(sum(tail["cause_ns"].values()), 0)

    def test_the_same_seed_gives_the_same_bytes(self) -> None:
        arguments = ("--age", 900, "-m", "closed", "-q", 8, "-s", "random+pgc")
        workload = "gen:mixed,requests=2000"
        texts = []
        for seed in (3, 3, 4):
            out = self.result(*arguments, "--seed", seed, workload)
            del out["wall_s"]
            texts.append(json.dumps(out))
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_warmup(self) -> None:
        arguments = ("--age", 900, "-m", "closed", "-q", 8, "gen:mixed,requests=3000")
        whole, part = self.result(*arguments), self.result("--warmup", 2000, *arguments)
        self.assertEqual((part["requests"], part["measured"]), (3000, 1000))
        stats = part["stats"]
        ops = ("reads", "writes", "deallocates", "flushes", "write_zeroes")
        self.assertEqual(sum(stats[op] for op in ops), 1000)
        self.assertEqual(stats["read_latency"]["n"], stats["reads"])
        self.assertEqual(stats["write_latency"]["n"], stats["writes"])
        # The drive did the same in both.
        self.assertLess(part["drive_ns"], whole["drive_ns"] / 2)
        self.assertLess(stats["gc_runs"], whole["stats"]["gc_runs"])
        self.fails("--warmup", 3000, *arguments, words=("--warmup=3000", "3000 requests"))

    def test_speed_runtime_requests(self) -> None:
        workload = "gen:bursty,requests=2000,iops=1000,burst=0"
        normal = self.result(workload)
        fast = self.result("--speed", 4000, workload)
        self.assertAlmostEqual(fast["drive_ns"] * 4 / normal["drive_ns"], 1, delta=0.05)
        self.assertEqual(self.result("-n", 300, workload)["requests"], 300)
        brief = self.result("--runtime", 1_000_000, workload)
        self.assertAlmostEqual(brief["requests"], 1000, delta=100)

    def test_addresses(self) -> None:
        path = self.folder / "far"
        path.write_text("0 0 0 1 0\n1 0 2000000 1 0\n2 0 3999999 1 0\n")
        folded = self.result("-f", "mqsim", path)
        self.assertEqual(folded["folded"], 2)
        scaled = self.result("-f", "mqsim", "--scale", 4_000_000 * 512, path)
        self.assertEqual(scaled["folded"], 0)
        aligned = self.result("-f", "mqsim", "--align", 8192, path)
        self.assertEqual(aligned["write_bytes"], 3 * 8192)

    def test_bad_options(self) -> None:
        workload = "gen:uniform,requests=10"
        for arguments, *words in (
            (("-m", "sideways", workload), "--mode=sideways", "open, closed, think"),
            (("-q", "0", workload), "--depth=0", "from 1 to 65536"),
            (("-q", "2", workload), "--depth: needs --mode=closed"),
            (("-m", "think", "-q", "2", workload), "--depth: needs --mode=closed"),
            (("-m", "closed", "--speed", "2000", workload), "--speed: needs --mode=open or"),
            (("--speed", "0", workload), "--speed=0"),
            (("--align", "1000", workload), "--align=1000", "512"),
            (("--age", "1001", workload), "--age=1001", "0 to 1000"),
            (("--age-overwrite", "5", workload), "--age-overwrite", "need --age, from 1 to 1000"),
            (("--age-pattern", "random", workload), "--age-pattern", "need --age"),
            (("--age-slc", "full", workload), "--age-slc", "need --age"),
            (("--age", "9", "--age-slc", "half", workload), "--age-slc=half", "allowed is full"),
            (("--age", "9", "--age-slc", "full", workload), "age-slc=full", "slc.dynamic=1"),
            (("-s", "basline", workload), "basline", "baseline"),
            (("-o", "gc.nothing=1", workload), "gc.nothing"),
            (("-p", "d=4", workload), "'d'"),
            (("-f", "nonsense", DRIVE), "--format=nonsense", "msr", "cmdlog"),
            (("gen:nonsense",), "nonsense", "uniform"),
            (("gen:uniform,colour=1",), "colour"),
            ((self.folder / "absent",), "absent", "No such file"),
            ((), "workload"),
            (("--json", "/nonexistent/x", workload), "--json=/nonexistent/x"),
            (("--json", "/dev/full", workload), "--json=/dev/full"),
            (("--cmd-log", "/dev/full", workload), "--cmd-log=/dev/full"),
        ):
            with self.subTest(arguments):
                self.fails(*arguments, words=tuple(words))
        self.fails("--nonsense", workload, words=("--nonsense",), status=2)

    def test_pads_are_no_pages_of_the_hosts(self) -> None:
        keys = ("nand.cell_bits=2", "nand.power_cuts=1", "ftl.recovery=1", "ftl.paired_pages=pad")
        words = [word for key in (*keys, "controller.buffer_bytes=0") for word in ("-o", key)]
        # One at a time: each page has its word line for itself.
        stats = self.result("-m", "closed", *words, "gen:uniform,write=1000,requests=20")["stats"]
        self.assertEqual((stats["host_page_programs"], stats["pair_pad_pages"]), (20, 20))
        self.assertEqual(stats["write_amplification_milli"], 2000)
        worn = self.result("--age", 1000, "-m", "closed", *words, "gen:uniform,requests=300")
        stats = worn["stats"]
        self.assertGreater(stats["gc_page_programs"], 0)
        programs = sum(stats[f"{who}_page_programs"] for who in ("host", "gc"))
        programs += stats["pair_pad_pages"]
        self.assertEqual(
            stats["write_amplification_milli"], programs * 1000 // stats["host_page_programs"]
        )

    def test_nothing_that_is_read_is_written_over(self) -> None:
        log, link, drive = (self.folder / name for name in ("own.bin", "link", "own.ini"))
        new, same = f"{self.folder}/new", f"{self.folder}/./new"
        drive.write_bytes(DRIVE.read_bytes())
        link.unlink(missing_ok=True)
        link.hardlink_to(drive)
        self.result("--cmd-log", log, "gen:uniform,requests=10")
        before = log.read_bytes()
        for arguments, *words in (
            (("--cmd-log", log, log), "--cmd-log=", "own.bin", "is also the workload"),
            (("--json", link, "-d", drive, log), "--json=", "is also the description"),
            (("--job", f"1={log}", "--cmd-log", log), "--cmd-log=", "is also a job's workload"),
            (("--json", new, "--cmd-log", same, log), "--json=", "is also --cmd-log"),
        ):
            with self.subTest(arguments):
                self.fails(*arguments, words=tuple(words))
                self.assertEqual(log.read_bytes(), before)
                self.assertEqual(drive.read_bytes(), DRIVE.read_bytes())
        # An image may be gone on with.
        image = self.folder / "own.img"
        self.result("--save", image, log)
        self.result("-i", image, "--save", image, log)
        self.result("--gc-log", "/dev/null", "--cmd-log", "/dev/null", log)

    def test_what_a_foreign_description_says_steers_no_terminal(self) -> None:
        drive = self.folder / "steers.ini"
        for text in (
            "[geo\x1b[2Jmetry]",
            "[geometry]\nchan\x1b[2Jnels=1",
            "[geometry]\nchannels=1\x9b2J",
            "[geometry]\nchannels=\u202e1",
            "[geometry]\nchannels=\u20281",
        ):
            with self.subTest(text):
                drive.write_text(text + "\n")
                self.fails("-d", drive, "gen:uniform,requests=1", words=("\ufffd",))

    def test_a_drive_that_does_not_keep_up(self) -> None:
        workload = "gen:uniform,requests=3000"
        self.fails("--backlog", 1000, workload, words=("--backlog=1000", "does not keep up"))
        self.assertEqual(self.result("--backlog", 3000, workload)["peak_in_flight"], 3000)
        # Other modes bound what is outstanding by themselves.
        closed = self.result("--backlog", 10, "-m", "closed", "-q", 32, workload)
        self.assertEqual(closed["peak_in_flight"], 32)

    def test_through_the_script(self) -> None:
        script = str(ROOT / "scripts" / "scarp")
        for arguments, status in ((["gen:uniform,requests=10"], 0), (["gen:x"], 1), (["-z"], 2)):
            done = subprocess.run(
                [script, "replay", "-d", str(DRIVE), *arguments],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(bool(done.stdout), status == 0)


class Progress(Case):
    # More than a second: a line every half of one.
    LOAD = ("-m", "closed", "-q", "8", "gen:uniform,requests=1500000")

    def on_a_terminal(self, *arguments: str) -> str:
        ended = terminal.run([str(self.program), "-d", str(DRIVE), *arguments])
        self.assertEqual(ended.status, 0, ended.said)
        return ended.said

    def test_only_on_a_terminal(self) -> None:
        text = self.on_a_terminal(*self.LOAD)
        self.assertRegex(text, r"\r[0-9]+ requests \[[=> ]{20}\] [0-9]+ %")
        self.assertEqual(self.on_a_terminal("--quiet", *self.LOAD), "")
        self.assertEqual(self.run_replay(*self.LOAD).stderr, "")


class Memory(Case):
    """Peak memory depends on the drive, not on the trace's length."""

    LINE = "{} 0 {} 8 {}\n"

    def peak_kib(self, path: Path, *arguments: str) -> int:
        # Through a small process: a child's peak begins with its parent's.
        code = (
            "import resource, subprocess, sys; "
            "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        command = [str(self.program), "-d", str(DRIVE), "-f", "mqsim", *arguments, str(path)]
        done = subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    def test_streamed(self) -> None:
        for suffix, pack in ((".txt", bytes), (".gz", lambda d: gzip.compress(d, 1)),
                             (".zst", zstd)):  # fmt: skip
            peaks = []
            for n in (20_000, 600_000):
                text = "".join(
                    self.LINE.format(i * 1_000_000, i * 7919 % 25000 // 8 * 8, int(i % 4 > 0))
                    for i in range(n)
                )
                path = self.folder / f"{n}{suffix}"
                path.write_bytes(pack(text.encode()))
                peaks.append(self.peak_kib(path))
                path.unlink()
            with self.subTest(suffix, peaks=peaks):
                self.assertLess(peaks[1], peaks[0] + 1024)


class Jobs(Case):
    """Closed loops beside each other, each with a depth and a rate."""

    WRITES = "gen:uniform,requests=400,write=1000,size=4096,align=4096"
    READS = "gen:uniform,requests=300,write=0"

    def test_beside_each_other(self) -> None:
        out = self.result("--job", f"2={self.WRITES}", "--job", f"3={self.READS}")
        self.assertEqual((out["mode"], out["requests"]), ("jobs", 700))
        self.assertEqual((out["reads"], out["writes"]), (300, 400))
        self.assertEqual(out["peak_in_flight"], 5)

    def test_rate(self) -> None:
        """The last of 400 begins when 399 times 4 KiB are due."""
        out = self.result("--job", f"8:1000000={self.WRITES}")
        self.assertGreaterEqual(out["drive_ns"], 399 * 4096 * 1000)
        self.assertLess(out["drive_ns"], 400 * 4096 * 1000)

    def test_streams(self) -> None:
        log = self.folder / "cmd.bin"
        job = f"2={self.WRITES},streams=2"
        self.result("-o", "ftl.streams=2", "--cmd-log", log, "--job", job)
        rows = command_log.read_commands(log)
        self.assertEqual({rows.stream[index] for index in rows.indices(1)}, {0, 1})
        self.fails("--job", job, words=("writes to stream 1", "ftl.streams=1 allows 0 to 0"))

    def test_refused(self) -> None:
        for bad in (
            "4294967297", "-4294967295", "+1", " 1", "0", "65537", "1:", "1:0", "1:-1", "x",
            "1:18446744073709551615", "1:9223372036854775808", "",
        ):  # fmt: skip
            with self.subTest(bad):
                job = f"{bad}={self.READS}"
                self.fails("--job", job, words=(f"--job={job}: must be", "1 to 65536"))
        self.fails("--job", "2", words=("must be DEPTH",))
        self.fails("--job", "2=", words=("must be DEPTH",))

    def test_what_a_job_does_not_read(self) -> None:
        for option in (
            ("-m", "closed"), ("-q", 4), ("--speed", 500), ("--backlog", 5), ("--align", 4096),
            ("--scale", 4096), ("-n", 10), ("--warmup", 10), ("--skip-broken", 1),
        ):  # fmt: skip
            with self.subTest(option):
                self.fails(*option, "--job", f"1={self.READS}", words=("--job: excludes --",))


class Streams(Case):
    """A write names a stream of the drive: in a trace, in a generator, in a command log."""

    TRACE = (
        "1000,host,0,Write,0,4096,0,1\n2000,host,0,Read,0,4096,0,7\n"
        "3000,host,0,Write,4096,4096,0\n4000,host,0,Write,8192,4096,0,2\n"
    )

    def streams_of_writes(self, log: Path) -> list[int]:
        rows = command_log.read_commands(log)
        return [rows.stream[index] for index in rows.indices(1)]

    def test_trace(self) -> None:
        trace, log, again = (self.folder / name for name in ("trace.csv", "cmd.bin", "again.bin"))
        trace.write_text(self.TRACE)
        self.result("-o", "ftl.streams=3", "--cmd-log", log, trace)
        self.assertEqual(self.streams_of_writes(log), [1, 0, 2])
        self.result("-o", "ftl.streams=3", "--cmd-log", again, log)
        self.assertEqual(self.streams_of_writes(again), [1, 0, 2])
        for path, number in ((trace, 4), (log, 4)):
            says = f"request {number}: writes to stream 2; ftl.streams=2 allows 0 to 1"
            self.fails("-o", "ftl.streams=2", path, words=(says,))
        for bad in ("x", "-1", "65536"):
            trace.write_text(self.TRACE + f"5000,host,0,Write,0,4096,0,{bad}\n")
            self.fails("-o", "ftl.streams=8", "-f", "msr", trace, words=("trace.csv:5: ", "stream"))

    def test_generator(self) -> None:
        self.fails("gen:uniform,streams=2", words=("stream 1", "ftl.streams=1 allows 0 to 0"))
        self.fails("gen:uniform,streams=0", words=("streams=0", "from 1 to"))
        self.fails("gen:hot-cold,streams=3", words=("streams must be 1 or 2 with hot",))

    def amplification(self, workload: str) -> int:
        out = self.result(
            *("-o", "ftl.streams=2", "-o", "ftl.over_provisioning_permille=250"),
            *("-o", "geometry.blocks_per_plane=72", "-o", "geometry.pages_per_block=64"),
            *("--age", 900, "-m", "closed", "-q", 32, "--warmup", 100_000, workload),
        )
        # Programs of the warm-up's last writes may be counted, of those that were waiting.
        self.assertLess(abs(out["stats"]["host_page_programs"] - 100_000), 100)
        milli: int = out["stats"]["write_amplification_milli"]
        return milli

    def test_separation(self) -> None:
        """The same requests: with the hot ones in blocks of their own, collections copy less."""
        for preset in ("hot-cold,hot=100,hot_share=900", "zipf,write=1000"):
            workload = f"gen:{preset},requests=200000,streams="
            mixed, apart = (self.amplification(f"{workload}{n}") for n in (1, 2))
            with self.subTest(preset, mixed=mixed, apart=apart):
                self.assertLess(apart, mixed * 0.95)


if __name__ == "__main__":
    unittest.main()
