/*
 * What the engine did when this was recorded, to the nanosecond: a fixed
 * workload under each policy and each part of the model.  Nothing here says
 * what is right; the other tests do.  This one notices what changes, and so
 * does `make against`, for longer runs.
 *
 * A change of the model changes these lines: see that docs/model.md tells of
 * it, and take over what the failing test prints.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

enum { COMMANDS = 500 };

#define SMALL "geometry.blocks_per_plane=24,geometry.pages_per_block=8," \
              "ftl.over_provisioning_permille=800"
#define PLANES ",geometry.planes_per_die=2"
#define FOUR_CHANNELS ",geometry.channels=4,geometry.dies_per_chip=1"
#define UNITS ",ftl.unit_bytes=1024,ftl.over_provisioning_permille=2500"
#define BUFFER ",controller.buffer_bytes=32768"
#define PARITY ",ftl.parity_width=4,ftl.parity_stripes=8"
#define ORDER ",controller.gc_first_on_channel=1,gc.after_reads=1"
#define SUSPEND ",nand.suspend_program=1,nand.suspend_erase=1," \
                "nand.suspend_min_ns=20000,nand.suspend_limit=2"

typedef struct {
    const char *scheme, *params, *overrides;
    const char *was; /* erases, moved, ms of all reads and writes, and a hash */
} Row;

