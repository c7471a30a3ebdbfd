/*
 * What an image says of a drive besides its mapping: scalars, blocks, the
 * order of every list of blocks, and what the scheme's policies remember.
 *
 * Lists are kept as the order of their members and built anew from it, so
 * that no image can make one that does not end.
 *
 * Times are of the drive's life, which goes on in a drive that starts from the
 * image, although its clock begins at zero.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/image.h"

#include <string.h>

/* 146 years: sums of two times are times. */
#define MAX_LIFE_NS (INT64_MAX / 2)

char *image_layout_text(const ScarpDrive *drive)
{
    const ScarpDescription *d = &drive->d;
    GString *text = g_string_new(NULL);
    const struct {
        const char *name;
        uint64_t value;
    } key[] = {
        { "geometry.channels", d->channels },
        { "geometry.chips_per_channel", d->chips_per_channel },
        { "geometry.dies_per_chip", d->dies_per_chip },
        { "geometry.planes_per_die", d->planes_per_die },
        { "geometry.blocks_per_plane", d->blocks_per_plane },
        { "geometry.pages_per_block", d->pages_per_block },
        { "geometry.page_bytes", d->page_bytes },
        { "nand.bad_blocks_permille", d->bad_blocks_permille },
        { "ftl.unit_bytes", drive->unit_bytes },
        { "ftl.recovery", d->recovery },
        { "ftl.over_provisioning_permille", d->over_provisioning_permille },
        { "ftl.parity_width", d->parity_width },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(key); i++) {
        g_string_append_printf(text, "%s=%" G_GUINT64_FORMAT "\n",
                               key[i].name, key[i].value);
    }
    return g_string_free(text, false);
}

/* ---- Drive and blocks --------------------------------------------------- */

static void visit_drive(ScarpDrive *drive, ScarpVisit *visit)
{
    uint64_t life_ns = scarp_life_ns(drive), random = drive->random;
    uint64_t seed = drive->seed;

    scarp_visit_u64(visit, "life_ns", &life_ns, 0, MAX_LIFE_NS);
    scarp_visit_u64(visit, "next_seq", &drive->next_seq, 0, INT64_MAX);
    scarp_visit_u64(visit, "next_block_seq", &drive->next_block_seq, 0,
                    INT64_MAX);
    scarp_visit_u64(visit, "seed", &seed, 0, UINT64_MAX);
    scarp_visit_u64(visit, "random", &random, 1, UINT64_MAX);
    scarp_visit_u32(visit, "next_plane", &drive->next_plane, 0,
                    drive->n_planes - 1);
    if (visit->loading) {
        drive->past_ns = life_ns;
        /* Another seed than the image's asks for another course. */
        if (seed == drive->seed) {
            drive->random = random;
        }
    }
}

static void visit_block(ScarpDrive *drive, uint32_t index, ScarpVisit *visit)
{
    ScarpBlock *block = scarp_block(drive, index);
    uint64_t modified_ns = block->modified_ns + drive->past_ns;
    uint32_t pages = drive->d.pages_per_block, written = block->written;
    bool ok;

    scarp_visit_u8(visit, "a block's state", &block->state, BLOCK_FREE,
                   BLOCK_BAD);
    scarp_visit_u8(visit, "a block's origin", &block->origin,
                   SCARP_ORIGIN_HOST, SCARP_ORIGIN_PREMIGRATE);
    scarp_visit_u8(visit, "a block's stream", &block->stream, 0,
                   SCARP_MAX_STREAMS - 1);
    scarp_visit_u32(visit, "a block's written pages", &written, 0,
                    pages);
    scarp_visit_u32(visit, "a block's erases", &block->erases, 0,
                    UINT32_MAX - 1);
    scarp_visit_u64(visit, "a block's modified_ns", &modified_ns, 0,
                    visit->loading ? (uint64_t)drive->past_ns : MAX_LIFE_NS);
    scarp_visit_u64(visit, "a block's seq", &drive->block_rest[index].seq, 0,
                    drive->next_block_seq);
    if (!visit->loading) {
        return;
    }
    block->modified_ns = (int64_t)modified_ns - drive->past_ns;
    block->written = block->programmed = written; /* nothing is on its way */
    switch (block->state) {
    case BLOCK_ACTIVE:
        ok = block->written && block->written < pages;
        break;
    case BLOCK_FULL:
        ok = block->written; /* it may have been closed early */
        break;
    default:
        ok = !block->written && block->state != BLOCK_VICTIM;
        break;
    }
    if (!ok) {
        scarp_visit_fail(visit, "block %u is in state %u with %u pages written",
                         index, block->state, block->written);
    }
}

