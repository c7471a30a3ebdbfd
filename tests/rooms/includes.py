# SPDX-License-Identifier: GPL-2.0-or-later
"""Includes, read as text, so that those in code that is compiled out count, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from table import Table

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*(?:include|include_next|import)\b[ \t]*([^\n]*)", re.MULTILINE
)


@dataclass(frozen=True, order=True)
class Include:
    file: str
    line: int
    target: str | None  # relative to the root; None: neither the engine's nor the tests'
    text: str


def uncomment(text: str) -> str:
    """The same lines and columns, with blanks for comments; strings stay."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found[0] in "\"'" else re.sub(r"[^\n]", " ", found)

    return _COMMENT.sub(blank, text)


def sources(table: Table, folders: tuple[str, ...]) -> list[str]:
    """Every C file below these folders."""
    found: list[str] = []
    for folder in folders:
        for path in (table.root / folder).rglob("*"):
            if path.suffix in (".c", ".h", ".inc", ".def") and path.is_file():
                found.append(path.relative_to(table.root).as_posix())
    return sorted(set(found))


def _resolve(table: Table, file: str, name: str, quoted: bool) -> str | None:
    folders = [str(Path(file).parent)] if quoted else []
    folders += table.include
    if table.in_tests(file):
        folders += table.test_include
    for folder in folders:
        path = (table.root / folder / name).resolve()
        if path.is_file() and path.is_relative_to(table.root):
            return path.relative_to(table.root).as_posix()
    return None


def read(table: Table, files: list[str]) -> list[Include]:
    found = []
    for file in files:
        text = uncomment((table.root / file).read_text(encoding="utf-8", errors="replace"))
        for match in _INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            what = match.group(1).strip()
            name = re.match(r'"([^"]+)"|<([^>]+)>', what)
            target = None
            if name:
                target = _resolve(table, file, name[1] or name[2], bool(name[1]))
            found.append(Include(file, line, target, what if name else ""))
    return found


def cycles(includes: list[Include]) -> Iterator[tuple[str, int, str]]:
    """The include that closes each cycle, as a search in order of names meets it."""
    follow: dict[str, list[Include]] = {}
    for include in includes:
        if include.target:
            follow.setdefault(include.file, []).append(include)
    done: set[str] = set()
    for start in sorted(follow):
        if start in done:
            continue
        path = [start]
        stack = [iter(follow[start])]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                done.add(path.pop())
            elif step.target in path:
                round_ = [*path[path.index(step.target) :], step.target]
                yield step.file, step.line, f"include cycle: {' -> '.join(round_)}"
            elif step.target and step.target not in done:
                path.append(step.target)
                stack.append(iter(follow.get(step.target, ())))


def with_public(table: Table, includes: list[Include], *roles: str) -> set[str]:
    """Headers of these roles, by default state and ops, and those of their room that they include.

    What they declare is seen wherever the room's public headers are.
    """
    files = {i.file for i in includes} | {i.target for i in includes if i.target}
    found = {f for f in files if table.room_of(f) and table.role(f) in (roles or ("state", "ops"))}
    while True:
        more = {
            include.target
            for include in includes
            if include.file in found
            and include.target
            and table.room_of(include.target) == table.room_of(include.file)
        }
        if more <= found:
            return found
        found |= more


def _leading_to(table: Table, includes: list[Include]) -> set[str]:
    """What leads to a file of a room's state, or is one."""
    found = with_public(table, includes, "state") | {table.drive}
    while True:
        more = {include.file for include in includes if include.target in found}
        if more <= found:
            return found
        found |= more


def _refusal(
    table: Table, include: Include, of_state: set[str], state_behind: set[str]
) -> str | None:
    file, target = include.file, include.target
    if any(file.startswith(f"{folder}/") for folder in table.outside):
        seen = target in state_behind
        return f"includes {target}, which shows the rooms' state" if seen else None
    if target is None:
        return None if include.text else "an include by a macro, which this lint cannot follow"
    room = table.room_of(target)
    if table.in_tests(file):
        if file == table.test_inside or room in table.test_rooms:
            return None
        if target == table.drive or (room and table.role(target) != "ops"):
            return f"includes {target}; of the tests only {table.test_inside} may"
        return None
    user = table.room_of(file)
    if user is not None and user == room:
        if file in of_state and table.role(target) == "ops":
            return f"includes {target}: a room's state lies below its ops"
        return None
    if user is None:
        if room is None or (file == table.drive and table.role(target) == "state"):
            return None
        if file == table.drive:
            return f"includes {target}: only rooms' state, not their ops"
        return f"includes {target} of room {room}, but belongs to no room itself"
    if file in of_state and target == table.drive:
        return f"includes {target}, which is made of the rooms' state"
    if room is None:
        return None
    role = table.role(target)
    if role == "private":
        return f"includes {target}, a private header of room {room}"
    if file in of_state and role == "ops":
        return f"includes {target}: state may include only lower rooms' state"
    if (role == "ops" or file in of_state) and not table.may_use(user, room):
        return f"includes {target} of room {room}, {table.where(user, room)}"
    return None


def judge(table: Table, includes: list[Include]) -> Iterator[tuple[str, int, str, str]]:
    """file, line, what is included, why it is refused."""
    of_state = with_public(table, includes, "state")
    behind = _leading_to(table, includes)
    for include in includes:
        if why := _refusal(table, include, of_state, behind):
            yield include.file, include.line, include.target or include.text, why
    for file, line, why in cycles(includes):
        yield file, line, "", why
