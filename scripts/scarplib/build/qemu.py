# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU 10.0.x: fetched and verified, patched, our device built in, cached by what it is made of."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from scarplib.build import locks
from scarplib.build.cache import cache_dir, locked, step, tree_hash, unpack_tar
from scarplib.build.engine_sources import engine_sources
from scarplib.build.host_packages import ensure_packages
from scarplib.build.private_apt import Apt
from scarplib.build.venv import QEMU_WHEELS, download
from scarplib.errors import UserError
from scarplib.paths import ROOT

PATCHES = ROOT / "qemu-patches"
# Changes here rebuild everything, as a patch does.
CONFIGURE = (
    "--python=/usr/bin/python3",
    "--disable-download",
    "--target-list=x86_64-softmmu",
    "--without-default-features",
    "--enable-system",
    "--enable-tcg",
    "--enable-kvm",
    "--enable-linux-aio",
    "--enable-linux-io-uring",
    "--enable-attr",
    "--enable-tools",
    "--disable-docs",
    "--disable-install-blobs",
)
VARIANTS: dict[str, list[str]] = {
    "": [],
    "broken-mapping": [],
    "asan": ["--enable-asan", "--enable-ubsan"],
    # GCC's thread sanitizer does not know the fortified longjmp: its copy of the vCPU thread's
    # stack would grow with each of TCG's jumps, past its end.
    "tsan": ["--enable-tsan", "--extra-cflags=-D_FORTIFY_SOURCE=0"],
    # QEMU's own fuzzer; what it reaches is counted.  Nothing is executed but the devices.
    "fuzz": [
        "--cc=clang",
        "--cxx=clang++",
        "--disable-tcg",
        "--disable-tools",
        "--disable-werror",
        "--enable-fuzzing",
        "--enable-asan",
        "--extra-cflags=-fprofile-instr-generate -fcoverage-mapping",
        "--extra-ldflags=-fprofile-instr-generate",
    ],
}
# Those that differ from the plain one in few files: the switch that these ask for.
_SWITCHES = {"broken-mapping": "SCARP_FAULT_MAPPING"}
# What of each is built; else the emulator.
_PROGRAMS = {"fuzz": "qemu-fuzz-x86_64"}
FIRMWARE_PACKAGES = ("seabios", "qemu-system-data", "ipxe-qemu")
FIRMWARE = (
    "bios-256k.bin",
    "kvmvapic.bin",
    "linuxboot_dma.bin",
    "linuxboot.bin",
    "multiboot_dma.bin",
    "vgabios-stdvga.bin",
    "efi-e1000.rom",
)


@dataclass(frozen=True)
class QemuBuild:
    """A QEMU with the device in it; the hashes say what it was made of."""

    binary: Path
    firmware_dir: Path
    version: str
    series_hash: str
    engine_hash: str
    build_dir: Path


def _run(command: list[str], cwd: Path, log: Path) -> None:
    with log.open("ab") as stream:
        done = subprocess.run(command, cwd=cwd, stdout=stream, stderr=stream, check=False)
    if done.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise UserError(f"'{Path(command[0]).name}' failed; {log} ends with:\n{tail}")


def series() -> list[Path]:
    """The patches, in the order of the file that lists them."""
    names = (PATCHES / "series").read_text().split()
    listed = [PATCHES / name for name in names]
    if set(listed) != set(PATCHES.glob("*.patch")):
        raise UserError(f"{PATCHES / 'series'} does not list exactly the patches beside it")
    return listed


def _tarball() -> Path:
    """Named by the user, or Debian trixie's, which apt has verified."""
    if named := os.environ.get("SCARP_QEMU_TARBALL"):
        path = Path(named)
        if not path.is_file():
            raise UserError(f"SCARP_QEMU_TARBALL: {path}: no such file")
        return path
    folder = cache_dir() / "qemu-tarball"
    folder.mkdir(exist_ok=True)
    (wanted,) = locks.debian().sources["qemu"].files
    others = "qemu_10.0.*.orig.tar.*"
    if not (folder / wanted).is_file() and not (locks.unlocked() and any(folder.glob(others))):
        Apt().source("qemu", folder)
    if (folder / wanted).is_file():
        return folder / wanted
    found = sorted(folder.glob(others))
    if not found:
        raise UserError("Debian's QEMU source is no 10.0.x; name one in SCARP_QEMU_TARBALL")
    return found[-1]


def _verify(tarball: Path) -> None:
    """One in the cache may have been there since before the lock was made, or be broken."""
    files = locks.debian().sources["qemu"].files
    if tarball.parent == cache_dir() / "qemu-tarball" and tarball.name in files:
        locks.check(tarball, tarball.name, files[tarball.name])


def _version(source: Path) -> str:
    version = (source / "VERSION").read_text().strip()
    if not version.startswith("10.0."):
        raise UserError(f"QEMU {version}: the patches are for 10.0.x")
    return version