/* ---- Lists ---------------------------------------------------------------- */

/* A member of a list: a block of plane p in this state, named once. */
static uint32_t visit_member(ScarpDrive *drive, uint32_t p, uint32_t index,
                             BlockState state, uint8_t *seen, uint8_t mark,
                             ScarpVisit *visit)
{
    uint32_t first = p * (uint32_t)drive->d.blocks_per_plane;

    scarp_visit_u32(visit, "a list's block", &index, first,
                    first + drive->d.blocks_per_plane - 1);
    if (visit->loading && !visit->problem) {
        if (scarp_block(drive, index)->state != state || seen[index] & mark) {
            scarp_visit_fail(visit, "block %u is in a list of state %d, or "
                             "twice", index, state);
        }
        seen[index] |= mark;
    }
    return index;
}

static void visit_free(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                       ScarpVisit *visit)
{
    ScarpPlane *plane = &drive->plane[p];
    uint32_t n = plane->n_free, at = plane->free.head;

    /* The last one is GC's, and at rest GC has given it back. */
    scarp_visit_u32(visit, "free blocks of a plane", &n, 1,
                    drive->d.blocks_per_plane);
    if (visit->loading) {
        scarp_blocks_forget(drive, p);
    }
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        uint32_t index = visit_member(drive, p, at, BLOCK_FREE, seen, 1, visit);

        if (!visit->loading) {
            at = drive->link[at].next;
        } else if (!visit->problem) {
            scarp_blocks_add_free(drive, index);
        }
    }
}

static void visit_full(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                       ScarpVisit *visit)
{
    ScarpPlane *plane = &drive->plane[p];
    uint32_t n = plane->n_full, at = plane->full_head, valid = 0;

    scarp_visit_u32(visit, "full blocks of a plane", &n, 0,
                    drive->d.blocks_per_plane);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        uint32_t index = visit_member(drive, p, at, BLOCK_FULL, seen, 2, visit);

        if (!visit->loading) {
            at = drive->block_rest[at].full_next;
        } else if (!visit->problem) {
            scarp_blocks_add_full(drive, index);
        }
    }
    /* Those with the same number of valid units have an order of their own. */
    at = SCARP_NONE;
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        uint32_t index;

        while (!visit->loading && at == SCARP_NONE) {
            at = plane->bucket[valid++].head;
        }
        index = visit_member(drive, p, at, BLOCK_FULL, seen, 4, visit);
        if (!visit->loading) {
            at = drive->link[at].next;
        } else if (!visit->problem) {
            scarp_blocks_add_candidate(drive, index);
        }
    }
}

static void visit_active(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                         ScarpVisit *visit)
{
    ScarpPlane *plane = &drive->plane[p];

    for (int i = 0; i < ACTIVE__COUNT && !visit->problem; i++) {
        bool open = plane->active[i] != SCARP_NONE;
        uint32_t index;

        scarp_visit_bool(visit, "an active block", &open);
        if (!open) {
            continue;
        }
        index = visit_member(drive, p, plane->active[i], BLOCK_ACTIVE, seen, 8,
                             visit);
        if (visit->loading && !visit->problem) {
            plane->active[i] = index;
            if (i >= ACTIVE_HOST &&
                scarp_block(drive, index)->stream != i - ACTIVE_HOST) {
                scarp_visit_fail(visit, "block %u is of another stream", index);
            }
        }
    }
}

/* Every block is where its state says. */
static void check_members(ScarpDrive *drive, uint32_t p, const uint8_t *seen,
                          ScarpVisit *visit)
{
    static const uint8_t marks[] = {
        [BLOCK_FREE] = 1, [BLOCK_FULL] = 2 | 4, [BLOCK_ACTIVE] = 8,
        [BLOCK_BAD] = 0, [BLOCK_VICTIM] = 0,
    };
    uint32_t blocks = drive->d.blocks_per_plane;

    for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
        if (seen[b] != marks[scarp_block(drive, b)->state]) {
            scarp_visit_fail(visit, "block %u of state %u is in no list", b,
                             scarp_block(drive, b)->state);
        }
        if (scarp_block(drive, b)->state == BLOCK_BAD) {
            scarp_blocks_add_bad(drive, b);
        }
    }
    if (!scarp_blocks_suffice(drive, p)) {
        scarp_visit_fail(visit, "plane %u has %u bad blocks, which leave too "
                         "few for gc.trigger_free_blocks=%" G_GUINT64_FORMAT,
                         p, drive->plane[p].n_bad,
                         drive->d.trigger_free_blocks);
    }
}

