/*
 * Defects seen in other simulators, by their numbers.  Those of the device
 * are in tests/qtest/test_peers.py (7, 8, 10), that of parameters which nobody
 * reads in tests/e2e/test_peers.py (4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "inside.h"
#include "replay.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
#define DEPTH 16

/* tests/qtest/tiny.ini, as docs/model.md computes with it */
enum {
    FIRMWARE_NS = 5000, COMMAND_NS = 200, TRANSFER_NS = 10240, LINK_NS = 1280,
    READ_NS = 75000, PROGRAM_NS = 750000, ERASE_NS = 3800000,
    SUSPEND_NS = 20000, RESUME_NS = 10000,
};

static ScarpDrive *new_drive(const char *scheme, const char *overrides,
                             uint64_t seed, bool store_data)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = scheme, .overrides = overrides, .seed = seed,
        .store_data = store_data,
    };
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);

    g_assert_no_error(error);
    return drive;
}

static void age(ScarpDrive *drive, uint32_t permille)
{
    ScarpAge how = { .utilisation_permille = permille, .pattern = "random",
                     .overwrite_permille = UINT32_MAX, .seed = 1 };
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(drive, &how, &error));
}

static void finish(ScarpDrive *drive)
{
    while (scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
}

static int64_t alone(ScarpDrive *drive, ScarpOp op, uint64_t page, void *data)
{
    ScarpCmd cmd = { .op = op, .offset_bytes = page * PAGE, .data = data,
                     .length_bytes = PAGE, .deadline_ns = SCARP_TIME_NEVER };

    scarp_submit(drive, &cmd, scarp_now_ns(drive));
    finish(drive);
    g_assert_true(scarp_reap(drive) == &cmd);
    return cmd.complete_ns - cmd.submit_ns;
}

/* Reads, writes and trims of one page or more, DEPTH at once. */
static void mix(ScarpDrive *drive, uint32_t commands, uint32_t trims_percent)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE;
    ScarpCmd cmd[DEPTH] = { 0 }, *done = NULL;
    uint32_t sent = 0, ended = 0;

    while (ended < commands) {
        while (sent < commands && (done || sent < DEPTH)) {
            ScarpCmd *next = done ? done : &cmd[sent];

            next->op = g_rand_int_range(rand, 0, 100) < (int)trims_percent
                           ? SCARP_OP_DEALLOCATE
                       : g_rand_int_range(rand, 0, 2) ? SCARP_OP_WRITE
                                                      : SCARP_OP_READ;
            next->offset_bytes = g_rand_int_range(rand, 0, pages - 4) *
                                 (uint64_t)PAGE;
            next->length_bytes = g_rand_int_range(rand, 1, 5) * PAGE;
            next->deadline_ns = SCARP_TIME_NEVER;
            scarp_submit(drive, next, scarp_now_ns(drive));
            sent++;
            done = NULL;
        }
        g_assert_cmpint(scarp_next_event_ns(drive), !=, SCARP_TIME_NEVER);
        scarp_run(drive, scarp_next_event_ns(drive));
        while ((done = scarp_reap(drive))) {
            ended++;
            if (sent < commands) {
                break;
            }
        }
    }
    finish(drive);
}

/* ---- 1: suspension that can never run ----------------------------------- */

typedef struct {
    uint32_t erases, pieces;
    int64_t ns;
} Erases;

static void count_erases(void *opaque, const ScarpFlashOp *op)
{
    Erases *erases = opaque;

    if (op->kind != SCARP_FLASH_ERASE) {
        return;
    }
    if (op->phase == SCARP_PHASE_IN) {
        erases->erases++;
    } else {
        erases->pieces++;
        erases->ns += op->end_ns - op->begin_ns;
    }
}

