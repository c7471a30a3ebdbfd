/*
 * What a drive may contain after a power cut, asked of the contract alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "contract.h"

#include <string.h>

enum { SECTORS = 16, UNIT = 4 };

/* What is in each sector: a letter; and what each write has put there. */
typedef struct {
    ScarpContract *contract;
    char is[SECTORS + 1];
    char put[8][SECTORS + 1];
    int64_t now_ns;
} World;

static World *world_new(bool is_volatile)
{
    World *w = g_new0(World, 1);
    uint32_t found[SECTORS] = { 0 };

    w->contract = scarp_contract_new(&(ScarpTerms) {
        .sectors = SECTORS, .unit_sectors = UNIT, .is_volatile = is_volatile,
        .deallocates = true });
    scarp_contract_begin(w->contract, found);
    memset(w->is, '0', SECTORS);
    return w;
}

static void world_free(World *w)
{
    scarp_contract_free(w->contract);
    g_free(w);
}

static void submit(World *w, uint32_t id, ScarpOp op, uint32_t first,
                   const char *what, bool fua)
{
    ScarpCmd cmd = { .op = op, .fua = fua, .submit_ns = ++w->now_ns,
                     .offset_bytes = first * SCARP_SECTOR_BYTES,
                     .length_bytes = strlen(what) * SCARP_SECTOR_BYTES };

    memcpy(w->put[id] + first, what, strlen(what));
    scarp_contract_submit(w->contract, &cmd, id);
}

static void end(World *w, uint32_t id)
{
    scarp_contract_complete(w->contract, id, ++w->now_ns);
}

static void done(World *w, uint32_t id, ScarpOp op, uint32_t first,
                 const char *what, bool fua)
{
    submit(w, id, op, first, what, fua);
    end(w, id);
}

static void flush(World *w, uint32_t id)
{
    done(w, id, SCARP_OP_FLUSH, 0, "", false);
}

static bool holds(void *opaque, uint64_t sector, uint32_t id)
{
    const World *w = opaque;

    return w->is[sector] == (id ? w->put[id][sector] : '0');
}

/* The sectors from the first one on are these; the others zeroes. */
static void judge(World *w, uint32_t first, const char *what, const char *says)
{
    g_autofree char *story = NULL;

    memset(w->is, '0', SECTORS);
    memcpy(w->is + first, what, strlen(what));
    story = scarp_contract_judge(w->contract, holds, w);
    if (!says) {
        g_assert_cmpstr(story, ==, NULL);
    } else {
        g_assert_nonnull(story);
        g_assert_nonnull(strstr(story, says));
    }
}

static void test_flush(void)
{
    World *w = world_new(true);

    done(w, 1, SCARP_OP_WRITE, 8, "a", false);
    judge(w, 8, "0", NULL);
    flush(w, 2);
    judge(w, 8, "a", NULL);
    judge(w, 8, "0", "durable by flush 2");
    done(w, 3, SCARP_OP_WRITE, 8, "b", false);
    judge(w, 8, "a", NULL);
    judge(w, 8, "b", NULL);
    judge(w, 8, "c", "what none of its last writes");
    world_free(w);
}

static void test_when_is_told(void)
{
    World *w = world_new(true);

    done(w, 1, SCARP_OP_WRITE, 8, "a", false);
    flush(w, 2);
    submit(w, 3, SCARP_OP_WRITE, 8, "b", false);
    judge(w, 8, "0", "write 1 of sectors 8 to 8, submitted at 1 ns, completed "
                     "at 2 ns, and durable by flush 2, submitted at 3 ns, "
                     "completed at 4 ns");
    judge(w, 8, "0", "write 3 of sectors 8 to 8, submitted at 5 ns, under way "
                     "when the power failed");
    world_free(w);
}

static void test_fua_and_no_cache(void)
{
    World *w = world_new(true), *x = world_new(false);

    done(w, 1, SCARP_OP_WRITE, 0, "a", true);
    judge(w, 0, "0", "durable by that");
    world_free(w);
    done(x, 1, SCARP_OP_WRITE, 0, "a", false);
    judge(x, 0, "0", "the cache is not volatile");
    world_free(x);
}

static void test_shorn(void)
{
    World *w = world_new(true);

    done(w, 1, SCARP_OP_WRITE, 4, "abcd", true);
    submit(w, 2, SCARP_OP_WRITE, 4, "efgh", false);
    judge(w, 4, "abcd", NULL);
    judge(w, 4, "efgh", NULL);
    judge(w, 4, "efcd", "it is shorn");
    /* In two units each may be there alone. */
    submit(w, 3, SCARP_OP_WRITE, 10, "ijkl", false);
    memcpy(w->put[3] + 10, "ijkl", 4);
    judge(w, 4, "abcd00ij", NULL);
    world_free(w);
}

/* A sector that has what two writes put there is no sign of the later one. */
static void test_same_bytes(void)
{
    World *w = world_new(true);

    done(w, 1, SCARP_OP_WRITE, 4, "ab", true);
    submit(w, 2, SCARP_OP_WRITE, 4, "cb", false);
    judge(w, 4, "ab", NULL);
    judge(w, 4, "cb", NULL);
    /* And the other way round: the unit's rest was never written. */
    submit(w, 3, SCARP_OP_WRITE, 8, "x0", false);
    judge(w, 4, "ab00", NULL);
    world_free(w);
}

static void test_zeroes_are_not_what_was_before(void)
{
    World *w = world_new(true);
    uint32_t found[SECTORS] = { [8] = 7 };

    memset(w->put[7], 'z', SECTORS);
    scarp_contract_begin(w->contract, found);
    judge(w, 8, "z", NULL);
    judge(w, 8, "0", "sector 8 has zeroes");
    done(w, 1, SCARP_OP_WRITE_ZEROES, 8, "0", true);
    judge(w, 8, "0", NULL);
    judge(w, 8, "z", "write zeroes 1");
    world_free(w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contract/flush", test_flush);
    g_test_add_func("/contract/when-is-told", test_when_is_told);
    g_test_add_func("/contract/fua-and-no-cache", test_fua_and_no_cache);
    g_test_add_func("/contract/shorn", test_shorn);
    g_test_add_func("/contract/same-bytes", test_same_bytes);
    g_test_add_func("/contract/zeroes-are-not-what-was-before",
                    test_zeroes_are_not_what_was_before);
    return g_test_run();
}
