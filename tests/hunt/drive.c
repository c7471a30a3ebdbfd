/*
 * Which drive a scenario has: small and odd, and one that is accepted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "draw.h"
#include "meta.h"
#include "scenario.h"
#include "schemes.h"
#include "themes.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TRIES 3000
#define TRIES_OF_THEME 200
#define TRIES_OF_SCHEME 8
#define MOST_SPARE 10000 /* ftl.over_provisioning_permille */

typedef struct {
    Draw *draw;
    Scenario *s;
    const Theme *theme; /* or NULL */
    unsigned often; /* percent of the features that are in use */
} Maker;

static void set(Maker *m, const char *key, uint64_t value)
{
    g_ptr_array_add(m->s->keys, g_strdup_printf("%s=%" G_GUINT64_FORMAT, key,
                                                value));
}

static void set_text(Maker *m, const char *key, const char *value)
{
    g_ptr_array_add(m->s->keys, g_strdup_printf("%s=%s", key, value));
}

static bool some(Maker *m)
{
    return draw_chance(m->draw, m->often);
}

typedef struct {
    const char *mapping;
    uint64_t channels, chips, dies, planes, blocks, pages, page_bytes, units;
    bool demand, logs; /* kinds of mapping */
} Shape;

static uint64_t planes_of(const Shape *x)
{
    return x->channels * x->chips * x->dies * x->planes;
}

/* Small, so that 200 of them run in a second, and 10 with every law. */
static void draw_shape(Maker *m, Shape *x)
{
    Draw *d = m->draw;
    const Theme *theme = m->theme ? m->theme : &(Theme) { 0 };
    uint64_t most_units = draw_chance(d, 3)
        ? 16384 : DRAW_OF(d, 128, 256, 256, 256, 512, 512, 512, 1024, 1024,
                          2048);

    most_units = theme->most_units ? theme->most_units
                                   : MAX(most_units, 128 * theme->units);

    do {
        x->channels = DRAW_OF(d, 1, 1, 2, 2, 3, 4);
        x->chips = DRAW_OF(d, 1, 1, 1, 2, 3);
        x->dies = DRAW_OF(d, 1, 1, 1, 2, 3);
        x->planes = DRAW_OF(d, 1, 1, 2, 2, 3, 4);
        x->blocks = DRAW_OF(d, 4, 5, 6, 7, 8, 9, 12, 16, 24, 29, 31, 48, 64,
                            150);
        x->pages = DRAW_OF(d, 2, 2, 3, 4, 4, 5, 8, 8, 16, 31, 64);
        x->page_bytes = DRAW_OF(d, 512, 512, 1024, 1024, 2048, 4096, 16384,
                                32768);
        x->units = 1;
        if (!x->logs && (some(m) || draw_chance(d, 25))) {
            x->units = 1ull << draw_below(d, 7);
        }
        x->units = theme->units ? theme->units : x->units;
        x->page_bytes = MAX(x->page_bytes, 512 * theme->units);
        x->units = MIN(x->units, x->page_bytes / 512);
    } while (x->planes < theme->planes || x->blocks < theme->blocks ||
             x->pages < theme->pages ||
             x->channels * x->chips * x->dies < theme->dies ||
             planes_of(x) * x->blocks * x->pages * x->units <
                 theme->least_units ||
             planes_of(x) * x->blocks * x->pages * x->units > most_units ||
             planes_of(x) * x->blocks * x->pages < 24 ||
             planes_of(x) * x->blocks * x->pages * x->page_bytes >
                 MAX(4194304, theme->most_units * 512));
    set(m, "geometry.channels", x->channels);
    set(m, "geometry.chips_per_channel", x->chips);
    set(m, "geometry.dies_per_chip", x->dies);
    set(m, "geometry.planes_per_die", x->planes);
    set(m, "geometry.blocks_per_plane", x->blocks);
    set(m, "geometry.pages_per_block", x->pages);
    set(m, "geometry.page_bytes", x->page_bytes);
    if (x->units > 1) {
        set(m, "ftl.unit_bytes", x->page_bytes / x->units);
    }
}

/* One value, or one of each page type. */
static void draw_list(Maker *m, const char *key, uint64_t cells, uint64_t most)
{
    g_autoptr(GString) text = g_string_new(NULL);
    uint64_t n = draw_chance(m->draw, 50) ? cells : 1;

    for (uint64_t i = 0; i < n; i++) {
        g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, i ? ";" : "",
                               draw_scale(m->draw, 1, most));
    }
    set_text(m, key, text->str);
}

