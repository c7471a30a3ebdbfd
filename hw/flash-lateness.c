/*
 * Scarp: measures how much later than the model says each command completes,
 * in nanoseconds of the host's clock, for drives that run on real time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/timer.h"
#include "qemu/error-report.h"
#include "flash-lateness.h"
#include "flash-rows.h"
#include "../ftl/buckets.h"

enum { BITS = 5, BUCKETS = SCARP_BUCKETS(BITS) };
enum { ROW_PART = 1 };

enum { OP_READ, OP_WRITE, OP_OTHER, OP_ALL, OPS };

/*
 * Names of the numbers of real time, in the order of log page 0xCA, where these
 * numbers follow the engine's. engine_tables.py reads this list.
 */
static const char *const realtime_fields[] = {
    "realtime_bound_ns",       /* the property lateness-bound-ns */
    "realtime_elapsed_ns",     /* since the last reset of the statistics */
    "realtime_thread_cpu_ns",  /* processor time of the engine's thread */
    "realtime_polled_ns",      /* time for which the thread polled the clock */
    "realtime_behind_ns",      /* sum of lateness of events past the bound */
    "realtime_sleeps",
    "realtime_over_bound",     /* completions that were later than the bound */
    "read_late_n", "read_late_mean_ns", "read_late_p50_ns",
    "read_late_p99_ns", "read_late_p99_9_ns", "read_late_max_ns",
    "write_late_n", "write_late_mean_ns", "write_late_p50_ns",
    "write_late_p99_ns", "write_late_p99_9_ns", "write_late_max_ns",
    "other_late_n", "other_late_mean_ns", "other_late_p50_ns",
    "other_late_p99_ns", "other_late_p99_9_ns", "other_late_max_ns",
    "all_late_n", "all_late_mean_ns", "all_late_p50_ns",
    "all_late_p99_ns", "all_late_p99_9_ns", "all_late_max_ns",
    /* priority of the thread (SCHED_FIFO); 0: none */
    "realtime_priority",
    /* polls that ran out while the lock's owner was on the thread's core */
    "realtime_lost_polls",
};
enum { WORDS = ARRAY_SIZE(realtime_fields) };

typedef struct {
    uint64_t n;
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t count[BUCKETS];
} Histogram;

typedef struct QEMU_PACKED {
    int64_t arrived_ns;
    int64_t posted_ns;
    int64_t submit_ns;
    int64_t complete_ns;
    int64_t host_ns; /* CLOCK_MONOTONIC shortly after posted_ns */
    uint32_t seq;
    uint8_t op;
    uint8_t flags;
    uint16_t reserved;
} Row;

static const FlashRowsLayout layout = {
    .option = "lateness-log", .magic = "SCARPRT1", .row_bytes = sizeof(Row),
};

struct FlashLateness {
    Histogram histogram[OPS];
    int64_t bound_ns;
    int64_t reset_ns;
    uint64_t over_bound;
    FlashRows *log; /* NULL: no log was asked for */
};

static void histogram_add(Histogram *histogram, uint64_t ns)
{
    histogram->n++;
    histogram->sum_ns += ns;
    histogram->max_ns = MAX(histogram->max_ns, ns);
    histogram->count[scarp_bucket_of(ns, BITS)]++;
}

/* Returns the last value of the quantile's bucket, by nearest rank. */
static uint64_t quantile(const Histogram *histogram, unsigned permille)
{
    uint64_t rank = (histogram->n * permille + 999) / 1000, seen = 0;

    for (unsigned i = 0; histogram->n && i < BUCKETS; i++) {
        seen += histogram->count[i];
        if (seen >= rank) {
            return MIN(scarp_bucket_last(i, BITS), histogram->max_ns);
        }
    }
    return 0;
}

FlashLateness *flash_lateness_new(const char *log_path, int64_t bound_ns,
                                  Error **errp)
{
    FlashLateness *lateness = g_new0(FlashLateness, 1);

    lateness->bound_ns = bound_ns;
    if (log_path) {
        lateness->log = flash_rows_open(log_path, &layout, true, errp);
        if (!lateness->log) {
            g_free(lateness);
            return NULL;
        }
    }
    return lateness;
}

void flash_lateness_free(FlashLateness *lateness)
{
    if (lateness->log) {
        flash_rows_close(lateness->log);
    }
    g_free(lateness);
}

