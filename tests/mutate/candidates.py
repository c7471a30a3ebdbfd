# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be changed in the engine's sources: universalmutator's mutants, less the excluded."""

from __future__ import annotations

import contextlib
import fnmatch
import io
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
Key = tuple[str, str, str, str]
RULES = ["universal.rules", "c_like.rules", "c.rules"]
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
NAME = re.compile(r"(\w+)\s*\(")


@dataclass(frozen=True)
class Mutant:
    path: str  # below the repository
    line: int  # from 1
    function: str  # that it lies in, or empty
    old: str  # the line, without comments and space around it
    new: str
    text: str  # that stands for the line

    @property
    def key(self) -> Key:
        """What tells it from others, wherever its line moves in its function."""
        return self.path, self.function, self.old, self.new

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" + (f", {self.function}()" if self.function else "")
        return f"{where}\n-    {self.old}\n+    {self.new}"


@dataclass(frozen=True)
class Exclude:
    files: str
    functions: re.Pattern[str] | None
    lines: re.Pattern[str] | None
    rules: re.Pattern[str] | None

    def covers(self, path: str, function: str, line: str, rule: str) -> bool:
        return (
            fnmatch.fnmatch(path, self.files)
            and (not self.functions or bool(self.functions.fullmatch(function)))
            and (not self.lines or bool(self.lines.search(line)))
            and (not self.rules or bool(self.rules.search(rule)))
        )


def excludes() -> list[Exclude]:
    rules = tomllib.loads((HERE / "excludes.toml").read_text())["exclude"]

    def pattern(rule: dict[str, str], name: str) -> re.Pattern[str] | None:
        return re.compile(rule[name]) if name in rule else None

    return [
        Exclude(
            rule.get("files", "*"), *(pattern(rule, n) for n in ("functions", "lines", "rules"))
        )
        for rule in rules
    ]


def _without_comments(text: str) -> str:
    """Blanks for them: every line keeps its number, and the rest of it its column."""

    def blank(match: re.Match[str]) -> str:
        token = match.group()
        return token if token[0] in "\"'" else re.sub(r"[^\n]", " ", token)

    return TOKEN.sub(blank, text)


def _functions(lines: list[str]) -> list[str | None]:
    """The function that each line's statement lies in; empty outside of them, None in a head."""
    names: list[str | None] = []
    head, inside = "", ""
    for line in lines:
        names.append(inside)
        if line.startswith("{"):
            found = NAME.search(head)
            inside = found.group(1) if found else ""
            n = head.count("\n") + 1
            names[-n:] = [None] * n
        elif line.startswith("}"):
            head = inside = ""
        elif not inside:
            goes_on = line.strip() and not line.rstrip().endswith((";", "}")) and line[0] != "#"
            head = head + line if goes_on else ""
    return names


def _blank_strings(line: str) -> str:
    return STRING.sub('""', line)


def _in_word(old: str, new: str) -> bool:
    """Is it a number in a name that changes, as that of uint32_t?"""
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    word = re.search(r"\w*\Z", old[:at])
    return bool(word and re.match(r"[A-Za-z_]", word.group()) and re.match(r"\d", old[at:]))


def _loses_return(old: str, new: str) -> bool:
    """Then its result is undefined, and so is whether a test notices."""
    return bool(re.match(r"\s*return\b", old)) and not re.search(r"\breturn\b", new)


def of_file(root: Path, path: str, rules: list[Exclude]) -> list[Mutant]:
    """Every mutant of one file, in the tool's order."""
    from universalmutator import mutator  # type: ignore[import-not-found]

    lines = _without_comments((root / path).read_text()).splitlines(keepends=True)
    functions = _functions(lines)
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutator.mutants_regexp(lines, RULES, ignorePatterns=[], ignoreStringOnly=True)
    mutants: dict[tuple[int, str], Mutant] = {}
    for number, text, (rule_text, _), _ in found:
        line, function = lines[number - 1], functions[number - 1]
        if function is None or (path.endswith(".h") and not function):
            continue  # of headers, only what runs
        if _in_word(line, text) or _loses_return(line, text):
            continue
        if any(rule.covers(path, function, line, rule_text) for rule in rules):
            continue
        if " ".join(_blank_strings(line).split()) == " ".join(_blank_strings(text).split()):
            continue
        old, new = " ".join(line.split()), " ".join(text.split())
        mutants.setdefault((number, new), Mutant(path, number, function, old, new, text))
    return list(mutants.values())


def of_tree(root: Path, patterns: tuple[str, ...], only: str = "*") -> list[Mutant]:
    rules = excludes()
    paths = sorted({p.relative_to(root).as_posix() for part in patterns for p in root.glob(part)})
    return [m for path in paths if fnmatch.fnmatch(path, only) for m in of_file(root, path, rules)]
