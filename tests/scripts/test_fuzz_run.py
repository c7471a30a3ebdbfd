# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/fuzz begins with: inputs that are kept, each tried as it is."""

import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"

# Fails on one input, which no mutation of another one makes.
TARGET = """
#include "fuzz.h"
#include <string.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return size == 9 && !memcmp(data, "its crash", 9) ? __builtin_trap(), 1 : 0;
}
"""


class WithoutLibFuzzer(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.seeds = self.folder / "seeds"
        self.seeds.mkdir()
        (self.folder / "target.c").write_text(TARGET)
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "glib-2.0"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.split()
        sources = [str(self.folder / "target.c"), str(FUZZ / "driver.c")]
        subprocess.run(
            ["cc", f"-I{FUZZ}", *sources, *flags, "-o", str(self.folder / "fuzz")], check=True
        )

    def tried(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "fuzz", "-max_total_time=0", self.seeds],
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )

    def test_each_input_is_tried_as_it_is(self) -> None:
        for i in range(20):
            (self.seeds / f"seed-{i}").write_text(f"number {i}")
        ended = self.tried()
        self.assertEqual((ended.returncode, ended.stderr), (0, "Done 20 runs\n"))
        (self.seeds / "seed-once").write_text("its crash")
        self.assertLess(self.tried().returncode, 0)
        self.assertEqual((self.folder / "input").read_text(), "its crash")

    def test_no_inputs(self) -> None:
        ended = self.tried()
        self.assertEqual((ended.returncode, ended.stderr), (1, "no seeds\n"))


class Kept(unittest.TestCase):
    def test_each_is_a_target_s(self) -> None:
        targets = {path.stem.removeprefix("fuzz-") for path in FUZZ.glob("fuzz-*.c")}
        listed = subprocess.run(
            ["python3", FUZZ / "scripts.py", "--list"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.split()
        kept = {path.name.removesuffix(".tar.gz"): path for path in FUZZ.glob("corpus/*")}
        self.assertTrue(kept)
        for target, path in kept.items():
            with self.subTest(target), tarfile.open(path) as archive:
                self.assertIn(target, targets | {*listed})
                files = [member for member in archive if member.isfile()]
                self.assertGreater(len(files), 5)
                self.assertLessEqual(max(member.size for member in files), 4096)
