# SPDX-License-Identifier: GPL-2.0-or-later
"""A small clean tree of rooms, and how a test plants a violation in it.

A line that ends in `// !` and some words is one that the lint must refuse with these words; every
other line must pass.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import unittest
from pathlib import Path

import rooms

TABLE = """
order = ["core", "blocks", "gc", "flow"]
beside = ["stat", "check"]
calls = ["gc -> stat"]
outside = ["hw"]
[parse]
precompiled = ["string.h"]
flags = ["-std=gnu11"]
switches = ["SCARP_CHECKED"]
[rooms.core]
open = ["Geometry"]
values = ["Address"]
[tests]
folders = ["tests/unit"]
include = ["tests/unit"]
inside = "tests/unit/inside.h"
"""

# Rooms of a few lines each, with what is allowed: own members, whole records, calls down, open
# records read, values filled, a policy's table, and names that are equal by chance.
CLEAN = {
    "ftl/rooms.toml": TABLE,
    "ftl/scarp.h": """
#ifndef SCARP_H
#define SCARP_H
#include <stddef.h>
typedef struct ScarpDrive ScarpDrive;
typedef struct { int jobs; } Public;
void scarp_run(ScarpDrive *drive);
#endif
""",
    "ftl/drive.h": """
#ifndef DRIVE_H
#define DRIVE_H
#include "scarp.h"
#include "core/state.h"
#include "blocks/state.h"
#include "gc/state.h"
#include "flow/state.h"
#include "stat/state.h"
struct ScarpDrive {
    Geometry geometry;
    Blocks blocks;
    Gc gc;
    Flow flow;
    Stat stat;
};
#endif
""",
    "ftl/core/state.h": """
#ifndef CORE_STATE_H
#define CORE_STATE_H
typedef struct { int dies, shape[4]; } Geometry;
typedef struct { int die, page; } Address;
#endif
""",
    "ftl/core/ops.h": """
#ifndef CORE_OPS_H
#define CORE_OPS_H
#include "drive.h"
static inline int core_die(ScarpDrive *drive, Address at)
{
    return at.die % drive->geometry.dies;
}
int core_sum(const int *shape);
#endif
""",
    "ftl/core/core.c": """
#include "core/ops.h"
int core_sum(const int *shape)
{
    return shape[0] + shape[1];
}
""",
    "ftl/blocks/state.h": """
#ifndef BLOCKS_STATE_H
#define BLOCKS_STATE_H
#include "core/state.h"
typedef struct Block { int valid; struct { int written; }; union { int u; } tail; } Block;
typedef struct { Block block[4]; Block *last; } Blocks;
#endif
""",
    "ftl/blocks/ops.h": """
#ifndef BLOCKS_OPS_H
#define BLOCKS_OPS_H
#include "drive.h"
#define BLOCKS_VALID(b) ((b)->valid)
static inline int blocks_valid(const Block *block)
{
    return block->valid + block->written;
}
Block *blocks_take(ScarpDrive *drive);
#endif
""",
    "ftl/blocks/inner.h": """
#ifndef BLOCKS_INNER_H
#define BLOCKS_INNER_H
#include "blocks/ops.h"
void blocks_sort(ScarpDrive *drive);
#endif
""",
    "ftl/blocks/blocks.c": """
#include "inner.h"
#include "core/ops.h"
Block *blocks_take(ScarpDrive *drive)
{
    Address at = { .die = 1, .page = 2 };
    at.page = core_die(drive, at);
    return &drive->blocks.block[at.page];
}
void blocks_sort(ScarpDrive *drive)
{
    drive->blocks.last = blocks_take(drive);
    drive->blocks.last->tail.u = BLOCKS_VALID(drive->blocks.last);
}
""",
    "ftl/gc/state.h": """
#ifndef GC_STATE_H
#define GC_STATE_H
#include "blocks/state.h"
typedef struct { int jobs; Block *victim, kept; Blocks *copies; } Gc;
#endif
""",
    "ftl/gc/ops.h": """
#ifndef GC_OPS_H
#define GC_OPS_H
#include "drive.h"
typedef struct { const char *name; void (*collect)(ScarpDrive *drive); } Policy;
extern const Policy gc_greedy;
void gc_collect(ScarpDrive *drive);
#endif
""",
    "ftl/gc/job.c": """
#include "gc/ops.h"
#include "blocks/ops.h"
#include "core/ops.h"
#include "stat/ops.h"
#include <string.h>
void gc_collect(ScarpDrive *drive)
{
    Gc *gc = &drive->gc;
    Blocks *all = &drive->blocks;
    const int *shape = drive->geometry.shape;
    Public public = { .jobs = sizeof(*all) > 1 };
    gc->victim = blocks_take(drive);
    gc->jobs += blocks_valid(gc->victim) + public.jobs + shape[0];
    gc->jobs += core_sum(drive->geometry.shape) + drive->geometry.shape[1];
    Block mine[2] = { 0 };
    mine[1] = *gc->victim;
    gc->kept = mine[1];
    gc->copies[1] = *all;
    memset(&gc->kept, 0, sizeof(Block));
    memset(mine, 0, sizeof(mine));
    stat_count(drive);
}
const Policy gc_greedy = { .name = "greedy", .collect = gc_collect };
""",
    "ftl/flow/state.h": """
