# SPDX-License-Identifier: GPL-2.0-or-later
"""An answer of scarp-why for people."""

from __future__ import annotations

from typing import Any

from scarplib.results.table import columns
from scarplib.results.units import human_ns

# A bound: no drive has collections that take no time.
_BOUND = "ideal"


def _signed(ns: int) -> str:
    return f"{'-' if ns < 0 else '+'}{human_ns(abs(ns))}" if ns else "0"


def _name(branch: dict[str, Any]) -> str:
    said = f"{branch['kind']} {branch['text']}"
    return f"{said} (a bound)" if branch["text"] == _BOUND else said


def _latency(command: dict[str, Any]) -> str:
    held = f", held {human_ns(command['waited_ns'])}" if command["waited_ns"] else ""
    return human_ns(command["latency_ns"]) + ("" if command["exact"] else " ~") + held


def _head(episode: dict[str, Any]) -> str:
    chain, count = episode["chain"], len(episode["commands"])
    asked = "1 command" if count == 1 else f"{count} commands"
    if not chain:
        return f"Episode {episode['episode']}: {asked} behind no collection"
    runs = chain["collections"]
    took = human_ns(chain["end_ns"] - chain["begin_ns"])
    return (
        f"Episode {episode['episode']}: {asked} behind {runs} collection{'s' if runs > 1 else ''} "
        f"of die {chain['die']}, which took {took} from {chain['begin_ns']} ns on"
    )


def _commands(episode: dict[str, Any]) -> str:
    names = ["in fact", *map(_name, episode["branches"])]
    rows = []
    for i, command in enumerate(episode["commands"]):
        fact = human_ns(command["complete_ns"] - command["submit_ns"])
        branches = [_latency(branch["commands"][i]) for branch in episode["branches"]]
        size = f" {command['length_bytes'] // 1024} KiB" if command["length_bytes"] else ""
        rows.append((f"  {command['op']}{size}, order {command['order']}", [fact, *branches]))
    return columns(names, rows)


def _worst(branch: dict[str, Any]) -> str:
    worst = branch["window"]["worst"]
    return f"{_signed(worst['ns'])} (order {worst['order']})" if worst else "–"


def _owed(branch: dict[str, Any], control: dict[str, Any], key: str) -> str:
    own, fact = branch["owed"][key], control["owed"][key]
    return f"{own - fact:+d}"


def _paid(episode: dict[str, Any]) -> str:
    branches, control = episode["branches"], episode["control"]
    names = [_name(branch) for branch in branches]

    def side(branch: dict[str, Any], which: str) -> str:
        found = branch["window"][which]
        return f"{_signed(found['ns'])} ({found['commands']})" if found["commands"] else "0"

    rows: list[tuple[str, list[str]]] = [
        ("  all latencies", [_signed(b["window"]["branch_ns"] - b["window"]["fact_ns"])
                             for b in branches]),
        ("    those asked for", [_signed(b["window"]["asked_ns"]) for b in branches]),
        ("    others, faster", [side(b, "faster") for b in branches]),
        ("    others, slower", [side(b, "slower") for b in branches]),
        ("    the worst of them", [_worst(b) for b in branches]),
        ("  held back by the host", [_signed(b["window"]["waited_ns"]) for b in branches]),
        ("  collections that had to be", [str(b["forced_collections"]) if b["kind"] == "without"
                                          else "–" for b in branches]),
        ("  free blocks at its end", [_owed(b, control, "free_blocks") for b in branches]),
        ("  collections", [_owed(b, control, "collections") for b in branches]),
        ("  units moved", [_owed(b, control, "moved_units") for b in branches]),
        ("  so it is", [b["verdict"] for b in branches]),
    ]  # fmt: skip
    return columns(names, rows)


def text(answer: dict[str, Any]) -> str:
    """All episodes, in the order of their instants."""
    parts = []
    for episode in answer["episodes"]:
        window = episode["until_ns"] - episode["at_ns"]
        parts += [_head(episode), _commands(episode)]
        if episode["branches"]:
            parts += [
                f"Who pays, in the {human_ns(window)} from {episode['at_ns']} ns on "
                f"({episode['control']['window']['commands']} commands), against the fact:",
                _paid(episode),
            ]
        parts.append("")
    parts.append("~ assumed: the guest would have known of the branch by then. Others are exact.")
    return "\n".join(parts) + "\n"
