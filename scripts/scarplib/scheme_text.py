# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheme with its parameters in one text, NAME or NAME:KEY=VALUE:…, as --schemes takes it.

That text is what a run's column is called, and what is kept of it in files.  Here alone it is taken
apart: engine and device take the name and the parameters each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scarplib.errors import UserError

_NAME = re.compile(r"[a-z0-9][a-z0-9+-]*")
# The engine judges keys and values; these can be parts of a file's name.
_PARAMETER = re.compile(r"(\w+)=([\w.+-]+)", re.ASCII)


@dataclass(frozen=True)
class Chosen:
    """A scheme, and what was said of its parameters: (key, value) in the order given."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    def params(self, separator: str = ",") -> str:
        """As the engine's programs take them (the device: separated by ';'); empty: none."""
        return separator.join(f"{key}={value}" for key, value in self.parameters)

    def words(self) -> list[str]:
        """As arguments of the engine's programs."""
        params = self.params()
        return ["--scheme", self.name, *(["--params", params] if params else [])]


def parse(option: str, text: str) -> Chosen:
    """What the user has said with this option; its form is checked, the rest is the engine's."""
    name, colon, rest = text.partition(":")
    if not _NAME.fullmatch(name):
        # Such as the rest of a:b=1,c=2, which is how --params has them.
        more = "; parameters follow their scheme, each behind a ':'" if "=" in name else ""
        raise UserError(
            f"{option}: '{name}' is not a scheme's name: lower-case letters, digits, '-', '+'{more}"
        )
    if not colon:
        return Chosen(name)
    found: dict[str, str] = {}
    for part in rest.split(":"):
        match = _PARAMETER.fullmatch(part)
        if not match:
            raise UserError(
                f"{option}: '{text}': '{part}' is not KEY=VALUE, which follows each ':' "
                f"(`scarp schemes {name}` lists the keys)"
            )
        if match[1] in found:
            raise UserError(f"{option}: '{text}': '{match[1]}' is given twice")
        found[match[1]] = match[2]
    return Chosen(name, tuple(found.items()))


def split(text: str) -> Chosen:
    """Of a text that parse() has accepted before."""
    name, *rest = text.split(":")
    parts = (part.partition("=") for part in rest)
    return Chosen(name, tuple((key, value) for key, _, value in parts))


def folder_name(column: str) -> str:
    """Where a column's files lie.

    With a ':' scp and rsync would take it for a host, a link in a page for a protocol, and a list
    of paths for two.  '=' is in no scheme's name, so two columns are two folders.
    """
    return column.replace(":", "-")


def column_in(columns: Iterable[str], folder: str) -> str:
    """The column whose folder it is; the folder's own name, if it is none's."""
    return next((name for name in columns if folder_name(name) == folder), folder)
