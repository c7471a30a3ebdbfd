/*
 * ParaGC (paragc §III): Algorithm 1 decides how many pages of a victim go to
 * each channel, by the channels' service rates. Algorithm 2 chooses these pages
 * by their hotness.
 *
 * Choices where the paper is open:
 * - The search starts from an even spread of the pages over the channels.
 * - D is the time for which the paper expects reads to be suspended. The search
 *   goes on only while a move of a page makes D smaller. With ties=1 it also
 *   makes moves that leave D equal, as the paper's printed test does: it ends
 *   the search at u < 0, where u is the amount by which D falls.
 * - If the victim's own channel has the lowest read rate, D is least when every
 *   page stays there, and then nothing is copied in parallel, as in the paper's
 *   baseline. Only the limit of iterations keeps pages spread in this case. The
 *   default of that limit is the middle of the range 1 to 1,024, which was
 *   swept (docs/papers/paragc.md).
 *
 * A channel writes its share in one of its planes, t_i = v_i T (equation 4).
 * The planes take turns, victim by victim.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

#include <string.h>

enum { MAX_CHANNELS = 64, RING_SLOTS = 16, SKETCH_ROWS = 5 };
enum { START_EVEN, START_OWN, START_RANDOM };
enum {
    PARAM_ITERATIONS, PARAM_SLOT_US, PARAM_WIDTH, PARAM_HOT, PARAM_DECAY,
    PARAM_START, PARAM_TIES
};

typedef struct {
    /* bytes that the host read in each slot of time */
    uint64_t bytes[RING_SLOTS];
    /* number of each slot, counted since the drive was new */
    int64_t slot[RING_SLOTS];
} Ring;

typedef struct {
    Ring ring[MAX_CHANNELS];
    uint16_t *sketch;    /* [SKETCH_ROWS][width]: counters as last written */
    uint32_t *halved; /* [SKETCH_ROWS][width]: `halvings` at that write */
    uint32_t halvings;   /* number of halvings so far */
    uint64_t reads;      /* reads since the last halving */
    uint8_t *channel_of; /* [plane][unit of its victim]: target channel */
} ParaGc;

static uint32_t channel_of_plane(const ScarpDrive *drive, uint32_t p)
{
    return scarp_die_channel(drive, scarp_plane_die(drive, p));
}

/* ---- Hotness: a count-min sketch -------------------------------------- */

static uint32_t bucket(const ScarpDrive *drive, uint32_t lpn, uint32_t row)
{
    uint64_t width = drive->scheme.param[AXIS_PLACEMENT][PARAM_WIDTH];
    uint64_t hash = (lpn + 1) * 0x9e3779b97f4a7c15ull +
                    row * 0xd1b54a32d192ed03ull;

    hash ^= hash >> 32;
    hash *= 0xbf58476d1ce4e5b9ull;
    hash ^= hash >> 29;
    return row * width + ((unsigned __int128)hash * width >> 64);
}

/*
 * Returns a counter's present value, with its overdue halvings. Halving all
 * counters at each halving would cost too much, as their number and the rate of
 * halvings are parameters: a single read might halve 80 million counters.
 */
static uint16_t counter_now(const ParaGc *s, uint64_t at)
{
    return s->sketch[at] >> MIN(s->halvings - s->halved[at], 16u);
}

/* Applies the overdue halvings to all counters. A counter of 0 stays 0. */
static void settle(const ScarpDrive *drive, ParaGc *s)
{
    uint64_t width = drive->scheme.param[AXIS_PLACEMENT][PARAM_WIDTH];

    for (uint64_t i = 0; s->halvings && i < SKETCH_ROWS * width; i++) {
        if (s->sketch[i]) {
            s->sketch[i] = counter_now(s, i);
            s->halved[i] = 0;
        }
    }
    s->halvings = 0;
}

