/*
 * The engine's speed: host requests and flash transactions per second of one
 * core, next to a fixed calibration loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scarp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define QUEUE_DEPTH 32

typedef struct {
    const char *name;
    ScarpOp op;
    bool random;
    uint64_t requests;
} Load;

/* Of this process: what others do on the machine counts only by the caches. */
static double seconds(void)
{
    struct timespec at;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717ull;
}

/* Dependent loads over 32 MiB and a few operations: what the engine does. */
static double calibrate(void)
{
    enum { N = 1 << 23 };
    uint32_t *next = g_new(uint32_t, N);
    uint64_t state = 1;
    uint32_t at = 0;
    double began;

    for (uint32_t i = 0; i < N; i++) {
        next[i] = next_random(&state) >> 41;
    }
    began = seconds();
    for (uint32_t i = 0; i < 4 << 20; i++) {
        at = next[(at + i) % N];
    }
    began = seconds() - began;
    next[0] = at;
    g_free(next);
    return (4 << 20) / began;
}

/* By name: make against builds this with engines that do not count it yet. */
static uint64_t statistic(const ScarpStats *stats, const char *name)
{
    for (unsigned i = 0; i < SCARP_STAT_COUNT; i++) {
        if (!strcmp(scarp_stat_field(i)->name, name)) {
            return ((const uint64_t *)stats)[i];
        }
    }
    return 0;
}

static uint64_t transactions(const ScarpStats *s)
{
    return s->host_page_reads + s->host_page_programs + s->gc_page_reads +
           s->gc_page_programs + s->erases +
           statistic(s, "map_page_reads") + statistic(s, "map_page_programs");
}

typedef struct {
    const Load *load;
    uint64_t span, drawn, random;
    uint64_t offset_bytes; /* of the next request */
} Addresses;

/* The next request's is known, and looked up, while this one is sent. */
static uint64_t next_address(Addresses *a, ScarpDrive *drive)
{
    uint64_t offset_bytes = a->offset_bytes;

    a->offset_bytes = 4096 * (a->load->random
        ? (next_random(&a->random) >> 32) * a->span >> 32
        : a->drawn % a->span);
    a->drawn++;
    scarp_expect(drive, a->offset_bytes);
    return offset_bytes;
}

/* Not inlined: callgrind collects what happens in here (--toggle-collect). */
__attribute__((noinline, noclone))
static void measured_run(ScarpDrive *drive, const Load *load, uint64_t span)
{
    ScarpCmd cmd[QUEUE_DEPTH] = { 0 };
    Addresses addresses = { .load = load, .span = span, .random = 7 };
    uint64_t sent = 0;
    ScarpStats before = *scarp_stats(drive);
    int64_t now = MAX(0, scarp_now_ns(drive)), start = now;
    double began = seconds(), wall;
    uint64_t n;

    for (int i = 0; i < QUEUE_DEPTH; i++) {
        cmd[i].op = load->op;
        cmd[i].deadline_ns = SCARP_TIME_NEVER;
        cmd[i].length_bytes = 4096;
    }
    next_address(&addresses, drive);
    for (int i = 0; i < QUEUE_DEPTH; i++, sent++) {
        cmd[i].offset_bytes = next_address(&addresses, drive);
        scarp_submit(drive, &cmd[i], now);
    }
    while (scarp_run_until_done(drive, SCARP_TIME_NEVER)) {
        ScarpCmd *done;

        now = scarp_now_ns(drive);
        while ((done = scarp_reap(drive))) {
            if (sent < load->requests) {
                done->offset_bytes = next_address(&addresses, drive);
                sent++;
                scarp_submit(drive, done, now);
            }
        }
    }
    wall = seconds() - began;
    now = scarp_now_ns(drive);
    n = transactions(scarp_stats(drive)) - transactions(&before);
    g_print("%s requests/s %.0f transactions/s %.0f transactions %" G_GUINT64_FORMAT
            " virtual_IOPS %.0f WA %.3f\n",
            load->name, load->requests / wall, n / wall, n,
            load->requests * 1e9 / (now - start),
            (double)(scarp_stats(drive)->gc_page_programs -
                     before.gc_page_programs +
                     scarp_stats(drive)->host_page_programs -
                     before.host_page_programs) /
                MAX(1, scarp_stats(drive)->host_page_programs -
                           before.host_page_programs));
}

int main(int argc, char **argv)
{
    Load loads[] = {
        { "sequential-write", SCARP_OP_WRITE, false, 3000000 },
        { "random-write-gc", SCARP_OP_WRITE, true, 2000000 },
        { "random-read", SCARP_OP_READ, true, 3000000 },
    };
    ScarpConfig config = {
        .description_path = argc > 1 ? argv[1] : "devices/bench-16g.ini",
        .scheme = argc > 2 ? argv[2] : "baseline",
        .overrides = argc > 3 && *argv[3] ? argv[3] : NULL, .seed = 1,
    };
    const char *only = argc > 4 ? argv[4] : NULL; /* load; then its requests */
    const char *image = argc > 6 ? argv[6] : NULL; /* made if there is none */
    ScarpAge age = { .utilisation_permille = 900,
                     .overwrite_permille = UINT32_MAX, .pattern = "random",
                     .seed = 1 };

    if (argc == 2 && !strcmp(argv[1], "list")) {
        g_autofree char *schemes = scarp_schemes_text();

        g_print("%s", schemes);
        return 0;
    }
    g_print("calibration loads/s %.0f\n", calibrate());
    for (size_t i = 0; i < G_N_ELEMENTS(loads); i++) {
        g_autoptr(GError) error = NULL;
        ScarpDrive *drive;
        uint64_t span;
        struct rusage usage;
        double began = seconds();

        if (argc > 5) {
            loads[i].requests = strtoull(argv[5], NULL, 10);
        }
        if (only && strcmp(only, loads[i].name)) {
            continue;
        }
        config.image_path = image && g_file_test(image, G_FILE_TEST_EXISTS)
                                ? image : NULL;
        drive = scarp_drive_new(&config, &error);
        if (!drive) {
            g_printerr("%s\n", error->message);
            return 1;
        }
        if (!config.image_path &&
            (loads[i].op == SCARP_OP_READ || loads[i].random)) {
            if (!scarp_age(drive, &age, &error)) {
                g_printerr("%s\n", error->message);
                return 1;
            }
            g_print("age seconds %.2f\n", seconds() - began);
            if (image && !scarp_save(drive, image, &error)) {
                g_printerr("%s\n", error->message);
                return 1;
            }
        }
        span = scarp_drive_logical_bytes(drive) / 4096 * 9 / 10;
        measured_run(drive, &loads[i], span);
        if (!scarp_quiescent(drive, &error)) {
            g_printerr("%s\n", error->message);
            return 1;
        }
        getrusage(RUSAGE_SELF, &usage);
        g_print("peak MiB %.0f\nmapping RAM bytes %" G_GUINT64_FORMAT "\n",
                usage.ru_maxrss / 1024.0,
                statistic(scarp_stats(drive), "map_ram_bytes"));
        scarp_drive_free(drive);
    }
    return 0;
}