static void draw_nand(Maker *m)
{
    Draw *d = m->draw;
    static const char *const switches[] = {
        "nand.multiplane", "nand.cache", "nand.copyback",
        "nand.suspend_program", "nand.suspend_erase",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(switches); i++) {
        if (some(m)) {
            set(m, switches[i], 1);
        }
    }
    if (some(m)) {
        set(m, "nand.suspend_limit", DRAW_OF(d, 1, 2, 1000));
        set(m, "nand.suspend_min_ns", DRAW_OF(d, 0, 1, 1000000000));
        set(m, "nand.suspend_ns", DRAW_OF(d, 0, 1, 10000000));
        set(m, "nand.resume_ns", DRAW_OF(d, 0, 1, 10000000));
    }
    if (some(m)) {
        uint64_t cells = draw_from(d, 1, 4);

        set(m, "nand.cell_bits", cells);
        draw_list(m, "timing.read_ns", cells, 1000000);
        draw_list(m, "timing.program_ns", cells, 10000000);
    }
    if (some(m)) {
        set(m, "nand.layers", DRAW_OF(d, 1, 2, 5, 4096));
        set(m, "nand.layer_fastest_permille", DRAW_OF(d, 1, 700, 10000));
        set(m, "nand.layer_slowest_permille", DRAW_OF(d, 1, 1500, 10000));
    }
    if (some(m)) {
        set(m, "timing.erase_ns", DRAW_OF(d, 0, 1, 100000, 10000000000));
    }
    if (some(m)) {
        set(m, "timing.read_ns", DRAW_OF(d, 0, 1, 1000000000));
        set(m, "timing.program_ns", DRAW_OF(d, 0, 1, 1000000000));
    }
    if (some(m)) {
        set(m, "timing.command_ns", DRAW_OF(d, 0, 1, 1000000));
        set(m, "timing.channel_mts", DRAW_OF(d, 1, 3, 100000));
    }
    if (some(m)) {
        set(m, "nand.bad_blocks_permille", DRAW_OF(d, 1, 10, 49, 100, 300,
                                                   500));
    }
    if (draw_chance(d, 5)) {
        set(m, "nand.endurance_erases", DRAW_OF(d, 1, 3, 10, 100));
    }
}

static void draw_controller(Maker *m, const Shape *x)
{
    Draw *d = m->draw;

    if (some(m)) {
        set(m, "controller.firmware_ns", DRAW_OF(d, 0, 1, 100000000));
    }
    if (some(m)) {
        set(m, "controller.link_mbs", DRAW_OF(d, 1, 7, 1000000));
    } else if (some(m)) {
        set(m, "controller.link_mbs", 0);
        set(m, "controller.pcie_generation", draw_from(d, 1, 5));
        set(m, "controller.pcie_lanes", DRAW_OF(d, 1, 4, 32));
    }
    if (some(m)) {
        set(m, "controller.deadline_idle_us", draw_scale(d, 1, 1000000000));
        set(m, "controller.deadline_low_us", draw_scale(d, 1, 1000000000));
    }
    if (some(m)) {
        set(m, "controller.slots", DRAW_OF(d, 1, 2, 3, 8, 32));
    }
    if (some(m)) {
        set(m, "controller.queue", DRAW_OF(d, 1, 2, 3, 8, 64));
    }
    if (draw_chance(d, 45)) {
        set(m, "controller.buffer_bytes",
            x->page_bytes * DRAW_OF(d, 2, 2, 3, 4, 8, 64));
    }
    if (some(m)) {
        set(m, "controller.reads_first", 0);
    }
    /* The bound for a command's age grows with it (bound.h). */
    if (draw_chance(d, 95)) {
        set(m, "controller.reads_first_limit", DRAW_OF(d, 1, 1, 2, 3, 8, 16));
    }
    if (some(m)) {
        set(m, "controller.gc_first_on_channel", 1);
    }
}

