/*
 * Scenarios: drawn, written, read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../hunt/draw.h"
#include "array.h"
#include "scenario.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned numbers;
} words[STEP_KINDS] = {
    [STEP_WRITE] = { "write", 3 }, [STEP_READ] = { "read", 2 },
    [STEP_FLUSH] = { "flush", 0 }, [STEP_DISCARD] = { "discard", 2 },
    [STEP_END] = { "end", 1 }, [STEP_ERR] = { "err", 2 },
    [STEP_STALL] = { "stall", 2 }, [STEP_CHECK] = { "check", 0 },
    [STEP_STOP] = { "stop", 0 }, [STEP_KILL] = { "kill", 0 },
    [STEP_CUT] = { "cut", 0 }, [STEP_START] = { "start", 3 },
    [STEP_RECOVER] = { "recover", 1 }, [STEP_OLDER] = { "recover-older", 2 },
    [STEP_VAIN] = { "start-in-vain", 2 }, [STEP_BAD] = { "start-badly", 3 },
    [STEP_TAMPER] = { "tamper", 3 }, [STEP_FORMAT] = { "format", 1 },
};

static ArrayScenario *scenario_new(void)
{
    ArrayScenario *s = g_new0(ArrayScenario, 1);

    s->drives = 1;
    s->stripes = 1;
    s->keys = g_ptr_array_new_with_free_func(g_free);
    s->steps = g_array_new(false, false, sizeof(ArrayStep));
    return s;
}

ArrayScenario *array_scenario_copy(const ArrayScenario *s)
{
    ArrayScenario *copy = scenario_new();

    copy->seed = s->seed;
    copy->drives = s->drives;
    copy->stripes = s->stripes;
    copy->keep = s->keep;
    for (guint i = 0; i < s->keys->len; i++) {
        g_ptr_array_add(copy->keys, g_strdup(s->keys->pdata[i]));
    }
    g_array_append_vals(copy->steps, s->steps->data, s->steps->len);
    return copy;
}

void array_scenario_free(ArrayScenario *s)
{
    g_ptr_array_free(s->keys, true);
    g_array_free(s->steps, true);
    g_free(s);
}

uint64_t array_scenario_key(const ArrayScenario *s, const char *name)
{
    uint64_t value = 0;

    for (size_t i = 0; i < array_key_count; i++) {
        if (!strcmp(array_keys[i].name, name)) {
            value = array_keys[i].fallback;
        }
    }
    for (guint i = 0; i < s->keys->len; i++) {
        const char *key = s->keys->pdata[i];
        size_t n = strlen(name);

        if (!strncmp(key, name, n) && key[n] == '=') {
            value = g_ascii_strtoull(key + n + 1, NULL, 10);
        }
    }
    return value;
}

char *array_scenario_keys(const ArrayScenario *s, bool layout)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < s->keys->len; i++) {
        const char *key = s->keys->pdata[i];

        if (layout || (!g_str_has_prefix(key, "page_bytes=") &&
                       !g_str_has_prefix(key, "stripe_bytes="))) {
            g_string_append_printf(text, "%s%s", text->len ? "," : "", key);
        }
    }
    return g_string_free(text, false);
}

/* ---- Drawing ----------------------------------------------------------- */

static void key(ArrayScenario *s, const char *name, uint64_t value)
{
    g_ptr_array_add(s->keys, g_strdup_printf("%s=%" G_GUINT64_FORMAT, name,
                                             value));
}

/* Small, so that pages are evicted, and now and then as small as can be. */
static void draw_keys(ArrayScenario *s, Draw *d)
{
    uint64_t page = DRAW_OF(d, 4096, 4096, 4096, 512, 1024, 8192);
    uint64_t stripe = page * DRAW_OF(d, 1, 1, 2, 4);
    uint64_t set = DRAW_OF(d, 12, 12, 4, 2, 1, 7, 16);
    uint64_t slots = DRAW_OF(d, 32, 4, 3, 2, 1);

    key(s, "page_bytes", page);
    key(s, "stripe_bytes", stripe);
    key(s, "set_pages", set);
    key(s, "cache_bytes", page * set * draw_from(d, 1, 6));
    key(s, "dirty_pages", draw_below(d, MIN(set, 7)));
    key(s, "stale_score", draw_below(d, MIN(set, 7)));
    key(s, "flush_batch", draw_from(d, 1, MIN(set, 3)));
    key(s, "slots", slots);
    key(s, "reserved_slots", draw_below(d, MIN(slots, 8)));
    key(s, "retries", DRAW_OF(d, 3, 3, 1, 0));
    if (draw_chance(d, 25)) {
        key(s, "flusher", 0);
    }
    if (draw_chance(d, 25)) {
        key(s, "clean_first", 0);
    }
    if (draw_chance(d, 40)) {
        key(s, "max_flushes", draw_from(d, 1, 8));
    }
}

