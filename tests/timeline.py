# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a timeline back: Perfetto's protobuf format, as much as ftl/timeline/timeline.c writes.

Strict: a field that the writer does not use is an error, so a wrong number is found.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Field numbers of perfetto's protos/perfetto/trace/*.proto, by message.
TRACE = {1: "packet"}
PACKET = {
    8: "timestamp",
    10: "trusted_packet_sequence_id",
    11: "track_event",
    12: "interned_data",
    13: "sequence_flags",
    60: "track_descriptor",
    87: "first_packet_on_sequence",
}
DESCRIPTOR = {
    1: "uuid",
    2: "name",
    5: "parent_uuid",
    11: "child_ordering",
    12: "sibling_order_rank",
}
EVENT = {
    3: "category_iids",
    4: "debug_annotations",
    9: "type",
    10: "name_iid",
    11: "track_uuid",
    47: "flow_ids",
}
ANNOTATION = {1: "name_iid", 3: "uint_value"}
INTERNED = {1: "event_categories", 2: "event_names", 3: "debug_annotation_names"}
NAMED = {1: "iid", 2: "name"}
SLICE_BEGIN, SLICE_END = 1, 2
STATE_CLEARED, NEEDS_STATE = 1, 2


@dataclass
class Slice:
    track: str  # "channel 3", "plane 6", "plane 6 GC", "commands"
    uuid: int
    name: str
    category: str
    begin_ns: int
    end_ns: int = -1
    args: dict[str, int] = field(default_factory=dict)
    flows: list[int] = field(default_factory=list)

    @property
    def ns(self) -> int:
        return self.end_ns - self.begin_ns


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes, names: dict[int, str]) -> Iterator[tuple[str, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        name = names[tag >> 3]
        value: int | bytes
        if tag & 7 == 0:
            value, at = _varint(data, at)
        elif tag & 7 == 1:
            (value,) = struct.unpack_from("<Q", data, at)
            at += 8
        else:
            assert tag & 7 == 2, f"wire type {tag & 7} of {name}"
            size, at = _varint(data, at)
            assert at + size <= len(data), f"{name} is cut"
            value = data[at : at + size]
            at += size
        yield name, value


def _message(data: bytes, names: dict[int, str]) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for name, value in _fields(data, names):
        out.setdefault(name, []).append(value)
    return out


def read(path: Path, group: int | None = None) -> tuple[list[Slice], dict[str, str]]:
    """Slices by begin, and each track's parent; slices nest and end, or an assertion fails.

    group: of joined timelines the one of this number.
    """
    names: dict[str, dict[int, str]] = {}
    tracks: dict[int, tuple[str, int]] = {}
    events: list[tuple[int, dict[str, list[Any]]]] = []
    for name, packet in _fields(path.read_bytes(), TRACE):
        assert name == "packet" and isinstance(packet, bytes)
        parts = _message(packet, PACKET)
        if group is not None and parts["trusted_packet_sequence_id"] != [1 + group]:
            continue
        assert parts["trusted_packet_sequence_id"] == [1 + (group or 0)]
        if "interned_data" in parts:
            assert not names and parts["sequence_flags"] == [STATE_CLEARED | NEEDS_STATE]
            for kind, entry in _fields(parts["interned_data"][0], INTERNED):
                assert isinstance(entry, bytes)
                one = _message(entry, NAMED)
                assert one["iid"][0] not in names.setdefault(kind, {})
                names[kind][one["iid"][0]] = one["name"][0].decode()
        elif "track_descriptor" in parts:
            one = _message(parts["track_descriptor"][0], DESCRIPTOR)
            parent = one.get("parent_uuid", [0])[0]
            assert one["uuid"][0] not in tracks and (not parent or parent in tracks)
            tracks[one["uuid"][0]] = (one["name"][0].decode(), parent)
        else:
            assert parts["sequence_flags"] == [NEEDS_STATE]
            event = _message(parts["track_event"][0], EVENT)
            assert event["track_uuid"][0] in tracks
            events.append((parts["timestamp"][0], event))
    parents = {name: tracks[parent][0] for name, parent in tracks.values() if parent}
    return _slices(events, names, tracks), parents


def _slices(
    events: list[tuple[int, dict[str, list[Any]]]],
    names: dict[str, dict[int, str]],
    tracks: dict[int, tuple[str, int]],
) -> list[Slice]:
    # As trace processor does: by time, in the order of the file among equals.
    events.sort(key=lambda pair: pair[0])
    running: dict[int, list[Slice]] = {}
    slices: list[Slice] = []
    for time_ns, event in events:
        uuid = event["track_uuid"][0]
        stack = running.setdefault(uuid, [])
        if event["type"] == [SLICE_END]:
            stack.pop().end_ns = time_ns
            continue
        assert event["type"] == [SLICE_BEGIN]
        annotations = [_message(part, ANNOTATION) for part in event.get("debug_annotations", ())]
        one = Slice(
            tracks[uuid][0],
            uuid,
            names["event_names"][event["name_iid"][0]],
            names["event_categories"][event["category_iids"][0]],
            time_ns,
            args={
                names["debug_annotation_names"][part["name_iid"][0]]: part["uint_value"][0]
                for part in annotations
            },
            flows=event.get("flow_ids", []),
        )
        assert not stack, f"{one} overlaps {stack[-1]}"
        stack.append(one)
        slices.append(one)
    assert not any(running.values()), "a slice does not end"
    return slices
