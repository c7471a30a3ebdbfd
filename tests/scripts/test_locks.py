# SPDX-License-Identifier: GPL-2.0-or-later
"""Locked inputs: a checksum that differs, a version that is gone, and what --unlocked takes."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

from scarplib import cli
from scarplib.build import cache, locks, private_apt, qemu, venv
from scarplib.build.private_apt import Apt
from scarplib.dev import update_locks
from scarplib.errors import UserError
from scarplib.guest import image
from scarplib.paths import SCRIPTS, UNLOCKED

LOCK = locks.DebianLock(
    {"qemu": locks.Source("1:10.0.2-1", {"qemu_10.0.2.orig.tar.xz": "0" * 64})},
    {
        "fio": ("3.39-1", hashlib.sha256(b"fio").hexdigest()),
        "linux-image-6.12.7-cloud-amd64": ("6.12.7-1", "1" * 64),
    },
    {("fio", "linux-image-cloud-amd64"): ("fio", "linux-image-6.12.7-cloud-amd64")},
)
WANTED = ["linux-image-cloud-amd64", "fio"]


class Mirror(Apt):
    """What apt would say, of a mirror that has these."""

    has: Sequence[str] = ("fio=3.39-1", "linux-image-6.12.7-cloud-amd64=6.12.7-1")
    sources: Sequence[str] = ("1:10.0.2-1",)
    bytes = b"fio"
    # While apt writes, which it does under the final name.
    killed = False

    def update(self) -> None:
        pass

    def _versions(self, names: Sequence[str]) -> str:
        pairs = [x.split("=") for x in self.has]
        # A source package of the same version is no package.
        text = "".join(f" {n} | {v} | m trixie/main Sources\n" for n, v in self._all)
        return text + "".join(f" {n} | {v} | m trixie/main amd64 Packages\n" for n, v in pairs)

    _all = (("fio", "3.39-1"), ("linux-image-6.12.7-cloud-amd64", "6.12.7-1"))

    def _run(self, *command: str, cwd: Path | None = None) -> str:
        if command[:2] == ("apt-get", "install"):
            return "".join(f"Inst {x.replace('=', ' (')} Debian)\n" for x in self.has)
        if command[:2] == ("apt-cache", "showsrc"):
            return "".join(f"Package: qemu\nVersion: {x}\n\n" for x in self.sources)
        if command[:2] == ("apt-get", "download") and cwd:
            for name, version in (x.split("=") for x in command[3:]):
                (cwd / f"{name}_{version}_amd64.deb").write_bytes(self.bytes)
        elif command[:2] == ("apt-get", "source") and cwd:
            version = command[-1].split(":")[1].split("-")[0]
            (cwd / f"qemu_{version}.orig.tar.xz").write_bytes(self.bytes)
        if self.killed:
            raise KeyboardInterrupt
        return ""


class Locked(unittest.TestCase):
    """In a cache of its own, with a lock of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        changed = {"XDG_CACHE_HOME": str(self.folder), UNLOCKED: ""}
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.dict(os.environ, changed))
            stack.enter_context(mock.patch.object(locks, "debian", lambda: LOCK))
            self.addCleanup(stack.pop_all().close)
        self.mirror = Mirror()

    @contextlib.contextmanager
    def refused(self, words: str) -> Iterator[None]:
        with self.assertRaisesRegex(UserError, words) as caught:
            yield
        self.assertNotIn("\n", str(caught.exception))

    def newer(self) -> None:
        """A point release."""
        self.mirror.has = ("fio=3.39-1", "linux-image-6.12.9-cloud-amd64=6.12.9-1")

    def quietly(self) -> str:
        os.environ[UNLOCKED] = "1"
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.taken = self.mirror.closure(WANTED)
        return said.getvalue()


