/*
 * The timeline: what an observer is told, read back from the trace by the
 * field numbers of Perfetto's protos (trace_packet, track_event and
 * track_descriptor), as lines of text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "timeline.h"

#define EIGHT_PLANES "geometry.planes_per_die=2"

/* ---- Protocol buffers ----------------------------------------------------- */

typedef struct {
    const uint8_t *at, *end;
} Bytes;

typedef struct {
    unsigned field;
    uint64_t value;
    Bytes bytes;
} Field;

static uint64_t varint(Bytes *from)
{
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte;

        g_assert_true(from->at < from->end && shift < 64);
        byte = *from->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

static bool next_field(Bytes *from, Field *to)
{
    uint64_t tag;

    if (from->at == from->end) {
        return false;
    }
    tag = varint(from);
    *to = (Field) { .field = tag >> 3 };
    switch (tag & 7) {
    case 0:
        to->value = varint(from);
        break;
    case 1:
        g_assert_cmpint(from->end - from->at, >=, 8);
        memcpy(&to->value, from->at, 8);
        to->value = GUINT64_FROM_LE(to->value);
        from->at += 8;
        break;
    default:
        g_assert_cmpuint(tag & 7, ==, 2);
        to->value = varint(from);
        g_assert_cmpuint(to->value, <=, from->end - from->at);
        to->bytes = (Bytes) { from->at, from->at + to->value };
        from->at += to->value;
        break;
    }
    return true;
}

/* ---- The trace as text ----------------------------------------------------- */

typedef struct {
    GByteArray *bytes;
    unsigned calls;
    size_t least; /* in a call but the last */
    size_t last;
    GHashTable *names[4];  /* by field of InternedData, then iid */
    GHashTable *tracks;    /* by uuid: "parent/name" */
    GPtrArray *described;  /* the same with their ranks, in order */
    GPtrArray *slices;
} Trace;

static void sink(void *opaque, const void *bytes, size_t n)
{
    Trace *trace = opaque;

    if (trace->calls++) {
        trace->least = MIN(trace->least, trace->last);
    }
    trace->last = n;
    g_byte_array_append(trace->bytes, bytes, n);
}

static void read_names(Trace *trace, Bytes from)
{
    Field kind, part;

    while (next_field(&from, &kind)) {
        char *name = NULL;
        uint64_t iid = 0;

        g_assert_cmpuint(kind.field, >=, 1);
        g_assert_cmpuint(kind.field, <=, 3);
        while (next_field(&kind.bytes, &part)) {
            if (part.field == 1) {
                iid = part.value;
            } else {
                g_assert_cmpuint(part.field, ==, 2);
                name = g_strndup((const char *)part.bytes.at, part.value);
            }
        }
        g_assert_true(iid && name);
        g_assert_true(g_hash_table_insert(trace->names[kind.field],
                                          GSIZE_TO_POINTER(iid), name));
    }
}

static const char *name_of(const Trace *trace, unsigned kind, uint64_t iid)
{
    const char *name = g_hash_table_lookup(trace->names[kind],
                                           GSIZE_TO_POINTER(iid));

    g_assert_nonnull(name);
    return name;
}

static void read_track(Trace *trace, Bytes from)
{
    uint64_t uuid = 0, parent = 0, rank = 0;
    g_autofree char *name = NULL;
    char *path;
    Field part;

    while (next_field(&from, &part)) {
        switch (part.field) {
        case 1:
            uuid = part.value;
            break;
        case 2:
            name = g_strndup((const char *)part.bytes.at, part.value);
            break;
        case 5:
            parent = part.value;
            break;
        case 11:
            g_assert_cmpuint(part.value, ==, 3); /* EXPLICIT */
            break;
        default:
            g_assert_cmpuint(part.field, ==, 12);
            rank = part.value;
            break;
        }
    }
    /* Those above it have been described. */
    path = parent ? g_strdup_printf("%s/%s",
                                    (char *)g_hash_table_lookup(
                                        trace->tracks,
                                        GSIZE_TO_POINTER(parent)), name)
                  : g_strdup(name);
    g_ptr_array_add(trace->described,
                    g_strdup_printf("%s %" G_GUINT64_FORMAT, path, rank));
    g_assert_true(g_hash_table_insert(trace->tracks, GSIZE_TO_POINTER(uuid),
                                      path));
}

static void read_event(Trace *trace, uint64_t time_ns, Bytes from)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GString) args = g_string_new(NULL);
    uint64_t type = 0, uuid = 0;
    const char *track;
    Field part, inner;

    while (next_field(&from, &part)) {
        switch (part.field) {
        case 3:
            g_string_append_printf(text, " %s:", name_of(trace, 1, part.value));
            break;
        case 4:
            while (next_field(&part.bytes, &inner)) {
                if (inner.field == 1) {
                    g_string_append_printf(args, " %s",
                                           name_of(trace, 3, inner.value));
                } else {
                    g_assert_cmpuint(inner.field, ==, 3);
                    g_string_append_printf(args, "=%" G_GUINT64_FORMAT,
                                           inner.value);
                }
            }
            break;
        case 9:
            type = part.value;
            break;
        case 10:
            g_string_append_printf(text, " %s", name_of(trace, 2, part.value));
            break;
        case 11:
            uuid = part.value;
            break;
        default:
            g_assert_cmpuint(part.field, ==, 47);
            g_string_append_printf(args, " flow=%" G_GUINT64_FORMAT,
                                   part.value);
            break;
        }
    }
    track = g_hash_table_lookup(trace->tracks, GSIZE_TO_POINTER(uuid));
    g_assert_nonnull(track);
    g_assert_cmpuint(type, >=, 1);
    g_assert_cmpuint(type, <=, 2);
    g_ptr_array_add(trace->slices,
                    g_strdup_printf("%" G_GUINT64_FORMAT " %s%s%s%s", time_ns,
                                    strrchr(track, '/') + 1,
                                    type == 1 ? "" : " ends", text->str,
                                    args->str));
}

