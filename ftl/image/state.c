/*
 * The parts of an image beside the mapping: single values, the record of each
 * block, the order of each list of blocks, and the states of the scheme's
 * policies.
 *
 * A list of blocks is saved as its members in order, and is built anew when it
 * is loaded, so that a damaged image cannot make a list without an end.
 *
 * Times in an image count from the moment when the drive was new. A drive that
 * starts from the image has a clock that begins at 0, and adds the image's age.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/internal.h"

#include <string.h>

/* 146 years. The sum of two such times does not overflow. */
#define MAX_LIFE_NS (INT64_MAX / 2)

/*
 * Adds to the layout text what a drive with an SLC cache must have in common
 * with its image. Static blocks cannot be taken from, or given to, blocks with
 * data. A drive with a dynamic cache may start from an image without a cache.
 */
static void add_cache_class(const ScarpDescription *d, bool cached,
                            GString *text)
{
    if (!scarp_has_slc(d) || (!cached && !d->slc_static_blocks)) {
        return;
    }
    g_string_append_printf(text, "slc.static_blocks=%" G_GUINT64_FORMAT
                           "\nslc.dynamic=%" G_GUINT64_FORMAT "\n",
                           d->slc_static_blocks, d->slc_dynamic);
    if (!d->power_cuts) {
        g_string_append_printf(text, "nand.cell_bits=%" G_GUINT64_FORMAT "\n",
                               d->cell_bits);
    }
}

char *image_layout_text(const ScarpDrive *drive, bool cached)
{
    const ScarpDescription *d = &drive->desc;
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
        { "ftl.unit_bytes", drive->geo.unit_bytes },
        { "ftl.recovery", d->recovery },
        { "ftl.over_provisioning_permille", d->over_provisioning_permille },
        { "ftl.parity_width", d->parity_width },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(key); i++) {
        g_string_append_printf(text, "%s=%" G_GUINT64_FORMAT "\n",
                               key[i].name, key[i].value);
    }
    if (d->power_cuts) {
        /*
         * nand.power_cuts, paired_pages and cell_bits decide which pages of the
         * same cells may be programmed in a drive at rest.
         */
        g_string_append_printf(text, "nand.power_cuts=1\nftl.paired_pages=%"
                               G_GUINT64_FORMAT "\nnand.cell_bits=%"
                               G_GUINT64_FORMAT "\n", d->paired_pages,
                               d->cell_bits);
    }
    add_cache_class(d, cached, text);
    image_add_units_class(d, text);
    if (d->checkpoint_pages) {
        g_string_append(text, "ftl.checkpoint_pages, not 0\n");
    }
    scarp_map_add_class(drive, text);
    /*
     * Translation units, stripes and pages of reclaim units lie in the planes
     * that ftl.allocation gives them, so the image's drive must have the same
     * ftl.allocation. The default, cwdp, is left out.
     */
    if ((scarp_map_keeps_order(drive) || d->parity_width ||
         scarp_has_units(d)) &&
        strcmp(scarp_order_letters(d), "cwdp")) {
        g_string_append_printf(text, "ftl.allocation=%s\n",
                               scarp_order_letters(d));
    }
    return g_string_free(text, false);
}

/* ---- Drive and blocks --------------------------------------------------- */

static void visit_drive(ScarpDrive *drive, ScarpVisit *visit)
{
    uint64_t life_ns = scarp_life_ns(drive), seed = scarp_seed(drive);
    uint64_t random = scarp_policy_random_state(drive);
    uint64_t next_seq = scarp_seq_count(drive);
    uint64_t next_block_seq = scarp_media_next_seq(drive);
    uint32_t next_plane = scarp_alloc_turn(drive);

    scarp_visit_u64(visit, "life_ns", &life_ns, 0, MAX_LIFE_NS);
    scarp_visit_u64(visit, "next_seq", &next_seq, 0, INT64_MAX);
    scarp_visit_u64(visit, "next_block_seq", &next_block_seq, 0, INT64_MAX);
    scarp_visit_u64(visit, "seed", &seed, 0, UINT64_MAX);
    scarp_visit_u64(visit, "random", &random, 1, UINT64_MAX);
    scarp_visit_u32(visit, "next_plane", &next_plane, 0,
                    drive->geo.n_planes - 1);
    if (visit->loading) {
        scarp_core_load(drive, life_ns, next_seq, seed, random);
        scarp_media_load_next_seq(drive, next_block_seq);
        scarp_alloc_load_turn(drive, next_plane);
    }
}

