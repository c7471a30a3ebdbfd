# SPDX-License-Identifier: GPL-2.0-or-later
"""No command waits for as long as others come: closed loops that once kept one of them out."""

from __future__ import annotations

import random
import unittest

from waits import Case, Job, drawn, longest_ms, of_op, options, spread


class MovingTarget(Case):
    """One unit is rewritten all the while, and a command has to read what it holds.

    Whenever that read's turn comes, the unit has moved to another page, and the read is put at the
    end of the queue there.  While it waits behind the reads of others, the unit moves again.
    """

    def test_write_of_a_part(self) -> None:
        """The rest of the unit has to be read; of reads eight go before a program."""
        part = Job("write", 1, [0] * 2000, 10, bytes=512, rate=50_000)
        whole = Job("write", 1, [0] * 2000, 200, rate=1_024_000)
        others = Job("read", 128, [1 + i % 500 for i in range(40000)], 8000)
        self.check(
            [part, whole, others], bound_ms=190, runtime_ms=1000, age=900,
            keys="controller.reads_first_limit=8",
        )  # fmt: skip

    def test_read(self) -> None:
        """Reads and programs take turns, and the drive collects nothing."""
        read = Job("read", 1, [0] * 40000, 100)
        whole = Job("write", 1, [0] * 4000, 200)
        others = Job("read", 4, [1 + i % 500 for i in range(10000)], 500)
        self.check([read, whole, others], bound_ms=10, runtime_ms=300, age=900, scheme="ideal")


