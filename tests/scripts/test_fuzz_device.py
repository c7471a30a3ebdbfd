# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/fuzz-device/run.py: what libFuzzer found is told; a QEMU that hangs is ended."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

TESTS = Path(__file__).resolve().parents[1]


def program() -> object:
    """The file, whose folders' other modules have names that ours have, too."""
    spec = importlib.util.spec_from_file_location("fuzz_device", TESTS / "fuzz-device" / "run.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    with mock.patch.dict(sys.modules, fuzz_device=module):
        spec.loader.exec_module(module)
    sys.path[:] = before
    return module


PCS = """\
\tNEW_PC: 0x55 in before /src/hw/nvme/ctrl.c:3
#50\tINITED cov: 100 ft: 100 corp: 1/1b exec/s: 0 rss: 30Mb
\tNEW_PC: 0x56 in nvme_read ../src/hw/nvme/ctrl.c:6:9
\tNEW_PC: 0x57 in pci_read ../src/hw/pci/pci.c:7:1
#900\tNEW    cov: 102 ft: 3 corp: 2/4b lim: 4 exec/s: 0 rss: 30Mb L: 3/3 MS: 2 CrossOver-
#905\tREDUCE cov: 102 ft: 3 corp: 2/4b lim: 4 exec/s: 0 rss: 30Mb L: 3/3 MS: 2 CrossOver-
\tNEW_PC: 0x58 in scarp_drive_new ../src/hw/nvme/scarp/ftl/drive.c:8
#951\tNEW    cov: 103 ft: 4 corp: 3/5b lim: 4 exec/s: 0 rss: 30Mb L: 3/3 MS: 2 CrossOver-
%s#1000\tDONE   cov: %d ft: 4 corp: 3/5b lim: 4 exec/s: 0 rss: 30Mb
COVERED_FUNC: hits: 2 edges: 3/5 nvme_read ../src/hw/nvme/ctrl.c:5
  UNCOVERED_PC: ../src/hw/nvme/ctrl.c:8
UNCOVERED_FUNC: hits: 0 edges: 0/7 flash_json ../src/hw/nvme/scarp/hw/flash-rows.c:3
COVERED_FUNC: hits: 2 edges: 30/50 pci_read ../src/hw/pci/pci.c:5
"""
LATE = """\
\tNEW_PC: 0x59 in flash_submit ../src/hw/nvme/scarp/hw/flash-command.c:8:22
\tNEW_PC: 0x60 in flash_submit ../src/hw/nvme/scarp/hw/flash-command.c:9:2
\tNEW_FUNC[1/1]: 0x59 in flash_submit ../src/hw/nvme/scarp/hw/flash-command.c:3
#970\tNEW    cov: 105 ft: 4 corp: 3/5b lim: 4 exec/s: 0 rss: 30Mb L: 3/3 MS: 2 CrossOver-
"""


class Found(unittest.TestCase):
    """What is new of the device is told from what is new of QEMU."""

    def test_of_qemu_alone(self) -> None:
        found = program().found(PCS % ("", 103))  # type: ignore[attr-defined]
        self.assertEqual((found.executions, found.edges, found.last_new), (1000, 103, 951))
        self.assertEqual((found.late, found.device_late, found.device_last_new), (1, 0, 900))
        self.assertEqual((found.device_edges, found.device_all), (3, 12))

    def test_of_the_device(self) -> None:
        found = program().found(PCS % (LATE, 105))  # type: ignore[attr-defined]
        self.assertEqual((found.late, found.last_new), (3, 970))
        self.assertEqual((found.device_late, found.device_last_new), (2, 970))
        self.assertEqual(found.device_late_in, ("flash-command.c:8", "flash-command.c:9"))

    def test_of_nothing(self) -> None:
        found = program().found("it did not start\n")  # type: ignore[attr-defined]
        self.assertEqual((found.executions, found.edges, found.device_late), (0, 0, 0))


REPORT = """\
File '/src/hw/nvme/ctrl.c':
Name                     Regions    Miss   Cover     Lines    Miss   Cover  Branches    Miss   Cover
----------------------------------------------------------------------------------------------------
nvme_read                      9       0 100.00%        20       0 100.00%         6       6   0.00%
ctrl.c:nvme_dif                1       1   0.00%         3       3   0.00%         0       0   0.00%
----------------------------------------------------------------------------------------------------
TOTAL                         10      10   0.00%        23       3  86.96%         6       6   0.00%

File '/src/hw/nvme/scarp/hw/flash-rows.c':
Name                     Regions    Miss   Cover     Lines    Miss   Cover  Branches    Miss   Cover
----------------------------------------------------------------------------------------------------
flash-rows.c:flash_json       12       7  41.67%        20      10  50.00%         6       6   0.00%
"""


class Functions(unittest.TestCase):
    def test_those_that_ran_and_those_that_did_not(self) -> None:
        ran, did_not = program().functions(REPORT)  # type: ignore[attr-defined]
        self.assertEqual(ran, {("ctrl.c", "nvme_read"), ("scarp/hw/flash-rows.c", "flash_json")})
        self.assertEqual(did_not, {("ctrl.c", "nvme_dif")})


class Kept(unittest.TestCase):
    def test_a_run_begins_with_it(self) -> None:
        module = program()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "corpus").mkdir()
            (folder / "found").mkdir()
            (folder / "found" / "input").write_text("kept")
            packed = folder / "corpus" / "zones.tar.gz"
            with mock.patch.multiple(module, HERE=folder):
                module.lay("virtual", folder / "without")  # type: ignore[attr-defined]
                subprocess.run(["tar", "-czf", packed, "-C", folder / "found", "."], check=True)
                module.lay("zones", folder / "its own")  # type: ignore[attr-defined]
                module.lay("virtual", folder / "another's")  # type: ignore[attr-defined]
            seeds = {path.name for path in (folder / "without").iterdir()}
            self.assertIn("seed-zones", seeds)
            for begun in ("its own", "another's"):
                names = {path.name for path in (folder / begun).iterdir()}
                self.assertEqual(names, seeds | {"input"})

    def test_each_is_a_machine_s(self) -> None:
        names = {path.name for path in (TESTS / "fuzz-device" / "corpus").glob("*")}
        self.assertTrue(names)
        machines = program().CONFIGURATIONS  # type: ignore[attr-defined]
        self.assertLessEqual(names, {f"{machine}.tar.gz" for machine in machines})


