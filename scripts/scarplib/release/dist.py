# SPDX-License-Identifier: GPL-2.0-or-later
"""`make dist`: git's files as a tarball, the same bytes each time.

Names are sorted, times are the commit's, and nothing of the user or the machine is in it.
"""

from __future__ import annotations

import hashlib
import io
import struct
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

from scarplib.errors import UserError
from scarplib.paths import OUT, ROOT
from scarplib.version import version


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise UserError("dist: needs git, which says what belongs to it") from None
    if done.returncode:
        raise UserError(f"dist: needs a checkout by git: {done.stderr.strip()}")
    return done.stdout


def _member(path: Path, name: str, seconds: int) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.mtime = seconds
    if path.is_symlink():
        member.type, member.linkname, member.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
        return member, b""
    data = path.read_bytes()
    member.size = len(data)
    # git keeps no more of a mode than this, so that a umask makes no difference.
    member.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
    return member, data


def _gzipped(data: bytes) -> bytes:
    """As gzip does, without a name, a time, or a system: Python's versions differ in the last."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush()
    head = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    return head + body + struct.pack("<LL", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def write(target: Path) -> str:
    """The tarball of all tracked files as they are now; its SHA-256."""
    names = [name for name in _git("ls-files", "-z").split("\0") if name]
    seconds = int(_git("log", "-1", "--format=%ct"))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(names):
            try:
                member, data = _member(ROOT / name, f"scarp-{version()}/{name}", seconds)
            except OSError as error:
                raise UserError(f"dist: {name}: {error.strerror}") from error
            tar.addfile(member, io.BytesIO(data))
    data = _gzipped(packed.getvalue())
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def main() -> int:
    """Into out/dist; the last line is what sha256sum reads."""
    target = OUT / "dist" / f"scarp-{version()}.tar.gz"
    digest = write(target)
    if changed := _git("status", "--porcelain", "--untracked-files=no").splitlines():
        print(f"dist: {len(changed)} files are not as they were committed", file=sys.stderr)
    target.with_name(f"{target.name}.sha256").write_text(f"{digest}  {target.name}\n")
    print(f"{digest}  {target}")
    return 0
