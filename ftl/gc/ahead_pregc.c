/*
 * PreGC (pregc §4): while the system is idle and few blocks are free, valid
 * pages of the next victim move one at a time, before the victim must be
 * collected.
 *
 * Choices where the paper is open:
 * - The paper says that migration proceeds while the victim's share of valid
 *   pages is below T_page, and also that migration is to leave a few pages.
 *   With T_page = 10 % and victims of which a fourth is valid (30.6 of 128
 *   pages in Table 4, on average), migration would never proceed by the first
 *   statement. Here migration proceeds while the share is above T_page.
 * - below=1 takes the first statement as it is printed: only victims with less
 *   than T_page valid are prepared, until no page in them is valid. Four of
 *   Table 5's traces have such victims.
 * - T_block is a share of the blocks of each plane, as the GC threshold is. By
 *   the paper's text, PreGC prepares one block, the greedy victim, and then
 *   stops. This policy does so, too. In steady state a plane has as many free
 *   blocks as GC's threshold, or one more, so every T_block above that number
 *   has the same effect, although the paper's Figure 12 shows different ones.
 * - look_ahead=1 is another reading, in which T_block does matter: a full block
 *   of which at most T_page is valid counts as free, PreGC goes on to the next
 *   block, and stops when the share T_block of the blocks is, or counts as,
 *   free.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

enum {
    PREGC_T_BLOCK, PREGC_T_PAGE, PREGC_LOOKAHEAD, PREGC_BELOW
};

typedef struct {
    uint32_t next_die; /* the die that moves the next page */
    uint32_t tried;    /* dies without work since the last host command */
    uint64_t steps;    /* pages moved in this idle time */
    uint32_t plane;    /* the plane of the last step */
    bool began;
} PreGc;

/*
 * True when the next page may move: no command is in the device, and the last
 * page has moved. If units are smaller than pages, moved pages may be half
 * empty, and moving them may free nothing. So in one idle time no more pages
 * move than the share T_block of the drive's blocks contains.
 */
static bool may_step(const ScarpDrive *drive, const PreGc *pregc)
{
    uint64_t t_block = drive->scheme.param[AXIS_AHEAD][PREGC_T_BLOCK];

    scarp_mark_if(drive, premigration_exhausted,
                  pregc->steps * 1000 >= t_block * drive->geo.n_blocks *
                                             drive->desc.pages_per_block);
    return !scarp_in_device(drive) &&
           pregc->steps * 1000 <
               t_block * drive->geo.n_blocks * drive->desc.pages_per_block &&
           !(pregc->began && scarp_gc_runs(drive, pregc->plane));
}

/*
 * Returns the block whose pages move next, or SCARP_NONE. With look_ahead=1,
 * *prepared is then the number of full blocks with at most T_page valid units.
 * Otherwise *prepared is 0.
 */
static uint32_t next_victim(const ScarpDrive *drive, uint32_t p,
                            uint32_t *prepared)
{
    uint64_t t_page = drive->scheme.param[AXIS_AHEAD][PREGC_T_PAGE];
    uint32_t least = t_page * drive->geo.units_per_block / 1000, victim, valid;

    if (drive->scheme.param[AXIS_AHEAD][PREGC_BELOW]) {
        *prepared = 0;
        if (!scarp_victim_least(drive, p, &victim, 1)) {
            return SCARP_NONE;
        }
        valid = scarp_block_valid(drive, victim);
        return valid && (uint64_t)valid * 1000 <
                            t_page * drive->geo.units_per_block
                   ? victim : SCARP_NONE;
    }
    if (drive->scheme.param[AXIS_AHEAD][PREGC_LOOKAHEAD]) {
        return scarp_victim_above(drive, p, least, prepared);
    }
    *prepared = 0;
    return scarp_victim_least(drive, p, &victim, 1) &&
                   scarp_block_valid(drive, victim) > least
               ? victim : SCARP_NONE;
}

/*
 * Returns the block of the plane whose pages move next, or SCARP_NONE. Sets
 * *ready to the number of free blocks. With look_ahead=1, full blocks with at
 * most T_page valid units are counted in *ready, too.
 */