class Drawn(unittest.TestCase):
    """Sequences that are drawn are whole, the same at each run, and of commands that differ."""

    def laid(self, functions: bool, seed: int) -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            program().drawn.lay(Path(folder), functions, 200, seed)  # type: ignore[attr-defined]
            return [path.read_bytes() for path in sorted(Path(folder).iterdir())]

    def test_the_same_numbers_give_the_same(self) -> None:
        first = self.laid(False, 1)
        self.assertEqual(first, self.laid(False, 1))
        self.assertNotEqual(first, self.laid(False, 2))
        self.assertEqual(len(set(first)), 200)

    def test_the_fuzzer_reads_each_whole(self) -> None:
        module = program()
        for functions in (False, True):
            for text in self.laid(functions, 3):
                self.assertLessEqual(len(text), module.drawn.MAX_BYTES)  # type: ignore[attr-defined]

    def test_every_command_comes(self) -> None:
        module = program()
        pattern = bytes([module.seeds.ADD_PATTERN, 0, 0])  # type: ignore[attr-defined]
        opcodes = {
            part[3]
            for text in self.laid(False, 4)
            for part in text.split(module.seeds.SEPARATOR)  # type: ignore[attr-defined]
            if part[:3] == pattern and len(part) == 3 + 64
        }
        expected = {*module.drawn.ADMIN, *module.drawn.IO}  # type: ignore[attr-defined]
        self.assertEqual(expected - opcodes, set())

    def test_what_is_new_is_left_and_a_crash_ends_the_run(self) -> None:
        """A stand-in for QEMU that merges: it keeps the first of what was drawn, or dies."""
        module = program()
        keeps = (
            "import pathlib, shutil, sys\n"
            "kept, drawn = map(pathlib.Path, sys.argv[-2:])\n"
            "assert '-merge=1' in sys.argv\n"
            "assert len(list(drawn.iterdir())) == 5\n"
            "shutil.copy(drawn / 'drawn-0', kept)\n"
        )
        crashed = "print('MERGE-OUTER: attempt 1\\nMERGE-OUTER: attempt 2')\n"
        for text, status, left in (
            (keeps, 0, ["drawn-0"]),
            (keeps + crashed, 1, ["drawn-0"]),
            ("raise SystemExit(77)\n", 77, []),
        ):
            with self.subTest(status=status), tempfile.TemporaryDirectory() as name:
                out = Path(name)
                (out / "corpus").mkdir()
                binary = out / "qemu"
                binary.write_text(f"#!{sys.executable}\n{text}")
                binary.chmod(0o755)
                self.assertEqual(module.take(binary, "virtual", 5, 1, out), status)  # type: ignore[attr-defined]
                self.assertEqual([path.name for path in (out / "corpus").iterdir()], left)


