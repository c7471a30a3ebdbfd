# SPDX-License-Identifier: GPL-2.0-or-later
"""A change of scheme that a drive makes by itself."""

from __future__ import annotations

from dataclasses import dataclass

from scarplib import scheme_text


@dataclass(frozen=True)
class Switch:
    """A scheme that a drive switches to by itself, at so many ns of its clock."""

    at_ns: int
    scheme: str

    def options(self) -> dict[str, object]:
        """The device's properties."""
        chosen = scheme_text.split(self.scheme)
        params = chosen.params(";")
        text = f"{chosen.name}:{params}" if params else chosen.name
        return {"switch-at-ns": self.at_ns, "switch-to": text}