static void read_packet(Trace *trace, Bytes from, bool first)
{
    Field part, body = { 0 };
    uint64_t time_ns = UINT64_MAX, sequence = 0, flags = 0, is_first = 0;

    while (next_field(&from, &part)) {
        switch (part.field) {
        case 8:
            time_ns = part.value;
            break;
        case 10:
            sequence = part.value;
            break;
        case 13:
            flags = part.value;
            break;
        case 87:
            is_first = part.value;
            break;
        default:
            g_assert_cmpuint(body.field, ==, 0);
            body = part;
            break;
        }
    }
    g_assert_cmpuint(sequence, ==, 1);
    g_assert_cmpuint(is_first, ==, first);
    switch (body.field) {
    case 11:
        g_assert_cmpuint(flags, ==, 2); /* needs what was interned */
        g_assert_cmpuint(time_ns, !=, UINT64_MAX);
        read_event(trace, time_ns, body.bytes);
        break;
    case 12:
        /* The first one begins anew; names may be added later. */
        g_assert_cmpuint(flags, ==, first ? 3 : 2);
        read_names(trace, body.bytes);
        break;
    default:
        g_assert_cmpuint(body.field, ==, 60);
        read_track(trace, body.bytes);
        break;
    }
}

static Trace *trace_new(void)
{
    Trace *trace = g_new0(Trace, 1);

    trace->bytes = g_byte_array_new();
    trace->least = SIZE_MAX;
    for (int i = 1; i < 4; i++) {
        trace->names[i] = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    }
    trace->tracks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    trace->described = g_ptr_array_new_with_free_func(g_free);
    trace->slices = g_ptr_array_new_with_free_func(g_free);
    return trace;
}

static void trace_read(Trace *trace)
{
    Bytes from = { trace->bytes->data, trace->bytes->data + trace->bytes->len };
    bool first = true;
    Field packet;

    while (next_field(&from, &packet)) {
        g_assert_cmpuint(packet.field, ==, 1);
        read_packet(trace, packet.bytes, first);
        first = false;
    }
}

