/*
 * Generated workloads: one generator, with presets of its parameters under a
 * name.
 *
 * Sizes are uniform from 1 to 2 * mean - 1, in units of `align` bytes. The mean
 * is rounded up or down at random, so that the average size is exactly the
 * mean. Gaps between requests are uniform from 0 to twice the mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "random.h"
#include "trace.h"

#include <string.h>

/*
 * Ranks in the Zipf table. Each rank stands for an equal part of the footprint.
 */
#define MAX_RANKS 65536

typedef struct {
    uint64_t requests;
    uint64_t write;      /* permille of requests that are writes */
    uint64_t size;       /* mean bytes of a write */
    uint64_t read_size;  /* mean bytes of a read */
    uint64_t iops;       /* mean rate; 0: no gaps, for a closed loop */
    uint64_t theta;      /* Zipf's exponent in permille; 0: uniform */
    uint64_t hot;        /* permille of the footprint that is hot */
    uint64_t hot_share;  /* permille of the requests that go to the hot part */
    uint64_t sequential; /* permille of requests that follow the last */
    uint64_t trim;       /* permille of the requests */
    uint64_t flush;      /* permille of the requests */
    uint64_t footprint;  /* permille of the drive that is addressed */
    uint64_t burst;      /* requests between pauses; 0: no pauses */
    uint64_t idle_us;    /* mean pause */
    uint64_t burst_write; /* permille of writes in a burst; 0: as `write` */
    uint64_t align;      /* offsets and sizes are multiples of this */
    uint64_t streams;    /* streams of the writes: stream_of() */
    uint64_t deadline_us; /* of each request; 0: none */
    uint64_t urgent;     /* permille of reads with the deadline urgent_us */
    uint64_t urgent_us;  /* deadline of these reads, in us */
    uint64_t seed;
} GenParams;

typedef struct {
    const char *name;
    const char *help;
    GenParams p;
} Preset;

#define DEFAULTS .requests = 100000, .footprint = 900, .align = 4096, \
    .streams = 1
/*
 * hpdc18 Table 2 gives the ratio and the mean size of writes, and nothing else.
 * In a sample of hm_0, 89 % of the reads and 80 % of the writes are whole 4 KiB
 * blocks, as file systems make them, and 93 % begin at a block. So all requests
 * of these presets are whole blocks.
 */
#define HPDC18(name, ratio, bytes) \
    { name, "stand-in of MSR " name ", hpdc18 Table 2", \
      { DEFAULTS, .write = ratio, .size = bytes, \
        .read_size = 8192, .iops = 2000, .theta = 900 } }
/*
 * pregc Table 2 gives reads, writes and the mean interval. The paper's scheme
 * needs bursts with idle times between them. The lengths of bursts and idle
 * times are chosen here: 200 requests at 4000/s, and a pause that makes the
 * mean interval that of the table. Sizes are those of hpdc18 for traces that
 * hpdc18 has.
 */
#define PREGC(name, ratio, bytes, interval_us) \
    { "pregc-" name, "stand-in of " name ", pregc Table 2", \
      { DEFAULTS, .write = ratio, .size = bytes, \
        .read_size = 8192, .iops = 4000, .theta = 900, .burst = 200, \
        .idle_us = 200ull * (interval_us - 250) } }

/*
 * The paper paragc names its traces, and prints no figures of them. For the MSR
 * volumes (proj_4 to mds_1) the shares of writes are known from other sources.
 * The share of proj_4 agrees with the paper, which counts 6,369,774 requests:
 * as many as the reads of that volume. The shares of the VDI traces are not
 * known. They are chosen to differ, so that the five names are five workloads.
 * Sizes are chosen, too; sizes for the VDI traces follow a sample of these
 * traces.
 */
#define PARAGC(name, ratio, bytes, read_bytes, skew) \
    { "paragc-" name, "for " name " of paragc, which prints no figures of it", \
      { DEFAULTS, .write = ratio, .size = bytes, \
        .read_size = read_bytes, .iops = 2000, .theta = skew, \
        .sequential = 200 } }

