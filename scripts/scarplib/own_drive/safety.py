# SPDX-License-Identifier: GPL-2.0-or-later
"""What a probe may not be done to: whatever somebody could miss afterwards."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import re
import shutil
import stat
import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from scarplib.build.requests import ensure_requests
from scarplib.errors import UserError

# What scarp-requests says of a file.
FOREIGN = 4
# The smallest request of the plan.
SECTOR = "512"
# Linux's <linux/loop.h>: LOOP_GET_STATUS64, and how many bytes a struct loop_info64 has.
LOOP_STATUS, LOOP_INFO = 0x4C05, 232


@dataclass(frozen=True)
class Machine:
    """Where the kernel says what is what; tests have a folder in its place."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    dev: Path = Path("/dev")


@dataclass(frozen=True)
class Target:
    """A block device, or a file in place of one."""

    path: Path
    name: str
    bytes: int
    serial: str
    # The folder of the kernel's that is about it; None: a file.
    folder: Path | None
    # Degrees now, if the device says it.
    temperature: float | None = None
    # What --destroy may say, and which file says it; what tells this device from all others.
    names: Mapping[str, Path] = field(default_factory=dict)
    identity: Mapping[str, str] = field(default_factory=dict)
    # Open from before the checks until the last request: whoever closes it lets others in.
    fd: int = -1


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _numbers(folder: Path) -> list[str]:
    """MAJOR:MINOR of a device and of its partitions."""
    parts = [one.parent for one in folder.glob("*/partition")]
    return [_text(one / "dev") for one in (folder, *parts)]


def _number(path: Path) -> str:
    """MAJOR:MINOR of a device's node; of anything else nothing."""
    try:
        seen = path.stat()
    except OSError:
        return ""
    return numbers_of(seen.st_rdev) if stat.S_ISBLK(seen.st_mode) else ""


def numbers_of(device: int) -> str:
    """As the kernel's folders have them."""
    return f"{os.major(device)}:{os.minor(device)}"


def _swaps(machine: Machine) -> list[Path]:
    """Devices and files; blanks are octal there."""
    lines = _text(machine.proc / "swaps").splitlines()[1:]
    names = (line.split()[0] for line in lines if line.split())
    return [Path(re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), one)) for one in names]