class Debian(Locked):
    """Packages."""

    def test_as_locked(self) -> None:
        found = self.mirror.closure(WANTED)
        self.assertEqual(found, ["fio=3.39-1", "linux-image-6.12.7-cloud-amd64=6.12.7-1"])
        self.assertEqual(self.mirror.fetch(found[:1])["fio=3.39-1"].read_bytes(), b"fio")
        self.assertEqual(locks.report(), ["inputs: all as locked"])

    def test_gone(self) -> None:
        self.newer()
        with self.refused(
            r"gone from this machine's Debian mirror: linux-image-6.12.7-cloud-amd64 6.12.7-1; "
            r"--unlocked \(SCARP_UNLOCKED=1\) would take linux-image-6.12.9-cloud-amd64 6.12.9-1$"
        ):
            self.mirror.closure(WANTED)

    def test_gone_but_kept(self) -> None:
        """A file of the cache is as good as the mirror's."""
        path = self.mirror.archives / "linux-image-6.12.7-cloud-amd64_6.12.7-1_amd64.deb"
        path.write_bytes(b"")
        self.newer()
        self.assertIn("linux-image-6.12.7-cloud-amd64=6.12.7-1", self.mirror.closure(WANTED))

    def test_unlocked(self) -> None:
        self.newer()
        line = "not as locked: linux-image-6.12.7-cloud-amd64 6.12.7-1 is gone, taken: " \
            "linux-image-6.12.9-cloud-amd64 6.12.9-1\n"  # fmt: skip
        self.assertEqual(self.quietly(), line)
        self.assertEqual(self.taken, ["fio=3.39-1", "linux-image-6.12.9-cloud-amd64=6.12.9-1"])
        self.assertEqual(self.quietly(), "", "said once")
        self.assertEqual(len(locks.report()), 1)
        self.assertRegex(locks.report()[0], "^not as locked: linux-image-6.12.7-cloud-amd64: 6.12.")

    def test_unlocked_where_nothing_is_gone(self) -> None:
        self.assertEqual(self.quietly(), "")
        self.assertEqual(self.taken, LOCK.closure(WANTED))

    def test_a_record_is_of_its_locks(self) -> None:
        self.newer()
        self.quietly()
        with mock.patch.object(locks, "key", return_value="others"):
            self.assertEqual(locks.report(), ["inputs: all as locked"])

    def test_many_are_gone(self) -> None:
        gone = {f"p{n}": ("1", "2") for n in range(30)}
        self.assertRegex(str(locks.gone(gone, "mirror")), r"p5 1 and 24 more; .* p5 2 and 24 more$")

    def test_checksum_differs(self) -> None:
        """Whatever apt says of it; also where versions are free."""
        self.mirror.bytes = b"other"
        for free in ("", "1"):
            os.environ[UNLOCKED] = free
            with self.refused("fio 3.39-1 of the mirror: its SHA-256 is d9298a1.* the lock says"):
                self.mirror.fetch(["fio=3.39-1"])
            self.assertEqual(list(self.mirror.archives.iterdir()), [])

    def test_broken_in_the_cache(self) -> None:
        """It is fetched again."""
        (self.mirror.archives / "fio_3.39-1_amd64.deb").write_bytes(b"half")
        found = self.mirror.fetch(["fio=3.39-1"])
        self.assertEqual(found["fio=3.39-1"].read_bytes(), b"fio")

    def test_a_download_that_was_killed(self) -> None:
        """Of what is not locked nobody could tell later that it is short."""
        os.environ[UNLOCKED] = "1"
        self.mirror.sources = ("1:10.0.9-1",)
        asked = ["busybox=1"]

        def fetch() -> None:
            with contextlib.redirect_stderr(io.StringIO()):
                self.mirror.fetch(asked)

        def source() -> None:
            with contextlib.redirect_stderr(io.StringIO()):
                self.mirror.source("qemu", self.folder)

        for download in (source, fetch):
            self.mirror.bytes, self.mirror.killed = b"half", True
            with self.assertRaises(KeyboardInterrupt):
                download()
            self.assertEqual(
                [x for x in self.folder.rglob("*") if x.is_file() and "half" in x.read_text()], []
            )
            self.mirror.bytes, self.mirror.killed = b"whole", False
            download()
        self.assertEqual(self.mirror.fetch(asked)["busybox=1"].read_bytes(), b"whole")
        self.assertEqual([x.name for x in self.mirror.archives.iterdir()], ["busybox_1_amd64.deb"])
        (tarball,) = self.folder.glob("qemu*")
        self.assertEqual(tarball.read_bytes(), b"whole")

    def test_firmware_that_was_interrupted(self) -> None:
        def unpack(command: list[str], **_: object) -> None:
            for name in qemu.FIRMWARE:
                (Path(command[-1]) / "usr").mkdir(parents=True, exist_ok=True)
                (Path(command[-1]) / "usr" / name).write_bytes(b"whole")

        def killed(_: Path, target: Path) -> None:
            target.write_bytes(b"half")
            if target.name == "bios-256k.bin":
                raise KeyboardInterrupt

        mirror = mock.Mock(fetch=lambda _: {"seabios=1": Path("seabios.deb")})
        mirror.closure = lambda _: []
        with (
            mock.patch.object(locks, "debian", locks.DebianLock),
            mock.patch.object(qemu, "Apt", lambda: mirror),
            mock.patch.object(subprocess, "run", unpack),
        ):
            with (
                mock.patch.object(shutil, "copyfile", killed),
                self.assertRaises(KeyboardInterrupt),
            ):
                qemu.ensure_firmware()
            found = qemu.ensure_firmware()
            self.assertEqual(qemu.ensure_firmware(), found)
        self.assertEqual({x.read_bytes() for x in found.iterdir()}, {b"whole"})

    def test_of_the_users_choice(self) -> None:
        """Not locked: as apt has it today."""
        self.newer()
        self.assertEqual(self.mirror.closure(["fio"]), sorted(self.mirror.has))

    def test_source_checksum_differs(self) -> None:
        with self.refused(r"qemu_10.0.2.orig.tar.xz of the mirror: its SHA-256 is"):
            self.mirror.source("qemu", self.folder)
        self.assertFalse((self.folder / "qemu_10.0.2.orig.tar.xz").exists())

    def test_source_gone(self) -> None:
        self.mirror.sources = ("1:10.0.3-1",)
        with self.refused(r"gone .*: qemu 1:10.0.2-1; --unlocked .* would take qemu 1:10.0.3-1$"):
            self.mirror.source("qemu", self.folder)
        os.environ[UNLOCKED] = "1"
        with contextlib.redirect_stderr(io.StringIO()):
            self.mirror.source("qemu", self.folder)
        self.assertTrue((self.folder / "qemu_10.0.3.orig.tar.xz").exists())

    def test_source_of_the_guests_version(self) -> None:
        """Another than the guest's fio would not do, free versions or not."""
        os.environ[UNLOCKED] = "1"
        with self.refused("gone from this machine's Debian mirror: qemu 1:10.0.1-1"):
            self.mirror.source("qemu", self.folder, "1:10.0.1-1")

    def test_option(self) -> None:
        """--unlocked is for every command, and for what it starts."""
        with contextlib.redirect_stdout(io.StringIO()):
            cli.main(["devices", "--unlocked"])
        self.assertTrue(locks.unlocked())


