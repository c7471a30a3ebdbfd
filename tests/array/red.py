#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Breaks each rule of the array's core, one at a time: the test that guards it must turn red.

Not a part of the suite, because it links the core once for each rule.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
CORE = TOP / "guest" / "array"
TESTS = TOP / "tests" / "array"
FLAGS = ["-std=gnu11", "-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@dataclass(frozen=True)
class Break:
    rule: str
    file: str
    old: str
    new: str
    test: str  # of program test-NAME.c, as NAME:path


BREAKS = [
    Break("striping: unit u is unit u / N of drive u mod N", "map.c",
          "unit / a->config.n_drives * a->stripe_pages", "unit * a->stripe_pages",
          "cache:/array/map/places"),
    Break("distance score: hits x set_size + distance", "gclock.c",
          "a->hits[page] * (uint32_t)a->config.set_pages +", "a->hits[page] +",
          "gclock:/array/gclock/scores"),
    Break("lower distances get higher scores", "gclock.c",
          "distance(a, hand, i) > mine", "distance(a, hand, i) < mine",
          "gclock:/array/gclock/scores"),
    Break("GClock takes a hit from each page it passes", "gclock.c",
          "rounds + (steps(a, s->hand, i) < way)", "rounds",
          "gclock:/array/gclock/sweep"),
    Break("the clock's head moves on", "gclock.c",
          "victim + 1 == end ? first : victim + 1", "first",
          "gclock:/array/gclock/sweep"),
    Break("clean pages are evicted first", "gclock.c",
          "a->config.clean_first ? busy | PAGE_DIRTY : busy", "busy",
          "gclock:/array/gclock/clean-first"),
    Break("clean_first=0 is plain GClock", "gclock.c",
          "a->config.clean_first ? busy | PAGE_DIRTY : busy", "busy | PAGE_DIRTY",
          "gclock:/array/gclock/not-clean-first"),
    Break("the flusher wakes above dirty_pages", "flusher.c",
          "s->unclean > a->config.dirty_pages", "s->unclean >= a->config.dirty_pages",
          "flusher:/array/flusher/threshold"),
    Break("flush_batch pages at a time", "flusher.c",
          "uint64_t n = a->config.flush_batch", "uint64_t n = a->config.flush_batch + 1",
          "flusher:/array/flusher/threshold"),
    Break("the most urgent page first", "flusher.c",
          "v->far[i] < least) {", "v->far[i] > least + 1) {",
          "flusher:/array/flusher/most-urgent"),
    Break("sets wait in a FIFO, and are asked again", "flusher.c",
          "while (a->demand && a->fifo_first", "while (0 && a->fifo_first",
          "flusher:/array/flusher/round-robin"),
    Break("what would be discarded is not asked for", "flusher.c",
          "score < stale_score ? NONE : best", "score < stale_score && 0 ? NONE : best",
          "flusher:/array/flusher/threshold"),
    Break("max_flushes pending at most", "flusher.c",
          "n && a->flushes_pending < a->flushes_max", "n",
          "flusher:/array/flusher/max-flushes"),
    Break("flusher=0", "flusher.c",
          "a->config.flusher && s->unclean", "s->unclean",
          "flusher:/array/flusher/off"),
    Break("reserved slots stay free of flushes", "drive_queues.c",
          "d->free_slots > a->config.reserved_slots", "d->free_slots",
          "flusher:/array/queue/reserved"),
    Break("low priority only when there is no high", "drive_queues.c",
          "} else if (d->high_first != NONE) {\n            issue_high(a, drive);\n"
          "        } else if (d->low_first != NONE &&\n"
          "                   d->free_slots > a->config.reserved_slots) {\n"
          "            issue_low(a, drive);",
          "} else if (d->low_first != NONE &&\n"
          "                   d->free_slots > a->config.reserved_slots) {\n"
          "            issue_low(a, drive);\n"
          "        } else if (d->high_first != NONE) {\n            issue_high(a, drive);",
          "flusher:/array/stale/evicted"),
    Break("stale (i): the page was evicted", "stale_flushes.c",
          "return &a->stats.discarded_evicted;", "return &a->stats.discarded_cleaned;",
          "flusher:/array/stale/evicted"),
    Break("stale (ii): the page was cleaned", "stale_flushes.c",
          "p->flush != entry || !page_listed(a, e->page)", "!page_listed(a, e->page)",
          "flusher:/array/stale/cleaned-again"),
    Break("stale (iii): the score is below the threshold", "stale_flushes.c",
          "array_flush_score(a, e->page) < a->config.stale_score", "0",
          "flusher:/array/stale/score"),
    Break("stale (iii): lower than, not lower or equal", "stale_flushes.c",
          "array_flush_score(a, e->page) < a->config.stale_score",
          "array_flush_score(a, e->page) <= a->config.stale_score",
          "flusher:/array/stale/score-edge"),
    Break("a discarded request asks for more", "stale_flushes.c",
          "(*stale)++;\n        array_flusher_ended(a);",
          "(*stale)++;\n        a->flushes_pending--;",
          "flusher:/array/stale/asks-for-more"),
    Break("a part of a page is read before it is written", "cache.c",
          "part->length == a->config.page_bytes) {\n        a->flags[page]",
          "part->length) {\n        a->flags[page]",
          "cache:/array/cache/update"),
    Break("a whole page is not", "cache.c",
          "part->length == a->config.page_bytes) {\n        a->flags[page]",
          "!part->length) {\n        a->flags[page]",
          "cache:/array/cache/whole-page"),
    Break("a dirty eviction has high priority, and is asked for", "cache.c",
          "array_page_write_soon(a, page);\n        under_way++;", "break;",
          "cache:/array/cache/dirty-set"),
    Break("a page that changes while it is written is copied", "writeback.c",
          "if (!sent && !marked) {", "if (1) {",
          "cache:/array/cache/changed-while-written"),
    Break("what alone is kept of a page is not written over", "writeback.c",
          "if (!sent && !marked) {", "if (!sent) {",
          "cache:/array/cache/changed-while-marked"),
    Break("a page that changed while it was written stays dirty", "writeback.c",
          "if (!(a->flags[page] & PAGE_DIRTY)) {\n        a->flags[page] |= PAGE_DIRTY;",
          "if (!(a->flags[page] & (PAGE_DIRTY | PAGE_WRITING))) {\n"
          "        a->flags[page] |= PAGE_DIRTY;",
          "cache:/array/cache/changed-while-written"),
    Break("an error of a read comes back", "cache.c",
          "bool failed = error && part->number == number;", "bool failed = false;",
          "cache:/array/cache/read-error"),
    Break("a flush waits for what was written before", "barrier.c",
          "request->owed = a->open;", "request->owed = 0;",
          "barrier:/array/barrier/order"),
    Break("it waits for pages that are being written", "writeback.c",
          "array_epoch_paid(a, io->epoch);\n        if (a->flags[page] & PAGE_DIRTY) {",
          "array_epoch_paid(a, a->epoch);\n        if (a->flags[page] & PAGE_DIRTY) {",
          "barrier:/array/barrier/under-way"),
    Break("it does not wait for what came later", "drive_queues.c",
          "a->pages[d->dirty_first].epoch <= epoch", "epoch",
          "barrier:/array/barrier/later-writes"),
    Break("the drives' own caches are flushed, after the data", "barrier.c",
          "if (d->unflushed) {", "if (0) {",
          "barrier:/array/barrier/order"),
    Break("only drives that wrote are", "barrier.c",
          "if (d->unflushed) {", "if (1) {",
          "barrier:/array/barrier/order"),
    Break("flushes end in their order", "barrier.c",
          "r && !r->owed; r = r->next", "r; r = r->next",
          "barrier:/array/barrier/two"),
    Break("FUA is a write and a flush", "array.c",
          "r->op == ARRAY_OP_WRITE && r->fua && !r->error", "0",
          "barrier:/array/barrier/fua"),
    Break("a barrier's writes do not fill the queue", "drive_queues.c",
          "while (d->high_length < a->config.slots && d->dirty_first", "while (d->dirty_first",
          "barrier:/array/barrier/reads-get-through"),
    Break("a failed write is tried again", "writeback.c",
          "p->tries++ < a->config.retries", "0",
          "barrier:/array/errors/retried"),
    Break("then it is reported", "writeback.c",
          "array_barrier_fail(a, epoch);", "",
          "barrier:/array/errors/reported"),
    Break("its page stays dirty", "writeback.c",
          "a->stats.write_errors++;\n        write_failed(a, page, io->epoch);",
          "a->stats.write_errors++;\n        array_epoch_paid(a, io->epoch);\n"
          "        (void)write_failed;\n"
          "        if (!(a->flags[page] & PAGE_DIRTY)) {\n"
          "            a->sets[set_of_page(a, page)].unclean--;\n"
          "        } else {\n            list_add(a, page);\n        }",
          "barrier:/array/errors/reported"),
    Break("a failed page is not evicted", "gclock.c",
          "PAGE_READING | PAGE_HIGH | PAGE_WRITING | PAGE_FAILED;\n"
          "    uint8_t mask = a->config.clean_first ? busy | PAGE_DIRTY : busy;",
          "PAGE_READING | PAGE_HIGH | PAGE_WRITING;\n"
          "    uint8_t mask = a->config.clean_first ? busy : busy;",
          "barrier:/array/errors/no-room"),
    Break("who waits for a set that cannot be written is told", "cache.c",
          "array_part_end(a, i, EIO);", "array_part_end(a, i, 0);",
          "barrier:/array/errors/no-room"),
    Break("a drive that could not flush is not believed again", "barrier.c",
          "d->lost = true;", "",
          "barrier:/array/errors/lost"),
    Break("a label's checksum", "label.c",
          "return get(&at, 4) == crc32c(bytes, CHECKSUM_AT)", "return *at || true",
          "keys:/array/label/damage"),
    Break("drives of different sizes", "keys.c",
          "c->drive_bytes[i] != c->drive_bytes[0]", "0",
          "keys:/array/keys/together"),
    # The model must notice by itself, without a test made for the rule.
    Break("random: a copy is forgotten", "writeback.c",
          "if (a->config.memory && !whole) {", "if (0) {",
          "random:/array/random/0"),
    Break("random: a barrier forgets what is under way", "barrier.c",
          "request->owed = a->open;", "request->owed = 0;",
          "random:/array/random/1"),
    Break("random: the drives' caches are not flushed", "barrier.c",
          "if (d->unflushed) {", "if (0) {",
          "random:/array/random/1"),
    Break("random: an error is taken for success", "array.c",
          "array_write_done(a, io, error);", "array_write_done(a, io, 0);",
          "random:/array/random/2"),
]  # fmt: skip


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip()[-300:] if done.returncode else ""


def _glib(what: str) -> list[str]:
    command = ["pkg-config", what, "glib-2.0"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def _compile(source: Path, made: Path) -> str:
    flags = [*FLAGS, f"-I{CORE}", f"-I{TESTS}", *_glib("--cflags")]
    return _run(["cc", *flags, "-c", "-o", str(made), str(source)])


def _red(work: Path, broken: Break) -> str:
    """What is wrong with the break or its test; "" when the test turns red."""
    text = (CORE / broken.file).read_text(encoding="utf-8")
    if text.count(broken.old) != 1:
        return f"{broken.file} has what is to be broken {text.count(broken.old)} times"
    source = work / broken.file
    source.write_text(text.replace(broken.old, broken.new), encoding="utf-8")
    bad = work / "bad.o"
    if problem := _compile(source, bad):
        return f"does not build: {problem}"
    name, test = broken.test.split(":")
    program = work / "program"
    objects = [path for path in work.glob("core-*.o") if path.name != f"core-{broken.file}.o"]
    link = ["cc", *FLAGS, "-o", str(program), str(work / f"test-{name}.o"), str(bad)]
    if problem := _run([*link, *map(str, objects), *_glib("--libs")]):
        return f"does not link: {problem}"
    try:
        done = subprocess.run(
            [str(program), "--tap", "-p", test], capture_output=True, check=False, timeout=600
        )
    except subprocess.TimeoutExpired:
        return ""  # it hangs: seen
    return "" if done.returncode else "green"


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for source in CORE.glob("*.c"):
            _compile(source, Path(work) / f"core-{source.name}.o")
        for test in {broken.test.split(":")[0] for broken in BREAKS}:
            _compile(TESTS / f"test-{test}.c", Path(work) / f"test-{test}.o")
        for number, broken in enumerate(BREAKS, 1):
            problem = _red(Path(work), broken)
            failed += bool(problem)
            verdict = f"not ok {number} {broken.rule}: {problem}" if problem else ""
            print(verdict or f"ok {number} {broken.rule}", flush=True)
    print(f"1..{len(BREAKS)}")
    print(f"{len(BREAKS) - failed} seen red, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