static const Preset presets[] = {
    { "uniform", "4 KiB random writes",
      { DEFAULTS, .write = 1000, .size = 4096, .read_size = 4096 } },
    { "zipf", "4 KiB random, half of it writes, skewed",
      { DEFAULTS, .write = 500, .size = 4096, .read_size = 4096,
        .theta = 990 } },
    { "hot-cold", "4 KiB random writes, 80 % to 20 % of the drive",
      { DEFAULTS, .write = 1000, .size = 4096, .read_size = 4096, .hot = 200,
        .hot_share = 800 } },
    { "sequential", "64 KiB sequential writes",
      { DEFAULTS, .write = 1000, .size = 65536, .read_size = 65536,
        .sequential = 1000 } },
    { "mixed", "4 to 28 KiB, reads, writes, trims and flushes",
      { DEFAULTS, .write = 500, .size = 16384, .read_size = 16384,
        .theta = 900, .sequential = 200, .trim = 20, .flush = 5 } },
    { "bursty", "bursts of 4 KiB requests with idle times",
      { DEFAULTS, .write = 700, .size = 4096, .read_size = 4096,
        .theta = 900, .iops = 20000, .burst = 500, .idle_us = 100000 } },
    HPDC18("hm_0", 645, 7578),     HPDC18("prxy_0", 969, 8499),
    HPDC18("mds_0", 881, 24269),   HPDC18("src2_0", 887, 8294),
    HPDC18("stg_0", 848, 25498),   HPDC18("ts_0", 824, 8602),
    HPDC18("wdev_0", 799, 12902),  HPDC18("rsrch_0", 907, 11162),
    HPDC18("prn_0", 892, 23347),   HPDC18("proj_0", 875, 18227),
    HPDC18("src1_2", 746, 19558),  HPDC18("usr_0", 596, 41882),
    HPDC18("web_0", 701, 30618),
    /*
     * Two figures of the table are misprints: the mean interval of usr0 (27 s),
     * and the share of reads of mds1 (93 %, or 9 % by the table's counts). The
     * presets use the mean interval of the other traces, and the share as
     * printed.
     */
    PREGC("usr0", 596, 41882, 40000),   PREGC("src0", 887, 8294, 44863),
    PREGC("ts0", 824, 8602, 38800),     PREGC("rsrch0", 907, 11162, 42186),
    PREGC("fiu_web", 986, 4096, 105357), PREGC("mds1", 70, 8192, 36646),
    /* pregc shows results for hm0 and wdev0, but its table lacks them */
    PREGC("hm0", 645, 7578, 40000),     PREGC("wdev0", 799, 12902, 40000),
    PARAGC("proj_4", 15, 16384, 32768, 900),
    PARAGC("src1_1", 47, 32768, 32768, 900),
    PARAGC("stg_1", 363, 16384, 32768, 900),
    PARAGC("mds_1", 71, 16384, 32768, 900),
    PARAGC("vdi_1", 200, 16384, 45056, 900),
    PARAGC("vdi_2", 300, 16384, 45056, 950),
    PARAGC("vdi_3", 400, 16384, 45056, 800),
    PARAGC("vdi_4", 500, 16384, 45056, 900),
    PARAGC("vdi_5", 600, 16384, 45056, 850),
};

static const struct {
    const char *name;
    size_t offset;
    uint64_t min, max;
    const char *help;
} keys[] = {
#define KEY(name, min, max, help) { #name, offsetof(GenParams, name), min, max, \
                                    help }
    KEY(requests, 1, 1ull << 40, "requests in all"),
    KEY(write, 0, 1000, "permille of requests"),
    KEY(size, 512, 1 << 24, "mean bytes of a write"),
    KEY(read_size, 512, 1 << 24, "mean bytes of a read"),
    KEY(iops, 0, 100000000, "mean rate; 0: all at once"),
    KEY(theta, 0, 3000, "Zipf exponent in permille; 0: uniform"),
    KEY(hot, 0, 1000, "permille of the footprint that is hot"),
    KEY(hot_share, 0, 1000, "permille of requests to the hot part"),
    KEY(sequential, 0, 1000, "permille of requests that go on from the last"),
    KEY(trim, 0, 1000, "permille of requests"),
    KEY(flush, 0, 1000, "permille of requests"),
    KEY(footprint, 1, 1000, "permille of the drive"),
    KEY(burst, 0, 1ull << 32, "requests between pauses; 0: no pauses"),
    KEY(idle_us, 0, 1ull << 40, "mean pause, microseconds"),
    KEY(burst_write, 0, 1000, "permille of writes in bursts; the other reads "
        "come in the pauses; 0: no difference"),
    KEY(align, 512, 1 << 20, "bytes"),
    KEY(streams, 1, 255, "of the drive, by where a write goes: "
        "the hotter the higher, or equal parts of the footprint"),
    KEY(deadline_us, 0, TRACE_DEADLINE_MAX_US,
        "of each request, from its submission on; 0: none"),
    KEY(urgent, 0, 1000, "permille of reads with the deadline urgent_us"),
    KEY(urgent_us, 0, TRACE_DEADLINE_MAX_US,
        "deadline of such a read; 0: there are none"),
    KEY(seed, 0, G_MAXUINT64, "of this generator"),
};