static uint32_t estimate(const ScarpDrive *drive, const ParaGc *s, uint32_t lpn)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t row = 0; row < SKETCH_ROWS; row++) {
        least = MIN(least, counter_now(s, bucket(drive, lpn, row)));
    }
    return least;
}

static void count_unit(ScarpDrive *drive, ParaGc *s, uint32_t lpn)
{
    for (uint32_t row = 0; row < SKETCH_ROWS; row++) {
        uint32_t at = bucket(drive, lpn, row);
        uint16_t reads = counter_now(s, at);

        s->sketch[at] = reads + (reads < UINT16_MAX);
        s->halved[at] = s->halvings;
    }
}

/* Counts each unit of a read, because collections move units. */
static void count_read(ScarpDrive *drive, ParaGc *s, const ScarpFlashCmd *read)
{
    for (uint32_t i = 0; i < scarp_flash_n_units(read); i++) {
        count_unit(drive, s, scarp_flash_lpn(read) + i);
    }
    if (++s->reads >= drive->scheme.param[AXIS_PLACEMENT][PARAM_DECAY]) {
        scarp_mark(drive, hotness_halved);
        s->reads = 0;
        if (s->halvings == UINT32_MAX) {
            settle(drive, s);
        }
        s->halvings++;
    }
}

/* ---- Service rates ----------------------------------------------------- */

static int64_t slot_now(const ScarpDrive *drive)
{
    return scarp_life_ns(drive) /
           (int64_t)(drive->scheme.param[AXIS_PLACEMENT][PARAM_SLOT_US] * 1000);
}

/* True for a read of the host's data, the only data that a placement moves. */
static bool is_host_read(const ScarpFlashCmd *cmd)
{
    return scarp_flash_kind(cmd) == SCARP_FLASH_READ &&
           !scarp_flash_is_gc(cmd) && scarp_flash_owner(cmd) != OWNER_MAP;
}

static void flash_done(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    ParaGc *s = drive->scheme.state[AXIS_PLACEMENT];
    Ring *ring = &s->ring[channel_of_plane(drive, scarp_flash_plane(cmd))];
    int64_t now = slot_now(drive);

    if (!is_host_read(cmd)) {
        return;
    }
    if (ring->slot[now % RING_SLOTS] != now) {
        ring->slot[now % RING_SLOTS] = now;
        ring->bytes[now % RING_SLOTS] = 0;
    }
    ring->bytes[now % RING_SLOTS] += scarp_flash_bytes(cmd);
    count_read(drive, s, cmd);
}

static uint64_t service_rate(const ScarpDrive *drive, const Ring *ring)
{
    int64_t now = slot_now(drive);
    uint64_t sum = 0;

    for (int i = 0; i < RING_SLOTS; i++) {
        sum += ring->slot[i] > now - RING_SLOTS ? ring->bytes[i] : 0;
    }
    return sum;
}

/* ---- Algorithm 1: the number of pages for each channel ----------------- */

/*
 * Returns D, the time for which the paper expects reads to be suspended
 * (equation 2), in units of a page's time T. s[] has the channels' service
 * rates, and v[] the number of pages that each channel gets.
 */
static uint64_t suspended(const uint64_t *s, const uint32_t *v, uint32_t n,
                          uint32_t own)
{
    uint64_t d = 0;
    uint32_t most = 0;

    for (uint32_t i = 0; i < n; i++) {
        d += i == own ? 0 : s[i] * v[i];
        most = MAX(most, v[i]);
    }
    return d + s[own] * most;
}

/*
 * Implements line 1 of Algorithm 1, "Generate an arrangement". The paper does
 * not say how; the parameter `start` does.
 */
static void first_arrangement(ScarpDrive *drive, uint32_t own, uint32_t pages,
                              uint32_t *v)
{
    uint64_t start = drive->scheme.param[AXIS_PLACEMENT][PARAM_START];
    uint32_t n = drive->desc.channels;

    for (uint32_t i = 0; i < n; i++) {
        v[(own + i) % n] = start == START_EVEN ? pages / n + (i < pages % n)
                           : start == START_OWN && !i ? pages : 0;
    }
    for (uint32_t i = 0; start == START_RANDOM && i < pages; i++) {
        v[(unsigned __int128)scarp_policy_random(drive) * n >> 64]++;
    }
}

