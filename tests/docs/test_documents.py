# SPDX-License-Identifier: GPL-2.0-or-later
"""What documents.py must find and refuse, on pages made up for it."""

from __future__ import annotations

import unittest

from documents import DocumentError, parse, unknown_mentions
from run import missing_sample


class Documents(unittest.TestCase):
    def test_blocks(self) -> None:
        page = parse(
            "p.md",
            "Do\n\n<!-- run: fast, long; FILE=a.csv -->\n\n"
            "    cat FILE   # shows it\n    echo a \\\n        b\n\n"
            "then\n\n<!-- run: fast -->\n```sh\necho c#d\n```\n",
        )
        self.assertEqual([c.text for c in page.commands], ["cat a.csv", "echo a b", "echo c#d"])
        self.assertEqual([c.long for c in page.commands], [False, True, False])
        self.assertEqual([c.line for c in page.commands], [5, 6, 13])

    def test_hidden_commands_are_as_long_as_what_they_are_for(self) -> None:
        for classes, long in (("long", True), ("long, fast", False), ("fast, long", False)):
            page = parse(
                "p.md",
                "<!-- run: fast -->\n\n    make\n\nthen\n\n"
                "<!-- given: true -->\n<!-- given: false -->\n"
                f"<!-- run: {classes} -->\n\n    make run\n"
                + ("    make test\n" if "," in classes else ""),
            )
            self.assertEqual([c.long for c in page.commands[:3]], [False, long, long])

    def test_output_is_of_the_command_that_it_names(self) -> None:
        block = "<!-- run: fast, long -->\n\n    make run\n    make test\n\n"
        text = block + "<!-- output: {} -->\n```text\na 1\n```\n"
        page = parse("p.md", text.format("make run"))
        self.assertEqual([c.sample for c in page.commands], [["a 1"], []])
        self.refuse(text.format("make all"), "output of 'make all'")

    def test_typed_at_a_prompt(self) -> None:
        page = parse(
            "p.md",
            "<!-- run: fast -->\n\n    make shell\n\nthere\n\n<!-- typed: fast -->\n\n    ls\n",
        )
        self.assertEqual([c.text for c in page.commands], ["make shell"])
        self.assertEqual([c.text for c in page.commands[0].typed], ["ls"])

    def test_what_runs_all_of_them_is_run_by_none(self) -> None:
        page = parse("p.md", "<!-- run: long -->\n\n    make test\n    make test-long ARGS=x\n")
        self.assertEqual([c.runs_all for c in page.commands], [False, True])

    def refuse(self, text: str, words: str) -> None:
        with self.assertRaisesRegex(DocumentError, words):
            parse("p.md", text)

    def test_refused(self) -> None:
        self.refuse("Do\n\n    make run\n", r"p\.md:3: nothing says when")
        self.refuse("```\nmake run\n```\n", "nothing says when")
        self.refuse("<!-- run: slow -->\n\n    make run\n", "'slow'")
        self.refuse("<!-- run: fast, long -->\n\n    make run\n", "2 classes for 1")
        self.refuse("<!-- run: fast -->\n\ntext\n\n    make run\n", "no block follows")
        self.refuse("<!-- run: fast -->\n", "no block follows")
        self.refuse("<!-- run: fast -->\n\n    make against BASE=COMMIT\n", "no value .* COMMIT")
        self.refuse("<!-- run: fast -->\n\n    make compare --paper …\n", "no value .* …")
        self.refuse("<!-- run: fast; FILE -->\n\n    cat FILE\n", "NAME=VALUE")
        self.refuse("<!-- run: fast -->\n```c\nint a;\n```\n", "before a block of c")

    def test_running_text(self) -> None:
        block = "<!-- run: long -->\n\n    make reproduce PAPER=all\n\n"
        good = parse(
            "p.md", block + "As `make reproduce` does, and `make.c`, and `scarp_gc_start`.\n"
        )
        self.assertEqual(unknown_mentions([good]), [])
        bad = parse("p.md", block + "Then `make reproduce PAPER=hios` and `scarp frob`.\n")
        self.assertEqual(len(unknown_mentions([bad])), 2)

    def test_samples(self) -> None:
        output = "scheme   a   b\np99      2.50 ms   1,234 µs\nmax   9 s   1 s\n"
        self.assertIsNone(missing_sample(["p99   17 s   2 ns", "…", "max 1 ms 2 s"], output))
        self.assertEqual(missing_sample(["p99   17 s"], output), "p99   17 s")
        self.assertEqual(missing_sample(["max 1 s 1 s", "p99 1 s 1 s"], output), "p99 1 s 1 s")


if __name__ == "__main__":
    unittest.main()
