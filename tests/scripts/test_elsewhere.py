# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs elsewhere and never here: the public service's matrix, and the container's recipe."""

from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path
from unittest import mock

from scarplib.build import host_packages, qemu
from scarplib.paths import ROOT

sys.path.insert(0, str(ROOT / "tests" / "container"))
import by_hand

WORKFLOW = ROOT / ".github" / "workflows" / "check.yml"


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


class Matrix(unittest.TestCase):
    def setUp(self) -> None:
        self.text = WORKFLOW.read_text()

    def test_releases(self) -> None:
        for image in ("debian:12", "debian:13", "ubuntu:24.04"):
            self.assertIn(f'"{image}"', self.text)

    def test_ubuntu_is_told_where_debians_packages_are(self) -> None:
        self.assertIn("SCARP_DEBIAN_MIRROR: ${{ vars.SCARP_DEBIAN_MIRROR }}\n", self.text)

    def test_commands(self) -> None:
        named = re.findall(r"\bmake ([a-z-]+)", re.sub(r"apt-get.*", "", self.text))
        self.assertEqual(set(named), {"test-tsan", "hunt", "coverage"})
        self.assertLessEqual(set(named), targets())
        self.assertIn("run: sh .ci/run\n", self.text)
        self.assertTrue((ROOT / ".ci" / "run").is_file())

    def test_no_check_is_skipped(self) -> None:
        for line in re.findall(r"apt-get install.*", self.text):
            self.assertIn(" clang ", line)

    def test_indented_by_two(self) -> None:
        """A tab, or an odd indentation, would be another tree."""
        self.assertNotIn("\t", self.text)
        for line in self.text.splitlines():
            self.assertEqual((len(line) - len(line.lstrip())) % 2, 0, line)


class Container(unittest.TestCase):
    def setUp(self) -> None:
        self.steps = by_hand.steps()

    def test_two_stages_of_one_release(self) -> None:
        stages = [what.split()[0] for step, what in self.steps if step == "FROM"]
        self.assertEqual(stages, ["debian:13"] * 2)

    def test_each_step_can_be_done_by_hand(self) -> None:
        known = {"FROM", "RUN", "USER", "WORKDIR", "COPY", "CMD"}
        self.assertLessEqual({step for step, _ in self.steps}, known)

    def test_build_packages(self) -> None:
        """All that a build looks for: as a user it could not install them."""
        install = next(what for step, what in self.steps if "apt-get install" in what)
        words = set(install.split())
        self.assertLessEqual(set(host_packages.BUILD_PACKAGES), words)
        self.assertLessEqual({"git", "make", "python3"}, words)

    def test_nothing_but_installing_is_done_as_root(self) -> None:
        user = "root"
        for step, what in self.steps:
            user = {"FROM": "root", "USER": what}.get(step, user)
            if step == "RUN" and user == "root":
                self.assertRegex(what, "^(apt-get update && apt-get install|useradd) ")
            if step == "CMD":
                self.assertEqual(user, "scarp")

    def test_what_it_names_exists(self) -> None:
        run = [what for step, what in self.steps if step in ("RUN", "CMD")]
        self.assertIn("make setup", run)
        self.assertIn('["make", "run"]', run)
        self.assertLessEqual({"setup", "run"}, targets())
        for word in re.findall(r"\bscripts/\S+", "\n".join(run)):
            self.assertTrue((ROOT / word).is_file(), word)
        self.assertTrue(by_hand.RECIPE.with_name("Containerfile.dockerignore").is_file())

    def test_what_was_built_needs_no_build_packages(self) -> None:
        """As in the second stage: of QEMU there is a program, and a source with a version."""
        source = Path("/nonexistent/src")
        with (
            mock.patch.object(qemu, "ensure_source", return_value=source),
            mock.patch.object(qemu, "_version", return_value="10.0.13"),
            mock.patch.object(qemu, "ensure_firmware", return_value=source),
            mock.patch.object(qemu, "ensure_packages") as packages,
            mock.patch.object(Path, "is_file", return_value=True),
        ):
            self.assertEqual(qemu.ensure_qemu().version, "10.0.13")
        packages.assert_not_called()


if __name__ == "__main__":
    unittest.main()
