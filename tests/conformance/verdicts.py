# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest said of each test on its console, and two devices' verdicts side by side."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# The kernel may write into a line of the console before ours begins.
_LINE = re.compile(r"conformance: (begin|pass|fail|skip|absent) (\S+)[ \t]*(.*)")


@dataclass(frozen=True)
class Verdict:
    """`outcome`: pass, fail, skip or absent.

    `absent`: nothing was said of the test; that is not passed, and not skipped either.
    """

    outcome: str
    why: str = ""


def parse(console: str, planned: Sequence[str], ending: str) -> dict[str, Verdict]:
    """Of each planned test; `ending`: how the guest ended, for those without a verdict."""
    found: dict[str, Verdict] = {}
    begun: set[str] = set()
    for kind, name, why in _LINE.findall(console.replace("\r", "")):
        if kind == "begin":
            begun.add(name)
        else:
            found[name] = Verdict(kind, why.strip())
    for name in planned:
        where = "its end" if name in begun else "any word of it"
        found.setdefault(name, Verdict("absent", f"the guest ended before {where}: {ending}"))
    # Planned ones in their order, then whatever the suite ran besides.
    return {name: found[name] for name in [*planned, *(n for n in found if n not in planned)]}


def keep(path: Path, identity: str, found: Mapping[str, Verdict]) -> None:
    """For another invocation of the same; whoever stops us finds the old or the new file."""
    said = {name: [verdict.outcome, verdict.why] for name, verdict in found.items()}
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"identity": identity, "verdicts": said}, indent=1) + "\n")
    fresh.rename(path)


def kept(path: Path, identity: str) -> dict[str, Verdict]:
    """What was kept of the same; not what has no verdict."""
    try:
        text = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    if text["identity"] != identity:
        return {}
    said = {name: Verdict(outcome, why) for name, (outcome, why) in text["verdicts"].items()}
    return {name: verdict for name, verdict in said.items() if verdict.outcome != "absent"}


def regressions(stock: Mapping[str, Verdict], scarp: Mapping[str, Verdict]) -> list[str]:
    """What passes on stock and does not on Scarp, whichever way."""
    return [
        name
        for name, verdict in stock.items()
        if verdict.outcome == "pass" and (name not in scarp or scarp[name].outcome != "pass")
    ]


def counts(verdicts: Mapping[str, Verdict]) -> str:
    """Ran, skipped and absent apart."""
    n = Counter(verdict.outcome for verdict in verdicts.values())
    return (
        f"{n['pass'] + n['fail']} ran: {n['pass']} passed, {n['fail']} failed; "
        f"{n['skip']} skipped; {n['absent']} absent"
    )


def table(stock: Mapping[str, Verdict], scarp: Mapping[str, Verdict]) -> list[str]:
    """A line for each test, and why where it did not pass."""
    nothing = Verdict("absent", "not in this guest's verdicts")
    names = [*stock, *(name for name in scarp if name not in stock)]
    width = max((len(name) for name in names), default=4)
    worse = set(regressions(stock, scarp))
    lines = [f"{'test':<{width}}  stock   Scarp"]
    for name in names:
        a, b = stock.get(name, nothing), scarp.get(name, nothing)
        reasons = list(dict.fromkeys(v.why for v in (a, b) if v.why and v.outcome != "pass"))
        mark = "  REGRESSION" if name in worse else ""
        line = f"{name:<{width}}  {a.outcome:<6}  {b.outcome:<6}{mark}"
        if reasons:
            line += f"  ({' | '.join(reasons)})"
        lines.append(line.rstrip())
    return lines