def _signatures(path: Path) -> list[str]:
    """What wipefs (util-linux) would wipe: file systems, RAID, LVM, encryption, partitions."""
    program = shutil.which("wipefs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not program:
        raise UserError("wipefs is missing, which looks for signatures: install util-linux")
    done = subprocess.run(
        [program, "--no-act", "--parsable", "--output", "TYPE", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(f"wipefs: {done.stderr.strip()}")
    return [line for line in done.stdout.splitlines() if line and not line.startswith("#")]


def _foreign(fd: int) -> bool:
    """Whether a file has anything in it that no probe wrote."""
    done = subprocess.run(
        [str(ensure_requests()), str(fd), "foreign"],
        pass_fds=(fd,),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, FOREIGN):
        raise UserError(done.stderr.strip())
    return done.returncode == FOREIGN


@dataclass(frozen=True)
class _Backing:
    """What a loop device is on: which file or node, and of a device's node MAJOR:MINOR."""

    file: str
    number: str


def _loops(machine: Machine) -> list[Path]:
    """The folders of those that are on something."""
    return sorted(one.parent for one in (machine.sys / "block").glob("*/loop"))


def _backing(loop: Path, machine: Machine) -> _Backing | None:
    """As the loop device says it; by the path in its folder if that is all there is.

    A path may be of another root, or of a file that is gone: it says less.
    """
    node = machine.dev / loop.name
    with contextlib.suppress(OSError):
        fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if numbers_of(os.fstat(fd).st_rdev) == _text(loop / "dev"):
                info = fcntl.ioctl(fd, LOOP_STATUS, bytes(LOOP_INFO))
                device, inode, number = struct.unpack_from("=QQQ", info)
                return _Backing(f"{device}:{inode}", numbers_of(number) if number else "")
        finally:
            os.close(fd)
    path = Path(_text(loop / "loop" / "backing_file"))
    try:
        return _Backing(_file_identity(path.stat()), _number(path))
    except OSError:
        return None


def _check_loops(path: Path, folder: Path, machine: Machine) -> None:
    """The kernel lets a loop device open a drive as anybody may, and lists no holder."""
    numbers = _numbers(folder)
    own = _backing(folder, machine) if (folder / "loop" / "backing_file").exists() else None
    if own and own.number:
        backing = _text(folder / "loop" / "backing_file")
        raise UserError(f"{path}: is a loop device on {backing}; a probe is of that")
    for loop in _loops(machine):
        if loop.name == folder.name:
            continue
        on = _backing(loop, machine)
        if not on:
            backing = _text(loop / "loop" / "backing_file")
            raise UserError(
                f"{path}: cannot be told from what {loop.name} is on, '{backing}', which is not to "
                "be seen here; losetup --detach it first"
            )
        if (on.number and on.number in numbers) or (own and on.file == own.file):
            raise UserError(f"{path}: is in use by {loop.name}")


def _same(path: Path, seen: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), seen)
    except OSError:
        return False


def _lock(path: Path, fd: int, how: int) -> None:
    """Others agree to keep off what is locked."""
    try:
        # QEMU's locks are of bytes of the open file; others have flock's.
        fcntl.flock(fd, how | fcntl.LOCK_NB)
        whole = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, whole)
    except OSError as error:
        raise UserError(f"{path}: is in use: another program has locked it") from error


def _check_file(path: Path, fd: int, machine: Machine) -> None:
    """Nobody has it open, or gets at it."""
    seen = os.fstat(fd)
    for loop in _loops(machine):
        # One that cannot be seen has it open, which is asked below.
        if (on := _backing(loop, machine)) and on.file == _file_identity(seen):
            raise UserError(f"{path}: is in use by {loop.name}")
    for swap in _swaps(machine):
        if _same(swap, seen):
            raise UserError(f"{path}: is swap space")
    _lock(path, fd, fcntl.LOCK_EX)
    try:
        # Given only if nobody else has it open; not kept, as it would make others wait.
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        # File systems that know no leases say something else.
        if error.errno == errno.EAGAIN:
            raise UserError(f"{path}: is in use: another program has it open") from error


def _check_folder(path: Path, folder: Path, machine: Machine) -> None:
    if (folder / "partition").exists():
        raise UserError(f"{path}: is a partition; a probe is of a whole device")
    if parts := sorted(one.parent.name for one in folder.glob("*/partition")):
        raise UserError(f"{path}: has partitions: {', '.join(parts)}")
    if holders := sorted(one.name for one in (folder / "holders").glob("*")):
        raise UserError(f"{path}: is in use by {', '.join(holders)}")
    if _text(folder / "ro") == "1":
        raise UserError(f"{path}: is read-only")
    if (size := _text(folder / "queue" / "logical_block_size") or SECTOR) != SECTOR:
        raise UserError(
            f"{path}: has blocks of {size} bytes; the plan has requests of {SECTOR}, so it needs "
            f"a format of {SECTOR} (nvme format --lbaf, where the drive has one)"
        )
    if (zoned := _text(folder / "queue" / "zoned") or "none") != "none":
        raise UserError(f"{path}: is zoned ({zoned}); the plan writes anywhere")
    numbers = _numbers(folder)
    for line in _text(machine.proc / "self" / "mountinfo").splitlines():
        fields = line.split()
        if len(fields) > 4 and fields[2] in numbers:
            raise UserError(f"{path}: is mounted at {fields[4]}")
    for swap in _swaps(machine):
        if _number(swap) in numbers or swap.name == folder.name:
            raise UserError(f"{path}: is swap space")
    _check_loops(path, folder, machine)


# Where a device says who it is.  vpd_pg80 is what lsblk shows as the serial number of SATA and SAS
# disks; their wwid names them as well, and an NVMe drive's wwid each of its namespaces.
_SERIALS = ("device/serial", "serial", "device/vpd_pg80")
_NAMES = ("wwid", "device/wwid")


def _says(file: Path) -> str:
    if file.name != "vpd_pg80":
        return _text(file)
    try:
        # Four bytes of header: SPC's unit serial number page.
        return file.read_bytes()[4:].decode("ascii", "replace").strip(" \0\n")
    except OSError:
        return ""


def _called(folder: Path) -> dict[str, Path]:
    """What --destroy may say of a device, the usual first, and the kernel's file that has it.

    A loop device has no name of its own: its file's, or that with its folder.
    """
    found: dict[str, Path] = {}
    for group in (_SERIALS, _NAMES):
        for file in (folder / name for name in group):
            if value := _says(file):
                found.setdefault(value, file)
                break
    file = folder / "loop" / "backing_file"
    if not found and (backing := _text(file)):
        found = {Path(backing).name: file, backing: file}
    return found


def _own_names(folder: Path, machine: Machine) -> dict[str, Path]:
    """Of those the ones that no other device here has: namespaces share their drive's serial."""
    found = _called(folder)
    for other in (machine.sys / "class" / "block").glob("*"):
        if other.resolve() == folder.resolve() or (other / "partition").exists():
            continue
        # A path to a drive of several is no device of its own.
        if _text(other / "hidden") != "1":
            found = {name: file for name, file in found.items() if name not in _called(other)}
    return found


def _identity(folder: Path) -> dict[str, str]:
    """What must be the same when a probe goes on; the kernel's name only where nothing else is."""
    found = {file.name: name for name, file in _called(folder).items()}
    for name in ("nguid", "eui", "uuid", "nsid"):
        if value := _text(folder / name):
            found[name] = value
    if backing := found.pop("backing_file", None):
        try:
            return {"file": _file_identity(Path(backing).stat())}
        except OSError:
            pass
    if not found.keys() - {"serial", "nsid"}:
        found["name"] = folder.name
    return found


def _file_identity(seen: os.stat_result) -> str:
    return f"{seen.st_dev}:{seen.st_ino}"


def _temperature(folder: Path) -> float | None:
    for one in sorted((folder / "device").glob("**/temp1_input"))[:1]:
        value = _text(one)
        return int(value) / 1000 if value.lstrip("-").isdigit() else None
    return None


def target(
    path: Path,
    destroy: str | None,
    machine: Machine | None = None,
    signatures: Callable[[Path], list[str]] = _signatures,
    foreign: Callable[[int], bool] = _foreign,
) -> Target:
    """What may be written to, open, and nobody else's; UserError says what is in the way."""
    machine = machine or Machine()
    fd = _open(path, machine)
    try:
        return _checked(path, fd, destroy, machine, signatures, foreign)
    except BaseException:
        os.close(fd)
        raise


def _open(path: Path, machine: Machine) -> int:
    """The one time that it is opened by its name."""
    try:
        seen = path.stat()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    block = stat.S_ISBLK(seen.st_mode)
    if not block and not stat.S_ISREG(seen.st_mode):
        raise UserError(f"{path}: is neither a description (….ini), a block device nor a file")
    # Should it be another by now: no pipe makes us wait, no terminal becomes ours.
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | (os.O_EXCL if block else 0)
    try:
        return os.open(path, flags)
    except OSError as error:
        if block:
            # What the kernel has against it, in words, if it says so.
            _check_folder(path, _folder(path, seen.st_rdev, machine), machine)
        why = "is in use" if error.errno == errno.EBUSY else error.strerror
        raise UserError(f"{path}: {why}") from error


def _checked(
    path: Path,
    fd: int,
    destroy: str | None,
    machine: Machine,
    signatures: Callable[[Path], list[str]],
    foreign: Callable[[int], bool],
) -> Target:
    """Of what is open: its name may be another's since."""
    seen = os.fstat(fd)
    if stat.S_ISREG(seen.st_mode):
        _check_file(path, fd, machine)
        names, identity = {path.name: path}, {"file": _file_identity(seen)}
        found = Target(
            path, path.name, seen.st_size, path.name, None, names=names, identity=identity
        )
    elif stat.S_ISBLK(seen.st_mode):
        found = of_folder(path, _folder(path, seen.st_rdev, machine), machine)
        # Shared, as udev has it for a moment of whatever was written to.
        _lock(path, fd, fcntl.LOCK_SH)
    else:
        raise UserError(f"{path}: is neither a block device nor a file any more")
    # By the descriptor, for a program that we start.
    if there := signatures(Path(f"/proc/{os.getpid()}/fd/{fd}")):
        raise UserError(f"{path}: has signatures of {', '.join(sorted(set(there)))}")
    _check_serial(found, destroy)
    if not found.folder and foreign(fd):
        raise UserError(
            f"{path}: has data in it that no probe wrote; make a new file: "
            f"truncate -s {found.bytes} NEW"
        )
    return replace(found, fd=fd)


def _check_serial(found: Target, destroy: str | None) -> None:
    """What was typed is of this device, and of no other."""
    path = found.path
    if not found.serial:
        raise UserError(f"{path}: has no serial number by which one could be sure of it")
    if not found.names:
        raise UserError(f"{path}: another device is called {found.serial}, too, and nothing else")
    where = " or ".join(dict.fromkeys(str(file) for file in found.names.values()))
    where = f"as in {where}" if found.folder else "of a file its name"
    if found.serial not in found.names:
        where += f"; other devices have its serial number {found.serial}, too"
    if destroy is None:
        raise UserError(
            f"{path}: its data would be lost; if that is meant: --destroy and its serial number "
            f"(lsblk --output NAME,SERIAL,WWN,SIZE; {where})"
        )
    if destroy not in found.names:
        raise UserError(f"--destroy: '{destroy}' is not the serial number of {path} ({where})")


def past_the_cache(target: Target) -> None:
    """From here on nothing of it goes through the page cache."""
    try:
        flags = fcntl.fcntl(target.fd, fcntl.F_GETFL)
        fcntl.fcntl(target.fd, fcntl.F_SETFL, (flags | os.O_DIRECT) & ~os.O_NONBLOCK)
    except OSError as error:
        raise UserError(f"{target.path}: has no way past the page cache (O_DIRECT)") from error
    # A file system knows what its disk's blocks are.
    with mmap.mmap(-1, mmap.PAGESIZE) as page, memoryview(page)[: int(SECTOR)] as sector:
        try:
            os.preadv(target.fd, [sector], 0)
        except OSError as error:
            raise UserError(f"{target.path}: {SECTOR} bytes cannot be read alone") from error


def _folder(path: Path, device: int, machine: Machine) -> Path:
    """By the device's numbers: what a node is called says nothing of what it is."""
    link = machine.sys / "dev" / "block" / numbers_of(device)
    folder = link.resolve()
    if not folder.is_dir() or _text(folder / "dev") != link.name:
        raise UserError(f"{path}: the kernel has no {link}")
    return folder


def of_folder(path: Path, folder: Path, machine: Machine) -> Target:
    """A block device, by what the kernel says of it."""
    _check_folder(path, folder, machine)
    size = int(_text(folder / "size") or 0) * 512
    return Target(
        path,
        folder.name,
        size,
        next(iter(_called(folder)), ""),
        folder,
        _temperature(folder),
        _own_names(folder, machine),
        _identity(folder),
    )