static void draw_ftl(Maker *m, const Shape *x)
{
    Draw *d = m->draw;
    uint64_t unit_bytes = x->page_bytes / x->units;
    bool parity = false;

    if (strcmp(x->mapping, "page")) {
        set_text(m, "ftl.mapping", x->mapping);
    }
    if (!x->logs && some(m)) {
        set(m, "ftl.streams", DRAW_OF(d, 2, 3, 7, 8));
    }
    if (!x->logs && !x->demand && x->units == 1 && some(m)) {
        parity = true;
        set(m, "ftl.parity_width", DRAW_OF(d, 2, 3, 4, 6));
        if (draw_chance(d, 60)) {
            set(m, "ftl.parity_stripes", DRAW_OF(d, 2, 3, 8, 16));
        }
    }
    if (some(m)) {
        set(m, "ftl.recovery", parity ? 1 : draw_from(d, 1, 2));
    }
    if (x->demand && draw_chance(d, 85)) {
        set(m, "ftl.map_cache_bytes",
            DRAW_OF(d, 128, 128, 136, 256, 1024, 2048, 4096, unit_bytes,
                    4 * unit_bytes, 16384, 1 << 20));
    }
    if (x->logs && draw_chance(d, 50)) {
        set(m, "ftl.log_blocks", DRAW_OF(d, 1, 2, 3, 8));
    }
    if (!strcmp(x->mapping, "superblock") && draw_chance(d, 50)) {
        set(m, "ftl.superblock_blocks", DRAW_OF(d, 1, 2, 3, 4, 16));
    }
    if (some(m)) {
        set_text(m, "ftl.allocation",
                 x->logs ? DRAW_TEXT(d, "cwpd", "pdwc", "wcdp", "dcwp")
                         : DRAW_TEXT(d, "dynamic", "dynamic", "cwpd", "pdwc",
                                     "wcdp", "dcwp"));
    }
}

/* Pages between two checkpoints: few, so that there are many. */
static void draw_checkpoints(Maker *m)
{
    set(m, "ftl.checkpoint_pages", DRAW_OF(m->draw, 4, 8, 16, 64, 1000));
    set(m, "ftl.recovery", 1);
}

/* What cells hold when power fails, and what is done against that. */
static void draw_power(Maker *m, const ScenarioWish *wish)
{
    Draw *d = m->draw;
    const char *cells = scenario_key(m->s, "nand.cell_bits");
    const char *buffer = scenario_key(m->s, "controller.buffer_bytes");
    bool parity = scenario_key(m->s, "ftl.parity_width");
    bool plp = buffer && (parity || draw_chance(d, 30));

    if (!draw_chance(d, 15) && !wish->cuts) {
        return;
    }
    set(m, "nand.power_cuts", 1);
    if (wish->lie) {
        g_autofree char *key = g_strconcat("lie.", wish->lie, NULL);

        set(m, key, 1);
    }
    set(m, "ftl.recovery", parity ? 1 : draw_from(d, 1, 2));
    if (plp) {
        g_autofree char *bytes = g_strdup(buffer);

        set_text(m, "controller.plp_bytes", bytes);
    }
    if (!g_strcmp0(scenario_key(m->s, "ftl.mapping"), "demand") &&
        draw_chance(d, 50)) {
        draw_checkpoints(m);
    }
    if (cells && strcmp(cells, "1")) {
        set_text(m, "ftl.paired_pages",
                 plp ? draw_chance(d, 50) ? "plp" : "backup"
                     : draw_chance(d, 50) ? "pad" : "backup");
    }
}

static void remove_keys(Scenario *s, const char *without)
{
    g_auto(GStrv) keys = g_strsplit(without, ",", -1);

    for (char **key = keys; *key; key++) {
        for (guint i = s->keys->len; i; i--) {
            if (g_str_has_prefix(s->keys->pdata[i - 1], *key)) {
                g_ptr_array_remove_index(s->keys, i - 1);
            }
        }
    }
}

/* How an earlier page of a cell survives, if power may fail. */
static void draw_slc_pairs(Maker *m, Draw *d)
{
    bool plp = scenario_key(m->s, "controller.plp_bytes") &&
               strcmp(scenario_key(m->s, "controller.plp_bytes"), "0");
    const char *pairs;

    if (g_strcmp0(scenario_key(m->s, "nand.power_cuts"), "1")) {
        return;
    }
    pairs = plp ? draw_chance(d, 50) ? "plp" : "backup"
                : draw_chance(d, 70) ? "pad" : "backup";
    set_text(m, "ftl.paired_pages", pairs);
    if (!strcmp(pairs, "pad")) {
        set(m, "gc.separate_active_block", 1);
    }
}

