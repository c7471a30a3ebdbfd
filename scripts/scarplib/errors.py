# SPDX-License-Identifier: GPL-2.0-or-later
"""The error that a user reads as one line, and what of a foreign text may be shown."""


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
