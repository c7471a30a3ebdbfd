# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp probe` may not do to the host, on loop devices and files that are made here."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import io
import json
import math
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
import unittest
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from refused import Refused  # noqa: E402
from scarplib.build.requests import ensure_requests  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive import features, fit, model, on_drive, outputs, probe_file, safety  # noqa: E402
from scarplib.own_drive.plan import MIB, Known, Plan, Step  # noqa: E402
from typed import fit as run_fit  # noqa: E402
from typed import probe as run_probe  # noqa: E402

# Another run of these tests at the same time has loop devices on files of other names.
A, B = f"{os.getpid()}-a.img", f"{os.getpid()}-b.img"


class Scratch(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def image(self, name: str, mib: int = 64) -> Path:
        path = self.folder / name
        with path.open("wb") as stream:
            stream.truncate(mib * MIB)
        return path

    def loop(self, image: Path, *options: str) -> Path:
        """A loop device on a file of this folder; skips where there is none."""
        program = shutil.which("losetup", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if os.getuid() != 0 or not program:
            self.skipTest("loop devices need root and losetup")
        done = subprocess.run(
            [program, "--find", "--show", *options, str(image)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            self.skipTest(f"no loop device: {done.stderr.strip()}")
        device = Path(done.stdout.strip())
        self.addCleanup(subprocess.run, [program, "--detach", str(device)], check=True)
        return device

    def node(self, name: str, device: Path) -> Path:
        """Another node of a device."""
        path = self.folder / "nodes" / name
        path.parent.mkdir(exist_ok=True)
        os.mknod(path, stat.S_IFBLK | 0o600, device.stat().st_rdev)
        return path

    def direct(self, path: Path) -> None:
        """Skips where a file cannot be read past the page cache."""
        try:
            os.close(os.open(path, os.O_RDWR | os.O_DIRECT))
        except OSError:
            self.skipTest("the folder's file system knows no O_DIRECT")

    def held(self, device: Path, serial: str) -> safety.Target:
        """Checked, held and past the page cache, until this test ends."""
        self.direct(device)
        target = safety.target(device, serial)
        self.addCleanup(os.close, target.fd)
        safety.past_the_cache(target)
        return target


class WhichDevice(Scratch):
    """A node's name is anybody's choice; its numbers are the kernel's."""

    def test_is_told_by_numbers_and_not_by_a_name(self) -> None:
        one, other = self.loop(self.image(A)), self.loop(self.image(B, 32))
        wrong = self.node(other.name, one)
        with self.assertRaisesRegex(UserError, f"'{B}' is not the serial number"):
            safety.target(wrong, B)
        found = safety.target(wrong, A)
        self.addCleanup(os.close, found.fd)
        self.assertEqual((found.name, found.bytes), (one.name, 64 * MIB))

    def test_swap_under_another_name(self) -> None:
        device = self.loop(self.image(A))
        node = self.node("a b", device)
        proc = self.folder / "proc"
        proc.mkdir()
        name = str(node).replace(" ", "\\040")
        (proc / "swaps").write_text(f"Filename Type Size Used Priority\n{name} partition 8 0 -2\n")
        with self.assertRaisesRegex(UserError, "is swap space"):
            safety.target(device, A, safety.Machine(proc=proc))


class HeldFromCheckToEnd(Scratch):
    """Nobody else gets in between the check and the last request."""

    def test_a_device_is_nobody_elses_between_steps(self) -> None:
        device = self.loop(self.image(A, 32))
        drive = on_drive.OnDrive(ensure_requests(), self.held(device, A), time.monotonic() + 600)
        found = probe_file.Probe({"bytes": 32 * MIB}, 32 * MIB, 1)
        seen: list[str] = []

        class Enough(Exception):
            pass

        def keep(_: probe_file.Probe) -> None:
            try:
                os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
                seen.append("open")
            except OSError as error:
                seen.append(errno.errorcode[error.errno or 0])
            made = subprocess.run(
                ["mkfs.ext4", "-q", str(device)], capture_output=True, check=False
            )
            seen.append("refused" if made.returncode else "made")
            if len(found.results) == 2:
                raise Enough

        with self.assertRaises(Enough):
            on_drive.probe(drive, found, held_out=False, keep=keep, say=lambda _: None)
        self.assertEqual(set(seen), {"EBUSY", "refused"})

    def test_one_that_is_in_use_is_refused(self) -> None:
        device = self.loop(self.image(A))
        held = os.open(device, os.O_RDONLY | os.O_EXCL)
        self.addCleanup(os.close, held)
        with self.assertRaisesRegex(UserError, f"^{device}: is in use$"):
            safety.target(device, A)

    def test_what_is_refused_is_let_go(self) -> None:
        device = self.loop(self.image(A))
        with self.assertRaisesRegex(UserError, "is not the serial number"):
            safety.target(device, B)
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))

    def test_the_program_is_there_before_the_check(self) -> None:
        order: list[str] = []

        def built() -> Path:
            order.append("built")
            return Path("/bin/false")

        def checked(*_: object) -> safety.Target:
            order.append("checked")
            raise UserError("enough")

        with (
            mock.patch.object(on_drive, "ensure_requests", built),
            mock.patch.object(safety, "target", checked),
            self.assertRaisesRegex(UserError, "enough"),
        ):
            run_probe(str(self.image(A)), "-o", str(self.folder / "x.json"))
        self.assertEqual(order, ["built", "checked"])

    def test_a_name_that_changes_hands_is_not_followed(self) -> None:
        """The path is another file's between two steps; that file stays as it is."""
        path, other = self.image(A, 32), self.image(B, 32)
        drive = on_drive.OnDrive(ensure_requests(), self.held(path, A), time.monotonic() + 600)
        other.replace(path)
        drive.run(Plan(32 * MIB).first()[0])
        self.assertEqual(len(path.read_bytes().strip(b"\0")), 0)
        self.assertTrue(os.fstat(drive.target.fd).st_blocks)


# A step of a minute, on a file: argv is folders of modules, the file, its name.
MINUTE = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from scarplib.build.requests import ensure_requests
from scarplib.own_drive import on_drive, safety
from scarplib.own_drive.plan import Step
rows = [(i * 1000000, "W", i % 100 * 4096, 4096) for i in range(60000)]
target = safety.target(Path(sys.argv[2]), sys.argv[3])
drive = on_drive.OnDrive(ensure_requests(), target, time.monotonic() + 600)
drive.run(Step("long", lambda: iter(rows)))
"""


def children(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in text.split()]


def runs(process: int) -> bool:
    """Whether it still does anything."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def blocks(path: Path) -> int:
    return path.stat().st_blocks


class WhoEndsIt(Scratch):
    """What is started does not outlive who started it."""

    def until(self, what: Callable[[], Any], seconds: float = 300) -> Any:
        ends = time.monotonic() + seconds
        while not (found := what()):
            self.assertLess(time.monotonic(), ends, "it did not come to that")
            time.sleep(0.02)
        return found

    def program_of(self, process: int) -> int:
        """scarp-requests, at its requests: it no longer reads what they are."""

        def at_work() -> int:
            for child in children(process):
                with contextlib.suppress(OSError):
                    words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
                    if words[0].endswith(b"scarp-requests") and b"foreign" not in words:
                        return child
            return 0

        found: int = self.until(at_work)
        return found

    def test_a_killed_parent_takes_it_along(self) -> None:
        path = self.image(A, 32)
        self.direct(path)
        ensure_requests()
        with subprocess.Popen(
            [sys.executable, "-Bc", MINUTE, str(ROOT / "scripts"), str(path), A]
        ) as parent:
            self.addCleanup(parent.kill)
            child = self.program_of(parent.pid)
            # Something was written, so it is at work.
            self.until(lambda: path.stat().st_blocks)
            parent.kill()
            parent.wait()
        self.until(lambda: not runs(child), 5)

    def test_without_a_parent_it_does_nothing(self) -> None:
        path = self.image(A, 32)
        target = self.held(path, A)
        done = subprocess.run(
            [str(ensure_requests()), str(target.fd), "1", "1", "0"],
            input=on_drive.packed([(0, "W", 0, 4096)]),
            pass_fds=(target.fd,),
            capture_output=True,
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"the parent", done.stderr)
        self.assertEqual(path.stat().st_blocks, 0)

    def test_sigterm_and_sighup_end_it_in_order(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            path = self.image(f"{number.name}.img", 4096)
            self.direct(path)
            words = [str(ROOT / "scripts" / "scarp"), "probe", str(path), "--mib", "4096"]
            with subprocess.Popen(
                [*words, "--destroy", path.name, "-o", str(self.folder / f"{number.name}.json")],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                # Who runs the tests by nohup has them ignore SIGHUP, and so would it.
                preexec_fn=functools.partial(signal.signal, number, signal.SIG_DFL),
            ) as process:
                child = self.program_of(process.pid)
                self.until(functools.partial(blocks, path))
                process.send_signal(number)
                summary, said = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 130, said)
            kept = probe_file.load(self.folder / f"{number.name}.json").source
            self.assertGreater(kept["written_bytes"], 0)
            self.assertEqual(kept["begun"], {"step": "fill", "bytes": 0})
            self.assertRegex(summary, f"^{self.folder}/{number.name}.json: 0 steps; at most [1-9]")
            self.assertEqual(said.splitlines()[-1], "scarp: interrupted")
            self.assertFalse(runs(child))


class AFileInUse(Scratch):
    """A file in place of a device, that somebody else has or could miss."""

    def refused(self, path: Path, said: str) -> None:
        before = path.stat()
        with self.assertRaisesRegex(UserError, f"^{re.escape(str(path))}: {said}"):
            os.close(safety.target(path, path.name).fd)
        self.assertEqual(path.stat().st_mtime_ns, before.st_mtime_ns)

    def test_behind_a_loop_device(self) -> None:
        path = self.image(A)
        device = self.loop(path)
        self.refused(path, f"is in use by {device.name}$")
        other = self.folder / B
        other.hardlink_to(path)
        self.refused(other, f"is in use by {device.name}$")

    def test_behind_one_whose_name_is_gone(self) -> None:
        path, other = self.image(A), self.folder / B
        device = self.loop(path)
        other.hardlink_to(path)
        path.unlink()
        self.refused(other, f"is in use by {device.name}$")
        # Where that cannot be asked.
        with self.assertRaisesRegex(UserError, "is in use: another program has it open$"):
            safety.target(other, B, safety.Machine(dev=self.folder))

    def test_swap(self) -> None:
        path = self.image(A)
        (self.folder / "swaps").write_text(
            f"Filename Type Size Used Priority\n{path} file 8 0 -2\n"
        )
        with self.assertRaisesRegex(UserError, "is swap space"):
            safety.target(path, path.name, safety.Machine(proc=self.folder))

    def test_locked(self) -> None:
        path = self.image(A)
        # As flock(1) does, and as QEMU does: a shared lock of one byte.
        byte = struct.pack("hhqqi0q", fcntl.F_RDLCK, os.SEEK_SET, 100, 1, 0)
        for lock in (
            lambda fd: fcntl.flock(fd, fcntl.LOCK_SH),
            lambda fd: fcntl.fcntl(fd, fcntl.F_OFD_SETLK, byte),
        ):
            with path.open("rb") as other:
                lock(other.fileno())
                self.refused(path, "is in use: another program has locked it$")

    def test_open(self) -> None:
        path = self.image(A)
        with path.open("rb"):
            self.refused(path, "is in use: another program has it open$")

    def test_is_locked_while_it_is_probed(self) -> None:
        path = self.image(A)
        target = safety.target(path, A)
        with path.open("rb+") as other:
            with self.assertRaises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with self.assertRaises(BlockingIOError):
                fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.refused(path, "is in use: another program has locked it$")
        os.close(target.fd)
        os.close(safety.target(path, A).fd)

    def test_with_data_in_it(self) -> None:
        path = self.image(A)
        for place, data in ((40 * MIB + 5, b"x"), (64 * MIB, b"x"), (0, b"\1" * 512)):
            with path.open("rb+") as stream:
                stream.seek(place)
                stream.write(data)
            self.refused(path, "has data in it that no probe wrote; .* truncate -s .* NEW$")
            path = self.image(A)

    def test_what_a_probe_wrote_nobody_misses(self) -> None:
        path = self.image(A, 32)
        self.direct(path)
        with contextlib.closing(Held(path)) as held:
            plan = Plan(32 * MIB)
            for name in ("fill", "trimmed", "burst"):
                steps = [*plan.first(), *plan.second(Known(4096, 16384))]
                held.drive.run(next(step for step in steps if step.name == name))
        self.assertGreater(path.stat().st_blocks, 31 * MIB // 512)
        os.close(safety.target(path, A).fd)
        # One that begins as ours, and is not.
        with path.open("rb+") as stream:
            stream.seek(5 * MIB + 512 * 7 + 8)
            stream.write(b"x")
        self.refused(path, "has data in it that no probe wrote")


class ADeviceInUse(Scratch):
    """A drive that others write to without holding it, as the kernel sees that."""

    def refused(self, device: Path, serial: str, said: str) -> None:
        with self.assertRaisesRegex(UserError, f"^{re.escape(str(device))}: {said}"):
            os.close(safety.target(device, serial).fd)

    def test_behind_a_loop_device(self) -> None:
        """A file system at an offset has no signature where the drive begins."""
        device = self.loop(self.image(A))
        over = self.loop(device, "--offset", "1M")
        subprocess.run(["mkfs.ext4", "-q", str(over)], check=True, capture_output=True)
        self.refused(device, A, f"is in use by {over.name}$")
        self.refused(self.node("x", device), A, f"is in use by {over.name}$")

    def test_behind_one_by_another_name(self) -> None:
        device = self.loop(self.image(A))
        node, link = self.node("x", device), self.folder / "link"
        link.symlink_to(node)
        over = self.loop(link, "--offset", "1M")
        self.refused(device, A, f"is in use by {over.name}$")
        # What the kernel calls it now is nobody's name, or another file's.
        node.unlink()
        self.refused(device, A, f"is in use by {over.name}$")
        Path(f"{node} (deleted)").touch()
        self.refused(device, A, f"is in use by {over.name}$")

    def test_other_loop_devices_do_not_matter(self) -> None:
        device = self.loop(self.image(A))
        self.loop(self.loop(self.image(B)), "--offset", "1M")
        os.close(safety.target(device, A).fd)

    def test_a_file_behind_two(self) -> None:
        path, other = self.image(A), self.folder / B
        other.hardlink_to(path)
        device, over = self.loop(path), self.loop(other, "--offset", "1M")
        self.refused(device, A, f"is in use by {over.name}$")

    def test_a_loop_device_on_a_device(self) -> None:
        """Its name is no serial number, and what holds the device is not asked."""
        device = self.loop(self.image(A))
        over = self.loop(device, "--offset", "1M")
        self.refused(over, device.name, f"is a loop device on {device}; a probe is of that$")

    def test_locked(self) -> None:
        device = self.loop(self.image(A))
        # As QEMU does, and as programs do that want udev to keep off.
        byte = struct.pack("hhqqi0q", fcntl.F_RDLCK, os.SEEK_SET, 100, 1, 0)
        for lock in (
            lambda fd: fcntl.fcntl(fd, fcntl.F_OFD_SETLK, byte),
            lambda fd: fcntl.flock(fd, fcntl.LOCK_EX),
        ):
            with device.open("rb") as other:
                lock(other.fileno())
                self.refused(device, A, "is in use: another program has locked it$")
        # As udev does, for a moment.
        with device.open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_SH)
            os.close(safety.target(device, A).fd)


class Held:
    """A drive that is let go again."""

    def __init__(self, path: Path) -> None:
        target = safety.target(path, path.name)
        safety.past_the_cache(target)
        self.drive = on_drive.OnDrive(ensure_requests(), target, time.monotonic() + 600)

    def close(self) -> None:
        os.close(self.drive.target.fd)


class WhatIsThere(Scratch, Refused):
    """A result replaces nothing that is not the same drive's."""

    def old(self, kind: str, name: str) -> Path:
        path = self.folder / "old.json"
        source = {"kind": kind, "name": name, "bytes": 64 * MIB, "written_bytes": 0}
        probe_file.Probe(source, 64 * MIB, 1).write(path)
        return path

    def test_no_link_and_no_node(self) -> None:
        real = self.old("description", "demo.ini")
        read = self.image("read.json")
        link, node = self.folder / "link.json", self.folder / "node.json"
        link.symlink_to(real)
        # A socket, as any user may have; a device's node in its place does as well.
        os.mknod(node, stat.S_IFSOCK | 0o600)
        for words in (["probe", "devices/demo.ini"], ["probe", str(self.image(A))],
                      ["fit", str(read)]):  # fmt: skip
            self.assertIn("is a link", self.fit_or_probe(*words, "-o", str(link)))
            self.assertIn("is no regular file", self.fit_or_probe(*words, "-o", str(node)))
        self.assertTrue(link.is_symlink() and node.is_socket())

    def fit_or_probe(self, command_word: str, *words: str) -> str:
        if command_word == "probe":
            return self.error("probe", *words)
        with self.assertRaises(UserError) as caught:
            run_fit(*words)
        return str(caught.exception)

    def test_another_drives_result(self) -> None:
        for kind, name in (("device", "nvme0n1"), ("description", "tlc.ini"), ("MQSim", "")):
            path = self.old(kind, name)
            before = path.read_bytes()
            said = self.error("probe", "devices/demo.ini", "--mib", "32", "-o", str(path))
            self.assertIn(f"is a probe of {name or 'another drive'}, not of demo.ini", said)
            self.assertEqual(path.read_bytes(), before)
        image = self.image(A)
        said = self.error("probe", str(image), "--destroy", A, "-o", str(path))
        self.assertIn("is a probe of something else", said)
        path.write_text("my notes\n")
        for words in (("devices/demo.ini",), (str(image), "--destroy", A)):
            self.assertIn("is no JSON", self.error("probe", *words, "-o", str(path)))
        self.assertEqual(path.read_text(), "my notes\n")
        self.assertEqual(image.stat().st_blocks, 0)

    def test_the_drive_itself(self) -> None:
        image, drive = self.image(A), self.folder / "mine.ini"
        drive.write_text("[geometry]\n")
        for path in (image, drive):
            said = self.error("probe", str(path), "-o", str(path))
            self.assertIn("is another file of this command, too", said)

    def test_fit_replaces_what_fit_wrote(self) -> None:
        probe = self.old("device", "nvme0n1")
        mine, keys = self.folder / "mine.ini", self.folder / "keys.json"
        mine.write_text("[geometry]\nchannels=8\n")
        keys.write_text('{"mine": 1}')
        for words, said in (
            (["-o", str(mine)], f"--out: '{mine}' exists, and is not of this command"),
            (["--json", str(keys)], f"--json: '{keys}' exists, and is not of this command"),
            (["-o", str(probe)], "is another file of this command"),
            (["--json", str(probe)], "is another file of this command"),
            (["--json", "x.ini"], "is another file of this command"),
            (["-o", str(self.folder / "old.tried.jsonl"), "--json",
              str(self.folder / "old.tried.jsonl")], "is another file of this command"),
        ):  # fmt: skip
            with self.assertRaises(UserError) as caught:
                run_fit(str(probe), *(["-o", "x.ini"] * ("-o" not in words)), *words)
            self.assertIn(said, str(caught.exception))
        with self.assertRaisesRegex(UserError, "exists, and is not of this command"):
            run_fit("--blind", "1", "-o", str(keys))
        self.assertEqual(keys.read_text(), '{"mine": 1}')
        # What it wrote itself it writes anew: then it comes to the probe, which lacks all.
        mine.write_text("# Fitted to old.json by `scarp fit`; docs/your-drive.md.\n")
        keys.write_text('{\n "schema": "scarp-fit-1",\n')
        with self.assertRaisesRegex(UserError, "is not whole"):
            run_fit(str(probe), "-o", str(mine), "--json", str(keys))

    def test_what_fit_writes_it_knows_again(self) -> None:
        found = model.Model()
        found.set("geometry.channels", 2, model.READ)
        path = self.folder / "x.ini"
        found.write(path, f"{outputs.FITTED[2:]} x.json")
        self.assertTrue(path.read_text().startswith(outputs.FITTED))
        whole = fit.Fit(found, probe_file.Probe({}, 0, 0)).json()
        self.assertTrue(json.dumps(whole, indent=1).startswith(outputs.FIT))

    def test_the_scratch_is_nobodys_file(self) -> None:
        mine = self.folder / "old.json.new"
        mine.write_text("mine")
        self.old("device", "x")
        self.assertEqual(mine.read_text(), "mine")


class NowhereToWrite(Scratch, Refused):
    def test_is_said_before_the_data_are_gone(self) -> None:
        image = self.image(A)
        self.direct(image)
        # Not even root can write there.
        said = self.error("probe", str(image), "--destroy", A, "-o", "/proc/self/x.json")
        self.assertIn("--out: '/proc/self' cannot be written to", said)
        self.assertEqual(image.stat().st_blocks, 0)

    def test_nothing_is_left_behind(self) -> None:
        path = self.folder / "folder.json"
        path.mkdir()
        with self.assertRaisesRegex(UserError, "cannot be written: Is a directory"):
            probe_file.Probe({}, 64 * MIB, 1).write(path)
        self.assertEqual([one.name for one in self.folder.iterdir()], ["folder.json"])


class BlocksAndZones(Scratch):
    """A drive that the plan's requests cannot be done to is refused before it loses anything."""

    def test_blocks_of_4096(self) -> None:
        device = self.loop(self.image(A), "--sector-size", "4096")
        with self.assertRaisesRegex(UserError, "has blocks of 4096 bytes; .* a format of 512"):
            safety.target(device, A)

    def test_a_file_on_such_a_disk(self) -> None:
        device = self.loop(self.image(A), "--sector-size", "4096")
        fd = os.open(device, os.O_RDWR)
        self.addCleanup(os.close, fd)
        with self.assertRaisesRegex(UserError, "512 bytes cannot be read alone"):
            safety.past_the_cache(safety.Target(device, "a", 64 * MIB, "a", None, fd=fd))

    def test_zones(self) -> None:
        folder = self.folder / "nvme9n1"
        (folder / "queue").mkdir(parents=True)
        (folder / "dev").write_text("259:9\n")
        (folder / "queue" / "zoned").write_text("host-managed\n")
        with self.assertRaisesRegex(UserError, r"is zoned \(host-managed\)"):
            safety.of_folder(Path("/dev/nvme9n1"), folder, safety.Machine())
        (folder / "queue" / "zoned").write_text("none\n")
        safety.of_folder(Path("/dev/nvme9n1"), folder, safety.Machine())


class WhatWasWritten(Scratch):
    """What was written is counted, also of what did not come to its end."""

    def drive(self, seconds: float) -> on_drive.OnDrive:
        target = self.held(self.image(A, 64), A)
        return on_drive.OnDrive(ensure_requests(), target, time.monotonic() + seconds)

    def rows(self, count: int, bad: int | None = None) -> Step:
        """A write each hundredth of a second; one may be where nothing can be written."""
        rows = [(i * 10**7, "W", i * 4096 if i != bad else 1, 4096) for i in range(count)]
        return Step("writes", lambda: iter(rows))

    def test_of_one_that_ran_out_of_time(self) -> None:
        drive = self.drive(2)
        # Each waits for the disk, so that no machine is done with it in time.
        rows = [(0, "WF"[i % 2], i % 100 * 4096, 4096) for i in range(200_000)]
        self.assertIsNone(drive.run(Step("writes", lambda: iter(rows), depth=1)))
        self.assertGreater(drive.written, 0)
        self.assertLess(drive.written, 4096 * 100_000)

    def test_of_one_that_failed(self) -> None:
        drive = self.drive(60)
        with self.assertRaisesRegex(UserError, "^a request: "):
            drive.run(self.rows(40, bad=20))
        self.assertIn(drive.written, (21 * 4096, 22 * 4096))

    def test_of_one_that_was_interrupted(self) -> None:
        drive = self.drive(60)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with self.assertRaises(KeyboardInterrupt):
            drive.run(self.rows(3000))
        self.assertGreater(drive.written, 0)
        # The program is ended with it; nobody waits for more than was begun.
        self.assertEqual(drive.written % 4096, 0)
        self.assertLess(drive.written, 3000 * 4096)

    def test_of_one_that_was_done(self) -> None:
        drive = self.drive(60)
        drive.run(self.rows(10))
        self.assertEqual(drive.written, 10 * 4096)


class InOrder(Scratch):
    """Each step finds the drive in the state that those before it leave."""

    def setUp(self) -> None:
        super().setUp()
        self.said: list[str] = []
        self.done: list[str] = []
        self.rested: list[str] = []
        self.killed = ""
        self.found = probe_file.Probe({"bytes": 64 * MIB}, 64 * MIB, 1, Known(4096, 16384))

    def go(self, stop: str = "", how: str = "none", seconds: float = 1e6) -> None:
        """All steps, in no time; the one that is named has none, runs out of it, or fails."""

        class Drive(on_drive.OnDrive):
            def rest(drive) -> None:
                self.rested.append(self.done[-1])

            def run(
                drive, step: Step, begin: Callable[[int], None] = lambda planned: None
            ) -> probe_file.Result | None:
                if step.name == stop and how == "none":
                    return None
                self.done.append(step.name)
                writes = [row for row in step.rows() if row[1] in "WT"]
                if writes:
                    begin(sum(row[3] for row in writes if row[1] == "W"))
                if step.name == stop:
                    drive.written += 4096
                    if how == "fails":
                        raise UserError("a request: Input/output error")
                    if how == "killed":
                        self.killed = json.dumps(asdict(self.found))
                    return None
                drive.written += sum(row[3] for row in writes if row[1] == "W")
                return probe_file.Result(1.0, 1.0)

        target = safety.Target(self.folder, "x", 64 * MIB, "x", None)
        drive = Drive(Path("/bin/false"), target, seconds)
        drive.written = self.found.source.get("written_bytes", 0)
        on_drive.probe(drive, self.found, held_out=False, keep=lambda _: None, say=self.said.append)

    def test_what_has_no_time_leaves_out_all_that_follow(self) -> None:
        self.go("read-depth-4")
        self.assertEqual(self.done[-1], "read-depth-1")
        self.assertEqual(self.found.left_out[:2], ["read-depth-4", "read-depth-16"])
        before = list(self.done)
        self.go("overwrite")
        self.assertEqual(self.done[len(before)], "read-depth-4")
        self.assertEqual(self.done[-1], "behind")
        self.assertEqual(self.found.left_out[:2], ["overwrite", "condition"])
        self.go()
        self.assertEqual(self.found.left_out, [])
        plan = Plan(64 * MIB)
        wanted = [step.name for step in (*plan.first(), *plan.second(Known(4096, 16384)))]
        self.assertEqual(self.done, wanted)

    def test_after_one_that_changes_the_drive_it_rests(self) -> None:
        self.go()
        plan = Plan(64 * MIB)
        steps = [*plan.first(), *plan.second(Known(4096, 16384))]
        wanted = [step.name for step in steps if step.changes]
        self.assertEqual(self.rested, wanted)
        self.assertIn("overwrite", wanted)
        self.assertLess(len(wanted), len(steps))

    def test_a_rest_flushes_and_waits(self) -> None:
        path = self.image(A, 64)
        target = self.held(path, A)
        drive = on_drive.OnDrive(Path("/bin/false"), target, 0, rest_s=0.25)
        with mock.patch.object(os, "fsync") as flushed:
            began = time.monotonic()
            drive.rest()
        flushed.assert_called_once_with(target.fd)
        self.assertGreaterEqual(time.monotonic() - began, 0.25)

    def test_one_that_changed_the_drive_is_begun_again_from_fill(self) -> None:
        for how in ("time", "fails", "killed"):
            self.setUp()
            with contextlib.suppress(UserError):
                self.go("overwrite", how)
            if how == "killed":
                self.found = probe_file.Probe(**json.loads(self.killed))
                self.found.known = Known(4096, 16384)
                self.found.results = {"fill": probe_file.Result(1.0, 1.0)}
            written, before = self.found.source["written_bytes"], len(self.done)
            with mock.patch.object(features, "known", lambda _: Known(4096, 16384)):
                self.go()
            self.assertEqual(self.done[before], "fill", how)
            self.assertIn("overwrite was begun and not ended", "\n".join(self.said))
            self.assertNotIn("begun", self.found.source)
            self.assertTrue(self.found.source["written_at_most"])
            # All that a killed one may have written is counted.
            more = 64 * MIB if how == "killed" else 0
            once = self.found.source["written_bytes"] - written - more
            self.setUp()
            self.go()
            self.assertEqual(once, self.found.source["written_bytes"], how)

    def test_one_that_leaves_nothing_is_done_once_more(self) -> None:
        self.go("trimmed", "time")
        before = len(self.done)
        self.go("burst")
        self.assertEqual(self.done[before], "trimmed")
        self.assertEqual(self.done.count("fill"), 1)

    def test_what_the_drives_memory_holds_does_not_last(self) -> None:
        self.go("footprint-4")
        before = len(self.done)
        self.go("burst")
        self.assertEqual(self.done[before : before + 2], ["footprint-4-before", "footprint-4"])


class WhoItIs(Scratch, Refused):
    """Of two drives that are alike in something, only the one that is meant."""

    def block(self, name: str, device: str = "", **files: str) -> Path:
        """A device's folder, as the kernel has them."""
        folder = self.folder / "sys" / "class" / "block" / name
        folder.mkdir(parents=True)
        if device:
            (folder / "device").symlink_to(self.folder / "sys" / device)
        usual = {"dev": "259:9", "size": "4194304", "ro": "0"}
        for key, text in (usual | files).items():
            path = folder / key.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((text + "\n").encode("latin-1"))
        return folder

    def of(self, folder: Path, destroy: str | None) -> safety.Target:
        machine = safety.Machine(self.folder / "sys")
        found = safety.of_folder(Path("/dev") / folder.name, folder, machine)
        safety._check_serial(found, destroy)  # noqa: SLF001
        return found

    def refused(self, folder: Path, destroy: str | None, said: str) -> None:
        with self.assertRaisesRegex(UserError, said):
            self.of(folder, destroy)

    def test_namespaces_of_one_drive(self) -> None:
        (self.folder / "sys" / "nvme0").mkdir(parents=True)
        (self.folder / "sys" / "nvme0" / "serial").write_text("S123\n")
        one = self.block("nvme0n1", "nvme0", wwid="eui.01", nsid="1")
        # A path of the kernel's to it.
        self.block("nvme0c0n1", "nvme0", wwid="eui.01", nsid="1", hidden="1")
        self.assertEqual(self.of(one, "S123").identity["wwid"], "eui.01")
        self.of(one, "eui.01")
        other = self.block("nvme0n2", "nvme0", wwid="eui.02", nsid="2")
        self.refused(one, "S123", "not the serial number of /dev/nvme0n1 .*wwid; other devices")
        self.refused(one, "eui.02", "not the serial number of /dev/nvme0n1")
        self.refused(one, None, "its data would be lost.*/wwid; other devices have")
        self.assertNotEqual(self.of(one, "eui.01").identity, self.of(other, "eui.02").identity)

    def test_two_that_nothing_tells_apart(self) -> None:
        one = self.block("sdy", device__vpd_pg80="\0\0\0\4SAME", device__wwid="naa.5")
        self.block("sdz", device__vpd_pg80="\0\0\0\4SAME", device__wwid="naa.5")
        self.refused(one, "SAME", "another device is called SAME, too, and nothing else")

    def test_a_disk_of_sata_or_sas(self) -> None:
        page = "\0\x80\0\x14      S4NCNX0R500123"
        one = self.block("sdy", device__vpd_pg80=page, device__wwid="t10.ATA SAMSUNG S4NC")
        self.assertEqual(self.of(one, "S4NCNX0R500123").serial, "S4NCNX0R500123")
        self.of(one, "t10.ATA SAMSUNG S4NC")
        self.refused(one, "S4NC", "as in .*sdy/device/vpd_pg80 or .*sdy/device/wwid")
        self.refused(one, None, "as in .*sdy/device/vpd_pg80 or .*sdy/device/wwid")

    def test_loop_devices_of_files_of_one_name(self) -> None:
        folder = self.folder / "other"
        folder.mkdir()
        path = self.image(A)
        one = self.loop(path)
        os.close(safety.target(one, A).fd)
        self.loop(self.image(f"other/{A}"))
        with self.assertRaisesRegex(UserError, "is not the serial number"):
            safety.target(one, A)
        os.close(safety.target(one, str(path)).fd)

    def test_goes_on_with_the_same_alone(self) -> None:
        out, path = self.folder / "x.json", self.image(A, 32)
        self.direct(path)
        words = ("--destroy", A, "-o", str(out))
        with mock.patch.object(on_drive, "probe", lambda *_, **__: None):
            for _ in range(2):
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(run_probe(str(path), *words), 0)
            # The same name and size, and yet another file.
            path.rename(self.folder / B)
            self.image(A, 32)
            said = self.error("probe", str(path), *words)
        self.assertIn("is a probe of something else", said)

    def test_a_name_of_the_kernels_where_there_is_no_other(self) -> None:
        one = self.block("vda", serial="disk")
        self.assertEqual(self.of(one, "disk").identity, {"serial": "disk", "name": "vda"})


class AFileOfAProbe(Scratch, Refused):
    """Whatever is in it, it is one line."""

    def whole(self) -> dict[str, Any]:
        source = {"kind": "device", "name": "x", "bytes": 32 * MIB, "written_bytes": 0}
        found = probe_file.Probe(source, 32 * MIB, 1, Known(4096, 16384))
        plan = Plan(32 * MIB)
        for step in (*plan.first(), *plan.second(Known(4096, 16384))):
            rows = list(step.rows())
            times = range(len(rows))
            found.results[step.name] = probe_file.result(
                rows, times, [at + 70000 for at in times],
                each=step.each, closed=step.depth is not None,
            )  # fmt: skip
        path = self.folder / "whole.json"
        found.write(path)
        self.assertEqual(probe_file.load(path), found)
        read: dict[str, Any] = json.loads(path.read_text())
        return read

    def load(self, whole: dict[str, Any]) -> str:
        """What is said of it; nothing if it is taken."""
        path = self.folder / "x.json"
        path.write_text(json.dumps(whole))
        try:
            probe_file.load(path)
        except UserError as error:
            self.assertEqual(len(str(error).splitlines()), 1)
            return str(error)
        return ""

    def test_what_is_wrong_is_one_line(self) -> None:
        whole = self.whole()
        tops: tuple[dict[str, Any], ...] = (
            {"results": None}, {"results": []}, {"results": {"fill": None}}, {"source": None},
            {"source": {"kind": "device", "bytes": 32 * MIB}}, {"source": {"bytes": "1"}},
            {"span": "67108864"}, {"span": 4096}, {"span": 1e9}, {"span": None}, {"seed": "1"},
            {"known": []}, {"known": {"page": 4096}}, {"known": {"page": 0, "stripe": 16384}},
            {"known": {"page": 4096, "stripe": 2**40}}, {"left_out": None}, {"left_out": [1]},
            {"more": 1}, {"a\n\x1b[2Jb": 1},
            {"source": {**whole["source"], "begun": "fill"}},
            {"source": {**whole["source"], "bytes": 2**63}}, {"seed": 10**400},
        )  # fmt: skip
        for wrong in tops:
            self.assertIn("is no whole probe", self.load({**whole, **wrong}), str(wrong))
        parts: tuple[tuple[str, dict[str, Any]], ...] = (
            ("read-size", {"each": [1, 2, 3]}), ("read-single", {"each": []}),
            ("read-pair", {"each": ["1"] * 2048}), ("trimmed", {"each": [1.5] * 18}),
            ("footprint-1", {"each": []}), ("behind", {"each": [0] * 96}),
            ("overwrite", {"parts": []}), ("fill", {"parts": [1, 2]}),
            ("fill", {"bytes_per_s": None}), ("fill", {"per_s": math.nan}),
            # Nothing has a logarithm of these, or a quotient.
            ("steady", {"bytes_per_s": 0}), ("steady", {"bytes_per_s": -1.0}),
            ("steady", {"bytes_per_s": 1e-320}), ("steady", {"bytes_per_s": 10**400}),
            ("fill", {"per_s": 0}), ("overwrite", {"parts": [1e-320] * 40}),
            ("read-size", {"each": [10**400] * 432}),
            ("steady", {"writes": 5}), ("steady", {"writes": {}}), ("steady", {"other": 5}),
            ("steady", {"writes": {"n": 1, "mean": 1.0, "points": {"p50": 1}}}),
        )  # fmt: skip
        for step, wrong in parts:
            results = {**whole["results"], step: {**whole["results"][step], **wrong}}
            said = self.load({**whole, "results": results})
            self.assertIn("is no whole probe: ", said, f"{step} {wrong}")
            self.assertTrue("other" in wrong or step in said, said)

    def test_anything_in_the_place_of_anything(self) -> None:
        """Each place of a probe has something else; a list's first for all of it."""
        whole = self.whole()
        steps = ("fill", "read-size", "footprint-1", "overwrite", "mixed")
        whole["results"] = {name: whole["results"][name] for name in steps}

        def places(there: Any) -> Iterator[tuple[Any, Any]]:
            pairs = list(there.items()) if isinstance(there, dict) else [(0, there[0])]
            for key, value in pairs:
                yield there, key
                if isinstance(value, dict) or (isinstance(value, list) and value):
                    yield from places(value)

        refused = 0
        for there, key in list(places(whole)):
            before = there[key]
            others: tuple[Any, ...] = (None, "x", [], {}, -1, True, 2**70, 0.5)
            for other in others:
                there[key] = other
                refused += bool(self.load(whole))
            there[key] = before
        self.assertGreater(refused, 300)

    def test_what_is_no_probe_at_all(self) -> None:
        path = self.folder / "x.json"
        for text in ("[" * 100_000, "\xff\xfe", "[]", "1", "null", '{"schema": []}'):
            path.write_text(text, encoding="latin-1")
            with self.assertRaises(UserError):
                probe_file.load(path)
        with path.open("wb") as stream:
            stream.truncate(1 << 40)
        with self.assertRaisesRegex(UserError, "too large"):
            probe_file.load(path)


class ALargeDrive(Scratch, Refused):
    """Requests are in memory; what has no room there is refused beforehand."""

    def test_more_than_there_is_memory_for(self) -> None:
        (self.folder / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   1048576 kB\n")
        machine = safety.Machine(proc=self.folder)
        most = 104857
        on_drive.check_memory(most * MIB, machine)
        with self.assertRaisesRegex(UserError, f"^--mib: .* and 1024 MiB are free: {most} is"):
            on_drive.check_memory((most + 1) * MIB, machine)

    def test_is_refused_before_a_byte_is_written(self) -> None:
        path = self.image(A, 1 << 12)
        self.direct(path)
        words = ("--mib", str(1 << 12), "--destroy", A, "-o", str(self.folder / "x"))
        with (
            mock.patch.object(on_drive, "ROW_BYTES", 1 << 40),
            mock.patch.object(on_drive, "probe", side_effect=AssertionError("was begun")),
        ):
            self.assertIn("--mib: requests to 4096 MiB", self.error("probe", str(path), *words))
        self.assertEqual(path.stat().st_blocks, 0)

    def test_more_than_the_drive_has(self) -> None:
        path = self.image(A, 33)
        self.direct(path)
        words = ("--mib", "34", "--destroy", A, "-o", str(self.folder / "x"))
        said = self.error("probe", str(path), *words)
        self.assertIn("--mib: 34 of a drive of 33 MiB: at most 33", said)
        self.assertEqual(path.stat().st_blocks, 0)

    def test_a_request_takes_no_more_than_is_said(self) -> None:
        program, count = self.folder / "requests", 200_000
        program.write_text(
            f"#!{sys.executable}\nimport struct, sys\nsys.stdin.buffer.read()\n"
            f"sys.stdout.buffer.write(struct.pack('<qq', 1, 70000) * {count})\n"
        )
        program.chmod(0o755)
        path = self.image(A, 32)
        with path.open() as held:
            target = safety.Target(path, A, 32 * MIB, A, None, fd=held.fileno())
            drive = on_drive.OnDrive(program, target, time.monotonic() + 600)
            rows = ((0, "W", i * 4096, 4096) for i in range(count))
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            found = drive.run(Step("x", lambda: rows, depth=4, prepares=True))
        # scarp-requests has as much again.
        self.assertLess(tracemalloc.get_traced_memory()[1], count * on_drive.ROW_BYTES / 2)
        assert found
        self.assertEqual((drive.written, found.per_s), (count * 4096, count / 69999e-9))
        self.assertEqual(found.bytes_per_s, count * 4096 / 69999e-9)
