# SPDX-License-Identifier: GPL-2.0-or-later
"""How a scheme is drawn: one colour, one line and one filling for each, in every picture.

The colours are Okabe and Ito's, told apart by every kind of colour vision; lines and fillings
differ besides, for print without colours.  A name that is not listed takes a place by its letters,
so that it, too, looks the same wherever it is drawn.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_BLACK, _GREY, _ORANGE, _SKY = "#000000", "#7A7A7A", "#E69F00", "#56B4E9"
_GREEN, _BLUE, _RED, _PURPLE = "#009E73", "#0072B2", "#D55E00", "#CC79A7"
# Of what is not listed.
_COLOURS = (_BLUE, _RED, _GREEN, _PURPLE, _ORANGE, _SKY)
# Solid, long dashes, short ones, dashes and dots, dots; as bars are filled for each of them.
_DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (3, 2), (6, 2, 1, 2), (1, 1.5))
_HATCHES = ("", "///", "...", "xxx", "---")

_KINDS = {"read": 0, "write": 1, "io": 2}
_PLACES = {
    # What all are compared with, and what is no scheme.
    "baseline": (_BLACK, 0),
    "noop": (_BLACK, 0),
    "control": (_GREY, 2),
    "ideal": (_GREY, 1),
    # Host queues.
    "anticipatory": (_SKY, 3),
    "deadline": (_ORANGE, 2),
    "flash-aware": (_BLUE, 4),
    "hios-1": (_GREEN, 1),
    "hios-2": (_PURPLE, 0),
    "hios-2-plain": (_PURPLE, 2),
    # Pacing.
    "pgc": (_GREEN, 0),
    "gftl": (_ORANGE, 0),
    "pagc": (_SKY, 2),
    "ttflash": (_PURPLE, 3),
    # Collections that share commands.
    "gc-par": (_BLUE, 0),
    "gc-vic": (_RED, 1),
    "gc-par+pgc": (_SKY, 1),
    "pgc+gc-par": (_SKY, 1),
    # Where copies go.
    "gc-z": (_SKY, 0),
    "paragc": (_RED, 0),
    "even": (_GREEN, 2),
    "few": (_PURPLE, 4),
    "searched": (_ORANGE, 3),
    # Ahead of collections.
    "pregc": (_BLUE, 1),
    "pregc+gftl": (_GREEN, 3),
    "background": (_ORANGE, 4),
    # Mappings.
    "page": (_BLACK, 1),
    "demand": (_SKY, 4),
    "demand-10": (_BLUE, 2),
    "block": (_RED, 3),
    "superblock": (_GREEN, 4),
    "fast": (_ORANGE, 1),
}


@dataclass(frozen=True)
class Look:
    """Of a scheme, or of what else a picture compares."""

    colour: str
    number: int

    @property
    def dashes(self) -> tuple[float, ...]:
        """Of a line; none: it is solid."""
        return _DASHES[self.number]

    @property
    def hatch(self) -> str:
        """Of a bar."""
        return _HATCHES[self.number]

    def line(self) -> dict[str, Any]:
        """matplotlib's words for a line."""
        return {"color": self.colour, "dashes": self.dashes or (None, None)}

    def bar(self) -> dict[str, Any]:
        """matplotlib's words for a bar."""
        return {"color": self.colour, "hatch": self.hatch, "edgecolor": "white", "linewidth": 0}


def look(name: str) -> Look:
    """The same for the same name, always.

    "SCHEME, read": of several things of one scheme, which have its colour.  "SCHEME on MAPPING"
    has the mapping's.
    """
    scheme, _, kind = name.partition(", ")
    over, _, mapping = name.partition(" on ")
    if mapping in _PLACES:
        return Look(look(mapping).colour, zlib.crc32(over.encode()) % len(_DASHES))
    if kind:
        return Look(look(scheme).colour, _KINDS.get(kind, zlib.crc32(kind.encode()) % 5))
    if name not in _PLACES:
        place = zlib.crc32(name.encode())
        return Look(_COLOURS[place % len(_COLOURS)], place // len(_COLOURS) % len(_DASHES))
    return Look(*_PLACES[name])


def _known(name: str) -> bool:
    """Is it a scheme's, with parameters or without, a kind's of one, or a mapping's?"""
    return re.split(", |:", name)[0] in _PLACES or name.rpartition(" on ")[2] in _PLACES


def _beside(own: Look, others: Sequence[Look]) -> Look:
    """A scheme's with parameters: its own, or the next that is told apart from the others."""
    # Black and grey are kept for what all are compared with.
    first = _COLOURS.index(own.colour) if own.colour in _COLOURS else 0
    colours = [*_COLOURS[first:], *_COLOURS[:first]]
    taken = {other.colour for other in others}
    if free := next((colour for colour in colours if colour not in taken), None):
        return Look(free, own.number)
    every = [Look(c, (own.number + i) % len(_DASHES)) for i in range(len(_DASHES)) for c in colours]
    return next((one for one in every if one not in others), own)


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Of all that a picture compares.

    Where these are no schemes (workloads, settings), no two have one colour, as far as there are
    so many; nor have a scheme with parameters and what else is in the picture.
    """
    if any(map(_known, names)):
        found = {name: look(name) for name in names if ":" not in name}
        for name in names:
            if ":" in name:
                found[name] = _beside(look(name), list(found.values()))
        return {name: found[name] for name in names}
    return {
        name: Look(_COLOURS[i % len(_COLOURS)], i % len(_DASHES)) for i, name in enumerate(names)
    }


def scheme_colour(name: str) -> str:
    """Its colour alone."""
    return look(name).colour
