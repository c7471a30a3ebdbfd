# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of the manual, from the tables that `--help` prints: a page for each command."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from pathlib import Path

from scarplib.build import array, replayer
from scarplib.command_tree import DEVELOPERS, Tree
from scarplib.option_types import Parser
from scarplib.replays import array as array_command
from scarplib.replays import replay
from scarplib.version import version

# An option or argument as it is typed, and what is said of it.
Row = tuple[str, str]


def _plain(text: str) -> str:
    """As roff prints it: no line is a request, and a hyphen can be copied."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"[^\x00-\x7f]", lambda match: f"\\[u{ord(match[0]):04X}]", text)
    return f"\\&{text}" if text[:1] in (".", "'") else text


def _page(name: str, what: str, synopsis: str, rows: list[Row], more: str = "") -> str:
    lines = [
        f'.TH {name.upper()} 1 "" "scarp {version()}" "Scarp"',
        ".SH NAME",
        f"{_plain(name)} \\- {_plain(what)}",
        ".SH SYNOPSIS",
        _plain(synopsis),
    ]
    if rows:
        lines.append(".SH OPTIONS" if rows[0][0].startswith("-") else ".SH ARGUMENTS AND OPTIONS")
    for typed, said in rows:
        lines += [".TP", f".B {_plain(typed)}", _plain(said) or "\\&"]
    return "\n".join([*lines, more]) + ("" if more.endswith("\n") else "\n")


def _formatted(parser: argparse.ArgumentParser, action: argparse.Action) -> Row:
    value = action.metavar or (
        "{" + ",".join(str(x) for x in action.choices) + "}" if action.choices else ""
    )
    if not action.option_strings:
        return str(value or action.dest), action.help or ""
    takes = "" if action.nargs == 0 else f" {value or action.dest.upper()}"
    said = (action.help or "") % {**vars(action), "prog": parser.prog} if action.help else ""
    return ", ".join(action.option_strings) + takes, said


def _of_parser(name: str, what: str, parser: Parser) -> str:
    rows = [_formatted(parser, x) for x in parser.known() if x.help != argparse.SUPPRESS]
    usage = parser.format_usage().removeprefix("usage: ")
    # Arguments first, as they are typed.
    return _page(name, what, usage, sorted(rows, key=lambda row: row[0].startswith("-")))


def rows_of_help(text: str) -> list[Row]:
    """What GLib's option parser prints: an option, then what is said of it, also in more lines."""
    rows: list[Row] = []
    for line in text.splitlines():
        if match := re.match(r"  (-\S.*?)(?:\s{2,}(\S.*))?$", line):
            rows.append((match[1], match[2] or ""))
        elif rows and re.match(r" {20,}\S", line):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
    return rows


def _of_program(name: str, what: str, program: Path, more: str = "") -> str:
    done = subprocess.run(
        [program, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8", "LANGUAGE": ""},
    )
    usage = re.search(r"^Usage:\n\s+\S+ (.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    rows = rows_of_help(done.stdout + more)
    return _page(name, what, f"{name} {usage[1] if usage else ''}", rows)


def pages(tree: Tree) -> dict[str, str]:
    """By their files' names; commands that need a checkout have none."""
    made, listed = {}, [("--version", "the version of all of it")]
    for section, commands in tree.sections().items():
        if section == DEVELOPERS:
            continue
        for each in commands:
            page = f"scarp-{each.name}"
            if each.name == "replay":
                text = _of_program(page, each.help, replayer.ensure_replay(), replay.BESIDES)
            elif each.name == "array":
                text = _of_program(page, each.help, array.ensure_simulator(), array_command.NOTES)
            else:
                text = _of_parser(page, each.help, each.parser)
            made[f"{page}.1"] = text
            listed.append((each.name, each.help))
    also = ".SH SEE ALSO\n" + ",\n".join(f".BR {name.removesuffix('.1')} (1)" for name in made)
    made["scarp.1"] = _page(
        "scarp",
        tree.description or "",
        "scarp COMMAND [OPTION...]",
        sorted(listed, key=lambda row: row[0].startswith("-")),
        also,
    )
    return made
