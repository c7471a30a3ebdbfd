# SPDX-License-Identifier: GPL-2.0-or-later
"""`make dist`, `make install` and `make uninstall`: a tarball, and what works once it is gone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

from scarplib import cli
from scarplib.build import qemu
from scarplib.command_tree import DEVELOPERS
from scarplib.paths import ROOT
from scarplib.release import dist, install
from scarplib.version import abi, version

sys.path.append(str(ROOT / "tests" / "docs"))
import documents

PREFIX = "/opt/scarp"
SMALL = ("-m", "closed", "-q", "4", "gen:mixed,requests=500")
# A QEMU that is made of other sources would be compiled for minutes.
COMPILES = "with the flash device …"


def _make(folder: Path, target: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", "-C", str(folder), target, *words],
        capture_output=True,
        text=True,
        check=False,
        # Of a make that runs this test.
        env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")},
    )


class Dist(unittest.TestCase):
    def test_twice_is_the_same(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            first, second = Path(name) / "a.tar.gz", Path(name) / "b.tar.gz"
            self.assertEqual(dist.write(first), dist.write(second))
            self.assertEqual(first.read_bytes(), second.read_bytes())
            # Of no machine and no time, with each version of Python.
            self.assertEqual(first.read_bytes()[:10], b"\x1f\x8b\x08\0\0\0\0\0\x02\xff")
            self.assertEqual(subprocess.run(["gzip", "-t", first], check=False).returncode, 0)
            with tarfile.open(first) as tar:
                members = tar.getmembers()
        tracked = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        self.assertEqual(
            [x.name for x in members], [f"scarp-{version()}/{name}" for name in sorted(tracked)]
        )
        self.assertEqual({(x.uid, x.gid, x.uname, x.gname) for x in members}, {(0, 0, "", "")})
        self.assertEqual(len({x.mtime for x in members}), 1)

    def test_a_folder_without_git_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for part in ("Makefile", "ftl", "scripts"):
                source, target = ROOT / part, Path(name) / part
                shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
            done = _make(Path(name), "dist")
            self.assertIn("scarp: error: dist: needs a checkout by git", done.stderr)
            self.assertNotEqual(done.returncode, 0)


class Install(unittest.TestCase):
    """Installed from the tarball, which is then removed, into an empty folder."""

    folder: Path
    place: Path

    @classmethod
    def setUpClass(cls) -> None:
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = Path(holder.name)
        tarball = cls.folder / "scarp.tar.gz"
        dist.write(tarball)
        subprocess.run(["tar", "-xf", str(tarball), "-C", str(cls.folder)], check=True)
        source = cls.folder / f"scarp-{version()}"
        dest = cls.folder / "dest"
        done = _make(source, "install", f"PREFIX={PREFIX}", f"DESTDIR={dest}")
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        shutil.rmtree(source)
        cls.place = Path(f"{dest}{PREFIX}")

    def run_there(
        self, *words: str, folder: str = "work", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """In another folder, with nothing of the checkout in the environment."""
        path = f"{self.place / 'bin'}:{os.environ['PATH']}"
        kept = ("HOME", "XDG_CACHE_HOME", "LANG", "SCARP_QEMU_TARBALL")
        environment = {k: os.environ[k] for k in kept if k in os.environ}
        packages = str(self.place / "lib" / "pkgconfig")
        work = self.folder / folder
        work.mkdir(exist_ok=True)
        return subprocess.run(
            words, cwd=work, capture_output=True, text=True, check=False,
            env={**environment, "PATH": path, "PKG_CONFIG_PATH": packages, **more},
        )  # fmt: skip

    def asked(self, *words: str) -> list[str]:
        """pkg-config."""
        done = self.run_there("pkg-config", *words, "scarp")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_replay(self) -> None:
        drive = self.place / "share" / "scarp" / "devices" / "demo.ini"
        for program in (("scarp-replay",), ("scarp", "replay")):
            done = self.run_there(*program, "-d", str(drive), "--json", "-", *SMALL)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["requests"], 500)
            # The installed one is taken: nothing is built.
            self.assertEqual(done.stderr, "")
        done = self.run_there("scarp", "--version")
        self.assertEqual(done.stdout, f"scarp {version()}\n")

    def test_all_that_scarp_reads_is_there(self) -> None:
        """Also what is no Python: C that a command compiles when it is first used."""
        share = self.place / "share" / "scarp"
        tracked = subprocess.run(
            ["git", "ls-files", *install.FOLDERS],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        self.assertGreater(len(tracked), 500)
        self.assertEqual([x for x in tracked if not (share / x).is_file()], [])
        done = self.run_there(
            "python3", "-Bc",
            "from scarplib.build import requests; print(requests.ensure_requests())",
            PYTHONPATH=str(share / "scripts"), XDG_CACHE_HOME=str(self.folder / "cache"),
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.access(done.stdout.strip(), os.X_OK))

    def test_probe(self) -> None:
        drive = self.place / "share" / "scarp" / "devices" / "demo.ini"
        done = self.run_there("scarp", "probe", str(drive), "--mib", "32")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("probe.json: ", done.stdout)

    def test_array(self) -> None:
        done = self.run_there("scarp", "array", "-n", "2", "-r", "200", "--warmup", "50",
                              "-k", "cache_bytes=1048576", "-m", "cached")  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("requests/s", done.stdout)

    def test_what_a_run_boots_is_the_checkouts(self) -> None:
        """QEMU and guest, by their names in the cache: they say what each is made of."""
        qemu.ensure_qemu()
        said = (
            "from scarplib.build.qemu import ensure_qemu\n"
            "from scarplib.guest.image import ensure_image\n"
            "made = ensure_image()\n"
            "print(ensure_qemu().binary, made.kernel, made.initramfs)\n"
        )
        paths = (self.place / "share" / "scarp" / "scripts", ROOT / "scripts")
        there, here = (
            self.run_there("python3", "-Bc", said, PYTHONPATH=str(path)) for path in paths
        )
        self.assertEqual((there.returncode, here.returncode), (0, 0), there.stderr + here.stderr)
        self.assertNotIn(COMPILES, there.stderr)
        self.assertEqual(there.stdout, here.stdout)
        self.assertEqual(len(there.stdout.split()), 3)

    if os.environ.get("SCARP_TEST_ALL"):

        def test_run(self) -> None:
            """As `make run`, with a shorter job; the QEMU is that of the checkout."""
            qemu.ensure_qemu()
            job = self.place / "share" / "scarp" / "fio-jobs" / "short.fio"
            done = self.run_there("scarp", "run", "--job", str(job))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn(COMPILES, done.stderr)
            latest = self.folder / "work" / "out" / "latest"
            summary = json.loads((latest / "summary.json").read_text())
            self.assertEqual(summary["manifest"]["scarp"], version())
            self.assertTrue((latest / "report.html").is_file())

        def test_the_first_hour_in_an_empty_folder(self) -> None:
            """docs/first-hour.md as it is printed: all but what changes the engine's sources."""
            page = (ROOT / "docs" / "first-hour.md").read_text()
            steps = documents.parse("first-hour.md", page.partition("\n## 7. ")[0]).commands
            typed = [step.written for step in steps if step.written != "make"]
            self.assertGreaterEqual(len(typed), 9)
            for line in typed:
                words = line.replace("make run", "scarp run").replace("scripts/scarp", "scarp")
                done = self.run_there("sh", "-c", words, folder="empty")
                self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
                self.assertNotIn("No such file", done.stderr)
            made = self.folder / "empty"
            self.assertEqual(
                sorted(path.name for path in made.iterdir()), ["commands.csv", "out", "remedies"]
            )
            self.assertTrue((made / "out" / "latest" / "report.html").is_file())

    def test_library(self) -> None:
        """The example, by pkg-config alone, shared and static."""
        source = self.place / "share" / "scarp" / "examples" / "tail.c"
        drive = str(self.place / "share" / "scarp" / "devices" / "demo.ini")
        library = self.place / "lib"
        outputs = []
        for how in ("shared", "static"):
            flags = self.asked("--cflags", "--libs")
            if how == "static":
                flags = [str(library / "libscarp.a") if x == "-lscarp" else x for x in flags]
            done = self.run_there(
                "cc", "-Wall", "-Wextra", "-Werror", "-o", how, str(source), *flags
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            path = str(library) if how == "shared" else "/nowhere"
            done = self.run_there(f"./{how}", drive, LD_LIBRARY_PATH=path)
            self.assertEqual(done.returncode, 0, done.stderr)
            outputs.append(done.stdout)
        self.assertRegex(outputs[0], r"(?m)^ +\d+ us of each: die_gc_program$")
        self.assertEqual(outputs[0], outputs[1])
        done = self.run_there("./static", "nowhere.ini")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^tail: description=nowhere\.ini: .*\n$")

    def test_binding(self) -> None:
        share = self.place / "share" / "scarp"
        (folder,) = self.asked("--variable=pythondir")
        done = self.run_there(
            "python3", str(share / "examples" / "sweep.py"), str(share / "devices" / "demo.ini"),
            PYTHONPATH=folder,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 10)

    def test_manual_and_completion(self) -> None:
        """A page for each command, with each option that --help has."""
        pages = {x.name: x.read_text() for x in (self.place / "share/man/man1").iterdir()}
        commands = re.findall(r"^  ([a-z][a-z-]*) ", self.run_there("scarp", "--help").stdout, re.M)
        users = [x.name for x in cli.tree().listed.values() if x.section != DEVELOPERS]
        # Nothing that needs a checkout is listed.
        self.assertEqual(sorted(commands), sorted(users))
        self.assertGreater(len(users), 12)
        self.assertEqual(set(pages), {"scarp.1", *(f"scarp-{name}.1" for name in users)})
        for name in users:
            done = self.run_there("scarp", name, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            page = pages[f"scarp-{name}.1"].replace("\\-", "-")
            for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", done.stdout, re.MULTILINE):
                if option != "--help":
                    self.assertRegex(page, rf"(?m)^\.B (.*[ ,])?{option}([ =,].*)?$", name)
        if shutil.which("groff"):
            for name in sorted(pages):
                path = str(self.place / "share/man/man1" / name)
                done = self.run_there("groff", "-ww", "-man", "-Tutf8", path)
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        bash = self.place / "share/bash-completion/completions/scarp"
        done = self.run_there(
            "bash", "-c",
            f"source {bash}; COMP_LINE='scarp ag'; COMP_POINT=8; COMP_WORDS=(scarp ag);"
            " COMP_CWORD=1; _scarp; echo ${COMPREPLY[@]}",
        )  # fmt: skip
        self.assertEqual(done.stdout, "age\n", done.stderr)
        zsh = (self.place / "share/zsh/site-functions/_scarp").read_text()
        self.assertTrue(zsh.startswith("#compdef scarp\n") and zsh.endswith('\n_scarp "$@"\n'))

    def test_what_needs_a_checkout_is_told(self) -> None:
        for name in ("test", "lint", "bench", "update-locks", "install"):
            done = self.run_there("scarp", name)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
            self.assertIn(f"{name}: needs a checkout", done.stderr)

    def test_over_another_version(self) -> None:
        """What that one had and this one has not goes; the folders stay on the list."""
        manifest = self.place / "share" / "scarp" / "installed.json"
        before = json.loads(manifest.read_text())
        old = self.place / "share" / "scarp" / "devices" / "old.ini"
        old.write_text("")
        more = {**before, "files": [*before["files"], str(old.relative_to(self.place))]}
        manifest.write_text(json.dumps(more))
        done = _make(ROOT, "install", f"PREFIX={PREFIX}", f"DESTDIR={self.folder / 'dest'}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(old.exists())
        self.assertEqual(json.loads(manifest.read_text()), before)

    def test_zz_uninstall(self) -> None:
        """The last: nothing is left but what is somebody else's."""
        dest = self.folder / "dest"
        other = self.place / "bin" / "other"
        other.write_text("")
        words = (f"PREFIX={PREFIX}", f"DESTDIR={dest}")
        done = _make(ROOT, "uninstall", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([x for x in dest.rglob("*") if not x.is_dir()], [other])
        self.assertEqual([x for x in dest.rglob("*") if x.is_dir()], list(other.parents)[2::-1])
        done = _make(ROOT, "uninstall", *words)
        self.assertIn("nothing was installed there", done.stderr)
        done = _make(ROOT, "install", "PREFIX=here")
        self.assertIn("PREFIX=here: must be an absolute path", done.stderr)


class Links(unittest.TestCase):
    def test_the_librarys_names(self) -> None:
        """What programs ask for has the ABI's number, not the version's."""
        links = install.tree(cli.tree()).links
        self.assertEqual(links["lib/libscarp.so"], f"libscarp.so.{abi()}")
        self.assertEqual(links[f"lib/libscarp.so.{abi()}"], f"libscarp.so.{version()}")


if __name__ == "__main__":
    unittest.main()