typedef struct {
    ArrayScenario *s;
    Draw *d;
    uint64_t sectors, page; /* sectors: of all, of a page */
    bool runs;
} Drawing;

static void add(Drawing *w, StepOp op, uint64_t a, uint64_t b, uint64_t c)
{
    ArrayStep step = { op, { a, b, c } };

    g_array_append_val(w->s->steps, step);
}

/* A page, some sectors, or some pages; half of them in a hot eighth. */
static void draw_request(Drawing *w)
{
    uint64_t what = draw_below(w->d, 100), n, first;

    switch (draw_below(w->d, 4)) {
    case 0:
        n = draw_from(w->d, 1, 2 * w->page);
        break;
    case 1:
        n = w->page * draw_from(w->d, 1, 8);
        break;
    default:
        n = w->page;
        break;
    }
    n = MIN(n, w->sectors);
    first = draw_below(w->d, w->sectors - n + 1);
    if (draw_chance(w->d, 50)) {
        first /= 8;
    }
    if (n % w->page == 0) {
        first = first / w->page * w->page;
    }
    if (what < 4) {
        add(w, STEP_FLUSH, 0, 0, 0);
    } else if (what < 7) {
        add(w, STEP_DISCARD, first, n, 0);
    } else if (what < 60) {
        add(w, STEP_WRITE, first, n, what < 9);
    } else {
        add(w, STEP_READ, first, n, 0);
    }
}

static uint64_t draw_keep(Drawing *w)
{
    return draw_chance(w->d, 80) ? w->s->keep : draw_below(w->d, 3);
}

/* What may come between the end of a server and the next. */
static void draw_between(Drawing *w)
{
    Draw *d = w->d;

    while (draw_chance(d, 45)) {
        switch (draw_below(d, 12)) {
        case 0:
        case 1:
            add(w, STEP_START, draw_keep(w), draw_scale(d, 1, 60),
                draw_chance(d, 30));
            /* Did a drive miss something by it? */
            if (draw_chance(d, 25)) {
                add(w, STEP_TAMPER, w->s->keep, TAMPER_OLD,
                    draw_below(d, 1 << 20));
            }
            break;
        case 2:
        case 3:
            add(w, STEP_BAD, draw_keep(w),
                DRAW_OF(d, 1000, 300, 100, 30, 10), draw_chance(d, 15));
            break;
        case 4:
            if (draw_chance(d, 30)) {
                add(w, STEP_FORMAT, draw_below(d, 16), 0, 0);
                break;
            }
            /* fall through */
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
            add(w, STEP_TAMPER, draw_keep(w), draw_below(d, TAMPER__COUNT),
                draw_below(d, 1 << 20));
            break;
        case 10:
            /* With any cache, and then what the last server left. */
            add(w, STEP_VAIN, draw_below(d, 3), draw_below(d, 2), 0);
            if (draw_chance(d, 50)) {
                add(w, STEP_RECOVER, w->s->keep, 0, 0);
            }
            break;
        default:
            add(w, STEP_OLDER, draw_keep(w), draw_below(d, 4), 0);
            break;
        }
    }
    if (draw_chance(d, 30)) {
        add(w, STEP_RECOVER, draw_keep(w), 0, 0);
    }
    if (draw_chance(d, 50)) {
        add(w, STEP_START, draw_keep(w), 0, 0);
    }
    if (draw_chance(d, 50)) {
        add(w, STEP_CHECK, 0, 0, 0);
    }
}

