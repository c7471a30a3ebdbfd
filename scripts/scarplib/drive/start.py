# SPDX-License-Identifier: GPL-2.0-or-later
"""The state from which a run began, as its summary.json says it: enough to replay its logs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib import scheme_text
from scarplib.paths import ROOT

# What a summary.json may say: nothing that writes.
_OPTIONS = ("image", "description", "seed", "params", "override")


@dataclass(frozen=True)
class Start:
    """What the replayer has to be told, but for the workload."""

    # With its parameters, as a column has it.
    scheme: str
    # Options of scarp-replay by their names, in order.
    options: tuple[tuple[str, str], ...]

    def words(self) -> list[str]:
        """As scarp-replay's arguments."""
        words = scheme_text.split(self.scheme).words()
        for name, value in self.options:
            words += [f"--{name}", value]
        return words


def said(path: Path, folder: Path) -> str:
    """A file as summary.json names it: from the run's folder or the checkout, if it is there."""
    whole = path.resolve()
    for name, top in (("run", folder.resolve()), ("scarp", ROOT)):
        if whole.is_relative_to(top):
            return f"{name}:{whole.relative_to(top)}"
    return str(whole)


def meant(text: str, folder: Path) -> Path:
    """The file that said() has named."""
    kind, _, rest = text.partition(":")
    return {"run": folder, "scarp": ROOT}[kind] / rest if kind in ("run", "scarp") else Path(text)


def of_run(result: dict[str, Any], folder: Path, column: str) -> Start | None:
    """Of one column of a summary.json; None if it does not say, or if a file is gone.

    ValueError: it says what no run of ours has written.
    """
    options: list[tuple[str, str]] = []
    listed = result.get("start")
    if not listed or column not in result.get("schemes", {}):
        return None
    for name, value in listed:
        if name not in _OPTIONS or not isinstance(value, str):
            # A summary may be anybody's, and other options write files.
            raise ValueError(f"start: '{name}' is no option that a drive begins with")
        if name in ("image", "description"):
            path = meant(value, folder)
            if not path.is_file():
                return None
            value = str(path)
        options.append((name, value))
    return Start(result.get("columns", {}).get(column, column), tuple(options))
