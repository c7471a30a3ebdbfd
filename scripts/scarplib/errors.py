# SPDX-License-Identifier: GPL-2.0-or-later
"""The error that a user reads as one line, and what of a foreign text may be shown."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def printable(text: str) -> str:
    """On one line, whatever it is: a guest may have chosen it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def printable_lines(text: str) -> str:
    """Its lines, of which none steers the terminal that they are shown on."""
    return "\n".join(printable(line.expandtabs()) for line in text.split("\n"))


class UserError(Exception):
    """Says what is wrong, where (the option or key), and what is allowed.

    It may have more lines: the end of an output, such as a compiler's.
    """

    def __init__(self, said: str) -> None:
        super().__init__(printable_lines(said))


def of_system(error: OSError) -> str:
    """What the system refused, and of which file, in one line."""
    name = "" if error.filename is None else f"{error.filename}: "
    return printable(f"{name}{error.strerror or error}")


def nearest(word: str, allowed: Sequence[str]) -> str:
    """`; did you mean X?`, or nothing where no word is near."""
    # The dashes of options are alike whatever follows.
    bare = {each.lstrip("-"): each for each in allowed}
    found = difflib.get_close_matches(word.lstrip("-"), bare, 1)
    return f"; did you mean {bare[found[0]]}?" if found else ""
