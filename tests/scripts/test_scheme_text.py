# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheme with its parameters: parsed, handed to each program, found again by its folder."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from refused import Refused  # noqa: E402
from scarplib import cli, scheme_text  # noqa: E402
from scarplib.build import first_answer  # noqa: E402
from scarplib.completion import words as words_module  # noqa: E402
from scarplib.device_logs import as_csv  # noqa: E402
from scarplib.drive import age, check, choices, start  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest import vm  # noqa: E402
from scarplib.option_types import one_scheme, scheme_list  # noqa: E402
from scarplib.results import in_words, summary  # noqa: E402
from scarplib.results.pictures import schemes as looks  # noqa: E402
from scarplib.runs import run, run_drives  # noqa: E402
from scarplib.runs.command import compared  # noqa: E402
from scarplib.sweep import sweep  # noqa: E402
from typed import swept  # noqa: E402

DEMO = str(ROOT / "devices" / "demo.ini")
# As `scarp-replay --list` has them.
LISTED = """\
baseline: all defaults
gc-vic: the paper's [merging=gc-par] [victim=read-match]
pgc: pacing: yields (Lee 2011)
    pgc_floor=2 (1 to 9 blocks): no longer yields
d-choices: victim: of d (Van Houdt 2013)
    d=10 (1 to 1024 blocks): drawn
read-match: victim: most partners (hpdc18)
    candidates=10 (1 to 64 blocks): compared
gc-par: merging: pairs (hpdc18)
    second_active_block=1 (0 to 1 switch): a block
"""


class Parsed(unittest.TestCase):
    def test_taken_apart(self) -> None:
        for text, name, params in (
            ("baseline", "baseline", ""),
            ("d-choices:d=5", "d-choices", "d=5"),
            ("pgc+d-choices:d=5:pgc_floor=3", "pgc+d-choices", "d=5,pgc_floor=3"),
        ):
            chosen = scheme_text.parse("--schemes", text)
            self.assertEqual((chosen.name, chosen.params()), (name, params))
            self.assertEqual(scheme_text.split(text), chosen)
            self.assertEqual(
                chosen.words(), ["--scheme", name, *(["--params", params] if params else [])]
            )
        self.assertEqual(
            scheme_list("baseline,d-choices:d=2,d-choices:d=10"),
            ["baseline", "d-choices:d=2", "d-choices:d=10"],
        )
        self.assertEqual(one_scheme("d-choices:d=2"), "d-choices:d=2")

    def test_what_is_wrong_is_named(self) -> None:
        for text, *says in (
            ("d-choices:", "'d-choices:'", "KEY=VALUE", "`scarp schemes d-choices`"),
            ("d-choices:d", "'d-choices:d'", "'d'"),
            ("d-choices:d=", "'d='"),
            ("d-choices:=5", "'=5'"),
            ("d-choices:d=5:", "'d-choices:d=5:'"),
            ("d-choices:d=../x", "'d=../x'"),
            ("d-choices:d=1:d=2", "'d-choices:d=1:d=2'", "'d' is given twice"),
            ("d-choices:d=1,d-choices:d=1", "'d-choices:d=1' is named twice"),
            # The same parameters in another order.
            ("a:x=1:y=2,a:y=2:x=1", "'a:y=2:x=1' is named twice"),
            ("D:d=1", "'D'", "lower-case"),
            # As --params has them.
            ("a:x=1,y=2", "'y=2'", "behind a ':'"),
        ):
            with self.subTest(text), self.assertRaises(UserError) as caught:
                scheme_list(text)
            for word in ("--schemes: ", *says):
                self.assertIn(word, str(caught.exception))
        for text in ("a,b", "a:", "a:x=1,b"):
            with self.subTest(text), self.assertRaisesRegex(UserError, "^--scheme: "):
                one_scheme(text)

    def test_a_folder_of_its_own_that_is_safe_in_paths(self) -> None:
        columns = scheme_list("a,a:x=1,a:x=2,a:x=1:y=2,a-x:y=1,a:y=1,b+a:x=1,a-x")
        columns += [f"ext4-{column}" for column in columns]
        folders = [scheme_text.folder_name(column) for column in columns]
        self.assertEqual(folders[1], "a-x=1")
        self.assertEqual(len(set(folders)), len(columns))
        for column, folder in zip(columns, folders, strict=True):
            self.assertRegex(folder, r"^[\w.+=-]+$")
            self.assertEqual(scheme_text.column_in(columns, folder), column)
        self.assertEqual(scheme_text.column_in(columns, "none"), "none")


