# SPDX-License-Identifier: GPL-2.0-or-later
"""Names in comments and pages that exist nowhere: functions, files, keys of a description.

A comment of a C file, and a page outside docs/notes (which tells of the past), may name a
function as `scarp_…` or `…()`, a type as `Scarp…`, a file by its path, and a key as `section.key`.
Each must be somewhere in the code, among the files, or among the keys.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Found = tuple[str, int, str]  # file, line, what it names

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"[A-Za-z_]\w*")
# `scarp_x`, `ScarpX`, `x_y()`; not a beginning such as scarp_visit_u… or scarp_map_*.
_NAME = re.compile(r"(?<![\w./-])(?:(scarp_\w*\w|Scarp[A-Z]\w*)(?![\w…*-])|([a-z]\w*_\w+)(?=\(\)))")
_FILE = re.compile(r"(?<![\w./…*-])((?:[\w*-]+/)*[\w*-]+\.(?:c|h|py|toml|sh|md|patch))(?![\w*/-])")
_KEY = r"(?<![\w./-])(SECTIONS)\.([a-z]\w*)(?![\w(/*-])"
_ENDINGS = ("c", "h", "py", "ini", "md", "toml", "img", "json", "bin", "csv")
_DECLARED = re.compile(r'\b[A-Z_]+\("(\w+)", (\w+),')
_CODE = (".c", ".h", ".py", ".sh", ".mk", ".patch", ".js", ".toml", ".build", ".css")
# A file that a program writes or includes, and one that a patch makes.
_QUOTED = re.compile(r"[\"'<]([\w./-]+\.(?:c|h|py|toml|sh|md))[\"'>]")
_MADE = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)
# Files of the kernel and of fio, and of the two pages on how to add a policy or a mapping.
_OTHERS = {
    "block/mq-deadline.c",
    "t/io_uring_cmd.py",
    "t/nvmept.py",
    "t/nvmept_trim.py",
    "ftl/gc/victim_windowed.c",
    "ftl/hil/policy_gather.c",
    "ftl/map/fifo.c",
}


def _in_c(text: str) -> tuple[str, str]:
    """Its code, and its comments, each with every line where it was."""
    code, comments = [], []
    at = 0
    for match in _COMMENT.finditer(text):
        code.append(text[at : match.start()])
        comments.append("\n" * text.count("\n", at, match.start()))
        is_comment = match[0].startswith("/")
        lines = "\n" * match[0].count("\n")
        code.append(lines if is_comment else match[0])
        comments.append(match[0] if is_comment else lines)
        at = match.end()
    code.append(text[at:])
    return "".join(code), "".join(comments)


@dataclass
class Tree:
    """What there is to be named, by the text of each tracked file."""

    files: dict[str, str]

    def __post_init__(self) -> None:
        self.words: set[str] = set()
        self.quoted: set[str] = set()
        for name, text in self.files.items():
            if name.endswith(_CODE) or "." not in Path(name).name:
                code = _in_c(text)[0] if name.endswith((".c", ".h")) else text
                self.words |= set(_WORD.findall(code))
                self.quoted |= set(_QUOTED.findall(code))
        patches = [text for name, text in self.files.items() if name.endswith(".patch")]
        made = [name for text in patches for name in _MADE.findall(text)]
        self.ends = {name[i:] for name in (*self.files, *made) for i in self._starts(name)}
        described = self.files.get("ftl/core/description.c", "")
        self.keys = {f"{section}.{key}" for section, key in _DECLARED.findall(described)}
        self.keys |= set(re.findall(r"\w+\.\w+", _in_c(described)[0]))
        sections = {section for section, _ in _DECLARED.findall(described)}
        self.key = re.compile(_KEY.replace("SECTIONS", "|".join(sorted(sections)) or "$^"))

    @staticmethod
    def _starts(name: str) -> list[int]:
        return [0, *(match.end() for match in re.finditer("/", name))]

    def has_file(self, path: str) -> bool:
        if "*" in path:
            return any(fnmatch.fnmatch(end, path) for end in self.ends)
        if any(part.isupper() for part in re.split(r"[/.]", path)):
            return True  # a place for a name
        return path in self.ends or path in self.quoted or path in _OTHERS

    def missing(self, text: str, given: set[str]) -> Iterator[tuple[int, str]]:
        """Offsets and names; given: words of the code that the page itself shows."""
        for match in _NAME.finditer(text):
            name = match[1] or match[2]
            if name not in self.words and name not in given:
                yield match.start(), name
        for match in _FILE.finditer(text):
            if not self.has_file(match[1]):
                yield match.start(), match[1]
        for match in self.key.finditer(text):
            # A page may name several keys by their beginning.
            if match[2] not in _ENDINGS and not any(key.startswith(match[0]) for key in self.keys):
                yield match.start(), match[0]


def _of_page(text: str) -> tuple[str, set[str]]:
    """What stands in backquotes, in its lines; and the words of the page's own code."""
    given = {word for fence in _FENCE.findall(text) for word in _WORD.findall(fence)}
    bare = _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    lines = ("  ".join(_SPAN.findall(line)) for line in bare.split("\n"))
    return "\n".join(lines), given


def unknown(files: dict[str, str]) -> list[Found]:
    """files: the text of each, by its name from the top."""
    tree = Tree(files)
    found: list[Found] = []
    for name, text in files.items():
        given: set[str] = set()
        if name.endswith((".c", ".h")):
            looked_at = _in_c(text)[1]
        elif name.endswith(".md") and not name.startswith(("docs/notes/", "tests/newcomer/")):
            looked_at, given = _of_page(text)
        else:
            continue
        found += [
            (name, looked_at.count("\n", 0, at) + 1, what)
            for at, what in tree.missing(looked_at, given)
        ]
    return sorted(set(found))
