#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes the engine, a line at a time, and sees whether a unit test fails: `make mutate`.

universalmutator says what can be changed; a sample of it, drawn by a seed, is tried.  What was
found is kept in the cache: stopped, it goes on where it was, and only survivors are tried again
when tests have changed.  docs/mutation.md says what survivors are allowed, and why.
"""

from __future__ import annotations

import argparse
import concurrent.futures as futures
import hashlib
import json
import math
import multiprocessing
import os
import re
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

from scarplib.build import cache  # noqa: E402
from scarplib.build.venv import ensure_venv  # noqa: E402

PACKAGES = ("universalmutator==1.14.1",)
LIST = ROOT / "docs" / "mutation.md"
ENTRY = re.compile(
    r"^### `(?P<path>[^`]+)`(?:, `(?P<function>\w+)\(\)`)?\n+```diff\n(?P<diff>.*?)^```\n"
    r"(?P<why>.*?)(?=^#|\Z)",
    re.MULTILINE | re.DOTALL,
)

Key = tuple[str, str, str, str]


def listed() -> dict[Key, str]:
    """The survivors that docs/mutation.md allows, and the reason of each."""
    found: dict[Key, str] = {}
    for entry in ENTRY.finditer(LIST.read_text()):
        lines = entry["diff"].splitlines()
        old = [" ".join(line[1:].split()) for line in lines if line.startswith("-")]
        new = [" ".join(line[1:].split()) for line in lines if line.startswith("+")]
        why = entry["why"].strip()
        if not old or len(old) != len(new) or not why:
            raise SystemExit(
                f"docs/mutation.md: {entry['path']}: lines -old and +new in turns, and a reason"
            )
        for pair in zip(old, new, strict=True):
            found[(entry["path"], entry["function"] or "", *pair)] = why
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="mutants (200)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="of paths: ftl/gc/*")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at once (2)")
    parser.add_argument(
        "--at-least", type=float, default=90, metavar="PERCENT", help="noticed (90)"
    )
    parser.add_argument(
        "--quick",
        type=float,
        default=math.inf,
        metavar="SECONDS",
        help="only tests that take no more, without sanitizers, to look for weak spots",
    )
    parser.add_argument("--fresh", action="store_true", help="forget what was found before")
    return parser.parse_args()


class Found:
    """What is known of each mutant; a line of a file for each that was tried."""

    def __init__(self, path: Path, tests: str) -> None:
        self.path, self.tests = path, tests
        self.of: dict[str, dict[str, str]] = {}
        for line in path.read_text().splitlines() if path.is_file() else []:
            entry = json.loads(line)
            self.of[entry["id"]] = entry

    def get(self, name: str, is_listed: bool) -> dict[str, str] | None:
        """A listed survivor stays one: its reason says that no test can notice."""
        entry = self.of.get(name)
        if not entry or entry["tests"] == self.tests:
            return entry
        again = entry["verdict"] == "stuck" or (entry["verdict"] == "survived" and not is_listed)
        return None if again else entry

    def add(self, name: str, verdict: dict[str, str]) -> dict[str, str]:
        entry = self.of[name] = {"id": name, "tests": self.tests, **verdict}
        with self.path.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")
        return entry


def main() -> int:
    arguments = parse()
    with cache.locked("mutate"):
        return mutate(arguments)


def mutate(arguments: argparse.Namespace) -> int:
    try:
        import universalmutator  # type: ignore[import-not-found] # noqa: F401
    except ImportError:
        python = str(ensure_venv(PACKAGES))
        os.execv(python, [python, *sys.argv])
    import candidates
    import engine
    import reach

    folder = cache.cache_dir() / "mutate"
    folder.mkdir(exist_ok=True)
    base = engine.Base(ROOT, folder, engine.QUICK)
    # Of the same state, whatever has been edited meanwhile.
    bases = [base]
    if arguments.quick == math.inf:
        bases.append(engine.Base(base.tree, folder, engine.SANITIZED))
    reached = reach.Reach(base, folder)
    engine.forget_old(folder, bases)
    tests = base.timed(folder / "times-quick.json", arguments.quick)
    reached.find(tests, arguments.jobs)

    def name_of(mutant: candidates.Mutant) -> str:
        text = f"{mutant.path}:{mutant.line}:{mutant.text}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def turn_of(mutant: candidates.Mutant) -> str:
        # What is left out, or another line, changes nobody else's turn.
        return hashlib.sha256(f"{arguments.seed} {name_of(mutant)}".encode()).hexdigest()

    mutants = sorted(candidates.of_tree(base.tree, arguments.only), key=turn_of)
    sources = engine.files_hash(engine.tree_files(base.tree, ("ftl",)), base.tree)
    path = folder / f"found-{sources}.jsonl"
    if arguments.fresh:
        path.unlink(missing_ok=True)
    found = Found(path, f"{base.key} {arguments.quick}")
    print(f"{len(mutants)} candidates; {len(tests)} tests", flush=True)

    allowed = listed()
    sample: list[candidates.Mutant] = []
    codes: set[str] = set()
    waiting = iter(mutants)
    running: dict[futures.Future[engine.Verdict], candidates.Mutant] = {}
    began = time.monotonic()

    def take(mutant: candidates.Mutant, entry: dict[str, str]) -> None:
        if entry["verdict"] not in ("invalid", "equal") and entry["code"] not in codes:
            codes.add(entry["code"])
            sample.append(mutant)

    context = multiprocessing.get_context("fork")
    with futures.ProcessPoolExecutor(
        arguments.jobs, context, initializer=engine.start_worker, initargs=(bases,)
    ) as pool:
        while True:
            while len(running) < arguments.jobs and len(sample) + len(running) < arguments.sample:
                mutant = next(waiting, None)
                if mutant is None:
                    break
                entry = found.get(name_of(mutant), mutant.key in allowed)
                if entry:
                    take(mutant, entry)
                else:
                    what = mutant, reached.sources(mutant), reached.by(tests, mutant)
                    running[pool.submit(engine.attempt, *what)] = mutant
            if not running:
                break
            done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
            for one in done:
                mutant = running.pop(one)
                entry = found.add(name_of(mutant), asdict(one.result()))
                take(mutant, entry)
                if entry["verdict"] not in ("invalid", "equal"):
                    by = ", ".join(filter(None, (entry["by"], entry["how"])))
                    print(
                        f"{len(sample):4} {time.monotonic() - began:6.0f} s  "
                        f"{entry['verdict']} ({by}): {mutant.path}:{mutant.line}",
                        flush=True,
                    )
    engine.forget_old(folder, bases)
    verdicts = {mutant: found.of[name_of(mutant)]["verdict"] for mutant in sample}
    return report(arguments, base.tree, verdicts)


def report(arguments: argparse.Namespace, tree: Path, verdicts: dict[Any, str]) -> int:
    import candidates

    allowed = listed()
    survivors = [mutant for mutant, verdict in verdicts.items() if verdict != "noticed"]
    noticed = len(verdicts) - len(survivors)
    problems = 0
    for mutant in sorted(survivors, key=lambda m: (m.path, m.line)):
        why = allowed.get(mutant.key)
        problems += not why or verdicts[mutant] == "stuck"
        print(f"\n{verdicts[mutant]}: {mutant}")
        print(f"    {' '.join(why.split())}" if why else "    NOT LISTED in docs/mutation.md")
    there = {mutant.key for mutant in candidates.of_tree(tree)}
    for key in sorted(set(allowed) - there):
        problems += 1
        print(f"\ndocs/mutation.md lists what cannot be any more: {key[0]}, {key[1]}()")
        print(f"-    {key[2]}\n+    {key[3]}")
    share = 100 * noticed / len(verdicts) if verdicts else 0
    enough = share >= arguments.at_least
    print(
        f"\nof {len(verdicts)} mutants (seed {arguments.seed}) {noticed} were noticed, "
        f"{share:.1f} %{'' if enough else f': less than {arguments.at_least:g} %'}; "
        f"{len(survivors)} survived, {problems} problems"
    )
    return 0 if enough and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