/* The number that the key has in the scenario. */
static uint64_t number_of(const Scenario *s, const char *key,
                          uint64_t fallback)
{
    const char *value = scenario_key(s, key);

    return value ? strtoull(value, NULL, 10) : fallback;
}

/*
 * Bits of a cell, and as many pages as whole cells have: a block has two of
 * them or more in SLC mode, as ftl.paired_pages=pad needs. Few drives have a
 * number of pages that does not fit, and are refused.
 */
static void draw_slc_cells(Maker *m, Draw *d)
{
    uint64_t bits = draw_from(d, 2, 4);
    uint64_t pages = number_of(m->s, "geometry.pages_per_block", 4);
    uint64_t cells = draw_chance(d, 10) ? 1 : 2;

    remove_keys(m->s, "nand.cell_bits=,timing.read_ns=,timing.program_ns=");
    set(m, "nand.cell_bits", bits);
    draw_list(m, "timing.read_ns", bits, 1000000);
    draw_list(m, "timing.program_ns", bits, 10000000);
    if (!draw_chance(d, 2)) {
        cells = MAX(cells, (pages + bits - 1) / bits);
        remove_keys(m->s, "geometry.pages_per_block=");
        set(m, "geometry.pages_per_block", cells * bits);
    }
}

/* Which blocks the cache has: a write that waits must find one of its stream. */
static void draw_slc_blocks(Maker *m, Draw *d)
{
    uint64_t streams = number_of(m->s, "ftl.streams", 1);
    uint64_t most = number_of(m->s, "geometry.blocks_per_plane", 16) / 3;
    uint64_t fixed = DRAW_OF(d, 0, 0, 1, 2, 3, 8), blocks;
    bool fold = draw_chance(d, 50);
    bool dynamic;

    fixed = MIN(fixed, most);
    dynamic = !fixed || (fold && fixed < streams) || draw_chance(d, 40);
    if (fixed) {
        set(m, "slc.static_blocks", fixed);
    }
    if (dynamic) {
        set(m, "slc.dynamic", 1);
        if (draw_chance(d, 40)) {
            blocks = DRAW_OF(d, 1, 2, 3, 8);
            set(m, "slc.most_blocks", fold ? MAX(blocks, streams) : blocks);
        }
    }
    if (fold) {
        set_text(m, "slc.full", "fold");
    }
    /* nothing else empties static blocks */
    if ((fixed && !fold) || draw_chance(d, 60)) {
        set(m, "slc.fold_idle_us", draw_scale(d, 1, 100000));
        if (draw_chance(d, 40)) {
            set(m, "slc.keep_blocks", DRAW_OF(d, 1, 2, 5));
        }
    }
}

/* The SLC cache, and times that tell its pages from real ones. */
static void draw_slc(Maker *m, Draw *d)
{
    draw_slc_cells(m, d);
    set(m, "timing.slc_read_ns", DRAW_OF(d, 1, 30000, 30000, 200000));
    set(m, "timing.slc_program_ns", DRAW_OF(d, 1, 200000, 200000, 3000000));
    set(m, "timing.slc_erase_ns", DRAW_OF(d, 1, 2000000, 2000000, 9000000));
    draw_slc_blocks(m, d);
    if (draw_chance(d, 40)) {
        set(m, "slc.fold_planes",
            draw_from(d, 1, number_of(m->s, "geometry.planes_per_die", 1)));
    }
    if (draw_chance(d, 15)) {
        set(m, "nand.endurance_erases", DRAW_OF(d, 1, 3, 10, 100));
    }
    if (number_of(m->s, "nand.endurance_erases", 0)) {
        set(m, "slc.endurance_erases", DRAW_OF(d, 1, 2, 5, 20, 100));
    }
    draw_slc_pairs(m, d);
}

/*
 * A temperature. Few commands make such a drive so warm that it is throttled,
 * and few milliseconds cool it.
 */
