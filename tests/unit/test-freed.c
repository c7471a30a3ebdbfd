/*
 * A drive may be freed at any moment, whatever is in flight: nothing is used
 * again, and nothing is left.  The sanitizers of the unit tests look.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

#define DEPTH 32u
#define MOMENTS 24u

typedef struct {
    const char *name, *scheme, *overrides;
} Kind;

static void next_command(const Rig *rig, ScarpCmd *cmd, GRand *rand)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    void *data = cmd->data;

    *cmd = cmd_of(g_rand_int_range(rand, 0, 3) ? SCARP_OP_WRITE : SCARP_OP_READ,
                  g_rand_int_range(rand, 0, pages) * (uint64_t)PAGE, PAGE);
    if (!g_rand_int_range(rand, 0, 4)) {
        cmd->offset_bytes += 512;
        cmd->length_bytes = 1024; /* the rest of the unit is read */
    }
    cmd->data = data;
}

/* So many events of a busy drive, then no more. */
static void stop_after(const Kind *kind, uint32_t events)
{
    Rig *rig = rig_new(kind->scheme, NULL, kind->overrides);
    g_autoptr(GRand) rand = g_rand_new_with_seed(events);
    g_autofree uint8_t *bytes = g_malloc(DEPTH * PAGE);
    ScarpCmd cmd[DEPTH] = { 0 }, *done;

    rig_age(rig, 900);
    memset(bytes, 0xa5, DEPTH * PAGE);
    for (uint32_t i = 0; i < DEPTH; i++) {
        cmd[i].data = &bytes[i * PAGE];
        next_command(rig, &cmd[i], rand);
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive));
    }
    for (uint32_t n = 0; n < events; n++) {
        g_assert_cmpint(scarp_next_event_ns(rig->drive), !=, SCARP_TIME_NEVER);
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        while ((done = scarp_reap(rig->drive))) {
            next_command(rig, done, rand);
            scarp_submit(rig->drive, done, scarp_now_ns(rig->drive));
        }
    }
    g_assert_false(scarp_quiescent(rig->drive, NULL));
    scarp_drive_free(rig->drive);
    g_free(rig);
}

static void test_freed(gconstpointer opaque)
{
    for (uint32_t i = 0; i < MOMENTS; i++) {
        stop_after(opaque, 20 + i * 53);
    }
}

int main(int argc, char **argv)
{
    static const Kind kinds[] = {
        { "baseline", "baseline", "controller.buffer_bytes=65536" },
        { "parity", "ttflash", "ftl.parity_width=4,ftl.parity_stripes=16,"
                               "controller.buffer_bytes=65536" },
        { "rebuilt", "reconstruct+baseline", "ftl.parity_width=2" },
        { "demand", "pgc", "ftl.mapping=demand,ftl.map_cache_bytes=256,"
                           "ftl.over_provisioning_permille=700" },
        { "records", "hios-2", "ftl.recovery=2,nand.cache=1" },
        { "fast", "pgc", "ftl.mapping=fast,"
                         "ftl.over_provisioning_permille=700" },
        { "suspended", "paragc", "nand.suspend_program=1,nand.suspend_erase=1" },
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/freed/%s", kinds[i].name);

        g_test_add_data_func(path, &kinds[i], test_freed);
    }
    return g_test_run();
}
