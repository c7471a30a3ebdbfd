# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp new AXIS NAME`: a file of the engine that is a policy, a declaration, a line of a list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

from scarplib.build.replayer import scheme_names
from scarplib.errors import UserError
from scarplib.paths import ENGINE, ROOT

_DECLARED = Path("policies.h")
_LISTED = Path("drive/scheme.c")
_TEMPLATES = Path(__file__).parent


@dataclass(frozen=True)
class Axis:
    """How the files and tables of its policies are named."""

    word: str  # in names of files and tables
    table: str  # the type


_AXES = {
    "victim": Axis("victim", "ScarpVictimOps"),
    "pacing": Axis("pacing", "ScarpPacingOps"),
    "placement": Axis("place", "ScarpPlaceOps"),
}


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > 40:
        raise UserError(
            f"new: '{name}' is no name of a policy: small letters, digits and single dashes, "
            "a letter first, 40 at most"
        )


def _declared(text: str, axis: Axis, table: str) -> str:
    end = "#endif /* SCARP_POLICIES_H */"
    if text.count(end) != 1:
        raise UserError(f"new: {_DECLARED}: has not one line '{end}'")
    return text.replace(end, f"extern const {axis.table} {table};\n\n{end}")


def _listed(text: str, axis: Axis, table: str) -> str:
    """Behind the last of its axis in the list of all policies."""
    head, begin, rest = text.partition("policies[] = {\n")
    body, end, tail = rest.partition("\n};\n")
    lines = body.split("\n")
    alike = [i for i, line in enumerate(lines) if line.startswith(f"    &scarp_{axis.word}_")]
    if not (begin and end and alike):
        raise UserError(f"new: {_LISTED}: has no list of {axis.word} policies")
    lines.insert(alike[-1] + 1, f"    &{table}.policy,")
    return head + begin + "\n".join(lines) + end + tail


def write(engine: Path, axis_name: str, name: str) -> list[Path]:
    """The policy's files below `engine`, the new one first; nothing is written if one is refused.

    Raises UserError where the name is no name, or is taken by a file.
    """
    _check_name(name)
    axis, word = _AXES[axis_name], name.replace("-", "_")
    path = engine / "gc" / f"{axis.word}_{word}.c"
    if path.exists():
        raise UserError(f"new: {path}: is there already")
    table = f"scarp_{axis.word}_{word}"
    code = Template((_TEMPLATES / f"{axis_name}.c.in").read_text())
    changes = {
        path: code.substitute(name=name, table=table),
        engine / _DECLARED: _declared((engine / _DECLARED).read_text(), axis, table),
        engine / _LISTED: _listed((engine / _LISTED).read_text(), axis, table),
    }
    for changed, text in changes.items():
        changed.write_text(text)
    return list(changes)


def main(axis: str, name: str) -> int:
    """Write it, and say what was written and what comes next."""
    _check_name(name)
    if name in scheme_names_now():
        raise UserError(f"new: '{name}' is a scheme already; `scarp schemes {name}` says which")
    path, declared, listed = (path.relative_to(ROOT) for path in write(ENGINE, axis, name))
    print(f"{path}: the policy. Change it, and run it again:")
    print(
        "  scripts/scarp replay -d demo --age 900 -m closed -q 16 "
        f"--schemes baseline,{name} gen:zipf,requests=20000"
    )
    print(f"{declared}, {listed}: a line each. Without these and the file it is gone.")
    return 0


def scheme_names_now() -> list[str]:
    """Every scheme and choice that the engine knows, as it is."""
    from scarplib.build.first_answer import first_replay

    return scheme_names(first_replay())
