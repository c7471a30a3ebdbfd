# SPDX-License-Identifier: GPL-2.0-or-later
"""A script of the user's in the guest: what is checked before the boot, and how it is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError

# In the guest: the script, its files, where it leaves what is to be kept.
SCRIPT = "/scarp/script"
FILES = "/scarp/files"
OUT = "/results/files"
LOG = "/results/script.log"
# How many lines of its output are said when it fails.
_LAST_LINES = 12
# All that a guest without packages has.
_SHELLS = ("/bin/sh", "/bin/busybox")


@dataclass(frozen=True)
class Script:
    """A program that the guest's kernel or its shell can start, and the files that it is given."""

    path: Path
    files: tuple[Path, ...] = ()

    def content(self) -> dict[str, Path | bytes]:
        """For GuestRun.files."""
        names: dict[str, Path | bytes] = {f"files/{path.name}": path for path in self.files}
        return {"script": self.path, **names}

    def size(self) -> int:
        """Bytes that all of it takes of the guest's memory."""
        return sum(path.stat().st_size for path in (self.path, *self.files))


def interpreter(text: bytes) -> str:
    """What the first line asks for; the guest's shell if it asks for nothing."""
    if text.startswith(b"\x7fELF"):
        return ""
    if not text.startswith(b"#!"):
        return "/bin/sh"
    words = text[2:].split(b"\n", 1)[0].decode(errors="replace").split()
    return words[0] if words else "/bin/sh"


def check(path: Path, files: Sequence[Path], root: Path | None = None) -> Script:
    """What the guest could only find out after booting is said here.

    `root`: the folder of the packages that the guest will have.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UserError(f"--script: {path}: {error.strerror}") from error
    if not text.strip():
        raise UserError(f"--script: {path}: empty")
    wanted = interpreter(text)
    there = wanted in ("", *_SHELLS) or (root and (root / wanted.lstrip("/")).exists())
    if not there:
        raise UserError(
            f"--script: {path}: '#!{wanted}': the guest has {' and '.join(_SHELLS)}; other "
            "interpreters come with --packages"
        )
    names = [each.name for each in files]
    for each in files:
        if not each.is_file():
            raise UserError(f"--file: {each}: no such file")
        if names.count(each.name) > 1:
            raise UserError(f"--file: {each}: two files are named {each.name}")
    return Script(path, tuple(files))


def environment() -> list[str]:
    """The guest's lines that a script finds its way by."""
    return [
        f"mkdir -p {OUT} {FILES}",
        f"export SCARP_OUT={OUT} SCARP_FILES={FILES}",
    ]


def start(path: Path, within: str = "") -> list[str]:
    """The guest's lines that start it; `within`: the command that enters another root."""
    how = f"sh {SCRIPT}" if not path.read_bytes()[:4].startswith((b"#!", b"\x7fELF")) else SCRIPT
    inside = f'cd "$SCARP_DIR" && exec {how}'
    said = "the script ended with status $status"
    return [
        "status=0",
        f"{within}/bin/sh -c '{inside}' >{LOG} 2>&1 </dev/null || status=$?",
        f"if [ $status != 0 ]; then tail -n {_LAST_LINES} {LOG}; "
        f'echo "scarp-error: {said}"; exit $status; fi',
    ]
