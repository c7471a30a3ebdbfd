# SPDX-License-Identifier: GPL-2.0-or-later
"""The search of `scarp fit`: keys that a few steps show, and a drive that is found again.

With SCARP_TEST_ALL=1 in the environment a drive whose map is in flash is met, too, one with noise
is found, and another test looks in more steps: that takes minutes.
"""

from __future__ import annotations

import copy
import functools
import math
import os
import random
import sys
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402
from scarplib.own_drive import (  # noqa: E402
    before,
    bench,
    blocks,
    by_steps,
    early,
    features,
    first_collections,
    fit,
    model,
    on_replayer,
    probe_file,
)
from scarplib.own_drive.plan import MIB, SIZES, Plan  # noqa: E402

# The host's link is slower than a channel: two reads of one channel show nothing.
DRIVE = """
[geometry]
channels=1
chips_per_channel=4
dies_per_chip=1
planes_per_die=1
blocks_per_plane=90
pages_per_block=32
page_bytes=8192
[nand]
cell_bits=1
suspend_program=0
suspend_erase=0
[timing]
read_ns=40000
program_ns=400000
erase_ns=4638000
channel_mts=1200
command_ns=200
[controller]
firmware_ns=7000
link_mbs=1000
buffer_bytes=0
reads_first=1
[ftl]
unit_bytes=8192
over_provisioning_permille=250
[gc]
trigger_free_blocks=2
"""
# Pages of two types, in two planes of a die: 64 in a row are of one type, in place of 32.
TWO_PLANES = {
    "channels=1": "channels=8",
    "planes_per_die=1": "planes_per_die=2",
    "blocks_per_plane=90": "blocks_per_plane=40",
    "page_bytes=8192": "page_bytes=4096",
    "unit_bytes=8192": "unit_bytes=4096",
    "cell_bits=1": "cell_bits=2",
    "read_ns=40000": "read_ns=77000;96250",
    "program_ns=400000": "program_ns=365000;730000",
    "channel_mts=1200": "channel_mts=533",
    "link_mbs=1000": "link_mbs=1600",
    "buffer_bytes=0": "buffer_bytes=1048576",
}
# Of 32 pages of a block one in three is of each type; the third is one short.
THREE_TYPES = {
    "channels=1": "channels=4",
    "chips_per_channel=4": "chips_per_channel=2",
    "blocks_per_plane=90": "blocks_per_plane=60",
    "unit_bytes=8192": "unit_bytes=4096",
    "cell_bits=1": "cell_bits=3",
    "read_ns=40000": "read_ns=77000;96250;115500",
    "program_ns=400000": "program_ns=305000;610000;915000",
    "channel_mts=1200": "channel_mts=400",
    "link_mbs=1000": "link_mbs=3200",
}
ALL = bool(os.environ.get("SCARP_TEST_ALL"))
DEMAND = "mapping=demand\nmap_cache_bytes=32768\nunit_bytes=8192"


def keys(text: str) -> dict[str, str]:
    """Of a description."""
    found, group = {}, ""
    for line in text.split():
        if line.startswith("["):
            group = line.strip("[]")
        else:
            name, value = line.split("=")
            found[f"{group}.{name}"] = value
    return found


def point_of(search: blocks.Search, drive: dict[str, str]) -> bench.Point:
    """What is searched, as a description has it."""
    found = bench.Point(
        int(drive["geometry.pages_per_block"]),
        0.2,
        int(drive["timing.erase_ns"]),
        int(drive["geometry.planes_per_die"]),
        int(drive["gc.trigger_free_blocks"]),
    )
    return search.with_blocks(found, int(drive["geometry.blocks_per_plane"]))