static void arrange(ScarpDrive *drive, const uint64_t *s, uint32_t own,
                    uint32_t pages, uint32_t *v)
{
    uint64_t limit = drive->scheme.param[AXIS_PLACEMENT][PARAM_ITERATIONS];
    uint64_t ties = drive->scheme.param[AXIS_PLACEMENT][PARAM_TIES];
    uint32_t n = drive->desc.channels;

    first_arrangement(drive, own, pages, v);
    for (uint64_t round = 0; round < limit; round++) {
        uint64_t best = suspended(s, v, n, own) + ties;
        uint32_t from = n, to = n;

        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; v[i] && j < n; j++) {
                uint64_t d;

                if (i == j) {
                    continue;
                }
                v[i]--;
                v[j]++;
                d = suspended(s, v, n, own);
                v[i]++;
                v[j]--;
                if (d < best) {
                    best = d;
                    from = i;
                    to = j;
                }
            }
        }
        if (from == n) {
            return;
        }
        scarp_mark(drive, share_left_busy_channel);
        v[from]--;
        v[to]++;
    }
}

/* ---- Algorithm 2: the pages for each channel --------------------------- */

static void gc_start(ScarpDrive *drive, ScarpGcJob *gc)
{
    ParaGc *s = drive->scheme.state[AXIS_PLACEMENT];
    uint64_t hot = drive->scheme.param[AXIS_PLACEMENT][PARAM_HOT];
    uint8_t *channel_of = s->channel_of +
                          (size_t)gc->plane * drive->geo.units_per_block;
    uint32_t n = drive->desc.channels, own = channel_of_plane(drive, gc->plane);
    uint32_t v[MAX_CHANNELS], order[MAX_CHANNELS], at = 0;
    uint64_t rate[MAX_CHANNELS];

    for (uint32_t c = 0; c < n; c++) {
        uint32_t i = c;

        rate[c] = service_rate(drive, &s->ring[c]);
        /*
         * Sorts the channels by rate, the lowest first. Insertion sort is
         * enough for a few channels.
         */
        for (; i && rate[order[i - 1]] > rate[c]; i--) {
            order[i] = order[i - 1];
        }
        order[i] = c;
    }
    arrange(drive, rate, own, scarp_block_valid(drive, gc->victim), v);
    /*
     * Hot units come first, and get the channels with the lowest rates. All
     * other units follow. Both groups are in the order of the block.
     */
    for (int group = 1; group >= 0; group--) {
        for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
            uint32_t ppn = gc->victim * drive->geo.units_per_block + i;

            if (!scarp_unit_is_valid(drive, ppn) ||
                (estimate(drive, s, scarp_media_lpn(drive, ppn)) >= hot) !=
                    group) {
                continue;
            }
            while (at + 1 < n && !v[order[at]]) {
                at++;
            }
            v[order[at]] -= v[order[at]] > 0;
            scarp_mark_if(drive, hot_unit_placed, group == 1);
            channel_of[i] = order[at];
        }
    }
}

static uint32_t plane(ScarpDrive *drive, const ScarpGcJob *gc, uint32_t lpn)
{
    const ParaGc *s = drive->scheme.state[AXIS_PLACEMENT];
    uint32_t unit = scarp_map_lookup(drive, lpn) % drive->geo.units_per_block;
    uint32_t c = s->channel_of[(size_t)gc->plane * drive->geo.units_per_block +
                               unit];

    return scarp_place_or_next(drive, gc,
                               scarp_place_plane_of(drive, gc, c));
}

