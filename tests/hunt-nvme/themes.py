# SPDX-License-Identifier: GPL-2.0-or-later
"""Themes: every second sequence has together what few would have by chance.

A theme changes the machine that a seed gives, and has steps of its own in place of some others.
Defects that were put back and not found say which themes are worth it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import functions
import hostile
import interrupt
from model import UNIT, Wrong
from nvme import Op
from setup import Setup

if TYPE_CHECKING:
    from sequence import Hunt, Pending

OFTEN = 0.4  # of the steps of a sequence that has one
SLOW_LINK_MBS = 50


@dataclass(frozen=True)
class Theme:
    change: Callable[[Setup], Setup]
    step: Callable[[Hunt], None]


def drawn(seed: int) -> str:
    """The theme of a seed; "": none."""
    pick = random.Random(f"{seed} theme")
    return pick.choice(("", pick.choice(sorted(THEMES))))


# ---- what is cancelled, and what comes after it at the same place ----


def slow(setup: Setup) -> Setup:
    """Data waits long for its turn on the link, and what has none overtakes it."""
    return replace(setup, link_mbs=SLOW_LINK_MBS)


def cancelled(hunt: Hunt) -> None:
    """Writes are cancelled within the drive; at once others are about the same units."""
    pick = hunt.pick
    for _ in range(pick.randint(4, 12)):
        hunt.start_at(pick.choice((hunt.start_write, hunt.start_write, hunt.start_copy)))
    if pick.random() < 0.5:
        interrupt.step(hunt)
    hunt.regretted.clear()
    ways = (interrupt.reset, interrupt.delete_queue, interrupt.reset_function, aborts)
    pick.choices(ways, (3, 3, 1, 2))[0](hunt)
    if pick.random() < 0.1:
        interrupt.format_namespace(hunt)
    for ns, unit, count in pick.sample(hunt.regretted, len(hunt.regretted)):
        kind = pick.choice((hunt.start_zeroes, hunt.start_zeroes, hunt.start_deallocate,
                            hunt.start_write, hunt.start_read, None))  # fmt: skip
        pending = hunt.start_at(kind, ns, (unit, count)) if kind else None
        if pending and pick.random() < 0.7:
            hunt.wait(pending)


def aborts(hunt: Hunt) -> None:
    """Of many, and what they end with is waited for."""
    victims = [each for each in hunt.pending if each.writes]
    for victim in hunt.pick.sample(victims, len(victims)):
        if victim in hunt.pending:
            interrupt.abort(hunt, victim)
            hunt.wait(victim)


# ---- data in the memory of a controller whose doorbells are rung ----


def peers(setup: Setup) -> Setup:
    """Two controllers; the first one has memory, where the other's data goes."""
    place = "bus" if setup.place == "functions" else setup.place
    return replace(setup, place=place, controllers=2, cmb=setup.cmb or "legacy")


def into_a_peer(hunt: Hunt) -> None:
    """Reads of the second controller end while the first one's doorbells are served."""
    pick = hunt.pick
    if not hunt.queues[1]:
        return
    theirs: list[Pending] = []
    for buffer in hunt.peer_buffers():
        queue = pick.choice(hunt.queues[1])
        if pending := hunt.start_at(hunt.start_read, buffer=buffer, queue=queue):
            theirs.append(pending)
    own = pick.choice(hunt.queues[0])
    size = hunt.block[0]
    block = hostile.HOSTILE_UNIT * UNIT // size
    cids = []
    for _ in range(pick.choice((16, 64))):
        hunt.smart[0].may_read(size)
        cids.append(own.submit(Op.READ, 1, (hunt.scratch, 0), (block, 0, 0)))
    for cid in cids:
        if status := own.wait(cid).status:
            raise Wrong(f"read beside a peer's: status {status:#x}")
        hunt.smart[0].has_read(size)
    for pending in theirs:
        hunt.wait(pending)


# ---- virtual functions, and resets of the physical one ----


def virtualised(setup: Setup) -> Setup:
    return replace(setup, place="functions", controllers=1, cmb="", shadow=False, events=False)


def functions_go(hunt: Hunt) -> None:
    """Those that are not there come again, mostly before anything takes them."""
    for number, ctrl in enumerate(hunt.ctrls):
        if not ctrl and hunt.pick.random() < 0.7:
            functions.online(hunt, number)
    ways = (interrupt.reset, interrupt.reset_function, functions.function, functions.refused,
            interrupt.shutdown)  # fmt: skip
    hunt.pick.choice(ways)(hunt)
    functions.check_list(hunt)


# ---- shutdowns ----


def same(setup: Setup) -> Setup:
    return setup


# ---- doorbells in memory, and event descriptors ----


def in_memory(setup: Setup) -> Setup:
    place = "bus" if setup.place == "functions" else setup.place
    return replace(setup, place=place, shadow=True, events=setup.realtime)


def doorbells_move(hunt: Hunt) -> None:
    """The controller is told of them once more; queues come and go."""
    ways = (hostile.doorbells, hostile.tell_again, interrupt.delete_queue, interrupt.reset)
    hunt.pick.choices(ways, (2, 4, 3, 1))[0](hunt)


THEMES = {
    "cancelled": Theme(slow, cancelled),
    "doorbells": Theme(in_memory, doorbells_move),
    "functions": Theme(virtualised, functions_go),
    "peers": Theme(peers, into_a_peer),
    "shutdown": Theme(same, interrupt.shutdown),
}
