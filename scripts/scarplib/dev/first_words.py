# SPDX-License-Identifier: GPL-2.0-or-later
"""First words of comments in C: a block comment begins with its subject, or with what is done.

A comment that stands on lines of its own, and begins with one of these words, leaves its reader
to guess what it speaks of.  Comments behind code, such as those of a record's members, may be
noun phrases, so they are free.
"""

from __future__ import annotations

import re

Found = tuple[str, int, str]  # file, line, the comment's beginning

FIRST_WORDS = (
    "also|and|as|both|but|ditto|else|here|it|its|neither|none|nor|not|of|ones?|or|others|ours|so|"
    "some|somebody|something|such|the others?|the rest|the same|their|them|then|there|these|they|"
    "those|to|too|what|whatever|where|which|who|whoever|whom|whose"
)

_COMMENT = re.compile(r"^[ \t]*/\*(.*?)\*/", re.DOTALL | re.MULTILINE)
_FIRST = re.compile(rf"(?:{FIRST_WORDS})(?![\w'-])", re.IGNORECASE)


def found(texts: dict[str, str]) -> list[Found]:
    """Block comments of C files, by name, that begin with one of the words."""
    return [
        (name, text.count("\n", 0, match.start(1)) + 1, words[:70])
        for name, text in texts.items()
        for match in _COMMENT.finditer(text)
        if _FIRST.match(words := " ".join(match[1].split()).replace("* ", "").strip("- "))
    ]