class Python(Locked):
    """Wheels: pip itself, whose registry is a folder."""

    def setUp(self) -> None:
        super().setUp()
        self.registry = self.folder / "registry"
        self.registry.mkdir()
        environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.registry)}
        for patch in (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(locks, "FOLDER", self.folder),
            mock.patch.dict(venv.LOCKED, {("scarp-x==1.0",): "x"}),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.lock(self.wheel("1.0"))

    def wheel(self, version: str, text: str = "") -> str:
        path = self.registry / f"scarp_x-{version}-py3-none-any.whl"
        info = f"scarp_x-{version}.dist-info"
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("scarp_x.py", text)
            made.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: scarp-x\nVersion: {version}\n"
            )
            made.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            made.writestr(f"{info}/RECORD", "")
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def lock(self, sha256: str) -> None:
        text = f"scarp-x==1.0 \\\n    --hash=sha256:{sha256}\n"
        (self.folder / "python-x.txt").write_text(text)

    def get(self) -> list[str]:
        arguments = ("download", "--quiet", "--no-deps", "--dest", str(self.folder / "got"))
        with contextlib.redirect_stderr(io.StringIO()):
            venv.obtain(Path(sys.executable), ("scarp-x==1.0",), *arguments)
        return sorted(path.name for path in (self.folder / "got").iterdir())

    def test_as_locked(self) -> None:
        self.wheel("2.0")
        self.assertEqual(self.get(), ["scarp_x-1.0-py3-none-any.whl"])

    def test_checksum_differs(self) -> None:
        self.wheel("1.0", "other")
        for free in ("", "1"):
            os.environ[UNLOCKED] = free
            with self.refused("scarp-x==1.0: its SHA-256 is not the one in scripts/locks/python-x"):
                self.get()

    def test_gone(self) -> None:
        (self.registry / "scarp_x-1.0-py3-none-any.whl").unlink()
        self.wheel("2.0")
        with self.refused(r"gone from this machine's Python registry: scarp-x 1.0; --unlocked "):
            self.get()
        os.environ[UNLOCKED] = "1"
        self.assertEqual(self.get(), ["scarp_x-2.0-py3-none-any.whl"])
        self.assertIn("not as locked: scarp-x: 1.0 is gone", locks.report()[0])

    def test_no_registry(self) -> None:
        (self.registry / "scarp_x-1.0-py3-none-any.whl").unlink()
        with self.refused("scarp-x 1.0: the Python registry cannot be reached"):
            self.get()


