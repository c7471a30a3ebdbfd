# SPDX-License-Identifier: GPL-2.0-or-later
"""What was run, in words, for the first screen of a report: drive, load, schemes, command."""

from __future__ import annotations

import configparser
import datetime
import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from scarplib import scheme_text
from scarplib.drive import choices, image_file
from scarplib.drive.size import logical_bytes
from scarplib.errors import UserError, printable
from scarplib.results.units import human_ns
from scarplib.version import version

# In a run's folder, apart from what is equal in equal runs.
COMMAND = "command.json"
_KINDS = {
    **{"read": "reads in order", "write": "writes in order", "trim": "trims in order"},
    **{"randread": "random reads", "randwrite": "random writes", "randtrim": "random trims"},
    **{"rw": "reads and writes in order", "readwrite": "reads and writes in order"},
    **{"randrw": "random reads and writes", "trimwrite": "trims, each written again"},
    "randtrimwrite": "random trims, each written again",
}


def size(count: int) -> str:
    """Of a drive, as people name it: three digits and a unit of 1024."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def _many(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def keys(description: str, overrides: Iterable[str] = ()) -> dict[str, str]:
    """Of a description and of what --set has: by group.key."""
    parser = configparser.ConfigParser(strict=False)
    parser.read_string(description)
    found = {
        f"{name}.{key}": value for name in parser.sections() for key, value in parser[name].items()
    }
    return found | dict(pair.split("=", 1) for pair in overrides)


def shape(named: Mapping[str, str], host_bytes: int) -> str:
    """A drive's sizes, times and spare."""

    def number(key: str, default: int = 0) -> int:
        return int(named.get(key, default))

    channels, planes = number("geometry.channels"), number("geometry.planes_per_die", 1)
    dies = channels * number("geometry.chips_per_channel", 1) * number("geometry.dies_per_chip", 1)
    pages = number("geometry.pages_per_block")
    raw = (
        dies * planes * number("geometry.blocks_per_plane") * pages * number("geometry.page_bytes")
    )
    times = [
        f"{word} {human_ns(number(f'timing.{key}_ns'))}"
        for word, key in (("read", "read"), ("program", "program"), ("erase", "erase"))
        if f"timing.{key}_ns" in named
    ]
    spare = 1000 * (raw - host_bytes) // host_bytes
    buffer = number("controller.buffer_bytes")
    return "; ".join(
        [
            f"{size(raw)} of flash, {size(host_bytes)} of it for the host "
            f"(spare: {spare / 10:g} % of that)",
            f"{_many(channels, 'channel')}, {_many(dies, 'die')} of {_many(planes, 'plane')}, "
            f"blocks of {_many(pages, 'page')} of {size(number('geometry.page_bytes'))}",
            *([", ".join(times)] if times else []),
            f"write buffer of {size(buffer)}" if buffer else "no write buffer",
        ]
    )


def fio_job(options: Mapping[str, str]) -> str:
    """What one job of fio's JSON does; `options`: the global ones and its own."""
    kind = options.get("rw", options.get("readwrite", "read")).split(":")[0]
    words = [_KINDS.get(kind, kind)]
    if "rwmixread" in options or "rwmixwrite" in options:
        reads = options.get("rwmixread") or str(100 - int(options["rwmixwrite"]))
        words[0] += f", {reads} % of them reads"
    if block := options.get("bssplit") or options.get("bs", "4k"):
        words.append(f"blocks of {block}")
    words.append(f"depth {options.get('iodepth', '1')}")
    if options.get("numjobs", "1") != "1":
        words.append(f"{options['numjobs']} times at once")
    for key, said in (
        ("fsync", "an fsync after each {}"),
        ("fdatasync", "an fdatasync after each {}"),
        ("number_ios", "{} I/Os"),
        ("runtime", "for {}"),
    ):
        if options.get(key, "0") != "0":
            words.append(said.format(options[key]))
    return ", ".join(words)


def load(path: Path) -> list[str]:
    """Each job of fio's JSON, with its name."""
    text = path.read_text(errors="replace")
    found = json.loads(text[text.index("{") :])
    usual: dict[str, str] = found.get("global options", {})
    return [f"{job['jobname']}: {fio_job(usual | job['job options'])}" for job in found["jobs"]]


def schemes(names: Iterable[str]) -> dict[str, str]:
    """What each does, by the engine's own words; joined ones one after the other."""
    said = {each.name: each.help for each in choices.schemes(choices.listed()[0])}
    return {
        name: "; ".join(said.get(part, part) for part in scheme_text.split(name).name.split("+"))
        for name in dict.fromkeys(names)
    }


def command() -> dict[str, str]:
    """How this process was called, when, and which Scarp it is."""
    return {
        "command": shlex.join(["scarp", *sys.argv[1:]]),
        "date": datetime.datetime.now().astimezone().isoformat(" ", "minutes"),
        "version": version(),
    }


def keep_command(folder: Path) -> None:
    """Beside the results, for the report."""
    (folder / COMMAND).write_text(json.dumps(command(), indent=1) + "\n")


def rows(result: dict[str, Any], folder: Path | None) -> list[tuple[str, list[str]]]:
    """For the report: what, and its lines."""
    said = result.get("ran", {})
    found = [
        ("drive", [f"{result['device']}: {said['drive']}"] if "drive" in said else []),
        ("load", said.get("load", [])),
        ("schemes", [f"{name}: {words}" for name, words in said.get("schemes", {}).items()]),
    ]
    path = folder / COMMAND if folder else None
    if path and path.is_file():
        made = json.loads(path.read_text())
        found.append(("command", [str(made["command"])]))
        found.append(("made", [f"{made['date']}, by Scarp {made['version']}"]))
    return [(name, lines) for name, lines in found if lines]


def words(
    image: Path,
    device: Path | None,
    overrides: Iterable[str],
    names: Iterable[str],
    work: str,
    fio: Path | None = None,
) -> dict[str, Any]:
    """For summary.json; what cannot be said is left out.  The drive begins as `image`, and `device`
    names its description where that is another one than the image's own; `work` is the load's name,
    or all that there is to say of it without fio's JSON.
    """
    found: dict[str, Any] = {"load": [work]}
    try:
        text = device.read_text() if device else image_file.description(image)
        found["drive"] = shape(keys(text, overrides), logical_bytes(None, None, image))
        found["schemes"] = schemes(names)
        if fio and fio.is_file():
            found["load"] += load(fio)
    except (UserError, OSError, ValueError, KeyError, configparser.Error) as error:
        said = printable(str(error).splitlines()[0])
        print(f"scarp: not all of what was run can be said: {said}", file=sys.stderr)
    return found
