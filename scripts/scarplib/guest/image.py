# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's kernel and initramfs, from Debian trixie's packages whatever the host runs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.build import locks
from scarplib.build.cache import cache_dir, check_unchanged, locked, step, tree_hash
from scarplib.build.private_apt import Apt
from scarplib.device_logs import log_page
from scarplib.errors import UserError
from scarplib.guest import cpio
from scarplib.guest.cpio import Cpio
from scarplib.paths import ROOT

GUEST = ROOT / "guest"

_PACKAGES = (
    *("fio", "nvme-cli", "busybox-static", "e2fsprogs", "xfsprogs"),
    *("tcc", "libnvme-dev", "libc6-dev"),
)
_KERNEL = {"cloud": "linux-image-cloud-amd64", "full": "linux-image-amd64"}
_FILE_SYSTEM_PACKAGE = {"btrfs": "btrfs-progs", "f2fs": "f2fs-tools"}
# Programs that go into the initramfs, with every library that they load.
_BASE = ("usr/bin/fio", "usr/sbin/nvme")
_TOOLS = {
    "ext4": ("usr/sbin/mkfs.ext4", "usr/sbin/fsck.ext4"),
    "xfs": ("usr/sbin/mkfs.xfs", "usr/sbin/xfs_repair"),
    "btrfs": ("usr/sbin/mkfs.btrfs", "usr/bin/btrfs"),
    "f2fs": ("usr/sbin/mkfs.f2fs", "usr/sbin/fsck.f2fs"),
}
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
# What only a booted system needs: unpacking it would cost time and space.
_SKIPPED = re.compile(
    r"^(adduser|base-passwd|coreutils|cpio|debconf|dmsetup|dpkg|dracut.*|gcc.*-base|init-system.*|"
    r"initramfs.*|klibc.*|libklibc|kmod|linux-base|linux-image-(cloud-)?amd64|login.*|logsave|"
    r"media.*|mount|netbase|openssl.*|passwd|python.*|libpython.*|readline.*|systemd|"
    r"libsystemd-shared|tar|tzdata|udev|uuid.*|libpam.*|libc-dev-bin|"
    r"libcrypt-dev|rpcsvc.*|manpages.*)="
)


# What decides the archive, besides what goes into it.
_RECIPE = (Path(__file__), Path(cpio.__file__))


@dataclass(frozen=True)
class GuestImage:
    """What a guest boots; `versions`: of its kernel and its fio, for the manifest."""

    kernel: Path
    initramfs: Path
    versions: dict[str, str]


