# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's own guest without one: arguments, the guest's task, and what is made of its files."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import sys
import tempfile
import types
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from refused import Refused  # noqa: E402
from scarplib import cli  # noqa: E402
from scarplib.device_logs.log_file import LogError  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest import script, shell, user_guest, user_kernel, user_packages  # noqa: E402
from scarplib.guest.file_system import FileSystem, check_room, chosen  # noqa: E402
from scarplib.guest.image import GuestImage  # noqa: E402
from scarplib.guest.job import Job, start_text, user_text  # noqa: E402
from scarplib.guest.user_guest import User  # noqa: E402
from scarplib.guest.user_task import UserTask  # noqa: E402
from scarplib.results import file_system, summary  # noqa: E402
from scarplib.results import script as results_script  # noqa: E402
from scarplib.results.table import table_text  # noqa: E402
from scarplib.runs import run  # noqa: E402

DATABASE = ROOT / "fio-jobs" / "database.fio"
MIB = 1 << 20


def bzimage(version: str = "6.1.2-mine #1 SMP") -> bytes:
    """As much of one as is looked at."""
    head = bytearray(0x1000)
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x20E, 0x300)
    text = version.encode() + b"\0"
    head[0x500 : 0x500 + len(text)] = text
    return bytes(head)


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def file(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def script_files(self, folder: Path, latencies: str) -> None:
        """What a guest leaves whose script wrote 10,000 bytes in 30 ms."""
        synthetic.write_scheme(folder, "baseline", count=400)
        (folder / "fio.json").unlink()
        (folder / "script.log").write_text("hello\n")
        done = synthetic.stats_page("baseline", synthetic.BEGIN_NS + 30_000_000, {})
        (folder / "stats-done.bin").write_bytes(done)
        (folder / "written-begin").write_text("5000\n")
        (folder / "written-end").write_text("15000\n")
        (folder / "files").mkdir()
        (folder / "files" / "latencies").write_text(latencies)


class Arguments(Folder, Refused):
    def test_one_line_before_anything_is_fetched(self) -> None:
        self.enterContext(mock.patch.object(run, "ensure_qemu", self.fail))
        self.enterContext(mock.patch.object(run, "prepare", self.fail))
        self.enterContext(mock.patch.object(user_guest, "ensure_image", self.fail))
        good = str(self.file("good.sh", b"true\n"))
        other = str(self.file("other/good.sh", b"true\n"))
        empty = str(self.file("empty.sh", b" \n"))
        bash = str(self.file("bash.sh", b"#!/bin/bash\ntrue\n"))
        plain = str(self.file("plain", b"no kernel at all"))
        kernel = str(self.file("bzImage", bzimage()))
        for arguments, *words in (
            (("--job", str(DATABASE), "--script", good), "--script", "excludes --job"),
            (("--script", str(self.folder / "none")), "--script", "No such file"),
            (("--script", empty), "--script", "empty"),
            (("--script", bash), "#!/bin/bash", "--packages"),
            (("--script", good, "--file", "none"), "--file", "no such file"),
            (("--script", good, "--file", good, "--file", other), "--file", "two files"),
            (("--file", good), "--file", "--script"),
            (("--packages", "sqlite3"), "--packages", "needs --script"),
            (("--script", good, "--packages", "sqlite3,"), "--packages", "''"),
            (("--script", good, "--packages", "Sqlite3"), "--packages", "lower-case"),
            (("--fs", "ntfs"), "--fs", "ntfs", "btrfs"),
            (("--fs", "xfs,xfs"), "--fs", "twice"),
            (("--trim",), "--trim", "--fs"),
            (("--mount-options", "noatime"), "--mount-options", "--fs"),
            (("--fs", "xfs", "--mount-options", "ext4:discard"), "ext4", "--fs has no"),
            (("--fs", "xfs", "--mount-options", "a b"), "--mount-options", "a b"),
            (("--fs", "xfs", "--job", str(ROOT / "fio-jobs" / "demo.fio")), "${SCARP_DIR}"),
            (("--job", str(DATABASE)), "${SCARP_DIR}", "--fs"),
            (("--kernel", plain), "--kernel", "HdrS"),
            (("--kernel", str(self.folder / "none")), "--kernel", "No such file"),
            (("--modules", str(self.folder)), "--modules", "--kernel"),
            (("--modules", str(self.folder), "--kernel", "debian"), "--modules", "--kernel"),
            (("--kernel", "debian", "--kernel", "debian"), "--kernel", "twice"),
            (("--kernel", "debian", "--kernel", kernel, "--fs", "ext4,xfs"), "--kernel", "--fs"),
            (("--drives", "2", "--trace", "blk"), "--drives"),
            (("--kernel", kernel, "--modules", str(self.folder)), "--modules", "no .ko"),
            (("--kernel", kernel, "--modules", plain), "--modules", "no such folder"),
            (("--memory", "1"), "--memory", "256"),
            (("--fs", "ext4", "--drives", "2"), "--drives", "--fs"),
        ):
            with self.subTest(arguments):
                line = self.error("run", *arguments)
                self.assertTrue(line.startswith("scarp: error: "), line)
                for word in words:
                    self.assertIn(word, line)

    def test_a_package_that_debian_has_not(self) -> None:
        good = str(self.file("good.sh", b"true\n"))
        unknown = UserError("apt-get install --simulate: E: Unable to locate package nonesuch")
        virtual = UserError("apt-get …: E: Package 'nonesuch' has no installation candidate")
        for error in (unknown, virtual):
            with (
                mock.patch.object(user_packages, "ensure_sysroot", side_effect=error),
                mock.patch.object(user_guest, "ensure_image"),
            ):
                line = self.error("run", "--script", good, "--packages", "nonesuch")
            self.assertIn("no package 'nonesuch'", line)


class Kernel(Folder):
    def test_version_and_modules(self) -> None:
        path = self.file("bzImage", bzimage("6.9.0-x y z"))
        info = b"\0depends=nvme-core\0vermagic=6.9.0-x SMP\0"
        self.file("modules/nvme.ko", info)
        self.file("modules/deep/nvme-core.ko", b"\0depends=\0vermagic=6.9.0-x SMP\0")
        kernel = user_kernel.read(path, self.folder / "modules")
        self.assertEqual(kernel.version, "6.9.0-x")
        names = list(kernel.content(["xfs"]))
        # What it needs goes before it; what the folder does not have must be built in.
        self.assertEqual([n.split("-", 2)[2] for n in names], ["nvme-core.ko", "nvme.ko"])
        self.assertEqual(names, sorted(names))
        other = user_kernel.read(self.file("other", bzimage("6.8.0")), self.folder / "modules")
        with self.assertRaisesRegex(UserError, "6.9.0-x.*6.8.0"):
            other.content([])

    def test_a_folder_with_modules_of_several_kernels(self) -> None:
        path = self.file("bzImage", bzimage("6.9.0-x y z"))
        self.file("lib/modules/6.9.0-x/nvme.ko", b"\0depends=\0vermagic=6.9.0-x SMP\0")
        self.file("lib/modules/6.8.0/nvme.ko", b"\0depends=\0vermagic=6.8.0 SMP\0")
        kernel = user_kernel.read(path, self.folder / "lib")
        self.assertEqual(len(kernel.content([])), 1)
        # No pattern: it would be the first one's.
        self.file("lib/modules/6.[5-9].0/nvme.ko", b"\0depends=\0vermagic=6.[5-9].0 SMP\0")
        path = self.file("odd", bzimage("6.[5-9].0 y z"))
        found = user_kernel.read(path, self.folder / "lib")
        self.assertEqual(found.modules, self.folder / "lib" / "modules" / "6.[5-9].0")

    def test_several_are_compared(self) -> None:
        base = GuestImage(Path("k"), Path("i"), {"kernel_package": "linux-image-6.12-cloud 6.12.1"})
        one, two = (self.file(name, bzimage(f"{name} x")) for name in ("6.1.0-a", "6.9.0-b"))
        with mock.patch.object(user_guest, "ensure_image", return_value=base):
            prepared = user_guest.prepare(User(kernels=(None, one, two)), DATABASE)
            found = prepared.guests
            wanted = {"kernel 6.12-cloud": Path("k"), "kernel 6.1.0-a": one, "kernel 6.9.0-b": two}
            wanted |= {f"initramfs {name}": Path("i") for name in found}
            self.assertEqual(prepared.inputs, wanted)
            self.assertEqual(list(found), ["6.12-cloud", "6.1.0-a", "6.9.0-b"])
            self.assertEqual([g.image.kernel for g in found.values()], [Path("k"), one, two])
            self.assertEqual(list(user_guest.prepare(User(kernels=(one,)), DATABASE).guests), [""])
            again = self.file("again", bzimage("6.1.0-a x"))
            with self.assertRaisesRegex(UserError, "two of them are of version 6.1.0-a"):
                user_guest.prepare(User(kernels=(one, again)), DATABASE)

    def test_other_modules_are_another_manifest(self) -> None:
        path = self.file("bzImage", bzimage("6.9.0-x y z"))
        base = GuestImage(Path("k"), Path("i"), {})
        said = []
        for more in (b"", b"", b"patched"):
            self.file("modules/nvme.ko", b"\0depends=\0vermagic=6.9.0-x SMP\0" + more)
            with mock.patch.object(user_guest, "ensure_image", return_value=base):
                user = User(kernels=(path,), modules=self.folder / "modules")
                said.append(user_guest.prepare(user, DATABASE).settings["modules"])
        self.assertEqual(list(said[0]), ["6.9.0-x"])
        self.assertEqual(said[0], said[1])
        self.assertNotEqual(said[1], said[2])

    def test_no_drive_is_said_in_a_line(self) -> None:
        said = user_guest.said("booting\nscarp: end no drive\n[ 6.0] reboot\n")
        self.assertIn("BLK_DEV_NVME", said or "")
        self.assertIsNone(user_guest.said("echo scarp: end no drive or so\nscarp: end status 1\n"))

    def test_a_kernel_that_gets_nowhere_is_told_what_it_needs(self) -> None:
        self.assertIn("DEVTMPFS", user_kernel.stuck("[ 0.5] Kernel panic: no init\n"))
        self.assertEqual(user_kernel.stuck("scarp: ready 1.5\nscarp: end status 1\n"), "")


class FileSystems(unittest.TestCase):
    def test_mount_options_for_all_and_for_one(self) -> None:
        found = chosen(["ext4", "xfs"], ["noatime", "ext4:data=journal,discard"], True)
        self.assertEqual(
            found,
            [
                FileSystem("ext4", "noatime,data=journal,discard", True),
                FileSystem("xfs", "noatime", True),
            ],
        )

    def test_the_drive_stays_as_it_is_unless_asked(self) -> None:
        for name, keep in (("ext4", "nodiscard"), ("xfs", " -K"), ("btrfs", " -K"), ("f2fs", "-t")):
            self.assertIn(keep, FileSystem(name).make("/dev/x"))
            self.assertNotIn(keep, FileSystem(name, trim=True).make("/dev/x"))

    def test_a_drive_that_is_too_small(self) -> None:
        check_room(["ext4", "xfs", "btrfs"], 300 * MIB)
        with self.assertRaisesRegex(UserError, "xfs needs .* 300 MiB; this one has 299 MiB"):
            check_room(["ext4", "xfs"], 299 * MIB)


class Task(Folder):
    def order(self, text: str, *words: str) -> None:
        at = 0
        for word in words:
            self.assertIn(word, text[at:])
            at = text.index(word, at) + len(word)

    def test_a_job_in_a_file_system(self) -> None:
        task = UserTask(file_system=FileSystem("xfs", "noatime"), fio_job=DATABASE)
        self.order(
            user_text(-2, task),
            *("mkfs.xfs", "mount -t xfs -o noatime", "SCARP_DIR=/mnt", "0xfffffffe"),
            *("lay-out.fio", "scarp-start", "\nfio ", "stats-done", "umount /mnt", "stats-end"),
        )
        made = task.content()["lay-out.fio"]
        self.assertIsInstance(made, bytes)
        self.assertIn(b"create_only=1", made if isinstance(made, bytes) else b"")
        self.order(start_text(), "sync", "--cdw10=2", "stats-begin", "written-begin")

    def test_a_script_in_the_root_of_packages(self) -> None:
        path = self.file("x.py", b"#!/usr/bin/python3\n")
        task = UserTask(script=script.Script(path), packages=True)
        text = user_text(-2, task)
        self.assertNotIn("mkfs", text)
        self.assertNotIn("\nfio ", text)
        self.order(
            text, "t squashfs", "t overlay", "scarp-start", "chroot", "stats-done", "stats-end"
        )
        self.assertIn("exec /scarp/script", text)
        bare = UserTask(script=script.Script(self.file("y", b"echo\n")))
        self.assertIn("exec sh /scarp/script", user_text(-2, bare))

    def test_a_prompt_has_the_users_terminal(self) -> None:
        text = shell.task_text(UserTask(), -2, shell.Terminal("vt220", 37, 113))
        self.order(text, "TERM=vt220", "stty rows 37 cols 113 </dev/ttyS0", "setsid -c sh -i")
        # Of a pipe nothing is known.
        self.assertNotIn("rows", shell.task_text(UserTask(), -2, shell.Terminal()))

    def test_interpreters(self) -> None:
        for data, wanted in (
            (b"echo\n", "/bin/sh"),
            (b"#!/bin/sh -e\n", "/bin/sh"),
            (b"#! /usr/bin/env python3\n", "/usr/bin/env"),
            (b"\x7fELF\x02", ""),
        ):
            self.assertEqual(script.interpreter(data), wanted)
        path = self.file("s", b"#!/bin/bash\n")
        self.file("root/usr/bin/bash", b"")
        (self.folder / "root" / "bin").symlink_to("usr/bin")
        self.assertEqual(script.check(path, [], self.folder / "root").path, path)


class Results(Folder):
    def test_a_scripts_own_latencies(self) -> None:
        folder = self.folder / "baseline"
        self.script_files(folder, "commit 1000\ncommit 3000\nread 50\nread 60 9\n")
        found = summary.load_scheme(folder, "baseline").summary
        self.assertEqual(found["script"]["ns"], 30_000_000)
        self.assertEqual(found["script"]["written_bytes"], 10_000)
        self.assertEqual(found["script"]["operations"]["commit"]["mean_ns"], 2000)
        self.assertEqual(found["script"]["operations"]["read"]["count"], 10)
        # Without fio it is the drive that has seen the I/O.
        self.assertEqual(found["fio"]["read"]["p99_ns"], found["device"]["read"]["p99_ns"])
        self.assertGreater(found["fio"]["read"]["iops"], 0)
        text = table_text({"baseline": found})
        for words in (r"reads at the drive", r"commit \(the script's\)", r"virtual +30.0 ms"):
            self.assertRegex(text, words)

    def test_a_line_that_is_none(self) -> None:
        path = self.file("latencies", b"commit 5\ncommit 5 ms\n")
        with self.assertRaisesRegex(LogError, "line 2: 'commit 5 ms'"):
            results_script.operations(path)

    def test_so_many_operations_that_they_do_not_fit(self) -> None:
        path = self.file("latencies", b"a 1 20\nb 1\na 1 100\nb 1\n")
        with (
            mock.patch.object(results_script, "_MOST", 100),
            self.assertRaisesRegex(LogError, "line 3: more than 100 operations"),
        ):
            results_script.operations(path)
        with mock.patch.object(results_script, "_MOST", 122):
            found = results_script.operations(path)
        self.assertEqual({name: len(values) for name, values in found.items()}, {"a": 120, "b": 2})

    def test_schemes_whose_names_begin_alike_are_two_columns(self) -> None:
        # The drive tells the first 31 letters of a scheme's name.
        long = "global+cost-benefit+flash-aware+"
        found = {}
        for number, column in enumerate(
            f"{system}-{long}{more}" for system in ("ext4", "xfs") for more in ("background", "pgc")
        ):
            system = column.partition("-")[0]
            found[column] = {
                "scheme": long[:31],
                "fio": {"read": {"p50_ns": (number + 1) * 1_000_000}},
                "write_amplification": 1.0,
                "file_system": {"name": system, "amplification": 1.0, "discarded_bytes": 0},
            }
        made = file_system.matrix(found)
        assert made
        self.assertEqual(made[0], [f"{long}background", f"{long}pgc"])
        self.assertEqual(
            made[1][1:3],
            [("  ext4", ["1.00 ms", "2.00 ms"]), ("  xfs", ["3.00 ms", "4.00 ms"])],
        )

    def test_amplification_apart(self) -> None:
        folder = self.folder / "x"
        self.script_files(folder, "")
        stats = {"write_bytes": 25_000, "deallocates": 3, "deallocated_units": 512}
        found = file_system.figures("xfs", {"stats": stats, "script": {}}, folder, 4096)
        self.assertEqual(found["amplification"], 2.5)
        self.assertEqual((found["discards"], found["discarded_bytes"]), (3, 2 * MIB))

    def test_fio_counts_what_it_wrote_and_made_durable(self) -> None:
        folder = self.folder / "x"
        synthetic.write_scheme(folder, "baseline", count=400)
        made = json.loads((folder / "fio.json").read_text().split("\n", 1)[1])
        job = made["jobs"][0]
        job["write"]["io_bytes"] = 1_000_000
        # fdatasync is not in fio's own count.
        bins = {"5000": 9, "70000": 1}
        synced = {"min": 1, "max": 70000, "mean": 11500.0, "N": 10, "bins": bins}
        job["sync"] = {"total_ios": 0, "lat_ns": synced}
        (folder / "fio.json").write_text(json.dumps(made))
        found = summary.load_scheme(folder, "baseline").summary
        self.assertEqual(found["fio"]["sync"]["p50_ns"], 5000)
        self.assertEqual(found["fio"]["sync"]["p99.9_ns"], 70000)
        self.assertRegex(table_text({"baseline": found}), r"fsync\n +count +10\n")
        found["stats"]["write_bytes"] = 1_500_000
        figures = file_system.figures("ext4", found, folder, 4096)
        self.assertEqual(figures["amplification"], 1.5)


class Matrix(Folder):
    """`compare --fs a,b --schemes x,y` around guests that are only pretended."""

    def setUp(self) -> None:
        super().setUp()
        self.jobs: list[Job] = []
        for name in ("kernel", "initramfs", "drive.ini"):
            self.file(name, name.encode())
        qemu = types.SimpleNamespace(
            version="10.0.x", series_hash="5e", engine_hash="e9", firmware_dir=self.folder
        )
        image = types.SimpleNamespace(
            kernel=self.folder / "kernel", initramfs=self.folder / "initramfs", versions={}
        )
        for module, name, value in (
            (run, "ensure_qemu", lambda: qemu),
            (run, "check_drive", lambda *_: None),
            (run, "aged", self.ager),
            (run, "draw", lambda _: None),
            (run, "run_job", self.guest),
            (user_guest, "ensure_image", lambda *_, **__: image),
        ):
            self.enterContext(mock.patch.object(module, name, value))

    def ager(self, _settings: run.Settings, folder: Path) -> Path:
        units = struct.pack("<7I", *range(7)) * 20_000
        layout = b"ftl.unit_bytes=4096\nftl.over_provisioning_permille=100\n"
        table = b"".join(
            struct.pack("<8sQ16x", name, len(data))
            for name, data in ((b"layout", layout), (b"p2l", units))
        )
        head = struct.pack("<8sIIQ16x", b"SCARPIMG", 1, 2, 0)
        (folder / "drive.img").write_bytes(head + table + layout + units)
        return folder / "drive.img"

    def guest(self, _qemu: object, _image: object, job: Job, _stop: object) -> Any:
        self.jobs.append(job)
        synthetic.write_scheme(job.out, job.scheme, count=400)
        return types.SimpleNamespace(
            reason="ok", console_tail="", wall_seconds=1.0, boot_seconds=1.0
        )

    def scarp(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main(
                [
                    *("compare", "--device", str(self.folder / "drive.ini"), "--jobs", "1"),
                    *("--out", str(self.folder / "out"), *arguments),
                ]
            )
        return status, out.getvalue(), err.getvalue()

    def test_each_file_system_under_each_scheme(self) -> None:
        status, out, err = self.scarp("--fs", "ext4,btrfs", "--schemes", "baseline,pgc")
        self.assertEqual(status, 0, err)
        names = ["ext4-baseline", "ext4-pgc", "btrfs-baseline", "btrfs-pgc"]
        result = json.loads((self.folder / "out" / "summary.json").read_text())
        self.assertEqual(list(result["schemes"]), names)
        self.assertEqual(len({job.image for job in self.jobs}), 1)
        self.assertEqual({job.fio_job for job in self.jobs}, {DATABASE})
        self.assertEqual(result["schemes"]["btrfs-pgc"]["file_system"]["name"], "btrfs")
        self.assertEqual(result["manifest"]["settings"]["file_systems"], ["ext4:", "btrfs:"])
        for words in (
            r"\n +baseline +pgc\n",
            r"write amplification of the file system\n +ext4 .*\n +btrfs",
            r"write amplification of the drive\n +ext4 ",
            r"discarded\n +ext4 ",
        ):
            self.assertRegex(out, words)

    def test_one_file_system_is_the_usual_table(self) -> None:
        status, out, err = self.scarp("--fs", "ext4", "--schemes", "baseline,pgc")
        self.assertEqual(status, 0, err)
        self.assertEqual([job.out.name for job in self.jobs], ["baseline", "pgc"])
        self.assertIn("its write amplification", out)

    def test_a_drive_that_is_too_small_boots_nothing(self) -> None:
        # 140,000 units less a tenth of over-provisioning: 497 MiB.
        with mock.patch.dict("scarplib.guest.file_system._SMALLEST_MIB", {"xfs": 498}):
            status, _, err = self.scarp("--fs", "xfs", "--schemes", "baseline")
        self.assertEqual((status, self.jobs), (1, []))
        self.assertIn("xfs needs a drive of at least 498 MiB; this one has 497 MiB", err)

    def test_a_script_without_io_has_no_report(self) -> None:
        path = self.file("s.sh", b"true\n")

        def guest(_qemu: object, _image: object, job: Job, _stop: object) -> Any:
            self.script_files(job.out, "")
            for name in ("begin", "done", "end"):
                page = synthetic.stats_page("baseline", 10**15, {})
                (job.out / f"stats-{name}.bin").write_bytes(page)
            return types.SimpleNamespace(reason="ok", wall_seconds=1.0, boot_seconds=1.0)

        with mock.patch.object(run, "run_job", guest), mock.patch.object(run, "draw", self.fail):
            status, out, err = self.scarp("--script", str(path), "--schemes", "baseline")
        self.assertEqual(status, 0, err)
        self.assertIn("No I/O reached the drive", out)

    def test_a_script_that_fails(self) -> None:
        path = self.file("s.sh", b"exit 3\n")
        said = "scarp-error: the script ended with status 3\nscarp: end status 3"
        bad = types.SimpleNamespace(reason="task failed", console_tail=said)
        with mock.patch.object(run, "run_job", lambda *_: bad):
            status, _, err = self.scarp("--script", str(path), "--schemes", "baseline")
        self.assertEqual(status, 1)
        self.assertIn("guest 'baseline': the script ended with status 3; its console", err)


if __name__ == "__main__":
    unittest.main()
