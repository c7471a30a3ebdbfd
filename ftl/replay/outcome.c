/*
 * The results of a replay, as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "outcome.h"

#include <errno.h>
#include <string.h>

#define N G_GUINT64_FORMAT

/* Prints a string in JSON. Bytes that are not UTF-8 become U+FFFD. */
static void print_text(FILE *out, const char *text)
{
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (const char *c = valid; *c; c++) {
        if (*c == '"' || *c == '\\') {
            fputc('\\', out);
        }
        fprintf(out, (unsigned char)*c < ' ' ? "\\u%04x" : "%c",
                (unsigned char)*c);
    }
    fputc('"', out);
}

/* Prints properties of the workload, after it was fitted to the drive. */
static void print_workload(FILE *out, const Workload *workload,
                           const Outcome *o, const ReplayResult *r)
{
    uint64_t n = MAX(r->reads + r->writes, 1);

    fprintf(out, "  \"mode\": \"%s\", \"depth\": %" G_GINT64_FORMAT
            ", \"speed_permille\": %" G_GINT64_FORMAT ", \"seed\": %"
            G_GINT64_FORMAT ", \"peak_in_flight\": %u,\n",
            o->pace, o->depth, o->speed_permille, o->seed, r->peak_in_flight);
    fprintf(out, "  \"trace\": {\"format\": \"%s\", \"sniffed\": %u, "
            "\"also\": ", workload->format, workload->sniffed);
    print_text(out, workload->also);
    fprintf(out, ", \"devices\": %u, "
            "\"write_ratio\": %.4f, \"mean_read_bytes\": %" N
            ", \"mean_write_bytes\": %" N ", \"footprint_bytes\": %" N
            ", \"written_footprint_bytes\": %" N
            ", \"sequential_ratio\": %.4f, \"span_ns\": %" G_GINT64_FORMAT
            ", \"mean_interval_ns\": %" G_GINT64_FORMAT "},\n",
            r->devices, r->writes * 1.0 / n,
            r->read_bytes / MAX(r->reads, 1),
            r->write_bytes / MAX(r->writes, 1), r->touched_bytes,
            r->written_bytes, r->sequential * 1.0 / n, r->span_ns,
            r->span_ns / (int64_t)MAX(r->requests - 1, 1));
}

/* Prints how the workload that ran differs from its file. */
static void print_changes(FILE *out, const Workload *workload,
                          const Outcome *o, const ReplayResult *r)
{
    fprintf(out, "  \"folded\": %" N ", \"skipped_lines\": %" N
            ", \"empty_requests\": %" N ", \"foreign_lines\": %" N
            ", \"broken_lines\": %" N
            ",\n  \"skipped_requests\": %" N ", \"gaps_cut\": %" N
            ", \"gaps_cut_ns\": %" G_GINT64_FORMAT ", \"repeat\": %" N
            ",\n  \"times_back\": %" N ", \"times_ahead\": %" N
            ", \"warnings\": [",
            r->folded, workload->skipped_lines, workload->empty_requests,
            workload->foreign_lines, workload->broken_lines,
            workload->skipped_requests,
            workload->gaps_cut, workload->gaps_cut_ns, o->repeat,
            workload->times_back, workload->times_ahead);
    for (guint i = 0; o->warnings && i < o->warnings->len; i++) {
        fputs(i ? ", " : "", out);
        print_text(out, o->warnings->pdata[i]);
    }
    fputs("],\n", out);
}

static void print(FILE *out, const ScarpDrive *drive, const Workload *workload,
                  const Outcome *o, const ReplayResult *r)
{
    g_autofree char *stats = scarp_stats_json(drive);
    int64_t ns = MAX(r->end_ns - r->begin_ns, 1);

    fputs("{\n  \"schema\": \"scarp-replay-1\",\n  \"workload\": ", out);
    print_text(out, o->name);
    fprintf(out, ",\n  \"scheme\": \"%s\",\n  \"requests\": %" N
            ",\n  \"reads\": %" N ", \"writes\": %" N ", \"deallocates\": %" N
            ", \"flushes\": %" N ", \"fua_writes\": %" N
            ",\n  \"read_bytes\": %" N ", \"write_bytes\": %" N ",\n",
            scarp_drive_scheme(drive), r->requests, r->reads, r->writes,
            r->deallocates, r->flushes, r->fua_writes, r->read_bytes,
            r->write_bytes);
    print_changes(out, workload, o, r);
    fprintf(out, "  \"measured\": %" N ", \"measured_bytes\": %" N
            ", \"drive_ns\": %" G_GINT64_FORMAT
            ", \"requests_per_s\": %.3f,\n  \"wall_s\": %.3f,\n", r->measured,
            r->measured_bytes, ns, r->measured * 1e9 / ns, o->wall_s);
    print_workload(out, workload, o, r);
    fprintf(out, "  \"until_collection_bytes\": %" N ",\n",
            scarp_bytes_until_collection(drive));
    fprintf(out, "  \"stats\": %s\n}\n", stats);
}

bool outcome_write(const char *path, const ScarpDrive *drive,
                   const Workload *workload, const Outcome *outcome,
                   const ReplayResult *result, GError **error)
{
    bool file = path && strcmp(path, "-");
    FILE *out = file ? fopen(path, "w") : stdout;

    if (out) {
        print(out, drive, workload, outcome, result);
    }
    if (!out || ferror(out) || (file ? fclose(out) : fflush(out))) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "--json=%s: %s",
                    path ? path : "-", g_strerror(errno));
        return false;
    }
    return true;
}
