# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input ends in one clear line that names the key, before a guest boots."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from fixture import DESCRIPTION, DriveTest, controller, namespace
from machine import start_fails


class Refused(DriveTest):
    def refuse(self, args: list[str], *words: str) -> None:
        text = start_fails(self.qemu, args)
        self.assertEqual(len(text.splitlines()), 1, text)
        for word in words:
            self.assertRegex(text, re.compile(word, re.IGNORECASE))

    def flash(self, more: str = "", description: Path | str = DESCRIPTION) -> list[str]:
        return ["-device", f"nvme-flash,id=f0,description={description}{more}"]

    def test_unknown_scheme(self) -> None:
        self.refuse(self.flash(",scheme=basline"), "basline", "baseline", "ideal")

    def test_unknown_property(self) -> None:
        self.refuse(self.flash(",shceme=ideal"), "shceme")

    def test_missing_description(self) -> None:
        self.refuse(["-device", "nvme-flash,id=f0"], "description")
        self.refuse(self.flash(description="/nonexistent/drive.ini"), "/nonexistent/drive.ini")

    def test_unknown_override(self) -> None:
        self.refuse(self.flash(",overrides=geometry.chanels=4"), "chanels")

    def test_override_out_of_range(self) -> None:
        self.refuse(self.flash(",overrides=geometry.channels=0"), "channels")
        self.refuse(self.flash(",overrides=geometry.channels=many"), "channels")

    def test_unknown_clock(self) -> None:
        self.refuse(self.flash(",clock=sundial"), "clock", "sundial", "virtual", "realtime")

    def test_two_clocks(self) -> None:
        """A guest whose time is its instructions would not see the host's."""
        icount = ["-machine", "accel=tcg", "-icount", "shift=1,sleep=off", "-S"]
        self.refuse([*icount, *self.flash(",clock=realtime")], "clock: ", "realtime", "-icount")

    def test_switch_at_an_instant(self) -> None:
        at = ",switch-at-ns=5"
        self.refuse(self.flash(at), "switch-to", "needs the other")
        self.refuse(self.flash(",switch-to=pgc"), "switch-at-ns", "needs the other")
        self.refuse(self.flash(f"{at},switch-to=nonsense"), "scheme=nonsense: unknown")
        self.refuse(self.flash(f"{at},switch-to=pgc:floor=1"), "has no parameter 'floor'")
        self.refuse(self.flash(f"{at},switch-to=dynamic"), "keeps its kind of write allocation")
        self.refuse(self.flash(f"{at},switch-to=pgc,clock=realtime"), "switch-at-ns", "realtime")
        late = ",switch-at-ns=9223372036854775807,switch-to=pgc"
        self.refuse(self.flash(late), "switch-at-ns", "out of range")

    def test_core(self) -> None:
        self.refuse(self.flash(",cpu=0"), "cpu: ", "clock=realtime")
        real = ",clock=realtime"
        self.refuse(self.flash(f"{real},cpu=4095"), "cpu: 4095", "not a core of the host")
        self.refuse(self.flash(f"{real},cpu=-2"), "cpu: -2", "-1 is any")

    def test_priority(self) -> None:
        self.refuse(self.flash(",priority=1"), "priority: ", "clock=realtime")
        self.refuse(self.flash(",clock=realtime,priority=100"), "priority: 100", "0 to 99")

    def test_a_core_for_nobody_else(self) -> None:
        """A thread with priority neither polls without a break nor shares its core."""
        core = min(os.sched_getaffinity(0))
        real = f",clock=realtime,priority=1,cpu={core}"
        self.refuse(
            self.flash(f"{real},spin-ns=10000001"),
            "spin-ns: 10000001",
            "0 to 10000000 with priority$",
        )
        other = ["-device", f"nvme-flash,id=f1,description={DESCRIPTION}{real}"]
        self.refuse([*self.flash(real), *other], f"cpu: {core}", "another drive")

    def test_age(self) -> None:
        self.refuse(self.flash(",age=1001"), "age", "1000")
        self.refuse(self.flash(",age=900,age-pattern=spiral"), "spiral")
        self.refuse(self.flash(",age-seed=3"), "age-seed", "need")
        self.refuse(self.flash(",age=-1"), "age")

    def test_image(self) -> None:
        self.refuse(self.flash(",image=/nonexistent/aged.img"), "image=/nonexistent", "No such")
        self.refuse(self.flash(f",image={DESCRIPTION}"), "image=", "not a drive image")
        self.refuse(self.flash(f",age=900,image={DESCRIPTION}"), "age", "image")

    def test_log_that_cannot_be_written(self) -> None:
        for key in ("cmd-log", "gc-log", "change-log", "progress", "trace"):
            self.refuse(self.flash(f",{key}=/nonexistent/log"), key, "/nonexistent/log")

    def test_logs_in_the_place_of_others(self) -> None:
        """And nothing that was there is lost, by these nor by any other refusal."""
        with tempfile.TemporaryDirectory(prefix="scarp-qtest-") as folder:
            old, new = Path(folder) / "old", Path(folder) / "new"
            old.write_text("precious")
            link = Path(folder) / "link"
            link.symlink_to(old)
            for more, *words in (
                (f"image={old},cmd-log={old}", "cmd-log: ", "'image' of this drive"),
                (f"image={old},trace={link}", "trace: ", "'image' of this drive"),
                (f"cmd-log={old},gc-log={link}", "gc-log: ", "'cmd-log' of this drive"),
                (f"cmd-log={new},progress={new}", "progress: ", "'cmd-log' of this drive"),
                (f"clock=realtime,cmd-log={old},lateness-log={old}", "lateness-log: ", "'cmd-log'"),
                (f"clock=realtime,cmd-log={old},data-log={new}", "data-log: ", "excludes"),
                (f"cmd-log={old},trace-from-ns=5", "trace-from-ns", "need"),
                (f"cmd-log={old},gc-log={new}/x", "gc-log: cannot create", "No such file"),
                (f"cmd-log={old},progress={old}/x", "progress: cannot create", "Not a directory"),
                (f"cmd-log={old},trace={folder}", "trace: ", "is a folder"),
            ):
                with self.subTest(more):
                    self.refuse(self.flash(f",{more}"), *words)
                    self.assertEqual((old.read_text(), new.exists()), ("precious", False))
            other = ["-device", f"nvme-flash,id=f1,description={DESCRIPTION},gc-log={new}"]
            self.refuse(
                [*self.flash(f",cmd-log={new}"), *other], "gc-log: ", "'cmd-log' of another drive"
            )
            copy = Path(folder) / "copy.ini"
            copy.write_bytes(DESCRIPTION.read_bytes())
            self.refuse(self.flash(f",cmd-log={copy}", copy), "cmd-log: ", "'description'")
            self.assertEqual(copy.read_bytes(), DESCRIPTION.read_bytes())

    def test_window_without_a_trace(self) -> None:
        self.refuse(self.flash(",trace-from-ns=5"), "trace-from-ns", "need")
        self.refuse(
            self.flash(",trace={dir}/t,trace-for-ns=9223372036854775807"), "trace-for-ns", "allowed"
        )

    def test_two_devices_with_one_id(self) -> None:
        self.refuse(self.flash() + self.flash(), "f0")

    def test_namespace_without_its_flash(self) -> None:
        self.refuse(controller() + namespace("f9"), "f9")

    def test_namespace_size(self) -> None:
        start = self.flash() + controller()
        self.refuse(start + namespace(more=",size=1T"), "size")
        self.refuse(start + namespace(more=",size=5000"), "size", "unit")
        small = self.flash(",overrides=ftl.unit_bytes=2048") + controller()
        block = ",logical_block_size=4096,physical_block_size=4096"
        self.refuse(small + namespace(more=f",size=2048{block}"), "size: 2048", "4096 bytes")
        self.refuse(start + namespace() + namespace(more=",nsid=2"), "left")
        self.refuse([*start, "-device", "nvme-ns,bus=nvme0,size=1M"], "size", "flash")

    def test_drive_and_flash(self) -> None:
        self.refuse(
            [
                "-blockdev",
                "null-co,node-name=n0",
                *self.flash(),
                *controller(),
                *namespace(more=",drive=n0"),
            ],
            "drive",
            "flash",
        )

    def test_metadata(self) -> None:
        self.refuse(self.flash() + controller() + namespace(more=",ms=8"), "ms")
        self.refuse(self.flash() + controller() + namespace(more=",ms=8,pi=1"), "ms")
