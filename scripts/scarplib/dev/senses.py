# SPDX-License-Identifier: GPL-2.0-or-later
"""Words with one sense in names: identifiers of ftl/ against docs/glossary.md's table of names.

A row has a word, its sense, and the names that may have it, as room/identifier with the shell's
wildcards.  Names in ftl/scarp.h and ftl/marks.h leave the program, so they are free everywhere.
"""

from __future__ import annotations

import fnmatch
import re

Found = tuple[str, int, str]  # file, line, the identifier

PUBLIC = ("ftl/scarp.h", "ftl/marks.h")

_ROW = re.compile(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
# Comments, strings, includes and the guards of headers.
_TEXT = re.compile(
    r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|#include [^\n]*|#(?:ifndef|define) \w+_H\n", re.DOTALL
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def table(glossary: str) -> dict[str, list[str]]:
    """The names that may have each word; one in capitals stands for itself alone."""
    names = glossary.split("\n## Names\n")[1]
    return {row[1]: re.findall(r"`([^`]+)`", row[2]) for row in _ROW.finditer(names)}


def found(texts: dict[str, str], allowed: dict[str, list[str]]) -> list[Found]:
    """Identifiers of C files, by name, that have a word in another sense."""
    code = {x: _TEXT.sub(lambda m: "\n" * m[0].count("\n"), text) for x, text in texts.items()}
    public = {word for name in PUBLIC for word in _IDENTIFIER.findall(code.get(name, ""))}
    result = []
    for name, text in code.items():
        room = name.split("/")[1]
        for match in _IDENTIFIER.finditer(text):
            parts = {form for part in _PART.findall(match[0]) for form in (part, part.lower())}
            if match[0] not in public and any(
                not any(fnmatch.fnmatchcase(f"{room}/{match[0]}", name) for name in allowed[word])
                for word in parts & allowed.keys()
            ):
                result.append((name, text.count("\n", 0, match.start()) + 1, match[0]))
    return result
