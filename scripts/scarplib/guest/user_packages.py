# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages of the user's choice: a compressed root of their own beside the initramfs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.debian_packages import RELEASE
from scarplib.errors import UserError
from scarplib.guest.image import call, ensure_sysroot, loader

# What every root has: a C library, its cache of libraries, a shell, and users' names.
_ALWAYS = ("libc6", "libc-bin", "busybox-static", "base-passwd")
_TOOLS = ("squashfs-tools",)
# Modules that the root is mounted with, where they are not built in.
MODULES = ("loop", "squashfs", "overlay")
# In the guest: the image, and the root that is made from it.
IMAGE = "packages.squashfs"
ROOT = "/root"
_MERGED = ("bin", "sbin", "lib", "lib64")
# What nobody reads in a guest, and what a run of ldconfig leaves.
_LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "var/cache")
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")


@dataclass(frozen=True)
class Packages:
    """The folder they are unpacked in, the image made of it, and name=version of each."""

    folder: Path
    image: Path
    versions: tuple[str, ...]


def parse_names(text: str) -> list[str]:
    """a,b,…: each a name as Debian's are."""
    names = text.split(",")
    for name in names:
        if not _NAME.fullmatch(name):
            raise UserError(
                f"--packages: '{name}' is not a Debian package's name: lower-case letters, "
                "digits, '+', '-', '.'"
            )
    return names


def _unpacked(names: Sequence[str]) -> tuple[Path, list[str]]:
    wanted = tuple(sorted({*names, *_ALWAYS}))
    try:
        return ensure_sysroot(wanted, "packages", whole=True)
    except UserError as error:
        unknown = re.search(r"(?:Unable to locate package|Package '?)\s*([a-z0-9+.-]+)", str(error))
        if unknown and ("locate" in str(error) or "candidate" in str(error)):
            raise UserError(
                f"--packages: Debian {RELEASE} has no package '{unknown[1]}'"
            ) from error
        raise


def _complete(root: Path) -> None:
    """What the packages' scripts and the installer would have done, as far as programs need it."""
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (root / name).is_symlink() and not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    if not (root / "usr/bin/sh").is_symlink():
        (root / "usr/bin/sh").symlink_to("dash" if (root / "usr/bin/dash").exists() else "busybox")
    (root / "etc").mkdir(exist_ok=True)
    for name in ("passwd", "group"):
        shutil.copyfile(root / f"usr/share/base-passwd/{name}.master", root / "etc" / name)
    for folder in ("tmp", "run", "proc", "sys", "dev", "mnt", "scarp", "results", "base", "root"):
        (root / folder).mkdir(exist_ok=True)
    # A static program: it runs on any x86-64 host.
    call([str(root / "usr/sbin/ldconfig"), "-r", str(root)])


def _compress(root: Path, image: Path) -> None:
    tools, _ = ensure_sysroot(_TOOLS, "squashfs")
    # lz4, as the guest's time is dear; no times and no owners: equal packages, equal bytes.
    command = [*loader(tools), str(tools / "usr/bin/mksquashfs"), str(root), str(image)]
    command += ["-noappend", "-no-progress", "-quiet", "-no-xattrs", "-all-root"]
    command += ["-mkfs-time", "0", "-all-time", "0", "-processors", "1"]
    command += ["-comp", "lz4", "-Xhc", "-e", *_LEFT_OUT]
    with step("the packages' root"):
        call(command)


def ensure_packages(names: Sequence[str]) -> Packages:
    """Resolved and verified by apt, unpacked, and compressed; kept in the cache."""
    root, versions = _unpacked(names)
    recipe = Path(__file__).read_bytes()
    key = hashlib.sha256(json.dumps(versions).encode() + recipe).hexdigest()[:20]
    image = cache_dir() / f"packages-{key}.squashfs"
    with locked("guest-packages"):
        if not image.is_file():
            _complete(root)
            fresh = image.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            _compress(root, fresh)
            fresh.rename(image)
    return Packages(root, image, tuple(versions))


def enter() -> str:
    """The guest's command before one that is to run in the root."""
    return f"busybox chroot {ROOT} "


def mount_lines() -> list[str]:
    """The guest's lines that make the root: the packages over the initramfs, and both writable."""
    bound = " ".join(("dev", "proc", "sys", "scarp", "results"))
    failed = '{ echo "scarp-error: the kernel has no squashfs, loop or overlay"; exit 1; }'
    return [
        "mkdir -p /packages /overlay",
        f"mount -t squashfs -o loop,ro /scarp/{IMAGE} /packages || {failed}",
        "mount -t tmpfs tmpfs /overlay && mkdir /overlay/upper /overlay/work",
        "mount -t overlay -o lowerdir=/packages:/,upperdir=/overlay/upper,workdir=/overlay/work "
        f"overlay {ROOT} || {failed}",
        f"for name in {bound}; do mount -o rbind /$name {ROOT}/$name; done",
        f"mount -o bind / {ROOT}/base",
    ]
