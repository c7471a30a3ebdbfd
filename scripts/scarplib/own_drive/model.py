# SPDX-License-Identifier: GPL-2.0-or-later
"""A description: keys and values, from what was read off, and as a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.errors import UserError
from scarplib.own_drive.features import Features

# What no load of a probe tells from the array time that it comes with.
COMMAND_NS = 200
# The free blocks that start a collection are spare that is never used: the two are not told apart.
TRIGGER = 3
# Of a map in flash, for each unit.
ENTRY_BYTES = 4

READ, FITTED, OPEN = "read off", "fitted", "not identifiable"


@dataclass
class Key:
    """A value, and where it comes from."""

    value: str
    how: str
    # Of a fitted key: from, to.
    interval: tuple[float, float] | None = None
    note: str = ""


@dataclass
class Model:
    """A drive's description, key by key."""

    keys: dict[str, Key] = field(default_factory=dict)

    def set(
        self,
        name: str,
        value: int | str,
        how: str,
        note: str = "",
        interval: tuple[float, float] | None = None,
    ) -> None:
        """One key."""
        self.keys[name] = Key(str(value), how, interval, note)

    def with_values(self, values: Mapping[str, int | str]) -> Model:
        """Another one, in which these are fitted."""
        found = Model(dict(self.keys))
        for name, value in values.items():
            found.set(name, value, FITTED)
        return found

    def text(self, head: str = "") -> str:
        """As a file of devices/."""
        lines = [f"# {line}" for line in head.splitlines()]
        for group in dict.fromkeys(name.split(".")[0] for name in sorted(self.keys, key=_order)):
            lines += ["", f"[{group}]"] if lines else [f"[{group}]"]
            for name, key in self.keys.items():
                if name.split(".")[0] == group:
                    lines.append(f"{name.split('.')[1]}={key.value}")
        return "\n".join(lines) + "\n"

    def write(self, path: Path, head: str = "") -> None:
        """As a file of devices/."""
        path.write_text(self.text(head))


def _order(name: str) -> int:
    return ("geometry", "nand", "timing", "controller", "ftl", "gc").index(name.split(".")[0])


def _rate(ns_per_kib: float, most: int) -> int:
    """10^6 bytes a second."""
    return max(1, min(most, round(1024 * 1000 / ns_per_kib))) if ns_per_kib > 0 else most