static const Row rows[] = {
    { "baseline", NULL, "",
      "67 erases, 146 moved, reads 652363 us, writes 1678734 us, "
      "2f9069b576ca" },
    { "baseline", NULL, ",controller.slots=4",
      "68 erases, 150 moved, reads 4258992 us, writes 5999425 us, "
      "2ddf03e1382a" },
    { "ideal", NULL, "",
      "67 erases, 146 moved, reads 72525 us, writes 412647 us, 21c5be9c331a" },
    { "fifo", NULL, "",
      "74 erases, 199 moved, reads 767499 us, writes 1859363 us, "
      "60497d004f60" },
    { "random", NULL, "",
      "91 erases, 341 moved, reads 1269874 us, writes 4002162 us, "
      "12498fd5b4dc" },
    { "d-choices", "d=3", "",
      "80 erases, 241 moved, reads 895706 us, writes 2420621 us, "
      "b5aeca75ec35" },
    { "cost-benefit", NULL, "",
      "73 erases, 191 moved, reads 684797 us, writes 1888303 us, "
      "e8659440ff2e" },
    { "pgc", NULL, "",
      "66 erases, 133 moved, reads 118631 us, writes 557634 us, 55b6a576a35b" },
    { "pgc", "pgc_floor=1", "",
      "66 erases, 132 moved, reads 73655 us, writes 430212 us, c19ea54f39e0" },
    { "gftl", NULL, "",
      "67 erases, 145 moved, reads 548536 us, writes 1539826 us, "
      "97a540b4f5e9" },
    { "gftl", "gftl_floor=3", PLANES,
      "65 erases, 134 moved, reads 502547 us, writes 1611944 us, "
      "c25c194a4106" },
    { "pagc", NULL, PLANES,
      "74 erases, 166 moved, reads 992026 us, writes 2035946 us, "
      "a169a20b21ae" },
    { "deadline", "fifo_batch=3,read_deadline_us=2000",
      ",controller.slots=2,controller.queue=8",
      "68 erases, 151 moved, reads 8466758 us, writes 13533561 us, "
      "9aa13f90c832" },
    { "anticipatory", "antic_us=300", ",controller.slots=2",
      "67 erases, 141 moved, reads 8255495 us, writes 9022942 us, "
      "e53496cb7537" },
    { "flash-aware", "bundle_max=4,bundle_pages=32", ",controller.slots=2",
      "67 erases, 145 moved, reads 3867843 us, writes 12012345 us, "
      "d401093b8c7f" },
    { "hios-1", "deadline_us=60000", ",controller.slots=4",
      "67 erases, 148 moved, reads 1827127 us, writes 2921779 us, "
      "3062dd0ff2a7" },
    { "hios-2", "deadline_us=60000,accumulate_us=200", PLANES
      ",controller.slots=4,controller.queue=8",
      "62 erases, 129 moved, reads 2211123 us, writes 3535990 us, "
      "2cd3ab17b23d" },
    { "hios-2", "deadline_us=60000,erase_last=1", UNITS ",controller.slots=4",
      "68 erases, 176 moved, reads 2173471 us, writes 3644808 us, "
      "d563a8b991ee" },
    { "hios-2", "deadline_us=60000,serial=1", ",controller.slots=4",
      "65 erases, 134 moved, reads 860413 us, writes 2359189 us, "
      "7b9e118e1ae0" },
    { "pregc", "t_block=300", "",
      "71 erases, 116 moved, reads 551817 us, writes 1491438 us, "
      "db7169cb3f08" },
    { "pregc", "t_block=300,look_ahead=1", "",
      "77 erases, 111 moved, reads 538309 us, writes 1470240 us, "
      "ffd099c39179" },
    { "pregc+gftl", "t_block=300,t_page=100", UNITS,
      "71 erases, 166 moved, reads 340799 us, writes 2140482 us, "
      "b2b8b748a70f" },
    { "pregc+gftl", "t_block=300,t_page=100,look_ahead=1", UNITS,
      "76 erases, 154 moved, reads 357882 us, writes 2300839 us, "
      "95a28851c8a1" },
    { "dynamic", NULL, PLANES,
      "67 erases, 142 moved, reads 554592 us, writes 1504136 us, "
      "f01c9227137d" },
    { "multi-plane", NULL, PLANES,
      "65 erases, 134 moved, reads 505728 us, writes 1503990 us, "
      "51e3be30e0a5" },
    { "gc-par", NULL, PLANES,
      "61 erases, 123 moved, reads 589347 us, writes 1005458 us, "
      "298300901c57" },
    { "gc-par", NULL, PLANES ORDER,
      "61 erases, 123 moved, reads 270418 us, writes 1016312 us, "
      "2ba1e29ba76a" },
    { "baseline", NULL, ",controller.reads_first=0",
      "67 erases, 146 moved, reads 1025826 us, writes 1650000 us, "
      "c747c116385b" },
    { "gc-par", "second_active_block=0", PLANES UNITS,
      "69 erases, 132 moved, reads 427014 us, writes 2307062 us, "
      "91e038202da7" },
    { "gc-vic", "candidates=5", PLANES,
      "61 erases, 123 moved, reads 572429 us, writes 1004791 us, "
      "cf02afc396c8" },
    { "gc-vic+pgc", NULL, PLANES UNITS BUFFER,
      "53 erases, 83 moved, reads 258108 us, writes 677799 us, 33841464c7bc" },
    { "global", NULL, UNITS,
      "69 erases, 169 moved, reads 342768 us, writes 2493526 us, "
      "42174a96f9c2" },
    { "gc-z", NULL, FOUR_CHANNELS,
      "70 erases, 158 moved, reads 800896 us, writes 2120503 us, "
      "4639d60ca648" },
    { "paragc", "hot=1,slot=5000,decay=100", FOUR_CHANNELS,
      "68 erases, 150 moved, reads 803488 us, writes 1880773 us, "
      "eac9bfb68dfe" },
    { "paragc+pregc", "iterations=3,t_block=300", FOUR_CHANNELS PLANES,
      "70 erases, 130 moved, reads 796650 us, writes 2329147 us, "
      "8f3ffd3ad774" },
    { "paragc+pregc", "iterations=3,t_block=300,look_ahead=1",
      FOUR_CHANNELS PLANES,
      "94 erases, 133 moved, reads 796650 us, writes 2329147 us, "
      "ad106bf21182" },
    { "ttflash", NULL, PARITY,
      "110 erases, 186 moved, reads 202561 us, writes 13520936 us, "
      "9920e13398fc" },
    { "ttflash+pregc", "t_block=300", PARITY,
      "111 erases, 180 moved, reads 217318 us, writes 13432141 us, "
      "87ed80f3182c" },
    { "ttflash+pregc", "t_block=300,look_ahead=1", PARITY,
      "117 erases, 169 moved, reads 170949 us, writes 12617011 us, "
      "76073bf7afe0" },
    { "reconstruct+gc-par", NULL, PARITY PLANES,
      "115 erases, 239 moved, reads 471524 us, writes 21588159 us, "
      "978953d33993" },
    { "rotating", "rotating_floor=2", PARITY,
      "114 erases, 216 moved, reads 327692 us, writes 17496459 us, "
      "8f11f93c6c70" },
    { "baseline", NULL, PARITY BUFFER,
      "116 erases, 232 moved, reads 470597 us, writes 19366315 us, "
      "09d29985ce0d" },
    { "baseline", NULL, ",gc.background_free_blocks=6",
      "84 erases, 214 moved, reads 370475 us, writes 990853 us, 1b39fe47e2a7" },
    { "gftl", NULL, ",gc.background_free_blocks=6",
      "84 erases, 214 moved, reads 358445 us, writes 968326 us, 4dc930e90658" },
    { "baseline", NULL, ",nand.cache=1",
      "67 erases, 146 moved, reads 738745 us, writes 1659555 us, "
      "2db54703335a" },
    { "multi-plane", NULL, PLANES ",nand.cache=1" SUSPEND BUFFER,
      "65 erases, 134 moved, reads 53413 us, writes 866891 us, 2cf6abe424d4" },
    { "pgc", NULL, SUSPEND,
      "66 erases, 133 moved, reads 19370 us, writes 588146 us, ca97992c796e" },
    { "baseline", NULL, BUFFER UNITS ",ftl.streams=3",
      "58 erases, 147 moved, reads 278140 us, writes 1094719 us, "
      "da5f8242ed62" },
    { "baseline", NULL, UNITS,
      "69 erases, 169 moved, reads 334703 us, writes 2320958 us, "
      "c3c2450a828f" },
    { "copyback", NULL, UNITS PLANES,
      "69 erases, 132 moved, reads 420119 us, writes 2584867 us, "
      "b04249c62c3b" },
    { "baseline", NULL, ",gc.wear_spread_erases=1",
      "67 erases, 148 moved, reads 643159 us, writes 1661238 us, "
      "4217946a91c0" },
    { "ideal", NULL, ",nand.bad_blocks_permille=60,nand.endurance_erases=4",
      "76 erases, 201 moved, reads 72525 us, writes 412647 us, 43d167d54962" },
    { "baseline", NULL, ",nand.cell_bits=3,timing.read_ns=50000;75000;90000"
      ",timing.program_ns=400000;700000;900000,nand.layers=4"
      ",nand.layer_fastest_permille=800" ",nand.layer_slowest_permille=1300",
      "67 erases, 146 moved, reads 592154 us, writes 1536010 us, "
      "584380d9f6b2" },
    { "baseline", NULL, ",gc.separate_active_block=0,ftl.allocation=pdwc"
      PLANES,
      "62 erases, 109 moved, reads 402864 us, writes 1442983 us, "
      "aabf7157ef99" },
    { "baseline", NULL, ",gc.victim_candidates=1,ftl.recovery=1",
      "67 erases, 145 moved, reads 681746 us, writes 1720954 us, "
      "1a2a1bca0115" },
    { "baseline", NULL, ",geometry.page_bytes=16384,ftl.unit_bytes=4096"
      ",ftl.over_provisioning_permille=3000",
      "42 erases, 100 moved, reads 376578 us, writes 1445133 us, "
      "5e03e6c28fbd" },
    { "baseline", NULL, ",ftl.mapping=demand",
      "71 erases, 142 moved, reads 936260 us, writes 2069457 us, "
      "b079c33b6433" },
    { "baseline", NULL, ",ftl.mapping=demand,ftl.map_cache_bytes=256",
      "70 erases, 146 moved, reads 648740 us, writes 1775678 us, "
      "8764fdaa05a0" },
    { "gc-par", NULL, PLANES ",ftl.mapping=demand,ftl.map_cache_bytes=512"
      BUFFER,
      "69 erases, 152 moved, reads 601856 us, writes 698506 us, d95e0438a234" },
    { "hios-2", "deadline_us=60000", ",ftl.mapping=demand,controller.slots=4",
      "72 erases, 138 moved, reads 2205192 us, writes 3442973 us, "
      "19de4784adaa" },
    { "baseline", NULL, ",ftl.mapping=block",
      "189 erases, 637 moved, reads 1151438 us, writes 21676449 us, "
      "f4e0d892f944" },
    { "pgc", NULL, ",ftl.mapping=block" BUFFER,
      "191 erases, 663 moved, reads 1027766 us, writes 31424691 us, "
      "497c189f8b14" },
    { "hios-1", "deadline_us=60000", ",ftl.mapping=block,controller.slots=4",
      "149 erases, 525 moved, reads 29139473 us, writes 40182095 us, "
      "2866cf972e84" },
    { "baseline", NULL, ",ftl.mapping=superblock",
      "67 erases, 126 moved, reads 487698 us, writes 1496196 us, "
      "451471297d54" },
    { "gftl", NULL, ",ftl.mapping=superblock,ftl.superblock_blocks=2",
      "98 erases, 384 moved, reads 747683 us, writes 4180268 us, "
      "dd3ef7de3ae8" },
    { "hios-2", "deadline_us=60000",
      ",ftl.mapping=superblock,controller.slots=4",
      "62 erases, 117 moved, reads 1141426 us, writes 2136872 us, "
      "2213fb5e5798" },
    { "baseline", NULL, ",ftl.mapping=fast",
      "128 erases, 488 moved, reads 1166937 us, writes 8392998 us, "
      "e5b2995a26d5" },
    { "copyback", NULL, ",ftl.mapping=fast,ftl.log_blocks=3",
      "202 erases, 931 moved, reads 2354612 us, writes 29198709 us, "
      "897f3410010e" },
    { "hios-2", "deadline_us=60000", ",ftl.mapping=fast,controller.slots=4",
      "122 erases, 541 moved, reads 24804535 us, writes 35170574 us, "
      "cd271c59e760" },
};

