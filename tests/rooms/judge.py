# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of the facts the table refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from includes import uncomment
from source import Facts, Member, Use
from table import NAME, Table

Found = tuple[str, int, str, str]  # file, line, what [[except]] may name, text

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)


class Macros:
    """Macros of the sources, as text: who defines one, and what its body says."""

    def __init__(self, root: Path, files: list[str]) -> None:
        self.bodies: dict[str, list[tuple[str, int, str]]] = {}
        for file in files:
            text = uncomment((root / file).read_text(encoding="utf-8", errors="replace"))
            for match in _DEFINE.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                self.bodies.setdefault(match[1], []).append((file, line, match[2]))

    def naming(self, macro: str, member: str) -> Iterator[tuple[str, int]]:
        """Macros that it expands to, itself included, whose body names the member."""
        seen, todo = set(), [macro]
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            for file, line, body in self.bodies.get(name, ()):
                words = re.findall(r"\w+", body)
                if member in words:
                    yield file, line
                todo += [word for word in words if word in self.bodies]


def _member_text(table: Table, member: Member, room: str) -> str | None:
    names = table.rooms[room]
    if any(record in names.values for record in member.records):
        return None
    readable = any(record in names.open for record in member.records)
    record = member.records[0]
    if member.how == "names":
        if readable:
            reader = table.kept(room).get(f"{record}.{member.name}")
            user = table.room_of(member.file)
            if reader is None or user is None or user == reader:
                return None
            return f"names {record}.{member.name}, which only rooms {room} and {reader} may ask"
        return f"names {record}.{member.name}, a member of room {room}"
    if member.how == "writes":
        # A record that is not open is already refused for being named.
        return (
            f"writes {record}.{member.name}, which room {room} lets others read"
            if readable
            else None
        )
    what = {
        "lists": "fills a {} by its members' order",
        "replaces": "writes a whole {}",
        "copies": "copies or clears a {} as bytes",
    }[member.how].format(record)
    return f"{what}, a record of room {room}"


def members(table: Table, facts: Facts, macros: Macros) -> Iterator[Found]:
    for member in facts.members:
        room = table.room_of(member.home)
        if room is None:
            continue
        name = f"{member.records[0]}.{member.name}" if member.name else member.records[0]
        places = [(member.file, member.line)]
        if member.macro:
            places += macros.naming(member.macro, member.name)
        for file, line in places:
            if table.in_tests(file):
                if file == table.test_inside or room in table.test_rooms:
                    continue
            elif not file.startswith("ftl/") or table.room_of(file) == room:
                continue
            if text := _member_text(table, member, room):
                yield file, line, name, text


class Calls:
    """Uses of functions and variables between rooms."""

    def __init__(self, table: Table, facts: Facts, public: set[str]) -> None:
        self.table = table
        self.public_headers = public
        self.facts = facts
        self.home = dict(facts.defined)
        self.declared: dict[str, set[str]] = {}
        for key, file, _line, _name in facts.declared:
            self.declared.setdefault(key, set()).add(file)
        self.pairs: set[str] = set()
        self.between: dict[tuple[str, str], tuple[str, int, str]] = {}
        self.outside: set[str] = set()  # keys that another room, or a test, uses

    def judge(self) -> Iterator[Found]:
        table = self.table
        for use in sorted(self.facts.uses):
            room = table.room_of(self.home.get(use.key, use.home)) or table.room_of(use.home)
            user = table.room_of(use.file)
            if user != room:
                self.outside.add(use.key)
            if room is None or room == user or table.in_tests(use.file):
                continue
            what = f"{use.name}()" if use.how != "names the variable" else use.name
            does = f"{use.how} {what} of room {room}"
            if user is None:
                yield use.file, use.line, use.name, f"{does}, but belongs to no room itself"
            elif not table.may_use(user, room):
                yield use.file, use.line, use.name, f"{does}, {table.where(user, room)}"
            else:
                if pair := table.pair(user, room):
                    self.pairs.add(pair)
                self.between.setdefault((user, room), (use.file, use.line, does))
                if not self.public(use):
                    yield (
                        use.file,
                        use.line,
                        use.name,
                        f"{does}, which none of its public headers declares",
                    )

    def public(self, use: Use) -> bool:
        """Does a header declare it that others may include, or that comes with one?"""
        return any(
            file in self.public_headers
            or (file.endswith(".h") and not self.table.room_of(file))
            or (self.table.room_of(file) and self.table.role(file) != "private")
            for file in {use.home, *self.declared.get(use.key, ())}
        )

    def unused_pairs(self) -> Iterator[Found]:
        for text in self.table.calls:
            if text not in self.pairs:
                yield NAME, 1, text, f"calls: '{text}' is not needed"

    def cycles(self) -> Iterator[Found]:
        """Rooms that call each other, which only a line of `calls` can allow."""
        follow: dict[str, set[str]] = {}
        for user, room in self.between:
            follow.setdefault(user, set()).add(room)

        def reach(start: str) -> set[str]:
            seen: set[str] = set()
            todo = [start]
            while todo:
                for room in follow.get(todo.pop(), ()):
                    if room not in seen:
                        seen.add(room)
                        todo.append(room)
            return seen

        for (user, room), (file, line, does) in sorted(self.between.items()):
            if self.table.pair(user, room) and user in reach(room):
                yield file, line, f"{user} -> {room}", f"{does}, which calls back to {user}"

    def warnings(self) -> Iterator[Found]:
        table = self.table
        for key, file, line, name in sorted(self.facts.declared):
            room = table.room_of(file)
            if room is None or not line or not file.endswith(".h"):
                continue
            home = table.room_of(self.home.get(key, file))
            if home != room:
                yield file, line, name, f"declares {name}(), which room {home} defines"
            elif table.role(file) == "ops" and key not in self.outside:
                yield file, line, name, f"{name}() is used by no other room"


def judge(
    table: Table, facts: Facts, files: list[str], public: set[str], warn: bool
) -> Iterator[Found]:
    yield from ((file, line, "", text) for file, line, text in facts.errors)
    yield from members(table, facts, Macros(table.root, files))
    calls = Calls(table, facts, public)
    yield from calls.judge()
    yield from calls.cycles()
    yield from calls.unused_pairs()
    if warn:
        for file, line, name, text in calls.warnings():
            yield file, line, name, f"warning: {text}"