class Pads(Case):
    """A page waits for the other one of its word line, which no write comes to fill.

    A pad, a program without data, is to end the wait, but the die always has something else to do.
    """

    KEYS = "nand.cell_bits=2 nand.power_cuts=1 ftl.recovery=1 ftl.paired_pages=pad "

    def test_behind_reads(self) -> None:
        """One writes, a command at a time, and four read: every read goes before the pad."""
        writer = Job("write", 1, list(spread(2000, 4000)), 250)
        readers = Job("read", 4, [1 + i % 500 for i in range(40000)], 700)
        self.check([writer, readers], bound_ms=100, runtime_ms=1000, age=900, keys=self.KEYS)

    def test_behind_programs(self) -> None:
        """One writes to one plane of a die, three to the other: their programs go before it."""
        one = Job("write", 1, [2 * place for place in spread(1000, 2000)], 25)
        three = Job("write", 3, [2 * place + 1 for place in spread(1000, 10000)], 800)
        keys = self.KEYS + "geometry.planes_per_die=2"
        self.check([one, three], bound_ms=150, runtime_ms=1000, age=900, keys=keys)

    def test_many_behind_programs(self) -> None:
        """A page of each of seven planes waits for three pads, while the eighth is written.

        The count of programs that go before a pad began anew with each pad.
        """
        many = Job("write", 16, [8 * place for place in spread(500, 40000)], 300)
        seven = Job("write", 7, [8 * (i // 7 % 400) + 1 + i % 7 for i in range(20000)], 1000)
        keys = self.KEYS.replace("bits=2", "bits=4") + "geometry.planes_per_die=8"
        self.check([many, seven], bound_ms=230, runtime_ms=8000, age=500, keys=keys)


class Collections(Case):
    """A write waits for a block, and the collection that makes one free never gets on."""

    def test_copies_to_another_die(self) -> None:
        """One die is written to, the other is read, and `global` sends copies there.

        Every read goes before the programs of these copies: where no program of the host's waits,
        the limit to that did not count.
        """
        writers = Job("write", 4, [2 * place for place in spread(1000, 10000)], 800)
        readers = Job("read", 16, [2 * place + 1 for place in spread(1000, 40000)], 3000)
        self.check(
            [writers, readers], bound_ms=50, runtime_ms=800, scheme="pgc+global",
            keys="geometry.dies_per_chip=2",
        )  # fmt: skip

    def test_copies_to_a_die_that_is_written_to(self) -> None:
        """As above, and one writes to the other die, too, a command at a time.

        When enough reads have gone, the program that may go was always that write's, and it is
        soon followed by another one; copies, though they had waited longer, were not asked.
        """
        places = 25000
        writer = Job("write", 1, [2 * place for place in drawn(places, 4000)], 300)
        readers = Job("read", 4, [2 * place for place in drawn(places, 120_000)], 50_000)
        writers = Job("write", 4, [2 * place + 1 for place in drawn(places, 20000)], 5000)
        self.check(
            [writer, readers, writers], bound_ms=3400, runtime_ms=20000, scheme="pgc+global",
            keys="geometry.dies_per_chip=2 geometry.blocks_per_plane=256 "
            "geometry.pages_per_block=128 timing.read_ns=200000 gc.trigger_free_blocks=32 "
            "controller.reads_first_limit=25",
        )  # fmt: skip

    def test_write_among_copies(self) -> None:
        """One die is read by 64 and written to by one; copies of the other die come, too.

        A thousand reads may go before the write's program.  Each program of a copy began that
        count anew, though the write had waited all along.
        """
        writer = Job("write", 1, [2 * place for place in spread(1000, 8000)], 20)
        readers = Job("read", 64, [2 * place for place in spread(1000, 160_000)], 20000)
        writers = Job("write", 4, [2 * place + 1 for place in drawn(2000, 64000)], 10000)
        self.check(
            [writer, readers, writers], bound_ms=1400, runtime_ms=8000, scheme="pgc+gc-z",
            params="pgc_floor=8",
            keys="geometry.channels=2 controller.reads_first_limit=1000",
        )  # fmt: skip

    def test_write_among_copies_that_stand_still(self) -> None:
        """As above, and reads interrupt programs: that of a copy began the count anew, too."""
        writer = Job("write", 1, [2 * place for place in spread(1000, 5000)], 100)
        readers = Job("read", 64, [2 * place for place in spread(1000, 100_000)], 5000)
        writers = Job("write", 4, [2 * place + 1 for place in drawn(2000, 40000)], 5000)
        self.check(
            [writer, readers, writers], bound_ms=1300, runtime_ms=7000, scheme="pgc+gc-z",
            params="pgc_floor=8",
            keys="geometry.channels=2 controller.reads_first_limit=16 nand.suspend_program=1 "
            "nand.suspend_limit=1",
        )  # fmt: skip

    def test_die_that_takes_in_all(self) -> None:
        """Seven dies are written to by many, and what they collect goes to the eighth.

        To have room for it that one collects, too, and as soon as it has room, more comes.  So it
        never has time for one who writes to it, and four who read.
        """
        dies, places, times = 8, 3397, 80000
        elsewhere = zip(drawn(places, times), drawn(dies - 1, times, seed=2), strict=True)
        writer = Job("write", 1, [place * dies for place in drawn(places, 2000)], 70)
        readers = Job("read", 4, [place * dies for place in drawn(places, 10000)], 300)
        many = Job("write", 256, [place * dies + 1 + die for place, die in elsewhere], 10000)
        self.check(
            [writer, readers, many], bound_ms=2200, runtime_ms=15000, scheme="gc-z",
            keys="geometry.channels=8 geometry.blocks_per_plane=256 geometry.pages_per_block=16 "
            "ftl.over_provisioning_permille=200 gc.trigger_free_blocks=6 controller.slots=4096 "
            "controller.reads_first_limit=1000",
        )  # fmt: skip

    def test_plane_beside_a_collection_that_yields(self) -> None:
        """With `pgc` a die collects for a plane that nobody writes to any more.

        That yields to two planes that have room, and a third one's own collection comes after it.
        """
        before = Job("write", 64, [4 * place + 1 for place in drawn(8000, 8100)], 8100)
        waiting = Job("write", 32, [4 * place for place in drawn(8000, 60000, seed=2)], 8000)
        others = Job("write", 4, [4 * p + 2 + p % 2 for p in drawn(8000, 50000, seed=3)], 1000)
        loops = self.loops([before, waiting, others], 4096)
        keys = (
            "geometry.planes_per_die=4 geometry.blocks_per_plane=256 "
            "ftl.over_provisioning_permille=1000"
        )
        ageing = ["--age", "1000", "--age-overwrite", "0", "--runtime", "5000000", "-s", "pgc"]
        log = self.replay(*ageing, *options(keys), *loops)
        for job in (before, waiting, others):
            self.assertGreaterEqual(len(job.owns(4096, log)), job.at_least)
        self.assertLessEqual(longest_ms(log, range(len(log))), 100)

    def test_plane_behind_collections_that_are_joined(self) -> None:
        """With `rotating` a die collected for its first plane that was due.

        With `gc-par` programs of the host join that collection, and make it due again, while those
        of the last plane have no page.
        """
        jobs = [
            Job("write", many, [4 * place + plane for place in drawn(3350, 60000, plane + 1)], 500)
            for plane, many in enumerate([64, 64, 64, 4])
        ]
        self.check(
            jobs, bound_ms=1500, runtime_ms=9000, scheme="rotating+gc-par",
            keys="geometry.channels=2 geometry.planes_per_die=4 geometry.blocks_per_plane=64 "
            "nand.multiplane=1 ftl.parity_width=2 ftl.parity_stripes=1024 "
            "ftl.over_provisioning_permille=180 gc.trigger_free_blocks=3 controller.slots=4096 "
            "controller.reads_first_limit=1",
        )  # fmt: skip

    def test_many_behind_collections_that_are_joined(self) -> None:
        """A row of collections, then as many programs as a block has pages, and the next row.

        Of those that had waited for a whole row most waited for many: 2.5 s in both scenes.  In the
        second one most rows end before they are as long as they may be.
        """
        for depth, spare, bound_ms in ((4, 179, 1900), (30, 300, 1550)):
            hot = Job("write", 400, [3] * 20000, 8000)
            others = Job("write", depth, [4 + place for place in drawn(260, 20000)], 80)
            with self.subTest(depth=depth, spare=spare):
                self.check(
                    [hot, others], bound_ms=bound_ms, runtime_ms=12000, scheme="gc-par", unit=512,
                    keys="geometry.planes_per_die=4 geometry.blocks_per_plane=31 "
                    "geometry.pages_per_block=3 geometry.page_bytes=512 timing.program_ns=750000 "
                    "timing.read_ns=75000 nand.multiplane=1 gc.trigger_free_blocks=1 "
                    "gc.separate_active_block=0 controller.slots=4096 controller.buffer_bytes=0 "
                    f"ftl.allocation=dynamic ftl.over_provisioning_permille={spare}",
                )  # fmt: skip

    def test_plane_beside_programs_behind_each_other(self) -> None:
        """With `nand.cache` each program of one plane is loaded behind the one before it.

        So the die never came to rest, and did not begin the collection of its other plane.
        """
        waiting = Job("write", 64, [2 * place for place in drawn(25000, 100_000)], 33000)
        others = Job("write", 4, [2 * place + 1 for place in range(25000)], 1000)
        self.check(
            [waiting, others], bound_ms=84, runtime_ms=8000, age=0,
            keys="geometry.planes_per_die=2 geometry.blocks_per_plane=512 nand.cache=1 "
            "ftl.allocation=pcwd controller.slots=4096 controller.reads_first_limit=1000",
        )  # fmt: skip

    def test_channel_of_dies_that_collect(self) -> None:
        """Transfers of collections go first, and one die of the channel collects nothing."""
        dies, planes = 16, 4
        per_plane = 128 * 64 * 1000 // 1130 - 8
        jobs = [Job("read", 1, [i * 919 % per_plane * dies * planes for i in range(4000)], 5)]
        for die in range(1, dies):
            draw, places, plane = random.Random(die), list[int](), 0
            while len(places) < 3000:
                plane = (plane + 1 + draw.randrange(planes - 1)) % planes
                for _ in range(50):
                    place = draw.randrange(per_plane) * dies * planes
                    places.append(place + plane * dies + die)
            jobs.append(Job("write", 16, places, 5))
        keys = (
            f"geometry.dies_per_chip={dies} geometry.planes_per_die={planes} "
            "nand.multiplane=1 geometry.blocks_per_plane=128 ftl.over_provisioning_permille=130 "
            "gc.trigger_free_blocks=10 controller.slots=4096 controller.reads_first_limit=1000 "
            "timing.channel_mts=20 timing.program_ns=50000 timing.erase_ns=100000 "
            "controller.gc_first_on_channel=1"
        )
        words = ["--age", "1000", "--runtime", "16000000", "-s", "gc-par", *options(keys)]
        log = self.replay(*words, *self.loops(jobs, 4096))
        self.assertGreaterEqual(len(of_op(log, "read")), 10)
        self.assertLessEqual(longest_ms(log, of_op(log, "read")), 4000)

    def merges(self, mapping: str, bound_ms: int) -> None:
        """32 write to one plane of a die, 2 to the other, which has to merge.

        With `pgc` every command of the host's in that die goes before the merge, even if another
        one waits for nothing but the merge.
        """
        many = Job("write", 32, [2 * place for place in drawn(1475, 20000)], 700)
        two = Job("write", 2, [2 * place + 1 for place in drawn(1475, 4000, seed=2)], 50)
        self.check(
            [two, many], bound_ms=bound_ms, runtime_ms=20000, scheme="pgc",
            keys=f"ftl.mapping={mapping} ftl.allocation=pwdc geometry.planes_per_die=2 "
            "geometry.pages_per_block=32 gc.trigger_free_blocks=8 controller.slots=4096 "
            "controller.reads_first_limit=1000",
        )  # fmt: skip

    def test_merges_of_block(self) -> None:
        self.merges("block", bound_ms=1100)

    def test_merges_of_fast(self) -> None:
        self.merges("fast", bound_ms=2300)

    def test_merges_of_superblock(self) -> None:
        self.merges("superblock", bound_ms=2100)


class FullPlanes(Case):
    """Planes with so many valid units that no collection is worth it: writes go to others."""

    def longest_behind(self, reads: int) -> float:
        """Of 2,000 writes of many units to a full drive, 96 commands at a time, then reads."""
        draw, units, unit = random.Random(9), 300, 512
        trace = self.folder / "writes-then-reads.csv"
        with trace.open("w") as out:
            for time in range(2000):
                n = draw.choice([1, 1, 2, 4, 8, 16, 32])
                out.write(f"{time},write,{draw.randrange(units - n) * unit},{n * unit}\n")
            for _ in range(reads):
                out.write(f"2000,read,{draw.randrange(units) * unit},{unit}\n")
        keys = (
            "geometry.channels=2 geometry.planes_per_die=4 geometry.blocks_per_plane=31 "
            "geometry.pages_per_block=3 geometry.page_bytes=512 timing.read_ns=75000 "
            "timing.program_ns=750000 timing.erase_ns=3800000 controller.firmware_ns=5000 "
            "controller.reads_first_limit=10 controller.slots=1024 ftl.allocation=dynamic "
            "ftl.over_provisioning_permille=135 gc.trigger_free_blocks=1 "
            "gc.separate_active_block=0"
        )
        log = self.replay("--age", "1000", "-m", "closed", "-q", "96", *options(keys), trace)
        writes = of_op(log, "write")
        self.assertEqual((len(writes), len(log)), (2000, 2000 + reads))
        return longest_ms(log, writes)

    def test_behind_reads(self) -> None:
        """400,000 reads come, and no write waits much longer than without them.

        Where no program has a page, reads went on before anybody asked if it can go elsewhere: the
        longest wait was 4.6 times that of the drive without reads, and grew with their number.
        """
        behind = self.longest_behind(400_000)
        self.assertLessEqual(behind, 6000)
        self.assertLessEqual(behind, 1.2 * self.longest_behind(0))

    def behind_siblings(self, scheme: str, keys: str, *, at_least: int, bound_ms: int) -> None:
        """Writes of many units to a full drive, and 32 rewrite one unit all the while."""
        draw, units, unit = random.Random(204306), 600, 512
        many, one = self.folder / "many.csv", self.folder / "one.csv"
        with many.open("w") as out:
            for time in range(223):
                n = draw.choice([1, 2, 4, 8, 16, 32])
                out.write(f"{time},write,{draw.randrange(units - n) * unit},{n * unit}\n")
        place = draw.randrange(units)
        one.write_text("".join(f"{time},write,{place * unit},{unit}\n" for time in range(80000)))
        keys += (
            " geometry.blocks_per_plane=31 "
            "geometry.pages_per_block=3 geometry.page_bytes=512 timing.read_ns=75000 "
            "timing.program_ns=750000 timing.erase_ns=3800000 controller.firmware_ns=5000 "
            "controller.reads_first_limit=10 controller.slots=1024 controller.buffer_bytes=0 "
            "ftl.allocation=dynamic ftl.over_provisioning_permille=135 gc.trigger_free_blocks=1 "
            "gc.separate_active_block=0"
        )
        words = ["--age", "1000", "--runtime", "30000000", "-s", scheme, *options(keys)]
        log = self.replay(*words, "--job", f"96={many}", "--job", f"32={one}")
        self.assertGreaterEqual(len(log), at_least)
        self.assertLess(len(log), 80000)
        self.assertLessEqual(longest_ms(log, range(len(log))), bound_ms)

    def test_behind_programs_of_siblings(self) -> None:
        """Their programs go to a plane that has a page, before an older one whose plane has none.

        Nobody asked if that one can go elsewhere.
        """
        self.behind_siblings(
            "baseline", "geometry.channels=4 geometry.planes_per_die=2", at_least=20000,
            bound_ms=4900,
        )  # fmt: skip

    def test_behind_programs_that_join(self) -> None:
        """As above.  Those that joined another in a multi-plane command began the count anew."""
        keys = "geometry.channels=2 geometry.planes_per_die=4 nand.multiplane=1"
        for scheme in ("multi-plane", "gc-par"):
            with self.subTest(scheme=scheme):
                self.behind_siblings(scheme, keys, at_least=8000, bound_ms=6000)


class MapInFlash(Case):
    """Of the map a part is in memory, and others take whatever of it gets free."""

    def test_entry_of_the_cache(self) -> None:
        """As many units as the cache has entries are written again and again.

        Each entry is in use again before it could be given to one who reads what has none.
        """
        apart, entries = 1024, 16
        hot = Job("write", 16, [i % entries * apart for i in range(10000)], 800)
        cold = Job("read", 1, [entries * apart + place for place in spread(4000, 1000)], 12)
        self.check(
            [cold, hot], bound_ms=150, runtime_ms=1500, age=900,
            keys=f"ftl.mapping=demand ftl.map_cache_bytes={entries * 8} "
            "geometry.blocks_per_plane=512 controller.reads_first_limit=1000",
        )  # fmt: skip

    def test_units_that_change_again(self) -> None:
        """Deallocations change as many translation units as may be written at a time.

        Each had changed once more when its program ended, and kept its place.
        """
        apart, units = 1024, 80
        cold = Job("write", 1, [units * apart + place for place in spread(36000, 1000)], 30)
        changing = [i % units * apart + i // units for i in range(60000)]
        changes = Job("deallocate", 1, changing, 10000, rate=4096 * 10000)
        self.check(
            [cold, changes], bound_ms=200, runtime_ms=2000,
            keys="ftl.mapping=demand ftl.map_cache_bytes=128 ftl.over_provisioning_permille=100 "
            "geometry.blocks_per_plane=2048",
        )  # fmt: skip

    def room_for_updates(self, dies: int, planes: int, *, runtime_ms: int, bound_ms: int) -> None:
        """Sixteen write to each plane, and one to the last.

        A collection begins when what it will change of the map has room in memory.  The last
        plane's needs more than the others leave, and theirs begin one after the other.
        """
        places = dies * planes
        jobs = [
            Job(
                "write",
                16 if plane < places - 1 else 1,
                [place * places + plane for place in drawn(3425, 16000, seed=plane)],
                800,
            )
            for plane in reversed(range(places))
        ]
        self.check(
            jobs, bound_ms=bound_ms, runtime_ms=runtime_ms, unit=512,
            keys="ftl.mapping=demand ftl.map_cache_bytes=8192 ftl.over_provisioning_permille=100 "
            f"geometry.channels={dies} geometry.planes_per_die={planes} "
            "geometry.blocks_per_plane=128 geometry.pages_per_block=32 geometry.page_bytes=512 "
            "timing.erase_ns=100000 gc.trigger_free_blocks=6 "
            "controller.slots=8192 controller.reads_first_limit=1000",
        )  # fmt: skip

    def test_room_for_updates(self) -> None:
        self.room_for_updates(16, 1, runtime_ms=20000, bound_ms=1800)

    def test_room_for_updates_of_two_planes(self) -> None:
        """A plane lost its turn whenever the other one of its die collected."""
        self.room_for_updates(8, 2, runtime_ms=12000, bound_ms=2400)


class Deallocations(Case):
    """What deallocates takes part in whatever writes have to wait for."""

    def test_stripes(self) -> None:
        """Four deallocate, each time in another stripe, and one writes.

        A stripe's parity is in memory until it is computed, and a write waits until there is room
        for one more.  Deallocations took that room without asking, and so as much as they like,
        and a write waited for all that had come.
        """
        writer = Job("write", 1, [3 * (40000 + i) for i in range(400)], 10)
        others = Job("deallocate", 4, [3 * i for i in range(8000)], 50)
        self.check(
            [writer, others], bound_ms=112, runtime_ms=500, age=900,
            keys="geometry.channels=4 geometry.blocks_per_plane=1024 ftl.parity_width=4 "
            "ftl.parity_stripes=4 controller.buffer_bytes=1048576",
        )  # fmt: skip

    def test_long_chain(self) -> None:
        """A unit is written and deallocated 20,000 times while a read keeps the die busy.

        Each deallocation changes a part of the same record, and waits for the one before.  When
        the first one's turn comes, all follow: no call in a call, for which no stack has room.
        """
        trace, times, unit = self.folder / "chain.csv", 20000, 4096
        with trace.open("w") as out:
            out.write(f"0,deallocate,{unit},{unit}\n1,flush,0,0\n")
            out.write(f"2000000,read,{2 * unit},{unit}\n")
            for _ in range(times):
                out.write(f"2000001,write,{unit},{unit}\n2000001,deallocate,{unit},{unit}\n")
        keys = (
            "nand.power_cuts=1 ftl.recovery=2 timing.read_ns=1000000000 controller.firmware_ns=0 "
            "controller.slots=64 controller.buffer_bytes=1073741824"
        )
        log = self.replay("--age", "900", "-m", "open", *options(keys), trace, stack_kb=256)
        self.assertEqual(len(log), 2 * times + 3)


if __name__ == "__main__":
    unittest.main()
