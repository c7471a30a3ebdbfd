# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: names, numbers with units, hints, and who is shown which commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from refused import Refused  # noqa: E402
from scarplib import cli, command_tree  # noqa: E402
from scarplib.command_tree import DEVELOPERS  # noqa: E402
from scarplib.drive.hints import hint  # noqa: E402
from scarplib.option_types import MIBS, NANOSECONDS, THOUSANDTHS, counted  # noqa: E402
from scarplib.paths import DEVICES, FIO_JOBS  # noqa: E402
from scarplib.replays.replay import in_the_replayers_words  # noqa: E402
from typed import swept, typed  # noqa: E402


class Help(Refused):
    def test_every_command_is_in_one_section(self) -> None:
        tree = cli.tree()
        listed = [each.name for section in tree.sections().values() for each in section]
        self.assertEqual(sorted(listed), sorted(tree.listed))
        for name in listed:
            self.assertIn(f"\n  {name} ", tree.format_help())

    def test_of_an_installed_one(self) -> None:
        """Its help and its errors name no command that needs a checkout, which says so itself."""
        with mock.patch.object(command_tree, "INSTALLED", True):
            tree = cli.tree()
            developers = [x.name for x in tree.listed.values() if x.section == DEVELOPERS]
            self.assertIn("lint", developers)
            for name in developers:
                self.assertNotIn(f"\n  {name} ", tree.format_help())
            self.assertNotIn("lint", self.error("lnit"))
            self.assertEqual(
                self.error("lint"), "scarp: error: lint: needs a checkout; this scarp is installed"
            )

    def test_needs_no_package(self) -> None:
        """Python alone: what is imported for --help is the standard library's, or Scarp's."""
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(ROOT / "scripts" / "scarp"), "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("for developers of Scarp:", done.stdout)

    def test_compiles_its_modules_once(self) -> None:
        """Into the cache: nothing appears beside their sources, which may be another user's."""
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            environment["XDG_CACHE_HOME"] = str(folder / "cache")
            # A copy, as other tests may write into the checkout meanwhile.
            scripts = folder / "scripts"
            shutil.copytree(ROOT / "scripts", scripts, ignore=shutil.ignore_patterns("__pycache__"))
            # --version is this one's.
            (folder / "ftl").mkdir()
            shutil.copy(ROOT / "ftl" / "scarp.h", folder / "ftl")
            before = {*scripts.rglob("*")}
            command = [sys.executable, str(scripts / "scarp"), "--version"]
            subprocess.run(command, env=environment, check=True, capture_output=True)
            made = [*(folder / "cache" / "scarp" / "pycache").rglob("scarplib/cli.*.pyc")]
            self.assertEqual({*scripts.rglob("*")}, before)
        self.assertEqual(len(made), 1)

    def test_options_before_the_command(self) -> None:
        self.assertTrue(typed("--unlocked", "run").unlocked)
        self.assertTrue(typed("run", "--unlocked").unlocked)
        self.assertFalse(typed("run").unlocked)
        self.assertEqual(
            typed("replay", "--unlocked", "-d", "x.ini", "t").typed, ["-d", "x.ini", "t"]
        )


class Hints(Refused):
    def test_the_nearest_word(self) -> None:
        for words, near in (
            (("rnu",), "run"),
            (("compare", "--scheme", "pgc"), "--schemes"),
            (("compare", "--clock", "virtul"), "virtual"),
            (("run", "--fs", "ext"), "ext4"),
            (("run", "--job", "shrot"), "short"),
            (("run", "--device", "dmeo"), "demo"),
            (("sweep", "--devices", "tcl", "--seeds", "1"), "tlc"),
        ):
            with self.subTest(words):
                self.assertIn(f"did you mean {near}?", self.error(*words))

    def test_names_that_there_are_where_none_is_near(self) -> None:
        for words, key, folder in (
            (("compare", "--device", "xyzzy"), "--device", DEVICES),
            (("sweep", "--devices", "xyzzy", "--seeds", "1"), "--devices", DEVICES),
            (("fill", "xyzzy"), "DEVICE", DEVICES),
            (("compare", "--job", "xyzzy"), "--job", FIO_JOBS),
        ):
            with self.subTest(words):
                names = ", ".join(path.stem for path in sorted(folder.glob("*.*")))
                said = f"scarp: error: {key}: xyzzy: no such file, nor one of {names}"
                self.assertEqual(self.error(*words), said)

    def test_of_what_the_engine_says(self) -> None:
        for said, wanted in (
            ("scheme=pcg: unknown; allowed, joined by '+': ideal, pgc, gftl", "pgc"),
            ("unknown key gc.trigge; allowed are gc.trigger gc.after_reads", "gc.trigger"),
            ("the scheme pgc has no parameter 'pgc_flor'; allowed are pgc_floor", "pgc_floor"),
        ):
            self.assertEqual(hint(said), f"; did you mean {wanted}?")
        self.assertEqual(hint("scheme=xyzzy: unknown; allowed, joined by '+': ideal, pgc"), "")

    def test_drives_that_a_scheme_needs(self) -> None:
        said = hint("scheme=gc-par: 'gc-par' needs dies of two or more planes "
                    "(geometry.planes_per_die)")  # fmt: skip
        names = said.partition(": ")[2].split(", ")
        self.assertIn("tlc", names)
        self.assertNotIn("demo", names)


