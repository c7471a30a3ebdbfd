# SPDX-License-Identifier: GPL-2.0-or-later
"""`make dist`, `make install`, `make uninstall`."""

from __future__ import annotations

import sys
from pathlib import Path

from scarplib.errors import UserError
from scarplib.option_types import Parser
from scarplib.release import dist, install


def _prefix(text: str) -> Path:
    if not Path(text).is_absolute():
        raise UserError(f"PREFIX={text}: must be an absolute path, such as /usr/local")
    return Path(text)


def main(given: list[str]) -> int:
    """The exit status."""
    parser = Parser(prog="scarplib.release", description=__doc__)
    parser.add_argument("what", choices=("dist", "install", "uninstall"))
    parser.add_argument("--prefix", type=_prefix, default=Path("/usr/local"))
    parser.add_argument("--destdir", default="")
    try:
        options = parser.parse_args(given)
        if options.what == "dist":
            return dist.main()
        # A path joined to another absolute one would be that one.
        place = Path(f"{Path(options.destdir).resolve()}{options.prefix}")
        if not options.destdir:
            place = options.prefix
        return {"install": install.install, "uninstall": install.uninstall}[options.what](place)
    except UserError as error:
        print(f"scarp: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