static void draw_life(Drawing *w)
{
    uint64_t steps = draw_scale(w->d, 1, 200);
    bool faulty = draw_chance(w->d, 40), hasty = draw_chance(w->d, 50);

    for (uint64_t i = 0; i < steps; i++) {
        uint64_t drive = draw_below(w->d, w->s->drives);

        if (faulty && draw_chance(w->d, 4)) {
            add(w, STEP_ERR, drive, DRAW_OF(w->d, 0, 0, 30, 200, 1000), 0);
        }
        if (draw_chance(w->d, 2)) {
            add(w, STEP_STALL, drive, draw_below(w->d, 2), 0);
        }
        draw_request(w);
        if (!hasty || draw_chance(w->d, 20)) {
            add(w, STEP_END, draw_scale(w->d, 1, 16), 0, 0);
        }
    }
    if (draw_chance(w->d, 30)) {
        add(w, STEP_FLUSH, 0, 0, 0);
        add(w, STEP_END, draw_scale(w->d, 1, 64), 0, 0);
    }
    add(w, DRAW_OF(w->d, STEP_STOP, STEP_KILL, STEP_KILL, STEP_CUT), 0, 0, 0);
}

ArrayScenario *array_scenario_draw(uint64_t number)
{
    ArrayScenario *s = scenario_new();
    Draw d = { number };
    Drawing w = { .s = s, .d = &d };
    uint64_t stripe, lives = draw_from(&d, 1, 5);

    s->seed = draw_next(&d);
    s->drives = DRAW_OF(&d, 1, 2, 2, 3, 3, 4);
    s->keep = DRAW_OF(&d, 0, 1, 1, 2);
    draw_keys(s, &d);
    stripe = array_scenario_key(s, "stripe_bytes");
    /* About as many pages as the cache has, or some times as many. */
    s->stripes = CLAMP(draw_scale(&d, 2, 64) * 4096 / stripe, 1, 64);
    w.page = array_scenario_key(s, "page_bytes") / 512;
    w.sectors = s->drives * s->stripes * stripe / 512;
    for (uint64_t i = 0; i < lives; i++) {
        draw_life(&w);
        draw_between(&w);
    }
    return s;
}

/* ---- As a file --------------------------------------------------------- */

char *array_scenario_text(const ArrayScenario *s)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "seed %" G_GUINT64_FORMAT "\n"
                           "array %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
                           " %" G_GUINT64_FORMAT "\n", s->seed, s->drives,
                           s->stripes, s->keep);
    for (guint i = 0; i < s->keys->len; i++) {
        g_string_append_printf(text, "key %s\n", (char *)s->keys->pdata[i]);
    }
    for (guint i = 0; i < s->steps->len; i++) {
        const ArrayStep *step = &g_array_index(s->steps, ArrayStep, i);

        g_string_append(text, words[step->op].name);
        for (unsigned k = 0; k < words[step->op].numbers; k++) {
            g_string_append_printf(text, " %" G_GUINT64_FORMAT,
                                   step->value[k]);
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, false);
}

static bool numbers(char **word, uint64_t *value, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!word[i] ||
            !g_ascii_string_to_unsigned(word[i], 10, 0, UINT64_MAX, &value[i],
                                        NULL)) {
            return false;
        }
    }
    return !word[n];
}

static bool parse_line(ArrayScenario *s, const char *line)
{
    g_auto(GStrv) word = g_strsplit(line, " ", -1);
    uint64_t value[3];

    if (!strcmp(word[0], "seed")) {
        return numbers(word + 1, &s->seed, 1);
    }
    if (!strcmp(word[0], "array")) {
        bool good = numbers(word + 1, value, 3);

        s->drives = value[0];
        s->stripes = value[1];
        s->keep = value[2];
        return good && s->drives >= 1 && s->drives <= 4 && s->stripes >= 1 &&
               s->stripes <= 4096 && s->keep <= 2;
    }
    if (!strcmp(word[0], "key") && word[1]) {
        g_ptr_array_add(s->keys, g_strdup(word[1]));
        return true;
    }
    for (unsigned op = 0; op < STEP_KINDS; op++) {
        ArrayStep step = { .op = op };

        if (!strcmp(word[0], words[op].name)) {
            bool good = numbers(word + 1, step.value, words[op].numbers);

            g_array_append_val(s->steps, step);
            return good;
        }
    }
    return false;
}

ArrayScenario *array_scenario_parse(const char *text, char **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    ArrayScenario *s = scenario_new();

    for (unsigned i = 0; lines[i]; i++) {
        if (*lines[i] && *lines[i] != '#' && !parse_line(s, lines[i])) {
            *error = g_strdup_printf("line %u: '%s' is no step, nor seed, "
                                     "array or key", i + 1, lines[i]);
            array_scenario_free(s);
            return NULL;
        }
    }
    return s;
}