class HandedOn(unittest.TestCase):
    def test_to_the_device(self) -> None:
        drive = vm.FlashDrive(description=Path(DEMO), scheme="pgc+d-choices:d=5:pgc_floor=3")
        device = drive.arguments(0)[1]
        self.assertIn(",scheme=pgc+d-choices,", device)
        self.assertIn(",params=d=5;pgc_floor=3", device)
        self.assertNotIn("params", vm.FlashDrive(description=Path(DEMO)).arguments(0)[1])

    def test_to_whoever_judges_it(self) -> None:
        refused = mock.Mock(returncode=1, stderr="")
        qemu = mock.Mock(binary=Path("qemu"), firmware_dir=Path("firmware"))
        with mock.patch("subprocess.run", return_value=refused) as ran:
            with self.assertRaisesRegex(UserError, "^'d-choices:d=5:e=1': "):
                check.check_drive(qemu, Path(DEMO), "d-choices:d=5:e=1")
            self.assertIn("scheme=d-choices,", ran.call_args.args[0][-1])
            self.assertIn(",params=d=5;e=1", ran.call_args.args[0][-1])
            with self.assertRaisesRegex(UserError, "^exit status"):
                check.check_drive(qemu, Path(DEMO), "d-choices")

    def test_to_the_replayer(self) -> None:
        words = ["--scheme", "d-choices", "--params", "d=5"]
        begun = start.of_run(
            {"start": [["seed", "1"]], "schemes": {"ext4-d-choices:d=5": {}},
             "columns": {"ext4-d-choices:d=5": "d-choices:d=5"}},
            Path(), "ext4-d-choices:d=5",
        )  # fmt: skip
        assert begun
        self.assertEqual(begun.words(), [*words, "--seed", "1"])
        with mock.patch.object(first_answer, "first_replay", lambda: Path("scarp-replay")):
            aged = age.command(Path(DEMO), Path("x"), 900, 1, scheme="d-choices:d=5")
        self.assertEqual(aged[3:7], words)


class Commands(Refused):
    def test_refused_before_anything_is_built(self) -> None:
        for words, *says in (
            (("compare", "--schemes", "baseline,d-choices:"), "--schemes", "'d-choices:'"),
            (("shell", "--scheme", "d-choices:d"), "--scheme", "'d-choices:d'"),
            (("age", DEMO, "-o", "x.img", "--scheme", "a:=1"), "--scheme", "'a:=1'"),
            (("powercut", "--check", "fs", "--scheme", "a:b"), "--scheme", "'a:b'"),
            (
                ("replay", "-d", DEMO, "--schemes", "pgc,a:b=1", "-p", "c=2", "gen:zipf"),
                "--params",
                "'a:b=1'",
            ),
            (("replay", "-d", DEMO, "-s", "a:b=1:c=2", "x"), "--scheme a --params b=1,c=2"),
            (
                ("sweep", "--devices", DEMO, "--seeds", "1", "--replay", "x", "--schemes=a:"),
                "--schemes",
                "'a:'",
            ),
        ):
            with self.subTest(words):
                line = self.error(*words)
                for word in says:
                    self.assertIn(word, line)

    def test_a_sweeps_cells_are_told_and_kept_apart(self) -> None:
        found = []
        for schemes in ("a,b:x=1", "a,b:x=2"):
            of = swept("--devices", DEMO, "--seeds", "1", "--schemes", schemes)
            (cell,) = sweep.cells(of, "p", Path("out"))
            self.assertEqual(sweep.command(of, cell, Path("o"))[-2:], ["--schemes", schemes])
            found.append(cell.path)
        self.assertNotEqual(*found)
        self.assertEqual(compared(of.rest).schemes, ["a", "b:x=2"])


