# SPDX-License-Identifier: GPL-2.0-or-later
"""`make update-locks`: what there is today becomes what is locked (build/locks.py reads it)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scarplib.build import browser, kselftest, locks, qemu, venv
from scarplib.build.cache import step
from scarplib.build.private_apt import RELEASE, Apt
from scarplib.errors import UserError
from scarplib.guest import device_mapper, image, programs, user_packages

# REUSE-IgnoreStart
HEAD = "# SPDX-License-Identifier: GPL-2.0-or-later\n# Made by `make update-locks`: {}.\n"
# REUSE-IgnoreEnd
# Sets of packages that are taken from Debian, and source packages with the files that are used.
DEBIAN_SETS: tuple[Sequence[str], ...] = (
    *image.locked_sets(),
    programs.PACKAGES,
    device_mapper.PACKAGES,
    user_packages.TOOLS,
    qemu.FIRMWARE_PACKAGES,
    browser.PACKAGES,
    kselftest.PACKAGES,
    # Which completion is tried with (tests/e2e/test_completion.py).
    ("zsh",),
)
DEBIAN_SOURCES = ("qemu", "fio")
# Debian 12's, Ubuntu 24.04's, Debian 13's.
PYTHONS = ("3.11", "3.12", "3.13")


# ---- Debian --------------------------------------------------------------------------------------


def _hashes(apt: Apt, packages: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Name to version and SHA-256, by the signed index."""
    text = apt.index("show", *packages)
    found = {}
    for record in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|SHA256): (\S+)$", record, re.MULTILINE))
        if fields:
            found[fields["Package"]] = fields["Version"], fields["SHA256"]
    return found


def _source(apt: Apt, name: str) -> locks.Source:
    """The newest version's upstream tarball."""
    version = apt.source_versions(name)[0]
    for record in apt.index("showsrc", "--only-source", name).split("\n\n"):
        if re.search(rf"^Version: {re.escape(version)}$", record, re.MULTILINE):
            sums = record[record.index("Checksums-Sha256:") :]
            found = re.findall(r"^ ([0-9a-f]{64}) \d+ (\S+\.orig\.tar\.[a-z0-9]+)$", sums, re.M)
            return locks.Source(version, {file: sha256 for sha256, file in found})
    raise UserError(f"{name} {version}: the index has no such source")


def debian_text(lock: locks.DebianLock) -> str:
    """The lock file of what comes from Debian."""
    lines = [HEAD.format(f"what is taken from Debian {RELEASE}")]
    for name, source in sorted(lock.sources.items()):
        lines += [f"[sources.{name}]", f'version = "{source.version}"', f"[sources.{name}.files]"]
        lines += [f'"{file}" = "{sha256}"' for file, sha256 in sorted(source.files.items())] + [""]
    lines.append("[packages]")
    for name, (version, sha256) in sorted(lock.packages.items()):
        lines.append(f'"{name}" = ["{version}", "{sha256}"]')
    for wanted, packages in sorted(lock.sets.items()):
        lines += ["", "[[set]]", f"wanted = {json.dumps(list(wanted))}", "packages = ["]
        lines += [*(f'    "{name}",' for name in packages), "]"]
    return "\n".join(lines) + "\n"


def _debian() -> locks.DebianLock:
    apt = Apt()
    sets: dict[tuple[str, ...], tuple[str, ...]] = {}
    versions: dict[str, str] = {}
    for names in DEBIAN_SETS:
        closure = dict(x.split("=", 1) for x in apt.resolve(names))
        sets[tuple(sorted(names))] = tuple(closure)
        versions |= closure
    packages = _hashes(apt, (f"{name}={version}" for name, version in versions.items()))
    if {name: version for name, (version, _) in packages.items()} != versions:
        raise UserError("the index does not have the checksum of each package")
    return locks.DebianLock({name: _source(apt, name) for name in DEBIAN_SOURCES}, packages, sets)


# ---- Python --------------------------------------------------------------------------------------


def _report(python: Path, *arguments: str) -> list[dict[str, Any]]:
    """What pip would install, downloading no more than it must."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [str(python), "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--report", str(report), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"pip: {done.stderr.strip().splitlines()[-1]}")
        return list(json.loads(report.read_text())["install"])


def _of(item: dict[str, Any]) -> tuple[str, str, str]:
    """Name, version and SHA-256 of one of the report's packages."""
    name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
    return (
        name,
        item["metadata"]["version"],
        item["download_info"]["archive_info"]["hashes"]["sha256"],
    )


def _is_source(item: dict[str, Any]) -> bool:
    return not str(item["download_info"]["url"]).endswith(".whl")


def _requirements(python: Path, packages: Sequence[str]) -> str:
    """Of this Python, and the same versions for the others: only their wheels differ."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    items = _report(python, *packages)
    versions = {name: version for name, version, _ in map(_of, items)}
    hashes: dict[str, set[str]] = {name: {sha256} for name, _, sha256 in map(_of, items)}
    pinned = [f"{n}=={v}" for n, v, _ in map(_of, [x for x in items if not _is_source(x)])]
    for other in (x for x in PYTHONS if x != own and pinned):
        with tempfile.TemporaryDirectory() as folder:
            found = _report(python, "--no-deps", "--only-binary=:all:", "--python-version", other,
                            "--target", folder, *pinned)  # fmt: skip
        for name, _, sha256 in map(_of, found):
            hashes[name].add(sha256)
    lines = []
    for name in sorted(versions):
        lines.append(f"{name}=={versions[name]}")
        lines += [f"    --hash=sha256:{sha256}" for sha256 in sorted(hashes[name])]
    # No continuation after a package's last hash.
    return re.sub(r" \\\n(?=[a-z0-9])", "\n", " \\\n".join(lines)) + "\n"


def _python(python: Path) -> None:
    for packages, name in venv.LOCKED.items():
        with step(f"the lock of Python's {name}"):
            head = HEAD.format(f"for {' '.join(packages)}")
            text = head + _requirements(python, packages)
            (locks.FOLDER / f"python-{name}.txt").write_text(text)


def main() -> int:
    """Write all of scripts/locks anew, and say what changed."""
    before = locks.parse(locks.DEBIAN.read_text()) if locks.DEBIAN.is_file() else locks.DebianLock()
    locks.FOLDER.mkdir(exist_ok=True)
    with step(f"the lock of Debian {RELEASE}'s packages"):
        lock = _debian()
        locks.DEBIAN.write_text(debian_text(lock))
    with tempfile.TemporaryDirectory() as folder:
        # As newly made, with the pip that this Python brings.
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        _python(Path(folder) / "bin" / "python")
    old, new = ([f"{n}={v}" for n, (v, _) in x.packages.items()] for x in (before, lock))
    for name, (was, now) in sorted(locks.differences(old, new).items()):
        print(f"{name}: {was} -> {now}")
    print(f"scripts/locks: {len(lock.packages)} Debian packages, {len(lock.sources)} sources")
    return 0
