# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sample has shown: what was noticed at first, what is noticed now, and what survives."""

from __future__ import annotations

from dataclasses import dataclass

from candidates import Key, Mutant
from listed import Listed

AT_LEAST = 95.0  # percent of those that are not shown to make no difference
EQUIVALENT_AT_MOST = 8.0


@dataclass(frozen=True)
class Results:
    name: str  # of the sample
    seed: int
    wanted: int
    first: dict[Mutant, str]  # verdicts
    now: dict[Mutant, str]


def _shares(verdicts: dict[Mutant, str], allowed: dict[Key, Listed]) -> tuple[str, bool]:
    """What is to be said of them, and whether it is enough."""
    noticed = sum(verdict == "noticed" for verdict in verdicts.values())
    equivalent = sum(
        verdict != "noticed" and mutant.key in allowed and allowed[mutant.key].equivalent
        for mutant, verdict in verdicts.items()
    )
    n = len(verdicts)
    share = 100 * noticed / (n - equivalent) if n > equivalent else 0
    same = 100 * equivalent / n if n else 0
    text = (
        f"{noticed} of {n - equivalent} noticed, {share:.1f} %; "
        f"{equivalent} of {n} make no difference, {same:.1f} %"
    )
    return text, share >= AT_LEAST and same <= EQUIVALENT_AT_MOST


def report(results: Results, allowed: dict[Key, Listed], gone: list[Key]) -> int:
    problems = len(gone)
    survivors = [mutant for mutant, verdict in results.now.items() if verdict != "noticed"]
    for mutant in sorted(survivors, key=lambda m: (m.path, m.line)):
        entry = allowed.get(mutant.key)
        problems += not entry
        print(f"\n{results.now[mutant]}: {mutant}")
        print(f"    {entry.why}" if entry else "    NOT LISTED in docs/mutation.md")
    for key in gone:
        print(f"\ndocs/mutation.md lists what cannot be any more: {key[0]}, {key[1]}()")
        print(f"-    {key[2]}\n+    {key[3]}")
    what = f"sample {results.name}, seed {results.seed}" if results.name else f"seed {results.seed}"
    left = results.wanted - len(results.now)
    print(f"\n{what}: {len(results.now)} mutants tried, {left} left")
    first, _ = _shares(results.first, allowed)
    now, enough = _shares(results.now, allowed)
    print(f"at first: {first}\nnow: {now}\n{problems} problems", flush=True)
    if not enough:
        print(
            f"wanted: {AT_LEAST:g} % noticed, at most {EQUIVALENT_AT_MOST:g} % without difference"
        )
    return 0 if enough and not problems else 1