static bool init(ScarpDrive *drive, ScarpScheme *scheme, GError **error)
{
    ParaGc *s = scheme->state[AXIS_PLACEMENT];
    uint64_t width = scheme->param[AXIS_PLACEMENT][PARAM_WIDTH];

    if (drive->desc.channels > MAX_CHANNELS) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "scheme=paragc: geometry.channels=%" G_GUINT64_FORMAT
                    ": at most %d are allowed", drive->desc.channels,
                    MAX_CHANNELS);
        return false;
    }
    s->sketch = g_new0(uint16_t, SKETCH_ROWS * width);
    s->halved = g_new0(uint32_t, SKETCH_ROWS * width);
    s->channel_of = g_malloc0((size_t)drive->geo.n_planes *
                              drive->geo.units_per_block);
    for (int c = 0; c < MAX_CHANNELS; c++) {
        for (int i = 0; i < RING_SLOTS; i++) {
            s->ring[c].slot[i] = INT64_MIN;
        }
    }
    return true;
}

static void clear(ScarpDrive *drive G_GNUC_UNUSED, void *state)
{
    ParaGc *s = state;

    g_free(s->sketch);
    g_free(s->halved);
    g_free(s->channel_of);
}

/*
 * Saves or loads the state except channel_of[], as a drive at rest has no
 * victim.
 */
static void persist(ScarpDrive *drive, void *state, ScarpVisit *visit)
{
    ParaGc *s = state;

    for (uint32_t c = 0; c < drive->desc.channels; c++) {
        scarp_visit_u64s(visit, "bytes", s->ring[c].bytes, RING_SLOTS);
        scarp_visit_u64s(visit, "slot", (uint64_t *)s->ring[c].slot,
                         RING_SLOTS);
    }
    settle(drive, s);
    scarp_visit_u64(visit, "reads", &s->reads, 0, INT64_MAX);
    scarp_visit_u16s(visit, "sketch", s->sketch,
                     SKETCH_ROWS *
                         drive->scheme.param[AXIS_PLACEMENT][PARAM_WIDTH]);
}

static const ScarpParam params[] = {
    [PARAM_ITERATIONS] = { "iterations", "rounds",
                           "limit of Algorithm 1 (lambda)", 0, 100000, 32 },
    [PARAM_SLOT_US] = { "slot", "us", "a slot of the service-rate rings, of 16",
                        1, 1000000000, 100000 },
    /*
     * Five rows of 24412 counters of 2 bytes are the 238.4 KB of the paper's
     * §III-B.
     */
    [PARAM_WIDTH] = { "width", "counters", "of each of the sketch's five rows",
                      16, 1 << 24, 24412 },
    [PARAM_HOT] = { "hot", "reads", "estimate from which a page is hot", 1,
                    65535, 2 },
    [PARAM_DECAY] = { "decay", "reads", "after which counters are halved", 1,
                      1ull << 40, 100000 },
    [PARAM_START] = { "start", "choice",
                      "Algorithm 1 starts from: 0 an even spread, 1 all on "
                      "the victim's channel, 2 a random spread", START_EVEN,
                      START_RANDOM, START_EVEN },
    [PARAM_TIES] = { "ties", "switch",
                     "1: Algorithm 1 makes moves that leave D as it is, too",
                     0, 1, 0 },
};

const ScarpPlaceOps scarp_place_paragc = {
    .policy = {
        .axis = AXIS_PLACEMENT,
        .name = "paragc",
        .needs = NEEDS_CHANNELS | NEEDS_TIME | NEEDS_NO_PARITY |
                 NEEDS_ANY_PAGE | NEEDS_NO_UNITS,
        .help = "relocated pages go to channels by service rate and hotness",
        .source = "paragc section III, Algorithms 1 and 2",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
        .state_size = sizeof(ParaGc),
        .init = init,
        .clear = clear,
        .persist = persist,
    },
    .window = UINT32_MAX, /* the whole victim is read into RAM first */
    .plane = plane,
    .gc_start = gc_start,
    .flash_done = flash_done,
};
