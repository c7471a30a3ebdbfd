# SPDX-License-Identifier: GPL-2.0-or-later
"""A fio job as the guest gets it: one file, with what it includes, and the files that it reads.

The guest's own fio says beforehand, here on the host, what it would refuse.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError, printable

_INCLUDE = re.compile(r"^[ \t]*include[ \t]+(\S+)[ \t]*$", re.MULTILINE)
# Options whose value is a list of files, with a colon between two.
_LISTS = re.compile(r"^([ \t]*read_iolog[ \t]*=[ \t]*)(\S.*?)[ \t]*$", re.MULTILINE)
# Options whose value is a file if it is in single quotes.
_PATTERNS = re.compile(r"^([ \t]*(?:buffer_pattern|verify_pattern)[ \t]*=[ \t]*')([^'\n]+)(')",
                       re.MULTILINE)  # fmt: skip
_MOST_INCLUDED = 16
# What a job may name; only their kinds matter to the parser.
_VALUES = {
    "SCARP_DEV": "/dev/nvme0n1",
    "SCARP_NG": "/dev/ng0n1",
    "SCARP_AGED": str(1 << 30),
    "SCARP_UNIT": "4096",
    "SCARP_DEPTH": "32",
    "SCARP_IOS": "1000",
}
_FOLDERS = ("SCARP_DIR", "SCARP_RESULTS")


@dataclass(frozen=True)
class FioJob:
    """`files`: by their names below /scarp, as `text` has them."""

    path: Path
    text: str
    files: Mapping[str, Path]

    def content(self) -> dict[str, Path | bytes]:
        """For GuestRun.files."""
        return {"job.fio": self.text.encode(), **self.files}

    def inputs(self) -> dict[str, Path]:
        """For the manifest; what the job includes is in its own text."""
        return {"job": self.path, **{f"job's {name}": path for name, path in self.files.items()}}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise UserError(f"--job: {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"--job: {path}: not a text file") from error


def _found(job: Path, option: str, name: str) -> Path:
    """A file of the job's: from where the command is typed, as fio has it, or beside the job."""
    for path in (Path(name), job.parent / name):
        if path.is_file():
            return path
    raise UserError(f"--job: {job}: {option}: {name}: no such file")


def _included(path: Path, depth: int = 0) -> str:
    """The job's text with those that it includes in their places."""
    text = _text(path)
    if depth > _MOST_INCLUDED:
        raise UserError(f"--job: {path}: includes are more than {_MOST_INCLUDED} deep")

    def inner(match: re.Match[str]) -> str:
        return _included(_found(path, "include", match[1]), depth + 1)

    return _INCLUDE.sub(inner, text)


class _Files:
    """Gives each file that a job reads its name in the guest."""

    def __init__(self, job: Path) -> None:
        self.job = job
        self.named: dict[str, Path] = {}

    def name(self, option: str, text: str) -> str:
        """In the guest; what a variable names is there already."""
        if "${" in text:
            return text
        path = _found(self.job, option, text)
        for known, other in self.named.items():
            if other == path:
                return f"/scarp/{known}"
        name = f"job-files/{len(self.named)}-{re.sub('[^A-Za-z0-9._-]', '_', path.name)}"
        self.named[name] = path
        return f"/scarp/{name}"

    def listed(self, match: re.Match[str]) -> str:
        """A list of files."""
        names = re.split(r"(?<!\\):", match[2])
        return match[1] + ":".join(self.name("read_iolog", n.replace("\\:", ":")) for n in names)

    def pattern(self, match: re.Match[str]) -> str:
        """A file in quotes."""
        return f"{match[1]}{self.name('pattern', match[2])}{match[3]}"


def read(path: Path) -> FioJob:
    """UserError: it is no text, or names a file that is not there."""
    files = _Files(path)
    text = _LISTS.sub(files.listed, _included(path))
    text = _PATTERNS.sub(files.pattern, text)
    return FioJob(path, text, files.named)


def _on_host(job: FioJob, folder: Path) -> str:
    """The text with its files where they are on this machine: the parser reads some of them."""
    text = job.text
    for name, path in job.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(path.resolve())
        text = text.replace(f"/scarp/{name}", str(folder / name))
    return text


def _said(lines: Sequence[str]) -> Iterator[str]:
    """What fio said of its reasons: what follows from them is left out, and lists of values."""
    for line in lines:
        if re.match(r"\s|fio: job .* dropped|fio: file:", line) or not line.strip():
            continue
        yield printable(line.removeprefix("fio: ").strip())


def check_parsed(fio: Sequence[str], job: FioJob) -> None:
    """Let the guest's fio, as it runs on this host, read the job before anything boots."""
    with tempfile.TemporaryDirectory(prefix="scarp-parse-") as scratch:
        folder = Path(scratch)
        given = folder / "job.fio"
        given.write_text(_on_host(job, folder))
        environment = {**os.environ, **_VALUES, **dict.fromkeys(_FOLDERS, scratch)}
        try:
            done = subprocess.run(
                [*fio, "--parse-only", str(given)], env=environment, cwd=folder,
                capture_output=True, text=True, errors="replace", check=False,
            )  # fmt: skip
        except OSError:
            # A host of another kind than the guest's: fio says it there.
            return
    if not done.returncode:
        return
    said = list(_said([*done.stderr.splitlines(), *done.stdout.splitlines()]))
    why = "; ".join(said[:3]) or f"it ends with status {done.returncode}"
    raise UserError(f"--job: {job.path}: the guest's fio does not take it: {why}")