static void draw_heat(Maker *m, Draw *d)
{
    uint64_t ambient = DRAW_OF(d, 0, 25, 25, 100);
    uint64_t light = ambient + DRAW_OF(d, 6, 6, 7, 20);
    uint64_t permille = draw_scale(d, 1, 3000);

    set(m, "heat.capacity_mj", DRAW_OF(d, 1, 1, 2, 10));
    set(m, "heat.loss_ms", DRAW_OF(d, 1, 10, 100, 100, 1000000000));
    set(m, "heat.ambient_celsius", ambient);
    set(m, "heat.read_nj", draw_scale(d, 1, 1000000));
    set(m, "heat.program_nj", draw_scale(d, 1000, 10000000));
    set(m, "heat.erase_nj", draw_scale(d, 1, 100000000));
    if (draw_chance(d, 95)) {
        set(m, "heat.light_celsius", light);
        set(m, "heat.light_permille", permille);
        if (draw_chance(d, 60)) {
            set(m, "heat.heavy_celsius", light + DRAW_OF(d, 1, 1, 3, 30));
            set(m, "heat.heavy_permille", permille + DRAW_OF(d, 0, 1, 2000));
        }
    }
}

/* Stored energy, and what keeps pages from later ones of their cells. */
static void draw_units_power(Maker *m, Draw *d)
{
    const char *buffer = scenario_key(m->s, "controller.buffer_bytes");
    const char *cells = scenario_key(m->s, "nand.cell_bits");
    bool plp = buffer && draw_chance(d, 40);

    if (g_strcmp0(scenario_key(m->s, "nand.power_cuts"), "1")) {
        return;
    }
    if (plp) {
        g_autofree char *bytes = g_strdup(buffer);

        set_text(m, "controller.plp_bytes", bytes);
    }
    if (cells && strcmp(cells, "1")) {
        set_text(m, "ftl.paired_pages",
                 plp && draw_chance(d, 50) ? "plp" : "backup");
    }
}

/* Reclaim units of some of the drive's planes, or of all. */
static void draw_units(Maker *m, Draw *d, const Shape *x)
{
    uint64_t dies = x->channels * x->chips * x->dies, n;
    const char *streams = scenario_key(m->s, "ftl.streams");

    do {
        n = draw_from(d, 1, dies);
    } while (dies % n);
    set(m, "ftl.reclaim_planes", n * x->planes);
    if (n < dies || draw_chance(d, 50)) {
        set(m, "controller.buffer_bytes",
            x->page_bytes * DRAW_OF(d, 2, 2, 3, 8, 64));
    }
    n = streams ? strtoull(streams, NULL, 10) : 1;
    if (!streams && draw_chance(d, 40)) {
        n = DRAW_OF(d, 2, 3, 8);
        set(m, "ftl.streams", n);
    }
    if (draw_chance(d, 50)) {
        set(m, "ftl.isolated_streams", draw_from(d, 1, n));
    }
    draw_units_power(m, d);
}

static void draw_gc(Maker *m, const Shape *x)
{
    Draw *d = m->draw;
    uint64_t trigger = DRAW_OF(d, 1, 1, 1, 2, 3, 6);

    set(m, "gc.trigger_free_blocks", trigger);
    if (some(m)) {
        set(m, "gc.separate_active_block", 0);
    }
    if (some(m)) {
        set(m, "gc.victim_candidates", DRAW_OF(d, 1, 2, 64));
    }
    if (some(m)) {
        set(m, "gc.background_free_blocks",
            trigger + DRAW_OF(d, 1, 1, 2, 6, 100));
    }
    if (!x->logs && some(m)) {
        set(m, "gc.wear_spread_erases", DRAW_OF(d, 1, 2, 10));
    }
    if (some(m)) {
        set(m, "gc.after_reads", 1);
    }
    set(m, "ftl.over_provisioning_permille",
        DRAW_OF(d, 1, 20, 44, 70, 100, 150, 200, 300, 400, 582, 700, 1000,
                1500, 2000, 4000, 9000));
}

static void draw_age(Maker *m)
{
    Draw *d = m->draw;

    m->s->age_permille = DRAW_OF(d, 0, 500, 900, 990, 1000, 1000, 1000, 1000);
    if (m->theme && m->theme->full) {
        m->s->age_permille = 1000;
    }
    m->s->random_age = draw_chance(d, 60);
    m->s->overwrite_permille = DRAW_OF(d, 0, 100, 500, 2000, UINT32_MAX);
    if (m->theme && m->theme->steady) {
        m->s->age_permille = 1000;
        m->s->overwrite_permille = UINT32_MAX;
        m->s->random_age = true;
    }
    m->s->age_seed = draw_below(d, 1000);
}