def ensure_source() -> Path:
    """The patched tree, made once for each tarball and series."""
    tarball, patched = _tarball(), tree_hash(series())
    identity = f"{tarball.name} {tarball.stat().st_size} {patched} {QEMU_WHEELS}"
    folder = cache_dir() / f"qemu-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    source = folder / "src"
    if source.is_dir():
        return source
    with locked("qemu-source"):
        if source.is_dir():
            return source
        ensure_packages()
        fresh = folder / "src.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        _verify(tarball)
        log = folder / "setup.log"
        with step(f"unpacking {tarball.name}"):
            unpack_tar(tarball, fresh)
        inner = [path for path in fresh.iterdir() if path.is_dir()]
        if len(inner) != 1:
            raise UserError(f"{tarball}: not QEMU's source")
        tree = inner[0]
        _version(tree)
        with step(f"QEMU: {len(series())} patches"):
            for patch in series():
                _run(["patch", "-p1", "--forward", "--batch", "-i", str(patch)], tree, log)
        if tree_hash(series()) != patched:
            raise UserError(
                f"{PATCHES.name}: a patch has changed since this began; the same command takes "
                "what is there now"
            )
        blobs = tree / "pc-bios" / "meson.build"
        # No guest of ours boots through EDK II, and Debian's tarball lacks it.
        blobs.write_text(blobs.read_text().replace("if unpack_edk2_blobs", "if false"))
        download(QEMU_WHEELS, tree / "python" / "wheels")
        tree.rename(source)
        shutil.rmtree(fresh, ignore_errors=True)
    return source


def device_sources() -> list[tuple[Path, Path]]:
    """(file of the checkout, its place under hw/nvme/scarp) of all that makes the device."""
    hw = ROOT / "hw"
    files = [*hw.glob("*.[ch]"), hw / "meson.build", *hw.glob("*.py")]
    files += engine_sources(ROOT / "ftl")
    return [(path, path.relative_to(ROOT)) for path in sorted(files)]


def engine_hash() -> str:
    """Of all that makes the device."""
    return tree_hash(path for path, _ in device_sources())


def synchronise(source: Path) -> str:
    """Copy only what differs, so that ninja rebuilds only that; the engine_hash() of the copies."""
    target = source / "hw" / "nvme" / "scarp"
    wanted = {target / relative: path for path, relative in device_sources()}
    present = {path for path in target.rglob("*") if path.is_file() and path.suffix in (".c", ".h")}
    gone = present - wanted.keys()
    if gone or any(not place.is_file() for place in wanted):
        # Meson lists the files when it configures.  First, so that no interruption loses it.
        listing = target / "hw" / "meson.build"
        listing.parent.mkdir(parents=True, exist_ok=True)
        listing.touch()
    for path in gone:
        path.unlink()
    for place, path in wanted.items():
        data = path.read_bytes()
        if not place.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
        elif place.read_bytes() == data:
            continue
        place.write_bytes(data)
    return tree_hash(wanted)


def ensure_firmware() -> Path:
    """SeaBIOS and the boot ROMs of trixie: the guest's boot code is part of the result."""
    lock = _firmware_packages(locks.debian().closure(FIRMWARE_PACKAGES) or [])
    folder = cache_dir() / f"firmware-{hashlib.sha256(repr(lock).encode()).hexdigest()[:8]}"
    today = cache_dir() / "firmware-unlocked"
    usable = [folder, today] if locks.unlocked() else [folder]
    with locked("firmware"):
        for each in usable:
            # An older Scarp's folder may lack files that this one needs.
            if all((each / name).is_file() for name in FIRMWARE):
                return each
        names = _firmware_packages(Apt().closure(FIRMWARE_PACKAGES))
        folder = folder if names == lock else today
        _fetch_firmware(folder, names)
    return folder


def _firmware_packages(closure: list[str]) -> list[str]:
    return [x for x in closure if x.split("=")[0] in FIRMWARE_PACKAGES]


def _fetch_firmware(folder: Path, names: list[str]) -> None:
    unpacked = cache_dir() / "firmware.new"
    shutil.rmtree(unpacked, ignore_errors=True)
    for path in Apt().fetch(names).values():
        subprocess.run(["dpkg-deb", "-x", str(path), str(unpacked)], check=True)
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    for name in FIRMWARE:
        found = [path for path in unpacked.rglob(name) if path.is_file()]
        if not found:
            raise UserError(f"firmware: none of {', '.join(names)} has {name}")
        shutil.copyfile(found[0], fresh / name)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    shutil.rmtree(unpacked)


def _configured(build: Path, flags: list[str]) -> bool:
    """Whether it was, with these flags: its own script for doing it again ends with them."""
    try:
        last = (build / "config.status").read_text().splitlines()[-1]
    except (OSError, IndexError):
        return False
    return (build / "build.ninja").is_file() and shlex.split(last)[2:-1] == [*CONFIGURE, *flags]