/* Commands of every kind, whole pages and parts of them, over a hot third. */
static void draw(ScarpCmd *cmd, GRand *rand, uint64_t pages, bool parts)
{
    static const char kinds[] = "RRRRRRRRWWWWWWWWWWZDF";
    bool hot = g_rand_int_range(rand, 0, 3);
    uint64_t page = g_rand_int_range(rand, 0, (hot ? pages / 3 : pages) - 4);
    uint64_t n = g_rand_int_range(rand, 1, 4) == 3 ? 3 : 1;

    switch (kinds[g_rand_int_range(rand, 0, strlen(kinds))]) {
    case 'R':
        *cmd = cmd_of(SCARP_OP_READ, page * PAGE, n * PAGE);
        break;
    case 'W':
        *cmd = cmd_of(SCARP_OP_WRITE, page * PAGE, n * PAGE);
        break;
    case 'Z':
        *cmd = cmd_of(SCARP_OP_WRITE_ZEROES, page * PAGE, n * PAGE);
        break;
    case 'D':
        *cmd = cmd_of(SCARP_OP_DEALLOCATE, page * PAGE, n * PAGE);
        break;
    default:
        *cmd = cmd_of(SCARP_OP_FLUSH, 0, 0);
        break;
    }
    if (parts && cmd->op != SCARP_OP_FLUSH && g_rand_boolean(rand)) {
        cmd->offset_bytes += g_rand_int_range(rand, 0, 8) * 512;
        cmd->length_bytes = g_rand_int_range(rand, 1, 9) * 512;
    }
    cmd->stream = g_rand_int_range(rand, 0, 4);
    cmd->fua = !g_rand_int_range(rand, 0, 10);
}

