/*
 * What a power cut leaves in the cells, to the nanosecond: of programs, erases
 * and copybacks, of what is suspended, loaded behind another, or of several
 * planes; and of the earlier pages of the same cells.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

#define SEEDS 64

/* A write of n pages at 0 on a new drive; power fails at that time. */
static Rig *cut_write(const char *overrides, uint64_t seed, uint64_t n,
                      int64_t time_ns)
{
    Rig *rig = rig_new_seeded("baseline", NULL, overrides, seed);
    ScarpCmd cmd = write_tag(0, n, 'a');

    scarp_submit(rig->drive, &cmd, 0);
    power_off_at(rig, time_ns);
    return rig;
}

/* Until its data is in the register, and the array begins, nothing is there. */
static void test_before_the_array(void)
{
    static const int64_t at_ns[] = { 0, FW, FW + LINK + CMD, TO_ARRAY_NS };

    for (size_t i = 0; i < G_N_ELEMENTS(at_ns); i++) {
        Rig *rig = cut_write(CUTS "," ONE, 1, 1, at_ns[i]);

        power_cells(rig, 0, "................");
        g_assert_cmpuint(rig_stats(rig)->torn_pages, ==, 0);
        g_assert_cmpuint(rig_stats(rig)->cut_cmds, ==, 1);
        g_assert_cmpuint(rig_stats(rig)->cmds_accepted, ==, 0);
        power_on(rig);
        g_assert_cmpint(power_tag(rig, 0), ==, 0);
        rig_free(rig);
    }
}

/* From then on one of four is done, though nobody was told. */
static void in_the_array(int64_t time_ns)
{
    unsigned done = 0;

    for (unsigned seed = 0; seed < SEEDS; seed++) {
        Rig *rig = cut_write(CUTS "," ONE, seed, 1, time_ns);
        char is = power_cell(rig, 0, 0);

        g_assert_true(is == 'p' || is == 't');
        g_assert_cmpuint(rig_stats(rig)->torn_pages, ==, is == 't');
        power_on(rig);
        g_assert_cmpint(power_tag(rig, 0), ==, is == 'p' ? 'a' : 0);
        done += is == 'p';
        rig_free(rig);
    }
    g_assert_cmpuint(done, >, SEEDS / 8);
    g_assert_cmpuint(done, <, SEEDS * 3 / 8);
}

static void test_in_the_array(void)
{
    in_the_array(TO_ARRAY_NS + 1);
    in_the_array(TO_ARRAY_NS + TPROG / 2);
    in_the_array(TO_ARRAY_NS + TPROG - 1);
}

static void test_done(void)
{
    for (unsigned seed = 0; seed < 8; seed++) {
        Rig *rig = cut_write(CUTS "," ONE, seed, 1, TO_ARRAY_NS + TPROG);

        power_cells(rig, 0, "p...............");
        g_assert_cmpuint(rig_stats(rig)->cmds_accepted, ==, 1);
        g_assert_cmpuint(rig_stats(rig)->cut_cmds, ==, 0);
        power_on(rig);
        g_assert_cmpint(power_tag(rig, 0), ==, 'a');
        rig_free(rig);
    }
}

/* What was there before comes back, or what is written is there. */
static void test_old_contents(void)
{
    unsigned old = 0, new = 0;

    for (unsigned seed = 0; seed < 16; seed++) {
        Rig *rig = rig_new_seeded("baseline", NULL, CUTS "," ONE, seed);
        ScarpCmd cmd = write_tag(0, 1, 'b');
        int is;

        power_write(rig, 0, 'a');
        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
        power_off_at(rig, scarp_now_ns(rig->drive) + TO_ARRAY_NS + 1);
        power_on(rig);
        is = power_tag(rig, 0);
        g_assert_true(is == 'a' || is == 'b');
        old += is == 'a';
        new += is == 'b';
        rig_free(rig);
    }
    g_assert_cmpuint(old, >, 0);
    g_assert_cmpuint(new, >, 0);
}

