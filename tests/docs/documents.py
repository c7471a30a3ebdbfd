# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of README.md and docs/: the documents themselves are the source.

An indented block, or a fenced one of `sh` or of no language, holds commands, one a line.  A
comment that a reader of the page does not see stands before it:

    <!-- run: fast -->             all of its commands run in `make test`
    <!-- run: long -->             ... in `make test-long`: an hour, or the network
    <!-- run: fast, long -->       one for each command
    <!-- run: fast; FILE=a.csv --> the reader's own FILE is a.csv here
    <!-- run: long; Ctrl-C=ready --> it has no end of its own: Ctrl-C when it has said "ready"
    <!-- typed: fast -->           these lines are typed at the prompt of the command before
    <!-- given: touch a.csv -->    runs unseen: what a reader has already
    <!-- output: make run -->      the fenced `text` block that follows is from this command

A block without such a comment is an error, and so is a command in running text that no block has.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

CLASSES = ("fast", "long")
# Among the values of a command: no word of it, but what it says before Ctrl-C is typed.
CTRL_C = "Ctrl-C"
# Blocks whose language is another one (`c`, `text`, `diff`) are no commands.
LANGUAGES = (None, "", "sh", "bash", "shell", "console")
COMMENT = re.compile(r"<!--\s*(run|typed|given|output)\b:?\s*(.*?)\s*-->")
# What makes a code span in running text a command.
COMMAND_WORDS = ("make", "scarp", "scripts/scarp", "sh", "python3", "snakemake", "git", "apt-get")
# They run every long command of every page, so none of these runs them.
ALL_LONG = ("make test-long", "make test-docs-long")
PLACEHOLDER = re.compile(r"(?<![\w$-])[A-Z]{3,}(?![\w=-])|…")


class DocumentError(Exception):
    """What is wrong with a document, with its line."""


@dataclass
class Command:
    """One command of a document, or with `typed` one that has a prompt, and what is typed there."""

    document: str
    line: int
    written: str
    long: bool | None  # of a hidden command not known until its block comes
    values: dict[str, str] = field(default_factory=dict)
    given: bool = False
    typed: list[Command] = field(default_factory=list)
    sample: list[str] = field(default_factory=list)

    @property
    def runs_all(self) -> bool:
        """Whether it would run what it is run by."""
        return self.written.startswith(ALL_LONG)

    @property
    def where(self) -> str:
        return f"{self.document}:{self.line}"

    @property
    def text(self) -> str:
        """As it is run: the reader's own names filled in."""
        text = self.written
        for name, value in self.values.items():
            plain = value.replace("\\", "\\\\")
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", plain, text)
        return text


@dataclass
class _Block:
    line: int
    lines: list[str]
    language: str | None


@dataclass
class Document:
    name: str
    commands: list[Command] = field(default_factory=list)
    # Commands named in running text: line and text.
    mentions: list[tuple[int, str]] = field(default_factory=list)


def _pieces(text: str) -> list[tuple[int, str | _Block]]:
    """A page as its lines of prose, comments and blocks, each with its number."""
    lines = text.splitlines()
    pieces: list[tuple[int, str | _Block]] = []
    i = 0
    while i < len(lines):
        line = lines[i]
        if fence := re.match(r"(`{3,}|~{3,})\s*(\w*)\s*$", line):
            begin = i + 1
            i = begin
            while i < len(lines) and not lines[i].startswith(fence[1]):
                i += 1
            pieces.append((begin, _Block(begin + 1, lines[begin:i], fence[2])))
            i += 1
        elif line.startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            begin = i
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                i += 1
            block = [x[4:] for x in lines[begin:i]]
            pieces.append((begin + 1, _Block(begin + 1, block, None)))
        else:
            pieces.append((i + 1, line))
            i += 1
    return pieces


def _block_commands(block: _Block) -> list[tuple[int, str]]:
    """Lines that are commands, those that end in a backslash joined; notes behind them left out."""
    found: list[tuple[int, str]] = []
    joined = False
    for number, line in enumerate(block.lines, block.line):
        text = re.sub(r"(^|\s+)#\s.*$", "", line).rstrip()
        if not text.strip():
            continue
        if joined:
            found[-1] = (found[-1][0], found[-1][1][:-1].rstrip() + " " + text.strip())
        else:
            found.append((number, text))
        joined = text.endswith("\\")
    return found