typedef struct {
    Workload base;
    GenParams p;
    Zipf zipf;
    uint8_t *stream; /* [place of a rank]; NULL: one stream, or no ranks */
    uint64_t units;  /* units of align bytes in the footprint */
    uint64_t random;
    /* for the draw of urgent reads alone, so that it changes no request */
    uint64_t random_urgent;
    uint64_t sent;
    int64_t now_ns;
    uint64_t in_phase;  /* requests left in the burst or the pause */
    bool pausing;       /* true in a pause, in which only reads come */
    int64_t gap_ns;     /* gap between the reads of a pause */
    uint64_t next_unit; /* where a sequential request begins */
} Generator;

static uint64_t draw(Generator *gen)
{
    return scarp_random(&gen->random);
}

static uint64_t below(Generator *gen, uint64_t n)
{
    return (unsigned __int128)draw(gen) * n >> 64;
}

static uint64_t draw_units(Generator *gen, uint64_t mean_bytes)
{
    uint64_t align = gen->p.align;
    uint64_t mean = MAX(mean_bytes, align) / align;

    mean += below(gen, align) < MAX(mean_bytes, align) % align;
    return 1 + below(gen, 2 * mean - 1);
}

/*
 * Returns the place of a rank. The odd factor spreads hot parts all over the
 * drive. It gives each rank a place of its own if n is a power of two, which is
 * true of all but small drives.
 */
static uint32_t place_of(const Zipf *zipf, uint64_t rank)
{
    return rank * 40503 % zipf->n;
}

static uint64_t hot_units(const Generator *gen)
{
    return MAX(1, gen->units * gen->p.hot / 1000);
}

static uint64_t draw_place(Generator *gen)
{
    const GenParams *p = &gen->p;

    if (p->theta) {
        uint64_t part = gen->units / gen->zipf.n;
        uint32_t rank = zipf_rank(&gen->zipf, draw(gen));

        return place_of(&gen->zipf, rank) * part + below(gen, MAX(part, 1));
    }
    if (p->hot) {
        uint64_t hot = hot_units(gen);

        if (below(gen, 1000) < p->hot_share || hot == gen->units) {
            return below(gen, hot);
        }
        return hot + below(gen, gen->units - hot);
    }
    return below(gen, gen->units);
}

/*
 * Returns the stream of an address, which is always the same for an address.
 * With a Zipf distribution each stream gets an equal share of the requests.
 */
static uint16_t stream_of(const Generator *gen, uint64_t unit)
{
    const GenParams *p = &gen->p;

    if (p->streams == 1) {
        return 0;
    }
    if (gen->stream) {
        uint64_t part = unit / (gen->units / gen->zipf.n);

        return gen->stream[MIN(part, gen->zipf.n - 1)];
    }
    if (p->hot) {
        return unit < hot_units(gen);
    }
    return unit * p->streams / gen->units;
}

static void rank_streams(Generator *gen)
{
    const Zipf *zipf = &gen->zipf;
    uint64_t all = zipf->cumulative[zipf->n - 1];

    gen->stream = g_new0(uint8_t, zipf->n);
    /*
     * ranks may share a place: the hottest rank comes last, so it sets the
     * stream
     */
    for (uint32_t rank = zipf->n; rank-- > 0;) {
        uint64_t hotter = rank ? zipf->cumulative[rank - 1] : 0;
        uint64_t class = (unsigned __int128)hotter * gen->p.streams / all;

        gen->stream[place_of(zipf, rank)] = gen->p.streams - 1 - class;
    }
}

