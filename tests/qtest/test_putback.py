# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/hunt-nvme/putback: what was repaired can still be put back into the sources of today."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType
from unittest import mock

from scarplib.build.qemu import ensure_source

PROGRAM = Path(__file__).resolve().parents[1] / "hunt-nvme" / "putback" / "run.py"


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("putback", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    with mock.patch.dict(sys.modules, putback=module):
        spec.loader.exec_module(module)
    sys.path[:] = before
    return module


class Defects(unittest.TestCase):
    def test_each_can_be_put_back(self) -> None:
        """A patch that is stale says nothing, and one that is taken for a reversed one less."""
        module = program()
        source = ensure_source()
        with tempfile.TemporaryDirectory() as folder:
            for defect in module.defects([]):
                with self.subTest(defect.name):
                    try:
                        names = module.patched(
                            [defect], source.with_name("build"), Path(folder) / "work"
                        )
                    except subprocess.CalledProcessError:
                        self.fail(f"{defect.patch.name} does not apply")
                    self.assertTrue(names)

    def test_one_that_is_there_already_is_refused(self) -> None:
        module = program()
        name = "hw/nvme/ctrl.c"
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            kept = root / "src" / name
            kept.parent.mkdir(parents=True)
            kept.write_text("a\nb\nd\ne\n")
            patch = root / "x.patch"
            patch.write_text(f"--- a/{name}\n+++ b/{name}\n@@ -1,5 +1,4 @@\n a\n b\n-c\n d\n e\n")
            defect = module.Defect("x", "", patch, False, "")
            with self.assertRaises(subprocess.CalledProcessError):
                module.patched([defect], root / "build", root / "work")


if __name__ == "__main__":
    unittest.main()