/* Returns the last state, by number, that a block of the drive may have. */
static uint8_t last_state(const ScarpDrive *drive)
{
    return scarp_map_can(drive, MAP_OWNS_BLOCKS) ? BLOCK_OWNED
           : scarp_blocks_cached(drive)          ? BLOCK_CACHE
           : drive->geo.translation_blocks       ? BLOCK_TRANSLATION
                                                 : BLOCK_BAD;
}

/*
 * True when a block of a drive at rest may be in this state with `written`
 * pages. The mode of its cells has been loaded already.
 */
static bool is_fit(const ScarpDrive *drive, uint32_t index,
                   ScarpBlockState state, uint32_t written)
{
    uint32_t pages = scarp_block_pages(drive, index);
    ScarpCellMode mode = scarp_media_mode(drive, index);

    if (scarp_map_can(drive, MAP_OWNS_BLOCKS) && state != BLOCK_FREE &&
        state != BLOCK_BAD && state != BLOCK_OWNED) {
        return false;
    }
    switch (state) {
    case BLOCK_ACTIVE: /* image_visit_units() knows the pages of its unit */
        return scarp_has_units(&drive->desc) || (written && written < pages);
    case BLOCK_FULL: /* such a block may have been closed early */
        return written && mode == MODE_REAL;
    case BLOCK_OWNED:
        return written && scarp_map_can(drive, MAP_OWNS_BLOCKS);
    case BLOCK_TRANSLATION:
        return drive->geo.translation_blocks && mode == MODE_REAL &&
               (written == pages || (written && scarp_media_keeps(drive)));
    case BLOCK_CACHE:
        return mode != MODE_REAL && written == pages;
    case BLOCK_FREE:
        return !written && mode != MODE_SLC;
    case BLOCK_BAD:
        return !written && mode == MODE_REAL;
    default:
        return false;
    }
}

static void visit_block(ScarpDrive *drive, uint32_t index, ScarpVisit *visit)
{
    int64_t past_ns = scarp_past_ns(drive);
    uint64_t modified_ns = scarp_block_modified_ns(drive, index) + past_ns;
    uint64_t seq = scarp_media_seq(drive, index);
    uint32_t pages = drive->desc.pages_per_block;
    uint32_t written = scarp_block_written(drive, index);
    uint32_t erases = scarp_media_erases(drive, index);
    uint8_t state = scarp_block_state(drive, index);
    uint8_t origin = scarp_media_origin(drive, index);
    uint8_t stream = scarp_media_stream(drive, index);

    scarp_visit_u8(visit, "a block's state", &state, BLOCK_FREE,
                   last_state(drive));
    scarp_visit_u8(visit, "a block's origin", &origin, SCARP_ORIGIN_HOST,
                   SCARP_ORIGIN_PREMIGRATE);
    scarp_visit_u8(visit, "a block's stream", &stream, 0,
                   scarp_most_streams(&drive->desc) - 1);
    scarp_visit_u32(visit, "a block's written pages", &written, 0, pages);
    scarp_visit_u32(visit, "a block's erases", &erases, 0, UINT32_MAX - 1);
    scarp_visit_u64(visit, "a block's modified_ns", &modified_ns, 0,
                    visit->loading ? (uint64_t)past_ns : MAX_LIFE_NS);
    scarp_visit_u64(visit, "a block's seq", &seq, 0,
                    scarp_media_next_seq(drive));
    if (!visit->loading) {
        return;
    }
    if (!is_fit(drive, index, state, written)) {
        scarp_visit_fail(visit, "block %u is in state %u with %u pages written",
                         index, state, written);
    }
    scarp_block_load(drive, index, state, written,
                     (int64_t)modified_ns - past_ns);
    /* all written pages count as programmed, as no program is under way */
    scarp_media_load_block(drive, index, origin, stream, erases, seq, written);
}

/* ---- Lists --------------------------------------------------------------- */

uint32_t image_visit_member(ScarpDrive *drive, uint32_t p, uint32_t index,
                            ScarpBlockState state, uint8_t *seen, uint8_t mark,
                            ScarpVisit *visit)
{
    uint32_t first = p * (uint32_t)drive->desc.blocks_per_plane;

    scarp_visit_u32(visit, "a list's block", &index, first,
                    first + drive->desc.blocks_per_plane - 1);
    if (visit->loading && !visit->problem) {
        if (scarp_block_state(drive, index) != state || seen[index] & mark) {
            scarp_visit_fail(visit, "block %u is in a list of state %d, or "
                             "twice", index, state);
        }
        seen[index] |= mark;
    }
    return index;
}