def from_features(seen: Features) -> Model:
    """What can be read off; the size of blocks, their number and collections are still to come."""
    if not seen.meets:
        raise UserError(
            "no two addresses of this probe meet on a die: its dies do not show, and nothing can "
            "be fitted"
        )
    model = Model()
    ways = max(1, round(seen.dies / seen.channels))
    model.set("geometry.channels", seen.channels, READ)
    model.set("geometry.chips_per_channel", ways, READ, "dies of a channel")
    model.set("geometry.dies_per_chip", 1, OPEN, "chips and dies of a channel look alike")
    model.set("geometry.planes_per_die", 1, OPEN, "planes that take turns look like one")
    model.set("geometry.page_bytes", seen.page, READ)
    _times(model, seen)
    model.set("controller.firmware_ns", max(0, round(seen.base_ns)), READ)
    model.set("controller.link_mbs", _rate(seen.link_ns_kib, 1_000_000), READ)
    if seen.buffer:
        size = max(2 * seen.page, seen.buffer // 65536 * 65536)
        model.set("controller.buffer_bytes", size, FITTED)
    else:
        model.set("controller.buffer_bytes", 0, READ)
    model.set("controller.reads_first", int(seen.reads_first is not False), READ)
    if seen.unit:
        model.set("ftl.unit_bytes", min(seen.unit, seen.page), READ)
    else:
        model.set("ftl.unit_bytes", min(4096, seen.page), OPEN, "no write reads anything first")
    if seen.map_cached:
        unit = int(model.keys["ftl.unit_bytes"].value)
        model.set("ftl.mapping", "demand", READ)
        model.set("ftl.map_cache_bytes", seen.map_cached // unit * 8, FITTED)
    model.set("ftl.allocation", "cwdp", OPEN, "the order of channels and dies is not asked")
    model.set("gc.trigger_free_blocks", TRIGGER, OPEN, "adds to what is spare and never used")
    return model


def _times(model: Model, seen: Features) -> None:
    bits = min(4, max(len(seen.reads_ns), len(seen.programs_ns), 1))

    def series(values: list[int]) -> str:
        """One value, or one for each type of page."""
        times = [max(0, value - COMMAND_NS) for value in values]
        if len(times) == 1 or len(times) > bits:
            return str(times[len(times) // 2])
        while len(times) < bits:
            times.append(times[-1])
        return ";".join(str(time) for time in times)

    model.set("nand.cell_bits", bits, READ, "types of pages")
    if seen.suspends:
        for name in ("suspend_program", "suspend_erase"):
            model.set(f"nand.{name}", 1, READ if name == "suspend_program" else OPEN)
        model.set("nand.suspend_ns", seen.suspend_ns or 0, READ)
    for name, times in (("read", seen.reads_ns), ("program", seen.programs_ns)):
        note = "no two are the same: the middle" if f"{name}s" in seen.scattered else ""
        model.set(f"timing.{name}_ns", series(times), READ, note)
    model.set("timing.command_ns", COMMAND_NS, OPEN, "is a part of the array's times")
    model.set("timing.channel_mts", _rate(seen.channel_ns_kib, 100_000), READ)


def data_pages(model: Model, size: int) -> int:
    """Of a plane, for what the host sees: so many bytes at least."""
    planes = 1
    for name in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die"):
        planes *= int(model.keys[f"geometry.{name}"].value)
    return -(-size // (planes * int(model.keys["geometry.page_bytes"].value)))


def block_count(data: int, pages: int, spare: float, trigger: int) -> int:
    """Of a plane with so many pages of data, of which `spare` (a share of them) is to be had.

    What cannot be had are the blocks that a plane keeps free.
    """
    return max(4, round(data * (1 + spare) / pages) + trigger)


def translation_blocks(model: Model, count: int, pages: int) -> int:
    """Of so many blocks those that a plane keeps for its mapping, as ftl/core/spare.c has it."""
    if "ftl.mapping" not in model.keys or model.keys["ftl.mapping"].value != "demand":
        return 0
    page = int(model.keys["geometry.page_bytes"].value)
    unit = int(model.keys["ftl.unit_bytes"].value) or page
    page_units, entries = page // unit, unit // ENTRY_BYTES
    block_units = pages * page_units
    units = count * block_units // entries + 1
    least = block_units - page_units + 1
    return 2 + (units * 3 // 2 + least - 1) // least


def blocks(model: Model, size: int, pages: int, spare: float) -> dict[str, int | str]:
    """Keys of blocks of so many pages; the drive is at least `size` big."""
    data = data_pages(model, size)
    count = block_count(data, pages, spare, int(model.keys["gc.trigger_free_blocks"].value))
    usable = max(0, count - translation_blocks(model, count, pages))
    permille = max(1, min(10000, usable * pages * 1000 // data - 1000))
    return {
        "geometry.blocks_per_plane": count,
        "geometry.pages_per_block": pages,
        "ftl.over_provisioning_permille": permille,
    }


def spare_of(keys: Mapping[str, str]) -> float:
    """The share that can be had beside the data: without the blocks that start collections."""
    raw = int(keys["geometry.blocks_per_plane"]) * int(keys["geometry.pages_per_block"])
    data = raw * 1000 / (1000 + int(keys["ftl.over_provisioning_permille"]))
    kept = int(keys["gc.trigger_free_blocks"]) * int(keys["geometry.pages_per_block"])
    return (raw - kept) / data - 1