class Watched(unittest.TestCase):
    def status(self, text: str, asleep_s: int, busy_s: int) -> tuple[int, str]:
        """Of a fuzzer that does this; and what it says when it is ended, as libFuzzer would."""
        module = program()
        aborted = (
            "import signal, sys, time\n"
            "def abort(*_):\n    print('kept', flush=True)\n    sys.exit(77)\n"
            "signal.signal(signal.SIGABRT, abort)\n"
        )
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.multiple(module, ASLEEP_S=asleep_s, BUSY_S=busy_s),
        ):
            log = Path(folder) / "log"
            with (
                log.open("wb") as stream,
                subprocess.Popen([sys.executable, "-c", aborted + text], stdout=stream) as process,
            ):
                status = module.watched(process, log)  # type: ignore[attr-defined]
            return status, log.read_text()

    def test_one_that_sleeps_is_ended(self) -> None:
        self.assertEqual(self.status("time.sleep(600)", 2, 600), (77, "kept\n"))

    def test_one_that_is_busy_and_says_nothing_is_ended(self) -> None:
        self.assertEqual(self.status("while True: pass", 600, 2), (77, "kept\n"))

    def test_one_whose_child_works_is_not(self) -> None:
        works = (
            "import subprocess\n"
            "child = 'import time\\nwhile time.process_time() < 4: pass'\n"
            "sys.exit(subprocess.call([sys.executable, '-c', child]) + 3)"
        )
        self.assertEqual(self.status(works, 2, 600), (3, ""))

    def test_its_child_is_ended_too(self) -> None:
        """Its parent, ended as well, says how: it would wait for one that goes on."""
        sleeps = (
            "import subprocess\n"
            "child = 'import time; time.sleep(600)'\n"
            "process = subprocess.Popen([sys.executable, '-c', child])\n"
            "def ended(*_):\n    print(process.wait(), flush=True)\n    sys.exit(77)\n"
            "signal.signal(signal.SIGABRT, ended)\n"
            "time.sleep(600)"
        )
        self.assertEqual(self.status(sleeps, 2, 600), (77, "-6\n"))

    def test_one_that_goes_on_is_not(self) -> None:
        goes_on = (
            "for _ in range(12):\n"
            "    end = time.process_time() + 0.2\n"
            "    while time.process_time() < end: pass\n"
            "    print('#', end='', flush=True)\n"
            "    time.sleep(0.3)\n"
            "sys.exit(3)"
        )
        self.assertEqual(self.status(goes_on, 2, 2), (3, 12 * "#"))


if __name__ == "__main__":
    unittest.main()
