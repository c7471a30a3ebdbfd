# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp why`: asks scarp-why about a run's folder, and gives its answer out."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from scarplib import whole_file
from scarplib.device_logs.log_file import LogError
from scarplib.drive.branches import SLOWEST, Question, ask
from scarplib.errors import UserError
from scarplib.why import words


def _with_trace(arguments: list[str], output: Path) -> dict[str, Any]:
    """The timelines of all branches, each a group of tracks, in one file."""
    with tempfile.TemporaryDirectory(prefix="scarp-why-") as scratch:
        parts = Path(scratch) / "part"
        answer = ask([*arguments, "--trace", str(parts)])
        numbered = sorted(Path(scratch).glob("part.*"), key=lambda path: int(path.suffix[1:]))
        with output.open("wb") as stream:
            for part in numbered:
                stream.write(part.read_bytes())
    return answer


def _answer(options: argparse.Namespace) -> None:
    """Ask, and say the answer as the command line wants it."""
    question = Question(
        folder=options.folder,
        slowest=options.slowest or SLOWEST,
        orders=options.orders or (),
        at=options.at,
        under=options.under,
        without=options.without,
        larger=options.larger,
        logs=options.logs,
    )
    try:
        arguments = question.arguments()
    except LogError as error:
        raise UserError(str(error)) from error
    if options.output:
        whole_file.check("-o", options.output, options.folder / "cmd.bin")
        answer = _with_trace(arguments, options.output)
    else:
        answer = ask(arguments)
    print(json.dumps(answer, indent=1) if options.json else words.text(answer), end="")
    if options.json:
        print()
    elif options.output:
        print(f"\n{options.output}: fact and branches; open it at ui.perfetto.dev")


def main(options: argparse.Namespace) -> int:
    """As the command line says; the exit status."""
    if not options.watch:
        _answer(options)
        return 0
    from scarplib.build.cuts import why_sources
    from scarplib.why import watching

    return watching.watch(lambda: _answer(options), why_sources)