/* Each plane's page of a multi-plane program is drawn alone. */
static void test_planes(void)
{
    static const char keys[] = CUTS "," ONE ",geometry.planes_per_die=2,"
                               "nand.multiplane=1";
    /* The data of both planes, then the array. */
    int64_t array_ns = FW + 2 * LINK + 2 * (CMD + BUS);
    unsigned n[2][2] = { 0 };
    Rig *rig = cut_write(keys, 1, 2, array_ns);

    power_cells(rig, 0, ".");
    power_cells(rig, 64, ".");
    power_on(rig);
    rig_free(rig);
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        bool first, second;

        rig = cut_write(keys, seed, 2, array_ns + 1);
        g_assert_cmpuint(rig_stats(rig)->multiplane_groups, ==, 1);
        first = power_cell(rig, 0, 0) == 'p';
        second = power_cell(rig, 64, 0) == 'p';
        g_assert_true(first || power_cell(rig, 0, 0) == 't');
        g_assert_true(second || power_cell(rig, 64, 0) == 't');
        n[first][second]++;
        power_on(rig);
        g_assert_cmpint(power_tag(rig, 0), ==, first ? 'a' : 0);
        g_assert_cmpint(power_tag(rig, 1), ==, second ? 'a' : 0);
        rig_free(rig);
    }
    /* 1, 3, 3 and 9 of 16. */
    g_assert_cmpuint(n[1][1], >, 0);
    g_assert_cmpuint(n[1][0], >, 3);
    g_assert_cmpuint(n[0][1], >, 3);
    g_assert_cmpuint(n[0][0], >, 18);
}

/* nand.cache: what is only in the register behind the array is lost. */
static void test_cached(void)
{
    static const char keys[] = CUTS "," ONE ",nand.cache=1";
    bool torn = false, done = false;

    for (unsigned seed = 0; seed < 16; seed++) {
        Rig *rig = rig_new_seeded("baseline", NULL, keys, seed);
        ScarpCmd first = write_tag(0, 1, 'a'), second = write_tag(1, 1, 'b');
        char is;

        scarp_submit(rig->drive, &first, 0);
        scarp_submit(rig->drive, &second, 0);
        /* The second's data is loaded long since. */
        power_off_at(rig, TO_ARRAY_NS + TPROG - 1);
        is = power_cell(rig, 0, 0);
        torn |= is == 't';
        done |= is == 'p';
        g_assert_cmpint(power_cell(rig, 0, 1), ==, '.');
        power_on(rig);
        g_assert_cmpint(power_tag(rig, 1), ==, 0);
        rig_free(rig);
    }
    g_assert_true(torn && done);
}

/* It begins when the one before it has ended. */
static void test_cached_begins(void)
{
    static const char keys[] = CUTS "," ONE ",nand.cache=1";

    for (int64_t later_ns = 0; later_ns < 2; later_ns++) {
        Rig *rig = rig_new("baseline", NULL, keys);
        ScarpCmd first = write_tag(0, 1, 'a'), second = write_tag(1, 1, 'b');

        scarp_submit(rig->drive, &first, 0);
        scarp_submit(rig->drive, &second, 0);
        power_off_at(rig, TO_ARRAY_NS + TPROG + later_ns);
        g_assert_cmpint(power_cell(rig, 0, 0), ==, 'p');
        g_assert_true((power_cell(rig, 0, 1) != '.') == later_ns);
        power_on(rig);
        rig_free(rig);
    }
}

/* ---- Suspended operations ---------------------------------------------- */

#define SUSPENDS ",nand.suspend_program=1,nand.suspend_erase=1," \
                 "nand.suspend_min_ns=0,nand.suspend_ns=20000," \
                 "nand.resume_ns=10000"

/*
 * A read stops a program; power fails so long after it reached the die, which
 * is halfway through the array's time.
 */
