# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp fill`: a drive is written from empty to full, as reviews do to find its SLC cache."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

from scarplib.build.replayer import ensure_replay
from scarplib.errors import UserError
from scarplib.replays import levels
from scarplib.results.pictures.style import style
from scarplib.scheme_text import split

mpl.use("Agg")
import matplotlib.pyplot as plt

_GB = 10**9
_S = 10**9


def _filled(options: argparse.Namespace) -> dict[str, Any]:
    """What scarp-replay has counted."""
    with tempfile.TemporaryDirectory(prefix="scarp-fill-") as scratch:
        path = Path(scratch) / "fill.json"
        words = [str(ensure_replay()), "--quiet", "-d", str(options.device)]
        words += split(options.scheme).words()
        words += [word for key in options.set for word in ("-o", key)]
        words += [word for each in options.pause for word in ("--fill-pause", each)]
        words += ["--seed", str(options.seed), "--fill", "2" if options.overwrite else "1"]
        words += ["--fill-window", str(options.window), "--json", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().removeprefix("scarp-replay: ")
            raise UserError(said.replace("--fill-pause", "--pause"))
        found: dict[str, Any] = json.loads(path.read_text())
    return found


def told(filled: dict[str, Any]) -> dict[str, Any]:
    """The levels and the mean beside what was counted; rates in bytes a second."""
    window_ns = filled["window_ns"]
    found = levels.find(filled["windows"])
    return {
        "schema": "scarp-fill-levels-1",
        "mean_bytes_per_s": filled["written_bytes"] * _S / filled["write_ns"],
        "levels": [
            {
                "from_bytes": each.from_bytes,
                "to_bytes": each.to_bytes,
                "bytes_per_s": each.bytes_per_s(window_ns),
            }
            for each in found
        ],
        "filled": filled,
    }


def _draw(result: dict[str, Any], name: str, path: Path) -> None:
    filled = result["filled"]
    style()
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    at, places, rates = 0, [], []
    # The last window is not a whole one.
    for each in filled["windows"][:-1] or filled["windows"]:
        places.append(at / _GB)
        rates.append(each * _S / filled["window_ns"] / _GB)
        at += each
    axes.step(places, rates, where="post", linewidth=1)
    for pause in filled["pauses"]:
        axes.axvline(pause["at_bytes"] / _GB, linestyle=":", linewidth=1, color="#8A8A8A")
    axes.set_xlabel("written (GB)")
    axes.set_ylabel("GB/s")
    axes.set_ylim(bottom=0)
    axes.set_title(f"{name}: written once from empty to full" if filled["passes"] == 1
                   else f"{name}: written {filled['passes']} times")  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def _text(result: dict[str, Any]) -> str:
    lines = ["from GB    to GB     GB/s"]
    for each in result["levels"]:
        lines.append(
            f"{each['from_bytes'] / _GB:7.1f}  {each['to_bytes'] / _GB:7.1f}"
            f"  {each['bytes_per_s'] / _GB:7.3f}"
        )
    lines.append(f"mean over all: {result['mean_bytes_per_s'] / _GB:.3f} GB/s")
    return "\n".join(lines)


def main(options: argparse.Namespace) -> int:
    """The levels on standard output; each second in the picture, and in the JSON."""
    result = told(_filled(options))
    if options.json:
        print(json.dumps(result))
    else:
        print(_text(result))
    name = options.device.stem
    path = options.picture or Path("out", f"fill-{name}.svg")
    if options.picture or not options.json:
        _draw(result, name, path)
        if not options.json:
            print(f"each second: {path}")
    return 0
