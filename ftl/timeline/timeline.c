/*
 * Timeline: writes a drive's activity to a trace file for the viewer Perfetto.
 *
 * Field numbers are those of perfetto's protos/perfetto/trace (trace_packet,
 * track_event/track_event, track_event/track_descriptor). tests/e2e reads the
 * trace back by the names of these fields.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/ops.h"
#include "timeline.h"

#include <string.h>

#define BUFFER_BYTES 65536

/* ---- Protocol buffers' wire format ------------------------------------- */

static void put_varint(GByteArray *to, uint64_t value)
{
    uint8_t bytes[10];
    guint n = 0;

    do {
        bytes[n] = (value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        value >>= 7;
        n++;
    } while (value);
    g_byte_array_append(to, bytes, n);
}

static void put_uint(GByteArray *to, unsigned field, uint64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, value);
}

static void put_fixed64(GByteArray *to, unsigned field, uint64_t value)
{
    uint64_t little = GUINT64_TO_LE(value);

    put_varint(to, field << 3 | 1);
    g_byte_array_append(to, (const uint8_t *)&little, sizeof(little));
}

static void put_bytes(GByteArray *to, unsigned field, const void *bytes,
                      size_t n)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, n);
    g_byte_array_append(to, bytes, n);
}

static void put_text(GByteArray *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

/*
 * Appends the encoded `message` to `to` as field number `field`, then empties
 * `message` for its next use.
 */
static void put_message(GByteArray *to, unsigned field, GByteArray *message)
{
    put_bytes(to, field, message->data, message->len);
    g_byte_array_set_size(message, 0);
}

enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8, PACKET_SEQUENCE_ID = 10, PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12, PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60, PACKET_FIRST_ON_SEQUENCE = 87,
    STATE_CLEARED = 1, NEEDS_STATE = 2, /* sequence_flags */
    TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT_UUID = 5,
    TRACK_CHILD_ORDERING = 11, TRACK_SIBLING_ORDER_RANK = 12,
    ORDERING_EXPLICIT = 3,
    EVENT_CATEGORY_IIDS = 3, EVENT_DEBUG_ANNOTATIONS = 4, EVENT_TYPE = 9,
    EVENT_NAME_IID = 10, EVENT_TRACK_UUID = 11, EVENT_FLOW_IDS = 47,
    TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2,
    ANNOTATION_NAME_IID = 1, ANNOTATION_UINT_VALUE = 3,
    INTERNED_CATEGORIES = 1, INTERNED_EVENT_NAMES = 2,
    INTERNED_ANNOTATION_NAMES = 3, INTERNED_IID = 1, INTERNED_NAME = 2,
};

/* ---- Names, interned ---------------------------------------------------- */

enum { CATEGORY_HOST = 1, CATEGORY_FLASH, CATEGORY_GC };
static const char *const categories[] = { "host", "flash", "gc" };

/*
 * Perfetto gets each event name once, with a number, and then only the number.
 * A flash command's name has number 1 + origin * N_KINDS + kind.
 */
enum {
    N_KINDS = 4, NAME_CMD = 32, NAME_GC = 48, NAME_PREMIGRATE, NAME_MERGE,
    NAME_FOLD = 60, NAME_GRANTED = 64,
};
static const char *const origins[] = { "host", "GC", "mapping",
                                       "pre-migration", "parity", "fold" };
static const char *const kinds[N_KINDS] = { "read", "program", "erase",
                                            "copyback" };
static const char *const ops[SCARP_OP__COUNT] = {
    "read", "write", "write zeroes", "deallocate", "flush",
};

/*
 * Names of merges, by which a mapping by blocks frees log blocks. The number of
 * a merge's name is NAME_MERGE + its ScarpMergeKind.
 */
static const char *const merges[] = {
    [SCARP_MERGE_SWITCH] = "switch merge",
    [SCARP_MERGE_PARTIAL] = "partial merge",
    [SCARP_MERGE_FULL] = "full merge",
    [SCARP_MERGE_ERASE] = "erase of a log",
};

/*
 * Numbers of the names of an event's arguments. The time of a cause of latency
 * is an argument, too; its name has number ARG_CAUSE + ScarpCause.
 */