#ifndef FLOW_STATE_H
#define FLOW_STATE_H
typedef struct { int ended; } Flow;
#endif
""",
    "ftl/flow/ops.h": """
#ifndef FLOW_OPS_H
#define FLOW_OPS_H
#include "drive.h"
void flow_end(ScarpDrive *drive);
#endif
""",
    "ftl/flow/flow.c": """
#include "flow/ops.h"
#include "gc/ops.h"
static const Policy *const policies[] = { &gc_greedy };
void flow_end(ScarpDrive *drive)
{
    void (*later)(ScarpDrive *drive) = gc_collect;
    later(drive);
    gc_collect(drive);
    drive->flow.ended += policies[0] != NULL;
}
void scarp_run(ScarpDrive *drive)
{
    flow_end(drive);
}
""",
    "ftl/stat/state.h": """
#ifndef STAT_STATE_H
#define STAT_STATE_H
typedef struct { long n; } Stat;
#endif
""",
    "ftl/stat/ops.h": """
#ifndef STAT_OPS_H
#define STAT_OPS_H
#include "drive.h"
void stat_count(ScarpDrive *drive);
#endif
""",
    "ftl/stat/stat.c": """
#include "stat/ops.h"
void stat_count(ScarpDrive *drive)
{
    drive->stat.n++;
}
""",
    "ftl/check/ops.h": """
#ifndef CHECK_OPS_H
#define CHECK_OPS_H
#include "drive.h"
void check_all(ScarpDrive *drive);
#endif
""",
    "ftl/check/check.c": """
#include "check/ops.h"
#include "flow/ops.h"
void check_all(ScarpDrive *drive)
{
    flow_end(drive);
}
""",
    "hw/device.c": """
#include "hw/none.h"
#include DEVICES
#include "../ftl/scarp.h"
int device_gc(Gc *gc) { return gc->jobs; }
""",
    "tests/unit/inside.h": """
#include "drive.h"
static inline int inside_jobs(ScarpDrive *drive)
{
    return drive->gc.jobs;
}
""",
    "tests/unit/test-gc.c": """
#include "inside.h"
#include "gc/ops.h"
int main(void)
{
    ScarpDrive *drive = NULL;
    return inside_jobs(drive);
}
""",
}

# What stands before the lines that a case plants in a new file of a room.
DRIVE = '#include "gc/ops.h"\n'
CORE = '#include "core/ops.h"\n'
PLANTED = re.compile(r"// ! ?(.*)$")


def write(root: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text.removeprefix("\n"))


def run(root: Path, *options: str) -> tuple[int, list[str]]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = rooms.main(["--root", str(root), "--jobs", "1", *options])
    return code, said.getvalue().splitlines()


class Planted(unittest.TestCase):
    def tree(self, files: dict[str, str | None]) -> Path:
        folder = tempfile.TemporaryDirectory(prefix="scarp-rooms-")
        self.addCleanup(folder.cleanup)
        root = Path(folder.name).resolve()
        write(root, dict(CLEAN))
        write(root, files)
        return root

    def refused(self, files: dict[str, str | None], *others: str) -> None:
        """Each marked line is refused with its words, and no other but those that are named."""
        root = self.tree(files)
        wanted = list(others)
        for name, text in files.items():
            for number, line in enumerate((text or "").removeprefix("\n").splitlines(), 1):
                if mark := PLANTED.search(line):
                    wanted.append(f"{name}:{number}: {mark[1]}")
        self.assertTrue(wanted, "the case plants nothing")
        code, lines = run(root)
        said = "\n".join(lines)
        self.assertEqual(code, 1, said)
        found = lines[:-1]
        for want in wanted:
            hits = [line for line in found if line.startswith(want)]
            self.assertTrue(hits, f"not refused: {want}\n{said}")
            found = [line for line in found if line not in hits]
        self.assertEqual(found, [], "refused, but not planted")
        self.assertRegex(lines[-1], r"^rooms: [1-9]\d* refused in \d+ files$")

    def clean(self, files: dict[str, str | None]) -> None:
        code, lines = run(self.tree(files))
        self.assertEqual(code, 0, "\n".join(lines))
        self.assertRegex(lines[-1], r"^rooms: \d+ files, clean$")

    def body(self, lines: str, before: str = "", room: str = "flow", include: str = DRIVE) -> None:
        """Plants statements of a function, in a new file of a room."""
        text = f"{include}{before}void planted(ScarpDrive *drive);\n"
        text += f"void planted(ScarpDrive *drive)\n{{\n{lines}}}\n"
        self.refused({f"ftl/{room}/planted.c": text})
