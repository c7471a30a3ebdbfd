# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of scarp-replay."""

from __future__ import annotations

import configparser
import functools
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from scarplib.build import replayer
from scarplib.errors import UserError
from scarplib.paths import OUT, ROOT
from scarplib.reproduce import spec, stale

IMAGES = OUT / "reproduce" / "images"


@functools.cache
def replay() -> Path:
    """The program: one for all runs of this process, also if its sources change meanwhile."""
    return replayer.ensure_replay()


def program() -> str:
    """What the results depend on besides the experiment: the program's sources."""
    return replayer.key_of(replay())[: stale.DIGITS]


def shape(device: str, overrides: tuple[str, ...]) -> dict[str, int]:
    """The drive's geometry."""
    keys = configparser.ConfigParser()
    keys.read(ROOT / device)
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
    keys.read(ROOT / device)
    return int(keys[group][name])


def percent(e: spec.Experiment, group: str, name: str) -> str:
    """A key in permille as percent, or its values where points differ."""
    plain = device_key(e.device, group, name)
    found = set()
    for point in e.points:
        value = plain
        for text in (*e.set, *point.set):
            if text.startswith(f"{group}.{name}="):
                value = int(text.split("=", 1)[1])
        found.add(value)
    return ", ".join(f"{value / 10:g}" for value in sorted(found))


def options(e: spec.Experiment, point: spec.Point, scheme: spec.Scheme) -> list[str]:
    """The drive's, of a command line: its description, and the keys that differ."""
    out = ["--quiet", "-d", str(ROOT / e.device)]
    for text in (*e.set, *point.set, *scheme.set):
        out += ["-o", text]
    return out


def _making(
    e: spec.Experiment, point: spec.Point, scheme: spec.Scheme, seed: int
) -> tuple[Path, list[str]] | None:
    """The image of a cell's aged drive, and how it is made; None: it is not aged."""
    age = e.age if point.age < 0 else point.age
    if not age:
        return None
    # Each seed has a drive of its own: an interval over drives that were aged alike would leave out
    # what ageing varies.
    age_seed = 1 + scheme.age_seed + 1000 * (seed - 1)
    making = [
        *options(e, point, scheme), "-s", scheme.age_as, "--age", str(age),
        "--age-seed", str(age_seed),
        *(["--age-overwrite", str(e.overwrite)] if e.overwrite >= 0 else []),
    ]  # fmt: skip
    key = "\n".join((program(), (ROOT / e.device).read_text(), *making))
    return IMAGES / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.img", making


def image(e: spec.Experiment, point: spec.Point, scheme: spec.Scheme, seed: int) -> Path | None:
    """The aged drive that all schemes of a point and seed start from; made where it is missing."""
    found = _making(e, point, scheme, seed)
    if not found:
        return None
    path, making = found
    if not path.exists():
        IMAGES.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=IMAGES) as work:
            made = Path(work) / "aged.img"
            # No seed of a run, so that each takes its own course from here.
            _json([str(replay()), *making, "--seed", "0", "--save", str(made)])
            made.rename(path)
    return path


def drop_images(papers: list[spec.Paper]) -> None:
    """They are large, and soon made again.  Others' stay: somebody may be running on them."""
    for e in (e for paper in papers for e in paper.experiments.values()):
        for point in e.points:
            for scheme in e.schemes:
                for seed in range(1, e.seeds + 1):
                    found = _making(e, point, scheme, seed)
                    if found:
                        found[0].unlink(missing_ok=True)


def command(
    e: spec.Experiment, point: spec.Point, scheme: spec.Scheme, seed: int, folder: Path
) -> list[str]:
    """The command line of one run, whose logs go to `folder`."""
    out = [
        str(replay()), *options(e, point, scheme), "-s", scheme.scheme,
        "--seed", str(seed), "--warmup", str(e.warmup), "-m", e.mode, "-q", str(e.depth),
    ]  # fmt: skip
    aged = image(e, point, scheme, seed)
    out += ["-i", str(aged)] if aged else []
    out += ["-p", scheme.params] if scheme.params else []
    out += ["--align", str(e.align)] if e.align else []
    if e.logs:
        out += ["--cmd-log", str(folder / "cmd.bin"), "--gc-log", str(folder / "gc.bin")]
    if point.trace:
        return [*out, "-n", str(e.requests), point.workload]
    workload = point.workload + (f",{e.workload}" if e.workload else "")
    return [*out, f"{workload},requests={e.requests}"]


def _json(line: list[str]) -> dict[str, Any]:
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{done.stderr.strip()}\n  {' '.join(line)}")
    result: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return result


def run(
    e: spec.Experiment, point: spec.Point, scheme: spec.Scheme, seed: int, folder: Path
) -> dict[str, Any]:
    """What the program says as JSON, and the drive's geometry as `shape`."""
    line = command(e, point, scheme, seed, folder)
    try:
        result = _json(line)
    except UserError as error:
        raise UserError(f"{e.paper} {e.name}, {point.name}, {scheme.label}: {error}") from error
    result["shape"] = shape(e.device, (*e.set, *point.set, *scheme.set))
    return result


@functools.cache
def generated(e: spec.Experiment, point: spec.Point) -> dict[str, Any]:
    """What the generator makes, or the trace has, in its own sizes: a fresh drive, in no time."""
    # Many bursts: one that is cut short must not count.
    requests = 1_000_000
    workload = (
        ["-n", f"{requests}", point.workload]
        if point.trace
        else [f"{point.workload},requests={requests}"]
    )
    ideal = spec.Scheme("ideal", "ideal")
    line = [str(replay()), *options(e, point, ideal), "-s", "ideal",
            "-m", "closed", "-q", "64", *workload]  # fmt: skip
    return _json(line)
