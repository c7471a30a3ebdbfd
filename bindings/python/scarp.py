# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives of the engine in Python: `import scarp`, on libscarp by ctypes alone (docs/library.md).

    with scarp.Drive("devices/demo.ini", "pgc", overrides={"gc.trigger_free_blocks": 4}) as drive:
        drive.age(900)
        load = scarp.uniform(drive, 20_000, read_permille=700, seed=1)
        slow = max(drive.closed_loop(load, depth=8), key=lambda command: command.latency_ns)
        print(drive.latency_ns(scarp.Op.READ, 990_000), slow.cause_ns)

Units are in the names, as in scarp.h.  A drive is used by one thread at a time.
"""

from __future__ import annotations

import ctypes
import enum
import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

# Of the structures below; another ABI is another file's name.
ABI = 1
TIME_NEVER_NS = 2**63 - 1
TIME_LAST_NS = TIME_NEVER_NS // 8
_CAUSES = 19
_UNTIL_STEADY = 2**32 - 1


class Error(Exception):
    """What the engine refuses, in its own one line."""


class Op(enum.IntEnum):
    """What a command does."""

    READ = 0
    WRITE = 1
    WRITE_ZEROES = 2
    DEALLOCATE = 3
    FLUSH = 4


class GErrorStruct(ctypes.Structure):
    """GLib's."""

    _fields_ = (("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p))


class CmdStruct(ctypes.Structure):
    """ScarpCmd."""

    _fields_ = (
        ("op", ctypes.c_int),
        ("fua", ctypes.c_bool),
        ("stream", ctypes.c_uint16),
        ("nsid", ctypes.c_uint32),
        ("offset_bytes", ctypes.c_uint64),
        ("length_bytes", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_int64),
        ("data", ctypes.c_void_p),
        ("opaque", ctypes.c_void_p),
        ("status", ctypes.c_int),
        ("submit_ns", ctypes.c_int64),
        ("complete_ns", ctypes.c_int64),
        ("cause_ns", ctypes.c_int64 * _CAUSES),
        ("seq", ctypes.c_uint64),
        ("next_byte", ctypes.c_uint64),
        ("order", ctypes.c_uint64),
        ("record", ctypes.c_uint32),
        ("joined", ctypes.c_bool),
        ("split", ctypes.c_bool),
        ("units_left", ctypes.c_uint32),
        ("passes_left", ctypes.c_uint32),
        ("mark_ns", ctypes.c_int64),
        ("due_ns", ctypes.c_int64),
        ("next", ctypes.c_void_p),
    )


class ConfigStruct(ctypes.Structure):
    """ScarpConfig."""

    _fields_ = (
        ("description_path", ctypes.c_char_p),
        ("scheme", ctypes.c_char_p),
        ("params", ctypes.c_char_p),
        ("overrides", ctypes.c_char_p),
        ("seed", ctypes.c_uint64),
        ("store_data", ctypes.c_bool),
        ("image_path", ctypes.c_char_p),
    )


class AgeStruct(ctypes.Structure):
    """ScarpAge."""

    _fields_ = (
        ("utilisation_permille", ctypes.c_uint32),
        ("overwrite_permille", ctypes.c_uint32),
        ("pattern", ctypes.c_char_p),
        ("seed", ctypes.c_uint64),
    )


class TailStruct(ctypes.Structure):
    """ScarpTail."""

    _fields_ = (
        ("n", ctypes.c_uint64),
        ("at_least_ns", ctypes.c_uint64),
        ("cause_ns", ctypes.c_uint64 * _CAUSES),
    )


def _found() -> str:
    """$SCARP_LIBRARY; or that of the same prefix; or the system's."""
    if named := os.environ.get("SCARP_LIBRARY"):
        return named
    beside = Path(__file__).resolve().parents
    installed = beside[3] / "lib" / f"libscarp.so.{ABI}" if len(beside) > 3 else None
    return str(installed) if installed and installed.is_file() else f"libscarp.so.{ABI}"


def _load() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    path = _found()
    try:
        engine, glib = ctypes.CDLL(path), ctypes.CDLL("libglib-2.0.so.0")
    except OSError as error:
        raise ImportError(f"{error}; SCARP_LIBRARY names a libscarp.so.{ABI}") from None
    drive, problem = ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(GErrorStruct))
    i64, u64, u32 = ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint32
    text, owned, cmd = ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(CmdStruct)
    table: dict[str, tuple[Any, list[Any]]] = {
        "scarp_version": (text, []),
        "scarp_cause_name": (text, [ctypes.c_int]),
        "scarp_drive_new": (drive, [ctypes.POINTER(ConfigStruct), problem]),
        "scarp_drive_free": (None, [drive]),
        "scarp_drive_logical_bytes": (u64, [drive]),
        "scarp_drive_unit_bytes": (u32, [drive]),
        "scarp_drive_scheme": (text, [drive]),
        "scarp_drive_set_scheme": (ctypes.c_bool, [drive, text, text, problem]),
        "scarp_submit": (None, [drive, cmd, i64]),
        "scarp_now_ns": (i64, [drive]),
        "scarp_next_event_ns": (i64, [drive]),
        "scarp_run": (None, [drive, i64]),
        "scarp_run_until_done": (ctypes.c_bool, [drive, i64]),
        "scarp_reap": (owned, [drive]),
        "scarp_age": (ctypes.c_bool, [drive, ctypes.POINTER(AgeStruct), problem]),
        "scarp_drain": (ctypes.c_bool, [drive, problem]),
        "scarp_save": (ctypes.c_bool, [drive, text, problem]),
        "scarp_check": (ctypes.c_bool, [drive, problem]),
        "scarp_stats_reset": (None, [drive]),
        "scarp_stats_json": (owned, [drive]),
        "scarp_latency_ns": (u64, [drive, ctypes.c_int, u32]),
        "scarp_latency_tail": (None, [drive, ctypes.c_int, u32, ctypes.POINTER(TailStruct)]),
    }
    for name, (result, arguments) in table.items():
        function = getattr(engine, name)
        function.restype, function.argtypes = result, arguments
    glib.g_free.restype, glib.g_free.argtypes = None, [ctypes.c_void_p]
    glib.g_error_free.restype, glib.g_error_free.argtypes = None, [ctypes.POINTER(GErrorStruct)]
    return engine, glib


_engine, _glib = _load()


def version() -> str:
    """Of the library."""
    text: bytes = _engine.scarp_version()
    return text.decode()


def causes() -> list[str]:
    """What commands wait for, in the order of `Command.cause_ns`."""
    return [_engine.scarp_cause_name(cause).decode() for cause in range(_CAUSES)]


@dataclass(frozen=True)
class Request:
    """One command that is still to be submitted."""

    op: Op
    offset_bytes: int = 0
    length_bytes: int = 0
    data: bytes | None = None
    stream: int = 0
    fua: bool = False
    deadline_ns: int = TIME_NEVER_NS


@dataclass(frozen=True)
class Command:
    """One that has completed; `cause_ns` adds up to `latency_ns`."""

    request: Request
    submit_ns: int
    complete_ns: int
    cause_ns: tuple[int, ...]
    # Of a read from a drive that stores data.
    data: bytes | None

    @property
    def latency_ns(self) -> int:
        """From its submission to its completion."""
        return self.complete_ns - self.submit_ns


@dataclass(frozen=True)
class Tail:
    """The slowest commands: how many, from which latency on, and what they waited for in all."""

    n: int
    at_least_ns: int
    cause_ns: dict[str, int]


def _described(description: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    """The user's own file, or that of a drive which is named alone, installed or in a checkout."""
    if description is None or Path(description).exists():
        return description
    name = os.fspath(description)
    above = Path(__file__).resolve().parents
    own = [folder / "devices" / f"{name}.ini" for folder in above[1:3]]
    found = [path for path in own if path.is_file()]
    return found[0] if found and name == Path(name).name else description


class Drive:
    """A drive of one description, at time 0; close() or `with` frees it."""

    def __init__(
        self,
        description: str | os.PathLike[str] | None = None,
        scheme: str = "baseline",
        *,
        params: Mapping[str, int] | None = None,
        overrides: Mapping[str, int | str] | None = None,
        seed: int = 1,
        store_data: bool = False,
        image: str | os.PathLike[str] | None = None,
    ) -> None:
        """description: a file, or the name of a drive that comes with Scarp, such as demo."""

        def encoded(path: str | os.PathLike[str] | None) -> bytes | None:
            return None if path is None else os.fsencode(path)

        def joined(keys: Mapping[str, int | str] | None) -> bytes | None:
            return ",".join(f"{k}={v}" for k, v in keys.items()).encode() if keys else None

        self._drive: int | None = None
        self._stores = store_data
        # By address: what the engine holds must neither move nor go.
        self._held: dict[int, tuple[CmdStruct, Request, Any]] = {}
        config = ConfigStruct(
            encoded(_described(description)), scheme.encode(), joined(params), joined(overrides),
            seed, store_data, encoded(image),
        )  # fmt: skip
        error = ctypes.POINTER(GErrorStruct)()
        self._drive = _engine.scarp_drive_new(ctypes.byref(config), ctypes.byref(error))
        if not self._drive:
            self._fail(error)

    @staticmethod
    def _fail(error: Any) -> None:
        said = error.contents.message.decode()
        _glib.g_error_free(error)
        raise Error(said)

    def _try(self, name: str, *arguments: Any) -> None:
        error = ctypes.POINTER(GErrorStruct)()
        if not getattr(_engine, name)(self._own(), *arguments, ctypes.byref(error)):
            self._fail(error)

    def _own(self) -> int:
        if not self._drive:
            raise Error("the drive is closed")
        return self._drive

    def __enter__(self) -> Drive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Free it; commands under way are forgotten."""
        if self._drive:
            _engine.scarp_drive_free(self._drive)
            self._drive = None
            self._held.clear()

    @property
    def logical_bytes(self) -> int:
        """What a host may address."""
        return int(_engine.scarp_drive_logical_bytes(self._own()))

    @property
    def unit_bytes(self) -> int:
        """Of the mapping."""
        return int(_engine.scarp_drive_unit_bytes(self._own()))

    @property
    def scheme(self) -> str:
        """As it was named, or set since."""
        return str(_engine.scarp_drive_scheme(self._own()).decode())

    @property
    def now_ns(self) -> int:
        """Time of the last event or call."""
        return int(_engine.scarp_now_ns(self._own()))

    @property
    def next_event_ns(self) -> int:
        """TIME_NEVER_NS where nothing will happen."""
        return int(_engine.scarp_next_event_ns(self._own()))

    def set_scheme(self, scheme: str) -> None:
        """From the next decision on."""
        self._try("scarp_drive_set_scheme", scheme.encode(), None)

    def age(
        self,
        fill_permille: int = 900,
        overwrite_permille: int | None = None,
        pattern: str = "random",
        seed: int = 1,
    ) -> None:
        """To steady state, or overwritten by so much; only a new drive."""
        steady = _UNTIL_STEADY if overwrite_permille is None else overwrite_permille
        asked = AgeStruct(fill_permille, steady, pattern.encode(), seed)
        self._try("scarp_age", ctypes.byref(asked))

    def submit(self, request: Request, at_ns: int | None = None) -> None:
        """Now, or at a time that is not past."""
        now_ns, end = self.now_ns, request.offset_bytes + request.length_bytes
        at_ns = now_ns if at_ns is None else at_ns
        # The engine takes the caller's word for these, and ends the program.
        if not now_ns <= at_ns <= TIME_LAST_NS:
            raise Error(f"at_ns={at_ns}: must be from {now_ns} to {TIME_LAST_NS}")
        if min(request.offset_bytes, request.length_bytes) < 0 or end > self.logical_bytes:
            raise Error(f"offset_bytes={request.offset_bytes}: the drive has {self.logical_bytes}")
        if request.offset_bytes % 512 or request.length_bytes % 512:
            raise Error("offset_bytes, length_bytes: must be multiples of 512")
        cmd = CmdStruct(
            op=request.op, fua=request.fua, stream=request.stream, nsid=1,
            offset_bytes=request.offset_bytes, length_bytes=request.length_bytes,
            deadline_ns=request.deadline_ns,
        )  # fmt: skip
        buffer = None
        if request.data is not None and len(request.data) != request.length_bytes:
            raise Error(f"data: has {len(request.data)} bytes, not {request.length_bytes}")
        if request.data is not None:
            buffer = ctypes.create_string_buffer(request.data, request.length_bytes)
        elif self._stores and request.op == Op.READ:
            buffer = ctypes.create_string_buffer(request.length_bytes)
        if buffer is not None:
            cmd.data = ctypes.addressof(buffer)
        self._held[ctypes.addressof(cmd)] = (cmd, request, buffer)
        _engine.scarp_submit(self._own(), ctypes.byref(cmd), at_ns)

    def run(self, until_ns: int) -> None:
        """All events up to then."""
        if until_ns > TIME_LAST_NS:
            raise Error(f"until_ns={until_ns}: must be at most {TIME_LAST_NS}")
        _engine.scarp_run(self._own(), until_ns)

    def run_until_done(self, limit_ns: int = TIME_LAST_NS) -> bool:
        """No further than the time at which a command has completed; False: none has."""
        return bool(_engine.scarp_run_until_done(self._own(), limit_ns))

    def reap(self) -> Command | None:
        """The next completed command, if there is one."""
        address = _engine.scarp_reap(self._own())
        if not address:
            return None
        cmd, request, buffer = self._held.pop(address)
        read = buffer is not None and request.op == Op.READ
        return Command(
            request, cmd.submit_ns, cmd.complete_ns, tuple(cmd.cause_ns),
            buffer.raw if read else None,
        )  # fmt: skip

    def closed_loop(self, requests: Iterable[Request], depth: int = 1) -> Iterator[Command]:
        """The commands as they complete, each replaced by the next request at once."""
        under_way = 0
        for request in requests:
            while under_way >= depth:
                if (done := self.reap()) is not None:
                    under_way -= 1
                    yield done
                elif not self.run_until_done():
                    raise Error("no command completes")
            self.submit(request)
            under_way += 1
        while under_way:
            if (done := self.reap()) is not None:
                under_way -= 1
                yield done
            elif not self.run_until_done():
                raise Error("no command completes")

    def drain(self) -> None:
        """To rest."""
        self._try("scarp_drain")

    def save(self, path: str | os.PathLike[str]) -> None:
        """An image of the drive at rest."""
        self._try("scarp_save", os.fsencode(path))

    def check(self) -> None:
        """All laws of its tables; an Error is a fault of the engine."""
        self._try("scarp_check")

    def stats(self) -> dict[str, Any]:
        """As docs/reference.md has them."""
        address = _engine.scarp_stats_json(self._own())
        try:
            found: dict[str, Any] = json.loads(ctypes.string_at(address))
        finally:
            _glib.g_free(address)
        return found

    def reset_stats(self) -> None:
        """Count from here."""
        _engine.scarp_stats_reset(self._own())

    def latency_ns(self, op: Op, permillion: int) -> int:
        """Reached by so many of a million reads or writes."""
        return int(_engine.scarp_latency_ns(self._own(), op, permillion))

    def tail(self, op: Op, permillion: int) -> Tail:
        """The slowest so many of a million reads or writes."""
        found = TailStruct()
        _engine.scarp_latency_tail(self._own(), op, permillion, ctypes.byref(found))
        return Tail(found.n, found.at_least_ns, dict(zip(causes(), found.cause_ns, strict=True)))


def uniform(drive: Drive, count: int, read_permille: int = 500, seed: int = 1) -> Iterator[Request]:
    """Reads and writes of one unit each, anywhere on the drive."""
    unit, source = drive.unit_bytes, random.Random(seed)
    units = drive.logical_bytes // unit
    for _ in range(count):
        op = Op.READ if source.randrange(1000) < read_permille else Op.WRITE
        yield Request(op, source.randrange(units) * unit, unit)
