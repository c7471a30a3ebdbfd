/*
 * Writes a drive from its first byte to its last.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fill.h"

typedef struct {
    int64_t begin_ns;  /* when the first write was submitted */
    int64_t paused_ns; /* time of all pauses together */
    uint64_t written_bytes;
    uint32_t next_pause;
    GArray *windows; /* of uint64_t: bytes of each window */
} Fill;

bool fill_pause_parse(const char *text, uint64_t end, FillPause *pause,
                      GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, "@", 2);
    guint64 seconds, bytes;

    if (!parts[0] || !parts[1] ||
        !g_ascii_string_to_unsigned(parts[0], 10, 1, 1000000, &seconds, NULL) ||
        !g_ascii_string_to_unsigned(parts[1], 10, 0, UINT64_MAX, &bytes,
                                    NULL)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--fill-pause=%s: must be SECONDS@BYTES, with 1 to 1000000 "
                    "seconds", text);
        return false;
    }
    if (bytes >= end) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--fill-pause=%s: is beyond the last write; must be below %"
                    G_GUINT64_FORMAT, text, end);
        return false;
    }
    *pause = (FillPause) { bytes, (int64_t)seconds * 1000000000 };
    return true;
}

/* Adds `bytes` to the window of time in which they were written. */
static void count(Fill *fill, int64_t window_ns, int64_t at_ns, uint64_t bytes)
{
    guint window = (at_ns - fill->begin_ns - fill->paused_ns) / window_ns;

    if (fill->windows->len <= window) {
        g_array_set_size(fill->windows, window + 1);
    }
    g_array_index(fill->windows, uint64_t, window) += bytes;
    fill->written_bytes += bytes;
}

/* Makes the pauses that are due after the bytes written so far. */
static void pause_here(ScarpDrive *drive, const FillOptions *o, Fill *fill)
{
    while (fill->next_pause < o->n_pauses &&
           o->pauses[fill->next_pause].at_bytes <= fill->written_bytes) {
        int64_t ns = o->pauses[fill->next_pause++].ns;

        scarp_run(drive, scarp_now_ns(drive) + ns);
        fill->paused_ns += ns;
    }
}

static bool write_block(ScarpDrive *drive, ScarpCmd *cmd, GError **error)
{
    scarp_submit(drive, cmd, scarp_now_ns(drive));
    while (!scarp_reap(drive)) {
        if (!scarp_run_until_done(drive, SCARP_TIME_LAST)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "stuck: the write at %" G_GUINT64_FORMAT " bytes does "
                        "not complete", cmd->offset_bytes);
            return false;
        }
    }
    return true;
}

static void print(const ScarpDrive *drive, const FillOptions *o,
                  const Fill *fill, FILE *out)
{
    g_autofree char *stats = scarp_stats_json(drive);

    fprintf(out, "{\"schema\": \"scarp-fill-1\", \"scheme\": \"%s\", "
            "\"logical_bytes\": %" G_GUINT64_FORMAT ", \"block_bytes\": %"
            G_GUINT64_FORMAT ", \"passes\": %u, \"written_bytes\": %"
            G_GUINT64_FORMAT ", \"write_ns\": %" G_GINT64_FORMAT
            ", \"window_ns\": %" G_GINT64_FORMAT ", \"windows\": [",
            scarp_drive_scheme(drive), scarp_drive_logical_bytes(drive),
            o->block_bytes, o->passes, fill->written_bytes,
            scarp_now_ns(drive) - fill->begin_ns - fill->paused_ns,
            o->window_ns);
    for (guint i = 0; i < fill->windows->len; i++) {
        fprintf(out, "%s%" G_GUINT64_FORMAT, i ? ", " : "",
                g_array_index(fill->windows, uint64_t, i));
    }
    fprintf(out, "], \"pauses\": [");
    for (uint32_t i = 0; i < o->n_pauses; i++) {
        fprintf(out, "%s{\"at_bytes\": %" G_GUINT64_FORMAT ", \"ns\": %"
                G_GINT64_FORMAT "}", i ? ", " : "", o->pauses[i].at_bytes,
                o->pauses[i].ns);
    }
    fprintf(out, "], \"stats\": %s}\n", stats);
}

bool fill_run(ScarpDrive *drive, const FillOptions *o, FILE *out,
              GError **error)
{
    uint64_t size = scarp_drive_logical_bytes(drive);
    g_autoptr(GArray) windows = g_array_new(false, true, sizeof(uint64_t));
    Fill fill = { .begin_ns = scarp_now_ns(drive), .windows = windows };

    while (fill.written_bytes < size * o->passes) {
        uint64_t at = fill.written_bytes % size;
        ScarpCmd cmd = {
            .op = SCARP_OP_WRITE, .offset_bytes = at,
            .length_bytes = MIN(o->block_bytes, size - at),
            .deadline_ns = SCARP_TIME_NEVER,
        };

        pause_here(drive, o, &fill);
        if (!write_block(drive, &cmd, error)) {
            return false;
        }
        count(&fill, o->window_ns, cmd.complete_ns, cmd.length_bytes);
    }
    print(drive, o, &fill, out);
    return true;
}
