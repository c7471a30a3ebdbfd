/*
 * The results, as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim.h"

/* Returns the quantile by nearest rank; 0 if the array is empty. */
static int64_t quantile(const GArray *sorted, uint64_t permillion)
{
    uint64_t rank = (sorted->len * permillion + 999999) / 1000000;

    return sorted->len ? g_array_index(sorted, int64_t, MAX(rank, 1) - 1) : 0;
}

static void latency(GString *s, const char *name, const GArray *sorted)
{
    int64_t sum = 0;

    for (guint i = 0; i < sorted->len; i++) {
        sum += g_array_index(sorted, int64_t, i);
    }
    g_string_append_printf(s, ", \"%s\": {\"n\": %u, \"mean_ns\": %"
                           G_GINT64_FORMAT, name, sorted->len,
                           sorted->len ? sum / sorted->len : 0);
    g_string_append_printf(s, ", \"p50_ns\": %" G_GINT64_FORMAT ", \"p99_ns\": "
                           "%" G_GINT64_FORMAT ", \"p99_9_ns\": %"
                           G_GINT64_FORMAT ", \"max_ns\": %" G_GINT64_FORMAT
                           "}", quantile(sorted, 500000),
                           quantile(sorted, 990000), quantile(sorted, 999000),
                           quantile(sorted, 1000000));
}

#define FIELD(name) { #name, offsetof(ArrayStats, name) }
static const struct {
    const char *name;
    size_t offset;
} fields[] = {
    FIELD(hits), FIELD(misses), FIELD(read), FIELD(written),
    FIELD(written_low), FIELD(evicted_dirty), FIELD(barrier_writes),
    FIELD(flush_requests), FIELD(discarded_evicted), FIELD(discarded_cleaned),
    FIELD(discarded_score), FIELD(flush_pending_max), FIELD(copied),
    FIELD(waited), FIELD(drive_flushes), FIELD(read_errors),
    FIELD(write_errors), FIELD(failed),
};
G_STATIC_ASSERT(G_N_ELEMENTS(fields) == sizeof(ArrayStats) / sizeof(uint64_t));

static uint64_t rate(uint64_t n, int64_t ns)
{
    return ns ? (unsigned __int128)n * 1000000000 / ns : 0;
}

static void array_stats_text(GString *s, const ArrayStats *stats)
{
    g_string_append(s, ", \"array\": {");
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        g_string_append_printf(s, "%s\"%s\": %" G_GUINT64_FORMAT,
                               i ? ", " : "", fields[i].name,
                               *(const uint64_t *)((const char *)stats +
                                                   fields[i].offset));
    }
    g_string_append_c(s, '}');
}

char *sim_json(const SimOptions *o, const SimResult *r)
{
    GString *s = g_string_new("{\"schema\": \"scarp-array-1\", "
                              "\"scarp_version\": \"" SCARP_VERSION "\"");

    g_string_append_printf(s, ", \"mode\": \"%s\", \"scheme\": \"%s\", "
                           "\"drives\": %u, \"seed\": %" G_GUINT64_FORMAT,
                           sim_mode_names[o->mode], o->scheme, o->drives,
                           o->seed);
    g_string_append_printf(s, ", \"workload\": \"%s\", \"requests\": %"
                           G_GUINT64_FORMAT ", \"ns\": %" G_GINT64_FORMAT
                           ", \"iops\": %" G_GUINT64_FORMAT
                           ", \"iops_per_drive\": %" G_GUINT64_FORMAT
                           ", \"end_ns\": %" G_GINT64_FORMAT,
                           o->zipf ? "zipf" : "uniform", r->completed, r->ns,
                           rate(r->completed, r->ns),
                           rate(r->completed, r->ns) / o->drives, r->end_ns);
    latency(s, "read_latency", r->read_ns);
    latency(s, "write_latency", r->write_ns);
    latency(s, "barrier_latency", r->barrier_ns);
    array_stats_text(s, &r->array);
    g_string_append(s, ", \"per_drive\": [");
    for (uint32_t i = 0; i < o->drives; i++) {
        g_string_append_printf(s, "%s{\"reads\": %" G_GUINT64_FORMAT
                               ", \"writes\": %" G_GUINT64_FORMAT
                               ", \"write_amplification_milli\": %"
                               G_GUINT64_FORMAT ", \"gc_runs\": %"
                               G_GUINT64_FORMAT ", \"gc_busy_ns\": %"
                               G_GUINT64_FORMAT "}", i ? ", " : "",
                               r->drive[i].reads, r->drive[i].writes,
                               r->drive[i].amplification_milli,
                               r->drive[i].gc_runs, r->drive[i].gc_busy_ns);
    }
    g_string_append(s, "]}\n");
    return g_string_free(s, FALSE);
}

char *sim_replay_json(const SimReplay *r)
{
    GString *s = g_string_new("{\"schema\": \"scarp-array-replay-1\", "
                              "\"scarp_version\": \"" SCARP_VERSION "\"");

    g_string_append_printf(s, ", \"drives\": %u, \"requests\": %"
                           G_GUINT64_FORMAT ", \"ios\": %" G_GUINT64_FORMAT
                           ", \"late\": %" G_GUINT64_FORMAT
                           ", \"gc_runs\": %" G_GUINT64_FORMAT, r->drives,
                           r->requests, r->ios, r->late, r->gc_runs);
    array_stats_text(s, &r->array);
    g_string_append(s, "}\n");
    return g_string_free(s, FALSE);
}
