# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp COMMAND`: all packages' commands, and how each of them ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from scarplib.command_tree import UNLOCKED_GIVEN, Tree
from scarplib.completion import command as completion
from scarplib.dev import command as dev
from scarplib.drive import command as drive
from scarplib.errors import UserError, of_system
from scarplib.guest import command as guest
from scarplib.own_drive import command as own_drive
from scarplib.own_scheme import command as own_scheme
from scarplib.paths import UNLOCKED
from scarplib.powercut import command as powercut
from scarplib.release import command as release
from scarplib.replays import command as replays
from scarplib.reproduce import command as reproduce
from scarplib.results import command as results
from scarplib.runs import command as runs
from scarplib.search import command as search
from scarplib.sweep import command as sweep
from scarplib.why import command as why

# In the order in which --help has their commands.  A command's function imports what it needs
# itself: --help and wrong arguments need no more than the options.
_PACKAGES = (
    runs,
    powercut,
    guest,
    replays,
    sweep,
    search,
    reproduce,
    drive,
    own_drive,
    results,
    why,
    completion,
    own_scheme,
    dev,
    release,
)


def tree() -> Tree:
    """All commands with their options."""
    found = Tree()
    for package in _PACKAGES:
        package.add_commands(found)
    return found


def run(given: Sequence[str]) -> int:
    """The exit status; what is wrong is a UserError."""
    options = tree().parse_args(given)
    # Whatever the command: who builds something reads it, programs that are started, too.
    if vars(options).pop(UNLOCKED_GIVEN):
        os.environ[UNLOCKED] = "1"
    status: int = options.run(options)
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status; errors of the user's are one line."""
    try:
        return run(sys.argv[1:] if argv is None else argv)
    except UserError as error:
        from scarplib.drive.hints import hint

        print(f"scarp: error: {error}{hint(str(error))}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever reads has had enough: scripts/scarp ends in silence.
        raise
    except OSError as error:
        # A full disk, a folder that may not be written: nobody can say that in advance.
        print(f"scarp: error: {of_system(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("scarp: interrupted", file=sys.stderr)
        return 130