/*
 * slc, heat, units: NULL, or of what the SLC cache, the temperature and reclaim
 * units of several planes are drawn. They are draws of their own, so a drive
 * without them is what it was.
 */
static Scenario *draw_one(Draw *d, Draw *slc, Draw *heat, Draw *units,
                          const ScenarioWish *wish, const Theme *theme)
{
    Maker m = { .draw = d, .s = scenario_new(), .theme = theme,
                .often = DRAW_OF(d, 4, 10, 10, 20, 20, 35, 60) };
    g_autofree char *wished = theme_pick(d, wish->mapping);
    Shape x = { .mapping = wished ? wished : schemes_draw_mapping(d) };

    if (units || (slc && strcmp(x.mapping, "demand"))) {
        x.mapping = "page";
    }

    x.demand = !strcmp(x.mapping, "demand");
    x.logs = !x.demand && strcmp(x.mapping, "page");
    if (x.logs && theme && theme->units > 1) {
        x.mapping = "page";
        x.logs = false;
    }
    draw_shape(&m, &x);
    draw_nand(&m);
    draw_controller(&m, &x);
    draw_ftl(&m, &x);
    draw_gc(&m, &x);
    draw_power(&m, wish);
    if (theme && theme->keys) {
        g_auto(GStrv) keys = g_strsplit(theme->keys, ",", -1);

        for (char **key = keys; *key; key++) {
            const char *value = strchr(*key, '=') + 1;
            g_autofree char *name = g_strndup(*key, value - 1 - *key);
            g_autofree char *its = theme_pick(d, value);

            set_text(&m, name, its);
        }
    }
    if (wish->without) {
        remove_keys(m.s, wish->without);
    }
    if (slc) {
        remove_keys(m.s, "ftl.parity_,ftl.paired_pages=,ftl.log_blocks=,"
                         "ftl.superblock_blocks=");
        if (!x.demand) {
            remove_keys(m.s, "ftl.map_cache_bytes=,ftl.checkpoint_pages=");
        }
        draw_slc(&m, slc);
    }
    if (heat) {
        draw_heat(&m, heat);
    }
    if (units) {
        remove_keys(m.s, "ftl.parity_,controller.plp_bytes=,"
                         "ftl.paired_pages=,lie.,nand.copyback=,"
                         "gc.separate_active_block=,ftl.allocation=dynamic,"
                         "controller.buffer_bytes=");
        draw_units(&m, units, &x);
    }
    draw_age(&m);
    m.s->seed = draw_below(d, 1000);
    m.s->store = draw_chance(d, 92);
    return m.s;
}

static void draw_scheme(Draw *d, const ScenarioWish *wish, char **scheme,
                        char **params)
{
    g_free(*scheme);
    g_free(*params);
    if (wish->scheme) {
        *scheme = theme_pick(d, wish->scheme);
        *params = draw_chance(d, 50) ? schemes_draw_params(d, *scheme) : NULL;
    } else {
        schemes_draw(d, scheme, params);
    }
}

/* A refusal is one line, which names a key, a scheme or a parameter. */
static void judge(const GError *error, ScenarioDraws *draws)
{
    const char *text = error->message;
    static const char *const groups[] = { "geometry.", "timing.", "nand.",
                                          "controller.", "ftl.", "gc.", "slc.",
                                          "heat.", "lie." };
    bool named = schemes_named(text);

    for (size_t i = 0; i < G_N_ELEMENTS(groups) && !named; i++) {
        named = strstr(text, groups[i]);
    }
    draws->refused++;
    g_strlcpy(draws->last, text, sizeof(draws->last));
    if ((!named || strchr(text, '\n')) && !*draws->odd) {
        g_strlcpy(draws->odd, text, sizeof(draws->odd));
    }
}

static const char spare_key[] = "ftl.over_provisioning_permille";

/* permille 0: the key is not to be set. */
static ScarpDrive *with_spare(const Scenario *s, uint64_t permille,
                              GError **error)
{
    g_autofree char *key = g_strdup_printf("%s=%" G_GUINT64_FORMAT, spare_key,
                                           permille);

    return scenario_build(s, NULL, s->scheme, s->params, s->seed,
                          permille ? key : NULL, error);
}

static uint64_t spare_of(const Scenario *s)
{
    const char *value = scenario_key(s, spare_key);

    return value ? strtoull(value, NULL, 10) : 0;
}