class Files(unittest.TestCase):
    """The locks of this checkout."""

    def test_complete(self) -> None:
        """All that the programs ask for is locked."""
        for wanted in update_locks.DEBIAN_SETS:
            self.assertIsNotNone(locks.debian().closure(wanted), wanted)
        for name in update_locks.DEBIAN_SOURCES:
            self.assertEqual(len(locks.debian().sources[name].files), 1)
        for packages in venv.LOCKED:
            text = venv.lock_file(packages).read_text()
            for package in packages:
                name, _, version = package.partition("==")
                name = re.sub(r"\[.*", "", name).replace(".", "-")
                pinned = rf"(?m)^{name}=={re.escape(version)}"
                self.assertRegex(text, pinned, f"{package}: make update-locks")

    def test_format(self) -> None:
        lock = locks.debian()
        self.assertEqual(update_locks.debian_text(lock), locks.DEBIAN.read_text())
        for sha256 in [x[1] for x in lock.packages.values()]:
            self.assertRegex(sha256, "^[0-9a-f]{64}$")

    def test_no_host(self) -> None:
        """Where it is fetched from is the machine's own business."""
        for path in locks.FOLDER.iterdir():
            self.assertNotRegex(path.read_text(), r"://|\.(org|com|net|io)\b", path.name)

    def test_every_wheel_has_a_checksum(self) -> None:
        for path in locks.FOLDER.glob("*.txt"):
            text = re.sub(r"(?m)^#.*\n", "", path.read_text())
            for block in re.split(r"\n(?=\S)", text):
                self.assertRegex(
                    block, r"^[a-z0-9-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+\s*$"
                )


class Updating(Apt):
    """Says which of apt's commands ran, and whether another builder could have run one."""

    def __init__(self) -> None:
        super().__init__()
        self.alone: dict[str, bool] = {}

    def _run(self, *command: str, cwd: Path | None = None) -> str:
        with (cache.cache_dir() / "apt.lock").open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.alone[command[1]] = False
            except BlockingIOError:
                self.alone[command[1]] = True
        if command[1] == "download" and cwd:
            (cwd / "fio_3.39-1_amd64.deb").write_bytes(b"fio")
        return "Version: 1:10.0.2-1\n" if command[1] == "showsrc" else ""


class Together(Locked):
    """Several builders with one state of apt: a new user's QEMU and guest are built at once."""

    def setUp(self) -> None:
        super().setUp()
        os.environ["SCARP_DEBIAN_MIRROR"] = "https://mirror/debian"  # Locked puts back what was
        keyring = self.folder / "keyring.gpg"
        keyring.touch()
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(Apt, "_updated", False))
            stack.enter_context(mock.patch.object(private_apt, "_KEYRING", keyring))
            self.addCleanup(stack.pop_all().close)

    def test_sources_are_not_written_while_another_reads(self) -> None:
        apt = Updating()
        sources = apt.state / "scarp.sources"
        sources.write_text("what another reads\n")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            with cache.locked("apt"):
                other = threading.Thread(target=apt.update)
                other.start()
                other.join(0.2)
                self.assertEqual(sources.read_text(), "what another reads\n")
            other.join()
        self.assertIn("deb-src", sources.read_text())

    def test_every_command_is_alone(self) -> None:
        apt = Updating()
        with contextlib.redirect_stderr(io.StringIO()):
            apt.closure(["busybox"])
            apt.fetch(["fio=3.39-1"])
            apt.source("curl", self.folder, "1:10.0.2-1")
        self.assertEqual(
            apt.alone,
            dict.fromkeys(("update", "install", "download", "showsrc", "source"), True),
        )


class TwoMachines(unittest.TestCase):
    """Two caches that know nothing of each other: `scarp manifest` says the same."""

    def manifest(self, home: str, *options: str) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "XDG_CACHE_HOME": home}
        done = subprocess.run(
            [str(SCRIPTS / "scarp"), "manifest", *options],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_of_the_checkout(self) -> None:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            text = self.manifest(one)
            self.assertEqual(text, self.manifest(other))
        found = json.loads(text)
        self.assertEqual(found["qemu"]["engine"], qemu.engine_hash())
        self.assertEqual(found["not_as_locked"], {})
        self.assertIn("fio", found["guest"])

    def test_what_is_made_of_it(self) -> None:
        """Kernel, initramfs and firmware, unpacked and packed anew; only the download is shared."""
        image.ensure_image()
        qemu.ensure_firmware()
        usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        own = self.manifest(str(usual), "--built")
        with tempfile.TemporaryDirectory() as fresh:
            (Path(fresh) / "scarp").mkdir()
            (Path(fresh) / "scarp" / "packages").symlink_to(usual / "scarp" / "packages")
            other = self.manifest(fresh, "--built")
        self.assertEqual(json.loads(own)["built"], json.loads(other)["built"])


if __name__ == "__main__":
    unittest.main()