static void trace_free(Trace *trace)
{
    g_byte_array_free(trace->bytes, true);
    for (int i = 1; i < 4; i++) {
        g_hash_table_destroy(trace->names[i]);
    }
    g_hash_table_destroy(trace->tracks);
    g_ptr_array_free(trace->described, true);
    g_ptr_array_free(trace->slices, true);
    g_free(trace);
}

static void expect(const GPtrArray *is, const char *const *expected)
{
    guint n = g_strv_length((char **)expected);

    for (guint i = 0; i < MIN(n, is->len); i++) {
        g_assert_cmpstr(is->pdata[i], ==, expected[i]);
    }
    g_assert_cmpuint(is->len, ==, n);
}

/* ---- Tests ------------------------------------------------------------------ */

static ScarpCmd cmd_at(ScarpOp op, uint64_t seq, int64_t from, int64_t to)
{
    ScarpCmd cmd = cmd_of(op, 0, 0);

    cmd.seq = seq;
    cmd.submit_ns = from;
    cmd.complete_ns = to;
    return cmd;
}

/* It asks the drive that comes up, not the one that is gone, from the first. */
static void test_power_cut(void)
{
    Rig *rig = rig_new("baseline", NULL, "nand.power_cuts=1,ftl.recovery=1");
    Trace *trace = trace_new();
    ScarpTimeline *t = scarp_timeline_new(rig->drive, 0, SCARP_TIME_NEVER,
                                          sink, trace);
    ScarpObserver observer = scarp_timeline_observer(t);

    scarp_set_observer(rig->drive, &observer);
    scarp_on_power_cut(rig->drive, scarp_timeline_follow, t);
    for (int i = 0; i < 2; i++) {
        rig->drive = scarp_power_cut(rig->drive, NULL);
        while (!scarp_is_ready(rig->drive)) {
            scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        }
    }
    scarp_set_observer(rig->drive, &(ScarpObserver) { 0 });
    scarp_on_power_cut(rig->drive, NULL, NULL);
    scarp_timeline_free(t);
    trace_read(trace);
    /* a page of each block at least is looked at */
    g_assert_cmpuint(trace->slices->len, >, 64);
    trace_free(trace);
    rig_free(rig);
}

