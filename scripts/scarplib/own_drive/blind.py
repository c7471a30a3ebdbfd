# SPDX-License-Identifier: GPL-2.0-or-later
"""The blind trial: descriptions drawn by a seed, probed, fitted without looking, and compared."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scarplib import whole_file
from scarplib.build import present
from scarplib.errors import UserError, of_system
from scarplib.own_drive import bench, figures, fit, model, on_guest, on_replayer
from scarplib.own_drive.plan import MIB, Plan
from scarplib.own_drive.probe_file import Probe, load

# What can be seen from outside; docs/your-drive.md says how near each must come.
PROPERTIES = (
    "page",
    "unit",
    "stripe",
    "dies",
    "buffer",
    "flush",
    "spare",
    "map cache",
    "suspend",
    "reads first",
)
ENOUGH = 8


def draw(seed: int, least: int = 256 * MIB, most: int = 2048 * MIB) -> dict[str, str]:
    """A description's keys; not every one is a drive that is accepted."""
    choose = random.Random(f"blind {seed}")
    pick = choose.choice
    page = pick((4096, 8192, 16384))
    channels, ways, planes = pick((1, 2, 4, 8)), pick((1, 2, 4)), pick((1, 1, 2))
    pages = pick((32, 64, 96, 128, 192, 256))
    raw = choose.randrange(least, most + 1)
    bits = pick((1, 1, 2, 3))
    read, program = choose.randrange(25, 90) * 1000, choose.randrange(250, 1000) * 1000
    keys = {
        "geometry.channels": channels,
        "geometry.chips_per_channel": ways,
        "geometry.dies_per_chip": 1,
        "geometry.planes_per_die": planes,
        "geometry.blocks_per_plane": raw // (channels * ways * planes * pages * page),
        "geometry.pages_per_block": pages,
        "geometry.page_bytes": page,
        "nand.cell_bits": bits,
        "nand.suspend_program": pick((0, 1)),
        "timing.read_ns": ";".join(str(read * (4 + i) // 4) for i in range(bits)),
        "timing.program_ns": ";".join(str(program * (1 + i)) for i in range(bits)),
        "timing.erase_ns": choose.randrange(1500, 10000) * 1000,
        "timing.channel_mts": pick((200, 400, 533, 800, 1200)),
        "controller.firmware_ns": choose.randrange(20, 200) * 100,
        "controller.link_mbs": pick((1600, 3200, 7000)),
        "controller.buffer_bytes": pick((0, 1, 2, 4)) * MIB,
        "controller.reads_first": pick((0, 1)),
        "ftl.unit_bytes": pick((4096, page)),
        "ftl.over_provisioning_permille": choose.randrange(70, 300),
        "gc.trigger_free_blocks": pick((2, 3, 4)),
    }
    keys["nand.suspend_erase"] = keys["nand.suspend_program"]
    if pick((0, 0, 1)):
        keys["ftl.mapping"] = "demand"
        share = pick((4, 8, 16))
        unit = int(keys["ftl.unit_bytes"])
        keys["ftl.map_cache_bytes"] = raw // unit * 8 // share // 1024 * 1024
    return {name: str(value) for name, value in keys.items()}


def properties(keys: dict[str, str]) -> dict[str, float]:
    """What of a description shows from outside."""
    number = {name: int(value) for name, value in keys.items() if value.isdigit()}
    dies = 1
    for name in ("channels", "chips_per_channel", "dies_per_chip"):
        dies *= number[f"geometry.{name}"]
    page = number["geometry.page_bytes"]
    buffer = number.get("controller.buffer_bytes", 0)
    return {
        "page": page,
        "unit": number.get("ftl.unit_bytes", 0) or page,
        "stripe": dies * page,
        "dies": dies,
        "buffer": buffer,
        "flush": float(buffer > 0),
        "spare": 100 * model.spare_of(keys),
        "map cache": number.get("ftl.map_cache_bytes", 0),
        "suspend": number.get("nand.suspend_program", 0),
        "reads first": number.get("controller.reads_first", 1),
    }


def agree(name: str, one: float, other: float) -> bool:
    """Exact; the spare within a point, the cache of a map within 5 %."""
    if name == "spare":
        return abs(one - other) <= 1
    if name == "map cache":
        return abs(one - other) <= 0.05 * one
    return one == other


@dataclass
class Trial:
    """Of one drawn description."""

    seed: int
    drawn: dict[str, float]
    fitted: dict[str, float]
    held: list[str] = field(default_factory=list)
    # Of loads that were not fitted.
    figures: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0
    tried: int = 0
    # Probed by a guest's block device, not by the replayer.
    guest: bool = False
    # Of a guest's: so many of these figures the drawn description itself has in the replayer.
    drawn_held: int | None = None
    # And the same figures of the fitted description behind the same kernel, which judge nothing.
    in_guest: list[dict[str, Any]] = field(default_factory=list)
    # What of_what() says of it; nothing: it was written before there was that.
    of: dict[str, Any] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Enough properties, and every figure within its bound."""
        return len(self.held) >= ENOUGH and all(one["held"] for one in self.figures)


def _named(keys: dict[str, str]) -> model.Model:
    found = model.Model()
    for name, value in keys.items():
        found.set(name, value, model.READ)
    return found


def in_guests(seeds: Sequence[int], guests: int) -> set[int]:
    """So many of them, evenly spread."""
    count = len(seeds)
    at = enumerate(seeds, 1)
    return {seed for i, seed in at if i * guests // count > (i - 1) * guests // count}


def _judged(drive: Probe, fitted: Probe) -> list[dict[str, Any]]:
    return [
        {**asdict(one), "difference": one.difference, "held": one.held}
        for one in figures.compare(drive, fitted)
        if one.bound is not None
    ]


def trial(
    seed: int, replay: Path, search: fit.Search, most: int = 2048 * MIB, guest: bool = False
) -> Trial:
    """Drawn, probed, fitted.  The fit sees the probe's file and nothing else."""
    with tempfile.TemporaryDirectory(prefix="scarp-blind-") as scratch:
        folder = Path(scratch)
        keys, path, number = {}, folder / "drawn.ini", seed * 1000
        while True:
            keys = draw(number, most=most)
            _named(keys).write(path)
            drive = on_replayer.Replayed(replay, path, folder)
            try:
                size = drive.logical_bytes()
                break
            except UserError:
                number += 1
        span = size // MIB * MIB
        if guest:
            probed = on_guest.probe(on_guest.InGuest(path, span // MIB, held_out=True))
        else:
            probed = on_replayer.probe(drive, Plan(span), held_out=True, size=size)
        probed.write(folder / "probe.json")
        probe = load(folder / "probe.json")
        began = time.monotonic()
        held_out = {name: one for name, one in probe.results.items() if name.startswith("held-")}
        for name in held_out:
            del probe.results[name]
        found = fit.fit(probe, replay, search)
        seconds = time.monotonic() - began
        probe.results = held_out
        compared = _judged(probe, found.probe)
        in_guest: list[dict[str, Any]] = []
        drawn_held = None
        if guest:
            # As far as the replayer is like a guest at all.
            itself = on_replayer.probe(
                drive, Plan(span), known=probe.known, held_out=True, size=probe.source["bytes"]
            )
            drawn_held = sum(one["held"] for one in _judged(probe, itself))
            # As a guest of the user's has it.
            path = folder / "fitted.ini"
            found.model.write(path)
            again = on_guest.probe(on_guest.InGuest(path, span // MIB, held_out=True))
            in_guest = _judged(probe, again)
    fitted = properties({name: key.value for name, key in found.model.keys.items()})
    drawn = properties(keys)
    return Trial(
        seed,
        drawn,
        fitted,
        [name for name in PROPERTIES if agree(name, drawn[name], fitted[name])],
        compared,
        seconds,
        found.tried,
        guest,
        drawn_held,
        in_guest,
    )


def text(one: Trial) -> str:
    """A few lines."""
    where = ", in a guest" if one.guest else ""
    lines = [
        f"trial {one.seed}{where}: {len(one.held)} of {len(PROPERTIES)} properties, "
        f"{sum(f['held'] for f in one.figures)} of {len(one.figures)} figures of loads that were "
        f"not fitted; {one.tried} candidates, {one.seconds:.0f} s"
    ]
    if one.drawn_held is not None:
        lines.append(f"  the drawn description itself, in the replayer: {one.drawn_held} figures")
    if one.in_guest:
        held = sum(f["held"] for f in one.in_guest)
        lines.append(f"  the fitted description in a guest: {held} figures")
    for name in PROPERTIES:
        if name not in one.held:
            lines.append(f"  {name}: {one.drawn[name]:g}, fitted {one.fitted[name]:g}")
    for f in one.figures:
        if not f["held"]:
            lines.append(f"  {f['step']} {f['name']}: {100 * f['difference']:+.0f} %")
    return "\n".join(lines)


def of_what(search: fit.Search, most: int, guest: bool) -> dict[str, Any]:
    """All that a trial depends on beside its seed: one of anything else is another trial.

    The search is bounded by the processor's time, so cores say nothing of it.
    """
    return {
        "engine": present.device_hash() if guest else present.engine_hash(),
        "program": bench.program(),
        "mib": most // MIB,
        "seconds": search.seconds,
        "seed": search.seed,
        "guest": guest,
    }


def _load(out: Path) -> list[Trial]:
    """All that are in the file."""
    try:
        found = [Trial(**one) for one in json.loads(out.read_text())["trials"]]
        for one in found:
            # What is asked and said of it needs all that it has.
            hash(one.seed)
            text(one)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"--out: {of_system(error)}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise UserError(
            f"--out: '{out}' is no whole file of trials ({why}); it stays: name another file"
        ) from error
    return found


def trials(
    seeds: list[int],
    replay: Path,
    search: fit.Search,
    out: Path,
    most: int,
    say: Callable[[str], None],
    guests: int = 0,
) -> list[Trial]:
    """Each once; those that the file has are not done again.  `guests` of them are in guests.

    Others of the file stay in it, and are none of those that are returned.
    """
    within = in_guests(seeds, guests)
    wanted = {seed: of_what(search, most, seed in within) for seed in seeds}
    there = _load(out)
    found = {one.seed: one for one in there if one.of == wanted.get(one.seed)}
    for seed in seeds:
        if seed in found:
            continue
        one = trial(seed, replay, search, most, seed in within)
        one.of = wanted[seed]
        found[seed] = one
        there.append(one)
        say(text(one))
        whole = {"schema": "scarp-blind-1", "trials": [asdict(one) for one in there]}
        with whole_file.writing("--out", out) as stream:
            stream.write(json.dumps(whole, indent=1) + "\n")
    return [found[seed] for seed in seeds]


def summary(done: list[Trial]) -> str:
    """How many of them are as they should be."""
    lines = [
        f"{sum(len(one.held) >= ENOUGH for one in done)} of {len(done)} have {ENOUGH} of "
        f"{len(PROPERTIES)} properties"
    ]
    for name in PROPERTIES:
        lines.append(f"  {name}: {sum(name in one.held for one in done)}")
    figures_of = [f for one in done for f in one.figures]
    lines.append(
        f"{sum(f['held'] for f in figures_of)} of {len(figures_of)} figures of loads that "
        "were not fitted are within their bounds"
    )
    lines.append(f"{sum(one.good for one in done)} have both in full")
    return "\n".join(lines)
