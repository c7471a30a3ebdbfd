/*
 * Histograms of latencies. The longer the latencies in a bucket, the wider it
 * is (log-linear). Fine buckets count commands and give the quantiles. Wide
 * buckets also add up how long their commands spent on each cause.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stat/ops.h"

#include <string.h>

#include "buckets.h"

enum {
    FINE_BITS = 7, FINE = SCARP_BUCKETS(FINE_BITS),
    WIDE_BITS = 4, WIDE = SCARP_BUCKETS(WIDE_BITS),
};

typedef struct {
    uint64_t n;
    ScarpCauseSums sums;
} Bucket;

/*
 * Histograms of the reads, or of the writes. A record has 230 KiB, but only the
 * buckets into which latencies fall are ever touched, and the system gives
 * memory only for these.
 */
struct ScarpLatency {
    uint64_t n;
    uint64_t count[FINE];
    Bucket bucket[WIDE];
};

static const ScarpLatency *latency_of(const ScarpDrive *drive, ScarpOp op)
{
    g_assert(op == SCARP_OP_READ || op == SCARP_OP_WRITE);
    return drive->stat.latency[op];
}

static uint64_t max_of(const ScarpDrive *drive, ScarpOp op)
{
    return op == SCARP_OP_READ ? drive->stats.read_latency_max_ns
                               : drive->stats.write_latency_max_ns;
}

void scarp_latency_init(ScarpDrive *drive)
{
    for (int op = 0; op < SCARP_LATENCY_OPS; op++) {
        drive->stat.latency[op] = g_new0(ScarpLatency, 1);
    }
}

void scarp_latency_clear(ScarpDrive *drive)
{
    for (int op = 0; op < SCARP_LATENCY_OPS; op++) {
        g_clear_pointer(&drive->stat.latency[op], g_free);
    }
}

ScarpCauseSums *scarp_latency_add(ScarpDrive *drive, const ScarpCmd *cmd)
{
    ScarpLatency *latency = drive->stat.latency[cmd->op];
    uint64_t ns = cmd->complete_ns - cmd->submit_ns;
    Bucket *bucket = &latency->bucket[scarp_bucket_of(ns, WIDE_BITS)];

    latency->n++;
    latency->count[scarp_bucket_of(ns, FINE_BITS)]++;
    bucket->n++;
    return &bucket->sums;
}

uint64_t scarp_latency_count(const ScarpDrive *drive, ScarpOp op)
{
    return latency_of(drive, op)->n;
}

static uint64_t share(uint64_t n, uint64_t permillion)
{
    return ((unsigned __int128)n * permillion + 999999) / 1000000;
}

/*
 * Returns the latency of the command at place `rank`, counted from 1, the
 * fastest. The latency is rounded up to the end of its fine bucket. Returns 0
 * if `rank` is 0.
 */
static uint64_t ranked_ns(const ScarpDrive *drive, ScarpOp op, uint64_t rank)
{
    const ScarpLatency *latency = latency_of(drive, op);
    uint64_t seen = 0;

    for (uint32_t i = 0; i < FINE && rank; i++) {
        seen += latency->count[i];
        if (seen >= rank) {
            return MIN(scarp_bucket_last(i, FINE_BITS), max_of(drive, op));
        }
    }
    return 0;
}

uint64_t scarp_latency_ns(const ScarpDrive *drive, ScarpOp op,
                          uint32_t permillion)
{
    uint64_t n = latency_of(drive, op)->n;

    return ranked_ns(drive, op, MIN(n, MAX(share(n, permillion), 1)));
}

/*
 * Sets *tail as scarp_latency_tail() does, and *parts to the parts of its
 * causes.
 */
static void tail_of(const ScarpDrive *drive, ScarpOp op, uint32_t permillion,
                    ScarpTail *tail, ScarpParts *parts)
{
    const ScarpLatency *latency = latency_of(drive, op);
    uint64_t left = share(latency->n, permillion);

    memset(tail, 0, sizeof(*tail));
    memset(parts, 0, sizeof(*parts));
    tail->n = left;
    tail->at_least_ns = ranked_ns(drive, op, left ? latency->n - left + 1 : 0);
    for (uint32_t i = WIDE; left && i-- > 0;) {
        const Bucket *bucket = &latency->bucket[i];
        const ScarpCauseSums *sums = &bucket->sums;
        uint64_t part = MIN(left, bucket->n);

        for (int c = 0; part && c < SCARP_CAUSE__COUNT; c++) {
            tail->cause_ns[c] += (unsigned __int128)sums->cause_ns[c] * part /
                                 bucket->n;
        }
        for (int c = 0; part && c < PART__COUNT; c++) {
            parts->ns[c] += (unsigned __int128)sums->parts.ns[c] * part /
                            bucket->n;
        }
        left -= part;
    }
}