void image_visit_list(ScarpDrive *drive, uint32_t p, const ImageList *list,
                      uint8_t *seen, ScarpVisit *visit)
{
    uint32_t n = list->n, at = list->first;

    scarp_visit_u32(visit, list->name, &n, list->least, list->most);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        uint32_t index = image_visit_member(drive, p, at, list->state, seen,
                                            list->mark, visit);

        if (!visit->loading) {
            at = list->next(drive, at);
        } else if (!visit->problem &&
                   scarp_media_mode(drive, index) != list->mode) {
            scarp_visit_fail(visit, "block %u of mode %d is in a list of mode "
                             "%d", index, scarp_media_mode(drive, index),
                             list->mode);
        } else if (!visit->problem) {
            list->add(drive, index);
        }
    }
}

void image_visit_buckets(ScarpDrive *drive, uint32_t p, uint32_t n,
                         uint8_t *seen, uint8_t mark, ScarpVisit *visit)
{
    uint32_t at = SCARP_NONE, valid = 0;

    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        uint32_t index;

        while (!visit->loading && at == SCARP_NONE) {
            at = scarp_bucket_first(drive, p, valid++);
        }
        index = image_visit_member(drive, p, at, BLOCK_FULL, seen, mark, visit);
        if (!visit->loading) {
            at = scarp_bucket_next(drive, at);
        } else if (!visit->problem) {
            scarp_blocks_add_candidate(drive, index);
        }
    }
}

uint32_t image_visit_open(ScarpDrive *drive, uint32_t p, uint32_t index,
                          uint8_t *seen, uint8_t mark, ScarpVisit *visit)
{
    bool open = index != SCARP_NONE;

    scarp_visit_bool(visit, "an open block", &open);
    return open && !visit->problem
               ? image_visit_member(drive, p, index, BLOCK_ACTIVE, seen, mark,
                                    visit)
               : SCARP_NONE;
}

static void visit_free(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                       ScarpVisit *visit)
{
    /*
     * a plane at rest has at least the last free block, which it keeps for GC
     */
    const ImageList list = {
        .name = "free blocks of a plane",
        .least = 1, .most = drive->desc.blocks_per_plane,
        .state = BLOCK_FREE, .mode = MODE_REAL, .mark = 1,
        .n = scarp_plane_erased_blocks(drive, p),
        .first = scarp_blocks_first_free(drive, p),
        .next = scarp_blocks_next_free, .add = scarp_blocks_add_free,
    };

    if (visit->loading) {
        scarp_blocks_forget(drive, p);
    }
    image_visit_list(drive, p, &list, seen, visit);
}

static void visit_full(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                       ScarpVisit *visit)
{
    const ImageList list = {
        .name = "full blocks of a plane", .most = drive->desc.blocks_per_plane,
        .state = BLOCK_FULL, .mode = MODE_REAL, .mark = 2,
        .n = scarp_plane_full_blocks(drive, p),
        .first = scarp_plane_oldest_full(drive, p),
        .next = scarp_blocks_next_full, .add = scarp_blocks_add_full,
    };

    image_visit_list(drive, p, &list, seen, visit);
    image_visit_buckets(drive, p, scarp_plane_full_blocks(drive, p), seen, 4,
                        visit);
}

static void visit_active(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                         ScarpVisit *visit)
{
    for (int i = 0; i < WRITE__COUNT && !visit->problem; i++) {
        uint32_t index = image_visit_open(drive, p,
                                          scarp_blocks_active(drive, p, i),
                                          seen, 8, visit);

        if (index == SCARP_NONE || !visit->loading || visit->problem) {
            continue;
        }
        scarp_blocks_add_active(drive, p, i, index);
        if (i >= WRITE_HOST &&
            (int)scarp_media_stream(drive, index) != i - WRITE_HOST) {
            scarp_visit_fail(visit, "block %u is of another stream", index);
        }
    }
}

/*
 * Checks that a block is marked for translation units (pieces of the mapping)
 * if and only if it has only such units.
 */
