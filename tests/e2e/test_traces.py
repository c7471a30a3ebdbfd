# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp replay` says of traces: tables of one's own, odd times, formats that it has not."""

from __future__ import annotations

import gzip
import json
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
BLKPARSE = "8,16 3 {} {} 3645 D R {} + 8 [a]\n"


class Traces(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = Path(folder.name) / "trace"
        replayer.ensure_replay()

    def replay(self, text: str, *words: str) -> subprocess.CompletedProcess[str]:
        self.trace.write_text(text)
        return self.replay_file(*words)

    def replay_file(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(ROOT / "scripts" / "scarp"), "replay", "-d", str(DRIVE), "--json", "-"]
        return subprocess.run(
            [*command, *words, str(self.trace)], capture_output=True, text=True, check=False
        )

    def test_own_columns(self) -> None:
        text = "at|what|where\n" + "".join(
            f"{i}.5|{'GET' if i % 2 else 'PUT'}|{i + 1}\n" for i in range(9)
        )
        spec = "csv:time=1:us,op=2,offset=3:4096,length=3,read=GET,write=PUT,header=1,separator=bar"
        done = self.replay(text, "--format", spec)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        result = json.loads(done.stdout)
        self.assertEqual((result["reads"], result["writes"]), (4, 5))
        self.assertEqual(result["trace"]["format"], "csv")
        self.assertEqual(result["trace"]["span_ns"], 8000)
        done = self.replay(text, "--format", spec.replace("PUT", "SET"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"{self.trace}:2: '0.5|PUT|1' is not a line of csv (column 2, op: 'PUT')",
                      done.stderr)  # fmt: skip

    def test_an_absolute_time_among_relative_ones(self) -> None:
        times = ["0.1", "0.2", "1300000000.0", "0.3", "0.2", "0.1"]
        text = "".join(BLKPARSE.format(i, at, i * 8) for i, at in enumerate(times))
        done = self.replay(text)
        self.assertEqual(done.returncode, 0, done.stderr)
        ahead, back, total = done.stderr.splitlines()
        self.assertIn(f"{self.trace}:3: time jumps ahead by 15046 days", ahead)
        self.assertIn(f"{self.trace}:4: time goes back by 1299999999.700000 s", back)
        self.assertIn("goes back 3 times, and jumps ahead by more than a day 1 times", total)

    def test_broken_lines(self) -> None:
        """So many as are allowed are left out, and counted; one more ends the replay."""
        lines = [f"{128166372000000000 + i},host,0,Write,{i * 4096},4096,0" for i in range(40)]
        for at, broken in (
            (13, "12816637,host"),
            (16, "x"),
            (18, lines[0].replace("4096,0", "4k,0")),
        ):
            lines.insert(at, broken)
        text = "\n".join(lines)
        done = self.replay(text)
        self.assertIn(f"{self.trace}:14: '12816637,host' is not a line of msr", done.stderr)
        self.assertIn("--skip-broken N leaves out so many such lines", done.stderr)
        done = self.replay(text, "--skip-broken", "2")
        self.assertEqual(done.returncode, 1)
        warning, reason = done.stderr.splitlines()
        self.assertIn(f"{self.trace}:14: left out: not a line of msr", warning)
        self.assertIn(f"{self.trace}:19: '", reason)
        for more, runs in (((), 1), (("--repeat", "2"), 2)):
            done = self.replay(text, "--skip-broken", "3", *more)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (0, 1), done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual((result["writes"], result["broken_lines"]), (40 * runs, 3))
            self.assertEqual(len(result["warnings"]), 1)

    def test_what_has_no_lines_to_skip(self) -> None:
        for word in ("gen:mixed", str(self.trace)):
            self.trace.write_text("")
            command = [str(replayer.ensure_replay()), "-d", str(DRIVE), "--skip-broken", "1", word]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            said = "needs a trace that is a text" if word != str(self.trace) else "is empty"
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertIn(said, done.stderr)

    def test_no_format(self) -> None:
        done = self.replay("what,is,this\n" * 9)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        listed = subprocess.run(
            [str(replayer.ensure_replay()), "--list"], capture_output=True, text=True, check=True
        ).stdout.split("\n\n")[-1]
        for line in listed.splitlines():
            self.assertIn(line.split(":")[0], done.stderr)
        self.assertIn("csv:time=1,op=2,offset=3,length=4", done.stderr)

    def refused(self, data: bytes) -> str:
        self.trace.write_bytes(data)
        command = [str(ROOT / "scripts" / "scarp"), "replay", "-d", str(DRIVE), str(self.trace)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        return done.stderr

    def converted(self, data: bytes) -> dict[str, Any]:
        """By the command that the refusal names, and replayed by what that one names."""
        line = self.refused(data).split("; convert it: ")[1]
        command = shlex.split(line)
        self.assertEqual(command[:2], ["scarp", "convert"])
        folder = self.trace.parent
        (folder / command[-1]).unlink(missing_ok=True)
        done = subprocess.run(
            [ROOT / "scripts" / "scarp", *command[1:]],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        result = self.replay((folder / command[-1]).read_text())
        self.assertEqual(result.returncode, 0, result.stderr)
        return dict(json.loads(result.stdout))

    def test_vscsi(self) -> None:
        """Its binary of both versions is converted, its text read by the columns that are named."""
        rows = [(40, 4096, 8, 1000), (42, 8192, 16, 3000), (0x35, 0, 0, 4000)]
        first = b"".join(
            struct.pack("<IIIHHQQ", 1, size, 1, command, 256, sector, at)
            for command, size, sector, at in rows
        )
        second = b"".join(
            struct.pack("<HHIIIQQQ", command, 512, 1, size, 1, sector, at, 5)
            for command, size, sector, at in rows
        )
        for data in (first, second, gzip.compress(second)):
            result = self.converted(data)
            self.assertEqual((result["reads"], result["writes"]), (1, 1))
            self.assertEqual(result["trace"]["mean_write_bytes"], 8192)
            self.assertEqual(result["trace"]["span_ns"], 2_000_000)
        text = "#Vscsi Cmd Trace. (Trace Format Version 1)\n#Serial Number,IO Data Length,…\n"
        text += "".join(
            f"{i},4096,1,{('read', 'write')[i % 2]},{i * 8},{i * 9}\n" for i in range(5)
        )
        done = self.replay(text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        result = json.loads(done.stdout)
        self.assertEqual((result["reads"], result["writes"]), (3, 2))
        self.assertEqual(result["trace"]["format"], "vscsi")
        self.assertEqual(result["trace"]["span_ns"], 36_000)

    def test_windows_event_tracing(self) -> None:
        """SNIA's text of Microsoft's servers, as xperf and as PowerShell's redirection write it."""
        head = "BeginHeader\n    DiskRead,  TimeStamp,  Process Name ( PID),   ThreadID,  IrpPtr,"
        head += "   ByteOffset,   IOSize, ElapsedTime,  DiskNum, IrpFlags\n"
        head += head.splitlines()[1].replace("DiskRead", "DiskWrite") + "\nEndHeader\n"
        row = "   {},  {},  Unknown ( 0),  0, 0xfa8, 0x{:012x}, 0x{:08x}, 97, {}, 0x06\n"
        text = head + row.format("DiskRead", 10, 4096, 4096, 0)
        text += "   FileIoRead,  11,  Unknown ( 0)\n" + row.format("DiskWrite", 30, 8192, 512, 1)
        for encoding in ("utf-8", "utf-16"):
            self.trace.write_bytes(text.encode(encoding))
            done = self.replay_file()
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            result = json.loads(done.stdout)
            self.assertEqual((result["reads"], result["writes"]), (1, 1))
            self.assertEqual(result["trace"]["format"], "etw")
            self.assertEqual(result["trace"]["devices"], 2)
            self.assertEqual(result["trace"]["span_ns"], 20_000)
        done = self.replay(text + "   DiskRead,  soon,  Unknown ( 0)\n", "--format", "etw")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        self.assertIn(":8: 'DiskRead,  soon,  Unknown ( 0)' is not a line of etw", done.stderr)
        command = [str(ROOT / "scripts" / "scarp"), "convert", str(self.trace)]
        command += ["-o", str(self.trace.with_name("none.csv"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        self.assertIn("no binary trace of vscsiStats", done.stderr)
        self.assertFalse(self.trace.with_name("none.csv").exists())

    def test_blktraces_binary(self) -> None:
        said = self.refused(struct.pack("<IIQQ", 0x65617407, 1, 2, 3) * 4)
        self.assertIn("binary data of blktrace; convert it: blkparse -i ", said)


if __name__ == "__main__":
    unittest.main()
