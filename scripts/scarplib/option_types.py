# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of options for argparse: each says in one line what is wrong, and what is allowed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from scarplib import scheme_text
from scarplib.errors import UserError, nearest

# Units that may follow a number, and how many of what the option counts each is.
THOUSANDTHS: Mapping[str, int] = {"%": 10}
KIBS: Mapping[str, int] = {"K": 1 << 10, "KiB": 1 << 10}
MIBS: Mapping[str, int] = {"M": 1, "MiB": 1, "G": 1 << 10, "GiB": 1 << 10, "T": 1 << 20}
SECONDS: Mapping[str, int] = {"s": 1, "min": 60, "h": 3600}
MICROSECONDS: Mapping[str, int] = {"us": 1, "µs": 1, "ms": 1000, "s": 10**6}
NANOSECONDS: Mapping[str, int] = {"ns": 1, "us": 1000, "µs": 1000, "ms": 10**6, "s": 10**9}


def counted(text: str, units: Mapping[str, int]) -> int | None:
    """12, or 1.5 of a unit, if that is a whole number of what is counted; else None."""
    if re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        return int(text)
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([^\d\s.]+)", text, re.ASCII)
    if not match or match[2] not in units:
        return None
    value = Fraction(match[1]) * units[match[2]]
    return int(value) if value.denominator == 1 else None


def integer(
    key: str, low: int, high: int, units: Mapping[str, int] | None = None
) -> Callable[[str], int]:
    """A parser of whole numbers for argparse whose error names the key and the range."""

    def parse(text: str) -> int:
        value = counted(text, units or {})
        if value is None or not low <= value <= high:
            also = f", which may have a unit: {', '.join(units)}" if units else ""
            raise UserError(f"{key}: '{text}' is not a whole number from {low} to {high}{also}")
        return value

    return parse


def span(key: str, high: int) -> Callable[[str], tuple[int, int]]:
    """A parser of FROM:TO for argparse; either may be empty: from 0 on, or to the end."""
    one = integer(key, 0, high)

    def parse(text: str) -> tuple[int, int]:
        first, colon, last = text.partition(":")
        if not colon:
            raise UserError(f"{key}: '{text}' is not FROM:TO")
        found = one(first) if first else 0, one(last) if last else high
        if found[0] >= found[1]:
            raise UserError(f"{key}: '{text}' ends before it begins")
        return found

    return parse


def integers(key: str, low: int, high: int) -> Callable[[str], tuple[int, ...]]:
    """A parser of N,N,… for argparse: each is allowed, and named once."""
    one = integer(key, low, high)

    def parse(text: str) -> tuple[int, ...]:
        found = [one(part) for part in text.split(",")]
        _each_once(key, [str(number) for number in found])
        return tuple(found)

    return parse


def _each_once(key: str, names: list[str]) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{key}: '{name}' is named twice")
    return names


def one_of_each(key: str, allowed: Collection[str]) -> Callable[[str], list[str]]:
    """A parser of a,b,… for argparse: each is allowed, and named once."""

    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in allowed:
                raise UserError(f"{key}: '{name}': allowed: {', '.join(allowed)}")
        return _each_once(key, names)

    return parse


def schemes_of(key: str) -> Callable[[str], list[str]]:
    """A parser for argparse of NAME or NAME:KEY=VALUE:…, joined by commas, each once."""

    def parse(text: str) -> list[str]:
        entries = text.split(",")
        seen = set()
        for entry in entries:
            chosen = scheme_text.parse(key, entry)
            # In another order they are the same parameters.
            same = chosen.name, frozenset(chosen.parameters)
            if same in seen:
                raise UserError(f"{key}: '{entry}' is named twice")
            seen.add(same)
        return entries

    return parse


scheme_list = schemes_of("--schemes")


def one_scheme(text: str) -> str:
    """--scheme: NAME or NAME:KEY=VALUE:…"""
    if "," in text:
        raise UserError(f"--scheme: '{text}' is not one scheme; parameters follow ':' each")
    scheme_text.parse("--scheme", text)
    return text


def own_file(key: str, folder: Path) -> Callable[[str], Path]:
    """A parser for argparse of a file, or of the name of one that comes with Scarp.

    What is printed and written of files of `folder`, such as devices/demo.ini, names them from
    every folder that the user may be in; so does demo alone.  A file of the user's own goes first.
    """

    def parse(text: str) -> Path:
        path = Path(text)
        # In a guest, where the probe runs, the folder is not there.
        own = {each.stem: each for each in sorted(folder.glob("*")) if each.is_file()}
        if path.exists() and not (path.is_dir() and path.stem in own):
            return path
        bare = path.parent in (Path(), Path(folder.name))
        if bare and path.stem in own and path.suffix in ("", own[path.stem].suffix):
            return own[path.stem]
        if bare and (near := nearest(path.stem, list(own))):
            raise UserError(f"{key}: {text}: no such file{near}")
        if bare and not path.suffix and own:
            raise UserError(f"{key}: {text}: no such file, nor one of {', '.join(own)}")
        return path

    return parse


class Parser(argparse.ArgumentParser):
    """Wrong arguments are the user's errors; an option has one name, as others look for it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **named})

    def known(self) -> list[argparse.Action]:
        """Options and arguments, as completion names them."""
        return list(self._actions)

    def error(self, message: str) -> NoReturn:
        """One line, as all of them."""
        if without := re.fullmatch(r"argument (\S+): expected one argument", message):
            # Of an option with several names, the last is the longest known one.
            raise UserError(f"{without[1].split('/')[-1]}: needs a value")
        raise UserError(f"{message} (see {self.prog} --help)")


def add_cores(parser: argparse.ArgumentParser) -> None:
    """--cores, of what Snakemake runs."""
    parser.add_argument(
        "--cores",
        type=integer("--cores", 0, 4096),
        default=0,
        metavar="N",
        help="cells at once; 0: one for each core (default: 0)",
    )


def add_out(parser: argparse.ArgumentParser) -> None:
    """--out, of runs whose results are a new folder."""
    parser.add_argument("--out", type=Path, metavar="DIR", help="results (default: out/<time>-…)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json, of what is printed."""
    parser.add_argument("--json", action="store_true", help="for programs")


def add_rounds(parser: argparse.ArgumentParser, usual: int) -> None:
    """--rounds, of benchmarks."""
    parser.add_argument("--rounds", type=integer("--rounds", 1, 100), default=usual, metavar="N")
