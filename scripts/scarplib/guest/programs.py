# SPDX-License-Identifier: GPL-2.0-or-later
"""The array's programs and others for the guest, by trixie's gcc: their bytes are the same on any
host."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from scarplib.build.array import ARRAY, core
from scarplib.build.cache import cache_dir, check_unchanged, locked, step, tree_hash, unpack_tar
from scarplib.build.private_apt import Apt
from scarplib.errors import UserError
from scarplib.guest.image import GuestImage, ensure_sysroot, loader
from scarplib.paths import ROOT

PACKAGES = ("gcc", "libc6-dev", "liburing-dev")
# What the compiler's driver starts: on this host each runs by trixie's loader, too.
_PARTS = {
    "cc1": "usr/libexec/gcc/x86_64-linux-gnu/14/cc1",
    "collect2": "usr/libexec/gcc/x86_64-linux-gnu/14/collect2",
    "as": "usr/bin/as",
    "ld": "usr/bin/ld",
}
_BUILD = ARRAY / "uring" / "build.sh"
_LIBURING = "usr/lib/x86_64-linux-gnu/liburing.so.2"
_RECIPE = (Path(__file__), _BUILD)


def _script(path: Path, command: list[str]) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)


def _compiler(root: Path, folder: Path) -> Path:
    """trixie's cc as one program, whatever this host's C library."""
    for name in ("lib", "lib64"):
        # libc's linker script names its parts so; no package of these has the link.
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    for name, path in _PARTS.items():
        if not (root / path).exists():
            raise UserError(f"trixie's gcc has no {path}")
        _script(folder / name, [*loader(root), str(root / path)])
    driver = [*loader(root), str(root / "usr/bin/gcc"), f"-B{folder}/", f"--sysroot={root}"]
    _script(folder / "cc", driver)
    return folder / "cc"


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    if done.returncode:
        text = (done.stderr or done.stdout).strip()
        raise UserError(f"{' '.join(command[:2])}:\n{text[-1500:]}")


def _build(compiler: Path, target: Path, fio: Path | None) -> None:
    # The sources' place would be in assert()'s messages.
    environment = {
        "CC": str(compiler), "CFLAGS": f"-O2 -ffile-prefix-map={ROOT}=.", "LDFLAGS": "-static",
    }  # fmt: skip
    _run(["sh", str(_BUILD), str(target), *([str(fio)] if fio else [])], target, environment)


def _sources() -> list[Path]:
    return [
        *core(),
        *(p for name in ("uring", "ublk") for p in sorted((ARRAY / name).glob("*.[ch]"))),
    ]


def _made(name: str, versions: list[str], more: str = "") -> Path:
    text = json.dumps([versions, tree_hash([*_sources(), *_RECIPE]), more])
    return cache_dir() / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def ensure_programs(image: GuestImage, fio_engine: bool = False) -> dict[str, Path]:
    """For GuestRun.files: array-format, array-ublk; and fio's engine, with what it loads."""
    root, versions = ensure_sysroot(PACKAGES, "gcc")
    version = image.versions["fio_version"] if fio_engine else ""
    folder = _made("guest-array", versions, version)
    with locked("guest-array"):
        if not folder.is_dir():
            fresh = folder.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            with tempfile.TemporaryDirectory() as work, step("the array's programs for the guest"):
                compiler = _compiler(root, Path(work))
                fio = _fio(version, compiler, Path(work)) if fio_engine else None
                _build(compiler, fresh, fio)
            if fio_engine:
                shutil.copyfile(root / _LIBURING, fresh / Path(_LIBURING).name)
            now = _made("guest-array", versions, version)
            check_unchanged("the array's programs", folder.name, now.name)
            fresh.rename(folder)
    return {path.name: path for path in sorted(folder.iterdir())}


def ensure_program(source: Path, *more: Path) -> dict[str, Path]:
    """A program, named after its first file, that may use liburing, for GuestRun.files; static."""
    root, versions = ensure_sysroot(PACKAGES, "gcc")

    def key() -> str:
        headers = source.parent.glob("*.h") if more else ()
        text = json.dumps([versions, tree_hash([source, *more, *headers, Path(__file__)])])
        return f"guest-program-{source.stem}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"

    folder = cache_dir() / key()
    with locked("guest-array"):
        if not folder.is_dir():
            fresh = folder.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            with tempfile.TemporaryDirectory() as work:
                compiler = _compiler(root, Path(work))
                flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
                target = ["-static", "-o", str(fresh / source.stem)]
                sources = [str(path) for path in (source, *more)]
                libraries = ["-luring", "-lpthread"]
                _run([str(compiler), *flags, *target, *sources, *libraries], fresh, {})
            check_unchanged(source.stem, folder.name, key())
            fresh.rename(folder)
    return {source.stem: folder / source.stem}


# ---- fio's headers -------------------------------------------------------------------------------


class NoFioSources(UserError):
    """Neither the user nor the mirror has them."""


def fio_tarball(version: str, folder: Path) -> Path:
    """Of the version that the guest has; SCARP_FIO_TARBALL names one that is here."""
    if given := os.environ.get("SCARP_FIO_TARBALL"):
        path = Path(given)
        if not path.is_file():
            raise UserError(f"SCARP_FIO_TARBALL: {given}: no such file")
        return path
    try:
        Apt().source("fio", folder, version)
    except UserError as error:
        raise NoFioSources(
            f"needed are the sources of the guest's fio, {version}, which the mirror does "
            f"not give ({str(error).splitlines()[-1]}); SCARP_FIO_TARBALL names their tarball"
        ) from error
    found = sorted(folder.glob("fio_*.orig.tar.*z*"))
    if not found:
        raise UserError(f"the source package fio={version} has no tarball")
    return found[0]


def _check_fio(sources: Path, version: str) -> None:
    """An engine that was built for another fio would take its structures for others."""
    stated = sources / "FIO-VERSION-GEN"
    match = re.search(r"^DEF_VER=fio-(\S+)", stated.read_text() if stated.is_file() else "", re.M)
    found, needed = match[1] if match else "no version", version.rsplit("-", 1)[0]
    if found != needed:
        raise UserError(f"fio's sources are of {found}: must be of {needed}, as the guest's fio is")


def _fio(version: str, compiler: Path, work: Path) -> Path:
    """fio's sources, configured with the guest's compiler: its engines need its headers."""
    folder = work / "fio"
    folder.mkdir()
    unpack_tar(fio_tarball(version, work), folder)
    configure = next(iter([*folder.glob("configure"), *folder.glob("*/configure")]), None)
    if configure is None:
        raise UserError("fio's tarball has no configure")
    _check_fio(configure.parent, version)
    # What the host's pkg-config knows is not there in the guest.
    environment = {"PKG_CONFIG": "false", "PKG_CONFIG_LIBDIR": "/nonexistent"}
    _run(["sh", "configure", f"--cc={compiler}", "--disable-native"], configure.parent, environment)
    return configure.parent