/*
 * Begins the next burst or the next pause. Writes come in bursts, and most
 * reads come in pauses, as behind a cache. A pause has so many reads that a
 * burst and a pause together have the share `write` of writes. The reads of a
 * pause are at even distances.
 */
static void draw_phase(Generator *gen)
{
    const GenParams *p = &gen->p;
    uint64_t pause_ns = below(gen, 2 * p->idle_us + 1) * 1000;
    uint64_t reads_milli = p->burst * 1000 * (p->burst_write - p->write) /
                           p->write;

    gen->pausing = !gen->pausing;
    if (!gen->pausing) {
        gen->in_phase = p->burst;
        gen->now_ns += gen->gap_ns;
        return;
    }
    gen->in_phase = reads_milli / 1000 +
                    (below(gen, 1000) < reads_milli % 1000);
    gen->gap_ns = pause_ns / (gen->in_phase + 1);
    if (!gen->in_phase) {
        draw_phase(gen);
    }
}

static void draw_time(Generator *gen)
{
    const GenParams *p = &gen->p;

    if (p->burst_write) {
        if (!gen->in_phase) {
            draw_phase(gen);
        }
        gen->in_phase--;
        if (gen->pausing) {
            gen->now_ns += gen->gap_ns;
            return;
        }
    }
    if (p->iops) {
        gen->now_ns += below(gen, 2 * 1000000000ull / p->iops + 1);
    }
    if (p->burst && !p->burst_write && gen->sent &&
        !(gen->sent % p->burst)) {
        gen->now_ns += below(gen, 2 * p->idle_us + 1) * 1000;
    }
}

static bool is_write(Generator *gen)
{
    const GenParams *p = &gen->p;

    return !gen->pausing &&
           below(gen, 1000) < (p->burst_write ? p->burst_write : p->write);
}

static int64_t deadline_ns(Generator *gen, ScarpOp op)
{
    const GenParams *p = &gen->p;

    if (op == SCARP_OP_READ && p->urgent &&
        (unsigned __int128)scarp_random(&gen->random_urgent) * 1000 >> 64 <
            p->urgent) {
        return p->urgent_us * 1000;
    }
    return p->deadline_us * 1000;
}

static bool gen_next(Workload *self, TraceRecord *record,
                     GError **error G_GNUC_UNUSED)
{
    Generator *gen = (Generator *)self;
    const GenParams *p = &gen->p;
    uint64_t kind = below(gen, 1000), units, at;

    if (gen->sent == p->requests) {
        return false;
    }
    draw_time(gen);
    memset(record, 0, sizeof(*record));
    record->time_ns = gen->now_ns;
    gen->sent++;
    self->permille_done = gen->sent * 1000 / p->requests;
    if (kind < p->flush) {
        record->op = SCARP_OP_FLUSH;
        record->deadline_ns = deadline_ns(gen, record->op);
        return true;
    }
    record->op = kind < p->flush + p->trim ? SCARP_OP_DEALLOCATE
                 : is_write(gen) ? SCARP_OP_WRITE : SCARP_OP_READ;
    units = MIN(gen->units, draw_units(gen, record->op == SCARP_OP_READ
                                                ? p->read_size : p->size));
    at = below(gen, 1000) < p->sequential ? gen->next_unit : draw_place(gen);
    if (at + units > gen->units) {
        at = at >= gen->units ? 0 : gen->units - units;
    }
    gen->next_unit = at + units >= gen->units ? 0 : at + units;
    if (record->op == SCARP_OP_WRITE) {
        record->stream = stream_of(gen, at);
    }
    record->deadline_ns = deadline_ns(gen, record->op);
    record->offset_bytes = at * p->align;
    record->length_bytes = units * p->align;
    return true;
}

static void gen_free(Workload *self)
{
    Generator *gen = (Generator *)self;

    zipf_clear(&gen->zipf);
    g_free(gen->stream);
    g_free(gen);
}