class Missing(Refused):
    """What is missing or wrong is said in a line before anything is fetched or built."""

    def test_files(self) -> None:
        for words in (("fit", "none.json"), ("convert", "none.vscsi", "-o", "x.csv")):
            with (
                self.subTest(words),
                mock.patch("scarplib.build.venv.go_on_with", side_effect=AssertionError),
            ):
                line = self.error(*words)
                self.assertEqual(line, f"scarp: error: {words[1]}: No such file or directory")

    def test_options_of_a_prompt_that_exclude_each_other(self) -> None:
        with mock.patch("scarplib.guest.user_guest.prepare", side_effect=AssertionError):
            line = self.error("shell", "--zoned", "--mkfs", "ext4")
            self.assertIn("--mkfs: excludes --zoned", line)

    def test_a_report_of_one_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue(self.error("report", folder).endswith("missing, to stand beside"))
            page = Path(folder) / "report.html"
            page.write_text("")
            self.assertIn(f"; the report of {folder} alone is {page}", self.error("report", folder))


class Names(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.addCleanup(os.chdir, Path.cwd())
        os.chdir(temporary.name)

    def test_from_every_folder(self) -> None:
        demo = DEVICES / "demo.ini"
        for name in ("demo", "demo.ini", "devices/demo.ini", str(demo)):
            self.assertEqual(typed("run", "--device", name).device, demo)
            self.assertEqual(typed("age", name, "-o", "x").description, demo)
            self.assertEqual(typed("probe", name).drive, demo)
            self.assertEqual(swept("--devices", name, "--seeds", "1").devices, (str(demo),))
            for words in (["-d", name], [f"-d{name}"], [f"--device={name}"]):
                self.assertEqual(in_the_replayers_words(words), ["--description", str(demo)])
        self.assertEqual(typed("run", "--job", "fio-jobs/short.fio").job, FIO_JOBS / "short.fio")
        self.assertEqual(typed("run", "--job", "short").job, FIO_JOBS / "short.fio")

    def test_the_users_own_goes_first(self) -> None:
        Path("demo").touch()
        self.assertEqual(typed("run", "--device", "demo").device, Path("demo"))
        # A folder is no drive.
        Path("tlc").mkdir()
        self.assertEqual(typed("run", "--device", "tlc").device, DEVICES / "tlc.ini")

    def test_what_nobody_has_is_refused_later(self) -> None:
        for name in ("mine.ini", "elsewhere/demo.ini"):
            self.assertEqual(typed("run", "--device", name).device, Path(name))


class Numbers(Refused):
    def test_units(self) -> None:
        for text, units, value in (
            ("90%", THOUSANDTHS, 900),
            ("12.5%", THOUSANDTHS, 125),
            ("900", THOUSANDTHS, 900),
            ("1.5G", MIBS, 1536),
            ("20 ms", NANOSECONDS, 20_000_000),
            ("12.55%", THOUSANDTHS, None),
            ("1.5", MIBS, None),
            ("-5%", THOUSANDTHS, None),
            ("5K", MIBS, None),
            ("٣", THOUSANDTHS, None),
        ):
            self.assertEqual(counted(text, units), value, text)

    def test_where_numbers_are_given(self) -> None:
        options = typed("run", "--age", "90%", "--overwrite", "150%", "--memory", "1G")
        self.assertEqual((options.age, options.overwrite, options.memory), (900, 1500, 1024))
        options = typed("timeline", "x", "--around", "1.5s", "--for", "20ms", "-o", "y")
        self.assertEqual((options.around, options.length), (1_500_000_000, 20_000))
        self.assertEqual(in_the_replayers_words(["--age=50%"]), ["--age", "500"])
        self.assertEqual(typed("replay", "--age", "50%").age, "500")
        self.assertIn("0 to 1000", self.error("run", "--age", "101%"))


if __name__ == "__main__":
    unittest.main()
