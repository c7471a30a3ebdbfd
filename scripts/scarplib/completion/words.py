# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion of the `scarp` command for bash and zsh.

The shells ask `scarp completion words`, so what they offer is what the program knows now, a scheme
of the user's own included.  Nothing is built for it: before the engine is, it has no schemes.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from scarplib.build import replayer
from scarplib.command_tree import Tree
from scarplib.drive import choices
from scarplib.option_types import Parser
from scarplib.paths import DEVICES

_SCHEME = ("-s", "--scheme", "--schemes")
# Commands whose --scheme is a name alone.
_PARAMETERS_APART = ("replay", "probe", "fit")
_KEY = ("--set", "--override")
_DRIVE = ("-d", "--device", "--description")

_BASH = """\
# Completion of scarp in bash; a line for ~/.bashrc:
#     source <(SCARP completion bash)
_scarp() {
    local line="${COMP_LINE:0:COMP_POINT}" current="${COMP_WORDS[COMP_CWORD]}" words word
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word="${words[${#words[@]}-1]}"
    # bash ends a word at '=' and ':', too, and replaces only what follows.
    [[ $current == "=" || $current == ":" ]] && current=""
    local before="${word%"$current"}"
    mapfile -t COMPREPLY < <("${words[0]/#\\~/$HOME}" completion words "${words[@]:1}" 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o default -F _scarp scarp
"""

_ZSH = """\
#compdef scarp
# Completion of scarp in zsh; lines for ~/.zshrc, behind those of compinit:
#     source <(SCARP completion zsh)
_scarp() {
    local -a found
    found=(${(f)"$(${(Q)~words[1]} completion words "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( ! $#found )); then
        _files
    elif [[ $found[1] == *= ]]; then
        compadd -S '' -a found
    else
        compadd -a found
    fi
}
compdef _scarp scarp
"""


def script(shell: str) -> str:
    """`scarp completion SHELL`."""
    return {"bash": _BASH, "zsh": _ZSH}[shell]


def _replayer() -> Path | None:
    """As it has been built; completion must not be what builds it."""
    path = replayer.built_replay()
    return path if path.is_file() else None


def _schemes() -> dict[str, choices.Scheme]:
    program = _replayer()
    found = choices.schemes(choices.listed(program)[0]) if program else []
    return {each.name: each for each in found}


def _parameters(entry: str) -> list[str]:
    """What an entry, NAME:… or A+B:…, may go on with: keys that it has not yet."""
    name, *given = entry.split(":")
    schemes = _schemes()
    parts = [schemes[part] for part in name.split("+") if part in schemes]
    # A name that stands for several choices has the parameters of these.
    parts += [schemes[x] for part in parts for x in part.chooses.values() if x in schemes]
    keys = [f"{each.name}=" for part in parts for each in part.parameters]
    used = {part.partition("=")[0] for part in given if "=" in part}
    return [key for key in dict.fromkeys(keys) if key[:-1] not in used]


def _scheme_words(word: str, several: bool, parameters: bool) -> list[str]:
    entry = word.rpartition(",")[2] if several else word
    if ":" in entry and parameters:
        return _joined(word, _parameters(entry), ":")
    return _joined(word, list(_schemes()), "+," if several else "+")


def _keys() -> list[str]:
    program = _replayer()
    return [f"{each.name}=" for each in choices.keys(choices.listed(program)[2])] if program else []


def _drives() -> list[str]:
    return [os.path.relpath(path) for path in sorted(DEVICES.glob("*.ini"))]


def _options(command: str, parser: Parser) -> list[str]:
    if command == "replay":
        if not (program := _replayer()):
            return []
        said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
        return ["--schemes", "--out", "--device", "--set", *re.findall(r"(--[\w-]+)", said.stdout)]
    return [name for action in parser.known() for name in action.option_strings]


def _joined(word: str, names: list[str], separators: str) -> list[str]:
    """Names behind what is there of a list already: baseline,pgc+gc-v."""
    start = max((word.rfind(each) for each in separators), default=-1) + 1
    return [word[:start] + name for name in names if name.startswith(word[start:])]


def _values(parser: Parser, option: str, word: str) -> list[str] | None:
    """What may follow an option; None: it takes no value."""
    if option in _SCHEME:
        several = option == "--schemes"
        takes = several or parser.prog.split()[-1] not in _PARAMETERS_APART
        return _scheme_words(word, several, takes)
    if option in _KEY or option == "-o":
        return _joined(word, _keys(), ",")
    if option in _DRIVE:
        return _joined(word, _drives(), "")
    for action in parser.known():
        if option in action.option_strings:
            if action.nargs == 0:
                return None
            return _joined(word, [str(each) for each in action.choices or ()], "")
    return []


def _positional(command: str, parser: Parser, word: str) -> list[str]:
    names = [str(x) for action in parser.known() if not action.option_strings
             for x in action.choices or ()]  # fmt: skip
    if command == "schemes":
        names = list(_schemes())
    elif command == "keys":
        names = [name.rstrip("=") for name in _keys()]
    elif command in ("age", "devices"):
        names = _drives()
    return _joined(word, names, "")


def completed(tree: Tree, given: list[str]) -> list[str]:
    """What the last word may become; none: a file's name, for all that is known."""
    commands = {each.name: each.parser for each in tree.listed.values()}
    *before, word = given or [""]
    if not before:
        return _joined(word, list(commands), "")
    if before[0] not in commands:
        return []
    command, parser = before[0], commands[before[0]]
    option, equals, value = word.partition("=")
    if equals and option.startswith("--"):
        return [f"{option}={each}" for each in _values(parser, option, value) or []]
    # -o is an output file but for the replayer, where it is a key.
    if before[-1].startswith("-") and not (before[-1] == "-o" and command != "replay"):
        found = _values(parser, before[-1], word)
        if found is not None:
            return found
    if word.startswith("-"):
        return _joined(word, [x for x in _options(command, parser) if x.startswith("--")], "")
    return _positional(command, parser, word)