@functools.cache
def probed(text: str) -> probe_file.Probe:
    """A drive's probe, which several tests look at: each takes a copy."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "drive.ini"
        path.write_text(text)
        drive = on_replayer.Replayed(replayer.ensure_replay(), path, Path(scratch))
        size = drive.logical_bytes()
        return on_replayer.probe(drive, Plan(size // MIB * MIB), size=size)


@functools.cache
def stepped(text: str) -> tuple[model.Model, features.Features, list[int]]:
    """What the steps before blocks are looked for find of that drive."""
    probe = copy.deepcopy(probed(text))
    seen = features.read_off(probe)
    base = model.from_features(seen)
    cached = seen.map_cached is not None
    with tempfile.TemporaryDirectory() as scratch:
        measured_with = bench.Bench(probe, replayer.ensure_replay(), Path(scratch), cached)
        alike = by_steps.channels(measured_with, base)
        by_steps.times(measured_with, base, seen)
        if cached:
            by_steps.cache(measured_with, base)
    return base, seen, alike


class Found(unittest.TestCase):
    """A drive whose probe there is."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def probe(self, text: str) -> probe_file.Probe:
        return copy.deepcopy(probed(text))

    def search(self, text: str) -> tuple[blocks.Search, features.Features, list[int]]:
        """Before blocks are looked for."""
        probe = self.probe(text)
        base, seen, alike = copy.deepcopy(stepped(text))
        cached = seen.map_cached is not None
        measured_with = bench.Bench(probe, replayer.ensure_replay(), self.folder, cached)
        return blocks.Search(measured_with, base, fit.Search()), seen, alike

    def test_keys_are_the_drives_to_the_digit(self) -> None:
        for text in (DRIVE, DRIVE.replace("unit_bytes=8192", DEMAND)):
            search, _, _ = self.search(text)
            drive = keys(text)
            whole = bench.sized(search.bench, search.base, point_of(search, drive)).keys
            for name in (
                "timing.read_ns",
                "timing.program_ns",
                "controller.firmware_ns",
                "controller.link_mbs",
                "timing.channel_mts",
                "geometry.blocks_per_plane",
                "geometry.pages_per_block",
                "ftl.over_provisioning_permille",
                "gc.trigger_free_blocks",
            ):
                self.assertEqual(whole[name].value, drive[name], name)

    def test_no_time_at_all(self) -> None:
        # Something is said of each key, and it is a drive.
        found = fit.fit(self.probe(DRIVE), replayer.ensure_replay(), fit.Search(seconds=0))
        self.assertEqual((found.tried, found.misfit), (0, blocks.WORST))
        self.assertIn("gc.separate_active_block", found.model.keys)
        self.assertTrue(found.figures)

    def test_the_drive_itself_is_not_unlike(self) -> None:
        # A map's cache has what each footprint left there.
        for text in (DRIVE, DRIVE.replace("unit_bytes=8192", DEMAND)):
            search, _, _ = self.search(text)
            whole = model.Model()
            for name, value in keys(text).items():
                whole.set(name, value, model.READ)
            seen = search.bench.run(whole, search.bench.up_to(*bench.SEEN))
            self.assertEqual(bench.misfit(search.bench.probe, seen), 0.0)

    def test_reads_that_go_first_where_the_map_is_in_flash(self) -> None:
        text = DRIVE.replace("unit_bytes=8192", DEMAND).replace(
            "suspend_program=0", "suspend_program=1"
        )
        text = text.replace("buffer_bytes=0", "buffer_bytes=262144")
        for first in ("0", "1"):
            search, _, _ = self.search(text.replace("reads_first=1", f"reads_first={first}"))
            search.base.set("controller.buffer_bytes", 262144, model.FITTED)
            search.base.keys |= by_steps.with_channels(search.base, 1).keys
            by_steps.reads_first(search.bench, search.base)
            self.assertEqual(search.base.keys["controller.reads_first"].value, first)

    def test_channels_that_reads_do_not_tell_apart(self) -> None:
        search, _, alike = self.search(DRIVE)
        self.assertEqual(alike, [1, 2, 4])
        search.base.keys |= by_steps.with_channels(search.base, 4).keys
        off = bench.Point(32, point_of(search, keys(DRIVE)).spare, 4_600_000, 1)
        point, least = fit._variants(search, search.base, off, alike)  # noqa: SLF001
        self.assertEqual(search.base.keys["geometry.channels"].value, "1")
        self.assertEqual(search.base.keys["geometry.chips_per_channel"].value, "4")
        self.assertEqual((point.erase_ns, point.trigger, least), (4_638_000, 2, 0.0))
        # Where the link is the faster one, reads show it.
        fast = DRIVE.replace("link_mbs=1000", "link_mbs=7000").replace("mts=1200", "mts=400")
        self.assertEqual(self.search(fast)[2], [1])

    def test_channels_show_beside_types_of_pages(self) -> None:
        text = DRIVE
        for old, new in TWO_PLANES.items():
            text = text.replace(old, new)
        search, _, alike = self.search(text)
        base = search.base
        self.assertEqual(alike, [8])
        self.assertEqual(base.keys["geometry.channels"].value, "8")
        self.assertEqual(base.keys["geometry.planes_per_die"].value, "2")
        # The buffer was taken for a smaller one, with blocks of another size.
        base.set(by_steps.BUFFER, 950_272, model.FITTED)
        begins = early.Early(search.bench)
        shown = early.quiet(begins, base, search.sizes(), alike, cores=2)
        self.assertEqual(base.keys[by_steps.BUFFER].value, "1048576")
        self.assertIn((32, 2), shown.sizes)
        self.assertTrue(early.FEW < shown.requests < len(begins.drive))

    def test_channels_that_are_read_off_stay_with_small_blocks(self) -> None:
        """Blocks of another size have their types in another order."""
        text = DRIVE
        for old, new in THREE_TYPES.items():
            text = text.replace(old, new)
        search, seen, alike = self.search(text)
        self.assertEqual((seen.channels, alike), (4, [4]))
        self.assertEqual(search.base.keys["geometry.channels"].value, "4")

    def test_types_of_pages_tell_sizes_of_blocks(self) -> None:
        text = DRIVE.replace("cell_bits=1", "cell_bits=3").replace(
            "pages_per_block=32", "pages_per_block=96"
        )
        text = text.replace("program_ns=400000", "program_ns=400000;900000;1500000")
        text = text.replace("read_ns=40000", "read_ns=40000;50000;60000").replace(
            "plane=90", "plane=32"
        )
        search, _, _ = self.search(text)
        kept = search.sizes()
        self.assertIn((96, 1), kept)
        self.assertNotIn((128, 1), kept)
        self.assertNotIn((96, 2), kept)
        # One type says nothing.
        search, _, _ = self.search(DRIVE)
        small = [pages for pages in blocks.BLOCK_PAGES if pages <= 256]
        kept = search.sizes()
        of_all = {(pages, planes) for pages in small for planes in blocks.PLANES}
        self.assertLessEqual(of_all, set(kept))

    def test_an_erase_is_found_from_a_little_off(self) -> None:
        search, _, _ = self.search(DRIVE)
        search.base.keys |= by_steps.with_channels(search.base, 1).keys
        right = point_of(search, keys(DRIVE))
        for erase in (4_500_000, 4_800_000):
            off = bench.Point(32, right.spare, erase, 1, right.trigger)
            self.assertEqual(search.finer(off), right)
        # And of one block too many.
        count = search.blocks(right)
        self.assertEqual(search.finer(search.with_blocks(right, count + 1)), right)

    def test_all_is_the_same_from_a_state_that_is_kept(self) -> None:
        for text in (DRIVE, DRIVE.replace("unit_bytes=8192", DEMAND)):
            search, _, _ = self.search(text)
            bed = search.bench
            begins = early.Early(bed)
            right = point_of(search, keys(text))
            others = (replace(right, erase_ns=erase) for erase in (9_000_000, 600_000))
            for one in (right, *others):
                candidate = bench.sized(bed, search.base, one)
                with bed.drive(candidate) as drive:
                    known, size = bed.probe.known, bed.plan.span
                    whole = on_replayer.probe(drive, bed.plan, known=known, size=size).results
                seen = bed.run(candidate, bed.up_to(*bench.SEEN)).results
                self.assertLess({*bench.SEEN}, {*seen})
                self.assertEqual({name: whole[name] for name in seen}, seen)
                each = whole[bench.OVERWRITE].each
                self.assertGreater(len(each), 500)
                for until in (1, 200, len(each)):
                    self.assertEqual(begins.latencies(candidate, until), each[:until])
            # An erase's time needs no other state.
            states = [one.state for one in bed.states.entries.values()]
            self.assertEqual(len(states), 1)
            self.assertNotIn(None, states)

    def test_states_that_are_not_used_are_forgotten(self) -> None:
        search, _, _ = self.search(DRIVE)
        bed, right = search.bench, point_of(search, keys(DRIVE))
        steps = bed.steps[:1]
        used = bench.sized(bed, search.base, right)
        with bed.states.of(used, steps) as kept:
            assert kept
            for more in range(before.MOST + 3):
                other = bench.sized(bed, search.base, search.with_blocks(right, 91 + more))
                with bed.states.of(other, steps) as state:
                    assert state
                    self.assertTrue(state.image.exists())
            self.assertTrue(kept.image.exists())
        self.assertEqual(len(bed.states.entries), before.MOST)
        self.assertEqual(len(list(self.folder.glob("*/*.img"))), before.MOST)

    def test_a_state_that_needed_an_erase_is_not_kept(self) -> None:
        # Little is spare, and what comes before writes an eighth of the drive.
        text = DRIVE.replace("permille=250", "permille=75").replace("plane=90", "plane=79")
        search, _, _ = self.search(text)
        search.base.keys |= by_steps.with_channels(search.base, 1).keys
        begins = early.Early(search.bench)
        right = bench.sized(search.bench, search.base, point_of(search, keys(text)))
        self.assertEqual(begins.alike(right), early.Alike(584))
        self.assertEqual([one.state for one in search.bench.states.entries.values()], [None])

    # 40 s of a core; each of its steps has a test of its own.
    if ALL:

        def test_a_drive_whose_map_is_in_flash_is_met(self) -> None:
            text = DRIVE.replace("unit_bytes=8192", DEMAND).replace(
                "suspend_program=0", "suspend_program=1"
            )
            text = text.replace("reads_first=1", "reads_first=0")
            search, _, alike = self.search(text)
            base = search.base
            base.set("controller.reads_first", 1, model.FITTED)
            base.keys |= by_steps.with_channels(base, 2).keys
            begins = early.Early(search.bench)
            shown = early.quiet(begins, base, search.sizes(), alike)
            self.assertTrue(early.FEW < shown.requests < len(begins.drive))
            self.assertTrue(shown.own)
            self.assertEqual(shown.channels, [1])
            self.assertEqual(base.keys["controller.reads_first"].value, "0")
            self.assertEqual(base.keys["geometry.channels"].value, "1")
            right = point_of(search, keys(text))
            kinds = first_collections.begun(search, begins, base, shown)
            of = [(one.point.pages, one.point.planes, search.blocks(one.point)) for one in kinds]
            # One is kept free that a drive with two need not have.
            self.assertIn((right.pages, right.planes, search.blocks(right) + 1), of)
            # The erase is far off, and erases are not suspended.
            off = [replace(one, point=replace(one.point, erase_ns=7_000_000)) for one in kinds]
            met = first_collections.meet(search, begins, off, shown)
            assert met
            found, point = met
            self.assertEqual(found.keys["nand.suspend_erase"].value, "0")
            self.assertEqual((point.erase_ns, point.trigger), (right.erase_ns, right.trigger))
            self.assertEqual(search.blocks(point), search.blocks(right))
            self.assertEqual(search.with_base(found).score(point, bench.SEEN), 0.0)

    def test_all_numbers_of_blocks_that_are_left_open_are_looked_at(self) -> None:
        search, _, _ = self.search(DRIVE)
        shown = early.Quiet(54, True, [1], [(32, 1)])

        def count(candidate: model.Model) -> int:
            return int(candidate.keys["geometry.blocks_per_plane"].value)

        # With a large buffer two blocks too few do not show at once; and an erase that takes longer
        # than the drive's shows a little early.
        own = {85: 50, 86: 56, 87: 56, 88: 59, 89: 59}
        step = mock.Mock(depth=16)
        begins = mock.Mock(bench=search.bench, exact=True, drive=[0] * 576, step=step)
        begins.written_before.return_value = 0.1
        begins.begins.side_effect = lambda one, _: own.get(count(one), 54 if count(one) > 89 else 0)
        begins.unlike.side_effect = lambda one, *_: [0.01 * abs(count(one) - 88)]
        kinds = first_collections.begun(search, begins, search.base, shown)
        found = [search.blocks(one.point) for one in kinds]
        self.assertEqual((found[0], sorted(found)), (88, [85, 86, 87, 88, 89, 90]))

    def test_an_erase_is_told_by_all_requests_and_not_by_their_sum(self) -> None:
        """With a longer erase some requests take less, and others take more, but not as much."""
        search, _, _ = self.search(DRIVE)
        shown = early.Quiet(54, True, [1], [(16, 1), (32, 1)])

        def unlike(one: model.Model, *_: object) -> list[float]:
            own = one.keys["geometry.pages_per_block"].value == "32"
            off = math.log(int(one.keys["timing.erase_ns"].value) / 4_638_000)
            return [-0.05 * off, 0.02 * off, 0.0 if own else 0.001]

        begins = mock.Mock(bench=search.bench, exact=True, drive=[0] * 576, step=mock.Mock(depth=4))
        begins.written_before.return_value = 0.1
        begins.begins.return_value = 54
        begins.unlike.side_effect = unlike
        kinds = first_collections.begun(search, begins, search.base, shown)
        self.assertEqual({one.point.pages for one in kinds[:3]}, {32})
        for one in kinds:
            self.assertLess(abs(math.log(one.point.erase_ns / 4_638_000)), 0.01)

    def told_by(
        self,
        text: str,
        own: Callable[[model.Model], early.Alike],
        caches: tuple[int, ...] = (),
    ) -> tuple[str, ...]:
        """The drive that is met if this says what of a candidate is the drive's own."""
        search, _, _ = self.search(text)
        begins = mock.Mock(bench=search.bench, drive=[0] * 2000)
        begins.alike.side_effect = lambda one, *_: own(one)
        right = replace(point_of(search, keys(text)), erase_ns=4_700_000, trigger=3)
        kinds = [first_collections.Kind(search.base, right, 0.01)]
        shown = early.Quiet(100, True, [1], [(32, 1)], caches)
        met = first_collections.meet(search, begins, kinds, shown)
        assert met
        found = bench.sized(search.bench, *met)
        names = ("timing.erase_ns", "controller.reads_first", "gc.trigger_free_blocks")
        said = [str(found.keys[name].value) for name in names]
        return (*said, str(found.keys[by_steps.CACHE].value)) if caches else tuple(said)

    def test_reads_that_go_first_only_once_it_collects(self) -> None:
        def own(one: model.Model) -> early.Alike:
            at = {name: str(key.value) for name, key in one.keys.items()}
            longer = int(at["timing.erase_ns"]) - 4_638_000
            if longer:
                return early.Alike(150, (longer,))
            late = (at["controller.reads_first"], at["gc.trigger_free_blocks"])
            return early.Alike(2000) if late == ("0", "2") else early.Alike(220, (9,))

        suspends = DRIVE.replace("suspend_program=0", "suspend_program=1")
        self.assertEqual(self.told_by(suspends, own), ("4638000", "0", "2"))

    def test_a_cache_of_the_map_that_shows_only_once_it_collects(self) -> None:
        caches = (32768, 33792, 34816)

        def own(one: model.Model) -> early.Alike:
            at = {name: str(key.value) for name, key in one.keys.items()}
            if longer := int(at["timing.erase_ns"]) - 4_638_000:
                return early.Alike(150, (longer,))
            late = (at[by_steps.CACHE], at["gc.trigger_free_blocks"])
            return early.Alike(2000) if late == ("33792", "2") else early.Alike(220, (9,))

        text = DRIVE.replace("unit_bytes=8192", DEMAND)
        found = self.told_by(text, own, caches)
        self.assertEqual((found[0], *found[2:]), ("4638000", "2", "33792"))

    def test_an_erase_that_shows_only_beside_its_own_time(self) -> None:
        def own(one: model.Model) -> early.Alike:
            longer = int(one.keys["timing.erase_ns"].value) - 4_638_000
            if not longer:
                return early.Alike(2000)
            if abs(longer) < 100:
                return early.Alike(120, (longer,) * first_collections.AGREED)
            # Others are late by anything.
            return early.Alike(120, (random.Random(longer).randint(-(10**7), 10**7),))

        self.assertEqual(self.told_by(DRIVE, own)[0], "4638000")

    def test_blocks_that_are_the_drives_for_longer_come_first(self) -> None:
        """The right ones are the last of five, and show more only within 0.1 % of the erase."""
        search, _, _ = self.search(DRIVE)
        sizes = (16, 24, 64, 128, 32)

        def own(one: model.Model, *_: object) -> early.Alike:
            pages = int(one.keys["geometry.pages_per_block"].value)
            erase = int(one.keys["timing.erase_ns"].value)
            longer = random.Random(erase).randint(-(10**7), 10**7)
            if pages != 32:
                return early.Alike(104, (longer,))
            off = erase - 4_638_000
            own = 2000 if not off else 108
            late = off if abs(off) < 5000 else longer
            return early.Alike(own, (late,) * first_collections.AGREED if off else ())

        begins = mock.Mock(bench=search.bench, drive=[0] * 2000)
        begins.alike.side_effect = own
        right = replace(point_of(search, keys(DRIVE)), erase_ns=4_800_000, trigger=3)
        kinds = [
            first_collections.Kind(search.base, replace(right, pages=pages), 0.01 * i)
            for i, pages in enumerate(sizes)
        ]
        shown = early.Quiet(100, True, [1], [(pages, 1) for pages in sizes])
        met = first_collections.meet(search, begins, kinds, shown)
        assert met
        self.assertEqual((met[1].pages, met[1].erase_ns), (32, 4_638_000))

    def test_a_part_of_a_drive_does_not_show_how_it_collects(self) -> None:
        search, _, _ = self.search(DRIVE)
        probe = search.bench.probe
        # What is no whole MiB is never probed.
        for more, how in ((0, model.FITTED), (MIB - 1, model.FITTED), (64 * MIB, model.OPEN)):
            probe.source["bytes"] = probe.span + more
            whole = bench.sized(search.bench, search.base, bench.Point(32, 0.2, 4_638_000, 1))
            with mock.patch.object(fit, "_search", return_value=(whole, 1, 0.0)):
                found = fit.fit(probe, replayer.ensure_replay(), fit.Search()).model
            for name in ("geometry.blocks_per_plane", "timing.erase_ns"):
                self.assertEqual(found.keys[name].how, how)
            self.assertEqual(found.keys["timing.read_ns"].how, model.READ)

    def test_what_is_none_of_these_is_not_met(self) -> None:
        search, _, alike = self.search(DRIVE)
        base = search.base
        begins = early.Early(search.bench)
        shown = early.quiet(begins, base, search.sizes(), alike)
        kinds = first_collections.begun(search, begins, base, shown)
        others = [one for one in kinds if one.point.pages != 32]
        self.assertGreaterEqual(len(others), 3)
        # What comes after the first two is finer or wider, and takes a minute.
        tries = first_collections.TRIES[: None if ALL else 2]
        with mock.patch.object(first_collections, "TRIES", tries):
            self.assertIsNone(first_collections.meet(search, begins, others, shown))
        # No time, no drive: and nothing that fails.
        search.ends = 0
        self.assertIsNone(first_collections.meet(search, begins, kinds, shown))
        self.assertEqual(first_collections.begun(search, begins, base, shown), [])

    # 25 s of a core for each drive; the next test has the noise, too.
    if ALL:

        def test_blocks_show_beside_noise(self) -> None:
            for text in (DRIVE, DRIVE.replace("unit_bytes=8192", DEMAND)):
                search, _, _ = self.search(text)
                draw = random.Random(1)
                each = search.bench.probe.results[bench.OVERWRITE].each
                each[:] = [round(one * draw.uniform(0.98, 1.02)) for one in each]
                begins = early.Early(search.bench, exact=False)
                shown = early.noisy(begins, search.base, search.sizes())
                self.assertTrue(shown.own)
                kinds = first_collections.begun(search, begins, search.base, shown)
                right = replace(point_of(search, keys(text)), trigger=3)
                best = first_collections.alike(kinds)[0]
                self.assertEqual((best.pages, best.planes), (right.pages, right.planes))
                self.assertEqual(search.blocks(best), search.blocks(right))
                self.assertLess(abs(math.log(best.erase_ns / right.erase_ns)), 0.2)

    def test_what_is_unlike_every_drive_is_none_of_these(self) -> None:
        search, _, _ = self.search(DRIVE)
        draw = random.Random(1)
        each = search.bench.probe.results[bench.OVERWRITE].each
        begins = early.Early(search.bench, exact=False)
        begun = early.noisy(begins, search.base, search.sizes()).requests
        # It begins to collect as it did; then its latencies are others'.
        each[begun:] = [round(one * draw.uniform(1.5, 4)) for one in each[begun:]]
        shown = early.noisy(begins, search.base, search.sizes())
        self.assertTrue(shown.own)
        kinds = first_collections.begun(search, begins, search.base, shown)
        self.assertGreater(len(kinds), 0)
        self.assertEqual(first_collections.alike(kinds), [])

    def test_the_maps_cache_is_found_read_by_read(self) -> None:
        text = DRIVE.replace("unit_bytes=8192", DEMAND).replace("=32768", "=33792")
        search, _, _ = self.search(text)
        self.assertEqual(search.base.keys[by_steps.CACHE].value, "33792")
        # As many reads find their mapping with a little more; not the same ones.
        with mock.patch.object(by_steps, "_bisect_cache", lambda *_: (34_000, 34_300)):
            by_steps.cache(search.bench, search.base)
        self.assertEqual(search.base.keys[by_steps.CACHE].value, "33792")

    def test_another_simulators_times_are_not_its_own(self) -> None:
        search, _, alike = self.search(DRIVE)
        begins = early.Early(search.bench)
        begins.drive = [one + 1 for one in begins.drive]
        before = search.base.text()
        shown = early.quiet(begins, search.base, search.sizes(), alike)
        self.assertEqual((shown.requests, shown.own, shown.channels), (0, False, alike))
        self.assertEqual(search.base.text(), before)

    def test_a_number_is_found_wherever_one_looks_first(self) -> None:
        for low, high in ((4, 5), (4, 400)):
            for wanted in {low + 1, (low + high) // 2 + 1, high}:
                for guess in (0, low, low + 1, wanted - 1, wanted, wanted + 1, high - 1, high, 900):
                    asked: list[int] = []

                    def late(count: int, asked: list[int] = asked, wanted: int = wanted) -> bool:
                        asked.append(count)
                        return count >= wanted

                    self.assertEqual(first_collections.first_late(late, low, high, guess), wanted)
                    self.assertTrue(all(low < one < high for one in asked), asked)

    def test_sizes_of_a_buffer_that_drained_faster(self) -> None:
        # Of 32 dies whose next pages were of other types than the drive's.
        base = model.Model({})
        base.set(by_steps.BUFFER, 1_835_008, model.FITTED)
        self.assertIn(2_097_152, early.buffers(base))

    def test_the_next_time_of_an_erase(self) -> None:
        def nexts(wanted: int, slope: float, first: int) -> list[int]:
            tried: dict[int, early.Alike] = {}
            erase: int | None = first
            while erase is not None and len(tried) < 20:
                longer = round(slope * (erase - wanted))
                tried[erase] = early.Alike(100 if longer else 101, (longer,) if longer else ())
                if not longer:
                    break
                erase = first_collections.next_erase(tried)
            return list(tried)

        # It waits for one, for one the less, for two, or for a half.
        self.assertEqual(nexts(3_000_000, 1, 2_000_000), [2_000_000, 3_000_000])
        self.assertEqual(nexts(3_000_000, -1, 2_000_000), [2_000_000, 1_000_000, 3_000_000])
        self.assertEqual(nexts(3_000_000, 2, 2_000_000)[-1], 3_000_000)
        # Half a nanosecond is none.
        self.assertLessEqual(abs(nexts(3_000_000, 0.5, 2_000_000)[-1] - 3_000_000), 1)
        # What was no drive says nothing.
        self.assertIsNone(first_collections.next_erase({2_000_000: early.Alike(0)}))
        of_both = {2_000_000: early.Alike(0), 4_000_000: early.Alike(9, (1_000_000,))}
        self.assertEqual(first_collections.next_erase(of_both), 3_000_000)

    def test_times_that_repeat_are_no_clocks(self) -> None:
        probe = self.probe(DRIVE)
        self.assertTrue(features.exactly(probe))
        each = probe.results["read-single"].each
        each[:] = [one + i % 20 for i, one in enumerate(each)]
        self.assertFalse(features.exactly(probe))


class WhatWritesShow(unittest.TestCase):
    """Rules on steps with writes."""

    def setUp(self) -> None:
        self.probe = probe_file.Probe({"bytes": 64 * MIB}, 64 * MIB, 1, None)
        self.found = features.Features(16384, 32768, 4096, 2, 1, 10_000.0, 100.0, 900.0, [28_000])
        self.found.programs_ns = [400_000]

    def behind(self, *waits: int) -> None:
        each = [one for wait in waits for one in (0, 0, 0, 0, 0, 42_000 + wait)]
        self.probe.results["behind"] = probe_file.Result(1.0, 1.0, each=each)
        features._behind(self.probe, self.found)  # noqa: SLF001

    def test_what_suspending_takes(self) -> None:
        # One comes when its program is nearly over, and some wait for what goes before.
        self.behind(12_195, *[20_000] * 11, 32_195, 52_195, 72_195, 92_195)
        self.assertEqual((self.found.suspends, self.found.suspend_ns), (True, 20_000))
        # Reads of several types of pages.
        self.behind(*[20_000] * 5, *[29_250] * 5, *[38_500] * 6)
        self.assertEqual(self.found.suspend_ns, 20_000)
        # No two are the same.
        self.behind(*range(20_000, 36_000, 1000))
        self.assertEqual(self.found.suspend_ns, 20_000)

    def test_a_unit_whose_pages_are_of_several_types(self) -> None:
        # A write that is smaller than 16 KiB reads 57 µs first.  Of the eight of a size more are
        # of the fastest type here than there.
        each = []
        for i, size in enumerate(SIZES):
            for j in range(8):
                program = (254_000, 508_000, 762_000)[(j % 3 + j // 6) % 3 if i != 1 else j // 6]
                each += [70_000, program + (57_000 if size < 16384 else 0) + size, 0]
        self.probe.results["write-size"] = probe_file.Result(1.0, 1.0, each=each)
        self.assertEqual(features._unit(self.probe, 57_000), 16384)  # noqa: SLF001


class AnUnmappedRead(unittest.TestCase):
    """What the host's link takes shows between those that find their mapping in RAM."""

    def read(self, misses: dict[int, int]) -> tuple[float, float]:
        """Of a drive of 10 µs and 500 ns a KiB, where these sizes take so much longer."""
        each = [10_000 + size * 500 // 1024 + misses.get(i, 0) for i, size in enumerate(SIZES)]
        probe = probe_file.Probe({"bytes": 64 * MIB}, 64 * MIB, 1, None)
        probe.results["trimmed"] = probe_file.Result(1.0, 1.0, each=[0, *each])
        return features._unmapped(probe)  # noqa: SLF001

    def test_all_alike(self) -> None:
        self.assertEqual(self.read({}), (10_000, 500))

    def test_misses(self) -> None:
        for misses in ({0: 80_000}, {4: 60_000, 5: 60_000, 6: 60_000, 7: 60_000, 8: 60_000},
                       {0: 80_000, 5: 84_000, 6: 84_000, 7: 84_000, 8: 84_000}):  # fmt: skip
            self.assertEqual(self.read(misses), (10_000, 500))


if __name__ == "__main__":
    unittest.main()
