#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The library's binary interface, as libclang reads ftl/scarp.h: abi.py [--record].

Functions with their types, structures with their sizes and offsets, constants with their values:
what a program has in it that was compiled once.  abi.txt is what was recorded.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import clang.cindex as ci  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "ftl" / "scarp.h"
RECORD = Path(__file__).with_suffix(".txt")
_K = ci.CursorKind
# It names the release, which is not compiled against.
_NOT_COUNTED = ("SCARP_VERSION", "SCARP_H")


def _said(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def _parsed(header: Path) -> ci.TranslationUnit:
    flags = ["-x", "c", "-std=gnu11", "-isystem", *_said("cc", "-print-file-name=include")]
    unit = ci.Index.create().parse(
        str(header),
        [*flags, *_said("pkg-config", "--cflags", "glib-2.0")],
        options=ci.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
    )
    worst = [str(x) for x in unit.diagnostics if x.severity >= ci.Diagnostic.Error]
    if worst:
        raise ValueError(worst[0])
    return unit


def _structure(name: str, kind: ci.Type) -> list[str]:
    lines = [f"struct {name}: {kind.get_size()} bytes"]
    for field in kind.get_fields():
        at = kind.get_offset(field.spelling) // 8
        lines.append(f"struct {name}: {field.spelling}: {field.type.spelling} at {at}")
    return lines


def _typedef(cursor: ci.Cursor) -> list[str]:
    kind = cursor.underlying_typedef_type.get_canonical()
    if kind.kind == ci.TypeKind.ENUM:
        return [
            f"enum {cursor.spelling}: {x.spelling} = {x.enum_value}"
            for x in kind.get_declaration().get_children()
        ]
    if kind.kind == ci.TypeKind.RECORD and kind.get_size() > 0:
        return _structure(cursor.spelling, kind)
    return [f"type {cursor.spelling}: {cursor.underlying_typedef_type.spelling}"]


def interface(header: Path = HEADER) -> list[str]:
    """A line for each thing that a compiled program relies on."""
    lines = []
    for cursor in _parsed(header).cursor.get_children():
        where = cursor.location.file
        if where is None or Path(where.name) != header:
            continue
        if cursor.kind == _K.FUNCTION_DECL:
            lines.append(f"function {cursor.spelling}: {cursor.type.spelling}")
        elif cursor.kind == _K.TYPEDEF_DECL:
            lines += _typedef(cursor)
        elif cursor.kind == _K.MACRO_DEFINITION and cursor.spelling not in _NOT_COUNTED:
            words = [token.spelling for token in cursor.get_tokens()]
            lines.append(f"define {' '.join(words)}")
    return sorted(lines)


def _number(lines: list[str]) -> str:
    return next((x.split()[2] for x in lines if x.startswith("define SCARP_ABI ")), "none")


def judge(recorded: list[str], now: list[str]) -> str:
    """What has to be done; an empty text where nothing changed."""
    if recorded == now:
        return ""
    old, new = _number(recorded), _number(now)
    gone = [x for x in recorded if x not in now and not x.startswith("define SCARP_ABI ")]
    more = [x for x in now if x not in recorded and not x.startswith("define SCARP_ABI ")]
    shown = "".join(f"\n  - {x}" for x in gone) + "".join(f"\n  + {x}" for x in more)
    record = "run tests/e2e/abi.py --record by the Python that has libclang (make lint's)"
    if gone and old == new:
        return (
            "the library's ABI changed: programs that were built against it would misread it. "
            f"Raise SCARP_ABI in ftl/scarp.h and ABI in bindings/python/scarp.py from {old} to "
            f"{int(old) + 1}, mend the binding's structures, then {record}:{shown}"
        )
    if gone or old != new:
        return f"the ABI went from {old} to {new}: {record}:{shown}"
    return f"the ABI grew, which older programs do not notice; SCARP_ABI stays: {record}:{shown}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text("".join(f"{line}\n" for line in interface()))
    else:
        print("\n".join(interface()))