def loader(root: Path) -> list[str]:
    """trixie's own loader and libraries: its programs run on any x86-64 host."""
    # Ceph's libraries, which Debian's fio is linked with, find theirs by an absolute path.
    paths = f"{root / _LIBRARIES}:{root / _LIBRARIES / 'ceph'}"
    return [str(root / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", paths]


def call(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def _unpack(packages: dict[str, Path], root: Path) -> None:
    with step("the guest's packages: unpacking"):
        for path in packages.values():
            call(["dpkg-deb", "-x", str(path), str(root)])


def _libraries(root: Path, program: str) -> set[str]:
    text = call([*loader(root), "--list", str(root / program)])
    return set(re.findall(rf"=> {re.escape(str(root))}/(\S+)", text))


def fio_on_host() -> list[str]:
    """The guest's fio as this host runs it."""
    with locked("guest"):
        root, _ = _sysroot(*_of_guest(()))
    return [*loader(root), str(root / "usr/bin/fio")]


def _compile(root: Path, source: Path, target: Path) -> None:
    """With trixie's tcc, so that the bytes do not depend on the host's compiler."""
    compiler = [*loader(root), str(root / "usr/bin/tcc"), "-B", str(root / _LIBRARIES / "tcc")]
    call([*compiler, "-nostdlib", "-static", "-o", str(target), str(source)])


def _log_page_names() -> str:
    """What the guest's tools include: the log page's fields as C strings."""
    return "".join(f'"{name}",\n' for name in log_page.fields())


def _compile_tool(root: Path, source: Path, folder: Path) -> bytes:
    """A program on trixie's C library and libnvme."""
    (folder / "scarp-stats-names.h").write_text(_log_page_names())
    target = folder / source.stem
    libraries = root / _LIBRARIES
    compiler = [*loader(root), str(root / "usr/bin/tcc"), "-B", str(libraries / "tcc")]
    paths = ["-nostdinc", f"-I{libraries / 'tcc' / 'include'}", f"-I{root / 'usr/include'}"]
    paths += [f"-I{root / 'usr/include/x86_64-linux-gnu'}", f"-I{folder}", f"-L{libraries}"]
    start = [str(libraries / name) for name in ("crt1.o", "crti.o")]
    # A linker script names libc.so's parts by absolute paths: name the library itself.
    end = [str(libraries / name) for name in ("libnvme.so", "libc.so.6", "crtn.o")]
    call([*compiler, "-nostdlib", *paths, "-o", str(target), *start, str(source), *end])
    return target.read_bytes()


def modules_below(folder: Path, wanted: str) -> list[tuple[str, bytes]]:
    """A module and what it depends on, in insmod's order; none where the folder has none."""
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("**/*.ko*")):
        found[path.name.split(".ko")[0].replace("-", "_")] = path
    ordered: list[Path] = []

    def visit(name: str) -> None:
        name = name.replace("-", "_").removeprefix("crypto_")
        # A soft dependency is on an algorithm; the plain C version of it runs on every CPU.
        path = found.get(name) or found.get(f"{name}_generic")
        if path is None or path in ordered:
            return
        raw = _module_bytes(path)
        for field in re.findall(rb"(?:^|\0)depends=([^\0]*)\0", raw):
            for dependency in filter(None, field.decode().split(",")):
                visit(dependency)
        for field in re.findall(rb"(?:^|\0)softdep=pre: ([^\0]*)\0", raw):
            for dependency in field.decode().split():
                visit(dependency)
        ordered.append(path)

    visit(wanted)
    return [(path.name.split(".ko")[0], _module_bytes(path)) for path in ordered]


def _modules(root: Path, wanted: str) -> list[tuple[str, bytes]]:
    """Of the kernel's package."""
    return modules_below(root / "usr/lib/modules", wanted)


def _module_bytes(path: Path) -> bytes:
    if path.suffix == ".xz":
        import lzma

        return lzma.decompress(path.read_bytes())
    if path.suffix == ".gz":
        import gzip

        return gzip.decompress(path.read_bytes())
    if path.suffix != ".ko":
        raise UserError(f"{path}: a module is .ko, .ko.xz or .ko.gz: decompress it")
    return path.read_bytes()


def _initramfs(
    root: Path, folder: Path, file_systems: list[str], modules: bool, later: list[str]
) -> bytes:
    """`later`: file systems whose modules the kernel loads when one is mounted."""
    archive = Cpio()
    for name in ("dev", "proc", "sys", "tmp", "results", "mnt", "scarp", "run"):
        archive.folder(name)
    archive.node("dev/console", 5, 1)
    archive.file("bin/busybox", (root / "usr/bin/busybox").read_bytes(), 0o755)
    for name in ("sh", "mount", "mkdir", "ls", "cat"):
        archive.link(f"bin/{name}", "busybox")
    programs = [*_BASE, *(tool for fs in file_systems for tool in _TOOLS[fs])]
    libraries: set[str] = set()
    for program in programs:
        libraries |= _libraries(root, program)
        archive.file(program, (root / program).read_bytes(), 0o755)
    libraries.add("usr/lib64/ld-linux-x86-64.so.2")
    for name in sorted(libraries):
        # The loader looks in both places; one file each, by its soname.
        archive.file(
            name.replace("usr/lib64", "lib64"), (root / name).resolve().read_bytes(), 0o755
        )
    archive.link("lib", "usr/lib")
    for fs in file_systems if modules else ():
        for number, (name, data) in enumerate(_modules(root, fs)):
            place = "modules/later" if fs in later else "modules"
            archive.file(f"{place}/fs-{fs}/{number:02d}-{name}.ko", data)
    if later:
        archive.file("sbin/modprobe", (GUEST / "modprobe").read_bytes(), 0o755)
    # Built into the cloud kernel, a module in the full one.
    for number, (name, data) in enumerate(_modules(root, "nvme") if modules else ()):
        archive.file(f"modules/early/{number:02d}-{name}.ko", data)
    archive.file("bin/ship", (folder / "ship").read_bytes(), 0o755)
    for source in sorted((GUEST / "tools").glob("*.c")):
        archive.file(f"bin/{source.stem}", _compile_tool(root, source, folder), 0o755)
    archive.file("init", (GUEST / "init").read_bytes(), 0o755)
    return archive.data()


def _sysroot(packages: list[str], kind: str, whole: bool = False) -> tuple[Path, list[str]]:
    """These packages and what they depend on, unpacked; name=version of each.

    `whole`: also what only a booted system needs.
    """
    apt = Apt()
    lock = locks.debian().closure(packages)
    versions = used(lock or [], whole)
    root = _folder(versions)
    if not lock or not root.is_dir():
        versions = used(_chosen(apt, packages, kind, lock), whole)
        root = _folder(versions)
    if not root.is_dir():
        fresh = root.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        _unpack(apt.fetch(versions), fresh)
        fresh.rename(root)
    return root, versions


def _folder(versions: list[str]) -> Path:
    unpacked = hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:20]
    return cache_dir() / f"sysroot-{unpacked}"


def used(packages: list[str], whole: bool = False) -> list[str]:
    """Of a closure, what a guest needs."""
    return [x for x in packages if whole or not _SKIPPED.match(x)]


def _chosen(apt: Apt, packages: list[str], kind: str, lock: list[str] | None) -> list[str]:
    """What apt resolves now is kept: a point release must not change results under one's feet."""
    asked = hashlib.sha256(json.dumps([packages, lock]).encode()).hexdigest()[:8]
    chosen = cache_dir() / f"guest-packages-{kind}-{asked}.json"
    if chosen.is_file() and (not lock or locks.unlocked()):
        return list(json.loads(chosen.read_text()))
    versions = apt.closure(packages)
    if versions != lock:
        fresh = chosen.with_suffix(".new")
        fresh.write_text(json.dumps(versions))
        fresh.rename(chosen)
    return versions


def ensure_sysroot(
    packages: tuple[str, ...], kind: str, whole: bool = False
) -> tuple[Path, list[str]]:
    """As a folder of the cache: packages of trixie's that the guest itself does without."""
    with locked("guest"):
        return _sysroot(list(packages), kind, whole)


def locked_sets() -> list[list[str]]:
    """What every kind of guest is made of, for `make update-locks`."""
    combinations = ((), ("btrfs",), ("f2fs",), ("btrfs", "f2fs"))
    return [_of_guest(file_systems)[0] for file_systems in combinations]


def _of_guest(file_systems: Sequence[str]) -> tuple[list[str], str]:
    """The packages that a guest with these file systems is made of, and its kind of kernel."""
    # f2fs is in Debian's full kernel only.
    kind = "full" if "f2fs" in file_systems else "cloud"
    packages = [*_PACKAGES, _KERNEL[kind]]
    packages += [_FILE_SYSTEM_PACKAGE[fs] for fs in file_systems if fs in _FILE_SYSTEM_PACKAGE]
    return packages, kind


def ensure_modules(wanted: str, file_systems: Sequence[str] = ()) -> dict[str, Path]:
    """A module of the guest's kernel and what it needs, for GuestRun.files, in insmod's order."""
    with locked("guest"):
        root, versions = _sysroot(*_of_guest(file_systems))
        key = hashlib.sha256(json.dumps([versions, wanted]).encode()).hexdigest()[:20]
        folder = cache_dir() / f"modules-{key}"
        if not folder.is_dir():
            fresh = folder.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            for number, (name, data) in enumerate(_modules(root, wanted)):
                (fresh / f"{number:02d}-{name}.ko").write_bytes(data)
            fresh.rename(folder)
    found = sorted(folder.iterdir())
    if not found:
        raise UserError(f"the guest's kernel has no module {wanted}")
    return {f"modules/{wanted}/{path.name}": path for path in found}


def kernel_config(file_systems: Sequence[str] = ()) -> Path:
    """What the guest's kernel was configured with, as its package has it below /boot."""
    with locked("guest"):
        root, _ = _sysroot(*_of_guest(file_systems))
    return next((root / "boot").glob("config-*"))


def ensure_image(
    file_systems: Sequence[str] = (), tests: bool = False, modules: bool = True
) -> GuestImage:
    """Kernel and initramfs; with tests or file systems also their tools and modules.

    Without `modules`: for another kernel than this one.
    """
    wanted = ["ext4", "xfs"] if tests else []
    later = [fs for fs in wanted if fs not in file_systems]
    wanted += [fs for fs in file_systems if fs not in wanted]
    with locked("guest"):
        root, versions = _sysroot(*_of_guest(wanted))

        def key() -> str:
            sources = [GUEST / "ship.c", *sorted((GUEST / "tools").glob("*.c")), GUEST / "init"]
            sources += [GUEST / "modprobe"] if later else []
            made_of = [json.dumps(versions), "|".join(wanted), tree_hash([*sources, *_RECIPE])]
            made_of += ["later", *later]
            made_of += [] if modules else ["without modules"]
            made_of.append(_log_page_names())
            return f"guest-{hashlib.sha256(''.join(made_of).encode()).hexdigest()[:20]}"

        folder = cache_dir() / key()
        if not (folder / "manifest.json").is_file():
            folder.mkdir(exist_ok=True)
            _compile(root, GUEST / "ship.c", folder / "ship")
            (folder / "initramfs").write_bytes(_initramfs(root, folder, wanted, modules, later))
            kernels = sorted((root / "boot").glob("vmlinuz-*"))
            if len(kernels) != 1:
                raise UserError(f"{len(kernels)} kernels in the guest's packages, one expected")
            shutil.copyfile(kernels[0], folder / "kernel")
            named = dict(x.split("=") for x in versions)
            kernel_package = next(x for x in named if x.startswith("linux-image-6"))
            # Its name appears with all of it: what is there is taken for a whole image.
            fresh = folder / "manifest.new"
            fresh.write_text(
                json.dumps(
                    {
                        "kernel_package": f"{kernel_package} {named[kernel_package]}",
                        "fio_version": named["fio"],
                        "fio": hashlib.sha256((root / "usr/bin/fio").read_bytes()).hexdigest(),
                    }
                )
            )
            check_unchanged("the guest's image", folder.name, key())
            fresh.rename(folder / "manifest.json")
    return GuestImage(
        folder / "kernel", folder / "initramfs", json.loads((folder / "manifest.json").read_text())
    )