static void phase_seen(void *opaque, const ScarpFlashOp *op)
{
    const uint64_t seen[] = {
        op->begin_ns, op->end_ns, op->n_cmds, op->die, op->plane, op->channel,
        op->block, op->page, op->kind, op->phase, op->origin, op->multiplane,
        op->n_cmds ? op->cmd_seqs[0] : 0,
    };

    g_checksum_update(opaque, (const guchar *)seen, sizeof(seen));
}

static void gc_seen(void *opaque, const ScarpGcRun *run)
{
    const uint64_t seen[] = {
        run->begin_ns, run->end_ns, run->plane, run->victim_block,
        run->moved_units,
    };

    g_checksum_update(opaque, (const guchar *)seen, sizeof(seen));
}

static void cmd_seen(void *opaque, const ScarpCmd *cmd)
{
    const uint64_t seen[] = { cmd->seq, cmd->submit_ns, cmd->complete_ns };

    g_checksum_update(opaque, (const guchar *)seen, sizeof(seen));
    g_checksum_update(opaque, (const guchar *)cmd->cause_ns,
                      sizeof(cmd->cause_ns));
}

static void latencies_seen(const ScarpDrive *drive, GChecksum *sum)
{
    static const uint32_t permillions[] = { 1, 100000, 500000, 900000, 999900 };

    for (int op = 0; op < 2; op++) {
        for (size_t i = 0; i < G_N_ELEMENTS(permillions); i++) {
            ScarpOp of = op ? SCARP_OP_WRITE : SCARP_OP_READ;
            uint64_t ns = scarp_latency_ns(drive, of, permillions[i]);
            ScarpTail tail;

            scarp_latency_tail(drive, of, permillions[i], &tail);
            g_checksum_update(sum, (const guchar *)&ns, sizeof(ns));
            g_checksum_update(sum, (const guchar *)&tail, sizeof(tail));
        }
    }
}

