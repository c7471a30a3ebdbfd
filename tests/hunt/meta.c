/*
 * Comparisons of a scenario with one that it has to agree with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "meta.h"
#include "fail.h"
#include "schemes.h"

#include <stdlib.h>
#include <string.h>

static void set_key(Scenario *s, const char *key, const char *value)
{
    g_ptr_array_add(s->keys, g_strdup_printf("%s=%s", key, value));
}

static bool has(const Scenario *s, const char *key)
{
    const char *value = scenario_key(s, key);

    return value && strcmp(value, "0");
}

/* ---- All times times k ---------------------------------------------- */

static bool has_step(const Scenario *s, StepKind kind)
{
    for (guint i = 0; i < s->steps->len; i++) {
        if (g_array_index(s->steps, Step, i).kind == kind) {
            return true;
        }
    }
    return false;
}

/* Numbers joined by ';', each times k. */
static char *times(const char *list, uint64_t k)
{
    g_auto(GStrv) items = g_strsplit(list, ";", -1);
    GString *text = g_string_new(NULL);

    for (char **item = items; *item; item++) {
        g_string_append_printf(text, "%s%" G_GUINT64_FORMAT,
                               text->len ? ";" : "",
                               (uint64_t)strtoull(*item, NULL, 10) * k);
    }
    return g_string_free(text, false);
}

/* A rate: its inverse is what is multiplied, for whole sectors exactly. */
static bool divide_rate(Scenario *s, const char *key, const char *fallback,
                        uint64_t k)
{
    const char *text = scenario_key(s, key);
    uint64_t rate = strtoull(text ? text : fallback, NULL, 10);
    g_autofree char *value = NULL;

    if (rate % k || SECTOR * 1000ull % (rate / k) ||
        SECTOR * 1000ull % rate) {
        return false;
    }
    value = g_strdup_printf("%" G_GUINT64_FORMAT, rate / k);
    set_key(s, key, value);
    return true;
}

/* NULL: they do not divide exactly, or are not all named. */
static Scenario *scaled(const Scenario *s, uint64_t k)
{
    static const char *const keys[][2] = {
        { "timing.read_ns", "75000" }, { "timing.program_ns", "750000" },
        { "timing.erase_ns", "3800000" }, { "timing.command_ns", "200" },
        { "nand.suspend_min_ns", "100000" }, { "nand.suspend_ns", "20000" },
        { "nand.resume_ns", "10000" }, { "controller.firmware_ns", "5000" },
        { "timing.slc_read_ns", "0" }, { "timing.slc_program_ns", "0" },
        { "timing.slc_erase_ns", "0" }, { "slc.fold_idle_us", "0" },
    };
    g_autoptr(Scenario) other = scenario_copy(s);
    char *params = schemes_times(s->scheme, s->params, k);

    /* A temperature is brought up to date by whole milliseconds. */
    if (!params || has(s, "heat.capacity_mj") ||
        has(s, "nand.layers") || has(s, "controller.pcie_lanes") ||
        has_step(s, STEP_RELOAD) || has_step(s, STEP_SCHEME) ||
        /* A backup takes a share of an erase, which is rounded. */
        !g_strcmp0(scenario_key(s, "ftl.paired_pages"), "backup") ||
        !divide_rate(other, "timing.channel_mts", "400", k) ||
        !divide_rate(other, "controller.link_mbs", "3200", k)) {
        g_free(params);
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const char *is = scenario_key(s, keys[i][0]);
        g_autofree char *value = times(is ? is : keys[i][1], k);

        set_key(other, keys[i][0], value);
    }
    g_free(other->params);
    other->params = *params ? params : NULL;
    for (guint i = 0; i < other->steps->len; i++) {
        Step *step = &g_array_index(other->steps, Step, i);

        step->gap_ns *= k;
        step->deadline_ns *= k;
    }
    return g_steal_pointer(&other);
}

/* ---- The same contents ---------------------------------------------- */

static Scenario *contents_of(const Scenario *s, const char *meta)
{
    g_auto(GStrv) words = g_strsplit(meta, " ", 4);
    g_auto(GStrv) keys = NULL;
    Scenario *other = scenario_copy(s);

    if (g_strv_length(words) == 4) {
        g_free(other->scheme);
        g_free(other->params);
        other->scheme = g_strdup(words[1]);
        other->params = strcmp(words[2], "-") ? g_strdup(words[2]) : NULL;
        keys = g_strsplit(words[3], ",", -1);
    }
    for (char **key = keys; key && *key; key++) {
        g_ptr_array_add(other->keys, g_strdup(*key));
    }
    return other;
}