def _configure(source: Path, build: Path, flags: list[str]) -> None:
    if _configured(build, flags):
        return
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    with step("QEMU: configure"):
        _run([str(source / "configure"), *CONFIGURE, *flags], build, build / "scarp.log")


def _ninja(build: Path, *targets: str) -> None:
    """Compile with ninja's own progress on the terminal's last line."""
    log = build / "scarp.log"
    log.write_bytes(b"")
    process = subprocess.Popen(
        ["ninja", *targets], cwd=build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout
    shown = -1
    with log.open("w") as stream:
        for line in process.stdout:
            stream.write(line)
            if match := re.match(r"\[(\d+)/(\d+)\]", line):
                tenth = int(match.group(1)) * 10 // int(match.group(2))
                if tenth != shown and int(match.group(2)) > 50:
                    shown = tenth
                    print(
                        f"  QEMU: {match.group(1)} of {match.group(2)} steps",
                        file=sys.stderr,
                        flush=True,
                    )
    if process.wait():
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise UserError(f"QEMU does not build; {log} ends with:\n{tail}")


def _switched(build: Path, program: str, switch: str) -> Path:
    """The program of a folder that is built, but with a switch for the files that ask for it."""
    listing = subprocess.run(
        ["ninja", "-t", "compdb", "-x"], cwd=build, capture_output=True, text=True, check=True
    ).stdout
    steps = {step["output"]: shlex.split(step["command"]) for step in json.loads(listing)}
    ours = [
        path for path, _ in device_sources() if path.suffix == ".c" and switch in path.read_text()
    ]
    folder = build / "switched"
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    made = {program: str(folder / program)}
    for path in ours:
        source = f"../src/hw/nvme/scarp/{path.relative_to(ROOT)}"
        (output,) = [x for x, command in steps.items() if source in command and "-c" in command]
        made[output] = str(folder / f"{path.stem}.o")
        command = [word.replace(output, made[output]) for word in steps[output]]
        _run([command[0], f"-D{switch}", *command[1:]], build, log)
    # In place of the library that they are in, what it is made of.
    libraries = {output.partition(".p/")[0] for output in made if output != program}
    link = []
    for word in steps[program]:
        parts = [x for x in steps if x.startswith(f"{word}.p/")] if word in libraries else [word]
        link += [made.get(part, part) for part in parts]
    if not ours or not set(made.values()) <= set(link):
        raise UserError(f"QEMU: no file of the device that is linked asks for {switch}")
    _run(link, build, log)
    return folder / program


def compile_targets(build: Path, *targets: str) -> None:
    """More of QEMU's own targets, in the build folder of a `QemuBuild`."""
    source = build.parent / "src"
    with locked(source.parent.name):
        synchronise(source)
        _ninja(build, *targets)


def ensure_configured() -> tuple[Path, Path]:
    """Source and build folder with how each file is compiled; nothing is compiled."""
    ensure_packages()
    source = ensure_source()
    build = source.parent / "build"
    with locked(source.parent.name):
        synchronise(source)
        _configure(source, build, VARIANTS[""])
        _ninja(build, "build.ninja")
    return source, build


def ensure_qemu(variant: str = "") -> QemuBuild:
    """The patched QEMU with this checkout's device, from the cache or built into it."""
    if variant not in VARIANTS:
        raise UserError(
            f"variant: '{variant}' unknown; allowed: {', '.join(filter(None, VARIANTS))}"
        )
    source = ensure_source()
    version, series_hash = _version(source), tree_hash(series())
    engine = engine_hash()
    everything = f"{source} {series_hash} {engine} {variant} {(*CONFIGURE, *VARIANTS[variant])}"
    switch = _SWITCHES.get(variant, "")
    everything += switch
    key = hashlib.sha256(everything.encode()).hexdigest()[:20]
    program = _PROGRAMS.get(variant, "qemu-system-x86_64")
    binary = cache_dir() / "binaries" / key / program
    build = source.parent / f"build{'-' + variant if variant and not switch else ''}"
    firmware = ensure_firmware()
    # One that was built elsewhere runs without what builds it: container/Containerfile.
    if not binary.is_file():
        ensure_packages()
        with locked(source.parent.name):
            # The packages and the lock can take minutes.
            if synchronise(source) != engine:
                raise UserError(
                    "QEMU: a source of the device has changed since this began; the same command "
                    "builds what is there now"
                )
            _configure(source, build, VARIANTS[variant])
            with step(
                f"QEMU {version} with the flash device{' (' + variant + ')' if variant else ''}"
            ):
                _ninja(build, program)
                built = _switched(build, program, switch) if switch else build / program
            binary.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(built, binary.with_suffix(".new"))
            binary.with_suffix(".new").chmod(0o755)
            binary.with_suffix(".new").rename(binary)
    return QemuBuild(binary, firmware, version, series_hash, engine, build)
