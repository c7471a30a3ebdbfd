# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/mutate: what is compiled, and what is known of a mutant on the next day."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mutate"))

import mutate
import trees

ROOT = Path(__file__).resolve().parents[2]

NOTICED = {"verdict": "noticed", "by": "/a", "how": "fails", "code": "1"}
SURVIVED = {"verdict": "survived", "by": "", "how": "2 tests run", "code": "2"}


class Sources(unittest.TestCase):
    """`make mutate` did not link any more when the engine got a room for recovery."""

    def test_the_array_has_every_room_of_the_engine(self) -> None:
        fixed = set(trees.ARRAY.sources(ROOT, *trees.ARRAY.fixed))
        rooms = {path for path in trees.FTL.sources(ROOT, "ftl/**/*.c") if "/replay/" not in path}
        self.assertEqual(fixed, rooms | {"ftl/replay/options.c"})

    def test_every_test_on_io_uring_is_run(self) -> None:
        sources = [x for program in trees.ARRAY.programs_in(ROOT) for x in program.sources]
        for path in ROOT.glob("tests/array/uring/test-*.c"):
            self.assertIn(path.relative_to(ROOT).as_posix(), sources)

    def test_every_pattern_matches(self) -> None:
        for tree in trees.TREES.values():
            patterns = [*tree.mutated, *tree.library, *tree.without, *tree.fixed]
            patterns += [source for program in tree.programs for source in program.sources]
            for pattern in [*patterns, *tree.inputs]:
                with self.subTest(tree=tree.name, pattern=pattern):
                    self.assertTrue(list(ROOT.glob(pattern)))


class Known(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "found"
        patch = mock.patch.object(mutate, "FOUND", self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def found(self, sources: str = "a1", tests: str = "t1", longest_s: float = 20) -> mutate.Found:
        return mutate.Found(self.folder / f"ftl-{sources}.jsonl", sources, tests, longest_s)

    def test_another_day(self) -> None:
        one = self.found()
        one.add("m1", NOTICED)
        one.add("m2", SURVIVED)
        self.assertEqual(self.found().of, one.of)

    def test_a_survivor_is_tried_again_with_other_tests(self) -> None:
        one = self.found()
        one.add("m1", NOTICED)
        one.add("m2", SURVIVED)
        other = self.found(tests="t2")
        self.assertTrue(other.get("m1", is_listed=False))
        self.assertIsNone(other.get("m2", is_listed=False))
        self.assertTrue(other.get("m2", is_listed=True))

    def test_a_survivor_of_quick_tests_is_tried_again_with_all(self) -> None:
        self.found(longest_s=1).add("m2", SURVIVED)
        self.assertIsNone(self.found().get("m2", is_listed=False))
        self.assertTrue(self.found(longest_s=1).get("m2", is_listed=False))

    def test_other_sources_have_nothing_of_these(self) -> None:
        self.found().add("m1", NOTICED)
        (self.folder / "array-a1.jsonl").write_text("")
        other = self.found(sources="a2")
        self.assertEqual(other.of, {})
        self.assertTrue((self.folder / "ftl-a1.jsonl").exists())  # to look is no loss
        other.add("m1", SURVIVED)
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names, ["array-a1.jsonl", "ftl-a2.jsonl"])

    def test_the_cache_keeps_what_it_has(self) -> None:
        cache = self.folder.parent
        for sources in ("a1", "a2"):
            path = cache / f"found-ftl-{sources}.jsonl"
            mutate.Found(path, sources, "t1", 20).add("m1", NOTICED)
        self.assertEqual(len(list(cache.glob("found-ftl-*"))), 2)


if __name__ == "__main__":
    unittest.main()
