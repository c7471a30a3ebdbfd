# SPDX-License-Identifier: GPL-2.0-or-later
"""What two engines wrote, compared by what the older one knew.

A newer engine counts more and has more keys: those are no difference.  What the older one wrote
must be there, with the same value: statistics by their names, the saved drive by its sections,
and all else to the byte.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scarplib.drive import image_file

# Parameters of policies that became keys of the description: {policy: ((position, key), ...)}.
# Such an image has no parameter to compare, so the key must have the parameter's value.
BECAME_KEYS = {"deadline": ((4, "controller.queue"),)}


@dataclass
class Difference:
    """What differs, and what differs as it is known to."""

    unexpected: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)


def compare(base: Mapping[str, bytes], now: Mapping[str, bytes]) -> Difference:
    """Two runs' outputs by name; "json" and "drive" are looked into, if they are what they say."""
    found = Difference()
    for name in sorted({*base, *now}):
        if name not in base or name not in now:
            found.unexpected.append(name)
        elif base[name] == now[name]:
            continue
        elif name == "json":
            found.unexpected += [f"json: {key}" for key in _json(base[name], now[name])]
        elif name == "drive":
            _drive(base[name], now[name], found)
        else:
            found.unexpected.append(name)
    return found


# ---- Statistics ---------------------------------------------------------------------------------


def _json(base: bytes, now: bytes) -> list[str]:
    # Numbers as they are written: 1.0 is not 1.000.
    try:
        there, here = (json.loads(x, parse_int=str, parse_float=str) for x in (base, now))
    except ValueError:
        return ["not JSON"]
    for run in (there, here):
        if isinstance(run, dict):
            run.pop("wall_s", None)
            # Whose engine it was, which is asked of each.
            if isinstance(run.get("stats"), dict):
                run["stats"].pop("scarp_version", None)
    return _keys(there, here, "")


def _keys(there: Any, here: Any, path: str) -> list[str]:
    if not isinstance(there, dict) or not isinstance(here, dict):
        return [] if there == here else [path or "all"]
    differ = []
    for key, value in there.items():
        inner = f"{path}.{key}".lstrip(".")
        differ += _keys(value, here[key], inner) if key in here else [f"{inner} is gone"]
    return differ


# ---- The saved drive ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Policy:
    name: str
    parameters: tuple[int, ...]
    state: bytes


def sections(image: bytes) -> dict[str, bytes]:
    """A saved drive's (docs/images.md); what is none is a ValueError."""
    try:
        magic, _, count, _, _ = image_file.HEAD.unpack_from(image)
        if magic != b"SCARPIMG":
            raise ValueError("not an image")
        at = image_file.HEAD.size + count * image_file.SECTION.size
        found = {}
        for i in range(count):
            name, length, _ = image_file.SECTION.unpack_from(
                image, image_file.HEAD.size + i * image_file.SECTION.size
            )
            found[name.rstrip(b"\0").decode()] = image[at : at + length]
            at += length
    except struct.error as error:
        raise ValueError(str(error)) from error
    if at != len(image):
        raise ValueError("its sections do not fill it")
    return found


def keys(text: bytes) -> dict[str, str]:
    """Of a description: {group.key: value}."""
    found, group = {}, ""
    for line in text.decode().split("\n"):
        if line.startswith("["):
            group = line.strip("[]") + "."
        elif "=" in line:
            key, value = line.split("=", 1)
            found[group + key] = value
    return found


def policies(section: bytes) -> list[Policy]:
    """Of the section "scheme"."""
    (count,) = struct.unpack_from("<I", section)
    at, found = 4, []
    for _ in range(count):
        name, n = struct.unpack_from("<32sI", section, at)
        parameters = struct.unpack_from(f"<{n}Q", section, at + 36)
        at += 36 + 8 * n
        (length,) = struct.unpack_from("<I", section, at)
        state = section[at + 4 : at + 4 + length]
        found.append(Policy(name.rstrip(b"\0").decode(), parameters, state))
        at += 4 + length
    if at != len(section):
        raise ValueError("the scheme's policies do not fill their section")
    return found


def _drive(base: bytes, now: bytes, found: Difference) -> None:
    try:
        there, here = sections(base), sections(now)
        described = keys(here.get("describe", b""))
        for name, section in there.items():
            if name == "writer":
                continue
            if name not in here:
                found.unexpected.append(f"drive: {name} is gone")
            elif section == here[name]:
                continue
            elif name in ("layout", "describe"):
                differ = _keys(keys(section), keys(here[name]), "")
                found.unexpected += [f"drive: {name}: {key}" for key in differ]
            elif name == "scheme":
                _scheme(policies(section), policies(here[name]), described, found)
            else:
                found.unexpected.append(f"drive: {name}")
    except (ValueError, struct.error):
        found.unexpected.append("drive")


def _became_keys(base: Policy, now: Policy, described: Mapping[str, str]) -> list[str]:
    """The keys that the policy's parameters became, if they are all that differs."""
    became = dict(BECAME_KEYS.get(base.name, ()))
    if not all(
        at < len(base.parameters) and described.get(key) == str(base.parameters[at])
        for at, key in became.items()
    ):
        return []
    rest = tuple(value for at, value in enumerate(base.parameters) if at not in became)
    return list(became.values()) if Policy(base.name, rest, base.state) == now else []


def _scheme(
    there: list[Policy], here: list[Policy], described: Mapping[str, str], found: Difference
) -> None:
    if len(here) < len(there):
        found.unexpected.append("drive: scheme: fewer policies")
    for base, now in zip(there, here, strict=False):
        if base == now:
            continue
        if moved := _became_keys(base, now, described):
            found.known += [f"{base.name}: a parameter is the key {key} now" for key in moved]
        else:
            found.unexpected.append(f"drive: scheme: {base.name}")
