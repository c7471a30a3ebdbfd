# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages of the user's choice: a compressed root of their own beside the initramfs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.private_apt import RELEASE, Apt
from scarplib.errors import UserError
from scarplib.guest import installed, script
from scarplib.guest.image import call, ensure_sysroot, loader

# What every root has: a C library, its cache of libraries, Debian's shells, and users' names.
# Not busybox-static, which starts its own applets whatever the PATH says.
_ALWAYS = ("libc6", "libc-bin", "busybox", "base-passwd", "dash", "bash")
TOOLS = ("squashfs-tools",)
# Modules that the root is mounted with, where they are not built in.
MODULES = ("loop", "squashfs", "overlay")
# In the guest: the image, and the root that is made from it.
IMAGE = "packages.squashfs"
ROOT = "/root"
_MERGED = ("bin", "sbin", "lib", "lib64")
# Links to all that busybox can do, for what no package brings: the last folder of the PATH.
APPLETS = "/usr/lib/scarp-applets"
_EMPTY = ("tmp", "var/tmp", "run", "run/lock", "proc", "sys", "dev", "mnt", "scarp", "results",
          "base", "root", "var/lib", "var/log", "etc")  # fmt: skip
_HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
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
    # The two exclude each other, and the user's choice counts.
    without = {"busybox"} if "busybox-static" in names else set()
    wanted = tuple(sorted({*names, *_ALWAYS} - without))
    try:
        return ensure_sysroot(wanted, "packages", whole=True)
    except UserError as error:
        unknown = re.search(r"(?:Unable to locate package|Package '?)\s*([a-z0-9+.-]+)", str(error))
        if unknown and ("locate" in str(error) or "candidate" in str(error)):
            raise UserError(
                f"--packages: Debian {RELEASE} has no package '{unknown[1]}'"
            ) from error
        raise


def _scripts(versions: Sequence[str]) -> dict[str, str]:
    """The packages' own, which are read and not run."""
    found = {}
    for version, package in Apt().fetch(list(versions)).items():
        # It fails if there is none.
        done = subprocess.run(
            ["dpkg-deb", "--info", package, "postinst"], capture_output=True, check=False
        )
        if done.returncode == 0:
            found[version.partition("=")[0]] = done.stdout.decode(errors="replace")
    return found


def _complete(root: Path, scripts: Mapping[str, str]) -> list[str]:
    """What the packages' scripts and the installer would have done, as far as programs need it.

    Owners and modes are for mksquashfs, as its lines.
    """
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (root / name).is_symlink() and not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    if not (root / "usr/bin/sh").is_symlink():
        (root / "usr/bin/sh").symlink_to("dash" if (root / "usr/bin/dash").exists() else "busybox")
    for name in _EMPTY:
        (root / name).mkdir(parents=True, exist_ok=True)
    for link, target in (("var/run", "/run"), ("var/lock", "/run/lock"),
                         ("etc/mtab", "../proc/self/mounts")):  # fmt: skip
        if not (root / link).is_symlink() and not (root / link).exists():
            (root / link).symlink_to(target)
    if not (root / "etc/hosts").exists():
        (root / "etc/hosts").write_text(_HOSTS)
    lines = installed.apply(root, installed.read(root, scripts))
    applets = root / APPLETS.lstrip("/")
    shutil.rmtree(applets, ignore_errors=True)
    applets.mkdir()
    for name in call([*loader(root), str(root / "usr/bin/busybox"), "--list"]).split():
        (applets / name).symlink_to("/usr/bin/busybox")
    # A static program: it runs on any x86-64 host.
    call([str(root / "usr/sbin/ldconfig"), "-r", str(root)])
    return [*lines, *(f"{name} m 1777 0 0" for name in ("tmp", "var/tmp", "run/lock"))]


def _compress(root: Path, image: Path, owners: Sequence[str]) -> None:
    tools, _ = ensure_sysroot(TOOLS, "squashfs")
    # lz4, as the guest's time is dear; no times and no owners: equal packages, equal bytes.
    command = [*loader(tools), str(tools / "usr/bin/mksquashfs"), str(root), str(image)]
    command += ["-noappend", "-no-progress", "-quiet", "-no-xattrs", "-all-root"]
    command += ["-mkfs-time", "0", "-all-time", "0", "-processors", "1"]
    with tempfile.NamedTemporaryFile("w", suffix=".owners") as listed:
        listed.write("".join(f"{line}\n" for line in owners))
        listed.flush()
        command += ["-pf", listed.name, "-pseudo-override"]
        command += ["-comp", "lz4", "-e", *_LEFT_OUT]
        with step("the packages' root"):
            call(command)


def ensure_packages(names: Sequence[str]) -> Packages:
    """Resolved and verified by apt, unpacked, and compressed; kept in the cache."""
    root, versions = _unpacked(names)
    recipe = Path(__file__).read_bytes() + Path(installed.__file__).read_bytes()
    key = hashlib.sha256(json.dumps(versions).encode() + recipe).hexdigest()[:20]
    image = cache_dir() / f"packages-{key}.squashfs"
    with locked("guest-packages"):
        if not image.is_file():
            owners = _complete(root, _scripts(versions))
            fresh = image.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            _compress(root, fresh, owners)
            fresh.rename(image)
    return Packages(root, image, tuple(versions))


def enter() -> str:
    """The guest's command before one that is to run in the root."""
    return f"busybox chroot {ROOT} "


def mount_lines() -> list[str]:
    """The guest's lines that make the root: the packages over the initramfs, and both writable.

    Servers find what they ask for: memory to share, a network of the guest alone.
    """
    bound = " ".join(("dev", "proc", "sys", "scarp", "results"))
    failed = '{ echo "scarp-error: the kernel has no squashfs, loop or overlay"; exit 1; }'
    return [
        "mkdir -p /packages /overlay",
        f"mount -t squashfs -o loop,ro /scarp/{IMAGE} /packages || {failed}",
        "mount -t tmpfs tmpfs /overlay && mkdir /overlay/upper /overlay/work",
        "mount -t overlay -o lowerdir=/packages:/,upperdir=/overlay/upper,workdir=/overlay/work "
        f"overlay {ROOT} || {failed}",
        "mkdir -p /dev/shm /dev/pts && mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
        "mount -t devpts -o mode=620,gid=5 devpts /dev/pts 2>/dev/null || :",
        "[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd",
        "busybox ip link set lo up 2>/dev/null || :",
        # Any user may leave what is to be kept.
        f"export HOME=/root && chmod 1777 {script.OUT}",
        f"for name in {bound}; do mount -o rbind /$name {ROOT}/$name; done",
        f"mount -o bind / {ROOT}/base",
    ]