def _marker(where: str, text: str, commands: int) -> tuple[list[bool], dict[str, str]]:
    """Which commands are long, and the values of placeholders."""
    first, *rest = [part.strip() for part in text.split(";")]
    classes = [part.strip() for part in first.split(",")]
    for name in classes:
        if name not in CLASSES:
            raise DocumentError(f"{where}: '{name}': a command is {' or '.join(CLASSES)}")
    if len(classes) == 1:
        classes *= commands
    if len(classes) != commands:
        raise DocumentError(f"{where}: {len(classes)} classes for {commands} commands")
    values = {}
    for part in rest:
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise DocumentError(f"{where}: '{part}' is not NAME=VALUE")
        values[name] = value
    return [name == "long" for name in classes], values


def _mentions(prose: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Code spans that are commands; a span may go on in the next line."""
    found = []
    text = "\n".join(line for _, line in prose)
    for match in re.finditer(r"(?<!`)`([^`]+)`(?!`)", text):
        span = " ".join(match[1].split())
        first = span.split(" ")[0]
        if first in COMMAND_WORDS or (first.startswith("scarp-") and " -" in span):
            found.append((prose[text.count("\n", 0, match.start())][0], span))
    return found


def parse(name: str, text: str) -> Document:
    document = Document(name)
    marker: tuple[int, str, str] | None = None
    prose: list[tuple[int, str]] = []
    for number, piece in _pieces(text):
        where = f"{name}:{number}"
        if isinstance(piece, str):
            if match := COMMENT.fullmatch(piece.strip()):
                if marker:
                    raise DocumentError(f"{name}:{marker[0]}: no block follows this comment")
                if match[1] == "given":
                    hidden = Command(name, number, match[2], long=None, given=True)
                    document.commands.append(hidden)
                else:
                    marker = (number, match[1], match[2])
            elif piece.strip() and marker:
                raise DocumentError(f"{name}:{marker[0]}: no block follows this comment")
            prose.append((number, piece))
            continue
        document.mentions += _mentions(prose)
        prose = []
        kind, words = marker[1:] if marker else ("", "")
        if piece.language not in LANGUAGES:
            if kind == "output":
                found = [c for c in document.commands if c.written == words]
                if not found:
                    raise DocumentError(f"{where}: output of '{words}', which is not above")
                found[-1].sample = piece.lines
            elif kind:
                raise DocumentError(f"{where}: '{kind}' before a block of {piece.language}")
            marker = None
            continue
        if not marker or kind == "output":
            raise DocumentError(f"{where}: nothing says when this command is run")
        commands = _block_commands(piece)
        long, values = _marker(f"{name}:{marker[0]}", marker[2], len(commands))
        marker = None
        made = [
            Command(name, line, command, is_long, values)
            for (line, command), is_long in zip(commands, long, strict=True)
        ]
        for command in made:
            for name_in_it in PLACEHOLDER.findall(command.written):
                if name_in_it not in values:
                    raise DocumentError(f"{command.where}: no value is given for {name_in_it}")
        if kind == "typed":
            if not document.commands:
                raise DocumentError(f"{where}: typed at the prompt of which command?")
            document.commands[-1].typed += made
        else:
            # Hidden commands are for the next block: fast if one of its commands is.
            for command in reversed(document.commands):
                if not command.given or command.long is not None:
                    break
                command.long = all(long)
            document.commands += made
    if marker:
        raise DocumentError(f"{name}:{marker[0]}: no block follows this comment")
    document.mentions += _mentions(prose)
    return document


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    # As people say it, and as it is typed.
    return ["scripts/scarp" if word == "scarp" else word for word in words]


def unknown_mentions(documents: list[Document]) -> list[str]:
    """Commands in running text that no block of any document begins with."""
    blocks = [
        _words(command.written)
        for document in documents
        for parent in document.commands
        if not parent.given
        for command in (parent, *parent.typed)
    ]
    wrong = []
    for document in documents:
        for line, span in document.mentions:
            words = _words(span)
            if not any(block[: len(words)] == words for block in blocks):
                wrong.append(f"{document.name}:{line}: '{span}' is in no block of commands")
    return wrong


def pages_of(root: Path) -> list[Path]:
    """README.md first, the others at the root, those of docs/ and qemu-patches/."""
    first = root / "README.md"
    others = sorted(page for page in root.glob("*.md") if page != first)
    return [first, *others, *sorted((root / "docs").rglob("*.md")),
            *sorted((root / "qemu-patches").rglob("*.md"))]  # fmt: skip


def load(root: Path) -> list[Document]:
    pages = pages_of(root)
    return [parse(str(page.relative_to(root)), page.read_text(encoding="utf-8")) for page in pages]