void scarp_latency_tail(const ScarpDrive *drive, ScarpOp op,
                        uint32_t permillion, ScarpTail *tail)
{
    ScarpParts parts;

    tail_of(drive, op, permillion, tail, &parts);
}

void scarp_latency_tail_causes(const ScarpDrive *drive, ScarpOp op,
                               uint32_t permillion,
                               uint64_t cause_ns[SCARP_CAUSE__ALL])
{
    ScarpTail tail;
    ScarpParts parts;

    tail_of(drive, op, permillion, &tail, &parts);
    scarp_take_parts_out(cause_ns, tail.cause_ns, &parts);
}

/* ---- JSON and the log page ---------------------------------------------- */

static const uint32_t points[] = SCARP_LATENCY_POINTS;
static const char *const point_names[] = {
    "p50", "p90", "p95", "p99", "p99_9", "p99_99",
};
static const uint32_t tails[] = SCARP_LATENCY_TAILS;
static const char *const tail_names[] = {
    "slowest_1_percent", "slowest_0_1_percent", "slowest_0_01_percent",
};
G_STATIC_ASSERT(G_N_ELEMENTS(points) == SCARP_LATENCY_POINT_COUNT);
G_STATIC_ASSERT(G_N_ELEMENTS(point_names) == SCARP_LATENCY_POINT_COUNT);
G_STATIC_ASSERT(G_N_ELEMENTS(tails) == SCARP_LATENCY_TAIL_COUNT);
G_STATIC_ASSERT(G_N_ELEMENTS(tail_names) == SCARP_LATENCY_TAIL_COUNT);

static void tail_json(const ScarpDrive *drive, ScarpOp op, int i,
                      GString *json)
{
    uint64_t cause_ns[SCARP_CAUSE__ALL];
    const char *comma = "";
    ScarpParts parts;
    ScarpTail tail;

    tail_of(drive, op, tails[i], &tail, &parts);
    scarp_take_parts_out(cause_ns, tail.cause_ns, &parts);
    g_string_append_printf(json, ", \"%s\": {\"n\": %" G_GUINT64_FORMAT
                           ", \"at_least_ns\": %" G_GUINT64_FORMAT
                           ", \"cause_ns\": {", tail_names[i], tail.n,
                           tail.at_least_ns);
    for (int c = 0; c < SCARP_CAUSE__ALL; c++) {
        if (cause_ns[c]) {
            g_string_append_printf(json, "%s\"%s\": %" G_GUINT64_FORMAT,
                                   comma, scarp_cause_name(c), cause_ns[c]);
            comma = ", ";
        }
    }
    g_string_append(json, "}}");
}

void scarp_latency_json(const ScarpDrive *drive, GString *json)
{
    for (int op = 0; op < SCARP_LATENCY_OPS; op++) {
        uint64_t n = scarp_latency_count(drive, op);
        uint64_t sum = op == SCARP_OP_READ ? drive->stats.read_latency_sum_ns
                                           : drive->stats.write_latency_sum_ns;

        g_string_append_printf(json, ", \"%s_latency\": {\"n\": %"
                               G_GUINT64_FORMAT ", \"mean_ns\": %"
                               G_GUINT64_FORMAT,
                               op == SCARP_OP_READ ? "read" : "write", n,
                               n ? sum / n : 0);
        for (size_t i = 0; i < G_N_ELEMENTS(points); i++) {
            g_string_append_printf(json, ", \"%s_ns\": %" G_GUINT64_FORMAT,
                                   point_names[i],
                                   scarp_latency_ns(drive, op, points[i]));
        }
        g_string_append_printf(json, ", \"max_ns\": %" G_GUINT64_FORMAT,
                               max_of(drive, op));
        for (size_t i = 0; i < G_N_ELEMENTS(tails); i++) {
            tail_json(drive, op, i, json);
        }
        g_string_append_c(json, '}');
    }
}

void scarp_latency_page(const ScarpDrive *drive,
                        uint64_t page[SCARP_LATENCY_PAGE_WORDS])
{
    for (int op = 0; op < SCARP_LATENCY_OPS; op++) {
        *page++ = GUINT64_TO_LE(scarp_latency_count(drive, op));
        for (size_t i = 0; i < G_N_ELEMENTS(points); i++) {
            *page++ = GUINT64_TO_LE(scarp_latency_ns(drive, op, points[i]));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(tails); i++) {
            ScarpTail tail;

            scarp_latency_tail(drive, op, tails[i], &tail);
            *page++ = GUINT64_TO_LE(tail.n);
            *page++ = GUINT64_TO_LE(tail.at_least_ns);
            for (int c = 0; c < SCARP_CAUSE__COUNT; c++) {
                *page++ = GUINT64_TO_LE(tail.cause_ns[c]);
            }
        }
    }
}