static bool set_key(GenParams *p, const char *text, GError **error)
{
    g_auto(GStrv) pair = g_strsplit(text, "=", 2);
    g_autoptr(GString) allowed = g_string_new(NULL);

    for (size_t i = 0; pair[0] && pair[1] && i < G_N_ELEMENTS(keys); i++) {
        if (!strcmp(keys[i].name, pair[0])) {
            guint64 value;

            if (!g_ascii_string_to_unsigned(pair[1], 10, keys[i].min,
                                            keys[i].max, &value, NULL)) {
                g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                            "gen: %s: must be a whole number from %"
                            G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, text,
                            keys[i].min, keys[i].max);
                return false;
            }
            *(uint64_t *)((char *)p + keys[i].offset) = value;
            return true;
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_string_append_printf(allowed, "%s%s", i ? ", " : "", keys[i].name);
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "gen: '%s' must be key=value, with a key of: %s", text,
                allowed->str);
    return false;
}

Workload *gen_new(const char *text, uint64_t drive_bytes, uint64_t seed,
                  GError **error)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    g_autoptr(GString) allowed = g_string_new(NULL);
    Generator *gen = NULL;

    for (size_t i = 0; items[0] && i < G_N_ELEMENTS(presets); i++) {
        g_string_append_printf(allowed, "%s%s", i ? ", " : "", presets[i].name);
        if (!strcmp(presets[i].name, items[0])) {
            gen = g_new0(Generator, 1);
            gen->p = presets[i].p;
            break;
        }
    }
    if (!gen) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "gen:%s: unknown; allowed: %s", text, allowed->str);
        return NULL;
    }
    gen->base.next = gen_next;
    gen->base.free = gen_free;
    gen->base.format = "generator";
    gen->base.permille_done = -1;
    gen->p.seed = seed;
    for (char **item = items + 1; *item; item++) {
        if (!set_key(&gen->p, *item, error)) {
            gen_free(&gen->base);
            return NULL;
        }
    }
    if (gen->p.burst_write &&
        (gen->p.burst_write < gen->p.write || !gen->p.burst || !gen->p.write ||
         gen->p.burst > 1ull << 40)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "gen:%s: burst_write must be 0 or at least write, with a "
                    "burst and a write of at least 1", text);
        gen_free(&gen->base);
        return NULL;
    }
    if (gen->p.streams > 2 && gen->p.hot && !gen->p.theta) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "gen:%s: streams must be 1 or 2 with hot: a hot part and "
                    "a cold one", text);
        gen_free(&gen->base);
        return NULL;
    }
    if (!gen->p.urgent != !gen->p.urgent_us) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "gen:%s: urgent and urgent_us need each other: a share of "
                    "the reads, and their deadline", text);
        gen_free(&gen->base);
        return NULL;
    }
    gen->units = drive_bytes / 1000 * gen->p.footprint / gen->p.align;
    if (gen->p.align % 512 || gen->p.flush + gen->p.trim > 1000 ||
        gen->units < 64) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "gen:%s: align must be a multiple of 512, flush + trim at "
                    "most 1000, and the footprint at least 64 units of align",
                    text);
        gen_free(&gen->base);
        return NULL;
    }
    /* draw_phase() turns this first pause into a burst before any request */
    gen->pausing = gen->p.burst_write != 0;
    gen->random = gen->random_urgent = gen->p.seed * 2 + 1;
    /* Sixteen draws let the random numbers of neighbouring seeds diverge. */
    for (int i = 0; i < 16; i++) {
        draw(gen);
    }
    if (gen->p.theta) {
        zipf_init(&gen->zipf, MIN(gen->units, MAX_RANKS), gen->p.theta);
        if (gen->p.streams > 1) {
            rank_streams(gen);
        }
    }
    return &gen->base;
}

char *gen_text(void)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(presets); i++) {
        g_string_append_printf(text, "gen:%s: %s\n", presets[i].name,
                               presets[i].help);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_string_append_printf(text, "    %s (%" G_GUINT64_FORMAT " to %"
                               G_GUINT64_FORMAT "): %s\n", keys[i].name,
                               keys[i].min, keys[i].max, keys[i].help);
    }
    return g_string_free(text, false);
}
