#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes the sources, a line at a time, and sees whether a test fails: `make mutate`.

universalmutator says what can be changed; samples of it, drawn by seeds that samples.toml has, are
tried.  What was found is kept: stopped, it goes on where it was, and only survivors are tried again
when tests have changed.  That of samples.toml is in found/, so that it goes on on any machine; that
of other samples, or with few tests, in the cache.  docs/mutation.md lists the survivors that are
known.
"""

from __future__ import annotations

import argparse
import concurrent.futures as futures
import contextlib
import fnmatch
import hashlib
import json
import multiprocessing
import os
import sys
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

from scarplib.build import cache  # noqa: E402
from scarplib.build.venv import MUTATE_PACKAGES, ensure_venv  # noqa: E402

FOUND = HERE / "found"
AD_HOC = 50
NO_RESULT = ("invalid", "equal")


@dataclass(frozen=True)
class Sample:
    name: str
    trees: tuple[str, ...]
    mutants: int
    seed: int


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="SAMPLE", help="engine, device (both)")
    parser.add_argument(
        "--only", metavar="PATTERN", help=f"{AD_HOC} mutants of such paths: 'ftl/gc/*'"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="so many mutants")
    parser.add_argument("--seed", type=int, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at once (2)")
    parser.add_argument(
        "--quick",
        type=float,
        default=0,
        metavar="SECONDS",
        help="only tests that take no more, without sanitizers, to look for weak spots",
    )
    parser.add_argument(
        "--longest",
        type=float,
        metavar="SECONDS",
        help="only tests that take no more where lines are counted; later, only survivors are tried"
        " with the others",
    )
    parser.add_argument("--found", action="store_true", help="what is known; try nothing")
    parser.add_argument("--fresh", action="store_true", help="forget what was found before")
    return parser.parse_args()


def samples(arguments: argparse.Namespace) -> list[Sample]:
    import trees

    kept = tomllib.loads((HERE / "samples.toml").read_text())
    unknown = set(arguments.names) - set(kept)
    if unknown:
        raise SystemExit(f"no sample '{unknown.pop()}'; there are: {', '.join(kept)}")
    if arguments.only:
        first = arguments.only.split("/")[0]
        of = [name for name, tree in trees.TREES.items() if tree.mutated[0].startswith(first)]
        if not of:
            raise SystemExit(f"--only={arguments.only}: paths below ftl/, guest/array/ or hw/")
        return [Sample("", tuple(of), arguments.sample or AD_HOC, arguments.seed or 1)]
    return [
        Sample(
            name, tuple(s["trees"]), arguments.sample or s["mutants"], arguments.seed or s["seed"]
        )
        for name, s in kept.items()
        if not arguments.names or name in arguments.names
    ]


Entry = dict[str, str]


class Found:
    """What is known of each mutant; a line of a file for each that was tried."""

    def __init__(self, path: Path, sources: str, tests: str, longest_s: float) -> None:
        """The file's name has `sources`, a hash of what is changed."""
        self.path, self.sources, self.tests, self.longest_s = path, sources, tests, longest_s
        self.of: dict[str, Entry] = {}
        self.first: dict[str, Entry] = {}  # by the tests that there were when it was drawn
        for line in path.read_text().splitlines() if path.is_file() else []:
            self._know(json.loads(line))

    def _know(self, entry: Entry) -> None:
        self.of[entry["id"]] = entry
        if self.first.setdefault(entry["id"], entry)["tests"] == entry["tests"]:
            self.first[entry["id"]] = entry

    def get(self, name: str, is_listed: bool) -> Entry | None:
        """A listed survivor stays one: its reason says that no test can notice."""
        entry = self.of.get(name)
        if not entry:
            return None
        if entry["tests"] == self.tests and float(entry["longest_s"]) >= self.longest_s:
            return entry
        again = entry["verdict"] == "stuck" or (entry["verdict"] == "survived" and not is_listed)
        return None if again else entry

    def add(self, name: str, verdict: Entry) -> Entry:
        entry = {"id": name, "tests": self.tests, "longest_s": f"{self.longest_s:g}", **verdict}
        self._know(entry)
        if self.path.parent == FOUND and not self.path.is_file():
            FOUND.mkdir(exist_ok=True)
            # What was found of other sources says nothing of these.
            for other in FOUND.glob(self.path.name.replace(self.sources, "*")):
                other.unlink()
        with self.path.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")
        return entry