/* What commands carry: names of its own are not there before. */
static void test_granted(void)
{
    static const char *const expected[] = {
        "7 plane 2 GC, by command gc: granted flow=6 segments=3 erases=2",
        "7 plane 2 GC, by command ends",
        "8 plane 2 GC, by command gc: granted flow=7 segments=1 erases=0",
        "8 plane 2 GC, by command ends", NULL,
    };
    Rig *rig = rig_new("hios-1", NULL, EIGHT_PLANES);
    Trace *trace = trace_new();
    ScarpTimeline *t = scarp_timeline_new(rig->drive, 5, 9, sink, trace);
    ScarpObserver observer = scarp_timeline_observer(t);
    ScarpGcGrant grant[] = { { 4, 4, 2, 9, 9 }, { 7, 5, 2, 3, 2 },
                             { 8, 6, 2, 1, 0 }, { 9, 7, 2, 9, 9 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(grant); i++) {
        observer.gc_granted(observer.opaque, &grant[i]);
    }
    scarp_timeline_free(t);
    trace_read(trace);
    expect(trace->slices, expected);
    trace_free(trace);
    rig_free(rig);
}

/* Commands, with all that is said of them. */
static void test_commands(void)
{
    static const char *const expected[] = {
        "5 commands host: read flow=8 offset_bytes=1099511627776 "
        "length_bytes=512 stream=3 nsid=2 controller_ns=1 die_suspend_ns=300",
        "305 commands ends",
        "6 commands host: write flow=9 offset_bytes=0 length_bytes=0 stream=0 "
        "nsid=0",
        "306 commands ends",
        "306 commands host: write zeroes flow=10 offset_bytes=0 "
        "length_bytes=0 stream=0 nsid=0",
        "307 commands ends",
        "400 commands host: deallocate flow=11 offset_bytes=0 length_bytes=0 "
        "stream=0 nsid=0",
        "400 commands ends",
        "401 commands host: flush flow=12 offset_bytes=0 length_bytes=0 "
        "stream=0 nsid=0",
        "9223372036854775 commands ends", NULL,
    };
    static const char *const tracks[] = {
        "drive: pgc 1", "drive: pgc/host 2", "drive: pgc/host/commands 0",
        "drive: pgc/host/commands 2", NULL,
    };
    Rig *rig = rig_new("pgc", NULL, EIGHT_PLANES);
    Trace *trace = trace_new();
    ScarpTimeline *t = scarp_timeline_new(rig->drive, 0, SCARP_TIME_NEVER,
                                          sink, trace);
    ScarpObserver observer = scarp_timeline_observer(t);
    ScarpCmd cmd[] = {
        cmd_at(SCARP_OP_READ, 7, 5, 305), cmd_at(SCARP_OP_WRITE, 8, 6, 306),
        cmd_at(SCARP_OP_WRITE_ZEROES, 9, 306, 307),
        cmd_at(SCARP_OP_DEALLOCATE, 10, 400, 400),
        cmd_at(SCARP_OP_FLUSH, 11, 401, 9223372036854775),
    };

    cmd[0].offset_bytes = 1ull << 40;
    cmd[0].length_bytes = 512;
    cmd[0].stream = 3;
    cmd[0].nsid = 2;
    cmd[0].cause_ns[SCARP_CAUSE_CONTROLLER] = 1;
    cmd[0].cause_ns[SCARP_CAUSE_DIE_SUSPEND] = 300;
    for (unsigned i = 0; i < G_N_ELEMENTS(cmd); i++) {
        observer.cmd_done(observer.opaque, &cmd[i]);
    }
    scarp_timeline_free(t);
    trace_read(trace);
    expect(trace->slices, expected);
    expect(trace->described, tracks); /* two were in flight at once */
    trace_free(trace);
    rig_free(rig);
}

/* Flash commands and collections: which track each is on, and its name. */
static void test_flash(void)
{
    static const char *const expected[] = {
        "10 channel 1 flash: host program flow=5 flow=1 die=3 plane=7 block=63 "
        "page=15 multiplane=1",
        "20 channel 1 ends",
        "20 plane 7 flash: host program flow=5 flow=1 die=3 plane=7 block=63 "
        "page=15 multiplane=1",
        "30 plane 7 ends",
        "31 channel 0 gc: GC read die=0 plane=1 block=0 page=0 multiplane=0",
        "32 channel 0 ends",
        "40 plane 0 gc: parity erase die=0 plane=0 block=1 page=0 multiplane=0",
        "50 plane 0 ends",
        "50 plane 0 gc: pre-migration copyback die=0 plane=0 block=1 page=0 "
        "multiplane=0",
        "60 plane 0 ends",
        "7 plane 0 GC gc: GC block=9 moved_units=4",
        "60 plane 0 GC ends",
        "61 plane 1 GC gc: pre-migration block=63 moved_units=0",
        "62 plane 1 GC ends", NULL,
    };
    static const char *const tracks[] = {
        "drive: baseline 1", "drive: baseline/channels 3",
        "drive: baseline/channels/channel 1 2", "drive: baseline/dies 4",
        "drive: baseline/dies/die 3 (channel 1) 6",
        "drive: baseline/dies/die 3 (channel 1)/plane 7 14",
        "drive: baseline/channels/channel 0 0",
        "drive: baseline/dies/die 0 (channel 0) 0",
        "drive: baseline/dies/die 0 (channel 0)/plane 0 0",
        "drive: baseline/dies/die 0 (channel 0)/plane 0 GC 1",
        "drive: baseline/dies/die 0 (channel 0)/plane 1 GC 3", NULL,
    };
    const uint64_t seqs[] = { 4, 0 };
    ScarpFlashOp op[] = {
        { .begin_ns = 10, .end_ns = 20, .cmd_seqs = seqs, .n_cmds = 2, .die = 3,
          .plane = 7, .channel = 1, .block = 7 * 64 + 63, .page = 15,
          .kind = SCARP_FLASH_PROGRAM, .phase = SCARP_PHASE_IN,
          .multiplane = true },
        { .begin_ns = 20, .end_ns = 30, .cmd_seqs = seqs, .n_cmds = 2, .die = 3,
          .plane = 7, .channel = 1, .block = 7 * 64 + 63, .page = 15,
          .kind = SCARP_FLASH_PROGRAM, .phase = SCARP_PHASE_ARRAY,
          .multiplane = true },
        { .begin_ns = 31, .end_ns = 32, .plane = 1, .block = 64,
          .kind = SCARP_FLASH_READ, .phase = SCARP_PHASE_OUT,
          .origin = SCARP_ORIGIN_GC },
        { .begin_ns = 40, .end_ns = 50, .block = 1, .kind = SCARP_FLASH_ERASE,
          .phase = SCARP_PHASE_ARRAY, .origin = SCARP_ORIGIN_PARITY },
        { .begin_ns = 50, .end_ns = 60, .block = 1,
          .kind = SCARP_FLASH_COPYBACK, .phase = SCARP_PHASE_ARRAY,
          .origin = SCARP_ORIGIN_PREMIGRATE },
    };
    ScarpGcRun run[] = {
        { .begin_ns = 7, .end_ns = 60, .plane = 0, .victim_block = 9,
          .moved_units = 4, .origin = SCARP_ORIGIN_GC },
        { .begin_ns = 61, .end_ns = 62, .plane = 1, .victim_block = 63,
          .origin = SCARP_ORIGIN_PREMIGRATE },
    };
    Rig *rig = rig_new("baseline", NULL, EIGHT_PLANES);
    Trace *trace = trace_new();
    ScarpTimeline *t = scarp_timeline_new(rig->drive, 0, SCARP_TIME_NEVER,
                                          sink, trace);
    ScarpObserver observer = scarp_timeline_observer(t);

    for (unsigned i = 0; i < G_N_ELEMENTS(op); i++) {
        observer.flash_phase(observer.opaque, &op[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(run); i++) {
        observer.gc_done(observer.opaque, &run[i]);
    }
    scarp_timeline_free(t);
    trace_read(trace);
    expect(trace->slices, expected);
    expect(trace->described, tracks);
    trace_free(trace);
    rig_free(rig);
}

/* What begins at the window's start is shown, at its end no longer. */
static void test_window(void)
{
    static const char *const expected[] = {
        "100 commands host: read flow=1 offset_bytes=0 length_bytes=0 stream=0 "
        "nsid=0",
        "250 commands ends",
        "199 channel 0 flash: host read die=0 plane=0 block=0 page=0 "
        "multiplane=0",
        "201 channel 0 ends",
        "100 plane 0 GC gc: GC block=0 moved_units=0",
        "101 plane 0 GC ends", NULL,
    };
    Rig *rig = rig_new("baseline", NULL, NULL);
    Trace *trace = trace_new();
    ScarpTimeline *t = scarp_timeline_new(rig->drive, 100, 200, sink, trace);
    ScarpObserver observer = scarp_timeline_observer(t);
    ScarpCmd before = cmd_at(SCARP_OP_READ, 0, 99, 250);
    ScarpCmd first = cmd_at(SCARP_OP_READ, 0, 100, 250);
    ScarpCmd after = cmd_at(SCARP_OP_READ, 0, 200, 250);
    ScarpFlashOp op = { .begin_ns = 99, .end_ns = 150 };
    ScarpGcRun run = { .begin_ns = 99, .end_ns = 150,
                       .origin = SCARP_ORIGIN_GC };

    observer.cmd_done(observer.opaque, &before);
    observer.cmd_done(observer.opaque, &first);
    observer.cmd_done(observer.opaque, &after);
    observer.flash_phase(observer.opaque, &op);
    op.begin_ns = 199;
    op.end_ns = 201;
    observer.flash_phase(observer.opaque, &op);
    op.begin_ns = 200;
    observer.flash_phase(observer.opaque, &op);
    observer.gc_done(observer.opaque, &run);
    run.begin_ns = 100;
    run.end_ns = 101;
    observer.gc_done(observer.opaque, &run);
    run.begin_ns = 200;
    observer.gc_done(observer.opaque, &run);
    scarp_timeline_free(t);
    trace_read(trace);
    expect(trace->slices, expected);
    trace_free(trace);
    rig_free(rig);
}

/* Rows of commands: as many as overlap, each free when another begins. */
static void test_lanes(void)
{
    /* Ended in this order; the row that ended last before each, or a new one. */
    static const int64_t times[][3] = { /* from, to, row */
        { 0, 10, 0 },  { 5, 20, 1 },  { 10, 30, 0 }, { 0, 31, 2 },
        { 30, 40, 0 }, { 32, 45, 2 }, { 44, 50, 0 }, { 45, 60, 2 },
        { 49, 61, 1 }, { 0, 70, 3 },  { 60, 80, 2 }, { 62, 81, 1 },
    };
    Rig *rig = rig_new("baseline", NULL, NULL);
    Trace *trace = trace_new();
    ScarpTimeline *t = scarp_timeline_new(rig->drive, 0, SCARP_TIME_NEVER,
                                          sink, trace);
    ScarpObserver observer = scarp_timeline_observer(t);
    uint64_t uuid[G_N_ELEMENTS(times)];
    unsigned n = 0;
    Field packet, part;
    Bytes from;

    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        ScarpCmd cmd = cmd_at(SCARP_OP_READ, i, times[i][0], times[i][1]);

        observer.cmd_done(observer.opaque, &cmd);
    }
    scarp_timeline_free(t);
    /* The track of each first event of a slice: type is 1. */
    from = (Bytes) { trace->bytes->data,
                     trace->bytes->data + trace->bytes->len };
    while (next_field(&from, &packet)) {
        while (next_field(&packet.bytes, &part)) {
            Field inner;
            uint64_t type = 0, track = 0;

            while (part.field == 11 && next_field(&part.bytes, &inner)) {
                type = inner.field == 9 ? inner.value : type;
                track = inner.field == 11 ? inner.value : track;
            }
            if (type == 1) {
                uuid[n++] = track;
            }
        }
    }
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(times));
    for (unsigned i = 0; i < n; i++) {
        g_assert_cmpuint(uuid[i] - uuid[0], ==, times[i][2]);
    }
    trace_free(trace);
    rig_free(rig);
}

/* The sink is called when more than 64 KiB have come together, and at the end. */
static void test_sink(void)
{
    Rig *rig = rig_new("baseline", NULL, NULL);
    Trace *trace = trace_new();
    ScarpTimeline *t = scarp_timeline_new(rig->drive, 0, SCARP_TIME_NEVER,
                                          sink, trace);
    ScarpObserver observer = scarp_timeline_observer(t);

    g_assert_cmpuint(trace->calls, ==, 0);
    for (unsigned i = 0; i < 6000; i++) {
        ScarpCmd cmd = cmd_at(SCARP_OP_READ, i, i, i);

        observer.cmd_done(observer.opaque, &cmd);
    }
    scarp_timeline_free(t);
    trace_read(trace);
    g_assert_cmpuint(trace->slices->len, ==, 12000);
    g_assert_cmpuint(trace->calls, >, 3);
    g_assert_cmpuint(trace->least, >, 65536);
    g_assert_cmpuint(trace->least, <, 65536 + 200);
    trace_free(trace);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/timeline/commands", test_commands);
    g_test_add_func("/timeline/granted", test_granted);
    g_test_add_func("/timeline/flash", test_flash);
    g_test_add_func("/timeline/power-cut", test_power_cut);
    g_test_add_func("/timeline/window", test_window);
    g_test_add_func("/timeline/lanes", test_lanes);
    g_test_add_func("/timeline/sink", test_sink);
    return g_test_run();
}
