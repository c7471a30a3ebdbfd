#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Does to this checkout what a page tells a reader to: apply_page.py PAGE SCHEME.

Each block of C follows a paragraph that names its file.  A file that does not exist becomes the
block; a line of a list goes behind the last line of its kind.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def place(path: Path, code: str) -> None:
    if not path.exists():
        path.write_text(code)
        return
    # `extern const Type name;` and `&name.policy,`: by what stands before the name.
    pattern = re.sub(r"\bscarp_\w+", r"\\w+", re.escape(code.strip()).replace(r"\_", "_"))
    # Others of a kind may share one declaration.
    pattern = pattern.removesuffix(";").removesuffix(r"\w+")
    lines = path.read_text().splitlines(keepends=True)
    alike = [i for i, line in enumerate(lines) if re.match(pattern, line.strip())]
    if not alike:
        sys.exit(f"apply_page.py: {path}: no line like: {code.strip()}")
    at = alike[0] if code.strip().endswith(";") else alike[0] + 1
    lines.insert(at, code)
    path.write_text("".join(lines))


def main(page: str, scheme: str) -> None:
    text = Path(page).read_text()
    placed = 0
    for match in re.finditer(r"```c\n(.*?)```", text, re.DOTALL):
        named = re.findall(r"`([\w/.-]+\.[ch])`", text[: match.start()].rsplit("\n## ", 1)[1])
        if not named:
            sys.exit(f"apply_page.py: {page}: no file is named for:\n{match[1]}")
        place(Path(named[-1]), match[1])
        placed += 1
    test = Path("tests/unit/test-drive.c")
    listed, found = re.subn(r"(schemes\[\] = \{\n)", rf'\1    "{scheme}",\n', test.read_text())
    if not (placed and found == 1):
        sys.exit(f"apply_page.py: {placed} blocks, {found} lists of schemes in {test}")
    test.write_text(listed)


if __name__ == "__main__":
    main(*sys.argv[1:])