class Ground:
    """A tree, ready to be mutated: its builds, its tests and what they reach."""

    def __init__(self, name: str, folder: Path, arguments: argparse.Namespace) -> None:
        import candidates
        import engine
        import reach
        import trees

        self.what = trees.TREES[name]
        builds = self.what.builds if not arguments.quick else self.what.builds[:1]
        base = engine.Base(self.what, ROOT, folder, builds[0])
        # Of the same state, whatever has been edited meanwhile.
        more = [engine.Base(self.what, base.tree, folder, build) for build in builds[1:]]
        self.bases = [base, *more]
        self.mutants = candidates.of_tree(base.tree, self.what.mutated)
        sources = engine.files_hash(engine.tree_files(base.tree, self.what.mutated), base.tree)
        quick = "" if not arguments.quick else f"-{arguments.quick:g}"
        path = folder / f"found-{name}-{sources}{quick}.jsonl"
        if not (arguments.only or arguments.quick or arguments.sample or arguments.seed):
            path = FOUND / f"{name}-{sources}.jsonl"
        if arguments.fresh:
            path.unlink(missing_ok=True)
        longest_s = arguments.quick or arguments.longest or self.what.longest_s
        self.found = Found(path, sources, base.key, longest_s)
        if arguments.found:
            return
        self.reach = reach.Reach(base, folder)
        engine.forget_old(folder, self.bases)
        self.tests = self.reach.find(longest_s, arguments.jobs)
        print(f"{name}: {len(self.mutants)} candidates; {len(self.tests)} tests", flush=True)


def main() -> int:
    arguments = parse()
    try:
        import universalmutator  # type: ignore[import-not-found] # noqa: F401
    except ImportError:
        python = str(ensure_venv(MUTATE_PACKAGES))
        os.execv(python, [python, *sys.argv])
    folder = cache.cache_dir() / "mutate"
    folder.mkdir(exist_ok=True)
    chosen = samples(arguments)
    names = sorted({name for sample in chosen for name in sample.trees})
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(cache.locked(f"mutate-{name}"))
        grounds = {name: Ground(name, folder, arguments) for name in names}
        return max(mutate(sample, grounds, arguments) for sample in chosen)


def mutate(sample: Sample, grounds: dict[str, Ground], arguments: argparse.Namespace) -> int:
    import candidates
    import engine
    import listed
    import telling

    allowed = listed.survivors()
    of = {m: grounds[name] for name in sample.trees for m in grounds[name].mutants}
    pattern = arguments.only or "*"

    def name_of(mutant: candidates.Mutant) -> str:
        text = f"{mutant.path}:{mutant.line}:{mutant.text}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def turn_of(mutant: candidates.Mutant) -> str:
        # What is left out, or another line, changes nobody else's turn.
        return hashlib.sha256(f"{sample.seed} {name_of(mutant)}".encode()).hexdigest()

    drawn: list[candidates.Mutant] = []
    codes: set[str] = set()
    waiting = iter(sorted((m for m in of if fnmatch.fnmatch(m.path, pattern)), key=turn_of))
    running: dict[futures.Future[engine.Verdict], candidates.Mutant] = {}
    began = time.monotonic()

    def take(mutant: candidates.Mutant, entry: Entry) -> None:
        if entry["verdict"] not in NO_RESULT and entry["code"] not in codes:
            codes.add(entry["code"])
            drawn.append(mutant)

    bases = [base for name in sample.trees for base in grounds[name].bases]
    context = multiprocessing.get_context("fork")
    with futures.ProcessPoolExecutor(
        arguments.jobs, context, initializer=engine.start_worker, initargs=(bases,)
    ) as pool:
        while True:
            while len(running) < arguments.jobs and len(drawn) + len(running) < sample.mutants:
                mutant = next(waiting, None)
                if mutant is None:
                    break
                ground = of[mutant]
                entry = ground.found.get(name_of(mutant), mutant.key in allowed)
                if not entry and arguments.found:
                    entry = ground.found.of.get(name_of(mutant))
                    if not entry:
                        waiting = iter(())
                        break
                if entry:
                    take(mutant, entry)
                else:
                    tests = ground.reach.by(ground.tests, mutant)
                    what = ground.what.name, mutant, ground.reach.sources(mutant), tests
                    running[pool.submit(engine.attempt, *what)] = mutant
            if not running:
                break
            done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
            for one in done:
                mutant = running.pop(one)
                entry = of[mutant].found.add(name_of(mutant), asdict(one.result()))
                take(mutant, entry)
                if entry["verdict"] not in NO_RESULT:
                    by = ", ".join(filter(None, (entry["by"], entry["how"])))
                    print(
                        f"{len(drawn):4} {time.monotonic() - began:6.0f} s  "
                        f"{entry['verdict']} ({by}): {mutant.path}:{mutant.line}",
                        flush=True,
                    )
    if not arguments.found:
        engine.forget_old(bases[0].folder.parent, bases)
    now = {mutant: of[mutant].found.of[name_of(mutant)]["verdict"] for mutant in drawn}
    first = {mutant: of[mutant].found.first[name_of(mutant)]["verdict"] for mutant in drawn}
    there = {mutant.key for name in sample.trees for mutant in grounds[name].mutants}
    files = tuple(
        part.split("/**")[0].split("/*")[0] + "/"
        for name in sample.trees
        for part in grounds[name].what.mutated
    )
    gone = sorted(key for key in set(allowed) - there if key[0].startswith(files))
    return telling.report(
        telling.Results(sample.name, sample.seed, sample.mutants, first, now), allowed, gone
    )


if __name__ == "__main__":
    sys.exit(main())