class Results(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def test_columns_and_their_jobs(self) -> None:
        settings = run.Settings(None, Path(DEMO), ["pgc", "d-choices:d=2", "d-choices:d=10"],
                                age=900, seed=1, smp=1)  # fmt: skip
        image = mock.Mock()
        columns = run.columns(settings, None, image)
        self.assertEqual(list(columns), settings.schemes)
        guest = mock.Mock()
        of_fs = run.columns(settings, mock.Mock(guests={"ext4": guest, "xfs": guest}), image)
        self.assertIn("xfs-d-choices:d=10", of_fs)
        self.assertEqual(of_fs["xfs-d-choices:d=10"].scheme, "d-choices:d=10")

    def test_layouts_of_several_drives(self) -> None:
        settings = run.Settings(Path("job"), Path(DEMO), ["pgc", "pgc:pgc_floor=3"],
                                age=900, seed=1, smp=1)  # fmt: skip
        over = run_drives.Over(2, ["md"])
        jobs = run_drives.jobs_of(settings, over, self.folder, (Path("a"), Path("b")))
        self.assertEqual(list(jobs), ["md-pgc", "md-pgc:pgc_floor=3"])
        self.assertEqual(jobs["md-pgc:pgc_floor=3"].out, self.folder / "md-pgc-pgc_floor=3")
        self.assertEqual(jobs["md-pgc:pgc_floor=3"].scheme, "pgc:pgc_floor=3")

    def test_what_is_kept_says_the_parameters(self) -> None:
        said = summary.said_params({"scheme": "d-choices", "gc_runs": 1}, "d-choices:d=2:e=3")
        self.assertEqual(said, {"scheme": "d-choices", "params": "d=2,e=3", "gc_runs": 1})
        self.assertEqual(summary.said_params({"scheme": "pgc"}, "pgc"), {"scheme": "pgc"})

    def test_rows_know_the_column_of_a_folder(self) -> None:
        folder = self.folder / "d-choices-d=2"
        synthetic.write_scheme(folder, "d-choices", count=400)
        found = summary.load_scheme(folder, "d-choices:d=2").summary
        found["stats"]["full_merges"] = 1
        whole = {"schemes": {"d-choices:d=2": found}}
        (self.folder / "summary.json").write_text(json.dumps(whole))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(in_words.main(folder, None, as_csv.ALL), 0)
        self.assertIn("merge", said.getvalue())

    def test_no_two_columns_of_a_picture_look_alike(self) -> None:
        for names in (
            ["baseline", *(f"d-choices:d={d}" for d in range(5))],
            ["pgc", *(f"pgc:pgc_floor={d}" for d in range(5))],
            [f"d-choices:d={d}" for d in range(6)],
        ):
            found = looks.looks(names)
            self.assertEqual(list(found), names)
            for one, other in itertools.combinations(names, 2):
                self.assertNotEqual(found[one].colour, found[other].colour)
        many = looks.looks(["pgc", *(f"pgc:pgc_floor={d}" for d in range(25))])
        self.assertEqual(len(set(many.values())), 26)
        # A scheme without parameters is drawn as ever.
        self.assertEqual(many["pgc"], looks.look("pgc"))


class Completed(unittest.TestCase):
    def test_parameters(self) -> None:
        with (
            mock.patch.object(choices, "listed", lambda _: [LISTED]),
            mock.patch.object(words_module, "_replayer", lambda: Path("x")),
        ):
            for line, expected in (
                ("run --schemes baseline,d-choices:", ["baseline,d-choices:d="]),
                ("run --schemes pgc:pg", ["pgc:pgc_floor="]),
                ("run --schemes=pgc+d-choices:d=5:", ["--schemes=pgc+d-choices:d=5:pgc_floor="]),
                ("run --schemes pgc:pgc_floor=", []),
                ("run --schemes d-choices:d=5,pg", ["d-choices:d=5,pgc"]),
                ("shell --scheme gc-vic:", ["gc-vic:second_active_block=", "gc-vic:candidates="]),
                ("run --schemes none:", []),
                # Of one scheme the replayer has --params.
                ("replay -s d-choices:", []),
                ("replay --schemes d-choices:", ["d-choices:d="]),
            ):
                with self.subTest(line):
                    self.assertEqual(words_module.completed(cli.tree(), line.split(" ")), expected)


if __name__ == "__main__":
    unittest.main()