static void test_suspend_runs(void)
{
    ScarpDrive *drive = new_drive("baseline", "geometry.channels=1,"
                                  "geometry.dies_per_chip=1,"
                                  "nand.suspend_program=1", 1, false);
    int64_t read_at = 1000000000 + 200000;
    int64_t reading = COMMAND_NS + READ_NS + TRANSFER_NS;
    ScarpCmd write = { .op = SCARP_OP_WRITE, .offset_bytes = PAGE,
                       .length_bytes = PAGE };
    ScarpCmd read = { .op = SCARP_OP_READ, .length_bytes = PAGE };
    Erases erases = { 0 };

    alone(drive, SCARP_OP_WRITE, 0, NULL);
    scarp_submit(drive, &write, 1000000000);
    scarp_submit(drive, &read, read_at);
    finish(drive);
    /* The read does not wait for the program; the program stands still. */
    g_assert_cmpint(read.complete_ns - read_at, ==,
                    FIRMWARE_NS + SUSPEND_NS + reading + LINK_NS);
    g_assert_cmpint(write.complete_ns - write.submit_ns, ==,
                    FIRMWARE_NS + LINK_NS + COMMAND_NS + TRANSFER_NS +
                        PROGRAM_NS + SUSPEND_NS + reading + RESUME_NS);
    g_assert_cmpuint(scarp_stats(drive)->suspends, ==, 1);
    scarp_drive_free(drive);

    drive = new_drive("pgc", "nand.suspend_erase=1", 1, false);
    age(drive, 900);
    scarp_set_observer(drive, &(ScarpObserver) { .flash_phase = count_erases,
                                                 .opaque = &erases });
    mix(drive, 3000, 0);
    /* Suspended before the array goes on, an erase has one piece less. */
    g_assert_cmpuint(erases.pieces, >, erases.erases);
    g_assert_cmpuint(erases.pieces - erases.erases, <=,
                     scarp_stats(drive)->suspends);
    g_assert_cmpint(erases.ns, ==, erases.erases * (int64_t)ERASE_NS);
    scarp_drive_free(drive);
}

/* ---- 2: collections whose steps all happen at once ---------------------- */

typedef struct {
    GArray *read_ends; /* of the plane's GC reads */
    uint32_t programs, programs_ended;
    int64_t last_ns;   /* end of the last of them */
    uint32_t erases;
} PlaneSteps;

static void check_step(void *opaque, const ScarpFlashOp *op)
{
    PlaneSteps *plane = (PlaneSteps *)opaque + op->plane;

    g_assert_cmpint(op->end_ns, >, op->begin_ns);
    if (op->origin == SCARP_ORIGIN_HOST) {
        return;
    }
    if (op->kind == SCARP_FLASH_READ && op->phase == SCARP_PHASE_OUT) {
        g_array_append_val(plane->read_ends, op->end_ns);
    } else if (op->kind == SCARP_FLASH_PROGRAM &&
               op->phase == SCARP_PHASE_IN) {
        /* What it programs has been read, to the last byte. */
        g_assert_cmpuint(plane->programs, <, plane->read_ends->len);
        g_assert_cmpint(op->begin_ns, >=,
                        g_array_index(plane->read_ends, int64_t,
                                      plane->programs));
        plane->programs++;
    } else if (op->kind == SCARP_FLASH_PROGRAM) {
        plane->programs_ended++;
        plane->last_ns = op->end_ns;
    } else if (op->kind == SCARP_FLASH_ERASE &&
               op->phase == SCARP_PHASE_IN) {
        /* Every copy is on flash. */
        g_assert_cmpuint(plane->programs_ended, ==, plane->programs);
        g_assert_cmpint(op->begin_ns, >=, plane->last_ns);
        g_assert_cmpint(op->begin_ns, >=,
                        plane->read_ends->len
                            ? g_array_index(plane->read_ends, int64_t,
                                            plane->read_ends->len - 1) : 0);
        plane->erases++;
    }
}

static void test_steps_in_time(void)
{
    static const char *const schemes[] = { "baseline", "pgc", "gc-par",
                                           "gftl", "pagc" };

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        ScarpDrive *drive = new_drive(schemes[i], "geometry.planes_per_die=2",
                                      1, false);
        g_autofree PlaneSteps *steps = g_new0(PlaneSteps, inside_planes(drive));
        uint32_t erases = 0, programs = 0;

        for (uint32_t p = 0; p < inside_planes(drive); p++) {
            steps[p].read_ends = g_array_new(false, false, sizeof(int64_t));
        }
        age(drive, 900);
        scarp_set_observer(drive, &(ScarpObserver) {
            .flash_phase = check_step, .opaque = steps });
        mix(drive, 2000, 5);
        for (uint32_t p = 0; p < inside_planes(drive); p++) {
            erases += steps[p].erases;
            programs += steps[p].programs;
            g_array_free(steps[p].read_ends, true);
        }
        g_assert_cmpuint(erases, >, 10);
        g_assert_cmpuint(programs, >, 100);
        scarp_drive_free(drive);
    }
}

/* ---- 3: nothing was served, and that is a success ----------------------- */