static uint32_t look(const ScarpDrive *drive, uint32_t p, uint32_t *ready)
{
    uint64_t t_block = drive->scheme.param[AXIS_AHEAD][PREGC_T_BLOCK];
    uint32_t victim = next_victim(drive, p, ready);

    scarp_mark_if(drive, premigration_went_on, *ready && victim != SCARP_NONE);
    *ready += scarp_plane_free_blocks(drive, p);
    if ((uint64_t)*ready * 1000 >= t_block * drive->desc.blocks_per_plane ||
        scarp_plane_spare_blocks(drive, p) < 2 || scarp_gc_runs(drive, p)) {
        return SCARP_NONE;
    }
    return victim;
}

/*
 * Moves one page. Of the die's planes with a page to move, it takes the plane
 * for which look() counts the fewest ready blocks: free blocks, and with
 * look_ahead=1 full blocks with few valid units. Returns false if no plane has
 * a page to move.
 */
static bool step(ScarpDrive *drive, PreGc *pregc, uint32_t die)
{
    uint32_t n = drive->desc.planes_per_die, least = UINT32_MAX;
    uint32_t plane = 0, victim = SCARP_NONE;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        uint32_t ready, v = look(drive, p, &ready);

        if (v != SCARP_NONE && ready < least) {
            plane = p;
            victim = v;
            least = ready;
        }
    }
    if (victim == SCARP_NONE) {
        return false;
    }
    scarp_gc_premigrate(drive, plane, victim);
    pregc->plane = plane;
    pregc->began = true;
    pregc->steps++;
    return true;
}

static void idle(ScarpDrive *drive, uint32_t die)
{
    PreGc *pregc = drive->scheme.state[AXIS_AHEAD];

    if (!may_step(drive, pregc) || pregc->tried >= drive->geo.n_dies) {
        return;
    }
    if (die == pregc->next_die) {
        pregc->next_die = (die + 1) % drive->geo.n_dies;
        if (step(drive, pregc, die)) {
            pregc->tried = 0;
            return;
        }
        pregc->tried++;
        scarp_mark_if(drive, nothing_to_premigrate,
                      pregc->tried == drive->geo.n_dies);
    }
    scarp_nand_kick(drive, pregc->next_die);
}

static void host_cmd(ScarpDrive *drive, const ScarpCmd *cmd G_GNUC_UNUSED)
{
    PreGc *pregc = drive->scheme.state[AXIS_AHEAD];

    pregc->tried = 0;
    pregc->steps = 0;
    if (!scarp_in_device(drive)) {
        scarp_nand_kick(drive, pregc->next_die);
    }
}

static void persist(ScarpDrive *drive, void *state, ScarpVisit *visit)
{
    PreGc *pregc = state;

    scarp_visit_u32(visit, "next_die", &pregc->next_die, 0,
                    drive->geo.n_dies - 1);
    scarp_visit_u32(visit, "tried", &pregc->tried, 0, drive->geo.n_dies);
    scarp_visit_u64(visit, "steps", &pregc->steps, 0, INT64_MAX);
    scarp_visit_u32(visit, "plane", &pregc->plane, 0, drive->geo.n_planes - 1);
    scarp_visit_bool(visit, "began", &pregc->began);
}

static bool init(ScarpDrive *drive G_GNUC_UNUSED, ScarpScheme *scheme,
                 GError **error)
{
    const uint64_t *param = scheme->param[AXIS_AHEAD];

    if (param[PREGC_BELOW] && param[PREGC_LOOKAHEAD]) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "scheme=pregc: below=1 and look_ahead=1: only one of them "
                    "is allowed");
        return false;
    }
    return true;
}

static const ScarpParam params[] = {
    [PREGC_T_BLOCK] = { "t_block", "permille of blocks",
                        "migrate when fewer are free", 1, 1000, 110 },
    [PREGC_T_PAGE] = { "t_page", "permille of a block",
                       "valid units to leave in the victim", 0, 1000, 100 },
    [PREGC_LOOKAHEAD] = { "look_ahead", "switch",
                           "blocks within t_page count as free, and the next "
                           "one follows", 0, 1, 0 },
    [PREGC_BELOW] = { "below", "switch",
                      "1: migrate while fewer than t_page are valid, as "
                      "printed", 0, 1, 0 },
};

const ScarpAheadOps scarp_ahead_pregc = {
    .policy = {
        .axis = AXIS_AHEAD,
        .name = "pregc",
        .needs = NEEDS_TIME | NEEDS_ANY_PAGE | NEEDS_NO_UNITS,
        .help = "valid pages of the next victim move in idle time, one by one",
        .source = "pregc section 4.2",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
        .state_size = sizeof(PreGc),
        .init = init,
        .persist = persist,
    },
    .idle = idle,
    .host_cmd = host_cmd,
};
