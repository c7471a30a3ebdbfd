/*
 * Replay of a record (../record.h): a new core gets the recorded inputs in
 * their order, and must make the recorded decisions. Its I/O goes to simulated
 * drives. The core hears of the end of an I/O where the record says so; if the
 * simulated drive is slower, the replay waits for the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim.h"

#include "../record.h"

#include <errno.h>
#include <string.h>

/* The last time of an input: drives need time after it to end their work. */
#define LAST_NS ((uint64_t)SCARP_TIME_LAST / 2)

typedef struct {
    const char *path;
    FILE *stream;
    uint64_t number; /* of the line in the file */
    char line[ARRAY_RECORD_LINE];
    bool more;       /* line[] has an input that is not used yet */

    ArrayConfig config;
    Array *array;
    SimDrives *drives;
    ScarpCmd *cmds;  /* [drives × slots] */
    ArrayIo **ios;   /* [drives × slots]: I/O that has not ended */
    bool *ended;     /* [drives × slots]: the drive has done the I/O */
    GHashTable *requests; /* requests that the core has; owned here */
    GQueue decided;  /* lines of decisions since the last input; owned */
    int64_t now_ns;
    SimReplay *result;
} Replay;

static bool G_GNUC_PRINTF(3, 4) bad(const Replay *r, GError **error,
                                    const char *format, ...)
{
    va_list arguments;
    g_autofree char *text = NULL;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "%s:%" G_GUINT64_FORMAT
                ": %s", r->path, r->number, text);
    return false;
}

static bool unreadable(const char *path, GError **error)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "--replay: %s: %s", path,
                g_strerror(errno));
    return false;
}

/*
 * Reads a line. False, with *error set: the line is incomplete or unreadable.
 */
static bool next_line(Replay *r, GError **error)
{
    r->more = fgets(r->line, sizeof(r->line), r->stream);
    if (ferror(r->stream)) {
        return unreadable(r->path, error);
    }
    r->number += r->more;
    if (r->more && !g_str_has_suffix(r->line, "\n")) {
        return bad(r, error, "the record ends in the middle of a line");
    }
    g_strchomp(r->line);
    return true;
}

/* ---- The core's decisions ---------------------------------------------- */

static size_t slot_of(const Replay *r, const ArrayIo *io)
{
    return io->drive * r->config.slots + io->slot;
}

static void issue(void *opaque, ArrayIo *io)
{
    Replay *r = opaque;
    size_t slot = slot_of(r, io);
    char *line = g_malloc(ARRAY_RECORD_LINE);

    array_record_issue_line(line, io);
    g_queue_push_tail(&r->decided, line);
    r->ios[slot] = io;
    r->ended[slot] = false;
    r->result->ios++;
    sim_drives_issue(r->drives, io, &r->cmds[slot], r->now_ns);
}

static void done(void *opaque, ArrayRequest *request)
{
    Replay *r = opaque;
    char *line = g_malloc(ARRAY_RECORD_LINE);

    array_record_done_line(line, request);
    g_queue_push_tail(&r->decided, line);
    r->result->requests++;
    g_hash_table_remove(r->requests, request);
}

static bool same_decisions(Replay *r, GError **error)
{
    for (;;) {
        g_autofree char *mine = g_queue_pop_head(&r->decided);
        bool theirs = r->more && (*r->line == 'i' || *r->line == 'e');

        if (!mine && !theirs) {
            return true;
        }
        if (!mine || !theirs || strcmp(mine, r->line)) {
            return bad(r, error, "the core decided '%s' there and '%s' here",
                       theirs ? r->line : "nothing more",
                       mine ? mine : "nothing more");
        }
        if (!next_line(r, error)) {
            return false;
        }
    }
}

/* ---- The core's inputs ------------------------------------------------- */

static void command_done(void *opaque, ScarpCmd *cmd)
{
    Replay *r = opaque;

    r->ended[slot_of(r, cmd->opaque)] = true;
}

static void drives_until(Replay *r, int64_t ns)
{
    int64_t next;

    sim_drives_reap(r->drives);
    while ((next = sim_drives_next_ns(r->drives)) <= ns) {
        r->now_ns = next;
        sim_drives_run(r->drives, next);
    }
    r->now_ns = MAX(r->now_ns, ns);
}

static bool in_time(Replay *r, uint64_t ns, GError **error)
{
    return ns <= LAST_NS ? true :
           bad(r, error, "'%s': its time must be at most %" G_GUINT64_FORMAT,
               r->line, LAST_NS);
}

static int op_of(char letter)
{
    const char *at = letter ? strchr(ARRAY_RECORD_OPS, letter) : NULL;

    return at ? at - ARRAY_RECORD_OPS : -1;
}

static bool submit(Replay *r, GError **error)
{
    uint64_t ns, offset, length;
    int fua, end;
    char letter;
    ArrayRequest *request;

    if (sscanf(r->line, "S %" G_GUINT64_FORMAT " %c %d %" G_GUINT64_FORMAT
               " %" G_GUINT64_FORMAT "%n", &ns, &letter, &fua, &offset,
               &length, &end) != 5 || r->line[end] || op_of(letter) < 0) {
        return bad(r, error, "'%s': not a request", r->line);
    }
    if (!in_time(r, ns, error)) {
        return false;
    }
    drives_until(r, ns);
    request = g_new(ArrayRequest, 1);
    *request = (ArrayRequest) {
        .op = op_of(letter), .fua = fua, .offset_bytes = offset,
        .length_bytes = length,
    };
    g_hash_table_add(r->requests, request);
    array_submit(r->array, request);
    return true;
}

