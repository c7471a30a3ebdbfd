# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/fuzz begins with: inputs that are kept, each tried as it is."""

import os
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"


def compiled(folder: Path, text: str, *sources: Path) -> Path:
    """A program of this and of files of tests/fuzz."""
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    said = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "glib-2.0"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    command = ["cc", f"-I{FUZZ}", str(source), *map(str, sources), *said.stdout.split()]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


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
        self.program = compiled(self.folder, TARGET, FUZZ / "driver.c")

    def tried(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, "-max_total_time=0", self.seeds],
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


# Writes down how it is called, and makes programs that do nothing.
CLANG = """\
#!/bin/sh
echo "$*" >>"$CALLS"
while [ $# -gt 0 ]; do
    [ "$1" = -o ] && printf '#!/bin/sh\\necho Done' >"$2" && chmod +x "$2"
    shift
done
"""


class Variables(unittest.TestCase):
    """What run.sh is told by its environment."""

    def run_sh(self, clang: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], str]:
        """It, and how it called a compiler that is none."""
        with tempfile.TemporaryDirectory() as name:
            calls, compiler = Path(name) / "calls", Path(name) / "clang"
            calls.touch()
            compiler.write_text(clang)
            compiler.chmod(0o755)
            path = f"{name}:{os.environ['PATH']}"
            ended = subprocess.run(
                ["sh", str(FUZZ / "run.sh"), "1", "label"],
                env={**os.environ, "PATH": path, "CALLS": str(calls), **variables},
                capture_output=True,
                text=True,
            )
            return ended, calls.read_text()

    def test_without_sanitizers(self) -> None:
        for value, expected in (("", True), ("none", False)):
            with self.subTest(value):
                ended, calls = self.run_sh(CLANG, FUZZ_SANITIZE=value)
                self.assertEqual(ended.stdout.splitlines()[-1], "1..1", ended.stderr)
                engine = [line for line in calls.splitlines() if "/ftl/" in line and " -c " in line]
                self.assertGreater(len(engine), 50)
                sanitized = ["-fsanitize=address,undefined" in line for line in engine]
                self.assertEqual(sanitized, [expected] * len(engine))

    def test_without_sanitizers_needs_clang(self) -> None:
        ended, _ = self.run_sh("#!/bin/sh\nexit 1\n", FUZZ_SANITIZE="none")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(ended.stderr, "run.sh: FUZZ_SANITIZE: needs clang's libFuzzer\n")

    def test_values_that_are_none(self) -> None:
        for key, allowed in (("FUZZ_SANITIZE", "none"), ("FUZZ_LAWS", "end")):
            ended, calls = self.run_sh(CLANG, **{key: "x"})
            self.assertEqual((ended.returncode, calls), (1, ""))
            self.assertEqual(ended.stderr, f"run.sh: {key}=x: {allowed}, or nothing\n")


# As libFuzzer, it knows of SIGABRT, and not of a trap.
FAILS = """
#include "fuzz.h"
#include <glib.h>
#include <unistd.h>
static void keep(int signal)
{
    _exit(signal == SIGABRT ? 7 : 1);
}
int main(void)
{
    signal(SIGABRT, keep);
    g_error("a law is broken");
}
"""


class Errors(unittest.TestCase):
    def test_the_input_of_a_broken_law_is_kept(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            program = compiled(Path(name), FAILS)
            ended = subprocess.run([program], stderr=subprocess.PIPE, text=True)
            self.assertEqual(ended.returncode, 7, ended.stderr)


class Least(unittest.TestCase):
    """Of what a target of the scripts has kept."""

    def test_what_brings_nothing_is_left(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            seeds, into = Path(name) / "seeds", Path(name) / "into"
            seeds.mkdir()
            into.mkdir()
            program: list[str | Path] = ["python3", FUZZ / "scripts.py"]
            subprocess.run([*program, "--seeds", seeds], check=True)
            for path in seeds.glob("*"):
                if not path.name.startswith("scripts-logs"):
                    path.unlink()
            log = seeds / "scripts-logs-gc-1"
            (seeds / "again").write_bytes(log.read_bytes())
            # Ends where the log does, and earlier.
            (seeds / "short").write_bytes(log.read_bytes()[:1])
            (seeds / "shorter").write_bytes(b"")
            subprocess.run([*program, "--least", "scripts-logs", seeds, into], check=True)
            kept = {path.name for path in into.glob("*")}
            self.assertFalse(kept & {log.name, "shorter"})
            self.assertLessEqual(
                {"again", "short", "scripts-logs-cmd-0", "scripts-logs-page"}, kept
            )


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
