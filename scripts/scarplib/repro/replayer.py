# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of scarp-replay."""

from __future__ import annotations

import configparser
import functools
import json
import subprocess
from pathlib import Path
from typing import Any

from .. import replay
from ..errors import UserError
from . import spec


@functools.cache
def program() -> str:
    """What the results depend on besides the experiment: the program's sources."""
    return replay.ensure_replay().parent.name[:12]


def shape(device: str, overrides: tuple[str, ...]) -> dict[str, int]:
    """The drive's geometry."""
    keys = configparser.ConfigParser()
    keys.read(spec.ROOT / device)
    for text in overrides:
        key, value = text.split("=", 1)
        group, name = key.split(".", 1)
        if group == "geometry":
            keys[group][name] = value
    geometry = {key: int(value) for key, value in keys["geometry"].items()}
    geometry["dies"] = (
        geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"]
    )
    return geometry


def device_key(device: str, group: str, name: str) -> int:
    """A number of a description."""
    keys = configparser.ConfigParser()
    keys.read(spec.ROOT / device)
    return int(keys[group][name])


def command(
    e: spec.Experiment, point: spec.Point, scheme: spec.Scheme, seed: int, folder: Path
) -> list[str]:
    out = [
        str(replay.ensure_replay()), "--quiet", "-d", str(spec.ROOT / e.device),
        "-s", scheme.scheme, "--seed", str(seed), "--warmup", str(e.warmup),
        "--age", str(e.age if point.age < 0 else point.age), "--age-seed", str(1 + scheme.age_seed),
        "-m", e.mode, "-q", str(e.depth),
    ]  # fmt: skip
    for text in (*e.set, *point.set, *scheme.set):
        out += ["-o", text]
    out += ["-p", scheme.params] if scheme.params else []
    out += ["--align", str(e.align)] if e.align else []
    if e.logs:
        out += ["--cmd-log", str(folder / "cmd.bin"), "--gc-log", str(folder / "gc.bin")]
    workload = point.workload + (f",{e.workload}" if e.workload else "")
    return [*out, f"{workload},requests={e.requests}"]


def run(
    e: spec.Experiment, point: spec.Point, scheme: spec.Scheme, seed: int, folder: Path
) -> dict[str, Any]:
    line = command(e, point, scheme, seed, folder)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(
            f"{e.paper} {e.name}, {point.name}, {scheme.label}: {done.stderr.strip()}\n"
            f"  {' '.join(line)}"
        )
    result: dict[str, Any] = json.loads(done.stdout)
    result["shape"] = shape(e.device, (*e.set, *point.set, *scheme.set))
    return result


def generated(e: spec.Experiment, point: spec.Point) -> dict[str, Any]:
    """What the generator makes, in its own sizes: on a fresh drive, in no time."""
    line = [
        str(replay.ensure_replay()), "--quiet", "-d", str(spec.ROOT / e.device), "-s", "ideal",
        *(part for text in (*e.set, *point.set) for part in ("-o", text)),
        "-m", "closed", "-q", "64", f"{point.workload},requests=100000",
    ]  # fmt: skip
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result