static uint64_t sectors_of(const Scenario *s)
{
    ScarpDrive *drive = scenario_build(s, NULL, s->scheme, s->params, s->seed,
                                       NULL, NULL);
    uint64_t bytes = drive ? scarp_drive_logical_bytes(drive) : 0;

    if (drive) {
        scarp_drive_free(drive);
    }
    return bytes / SECTOR;
}

uint64_t meta_fold(const Scenario *s)
{
    g_autoptr(Scenario) other = NULL;

    if (!s->meta || !s->store || !g_str_has_prefix(s->meta, "contents ")) {
        return 0;
    }
    other = contents_of(s, s->meta);
    return MIN(sectors_of(s), sectors_of(other));
}

static bool same_contents(const GArray *is, const GArray *should,
                          GError **error)
{
    for (guint i = 0; i < is->len; i++) {
        uint32_t a = g_array_index(is, uint32_t, i);
        uint32_t b = g_array_index(should, uint32_t, i);

        if (a != b) {
            return fail(error, "contents of another drive: sector %u has "
                        "write %u, should be %u", i, a, b);
        }
    }
    return is->len == should->len ||
           fail(error, "contents of another drive: %u sectors, should be %u",
                is->len, should->len);
}

static bool compare_contents(const Scenario *s, const RunResult *should,
                             GError **error)
{
    g_autoptr(Scenario) other = contents_of(s, s->meta);
    g_autoptr(GArray) contents = g_array_new(false, true, sizeof(uint32_t));
    RunResult result = { .fold = should->fold, .contents = contents };

    if (!run_scenario(other, &result, error)) {
        g_prefix_error(error, "%s: ", s->meta);
        return false;
    }
    return same_contents(contents, should->contents, error);
}

/* ---- What says nothing ---------------------------------------------- */

/* Not even by a drive that is loaded later. */
static bool ever_has(const Scenario *s, const char *key)
{
    for (guint i = 0; i < s->texts->len; i++) {
        if (strstr(s->texts->pdata[i], key)) {
            return true;
        }
    }
    return has(s, key);
}

/* Keys that change nothing on this drive. */
static char *unused_key(Draw *d, const Scenario *s)
{
    const struct {
        bool is;
        const char *key;
    } unused[] = {
        { !ever_has(s, "nand.suspend_program") &&
          !ever_has(s, "nand.suspend_erase"),
          "nand.suspend_ns=77,nand.resume_ns=5,nand.suspend_limit=3" },
        { !ever_has(s, "nand.suspend_program") &&
          !ever_has(s, "nand.suspend_erase"),
          "nand.suspend_min_ns=0" },
        { !ever_has(s, "ftl.parity_width"), "ftl.parity_stripes=2" },
        { true, "controller.deadline_idle_us=3,controller.deadline_low_us=1" },
        { true, "controller.deadline_normal_us=1000" },
        { !ever_has(s, "nand.layers"),
          "nand.layers=7,nand.layer_fastest_permille=1000" },
        { !ever_has(s, "nand.cell_bits"), "nand.cell_bits=4" },
        { !ever_has(s, "nand.endurance_erases"),
          "nand.endurance_erases=1000000000" },
        { !ever_has(s, "ftl.unit_bytes"), "ftl.unit_bytes=0" },
    };
    size_t i = draw_below(d, G_N_ELEMENTS(unused));

    return unused[i].is ? g_strdup_printf("unused %s", unused[i].key) : NULL;
}

/* ---- Another drive with the same contents --------------------------- */

/* "scheme params keys", words; NULL: none of the few that were tried goes. */
static char *other_drive(Draw *d, const Scenario *s)
{
    static const char *const of_mappings[] = {
        "ftl.log_blocks", "ftl.superblock_blocks", "ftl.map_cache_bytes",
        "ftl.parity_width", "ftl.parity_stripes", "ftl.allocation",
    };
    static const char *const none[] = { "0", "0", "0", "0", "0", "cwdp" };

    for (int tries = 0; tries < 8; tries++) {
        g_autoptr(GString) keys = g_string_new(NULL);
        g_autofree char *scheme = NULL, *params = NULL, *text = NULL;
        g_autoptr(Scenario) other = NULL;
        ScarpDrive *drive;

        schemes_draw(d, &scheme, &params);
        g_string_printf(keys, "timing.read_ns=%u,timing.program_ns=%u,"
                        "controller.buffer_bytes=%u,ftl.mapping=%s",
                        (unsigned)DRAW_OF(d, 0, 75000, 1000000),
                        (unsigned)DRAW_OF(d, 1, 20000, 750000),
                        (unsigned)DRAW_OF(d, 0, 65536),
                        draw_chance(d, 70) ? schemes_draw_mapping(d)
                                           : scenario_mapping(s));
        for (size_t i = 0; i < G_N_ELEMENTS(of_mappings); i++) {
            if (scenario_key(s, of_mappings[i])) {
                g_string_append_printf(keys, ",%s=%s", of_mappings[i],
                                       none[i]);
            }
        }
        text = g_strdup_printf("contents %s %s %s", scheme,
                               params ? params : "-", keys->str);
        other = contents_of(s, text);
        drive = scenario_build(other, NULL, other->scheme, other->params,
                               other->seed, NULL, NULL);
        if (drive) {
            scarp_drive_free(drive);
            return g_steal_pointer(&text);
        }
    }
    return NULL;
}