enum {
    ARG_BLOCK = 1, ARG_PAGE, ARG_DIE, ARG_PLANE, ARG_OFFSET, ARG_LENGTH,
    ARG_STREAM, ARG_NSID, ARG_MOVED, ARG_MULTIPLANE, ARG_SEGMENTS, ARG_ERASES,
    ARG_CAUSE = 16,
};
static const char *const args[] = {
    "block", "page", "die", "plane", "offset_bytes", "length_bytes", "stream",
    "nsid", "moved_units", "multiplane",
};

/* ---- Tracks ------------------------------------------------------------- */

/*
 * The kind of a track. A track's uuid has its index in the lower 32 bits. Above
 * these are KIND_BITS bits for the kind, and then the timeline's group.
 */
typedef enum {
    TRACK_DRIVE = 1, TRACK_HOST, TRACK_CHANNELS, TRACK_DIES,
    TRACK_LANE, TRACK_CHANNEL, TRACK_DIE, TRACK_PLANE, TRACK_GC, TRACK_GRANTED,
} TrackKind;

enum { KIND_BITS = 8 };

/*
 * A row of the viewer, with NVMe commands that do not overlap in time. end_ns
 * is the end of its last command.
 */
typedef struct {
    int64_t end_ns;
    uint32_t index;
} Lane;

struct ScarpTimeline {
    const ScarpDrive *drive;
    int64_t from_ns, to_ns;
    ScarpTimelineSink sink;
    void *opaque;
    GByteArray *out, *packet, *message, *part;
    GHashTable *described; /* uuids of tracks that are described */
    GArray *lanes;         /* sorted by end */
    bool granted;          /* the names of grants are interned */
    uint32_t group;        /* number of this timeline among several in a file */
    char *name; /* name of this timeline in the file, or NULL */
};

static uint64_t track_uuid(const ScarpTimeline *t, TrackKind kind,
                           uint32_t index)
{
    return ((uint64_t)t->group << KIND_BITS | kind) << 32 | index;
}

/*
 * Returns the id of a command's flow (an arrow), unique among all timelines of
 * the file.
 */
static uint64_t flow_id(const ScarpTimeline *t, uint64_t cmd_seq)
{
    return (uint64_t)t->group << 48 | (cmd_seq + 1);
}

static void end_packet(ScarpTimeline *t)
{
    put_message(t->out, TRACE_PACKET, t->packet);
    if (t->out->len > BUFFER_BYTES) {
        scarp_timeline_flush(t);
    }
}

static void intern(ScarpTimeline *t, unsigned field, uint64_t iid,
                   const char *name)
{
    put_uint(t->part, INTERNED_IID, iid);
    put_text(t->part, INTERNED_NAME, name);
    put_message(t->message, field, t->part);
}

