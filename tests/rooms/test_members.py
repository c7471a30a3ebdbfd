# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of rooms' records, named from outside by every way that C has."""

from __future__ import annotations

from tree import CLEAN, CORE, DRIVE, TABLE, Planted


class Members(Planted):
    def test_member(self) -> None:
        self.body("    drive->gc.jobs = 1; // ! names Gc.jobs, a member of room gc\n")

    def test_member_read(self) -> None:
        self.body("    if (drive->gc.jobs) { // ! names Gc.jobs\n    }\n")

    def test_member_of_lower_room(self) -> None:
        self.body("    drive->blocks.last = NULL; // ! names Blocks.last\n")

    def test_member_of_upper_room(self) -> None:
        self.body("    drive->flow.ended = 1; // ! names Flow.ended\n", room="core", include=CORE)

    def test_local_pointer(self) -> None:
        self.body("    Gc *mine = &drive->gc;\n    mine->jobs++; // ! names Gc.jobs\n")

    def test_cast_pointer(self) -> None:
        self.body("    void *p = &drive->gc;\n    ((Gc *)p)->jobs++; // ! names Gc.jobs\n")

    def test_auto_type(self) -> None:
        self.body("    __auto_type mine = &drive->gc;\n    mine->jobs++; // ! names Gc.jobs\n")

    def test_pointer_to_member(self) -> None:
        self.body("    int *jobs = &drive->gc.jobs; // ! names Gc.jobs\n    *jobs = 1;\n")

    def test_typedef(self) -> None:
        alias = "typedef Gc Mine;\ntypedef Mine *Handle;\n"
        self.body("    Handle h = &drive->gc;\n    h->jobs = 1; // ! names Gc.jobs\n", alias)

    def test_typeof(self) -> None:
        self.body("    typeof(drive->gc.jobs) n = 1; // ! names Gc.jobs\n    (void)n;\n")

    def test_sizeof(self) -> None:
        self.body("    int n[sizeof(((Gc *)0)->jobs)]; // ! names Gc.jobs\n    (void)n;\n")

    def test_static_assert(self) -> None:
        self.body('    _Static_assert(sizeof(((Gc *)0)->jobs) > 1, ""); // ! names Gc.jobs\n')

    def test_generic(self) -> None:
        self.body("    (void)_Generic(drive->gc.jobs, int: 1); // ! names Gc.jobs\n")

    def test_statement_expression(self) -> None:
        self.body("    int n = ({ drive->gc.jobs; }); // ! names Gc.jobs\n    (void)n;\n")

    def test_macro_of_its_own(self) -> None:
        alias = "#define JOBS(d) ((d)->gc.jobs) // ! names Gc.jobs\n"
        self.body("    JOBS(drive) = 1; // ! names Gc.jobs\n", alias)

    def test_macro_argument(self) -> None:
        alias = "#define FIELD(p, f) ((p)->f)\n"
        self.body("    FIELD(&drive->gc,\n        jobs) = 1; // ! names Gc.jobs\n", alias)

    def test_macro_that_pastes(self) -> None:
        alias = "#define PASTE(a, b) a##b\n"
        self.body("    drive->gc.PASTE(jo, bs) = 1; // ! names Gc.jobs\n", alias)

    def test_macro_of_the_room(self) -> None:
        text = '#include "blocks/ops.h"\nint planted(Block *block);\n'
        text += "int planted(Block *block)\n{\n"
        text += "    return BLOCKS_VALID(block); // ! names Block.valid\n}\n"
        self.refused({"ftl/gc/planted.c": text})

    def test_macro_elsewhere_used_at_home(self) -> None:
        text = CLEAN["ftl/scarp.h"].replace(
            "#endif", "#define JOBS(d) ((d)->gc.jobs) // ! names Gc.jobs\n#endif"
        )
        own = f"{DRIVE}int own(ScarpDrive *drive);\nint own(ScarpDrive *drive)\n{{\n"
        own += "    return JOBS(drive);\n}\n"
        self.refused({"ftl/scarp.h": text, "ftl/gc/own.c": own})

    def test_offsetof(self) -> None:
        self.body("    size_t at = offsetof(Gc, jobs); // ! names Gc.jobs\n    (void)at;\n")

    def test_container_of(self) -> None:
        alias = (
            "#define container_of(p, type, member) "
            "((type *)((char *)(p) - offsetof(type, member)))\n"
        )
        self.body(
            "    int n;\n    Gc *gc = container_of(&n, Gc, jobs); // ! names Gc.jobs\n"
            "    (void)gc; (void)drive;\n",
            alias,
        )

    def test_designated_initialiser(self) -> None:
        self.body("    Gc gc = {\n        .jobs = 1, // ! names Gc.jobs\n    };\n    (void)gc;\n")

    def test_compound_literal(self) -> None:
        self.body(
            "    *(&drive->gc) // ! writes a whole Gc\n"
            "        = (Gc){ .jobs = 1 }; // ! names Gc.jobs\n"
        )

    def test_nested_designator(self) -> None:
        self.body("    ScarpDrive d = { .gc.jobs = 1 }; // ! names Gc.jobs\n    (void)d;\n")

    def test_list_by_order(self) -> None:
        self.body("    Gc gc = { 1, NULL }; // ! fills a Gc by its members' order\n    (void)gc;\n")

    def test_list_in_array(self) -> None:
        self.body("    Gc gc[] = {\n        { 1, NULL }, // ! fills a Gc\n    };\n    (void)gc;\n")

    def test_whole_record(self) -> None:
        self.body("    Gc none = { 0 };\n    drive->gc = none; // ! writes a whole Gc\n")

    def test_whole_record_by_pointer(self) -> None:
        self.body("    Gc *gc = &drive->gc;\n    gc[0] = *gc; // ! writes a whole Gc\n")

    def test_copied_out_as_bytes(self) -> None:
        self.body(
            "    int n[4];\n    memcpy(n, &drive->gc, 8); // ! copies or clears a Gc as bytes\n"
            "    (void)n;\n",
            "#include <string.h>\n",
        )

    def test_copied_as_bytes(self) -> None:
        self.body(
            "    memset(&drive->gc, 0, sizeof(Gc)); // ! copies or clears a Gc as bytes\n",
            "#include <string.h>\n",
        )

    def test_anonymous_struct(self) -> None:
        self.body(
            "    drive->blocks // \n      .last // ! names Blocks.last\n"
            "      ->written = 1; // ! names\n"
        )

    def test_named_union_inside(self) -> None:
        self.body(
            "    Block *b = NULL;\n    b // \n    ->tail // ! names Block.tail\n"
            "    .u = 1; // ! names\n"
        )

    def test_record_nested_in_a_source(self) -> None:
        own = "struct Inner { struct { int deep; } in; };\n"
        text = f"{DRIVE}{own}int own(struct Inner *i);\n"
        text += "int own(struct Inner *i)\n{\n    return i->in.deep;\n}\n"
        self.clean({"ftl/gc/own.c": text})

    def test_inline_of_another_room(self) -> None:
        inline = "static inline int core_jobs(ScarpDrive *drive)\n{\n"
        inline += "    return drive->gc.jobs; // ! names Gc.jobs, a member of room gc\n}\n#endif"
        text = CLEAN["ftl/core/ops.h"].replace("#endif", inline)
        self.refused({"ftl/core/ops.h": text})

    def test_inline_in_a_header_of_all(self) -> None:
        inline = "static inline int jobs(ScarpDrive *drive)\n{\n"
        inline += "    return drive->gc.jobs; // ! names Gc.jobs\n}\n#endif"
        self.refused({"ftl/drive.h": CLEAN["ftl/drive.h"].replace("#endif", inline)})

    def test_inline_that_no_source_includes(self) -> None:
        text = f"{DRIVE}static inline int j(ScarpDrive *d)\n{{\n"
        text += "    return d->gc.jobs; // ! names Gc.jobs\n}\n"
        self.refused({"ftl/flow/lost.h": text})

    def test_compiled_in_by_a_switch(self) -> None:
        self.body(
            "#ifdef SCARP_CHECKED\n    drive->gc.jobs++; // ! names Gc.jobs\n"
            "#else\n    drive->gc.victim = NULL; // ! names Gc.victim\n#endif\n"
        )

    def test_function_made_by_a_macro(self) -> None:
        text = f"{DRIVE}#define MAKE(name) int name(ScarpDrive *d); int name(ScarpDrive *d)\n"
        text += "MAKE(planted)\n{\n    return d->gc.jobs; // ! names Gc.jobs\n}\n"
        self.refused({"ftl/flow/planted.c": text})

    # Records that are open

    def test_open_written(self) -> None:
        self.body("    drive->geometry.dies = 1; // ! writes Geometry.dies, which room core\n")

    def test_kept_read(self) -> None:
        """Of an open record, what one room alone may ask."""
        table = TABLE.replace("values =", 'kept = ["Geometry.shape -> gc"]\nvalues =')
        self.clean({"ftl/rooms.toml": table})
        text = f"{DRIVE}int planted(ScarpDrive *d);\nint planted(ScarpDrive *d)\n{{\n"
        text += "    return d->geometry.dies + d->geometry.shape[0]; "
        text += "// ! names Geometry.shape, which only rooms core and gc may ask\n}\n"
        self.refused({"ftl/rooms.toml": table, "ftl/flow/planted.c": text})

    def test_kept_for_nobody(self) -> None:
        table = TABLE.replace("values =", 'kept = ["Geometry.shape -> flow"]\nvalues =')
        self.refused(
            {"ftl/rooms.toml": table},
            "ftl/rooms.toml:1: rooms.core.kept: room flow does not name Geometry.shape",
            "ftl/gc/job.c:",
        )

    def test_open_incremented(self) -> None:
        self.body("    ++drive->geometry.dies; // ! writes Geometry.dies\n")

    def test_open_added_to(self) -> None:
        self.body("    drive->geometry.shape[1] += 2; // ! writes Geometry.shape\n")

    def test_open_by_pointer(self) -> None:
        self.body("    int *n = &drive->geometry.dies; // ! writes Geometry.dies\n    *n = 1;\n")

    def test_open_array_by_pointer(self) -> None:
        self.body("    int *n = drive->geometry.shape; // ! writes Geometry.shape\n    *n = 1;\n")

    def test_open_replaced(self) -> None:
        self.body(
            "    Geometry g = { 0 };\n    drive->geometry = g; // ! writes a whole Geometry\n"
        )