static void test_row(gconstpointer data)
{
    const Row *row = data;
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);
    g_autofree char *overrides = g_strconcat(SMALL, row->overrides, NULL);
    ScarpConfig config = { .description_path = path, .scheme = row->scheme,
                           .params = row->params, .overrides = overrides,
                           .seed = 1 };
    ScarpAge age = { .utilisation_permille = 900, .pattern = "random",
                     .overwrite_permille = UINT32_MAX, .seed = 1 };
    g_autofree ScarpCmd *cmd = g_new0(ScarpCmd, COMMANDS);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    g_autofree char *is = NULL;
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);
    uint64_t pages;
    const ScarpStats *s;

    g_assert_no_error(error);
    pages = scarp_drive_logical_bytes(drive) / PAGE;
    g_assert_true(scarp_age(drive, &age, &error));
    scarp_set_observer(drive, &(ScarpObserver) {
        .cmd_done = cmd_seen, .flash_phase = phase_seen, .gc_done = gc_seen,
        .opaque = sum });
    /* In bursts, with time to rest after some. */
    for (unsigned i = 0, now_ns = 0; i < COMMANDS; i++) {
        draw(&cmd[i], rand, pages, strstr(row->overrides, "unit_bytes"));
        now_ns += i % 50 ? g_rand_int_range(rand, 0, 300000) : 20000000;
        cmd[i].deadline_ns = i % 9 ? SCARP_TIME_NEVER : now_ns + 3000000ll;
        scarp_run(drive, now_ns);
        scarp_submit(drive, &cmd[i], now_ns);
    }
    g_assert_true(scarp_drain(drive, &error));
    g_assert_true(scarp_check(drive, &error));
    s = scarp_stats(drive);
    /* The fields that there were; new ones come behind. */
    g_checksum_update(sum, (const guchar *)s,
                      offsetof(ScarpStats, gc_forced_runs) + sizeof(uint64_t));
    latencies_seen(drive, sum);
    is = g_strdup_printf("%u erases, %u moved, reads %u us, writes %u us, "
                         "%.12s",
                         (unsigned)s->erases, (unsigned)s->gc_moved_units,
                         (unsigned)(s->read_latency_sum_ns / 1000),
                         (unsigned)(s->write_latency_sum_ns / 1000),
                         g_checksum_get_string(sum));
    g_assert_cmpuint(s->cmds_completed, ==, COMMANDS);
    g_assert_cmpstr(is, ==, row->was);
    scarp_drive_free(drive);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_strdup_printf("/recorded/%02zu-%s", i,
                                                rows[i].scheme);

        g_test_add_data_func(path, &rows[i], test_row);
    }
    return g_test_run();
}