/* What is lost in a power cut hangs on all that is under way. */
static bool loses(const Scenario *s)
{
    return has_step(s, STEP_POWER_CUT);
}

char *meta_draw(Draw *d, const Scenario *s)
{
    switch (draw_below(d, loses(s) ? 3 : 16)) {
    case 0:
        return g_strdup("twice");
    case 1:
    case 2:
        return g_strdup_printf("prefix %u",
                               (unsigned)draw_below(d, s->steps->len));
    case 3:
    case 4:
        return g_strdup_printf("scale %u", (unsigned)DRAW_OF(d, 2, 4, 5));
    case 5:
        return unused_key(d, s);
    case 6:
        return s->store ? other_drive(d, s) : NULL;
    default:
        return NULL;
    }
}

/* ---- Running both --------------------------------------------------- */

static Scenario *other_of(const Scenario *s, int64_t *k, guint *kept)
{
    g_auto(GStrv) words = g_strsplit(s->meta, " ", 2);
    uint64_t number = words[1] ? strtoull(words[1], NULL, 10) : 0;
    Scenario *other = NULL;

    *k = 1;
    *kept = s->steps->len;
    if (!strcmp(words[0], "scale")) {
        *k = MAX(number, 1);
        return scaled(s, *k);
    }
    other = scenario_copy(s);
    if (!strcmp(words[0], "prefix")) {
        /* Up to a command: what else is cut with it comes after it. */
        while (number < s->steps->len &&
               g_array_index(s->steps, Step, number).kind >= STEP_PACE) {
            number++;
        }
        *kept = MIN(number, s->steps->len);
        g_array_set_size(other->steps, *kept);
    } else if (!strcmp(words[0], "unused") && words[1]) {
        g_auto(GStrv) keys = g_strsplit(words[1], ",", -1);

        for (char **key = keys; *key; key++) {
            g_ptr_array_add(other->keys, g_strdup(*key));
        }
    }
    return other;
}

static uint32_t commands_before(const Scenario *s, guint kept)
{
    uint32_t n = 0;

    for (guint i = 0; i < kept; i++) {
        n += g_array_index(s->steps, Step, i).kind < STEP_PACE;
    }
    return kept < s->steps->len ? n : UINT32_MAX;
}

static bool compare(const Scenario *s, const GArray *rows, GError **error)
{
    g_autoptr(GArray) other_rows = g_array_new(false, true, sizeof(Row));
    RunResult result = { .rows = other_rows };
    g_autoptr(GError) refused = NULL;
    Scenario *other;
    ScarpDrive *drive;
    int64_t k;
    guint kept;
    bool ok;

    other = other_of(s, &k, &kept);
    if (!other) {
        return true;
    }
    drive = scenario_build(other, NULL, other->scheme, other->params,
                           other->seed, NULL, &refused);
    if (!drive) { /* a time beyond what is allowed */
        scenario_free(other);
        return true;
    }
    scarp_drive_free(drive);
    ok = run_scenario(other, &result, error);
    if (!ok) {
        g_prefix_error(error, "%s: ", s->meta);
    }
    ok = ok && rows_same(other_rows, rows, 0, k,
                         commands_before(s, kept), s->meta, error);
    scenario_free(other);
    return ok;
}

bool meta_run(const Scenario *s, RunResult *result, GError **error)
{
    g_autoptr(GArray) rows = g_array_new(false, true, sizeof(Row));
    g_autoptr(GArray) contents = g_array_new(false, true, sizeof(uint32_t));
    bool ok;

    result->fold = meta_fold(s);
    result->rows = s->meta && !result->fold ? rows : NULL;
    result->contents = result->fold ? contents : NULL;
    ok = run_scenario(s, result, error);
    if (ok && result->fold) {
        ok = compare_contents(s, result, error);
    } else if (ok && s->meta) {
        ok = compare(s, rows, error);
    }
    result->rows = result->contents = NULL;
    return ok;
}