void image_visit_state(ScarpDrive *drive, ScarpVisit *visit)
{
    g_autofree uint8_t *seen = g_malloc0(drive->n_blocks);

    visit_drive(drive, visit);
    for (uint32_t b = 0; b < drive->n_blocks && !visit->problem; b++) {
        visit_block(drive, b, visit);
    }
    for (uint32_t p = 0; p < drive->n_planes && !visit->problem; p++) {
        visit_free(drive, p, seen, visit);
        visit_full(drive, p, seen, visit);
        visit_active(drive, p, seen, visit);
        if (visit->loading && !visit->problem) {
            check_members(drive, p, seen, visit);
        }
    }
}

/* ---- Policies ------------------------------------------------------------- */

/* The drive's policy of this name, with these parameters; or NULL. */
static const ScarpPolicy *same_policy(const ScarpDrive *drive,
                                      const char *name, const uint64_t *param,
                                      uint32_t n_params)
{
    const ScarpPolicy *policy[AXIS__COUNT];

    scarp_scheme_policies(&drive->scheme, policy);
    for (int axis = 0; axis < AXIS__COUNT; axis++) {
        if (!strcmp(policy[axis]->name, name) &&
            policy[axis]->n_params == n_params &&
            !memcmp(drive->scheme.param[axis], param,
                    n_params * sizeof(*param))) {
            return policy[axis];
        }
    }
    return NULL;
}

enum { NAME_BYTES = 32, MAX_PARAMS = 64 };

static void save_policy(ScarpDrive *drive, const ScarpPolicy *policy,
                        ScarpVisit *visit)
{
    ScarpVisit inner = { .out = g_byte_array_new() };
    uint32_t n_params = policy->n_params, n;
    char name[NAME_BYTES] = { 0 };

    g_strlcpy(name, policy->name, sizeof(name));
    g_byte_array_append(visit->out, (const guint8 *)name, sizeof(name));
    scarp_visit_u32(visit, "parameters", &n_params, 0, MAX_PARAMS);
    scarp_visit_u64s(visit, "a parameter", drive->scheme.param[policy->axis],
                     n_params);
    if (policy->persist) {
        policy->persist(drive, drive->scheme.state[policy->axis], &inner);
    }
    n = inner.out->len;
    scarp_visit_u32(visit, "a state's length", &n, 0, UINT32_MAX);
    g_byte_array_append(visit->out, inner.out->data, n);
    g_byte_array_free(inner.out, true);
}

static void load_policy(ScarpDrive *drive, ScarpVisit *visit)
{
    const ScarpPolicy *policy;
    ScarpVisit inner = { .loading = true };
    uint64_t param[MAX_PARAMS];
    uint32_t n_params = 0, n = 0;
    char name[NAME_BYTES];

    for (int i = 0; i < NAME_BYTES; i++) {
        scarp_visit_u8(visit, "a policy's name", (uint8_t *)&name[i], 0,
                       i == NAME_BYTES - 1 ? 0 : UINT8_MAX);
    }
    scarp_visit_u32(visit, "parameters", &n_params, 0, MAX_PARAMS);
    scarp_visit_u64s(visit, "a parameter", param, n_params);
    scarp_visit_u32(visit, "a state's length", &n, 0, UINT32_MAX);
    if (n > visit->left) {
        scarp_visit_fail(visit, "a state's length is %u", n);
    }
    if (visit->problem) {
        return;
    }
    inner.in = visit->in;
    inner.left = n;
    visit->in += n;
    visit->left -= n;
    policy = same_policy(drive, name, param, n_params);
    if (!policy) {
        return; /* what another scheme remembered is of no use to this one */
    }
    if (policy->persist) {
        policy->persist(drive, drive->scheme.state[policy->axis], &inner);
    }
    if (!inner.problem && inner.left) {
        scarp_visit_fail(&inner, "its state is too long");
    }
    if (inner.problem) {
        scarp_visit_fail(visit, "%s: %s", policy->name, inner.problem);
        g_free(inner.problem);
    }
}

void image_visit_scheme(ScarpDrive *drive, ScarpVisit *visit)
{
    const ScarpPolicy *policy[AXIS__COUNT];
    uint32_t n = AXIS__COUNT;

    scarp_visit_u32(visit, "policies", &n, 0, 64);
    scarp_scheme_policies(&drive->scheme, policy);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        if (visit->loading) {
            load_policy(drive, visit);
        } else {
            save_policy(drive, policy[i], visit);
        }
    }
}