static void set_spare(Scenario *s, uint64_t permille)
{
    if (permille) {
        remove_keys(s, spare_key);
        g_ptr_array_add(s->keys, g_strdup_printf("%s=%" G_GUINT64_FORMAT,
                                                 spare_key, permille));
    }
}

/* With more spare space, as long as that is what it lacks. */
static ScarpDrive *accepted(const Scenario *s, uint64_t *permille,
                            ScenarioDraws *draws)
{
    for (;;) {
        g_autoptr(GError) error = NULL;
        ScarpDrive *drive = with_spare(s, *permille, &error);

        if (drive) {
            draws->accepted++;
            return drive;
        }
        judge(error, draws);
        if (!*permille || *permille >= MOST_SPARE ||
            !strstr(error->message, spare_key)) {
            return NULL;
        }
        *permille = MIN(6 * *permille + 100, MOST_SPARE);
    }
}

/*
 * With as little as is accepted: there what is promised, kept free or waited
 * for is met by all commands, and not by few.
 */
static ScarpDrive *tighten(const Scenario *s, uint64_t *permille,
                           ScarpDrive *drive)
{
    uint64_t least = 0;

    while (*permille - least > 1 + *permille / 64) {
        uint64_t middle = (least + *permille) / 2;
        ScarpDrive *other = with_spare(s, middle, NULL);

        if (other) {
            scarp_drive_free(drive);
            drive = other;
            *permille = middle;
        } else {
            least = middle;
        }
    }
    return drive;
}

/* Unless its theme says how much it is to have. */
static bool is_tight(Draw *d, const Theme *theme)
{
    if (theme && theme->keys && strstr(theme->keys, spare_key)) {
        return false;
    }
    return (theme && theme->tight) || draw_chance(d, 35);
}

Scenario *scenario_draw(uint64_t number, const ScenarioWish *wish,
                        ScenarioDraws *draws)
{
    Draw d = { number * 0x2545f4914f6cdd1dull + 1 };
    Draw slc = { number * 0x9e3779b97f4a7c15ull + 3 };
    Draw heat = { number * 0xd6e8feb86659fd93ull + 5 };
    Draw ru = { number * 0xd1342543de82ef95ull + 7 };
    bool cached = wish->slc || (!wish->mapping && !wish->theme &&
                                draw_chance(&slc, 6));
    bool in_units = wish->units || (!cached && !wish->lie && !wish->mapping &&
                                    !wish->theme && draw_chance(&ru, 6));
    bool warm = !wish->theme && draw_chance(&heat, 8);
    const Theme *theme = NULL;
    ScenarioWish its = *wish;
    g_autofree char *scheme = NULL;
    g_autofree char *params = NULL;

    memset(draws, 0, sizeof(*draws));
    for (int i = 0; i < MOST_TRIES; i++) {
        Scenario *s;
        ScarpDrive *drive;
        uint64_t permille;

        /* A scheme that no drive of the kind goes with is not tried on. */
        bool other = (cached || in_units) && strstr(draws->last, "scheme=");

        *draws->last = 0;
        /* What few drives go with is not much rarer than what all do. */
        if (other || i % TRIES_OF_THEME == 0) {
            theme = wish->theme ? theme_numbered(wish->theme)
                    : wish->scheme || wish->mapping ? NULL : theme_draw(&d, wish->cuts);
            its.scheme = theme ? theme->scheme : wish->scheme;
            its.mapping = theme ? theme->mapping : wish->mapping;
        }
        if (other || i % TRIES_OF_SCHEME == 0) {
            draw_scheme(&d, &its, &scheme, &params);
        }
        s = draw_one(&d, cached ? &slc : NULL, warm ? &heat : NULL,
                     in_units ? &ru : NULL, &its, theme);
        permille = spare_of(s);
        g_free(s->scheme);
        s->scheme = g_strdup(scheme);
        s->params = theme && theme->params ? theme_pick(&d, theme->params)
                                           : g_strdup(params);
        drive = accepted(s, &permille, draws);
        if (drive && is_tight(&d, theme)) {
            drive = tighten(s, &permille, drive);
        }
        if (drive) {
            set_spare(s, permille);
            scenario_draw_steps(s, drive, &d, theme);
            s->meta = meta_draw(&d, s);
            scarp_drive_free(drive);
            return s;
        }
        scenario_free(s);
    }
    return NULL;
}