static void test_nothing_served(void)
{
    g_autofree char *path = NULL;
    ScarpDrive *drive = new_drive("baseline", NULL, 1, false);
    ScarpCmd cmd = { .op = SCARP_OP_WRITE, .length_bytes = PAGE };
    ReplayOptions o = { .speed_permille = 1000, .depth = 1 };
    g_autoptr(GError) error = NULL;
    ReplayResult result;
    Workload *workload;
    /* A name of its own: others may run the same test at the same time. */
    int fd = g_file_open_tmp("scarp-nothing-XXXXXX", &path, &error);

    g_assert_no_error(error);
    close(fd);
    g_assert_true(g_file_set_contents(path, "fio version 2 iolog\n", -1, NULL));
    workload = trace_open(path, "fio2", &error);
    g_assert_no_error(error);
    g_assert_false(replay_run(drive, workload, &o, &result, &error));
    g_assert_nonnull(strstr(error->message, "has 0 requests"));
    g_clear_error(&error);
    workload->free(workload);
    g_unlink(path);

    scarp_submit(drive, &cmd, scarp_now_ns(drive));
    g_assert_false(scarp_quiescent(drive, &error));
    g_assert_nonnull(strstr(error->message, "accepted 1 commands, completed 0"));
    g_clear_error(&error);
    finish(drive);
    g_assert_true(scarp_quiescent(drive, &error));
    g_assert_true(scarp_reap(drive) == &cmd);
    scarp_drive_free(drive);
}

/* ---- 5: combinations that nobody ran ------------------------------------ */

/* Every policy there is, by what the program itself lists. */
static GPtrArray *all_policies(void)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = scarp_schemes_text();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        if (**line && **line != ' ') {
            g_ptr_array_add(names, g_strndup(*line, strcspn(*line, ":")));
        }
    }
    return names;
}

/* Every event looks at every table. */
#define SMALL "geometry.blocks_per_plane=24,geometry.pages_per_block=8," \
              "ftl.over_provisioning_permille=600"

/* A policy's name with what it needs: a second plane, parity. */
static ScarpDrive *drive_for(const char *policy, const char *overrides)
{
    bool joined = !strcmp(policy, "read-match");
    g_autofree char *scheme = g_strconcat(joined ? "gc-par+" : "", policy,
                                          NULL);
    g_autofree char *all = g_strconcat(SMALL, overrides ? "," : "", overrides,
                                       NULL);
    g_autofree char *planes = g_strconcat(all, ",geometry.planes_per_die=2",
                                          NULL);
    g_autofree char *parity = g_strconcat(all, ",ftl.parity_width=4", NULL);
    bool striped = strstr(policy, "ttflash") || strstr(policy, "rotating") ||
                   strstr(policy, "reconstruct") || strstr(policy, "striped");
    bool needs = joined || strstr(policy, "gc-par") ||
                 strstr(policy, "gc-vic") || strstr(policy, "pagc") ||
                 strstr(policy, "multi-plane");

    return new_drive(scheme, striped ? parity : needs ? planes : all, 1, false);
}

