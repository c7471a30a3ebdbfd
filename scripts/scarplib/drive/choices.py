# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be chosen: schemes, drives, keys, as the engine and the folder of drives have them.

No list is kept here: names, ranges and words come from `scarp-replay --list`, the meaning of a key
from docs/reference.md, which tests hold against the program.
"""

from __future__ import annotations

import configparser
import json
import re
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scarplib.build.first_answer import first_replay
from scarplib.errors import UserError
from scarplib.paths import DEVICES, ROOT

_REFERENCE = ROOT / "docs" / "reference.md"
_POLICY = re.compile(r"([a-z0-9-]+): ([^:\[(]+): (.*)")
_PRESET = re.compile(r"([a-z0-9-]+): (.*?)((?: \[[^\]]+\])*)")
_PARAMETER = re.compile(r"    (\w+)=(\d+) \((\d+) to (\d+) ([^)]*)\): (.*)")
_KEY = re.compile(r"(\w+\.\w+)(?:=(\S+))? \((.*)\)")
_GIB = 1 << 30


@dataclass(frozen=True)
class Parameter:
    """Of a scheme; for --params."""

    name: str
    default: int
    low: int
    high: int
    unit: str
    help: str


@dataclass
class Scheme:
    """One choice on one axis; without an axis a name for several choices, which `chooses` has."""

    name: str
    axis: str
    help: str
    source: str = ""
    chooses: dict[str, str] = field(default_factory=dict)
    needs: list[str] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)


@dataclass(frozen=True)
class Key:
    """Of a drive's description; without a default it must be given."""

    name: str
    default: str | None
    allowed: str
    meaning: str


@dataclass(frozen=True)
class Drive:
    """A file of devices/; `path` is where it lies."""

    file: str
    path: str
    raw_bytes: int
    channels: int
    dies: int
    planes: int
    page_bytes: int
    cell_bits: int
    what: str


# ---- What the engine says ------------------------------------------------------------------------


