# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own kselftest: its runner, helpers and makefiles, from Debian's kernel source.

They are found there and not copied into this repository.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import IO, cast

from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.debian_packages import Apt
from scarplib.build.tarball import careful
from scarplib.errors import UserError

# Below the top of a kernel's source; what `make -C tools/testing/selftests` reads.
SELFTESTS = Path("tools/testing/selftests")
_WANTED = re.compile(
    r"(scripts/(subarch\.include|Makefile\.(arch|include|compiler))"
    rf"|{SELFTESTS}/(kselftest/[^/]+|Makefile|[^/]+\.(mk|sh|h))"
    r"|tools/scripts/[^/]+)"
)


def _extract(package: Path, folder: Path) -> None:
    """The few files out of the tarball that is within the package, without unpacking it."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        with tarfile.open(fileobj=process.stdout, mode="r|") as outer:
            for member in outer:
                if not re.search(r"/linux-source-[\d.]+\.tar\.xz$", member.name):
                    continue
                source = cast(IO[bytes], outer.extractfile(member))
                with tarfile.open(fileobj=source, mode="r|xz") as inner:
                    for file in careful(inner):
                        name = file.name.partition("/")[2]
                        if file.isfile() and _WANTED.fullmatch(name):
                            file.name = name
                            inner.extract(file, folder)
        # What is behind the tarball is not read.
        process.stdout.read()


def ensure_kselftest() -> Path:
    """A folder laid out as a kernel's source, with kselftest in it and no test."""
    folder = cache_dir() / "kselftest"
    with locked("kselftest"):
        if folder.is_dir():
            return folder
        apt = Apt()
        apt.update()
        found = [x for x in apt.closure(["linux-source"]) if re.match(r"linux-source-[\d.]+=", x)]
        if len(found) != 1:
            raise UserError(f"Debian's linux-source depends on {len(found)} sources, not one")
        (package,) = apt.fetch(found).values()
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        with step("kselftest, from Debian's kernel source"):
            _extract(package, fresh)
        if not (fresh / SELFTESTS / "kselftest" / "ktap_helpers.sh").is_file():
            raise UserError(f"{package.name}: no kselftest/ktap_helpers.sh in it")
        (fresh / "VERSION").write_text(f"{found[0]}\n")
        fresh.rename(folder)
        # 150 MB that nothing reads again.
        package.unlink()
    return folder
