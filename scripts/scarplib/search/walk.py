# SPDX-License-Identifier: GPL-2.0-or-later
"""Which schemes are tried, one after the other: each policy, its parameters, joined ones.

The walk has no chance in it: with the same answers it asks the same questions, so that one which
was interrupted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from scarplib import scheme_text
from scarplib.drive.choices import Parameter, Scheme

# A scheme's figure, the less the better; None: the drive refuses it, or it has no such figure.
Ask = Callable[[str], float | None]
BASELINE = "baseline"
# Collections that cost no time are a bound, which no drive reaches.
_BOUNDS = ("ideal",)
# Policies whose parameters are tried before they are joined.
_TUNED = 3
# Of a parameter that is 0 by itself.
_FROM_ZERO = (1, 8, 64)
_FEW = 4


@dataclass
class Walk:
    """`schemes`: by their names, as the engine lists them; at most `tries` figures are asked."""

    ask: Ask
    schemes: Mapping[str, Scheme]
    tries: int
    found: dict[str, float | None] = field(default_factory=dict)

    def _value(self, scheme: str) -> float:
        """Infinite: refused, or one more than may be tried."""
        if scheme not in self.found:
            if len(self.found) >= self.tries:
                return float("inf")
            self.found[scheme] = self.ask(scheme)
        value = self.found[scheme]
        return float("inf") if value is None else value

    def _axes(self, name: str) -> set[str]:
        parts = [self.schemes[part] for part in name.split("+")]
        return {axis for part in parts for axis in ([part.axis] if part.axis else part.chooses)}

    def _better(self, current: str, others: Iterable[str]) -> str:
        for other in others:
            if self._value(other) < self._value(current):
                current = other
        return current

    def _tuned(self, scheme: str) -> str:
        """One parameter after the other is moved as long as that helps."""
        parts = [self.schemes[part] for part in scheme_text.split(scheme).name.split("+")]
        before = ""
        while before != scheme:
            before = scheme
            for parameter in (p for part in parts for p in part.parameters):
                scheme = self._better(scheme, moved(scheme, parameter))
        return scheme

    def _joined(self, current: str, others: list[str]) -> str:
        """With the best of each other axis, as long as that helps."""
        before = ""
        while before != current:
            before = current
            chosen = scheme_text.split(current)
            free = [
                x
                for x in others
                if not self._axes(scheme_text.split(x).name) & self._axes(chosen.name)
            ]
            current = self._better(current, [joined(current, other) for other in free])
        return current

    def run(self, first: list[str]) -> None:
        """All of it; `first`: the schemes to begin with, or else each policy by itself."""
        singles = first or [name for name in self.schemes if name not in (BASELINE, *_BOUNDS)]
        self._value(BASELINE)
        ordered = sorted(singles, key=self._value)
        better = [name for name in ordered if self._value(name) < self._value(BASELINE)]
        # One that is worse by itself may be better with other parameters.
        able = [name for name in ordered if self._value(name) < float("inf")]
        with_parameters = [name for name in able if self._has_parameters(name)]
        tuned = {name: self._tuned(name) for name in with_parameters[:_TUNED]}
        better = [tuned.get(name, name) for name in better] + [
            x for name, x in tuned.items() if name not in better
        ]
        better = sorted(dict.fromkeys(better), key=self._value)
        if better:
            self._tuned(self._joined(better[0], better[1:]))

    def _has_parameters(self, name: str) -> bool:
        return any(self.schemes[x].parameters for x in scheme_text.split(name).name.split("+"))

    def ranked(self) -> list[tuple[str, float]]:
        """The best first; of equal ones that with the shortest name."""
        there = [(name, value) for name, value in self.found.items() if value is not None]
        return sorted(there, key=lambda each: (each[1], len(each[0]), each[0]))


def joined(one: str, other: str) -> str:
    """Two schemes of other axes, with the parameters of both."""
    a, b = scheme_text.split(one), scheme_text.split(other)
    parameters = (f":{key}={value}" for key, value in (*a.parameters, *b.parameters))
    return f"{a.name}+{b.name}{''.join(parameters)}"


def moved(scheme: str, parameter: Parameter) -> list[str]:
    """The scheme with other values of one parameter: all of few, else multiples of what it is."""
    chosen = scheme_text.split(scheme)
    given = dict(chosen.parameters)
    now = int(given.get(parameter.name, parameter.default))
    if parameter.high - parameter.low < _FEW:
        values = list(range(parameter.low, parameter.high + 1))
    elif now:
        values = [now // 4, now // 2, now * 2, now * 4]
    else:
        values = list(_FROM_ZERO)
    near = dict.fromkeys(min(max(value, parameter.low), parameter.high) for value in values)
    found = []
    for value in near:
        if value == now:
            continue
        words = {**given, parameter.name: str(value)}
        if value == parameter.default:
            del words[parameter.name]
        found.append(chosen.name + "".join(f":{key}={x}" for key, x in words.items()))
    return found
