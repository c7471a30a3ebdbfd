/*
 * Streams: what the host writes with different ones never shares a block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

#define DEPTH 16
#define NO_STREAM 0xff

typedef struct {
    ScarpCmd cmd;
    bool busy;
} Slot;

/*
 * Random writes of 8 streams under garbage collection, no buffer, so that each
 * program names its command; wanted: streams that have blocks of their own.
 */
static void isolated(const char *scheme, const char *overrides,
                     unsigned streams)
{
    Rig *rig = rig_new(scheme, NULL, overrides);
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    uint64_t first_seq = UINT64_MAX;
    g_autoptr(GArray) stream_of = g_array_new(false, false, 1);
    g_autofree uint8_t *of_block = g_malloc(1 << 16);
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    g_autofree Slot *slots = g_new0(Slot, DEPTH);
    unsigned sent = 0, seen[8] = { 0 }, checked = 0;

    memset(of_block, NO_STREAM, 1 << 16);
    while (sent < 6000) {
        ScarpCmd *done;

        for (int i = 0; i < DEPTH; i++) {
            ScarpCmd *cmd = &slots[i].cmd;
            uint8_t none = NO_STREAM;

            if (slots[i].busy) {
                continue;
            }
            *cmd = write_page(g_rand_int_range(rand, 0, pages));
            cmd->stream = g_rand_int_range(rand, 0, 8);
            cmd->opaque = &slots[i];
            slots[i].busy = true;
            scarp_submit(rig->drive, cmd, scarp_now_ns(rig->drive));
            if (first_seq == UINT64_MAX) {
                first_seq = cmd->seq;
            }
            while (stream_of->len < cmd->seq - first_seq) {
                g_array_append_val(stream_of, none);
            }
            none = cmd->stream;
            g_array_append_val(stream_of, none);
            sent++;
        }
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        while ((done = scarp_reap(rig->drive))) {
            latency(done);
            ((Slot *)done->opaque)->busy = false;
        }
        for (unsigned i = 0; i < rig->n_ops; i++) {
            const ScarpFlashOp *op = &rig->op[i].f;
            uint8_t stream;

            if (op->phase != SCARP_PHASE_ARRAY) {
                continue;
            }
            if (op->kind == SCARP_FLASH_ERASE) {
                of_block[op->block] = NO_STREAM;
            }
            if (op->kind != SCARP_FLASH_PROGRAM ||
                op->origin != SCARP_ORIGIN_HOST) {
                continue;
            }
            stream = g_array_index(stream_of, uint8_t,
                                   rig->op[i].cmd_seq - first_seq);
            g_assert_cmpuint(stream, <, 8);
            stream = stream < streams ? stream : 0;
            if (of_block[op->block] == NO_STREAM) {
                of_block[op->block] = stream;
                seen[stream]++;
            }
            g_assert_cmpuint(of_block[op->block], ==, stream);
            checked++;
        }
        rig->n_ops = 0;
    }
    rig_drain(rig);
    g_assert_cmpuint(checked, >, 5000);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, >, 50);
    for (unsigned i = 0; i < 8; i++) {
        /* Every stream opened several blocks; the rest went with stream 0. */
        g_assert_cmpuint(seen[i] > 4, ==, i < streams);
    }
    rig_free(rig);
}

#define WIDE "ftl.over_provisioning_permille=600"

static void test_one(void)
{
    isolated("baseline", WIDE, 1);
}

static void test_four(void)
{
    isolated("baseline", WIDE ",ftl.streams=4", 4);
}

static void test_eight(void)
{
    isolated("baseline", WIDE ",ftl.streams=8", 8);
}

static void test_dynamic(void)
{
    isolated("pgc", WIDE ",ftl.streams=4,ftl.allocation=dynamic", 4);
}

static void test_gc_par(void)
{
    isolated("gc-par", WIDE ",ftl.streams=3,geometry.planes_per_die=2,"
             "geometry.dies_per_chip=1", 3);
}

/* Units of two streams do not meet in one page, buffered or not. */
static void test_pages(void)
{
    Rig *rig = rig_new("baseline", NULL, "ftl.streams=2,ftl.unit_bytes=1024,"
                       "controller.buffer_bytes=65536");
    ScarpCmd cmd;

    for (uint64_t i = 0; i < 4; i++) {
        cmd = cmd_of(SCARP_OP_WRITE, i * 1024, 1024);
        cmd.stream = i % 2;
        rig_do(rig, &cmd);
    }
    cmd = cmd_of(SCARP_OP_FLUSH, 0, 0);
    rig_do(rig, &cmd);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 2);
    g_assert_cmpuint(rig_stats(rig)->padded_units, ==, 4);
    /* Overwritten in the buffer by the other stream, a unit goes with that. */
    for (uint64_t i = 0; i < 3; i++) {
        cmd = cmd_of(SCARP_OP_WRITE, 8192 + i * 1024, 1024);
        rig_do(rig, &cmd);
    }
    cmd.stream = 1;
    rig_do(rig, &cmd);
    g_assert_cmpuint(rig_stats(rig)->buffer_coalesced_units, ==, 1);
    rig_do(rig, &cmd); /* by its own, it stays where it is */
    g_assert_cmpuint(rig_stats(rig)->buffer_coalesced_units, ==, 2);
    cmd = cmd_of(SCARP_OP_FLUSH, 0, 0);
    rig_do(rig, &cmd);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 4);
    g_assert_cmpuint(rig_stats(rig)->padded_units, ==, 4 + 2 + 3);
    rig_free(rig);
}

/* Streams need room: a drive that has not got it says so. */
static void test_no_room(void)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);
    ScarpConfig config = {
        .description_path = path, .scheme = "baseline",
        .overrides = "ftl.streams=8,ftl.over_provisioning_permille=200",
    };
    g_autoptr(GError) error = NULL;

    g_assert_null(scarp_drive_new(&config, &error));
    g_assert_nonnull(strstr(error->message, "ftl.streams"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/streams/one", test_one);
    g_test_add_func("/streams/four", test_four);
    g_test_add_func("/streams/eight", test_eight);
    g_test_add_func("/streams/dynamic", test_dynamic);
    g_test_add_func("/streams/gc-par", test_gc_par);
    g_test_add_func("/streams/pages", test_pages);
    g_test_add_func("/streams/no-room", test_no_room);
    return g_test_run();
}