def listed(program: Path | None = None) -> list[str]:
    """The parts of `scarp-replay --list`: schemes, mappings, keys, generators, formats."""
    command = [str(program or first_replay()), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split("\n\n")


def _without_source(text: str) -> tuple[str, str]:
    """`help (source)`, where the source may have parentheses, too."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth == 0:
            return text[:i].rstrip(), text[i + 1 : -1]
    return text, ""


def schemes(text: str) -> list[Scheme]:
    """Of the first part."""
    found: list[Scheme] = []
    for line in text.splitlines():
        if match := _PARAMETER.fullmatch(line):
            name, default, low, high, unit, words = match.groups()
            found[-1].parameters.append(
                Parameter(name, int(default), int(low), int(high), unit, words)
            )
        elif line.startswith("  needs "):
            found[-1].needs = line.removeprefix("  needs ").split("; ")
        elif match := _POLICY.fullmatch(line):
            found.append(Scheme(match[1], match[2], *_without_source(match[3])))
        elif match := _PRESET.fullmatch(line):
            pairs = re.findall(r"\[([^=]+)=([^\]]+)\]", match[3])
            found.append(Scheme(match[1], "", match[2], chooses=dict(pairs)))
        else:
            raise UserError(f"scarp-replay --list: '{line}' is no scheme")
    return found


def keys(text: str) -> list[Key]:
    """Of the third part, each with its meaning."""
    meanings = dict(
        re.findall(
            r"^\| `([a-z]+\.\w+)` \|[^|]*\|[^|]*\| (.*) \|$", _REFERENCE.read_text(), re.MULTILINE
        )
    )
    found = []
    for line in text.splitlines():
        match = _KEY.fullmatch(line)
        if not match:
            raise UserError(f"scarp-replay --list: '{line}' is no key")
        # Links and marks are for the page.
        meaning = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", meanings.get(match[1], ""))
        found.append(Key(match[1], match[2], match[3], meaning.replace("`", "")))
    return found


def drives() -> list[Drive]:
    """The files of devices/."""
    found = []
    for path in sorted(DEVICES.glob("*.ini")):
        text = path.read_text()
        parser = configparser.ConfigParser()
        parser.read_string(text)
        shape = {name: int(value) for name, value in parser["geometry"].items()}
        dies = shape["channels"] * shape["chips_per_channel"] * shape["dies_per_chip"]
        planes = dies * shape["planes_per_die"]
        pages = planes * shape["blocks_per_plane"] * shape["pages_per_block"]
        page = shape["page_bytes"]
        cell = parser.getint("nand", "cell_bits", fallback=1)
        said = [line[1:].strip() for line in text.splitlines() if line.startswith("#")]
        what = re.split(r"\.(?:\s|$)", " ".join(said))[0]
        found.append(
            Drive(
                path.name,
                str(path),
                pages * page,
                shape["channels"],
                dies,
                planes,
                page,
                cell,
                what,
            )
        )
    return found


# ---- Tables --------------------------------------------------------------------------------------


def _table(heads: list[str], rows: list[list[str]]) -> str:
    """The last column as long as it is, the others as wide as they must be."""
    every = [heads, *rows]
    wide = [max(len(row[i]) for row in every) for i in range(len(heads) - 1)]
    lines = []
    for row in every:
        cells = [cell.ljust(n) for cell, n in zip(row, [*wide, 0], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _json(found: list[Any]) -> str:
    return json.dumps([asdict(each) for each in found], indent=1, ensure_ascii=False)


def _scheme_in_full(scheme: Scheme) -> str:
    chooses = ", ".join(f"{axis}: {name}" for axis, name in scheme.chooses.items())
    lines = [f"{scheme.name}: {scheme.help}"]
    lines += [f"  {word} {text}" for word, text in (
        ("axis:", scheme.axis), ("source:", scheme.source), ("chooses:", chooses),
        ("needs:", "; ".join(scheme.needs)),
    ) if text]  # fmt: skip
    for each in scheme.parameters:
        lines.append(
            f"  {each.name}={each.default} ({each.low} to {each.high} {each.unit}): {each.help}"
        )
    return "\n".join(lines)


def schemes_text(name: str | None, as_json: bool) -> str:
    """`scarp schemes`."""
    found = schemes(listed()[0])
    if name:
        named = {each.name: each for each in found}
        for part in name.split("+"):
            if part not in named:
                raise UserError(f"'{part}' is no scheme; there are {', '.join(named)}")
        chosen = [named[part] for part in name.split("+")]
        return _json(chosen) if as_json else "\n".join(map(_scheme_in_full, chosen))
    if as_json:
        return _json(found)
    rows = [[each.name, each.axis or "(several)", each.help] for each in found]
    return (
        _table(["scheme", "axis", "what it does"], rows)
        + "\n\nJoined by '+', one of each axis: gc-vic+pgc. `scarp schemes NAME` says its source, "
        "what it needs, and its parameters; of joined ones, those of each."
    )


def keys_text(part: str | None, as_json: bool) -> str:
    """`scarp keys`."""
    found = [each for each in keys(listed()[2]) if not part or part in each.name]
    if not found:
        raise UserError(f"no key has '{part}' in its name; `scarp keys` lists them all")
    if as_json:
        return _json(found)
    rows = [[each.name, each.default or "(needed)", each.allowed, each.meaning] for each in found]
    return _table(["key", "default", "allowed", "meaning"], rows)


def drives_text(part: str | None, as_json: bool) -> str:
    """`scarp devices`; of a part of their names what they are is said in full."""
    found = [each for each in drives() if not part or part in f"devices/{each.file}"]
    if not found:
        raise UserError(f"no drive has '{part}' in its name; `scarp devices` lists them all")
    if as_json:
        return _json(found)
    rows = [
        [f"devices/{each.file}", f"{each.raw_bytes / _GIB:.4g} GiB", str(each.channels),
         str(each.dies), str(each.planes), f"{each.page_bytes / 1024:g} KiB", str(each.cell_bits),
         each.what if part or len(each.what) <= 80 else each.what[:79] + "…"]
        for each in found
    ]  # fmt: skip
    heads = ["drive", "raw", "channels", "dies", "planes", "page", "bits a cell", "what it is"]
    return _table(heads, rows)