static bool io_done(Replay *r, GError **error)
{
    uint64_t ns, drive, slot;
    int code, end;
    size_t index;
    ArrayIo *io;

    if (sscanf(r->line, "D %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %"
               G_GUINT64_FORMAT " %d%n", &ns, &drive, &slot, &code,
               &end) != 4 || r->line[end] || drive >= r->config.n_drives ||
        slot >= r->config.slots) {
        return bad(r, error, "'%s': not an end of I/O", r->line);
    }
    index = drive * r->config.slots + slot;
    io = r->ios[index];
    if (!io) {
        return bad(r, error, "'%s': no such I/O is under way", r->line);
    }
    if (!in_time(r, ns, error)) {
        return false;
    }
    drives_until(r, ns);
    r->result->late += !r->ended[index];
    while (!r->ended[index]) {
        drives_until(r, sim_drives_next_ns(r->drives));
    }
    r->ios[index] = NULL;
    array_io_done(r->array, io, code);
    return true;
}

static bool ask(Replay *r, GError **error)
{
    bool good;

    switch (*r->line) {
    case 'S':
        good = submit(r, error);
        break;
    case 'D':
        good = io_done(r, error);
        break;
    default:
        good = bad(r, error, "'%s': must begin with S, D, i or e", r->line);
    }
    return good && next_line(r, error) && same_decisions(r, error);
}

/* ---- A whole replay ---------------------------------------------------- */

/*
 * Reads the record's first line. It has all keys, so none of them depends on
 * the defaults of this core.
 */
static bool header(Replay *r, uint64_t *drive_bytes, GError **error)
{
    char keys[ARRAY_RECORD_LINE], why[ARRAY_ERROR_BYTES];
    unsigned n;
    int end;

    if (!next_line(r, error)) {
        return false;
    }
    if (!r->more ||
        sscanf(r->line, ARRAY_RECORD_MAGIC " %u %" G_GUINT64_FORMAT " %"
               G_GUINT64_FORMAT " %511s%n", &n, drive_bytes,
               &r->config.data_offset_bytes, keys, &end) != 4 ||
        r->line[end] || n < 1 || n > ARRAY_MAX_DRIVES) {
        return bad(r, error, "not a record of the array's core");
    }
    r->config.n_drives = n;
    return array_config_parse(&r->config, keys, why) ? true :
                                                       bad(r, error, "%s", why);
}

static bool setup(Replay *r, const SimOptions *options, GError **error)
{
    static const ArrayOps ops = { issue, done };
    SimOptions o = *options;
    uint64_t bytes, sizes[ARRAY_MAX_DRIVES];
    char why[ARRAY_ERROR_BYTES];
    size_t slots;

    array_config_init(&r->config);
    if (!header(r, &bytes, error)) {
        return false;
    }
    o.drives = r->config.n_drives;
    r->drives = sim_drives_new(&o, command_done, r, error);
    if (!r->drives) {
        return false;
    }
    if (sim_drives_bytes(r->drives) < bytes) {
        return bad(r, error, "drives of %" G_GUINT64_FORMAT " bytes; the "
                   "description's have %" G_GUINT64_FORMAT, bytes,
                   sim_drives_bytes(r->drives));
    }
    for (uint32_t i = 0; i < o.drives; i++) {
        sizes[i] = bytes;
    }
    r->config.drive_bytes = sizes;
    r->array = array_new(&r->config, &ops, r, why);
    if (!r->array) {
        return bad(r, error, "%s", why);
    }
    slots = o.drives * r->config.slots;
    r->cmds = g_new0(ScarpCmd, slots);
    r->ios = g_new0(ArrayIo *, slots);
    r->ended = g_new0(bool, slots);
    return next_line(r, error);
}

static bool play(Replay *r, const SimOptions *options, GError **error)
{
    char why[ARRAY_ERROR_BYTES];

    if (!setup(r, options, error) || !same_decisions(r, error)) {
        return false;
    }
    while (r->more) {
        if (!ask(r, error)) {
            return false;
        }
    }
    if (!array_quiet(r->array, why)) {
        return bad(r, error, "at the record's end the core is not at rest: %s",
                   why);
    }
    if (!array_check(r->array, why)) {
        return bad(r, error, "at the record's end an invariant is broken: %s",
                   why);
    }
    for (uint32_t i = 0; i < r->config.n_drives; i++) {
        r->result->gc_runs +=
            scarp_stats(sim_drives_get(r->drives, i))->gc_runs;
    }
    r->result->drives = r->config.n_drives;
    r->result->array = *array_stats(r->array);
    return sim_drives_end(r->drives, error);
}

bool sim_replay(const SimOptions *options, const char *path,
                SimReplay *result, GError **error)
{
    Replay r = { .path = path, .result = result };
    bool good;

    memset(result, 0, sizeof(*result));
    r.stream = fopen(path, "r");
    if (!r.stream) {
        return unreadable(path, error);
    }
    g_queue_init(&r.decided);
    r.requests = g_hash_table_new_full(NULL, NULL, g_free, NULL);
    good = play(&r, options, error);
    fclose(r.stream);
    array_free(r.array);
    if (r.drives) {
        sim_drives_free(r.drives);
    }
    g_hash_table_unref(r.requests);
    g_queue_clear_full(&r.decided, g_free);
    g_free(r.cmds);
    g_free(r.ios);
    g_free(r.ended);
    return good;
}
