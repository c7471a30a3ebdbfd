# SPDX-License-Identifier: GPL-2.0-or-later
"""ftl/rooms.toml: which rooms there are, their order, and what is open in them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = "ftl/rooms.toml"


class TableError(Exception):
    """One line: the key, and what is allowed."""


@dataclass(frozen=True)
class Room:
    name: str
    state: tuple[str, ...] = ("state.h",)  # headers of its records, relative to its folder
    ops: tuple[str, ...] = ("ops.h",)  # headers of what others may call
    open: tuple[str, ...] = ()  # records whose members all may read
    values: tuple[str, ...] = ()  # records whose members all may read and write
    kept: tuple[str, ...] = ()  # Record.member -> room: of an open record, who alone may read it
    files: tuple[str, ...] = ()  # what belongs to it outside its folder, relative to the root


@dataclass(frozen=True)
class Exemption:
    file: str
    name: str  # Record.member, a function, a variable, or an included header
    why: str


@dataclass
class Table:
    root: Path
    order: tuple[str, ...]
    beside: tuple[str, ...]
    calls: tuple[str, ...]
    drive: str
    rooms: dict[str, Room]
    packages: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    include: tuple[str, ...] = ("ftl",)
    switches: tuple[str, ...] = ()
    precompiled: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()  # folders that are not read, but whose includes are
    test_folders: tuple[str, ...] = ()
    test_flags: tuple[str, ...] = ()
    test_include: tuple[str, ...] = ()
    test_inside: str = ""
    test_rooms: tuple[str, ...] = ()
    exempt: tuple[Exemption, ...] = ()
    _owner: dict[str, str] = field(default_factory=dict)
    _pairs: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for room in self.rooms.values():
            for name in room.files:
                if name in self._owner:
                    raise TableError(f"rooms.{room.name}.files: '{name}' has two rooms")
                self._owner[name] = room.name
            for text in room.kept:
                member, arrow, reader = (part.strip() for part in text.partition("->"))
                if not arrow or member.count(".") != 1 or reader not in self.rooms:
                    raise TableError(
                        f"rooms.{room.name}.kept: '{text}' is not 'RECORD.MEMBER -> ROOM'"
                    )
        for text in self.calls:
            caller, arrow, callee = text.partition("->")
            caller, callee = caller.strip(), callee.strip()
            if not arrow or callee not in self.rooms or caller not in {*self.rooms, "*"}:
                raise TableError(f"calls: '{text}' is not 'ROOM -> ROOM' or '* -> ROOM'")
            for name in self.rooms if caller == "*" else [caller]:
                if name != callee:
                    self._pairs[name, callee] = text

    def room_of(self, file: str) -> str | None:
        """None: a header of all, or no part of the engine."""
        if file in self._owner:
            return self._owner[file]
        parts = file.split("/")
        return parts[1] if len(parts) > 2 and parts[0] == "ftl" and parts[1] in self.rooms else None

    def kept(self, room: str) -> dict[str, str]:
        """Members of its open records that only one other room may read, and which."""
        pairs = (text.split("->") for text in self.rooms[room].kept)
        return {member.strip(): reader.strip() for member, reader in pairs}

    def in_tests(self, file: str) -> bool:
        return any(file.startswith(folder + "/") for folder in self.test_folders)

    def role(self, file: str) -> str:
        """What a file is in its room: state, ops or private."""
        room = self.rooms[self.room_of(file) or ""]
        for role, names in (("state", room.state), ("ops", room.ops)):
            if any(file in (name, f"ftl/{room.name}/{name}") for name in names):
                return role
        return "private"

    def may_use(self, user: str, used: str) -> bool:
        """May it call the other room, and include its ops.h?"""
        if user == used or (user, used) in self._pairs:
            return True
        names = (*self.order, *self.beside)
        # The engine needs no program beside it, wherever that stands.
        if used in self.beside and user in self.order:
            return False
        return names.index(used) < names.index(user)

    def pair(self, user: str, used: str) -> str | None:
        """The line of `calls` that allows it, where the order alone does not."""
        names = (*self.order, *self.beside)
        if names.index(used) < names.index(user):
            return None
        return self._pairs.get((user, used))

    def where(self, user: str, used: str) -> str:
        """Why a use is refused, in words."""
        if user in self.order and used in self.order:
            return f"which lies above {user}"
        if user in self.beside and used in self.beside:
            return f"which stands behind {user} in beside"
        return f"and calls of {NAME} has no '{user} -> {used}'"


def _take(given: dict[str, Any], path: str, allowed: Mapping[str, type]) -> dict[str, Any]:
    for key, value in given.items():
        at = f"{path}{key}"
        if key not in allowed:
            raise TableError(f"{at}: unknown key; known here: {', '.join(allowed)}")
        if not isinstance(value, allowed[key]):
            raise TableError(f"{at}: must be a {allowed[key].__name__}")
        if isinstance(value, list) and key != "except":
            for item in value:
                if not isinstance(item, str) or not item:
                    raise TableError(f"{at}: must be a list of names")
            if len(set(value)) != len(value):
                raise TableError(f"{at}: the same name twice")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}


def load(root: Path) -> Table:
    """The table of the tree at root; TableError names the key that is wrong."""
    path = root / NAME
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TableError(f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TableError(f"is no TOML: {error}") from None
    top = _take(
        given,
        "",
        {
            "order": list,
            "beside": list,
            "calls": list,
            "drive": str,
            "outside": list,
            "parse": dict,
            "rooms": dict,
            "tests": dict,
            "except": list,
        },
    )
    order, beside = top.get("order", ()), top.get("beside", ())
    names = (*order, *beside)
    if not names:
        raise TableError("order: names no room")
    if len(set(names)) != len(names):
        raise TableError("order, beside: the same room twice")
    lists = dict.fromkeys(("state", "ops", "open", "values", "kept", "files"), list)
    rooms = {name: Room(name) for name in names}
    for name, keys in top.get("rooms", {}).items():
        if name not in rooms:
            raise TableError(f"rooms.{name}: neither in order nor in beside")
        if not isinstance(keys, dict):
            raise TableError(f"rooms.{name}: must be a dict")
        rooms[name] = Room(name, **_take(keys, f"rooms.{name}.", lists))
    parse = _take(
        top.get("parse", {}),
        "parse.",
        {"packages": list, "flags": list, "include": list, "switches": list, "precompiled": list},
    )
    tests = _take(
        top.get("tests", {}),
        "tests.",
        {"folders": list, "flags": list, "include": list, "inside": str, "rooms": list},
    )
    for name in tests.get("rooms", ()):
        if name not in rooms:
            raise TableError(f"tests.rooms: '{name}' is no room")
    exempt = []
    for entry in top.get("except", ()):
        if not isinstance(entry, dict):
            raise TableError("except: must be tables, each [[except]]")
        keys = _take(entry, "except.", {"file": str, "name": str, "why": str})
        for key in ("file", "name", "why"):
            if not keys.get(key):
                raise TableError(f"except.{key}: missing")
        exempt.append(Exemption(**keys))
    return Table(
        root=root,
        order=order,
        beside=beside,
        calls=top.get("calls", ()),
        drive=top.get("drive", "ftl/drive.h"),
        outside=top.get("outside", ()),
        rooms=rooms,
        exempt=tuple(exempt),
        **parse,
        **{f"test_{key}": value for key, value in tests.items()},
    )