static void check_translation(ScarpDrive *drive, uint32_t p, uint32_t b,
                              ScarpVisit *visit)
{
    ScarpBlockState state = scarp_block_state(drive, b);
    bool open = b == scarp_blocks_active(drive, p,
                                         WRITE_HOST + SCARP_MAP_STREAM);
    bool is = drive->geo.translation_blocks &&
              (state == BLOCK_TRANSLATION || open);

    if (state == BLOCK_FREE || state == BLOCK_BAD ||
        !drive->geo.translation_blocks) {
        return;
    }
    if (is != scarp_block_is_translation(drive, b) ||
        (state == BLOCK_TRANSLATION &&
         !scarp_blocks_add_translation(drive, b))) {
        scarp_visit_fail(visit, "block %u of state %u and origin %d", b, state,
                         scarp_media_origin(drive, b));
    }
}

/*
 * Checks that every block is in the lists for its state, and in no other list.
 */
static void check_members(ScarpDrive *drive, uint32_t p, const uint8_t *seen,
                          ScarpVisit *visit)
{
    static const uint8_t marks[] = {
        [BLOCK_FREE] = 1, [BLOCK_FULL] = 2 | 4, [BLOCK_ACTIVE] = 8,
        [BLOCK_BAD] = 0, [BLOCK_VICTIM] = 0, [BLOCK_TRANSLATION] = 0,
        [BLOCK_OWNED] = 0, [BLOCK_APART] = 0, [BLOCK_CACHE] = 0,
    };
    uint32_t blocks = drive->desc.blocks_per_plane;

    for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
        check_translation(drive, p, b, visit);
        /* lists of the SLC cache are in a section of their own */
        if (seen[b] != (scarp_media_mode(drive, b) == MODE_REAL
                            ? marks[scarp_block_state(drive, b)] : 0)) {
            scarp_visit_fail(visit, "block %u of state %u is in no list", b,
                             scarp_block_state(drive, b));
        }
        if (scarp_block_state(drive, b) == BLOCK_BAD) {
            scarp_blocks_add_bad(drive, b);
        }
    }
    if (scarp_plane_translation_blocks(drive, p) >
        drive->geo.translation_blocks) { /* the open block counts, too */
        scarp_visit_fail(visit, "plane %u has %u blocks of translation units; "
                         "at most %u are allowed", p,
                         scarp_plane_translation_blocks(drive, p),
                         drive->geo.translation_blocks);
    }
    if (scarp_plane_erased_blocks(drive, p) +
            scarp_plane_translation_blocks(drive, p) <=
        drive->geo.translation_blocks) {
        scarp_visit_fail(visit, "plane %u has too few free blocks", p);
    }
    if (!scarp_blocks_suffice(drive, p)) {
        scarp_visit_fail(visit, "plane %u has %u bad blocks, which leave too "
                         "few for gc.trigger_free_blocks=%" G_GUINT64_FORMAT,
                         p, scarp_plane_bad_blocks(drive, p),
                         drive->desc.trigger_free_blocks);
    }
}

void image_visit_state(ScarpDrive *drive, ScarpVisit *visit)
{
    g_autofree uint8_t *seen = g_malloc0(drive->geo.n_blocks);
    bool units = scarp_has_units(&drive->desc);

    visit_drive(drive, visit);
    for (uint32_t b = 0; b < drive->geo.n_blocks && !visit->problem; b++) {
        visit_block(drive, b, visit);
    }
    for (uint32_t p = 0; p < drive->geo.n_planes && !visit->problem; p++) {
        visit_free(drive, p, seen, visit);
        if (units) {
            continue;
        }
        visit_full(drive, p, seen, visit);
        visit_active(drive, p, seen, visit);
        if (visit->loading && !visit->problem) {
            check_members(drive, p, seen, visit);
        }
    }
    if (units && !visit->problem) {
        image_visit_units(drive, seen, visit);
    }
    for (uint32_t p = 0; units && visit->loading && p < drive->geo.n_planes &&
                         !visit->problem; p++) {
        check_members(drive, p, seen, visit);
    }
    if (!visit->problem) {
        scarp_map_visit(drive, visit);
    }
}

/* ---- Policies ------------------------------------------------------------ */

/*
 * Returns the drive's policy with this name and these parameters, or NULL if
 * the drive has no such policy.
 */
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
    scarp_mark_if(drive, other_policy_loaded, !policy);
    if (!policy) {
        return; /* the state of another scheme's policy is of no use */
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
