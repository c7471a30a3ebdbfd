# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts' own order: which package may import which, and what exists once."""

from __future__ import annotations

import ast
import unittest
from collections.abc import Iterator

from scarplib.paths import SCRIPTS

LIBRARY = SCRIPTS / "scarplib"
# A package imports from those before it; the modules beside them, which all may use, are first.
ORDER = (
    *("paths", "version", "errors", "scheme_text", "option_types", "whole_file", "command_tree"),
    *("build", "device_logs", "drive", "guest", "results", "runs", "replays"),
    *("why", "powercut", "own_drive", "own_scheme", "sweep", "search"),
    *("reproduce", "dev", "completion", "release", "cli"),
)


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(LIBRARY.rglob("*.py")):
        yield path.relative_to(LIBRARY).as_posix(), ast.parse(path.read_text())


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(module, name) of what is taken from scarplib, wherever in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, "imports are absolute"
            for alias in node.names:
                yield node.module, alias.name


class Scripts(unittest.TestCase):
    def test_every_package_has_its_place(self) -> None:
        packages = {path.name for path in LIBRARY.iterdir() if (path / "__init__.py").is_file()}
        beside = {path.stem for path in LIBRARY.glob("*.py")} - {"__init__"}
        self.assertEqual(packages | beside, set(ORDER))
        text = (LIBRARY / "__init__.py").read_text()
        for package in packages:
            self.assertIn(f"\n{package} ", text)

    def test_imports_go_one_way(self) -> None:
        for name, tree in modules():
            own = name.split("/")[0].removesuffix(".py")
            for module, what in imports(tree):
                parts = [*module.split("."), what]
                if parts[0] != "scarplib" or own == "__init__":
                    continue
                with self.subTest(f"{name} imports {module}.{what}"):
                    self.assertLessEqual(ORDER.index(parts[1]), ORDER.index(own))

    def test_no_private_name_is_imported(self) -> None:
        for name, tree in modules():
            for module, what in imports(tree):
                self.assertFalse(what.startswith("_"), f"{name}: {module}.{what}")

    def test_the_checkouts_place_is_said_once(self) -> None:
        files = [path for path in LIBRARY.rglob("*.py") if ".parents[" in path.read_text()]
        self.assertEqual(files, [LIBRARY / "paths.py"])

    def test_no_program_in_a_string(self) -> None:
        for name, tree in modules():
            for node in ast.walk(tree):
                # As a word of a command: the program is the next one.
                words = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
                for word in words[:-1]:
                    found = isinstance(word, ast.Constant) and word.value == "-c"
                    self.assertFalse(found, f"{name}:{word.lineno}")


if __name__ == "__main__":
    unittest.main()