static void test_matrix(gconstpointer scheme)
{
    static const struct {
        const char *overrides;
        uint32_t age_permille, trims_percent;
    } rows[] = {
        { NULL, 900, 0 },  /* half reads, half writes, under collection */
        { NULL, 900, 30 }, /* trim */
        { "nand.suspend_program=1,nand.suspend_erase=1", 900, 5 },
        { "nand.copyback=1,geometry.planes_per_die=2", 900, 5 },
        { "nand.copyback=1,nand.suspend_program=1,nand.suspend_erase=1,"
          "nand.multiplane=1,nand.cache=1,geometry.planes_per_die=2", 900, 5 },
        { NULL, 1000, 0 }, /* a full drive */
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        ScarpDrive *drive = drive_for(scheme, rows[i].overrides);
        g_autoptr(GError) error = NULL;
        const ScarpStats *s = scarp_stats(drive);

        g_test_message("%s", rows[i].overrides ? rows[i].overrides : "plain");
        age(drive, rows[i].age_permille);
        mix(drive, 500, rows[i].trims_percent);
        g_assert_true(scarp_quiescent(drive, &error));
        g_assert_true(scarp_check(drive, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(s->cmds_completed, ==, 500);
        g_assert_cmpuint(s->gc_runs, >, 0);
        g_assert_cmpuint(s->oob_mismatches, ==, 0);
        scarp_drive_free(drive);
    }
}

/* ---- 6: reads of nothing that cost nothing ------------------------------ */

static void test_unmapped_reads(void)
{
    ScarpDrive *drive = new_drive("baseline", NULL, 1, true);
    uint64_t start_ns, ns_of_64k = 65536 * 1000 / 3200;
    ScarpCmd cmd[32] = { 0 };
    unsigned char data[PAGE];

    memset(data, 0xaa, sizeof(data));
    g_assert_cmpint(alone(drive, SCARP_OP_READ, 7, data), ==,
                    FIRMWARE_NS + LINK_NS);
    for (unsigned i = 0; i < sizeof(data); i++) {
        g_assert_cmpuint(data[i], ==, 0);
    }
    g_assert_cmpuint(scarp_stats(drive)->unmapped_read_units, ==, 1);

    /* Written, then trimmed: the same. */
    memset(data, 0xaa, sizeof(data));
    alone(drive, SCARP_OP_WRITE, 7, data);
    alone(drive, SCARP_OP_DEALLOCATE, 7, NULL);
    g_assert_cmpint(alone(drive, SCARP_OP_READ, 7, data), ==,
                    FIRMWARE_NS + LINK_NS);
    g_assert_cmpuint(data[0], ==, 0);
    g_assert_cmpuint(scarp_stats(drive)->unmapped_read_units, ==, 2);

    /* No faster than the bus, however many there are. */
    start_ns = scarp_now_ns(drive);
    for (unsigned i = 0; i < 32; i++) {
        cmd[i] = (ScarpCmd) { .op = SCARP_OP_READ, .length_bytes = 65536,
                              .offset_bytes = i * 65536 };
        scarp_submit(drive, &cmd[i], start_ns);
    }
    finish(drive);
    g_assert_cmpint(scarp_now_ns(drive), ==,
                    start_ns + FIRMWARE_NS + 32 * ns_of_64k);
    g_assert_cmpuint(scarp_stats(drive)->unmapped_read_units, ==, 2 + 32 * 16);
    scarp_drive_free(drive);
}

/* ---- 9: choices that come from the clock -------------------------------- */

static void hash_run(void *opaque, const ScarpGcRun *run)
{
    uint64_t *hash = opaque;

    *hash = (*hash ^ run->begin_ns ^ (uint64_t)run->plane << 32 ^
             (uint64_t)run->victim_block << 40) * 1099511628211u;
}

static uint64_t victims(const char *scheme, uint64_t seed)
{
    ScarpDrive *drive = new_drive(scheme, NULL, seed, false);
    uint64_t hash = 14695981039346656037u;

    age(drive, 900);
    scarp_set_observer(drive, &(ScarpObserver) { .gc_done = hash_run,
                                                 .opaque = &hash });
    mix(drive, 1500, 5);
    g_assert_cmpuint(scarp_stats(drive)->gc_runs, >, 10);
    scarp_drive_free(drive);
    return hash;
}

static void test_no_clock(void)
{
    static const char *const schemes[] = { "random", "d-choices", "greedy" };
    uint64_t first[G_N_ELEMENTS(schemes)];

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        first[i] = victims(schemes[i], 1);
    }
    /* Another second: whatever is seeded by the time of day differs. */
    g_usleep(1100000);
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_assert_cmphex(victims(schemes[i], 1), ==, first[i]);
    }
    g_assert_cmphex(victims("random", 2), !=, first[0]);
    g_assert_cmphex(victims("d-choices", 2), !=, first[1]);
}

/* ---- 11: every chip asked at every event -------------------------------- */

static uint64_t flash_commands(const ScarpStats *s)
{
    return s->host_page_reads + s->host_page_programs + s->gc_page_reads +
           s->gc_page_programs + s->erases;
}

/* How often a die looks for work, in thousandths of its flash commands. */
static uint64_t wakes_permille(const char *overrides)
{
    ScarpDrive *drive = new_drive("baseline", overrides, 1, false);
    uint64_t n, wakes;

    age(drive, 900);
    inside_watch_looks(drive);
    mix(drive, 3000, 0);
    n = flash_commands(scarp_stats(drive));
    wakes = inside_unwatch_looks(drive);
    g_test_message("%u dies: %" G_GUINT64_FORMAT " looks for %" G_GUINT64_FORMAT
                   " flash commands", inside_dies(drive), wakes, n);
    scarp_drive_free(drive);
    return wakes * 1000 / n;
}

static void test_no_polling(void)
{
    uint64_t few = wakes_permille(NULL);
    uint64_t many = wakes_permille("geometry.channels=16,"
                                   "geometry.chips_per_channel=2,"
                                   "geometry.blocks_per_plane=32,"
                                   "geometry.pages_per_block=4");

    /* When a command arrives and when one ends, whatever else there is. */
    g_assert_cmpuint(few, <=, 3000);
    g_assert_cmpuint(many, <=, 3000);
}

int main(int argc, char **argv)
{
    g_autoptr(GPtrArray) names = all_policies();

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/peer-defects/01-suspend-runs", test_suspend_runs);
    g_test_add_func("/peer-defects/02-gc-steps-in-time", test_steps_in_time);
    g_test_add_func("/peer-defects/03-nothing-served", test_nothing_served);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = g_strconcat("/peer-defects/05-every-scheme/",
                                            names->pdata[i], NULL);

        g_test_add_data_func(path, names->pdata[i], test_matrix);
    }
    g_test_add_func("/peer-defects/06-unmapped-reads", test_unmapped_reads);
    g_test_add_func("/peer-defects/09-no-clock", test_no_clock);
    g_test_add_func("/peer-defects/11-no-polling", test_no_polling);
    return g_test_run();
}
