# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree of `scarp`'s subcommands: each package's command.py adds its own to it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from scarplib.errors import UserError, nearest
from scarplib.option_types import Parser
from scarplib.paths import INSTALLED, UNLOCKED
from scarplib.version import version

# What a command does with its options; the exit status.
Run = Callable[[argparse.Namespace], int]

# Sections of `scarp --help`, in this order.
RUN = "run a load"
DRIVES = "choose, make and measure drives"
RESULTS = "look closer at results"
SETTING_UP = "set up"
DEVELOPERS = "for developers of Scarp"
SECTIONS = (RUN, DRIVES, RESULTS, SETTING_UP, DEVELOPERS)

# The dest of --unlocked; cli.py reads it before the command does anything.
UNLOCKED_GIVEN = "unlocked"
_UNLOCKED = "--unlocked"


class CommandParser(Parser):
    """Of one command.

    `options.typed` has all of its words as they were typed.  forwards: another program reads what
    is no option of this parser, and says what is wrong with it; `options.rest` has these words.
    """

    def __init__(self, *arguments: Any, forwards: bool = False, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.forwards = forwards

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it, with the words."""
        options, rest = super().parse_known_args(args, namespace)
        # That one was for this process, which has put it into the environment.
        options.typed = [word for word in args or () if word != _UNLOCKED]
        if not self.forwards:
            return options, rest
        options.rest = rest
        return options, []


@dataclass(frozen=True)
class Command:
    """One of them, as `--help` and the manual list it."""

    name: str
    section: str
    help: str
    parser: CommandParser


class Tree(Parser):
    """The whole command line; a wrong word is a UserError."""

    def __init__(self) -> None:
        super().__init__(prog="scarp", description="An NVMe SSD inside QEMU that shows its GC.")
        self.listed: dict[str, Command] = {}
        self.add_argument("--version", action="version", version=f"scarp {version()}")
        self.add_argument(
            _UNLOCKED, dest=UNLOCKED_GIVEN, action="store_true", help=argparse.SUPPRESS
        )
        self._commands = self.add_subparsers(
            dest="command", required=True, metavar="COMMAND", parser_class=CommandParser
        )

    def add(
        self,
        name: str,
        section: str,
        help: str,
        run: Run,
        *,
        builds: bool = True,
        **more: Any,
    ) -> CommandParser:
        """A command's parser, to be given its options.

        builds: it may fetch packages, so that --unlocked is of use.
        more: for argparse.
        """
        parser = self._commands.add_parser(
            name, prog=f"scarp {name}", **{"description": help, **more}
        )
        parser.set_defaults(run=_refused if INSTALLED and section == DEVELOPERS else run)
        parser.add_argument(
            _UNLOCKED,
            dest=UNLOCKED_GIVEN,
            action="store_true",
            # A default would overwrite what was said before the command's name.
            default=argparse.SUPPRESS,
            help=f"takes what the mirror has, where a locked version is gone ({UNLOCKED}=1)"
            if builds
            else argparse.SUPPRESS,
        )
        self.listed[name] = Command(name, section, help, parser)
        return parser

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What is wrong is said by the command that was told so."""
        options, rest = self.parse_known_args(args, namespace)
        if rest:
            known = [x for each in self.listed[options.command].parser.known()
                     for x in each.option_strings]  # fmt: skip
            near = nearest(rest[0].partition("=")[0], known)
            self.listed[options.command].parser.error(
                f"unrecognized arguments: {' '.join(rest)}{near}"
            )
        return options

    def error(self, message: str) -> NoReturn:
        """A command that there is not is one of few: those that --help lists."""
        if match := re.match("argument COMMAND: invalid choice: '(.*?)' ", message):
            names = [each.name for section in self.sections().values() for each in section]
            message = f"'{match[1]}' is no command; there are {', '.join(names)}"
        super().error(message)

    def sections(self) -> dict[str, list[Command]]:
        """The commands by their sections, but for those that are of no use here."""
        found: dict[str, list[Command]] = {}
        for section in SECTIONS:
            of = [each for each in self.listed.values() if each.section == section]
            if of and not (INSTALLED and section == DEVELOPERS):
                found[section] = of
        return found

    def format_help(self) -> str:
        """The commands in sections, then the options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, [])
        formatter.add_text(self.description)
        for section, commands in self.sections().items():
            formatter.start_section(section)
            for each in commands:
                formatter.add_argument(
                    argparse.Action([], dest=each.name, metavar=each.name, help=each.help)
                )
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([x for x in self.known() if x.option_strings])
        formatter.end_section()
        formatter.add_text("`scarp COMMAND --help` says what a command may be told.")
        return formatter.format_help()


def _refused(options: argparse.Namespace) -> int:
    raise UserError(f"{options.command}: needs a checkout; this scarp is installed")