static void add_row(FlashLateness *lateness, const NvmeFlashStamp *stamp,
                    int64_t posted_ns, bool part)
{
    Row row = {
        .arrived_ns = cpu_to_le64(stamp->arrived_ns),
        .posted_ns = cpu_to_le64(posted_ns),
        .submit_ns = cpu_to_le64(stamp->submit_ns),
        .complete_ns = cpu_to_le64(stamp->complete_ns),
        .host_ns = cpu_to_le64(get_clock()),
        .seq = cpu_to_le32(stamp->seq),
        .op = stamp->op,
        .flags = part ? ROW_PART : 0,
    };

    flash_rows_add(lateness->log, &row);
}

void flash_lateness_add(FlashLateness *lateness, const NvmeFlashStamp *stamp,
                        int64_t posted_ns, bool part)
{
    int64_t late_ns = (posted_ns - stamp->arrived_ns) -
                      (stamp->complete_ns - stamp->submit_ns);
    unsigned op = stamp->op == SCARP_OP_READ ? OP_READ :
                  stamp->op == SCARP_OP_WRITE ? OP_WRITE : OP_OTHER;

    if (lateness->log) {
        add_row(lateness, stamp, posted_ns, part);
    }
    if (part || stamp->arrived_ns < lateness->reset_ns) {
        return;
    }
    if (late_ns < 0) {
        /*
         * A negative lateness is a fault of this statistic, which does the
         * guest no harm. So QEMU only warns.
         */
        warn_report_once("nvme-flash: command %u (%u) was posted at %" PRId64
                         " ns, before the model's end: arrived %" PRId64
                         ", submitted %" PRId64 ", complete %" PRId64,
                         stamp->seq, stamp->op, posted_ns, stamp->arrived_ns,
                         stamp->submit_ns, stamp->complete_ns);
        late_ns = 0;
    }
    histogram_add(&lateness->histogram[op], late_ns);
    histogram_add(&lateness->histogram[OP_ALL], late_ns);
    if (late_ns > lateness->bound_ns) {
        lateness->over_bound++;
    }
}

void flash_lateness_reset(FlashLateness *lateness, int64_t now_ns)
{
    memset(lateness->histogram, 0, sizeof(lateness->histogram));
    lateness->over_bound = 0;
    lateness->reset_ns = now_ns;
}

bool flash_lateness_flush(FlashLateness *lateness, Error **errp)
{
    return !lateness->log || flash_rows_flush(lateness->log, errp);
}

static void words(const FlashLateness *lateness, const FlashThreadUse *use,
                  uint64_t word[WORDS])
{
    unsigned at = 0;

    word[at++] = lateness->bound_ns;
    word[at++] = use->elapsed_ns;
    word[at++] = use->cpu_ns;
    word[at++] = use->polled_ns;
    word[at++] = use->behind_ns;
    word[at++] = use->sleeps;
    word[at++] = lateness->over_bound;
    for (int op = 0; op < OPS; op++) {
        const Histogram *histogram = &lateness->histogram[op];

        word[at++] = histogram->n;
        word[at++] = histogram->n ? histogram->sum_ns / histogram->n : 0;
        word[at++] = quantile(histogram, 500);
        word[at++] = quantile(histogram, 990);
        word[at++] = quantile(histogram, 999);
        word[at++] = histogram->max_ns;
    }
    word[at++] = use->priority;
    word[at++] = use->lost_polls;
    assert(at == WORDS);
}

unsigned flash_lateness_page_words(void)
{
    return WORDS;
}

size_t flash_lateness_page(const FlashLateness *lateness,
                           const FlashThreadUse *use, void *buf, size_t size)
{
    uint64_t word[WORDS];

    words(lateness, use, word);
    for (unsigned i = 0; i < WORDS; i++) {
        word[i] = cpu_to_le64(word[i]);
    }
    if (size) {
        memcpy(buf, word, MIN(size, sizeof(word)));
    }
    return sizeof(word);
}

char *flash_lateness_json(const FlashLateness *lateness,
                          const FlashThreadUse *use)
{
    GString *json = g_string_new("{");
    uint64_t word[WORDS];

    words(lateness, use, word);
    for (unsigned i = 0; i < WORDS; i++) {
        g_string_append_printf(json, "%s\"%s\": %" PRIu64, i ? ", " : "",
                               realtime_fields[i], word[i]);
    }
    g_string_append_c(json, '}');
    return g_string_free(json, false);
}
