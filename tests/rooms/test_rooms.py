#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lint of rooms is shown to fail: a small clean tree, and one violation planted at a time."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

import rooms
from test_members import Members
from tree import CLEAN, CORE, DRIVE, TABLE, Planted, run

__all__ = ["Members"]


class Rooms(Planted):
    def test_clean(self) -> None:
        self.clean({})

    def test_as_a_program(self) -> None:
        """What make sees: the exit code, and the lines, with a process on each core."""
        text = f"{DRIVE}int planted(ScarpDrive *d);\nint planted(ScarpDrive *d)\n{{\n"
        text += "    return d->gc.jobs;\n}\n"
        root = self.tree({"ftl/flow/planted.c": text})
        command = [sys.executable, str(Path(rooms.__file__)), "--root", str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual(
            done.stdout,
            "ftl/flow/planted.c:5: names Gc.jobs, a member of room gc\n"
            "rooms: 1 refused in 24 files\n",
        )
        self.assertEqual(done.returncode, 1)

    def test_some_rooms(self) -> None:
        """While the others are being rewritten."""
        files: dict[str, str | None] = {"ftl/gc/broken.c": "what\n", "ftl/flow/flow.c": None}
        text = f"{CORE}int n(Gc *gc);\nint n(Gc *gc)\n{{\n    return gc->jobs;\n}}\n"
        files["ftl/blocks/planted.c"] = text
        public = '#include "check/ops.h"\nvoid own(ScarpDrive *);\n'
        public += "void own(ScarpDrive *drive)\n{\n    scarp_run(drive);\n    core_sum(NULL);\n}\n"
        files["ftl/check/own.c"] = '#include "core/ops.h"\n' + public
        root = self.tree(files)
        self.assertEqual(run(root, "core", "stat", "check")[0], 0)
        code, lines = run(root, "blocks", "core")
        self.assertEqual(code, 1)
        self.assertEqual(lines[:-1], ["ftl/blocks/planted.c:5: names Gc.jobs, a member of room gc"])
        code, lines = run(root, "nowhere")
        self.assertEqual(code, 2)
        self.assertEqual(len(lines), 1, lines)

    # Calls

    def test_call_up(self) -> None:
        self.refused(
            {
                "ftl/blocks/planted.c": '#include "blocks/ops.h"\n'
                '#include "gc/ops.h" // ! includes ftl/gc/ops.h of room gc, which lies above\n'
                "void planted(ScarpDrive *drive);\n"
                "void planted(ScarpDrive *drive)\n{\n"
                "    gc_collect(drive); // ! calls gc_collect() of room gc, which lies above\n"
                "}\n"
            }
        )

    def test_call_up_by_own_prototype(self) -> None:
        self.body(
            "    gc_collect(drive); // ! calls gc_collect() of room gc, which lies above core\n",
            "void gc_collect(ScarpDrive *);\n",
            "core",
            CORE,
        )

    def test_call_up_by_macro(self) -> None:
        self.body(
            "    RUN(drive); // ! calls gc_collect() of room gc\n",
            "void gc_collect(ScarpDrive *);\n#define RUN(d) gc_collect(d)\n",
            "core",
            CORE,
        )

    def test_call_up_through_the_public_api(self) -> None:
        self.body("    scarp_run(drive); // ! calls scarp_run() of room flow\n", room="gc")

    def test_call_up_in_an_inline(self) -> None:
        inline = "void gc_collect(ScarpDrive *);\nstatic inline void up(ScarpDrive *drive)\n{\n"
        inline += "    gc_collect(drive); // ! calls gc_collect() of room gc\n}\n#endif"
        self.refused({"ftl/core/ops.h": CLEAN["ftl/core/ops.h"].replace("#endif", inline)})

    def test_call_from_a_header_of_all(self) -> None:
        inline = "void gc_collect(ScarpDrive *);\nstatic inline void up(ScarpDrive *drive)\n{\n"
        inline += (
            "    gc_collect(drive); // ! calls gc_collect() of room gc, but belongs\n}\n#endif"
        )
        self.refused({"ftl/drive.h": CLEAN["ftl/drive.h"].replace("#endif", inline)})

    def test_address_up(self) -> None:
        self.body(
            "    void (*f)(ScarpDrive *) = gc_collect; // ! takes the address of gc_collect()\n"
            "    f(drive);\n",
            "void gc_collect(ScarpDrive *);\n",
            "core",
            CORE,
        )

    def test_address_up_in_a_table(self) -> None:
        text = f"{CORE}void gc_collect(ScarpDrive *);\n"
        text += "void (*const table[])(ScarpDrive *) = {\n"
        text += "    &gc_collect, // ! takes the address of gc_collect() of room gc\n};\n"
        self.refused({"ftl/core/planted.c": text})

    def test_address_as_argument(self) -> None:
        self.body(
            "    later(gc_collect, drive); // ! takes the address of gc_collect()\n",
            "void gc_collect(ScarpDrive *);\nvoid later(void (*)(ScarpDrive *), ScarpDrive *);\n",
            "core",
            CORE,
        )

    def test_variable_up(self) -> None:
        self.refused(
            {
                "ftl/flow/table.c": '#include "flow/ops.h"\nvoid *table;\n',
                "ftl/gc/planted.c": f"{DRIVE}extern void *table;\nvoid *planted(void);\n"
                "void *planted(void)\n{\n"
                "    return table; // ! names the variable table of room flow\n}\n",
            }
        )

    def test_call_of_an_inner_function(self) -> None:
        self.body(
            "    blocks_sort(drive); // ! calls blocks_sort() of room blocks, which none of its\n",
            "void blocks_sort(ScarpDrive *);\n",
        )

    def test_call_by_way_of_an_inner_header(self) -> None:
        """A header that ops.h includes is as public as ops.h."""
        inner = "#pragma once\nint core_two(void);\n"
        text = CLEAN["ftl/core/ops.h"].replace("#define", '#include "core/two.h"\n#define')
        own = f"{CORE}int own(void);\nint own(void)\n{{\n    return core_two();\n}}\n"
        home = '#include "core/two.h"\nint core_two(void)\n{\n    return 2;\n}\n'
        self.clean(
            {
                "ftl/core/two.h": inner,
                "ftl/core/two.c": home,
                "ftl/core/ops.h": text,
                "ftl/blocks/own.c": own,
            }
        )

    def test_call_of_a_room_beside(self) -> None:
        self.body(
            "    stat_count(drive); // ! calls stat_count() of room stat, and calls of\n",
            "void stat_count(ScarpDrive *);\n",
        )

    def test_call_between_rooms_beside(self) -> None:
        self.body(
            "    stat_count(drive); // ! calls stat_count() of room stat, and calls of\n",
            "void stat_count(ScarpDrive *);\n",
            "check",
            '#include "check/ops.h"\n',
        )

    def test_rooms_that_call_each_other(self) -> None:
        text = '#include "stat/ops.h"\n#include "gc/ops.h"\nvoid planted(ScarpDrive *drive);\n'
        text += "void planted(ScarpDrive *drive)\n{\n    gc_collect(drive);\n}\n"
        self.refused(
            {"ftl/stat/planted.c": text},
            "ftl/gc/job.c:21: calls stat_count() of room stat, which calls back to gc",
        )

    def test_pair_that_is_not_needed(self) -> None:
        table = TABLE.replace('"gc -> stat"', '"gc -> stat", "check -> stat"')
        self.refused({"ftl/rooms.toml": table}, "ftl/rooms.toml:1: calls: 'check -> stat'")

    # Includes

    def test_private_header(self) -> None:
        text = '#include "flow/ops.h"\n'
        text += '#include "blocks/inner.h" // ! includes ftl/blocks/inner.h, a private header\n'
        self.refused({"ftl/flow/planted.c": text})

    def test_private_header_relatively(self) -> None:
        text = '#  include   "../blocks/inner.h" // ! includes ftl/blocks/inner.h, a private\n'
        self.refused({"ftl/flow/planted.c": text})

    def test_private_header_compiled_out(self) -> None:
        text = "#if 0\n#include <blocks/inner.h> // ! includes ftl/blocks/inner.h, a private\n"
        self.refused({"ftl/flow/planted.c": f"{text}#endif\n"})

    def test_include_in_a_comment(self) -> None:
        self.clean({"ftl/flow/planted.c": '/*\n#include "blocks/inner.h"\n*/\n'})

    def test_include_by_a_macro(self) -> None:
        text = '#define IT "blocks/inner.h"\n#include IT // ! an include by a macro\n'
        self.refused({"ftl/flow/planted.c": text})

    def test_cycle(self) -> None:
        self.refused(
            {
                "ftl/gc/a.h": '#pragma once\n#include "gc/b.h"\n',
                "ftl/gc/b.h": '#pragma once\n#include "c.h"\n',
                "ftl/gc/c.h": "#pragma once\n"
                '#include "gc/a.h" // ! include cycle: ftl/gc/a.h -> ftl/gc/b.h -> ftl/gc/c.h\n',
            }
        )

    def test_header_that_includes_itself(self) -> None:
        text = '#pragma once\n#include "a.h" // ! include cycle: ftl/gc/a.h -> ftl/gc/a.h\n'
        self.refused({"ftl/gc/a.h": text})

    def test_state_of_an_upper_room(self) -> None:
        guard = "#define BLOCKS_STATE_H\n"
        text = CLEAN["ftl/blocks/state.h"].replace(
            guard, f'{guard}#include "flow/state.h" // ! includes ftl/flow/state.h of room flow\n'
        )
        self.refused({"ftl/blocks/state.h": text})

    def test_state_by_way_of_an_inner_header(self) -> None:
        guard = "#define BLOCKS_STATE_H\n"
        text = CLEAN["ftl/blocks/state.h"].replace(guard, f'{guard}#include "blocks/list.h"\n')
        inner = '#pragma once\n#include "flow/state.h" // ! includes ftl/flow/state.h of room\n'
        self.refused({"ftl/blocks/state.h": text, "ftl/blocks/list.h": inner})

    def test_state_includes_ops(self) -> None:
        guard = "#define GC_STATE_H\n"
        text = CLEAN["ftl/gc/state.h"].replace(
            guard, f'{guard}#include "blocks/ops.h" // ! includes ftl/blocks/ops.h: state may\n'
        )
        code, lines = run(self.tree({"ftl/gc/state.h": text}))
        self.assertEqual(code, 1)
        self.assertIn(
            "ftl/gc/state.h:3: includes ftl/blocks/ops.h: state may include only "
            "lower rooms' state",
            lines,
        )
        self.assertTrue(any("include cycle" in line for line in lines), lines)

    def test_ops_in_the_drive(self) -> None:
        text = (
            '#pragma once\n#include "core/ops.h" // ! includes ftl/core/ops.h of room core, but\n'
        )
        self.refused({"ftl/more.h": text})

    def test_device_includes_state(self) -> None:
        text = '#include "../ftl/gc/state.h" // ! includes ftl/gc/state.h, which shows\n'
        text += '#include "gc/ops.h" // ! includes ftl/gc/ops.h, which shows\n'
        self.refused({"hw/more.c": text})

    # What does not compile

    def test_header_that_does_not_compile_alone(self) -> None:
        text = "#pragma once\nint more(ScarpDrive *drive); // ! does not compile: unknown type\n"
        self.refused({"ftl/gc/more.h": text})

    def test_header_that_needs_what_is_precompiled(self) -> None:
        text = "#pragma once\nstatic inline void more(int *p)\n{\n"
        text += "    memset(p, 0, 4); // ! does not compile: call to undeclared\n}\n"
        self.refused({"ftl/gc/more.h": text})

    def test_source_that_changes_what_is_precompiled(self) -> None:
        """strverscmp() is there only for a source that asks for GNU's functions first."""
        text = "#define _GNU_SOURCE\n#include <string.h>\nint own(void);\nint own(void)\n{\n"
        self.clean({"ftl/gc/own.c": text + '    return strverscmp("a", "b");\n}\n'})

    def test_source_that_does_not_compile(self) -> None:
        self.body("    return drive->gone; // ! does not compile: no member named 'gone'\n")

    def test_header_that_is_not_there(self) -> None:
        self.refused({"ftl/gc/x.c": "#include \"none.h\" // ! does not compile: 'none.h' file\n"})

    # Tests look inside through one header

    def test_test_names_a_member(self) -> None:
        text = CLEAN["tests/unit/test-gc.c"].replace(
            "    return",
            "    drive->gc.jobs = 1; // ! names Gc.jobs, a member of room gc\n    return",
        )
        self.refused({"tests/unit/test-gc.c": text})

    def test_test_header_names_a_member(self) -> None:
        helper = "static inline int helper(ScarpDrive *d)\n{\n"
        helper += "    return d->gc.jobs; // ! names Gc.jobs\n}\n"
        text = CLEAN["tests/unit/test-gc.c"].replace("int main", '#include "helper.h"\nint main')
        self.refused({"tests/unit/test-gc.c": text, "tests/unit/helper.h": helper})

    def test_test_includes_the_drive(self) -> None:
        text = '#include "drive.h" // ! includes ftl/drive.h; of the tests only\n'
        text += '#include "gc/state.h" // ! includes ftl/gc/state.h; of the tests only\n'
        self.refused({"tests/unit/test-more.c": text})

    # The layout and the table

    def test_folder_that_is_no_room(self) -> None:
        self.refused({"ftl/other/x.c": "\n\nint x; // \n"}, "ftl/other/x.c:1: lies in ftl/other")

    def test_source_of_no_room(self) -> None:
        self.refused({"ftl/x.c": "int x;\n"}, "ftl/x.c:1: belongs to no room")

    def test_room_without_files(self) -> None:
        table = TABLE.replace('"flow"', '"flow", "more"')
        self.refused({"ftl/rooms.toml": table}, "ftl/rooms.toml:1: room more has no file")

    def test_open_record_that_nobody_reads(self) -> None:
        table = TABLE + '[rooms.flow]\nopen = ["Flow"]\n'
        self.refused({"ftl/rooms.toml": table}, "ftl/rooms.toml:1: rooms.flow.open: nobody")

    def exempted(self, name: str) -> str:
        return f'{TABLE}[[except]]\nfile = "ftl/flow/planted.c"\nname = "{name}"\nwhy = "a test"\n'

    def test_exemption(self) -> None:
        text = f"{DRIVE}int planted(ScarpDrive *d);\nint planted(ScarpDrive *d)\n{{\n"
        text += "    return d->gc.jobs;\n}\n"
        self.clean({"ftl/flow/planted.c": text, "ftl/rooms.toml": self.exempted("Gc.jobs")})

    def test_exemption_that_is_not_needed(self) -> None:
        text = f"{DRIVE}int planted(ScarpDrive *d);\nint planted(ScarpDrive *d)\n{{\n"
        text += "    return d->gc.jobs; // ! names Gc.jobs\n}\n"
        self.refused(
            {"ftl/flow/planted.c": text, "ftl/rooms.toml": self.exempted("Gc.victim")},
            "ftl/rooms.toml:1: except: ftl/flow/planted.c does not need 'Gc.victim'",
        )

    def test_bad_tables(self) -> None:
        for change, said in (
            (("order =", "orders ="), "orders: unknown key"),
            (('"gc -> stat"', '"gc to stat"'), "calls: 'gc to stat' is not"),
            (('"gc -> stat"', '"gc -> nowhere"'), "calls: 'gc -> nowhere' is not"),
            (("[rooms.core]", "[rooms.none]"), "rooms.none: neither in order nor"),
            (('["Geometry"]', '"Geometry"'), "rooms.core.open: must be a list"),
            (('"check"]', '"gc"]'), "order, beside: the same room twice"),
            (("[tests]", "[tests"), "is no TOML"),
        ):
            with self.subTest(said):
                code, lines = run(self.tree({"ftl/rooms.toml": TABLE.replace(*change)}))
                self.assertEqual(code, 2)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn(f"ftl/rooms.toml: {said}", lines[0])

    # Warnings

    def test_warnings(self) -> None:
        root = self.tree({})
        code, lines = run(root, "--warn")
        self.assertEqual(code, 0, lines)
        self.assertEqual(
            lines[:-1],
            ["ftl/check/ops.h:4: warning: check_all() is used by no other room"],
        )

    def test_warning_of_another_rooms_function(self) -> None:
        ops = CLEAN["ftl/flow/ops.h"].replace("#endif", "void gc_collect(ScarpDrive *);\n#endif")
        code, lines = run(self.tree({"ftl/flow/ops.h": ops}), "--warn")
        self.assertEqual(code, 0, lines)
        want = "ftl/flow/ops.h:5: warning: declares gc_collect(), which room gc defines"
        self.assertIn(want, lines)


if __name__ == "__main__":
    unittest.main()