static char cut_suspended(uint64_t seed, int64_t after_ns)
{
    Rig *rig = rig_new_seeded("baseline", NULL, CUTS "," ONE SUSPENDS, seed);
    ScarpCmd write = write_tag(1, 1, 'b'), read = read_page(0);
    int64_t from_ns;
    char is;

    power_write(rig, 0, 'a');
    from_ns = scarp_now_ns(rig->drive) + TO_ARRAY_NS + TPROG / 2;
    scarp_submit(rig->drive, &write, scarp_now_ns(rig->drive));
    scarp_submit(rig->drive, &read, from_ns - FW);
    power_off_at(rig, from_ns + after_ns);
    g_assert_cmpuint(rig_stats(rig)->suspends, ==, 1);
    is = power_cell(rig, 0, 1);
    power_on(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    g_assert_cmpint(power_tag(rig, 1), ==, is == 'p' ? 'b' : 0);
    rig_free(rig);
    return is;
}

/* It is cut short all the same, whatever stands still at that time. */
static void test_suspended(void)
{
    enum { STOPS = 20000, RESUMES = 10000 };
    static const int64_t after_ns[] = {
        1,                                /* it is being suspended, … */
        STOPS + 1,                        /* the die reads, … */
        STOPS + READ_NS - 1, STOPS + READ_NS, /* has read, … */
        STOPS + READ_NS + 1,              /* resumes, … */
        STOPS + READ_NS + RESUMES,
        STOPS + READ_NS + RESUMES + 1,    /* and goes on */
        STOPS + READ_NS + RESUMES + TPROG / 2 - 1,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(after_ns); i++) {
        bool torn = false, done = false;

        for (unsigned seed = 0; seed < 16; seed++) {
            char is = cut_suspended(seed, after_ns[i]);

            g_test_message("%d ns: %c", (int)after_ns[i], is);
            g_assert_cmpint(is, !=, '.');
            torn |= is == 't';
            done |= is == 'p';
        }
        g_assert_true(torn && done);
    }
    g_assert_cmpint(cut_suspended(1, STOPS + READ_NS + RESUMES + TPROG / 2), ==,
                    'p');
}

/* ---- Collections: erases and copies ------------------------------------ */

/* A full drive of one die, with writes under way until a collection does it. */
typedef struct {
    Rig *rig;
    ScarpCmd cmd[256];
    ScarpFlashOp in; /* its command on the channel */
} Collecting;

static Collecting *collect(const char *overrides, uint64_t seed,
                           ScarpFlashKind kind)
{
    Collecting *c = g_new0(Collecting, 1);
    ScarpAge age = { .utilisation_permille = 900, .pattern = "random",
                     .overwrite_permille = 500, .seed = 1 };
    g_autofree char *keys = g_strconcat(
        CUTS "," ONE ",geometry.blocks_per_plane=20,"
        "ftl.over_provisioning_permille=600", overrides, NULL);

    c->rig = rig_new_seeded("pgc", NULL, keys, seed);
    g_assert_true(scarp_age(c->rig->drive, &age, NULL));
    for (unsigned i = 0; i < G_N_ELEMENTS(c->cmd); i++) {
        c->cmd[i] = write_tag(i * 7 % 150, 1, 1 + i % 200);
        scarp_submit(c->rig->drive, &c->cmd[i], 0);
    }
    c->in = *power_until(c->rig, kind, SCARP_ORIGIN_GC);
    return c;
}

static void collecting_free(Collecting *c)
{
    rig_drain(c->rig);
    rig_free(c->rig);
    g_free(c);
}

/* Tags that a page may have: its writes that ended, or are under way. */
static void check_tags(const Collecting *c, const bool *ended)
{
    for (unsigned page = 0; page < 150; page++) {
        int is = power_tag(c->rig, page), last = 0;
        bool found = false;

        for (unsigned i = 0; i < G_N_ELEMENTS(c->cmd); i++) {
            if (i * 7 % 150 == page) {
                int tag = 1 + i % 200;

                last = ended[i] ? tag : last;
                found |= is == tag && !ended[i];
            }
        }
        g_assert_true(is == last || found);
    }
}

/* Power fails so long after the array began; the block, or page, is then so. */
static char cut_collecting(const char *overrides, uint64_t seed,
                           ScarpFlashKind kind, int64_t after_ns)
{
    Collecting *c = collect(overrides, seed, kind);
    bool ended[G_N_ELEMENTS(c->cmd)] = { false };
    uint32_t erases = inside_erases(c->rig->drive, c->in.block);
    const ScarpCmd *cmd;
    char is;

    scarp_run(c->rig->drive, c->in.end_ns + after_ns);
    while ((cmd = scarp_reap(c->rig->drive))) {
        ended[cmd - c->cmd] = true;
    }
    power_off(c->rig);
    is = power_cell(c->rig, c->in.block, c->in.page);
    if (kind == SCARP_FLASH_ERASE) {
        g_autofree char *cells = inside_cells(c->rig->drive, c->in.block);

        g_assert_cmpint(strspn(cells, (char[]) { is, 0 }), ==, BLOCK);
        g_assert_cmpuint(inside_erases(c->rig->drive, c->in.block) - erases,
                         ==, is == '.');
        g_assert_cmpuint(rig_stats(c->rig)->torn_pages, ==,
                         is == 't' ? BLOCK : 0);
    }
    power_on(c->rig);
    check_tags(c, ended);
    if (kind == SCARP_FLASH_ERASE) {
        /* A whole one counts, and not its copies. */
        power_cells(c->rig, c->in.block, is == 'p' ? "pppppppppppppppp"
                                                   : "................");
        g_assert_cmpuint(inside_erases(c->rig->drive, c->in.block) - erases,
                         ==, is != 'p');
    }
    collecting_free(c);
    return is;
}

/*
 * Before it begins the block is whole, and when it ends erased; in between none
 * of its pages can be read, and it is erased once more.
 */
static void test_erase(void)
{
    for (unsigned seed = 0; seed < 8; seed++) {
        g_assert_cmpint(cut_collecting("", seed, SCARP_FLASH_ERASE, 0), ==,
                        'p');
        g_assert_cmpint(cut_collecting("", seed, SCARP_FLASH_ERASE, 1), ==,
                        't');
        g_assert_cmpint(cut_collecting("", seed, SCARP_FLASH_ERASE, TBERS - 1),
                        ==, 't');
        g_assert_cmpint(cut_collecting("", seed, SCARP_FLASH_ERASE, TBERS), ==,
                        '.');
    }
}

/* A copy of a collection is a program like others; its source stays. */
static void test_copy(void)
{
    bool torn = false, done = false;

    g_assert_cmpint(cut_collecting("", 1, SCARP_FLASH_PROGRAM, 0), ==, '.');
    for (unsigned seed = 0; seed < 16; seed++) {
        char is = cut_collecting("", seed, SCARP_FLASH_PROGRAM, 1);

        torn |= is == 't';
        done |= is == 'p';
        g_assert_cmpint(is, !=, '.');
    }
    g_assert_true(torn && done);
    g_assert_cmpint(cut_collecting("", 1, SCARP_FLASH_PROGRAM, TPROG), ==, 'p');
}

/* A copyback reads first, which changes no cell. */
static void test_copyback(void)
{
    static const char keys[] = ",nand.copyback=1";
    bool torn = false, done = false;

    g_assert_cmpint(cut_collecting(keys, 1, SCARP_FLASH_COPYBACK, 1), ==, '.');
    g_assert_cmpint(cut_collecting(keys, 1, SCARP_FLASH_COPYBACK, TR + CMD),
                    ==, '.');
    for (unsigned seed = 0; seed < 16; seed++) {
        char is = cut_collecting(keys, seed, SCARP_FLASH_COPYBACK,
                                 TR + CMD + 1);

        torn |= is == 't';
        done |= is == 'p';
        g_assert_cmpint(is, !=, '.');
    }
    g_assert_true(torn && done);
    g_assert_cmpint(cut_collecting(keys, 1, SCARP_FLASH_COPYBACK,
                                   TR + CMD + TPROG), ==, 'p');
}

/* Suspended, an erase is as far from done as before. */
static void test_suspended_erase(void)
{
    static const int64_t after_ns[] = {
        1, 20000 + 1, 20000 + READ_NS, 20000 + READ_NS + 1,
        20000 + READ_NS + 10000,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(after_ns); i++) {
        Collecting *c = collect(SUSPENDS, 1, SCARP_FLASH_ERASE);
        ScarpCmd read = read_page(160);
        int64_t from_ns = c->in.end_ns + TBERS / 2;

        scarp_submit(c->rig->drive, &read, from_ns - FW);
        power_off_at(c->rig, from_ns + after_ns[i]);
        g_assert_cmpuint(rig_stats(c->rig)->suspends, ==, 1);
        power_cells(c->rig, c->in.block, "tttttttttttttttt");
        power_on(c->rig);
        power_cells(c->rig, c->in.block, "................");
        collecting_free(c);
    }
}

/* ---- Earlier pages of the same cells ----------------------------------- */

/*
 * Writes of n pages of one block, and power fails in the array's time of the
 * last one; what the cells are when that one is torn.
 */
static char *cut_pair(const char *paired, unsigned n)
{
    g_autofree char *keys = g_strconcat(
        CUTS "," ONE ",geometry.pages_per_block=12,"
        "ftl.over_provisioning_permille=1000,ftl.paired_pages=", paired, NULL);
    char *cells = NULL;

    for (unsigned seed = 0; !cells && seed < 32; seed++) {
        Rig *rig = rig_new_seeded("baseline", NULL, keys, seed);
        ScarpCmd cmd[16];

        for (unsigned i = 0; i < n; i++) {
            cmd[i] = write_tag(i, 1, 'a' + i);
            scarp_submit(rig->drive, &cmd[i], 0);
        }
        for (unsigned i = 0; i < n; i++) {
            power_until(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST);
        }
        scarp_run(rig->drive, rig->op[rig->n_ops - 1].f.end_ns + 1);
        power_off(rig);
        if (power_cell(rig, 0, n - 1) == 't') {
            cells = inside_cells(rig->drive, 0);
            g_assert_cmpuint(rig_stats(rig)->torn_pages, ==,
                             strspn(strchr(cells, 't'), "t"));
        }
        power_on(rig);
        for (unsigned i = 0; cells && i < n; i++) {
            g_assert_cmpint(power_tag(rig, i), ==,
                            cells[i] == 'p' ? 'a' + (int)i : 0);
        }
        rig_free(rig);
    }
    return cells;
}

static void pair(const char *paired, unsigned n, const char *should)
{
    g_autofree char *is = cut_pair(paired, n);

    is[strlen(should)] = 0;
    g_assert_cmpstr(is, ==, should);
}

/* Page i shares its cells with those of i / cell_bits; only pad loses them. */
static void test_pairs(void)
{
    pair("pad,nand.cell_bits=2", 1, "t.");
    pair("pad,nand.cell_bits=2", 2, "tt.");
    pair("pad,nand.cell_bits=2", 3, "ppt.");
    pair("pad,nand.cell_bits=3", 2, "tt.");
    pair("pad,nand.cell_bits=3", 3, "ttt.");
    pair("pad,nand.cell_bits=3", 4, "pppt.");
    pair("pad,nand.cell_bits=4", 8, "pppptttt.");
    pair("backup,nand.cell_bits=2", 2, "pt.");
    pair("backup,nand.cell_bits=3", 3, "ppt.");
    pair("backup,nand.cell_bits=4", 8, "pppppppt.");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/power/cells/before-the-array", test_before_the_array);
    g_test_add_func("/power/cells/in-the-array", test_in_the_array);
    g_test_add_func("/power/cells/done", test_done);
    g_test_add_func("/power/cells/old-contents", test_old_contents);
    g_test_add_func("/power/cells/planes", test_planes);
    g_test_add_func("/power/cells/cached", test_cached);
    g_test_add_func("/power/cells/cached-begins", test_cached_begins);
    g_test_add_func("/power/cells/suspended", test_suspended);
    g_test_add_func("/power/cells/erase", test_erase);
    g_test_add_func("/power/cells/copy", test_copy);
    g_test_add_func("/power/cells/copyback", test_copyback);
    g_test_add_func("/power/cells/suspended-erase", test_suspended_erase);
    g_test_add_func("/power/cells/pairs", test_pairs);
    return g_test_run();
}