static void intern_names(ScarpTimeline *t)
{
    bool folds = t->drive->geo.slc_pages;
    unsigned n_origins = folds ? G_N_ELEMENTS(origins) : SCARP_ORIGIN_FOLD;

    for (unsigned i = 0; i < G_N_ELEMENTS(categories); i++) {
        intern(t, INTERNED_CATEGORIES, i + 1, categories[i]);
    }
    for (unsigned i = 0; i < n_origins * N_KINDS; i++) {
        g_autofree char *name = g_strdup_printf("%s %s", origins[i / N_KINDS],
                                                kinds[i % N_KINDS]);

        intern(t, INTERNED_EVENT_NAMES, 1 + i, name);
    }
    for (unsigned i = 0; i < SCARP_OP__COUNT; i++) {
        intern(t, INTERNED_EVENT_NAMES, NAME_CMD + i, ops[i]);
    }
    intern(t, INTERNED_EVENT_NAMES, NAME_GC, "GC");
    intern(t, INTERNED_EVENT_NAMES, NAME_PREMIGRATE, "pre-migration");
    if (folds) {
        intern(t, INTERNED_EVENT_NAMES, NAME_FOLD, "fold");
    }
    for (unsigned i = SCARP_MERGE_SWITCH;
         scarp_map_can(t->drive, MAP_MERGES) && i < G_N_ELEMENTS(merges);
         i++) {
        intern(t, INTERNED_EVENT_NAMES, NAME_MERGE + i, merges[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(args); i++) {
        intern(t, INTERNED_ANNOTATION_NAMES, i + 1, args[i]);
    }
    for (unsigned i = 0; i < scarp_drive_causes(t->drive); i++) {
        g_autofree char *name = g_strdup_printf("%s_ns", scarp_cause_name(i));

        intern(t, INTERNED_ANNOTATION_NAMES, ARG_CAUSE + i, name);
    }
    put_uint(t->packet, PACKET_SEQUENCE_ID, 1 + t->group);
    put_uint(t->packet, PACKET_FIRST_ON_SEQUENCE, 1);
    put_uint(t->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED | NEEDS_STATE);
    put_message(t->packet, PACKET_INTERNED_DATA, t->message);
    end_packet(t);
}

/* ---- Tracks ------------------------------------------------------------- */

/*
 * Returns the uuid of the track's parent, or 0. Sets *name to the track's name,
 * which the caller frees with g_free().
 */
static uint64_t parent_and_name(const ScarpTimeline *t, TrackKind kind,
                                uint32_t i, char **name)
{
    const ScarpDrive *drive = t->drive;

    switch (kind) {
    case TRACK_DRIVE:
        *name = t->name ? g_strdup(t->name)
                        : g_strdup_printf("drive: %s", drive->scheme.name);
        return 0;
    case TRACK_HOST:
        *name = g_strdup("host");
        return track_uuid(t, TRACK_DRIVE, 0);
    case TRACK_CHANNELS:
        *name = g_strdup("channels");
        return track_uuid(t, TRACK_DRIVE, 0);
    case TRACK_DIES:
        *name = g_strdup("dies");
        return track_uuid(t, TRACK_DRIVE, 0);
    case TRACK_LANE:
        /*
         * Perfetto joins tracks that have the same name, so all rows of
         * commands are named `commands`.
         */
        *name = g_strdup("commands");
        return track_uuid(t, TRACK_HOST, 0);
    case TRACK_CHANNEL:
        *name = g_strdup_printf("channel %u", i);
        return track_uuid(t, TRACK_CHANNELS, 0);
    case TRACK_DIE:
        *name = g_strdup_printf("die %u (channel %u)", i,
                                scarp_die_channel(drive, i));
        return track_uuid(t, TRACK_DIES, 0);
    case TRACK_PLANE:
        *name = g_strdup_printf("plane %u", i);
        return track_uuid(t, TRACK_DIE, scarp_plane_die(drive, i));
    case TRACK_GRANTED:
        *name = g_strdup_printf("plane %u GC, by command", i);
        return track_uuid(t, TRACK_DIE, scarp_plane_die(drive, i));
    case TRACK_GC:
        *name = g_strdup_printf("plane %u GC", i);
        return track_uuid(t, TRACK_DIE, scarp_plane_die(drive, i));
    }
    g_assert_not_reached();
}

/*
 * Returns the uuid by which events name a track. When a track is first used,
 * its name and its parent are written to the trace, after those of the parent.
 */
static uint64_t track(ScarpTimeline *t, TrackKind kind, uint32_t index)
{
    uint64_t uuid = track_uuid(t, kind, index), parent;
    g_autofree char *name = NULL;

    if (!g_hash_table_add(t->described, GSIZE_TO_POINTER(uuid))) {
        return uuid;
    }
    parent = parent_and_name(t, kind, index, &name);
    if (parent) {
        track(t, (parent >> 32) & ((1u << KIND_BITS) - 1), (uint32_t)parent);
    }
    put_uint(t->message, TRACK_UUID, uuid);
    put_text(t->message, TRACK_NAME, name);
    if (parent) {
        put_uint(t->message, TRACK_PARENT_UUID, parent);
    }
    put_uint(t->message, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
    put_uint(t->message, TRACK_SIBLING_ORDER_RANK,
             kind <= TRACK_DIES ? kind : kind >= TRACK_GC ? 2 * index + 1
                                                          : 2 * index);
    put_uint(t->packet, PACKET_SEQUENCE_ID, 1 + t->group);
    put_message(t->packet, PACKET_TRACK_DESCRIPTOR, t->message);
    end_packet(t);
    return uuid;
}

/* ---- Slices ------------------------------------------------------------- */

/*
 * Completes the event that the caller has begun in t->message: adds its type
 * and track, and writes it to the trace.
 */
static void end_event(ScarpTimeline *t, int64_t time_ns, unsigned type,
                      uint64_t uuid)
{
    put_uint(t->message, EVENT_TYPE, type);
    put_uint(t->message, EVENT_TRACK_UUID, uuid);
    put_uint(t->packet, PACKET_TIMESTAMP, time_ns);
    put_uint(t->packet, PACKET_SEQUENCE_ID, 1 + t->group);
    put_uint(t->packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
    put_message(t->packet, PACKET_TRACK_EVENT, t->message);
    end_packet(t);
}

static void slice(ScarpTimeline *t, uint64_t uuid, int64_t begin_ns,
                  int64_t end_ns, unsigned category, unsigned name)
{
    put_uint(t->message, EVENT_CATEGORY_IIDS, category);
    put_uint(t->message, EVENT_NAME_IID, name);
    end_event(t, begin_ns, TYPE_SLICE_BEGIN, uuid);
    end_event(t, end_ns, TYPE_SLICE_END, uuid);
}

static void arg(ScarpTimeline *t, unsigned name, uint64_t value)
{
    put_uint(t->part, ANNOTATION_NAME_IID, name);
    put_uint(t->part, ANNOTATION_UINT_VALUE, value);
    put_message(t->message, EVENT_DEBUG_ANNOTATIONS, t->part);
}

static bool wanted(const ScarpTimeline *t, int64_t begin_ns)
{
    return begin_ns >= t->from_ns && begin_ns < t->to_ns;
}

/*
 * Chooses the row (lane) in which a host command is drawn, so that the commands
 * of a row do not overlap. Of the rows whose last command ended before this
 * command began, the row that ended latest is taken. The function gets commands
 * in the order in which they ended, so there are never more rows than commands
 * in flight.
 */
static uint32_t take_lane(ScarpTimeline *t, const ScarpCmd *cmd)
{
    guint low = 0, high = t->lanes->len;
    Lane lane = { cmd->complete_ns, t->lanes->len };

    while (low < high) {
        guint middle = (low + high) / 2;

        if (g_array_index(t->lanes, Lane, middle).end_ns <= cmd->submit_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low) {
        lane.index = g_array_index(t->lanes, Lane, low - 1).index;
        g_array_remove_index(t->lanes, low - 1);
    }
    g_array_append_val(t->lanes, lane);
    return lane.index;
}

static void cmd_done(void *opaque, const ScarpCmd *cmd)
{
    ScarpTimeline *t = opaque;
    int64_t cause_ns[SCARP_CAUSE__ALL];
    uint64_t uuid;

    if (!wanted(t, cmd->submit_ns)) {
        return;
    }
    uuid = track(t, TRACK_LANE, take_lane(t, cmd));
    put_fixed64(t->message, EVENT_FLOW_IDS, flow_id(t, cmd->seq));
    arg(t, ARG_OFFSET, cmd->offset_bytes);
    arg(t, ARG_LENGTH, cmd->length_bytes);
    arg(t, ARG_STREAM, cmd->stream);
    arg(t, ARG_NSID, cmd->nsid);
    scarp_cmd_causes(cmd, cause_ns);
    for (unsigned i = 0; i < SCARP_CAUSE__ALL; i++) {
        if (cause_ns[i]) {
            arg(t, ARG_CAUSE + i, cause_ns[i]);
        }
    }
    slice(t, uuid, cmd->submit_ns, cmd->complete_ns, CATEGORY_HOST,
          NAME_CMD + cmd->op);
}

static void flash_phase(void *opaque, const ScarpFlashOp *op)
{
    ScarpTimeline *t = opaque;
    bool array = op->phase == SCARP_PHASE_ARRAY;
    uint64_t uuid;

    if (!wanted(t, op->begin_ns)) {
        return;
    }
    uuid = track(t, array ? TRACK_PLANE : TRACK_CHANNEL,
                 array ? op->plane : op->channel);
    for (uint32_t i = 0; i < op->n_cmds; i++) {
        put_fixed64(t->message, EVENT_FLOW_IDS,
                    flow_id(t, op->cmd_seqs[i]));
    }
    arg(t, ARG_DIE, op->die);
    arg(t, ARG_PLANE, op->plane);
    arg(t, ARG_BLOCK, op->block % t->drive->desc.blocks_per_plane);
    arg(t, ARG_PAGE, op->page);
    arg(t, ARG_MULTIPLANE, op->multiplane);
    slice(t, uuid, op->begin_ns, op->end_ns,
          op->origin == SCARP_ORIGIN_HOST ? CATEGORY_FLASH : CATEGORY_GC,
          1 + op->origin * N_KINDS + op->kind);
}

static void gc_done(void *opaque, const ScarpGcRun *run)
{
    ScarpTimeline *t = opaque;
    uint64_t uuid;

    if (!wanted(t, run->begin_ns)) {
        return;
    }
    uuid = track(t, TRACK_GC, run->plane);
    arg(t, ARG_BLOCK, run->victim_block);
    arg(t, ARG_MOVED, run->moved_units);
    slice(t, uuid, run->begin_ns, run->end_ns, CATEGORY_GC,
          run->merge ? NAME_MERGE + run->merge
          : run->origin == SCARP_ORIGIN_PREMIGRATE ? NAME_PREMIGRATE
          : run->origin == SCARP_ORIGIN_FOLD ? NAME_FOLD : NAME_GC);
}

/*
 * Writes the names that grants use. A grant is GC work that the scheme ties to
 * a host command. Most schemes have no grants, so these names are written when
 * the first grant comes.
 */
static void intern_grants(ScarpTimeline *t)
{
    if (t->granted) {
        return;
    }
    t->granted = true;
    intern(t, INTERNED_EVENT_NAMES, NAME_GRANTED, "granted");
    intern(t, INTERNED_ANNOTATION_NAMES, ARG_SEGMENTS, "segments");
    intern(t, INTERNED_ANNOTATION_NAMES, ARG_ERASES, "erases");
    put_uint(t->packet, PACKET_SEQUENCE_ID, 1 + t->group);
    put_uint(t->packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
    put_message(t->packet, PACKET_INTERNED_DATA, t->message);
    end_packet(t);
}

/*
 * Shows when a host command was granted GC work (some schemes limit GC to such
 * grants). The event has no duration; the plane's own track shows when the work
 * is done.
 */
static void gc_granted(void *opaque, const ScarpGcGrant *grant)
{
    ScarpTimeline *t = opaque;
    uint64_t uuid;

    if (!wanted(t, grant->time_ns)) {
        return;
    }
    intern_grants(t);
    uuid = track(t, TRACK_GRANTED, grant->plane);
    put_fixed64(t->message, EVENT_FLOW_IDS, flow_id(t, grant->cmd_seq));
    arg(t, ARG_SEGMENTS, grant->segments);
    arg(t, ARG_ERASES, grant->erases);
    slice(t, uuid, grant->time_ns, grant->time_ns, CATEGORY_GC, NAME_GRANTED);
}

/* ---- Making and freeing a timeline -------------------------------------- */

ScarpTimeline *scarp_timeline_new(const ScarpDrive *drive, int64_t from_ns,
                                  int64_t to_ns, ScarpTimelineSink sink,
                                  void *opaque)
{
    ScarpTimeline *t = g_new0(ScarpTimeline, 1);

    t->drive = drive;
    t->from_ns = from_ns;
    t->to_ns = to_ns;
    t->sink = sink;
    t->opaque = opaque;
    t->out = g_byte_array_sized_new(BUFFER_BYTES + 4096);
    t->packet = g_byte_array_new();
    t->message = g_byte_array_new();
    t->part = g_byte_array_new();
    t->described = g_hash_table_new(NULL, NULL);
    t->lanes = g_array_new(false, false, sizeof(Lane));
    intern_names(t);
    return t;
}

void scarp_timeline_group(ScarpTimeline *t, uint32_t number, const char *name)
{
    t->group = number;
    g_free(t->name);
    t->name = g_strdup(name);
    /*
     * each group is a packet sequence of its own, which needs all names again
     */
    g_byte_array_set_size(t->out, 0);
    intern_names(t);
}

void scarp_timeline_follow(void *timeline, const ScarpDrive *drive)
{
    ScarpTimeline *t = timeline;

    t->drive = drive;
}

ScarpObserver scarp_timeline_observer(ScarpTimeline *timeline)
{
    return (ScarpObserver) {
        .cmd_done = cmd_done, .gc_done = gc_done, .flash_phase = flash_phase,
        .gc_granted = gc_granted,
        .opaque = timeline,
    };
}

void scarp_timeline_flush(ScarpTimeline *t)
{
    t->sink(t->opaque, t->out->data, t->out->len);
    g_byte_array_set_size(t->out, 0);
}

void scarp_timeline_free(ScarpTimeline *t)
{
    scarp_timeline_flush(t);
    g_byte_array_free(t->out, true);
    g_byte_array_free(t->packet, true);
    g_byte_array_free(t->message, true);
    g_byte_array_free(t->part, true);
    g_hash_table_destroy(t->described);
    g_array_free(t->lanes, true);
    g_free(t->name);
    g_free(t);
}
