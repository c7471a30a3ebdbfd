/*
 * The schemes that the engine has, as it tells of them itself: a new one is
 * drawn without being named here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "schemes.h"
#include "scarp.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES 65536 /* of a table, but for few drives */

typedef struct {
    char *name;
    uint64_t min, max, fallback;
    bool time;
    bool passes; /* commands that may go before an older one */
    bool table;  /* as long as a table: much of it takes time */
} Param;

typedef struct {
    char *name;
    char *axis;    /* NULL: several choices under one name */
    GArray *params; /* Param */
    GPtrArray *made_of; /* names of the choices that it stands for */
} Choice;

/*
 * Lines "name: axis: what it is (source)", of one with several choices
 * "name: what it is [axis=choice]…", then of its parameters "    name=default
 * (min to max unit): what it is".
 */
static GPtrArray *choices(void)
{
    static GPtrArray *all;
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (all) {
        return all;
    }
    text = scarp_schemes_text();
    lines = g_strsplit(text, "\n", -1);
    all = g_ptr_array_new();
    for (char **line = lines; *line; line++) {
        const char *open = strchr(*line, '('), *equals = strchr(*line, '=');

        if (**line && **line != ' ') {
            Choice *choice = g_new0(Choice, 1);
            const char *colon = strchr(*line, ':'), *next;

            choice->name = g_strndup(*line, colon - *line);
            next = strchr(colon + 1, ':');
            choice->axis = next && open && next < open
                               ? g_strndup(colon + 2, next - colon - 2)
                               : NULL;
            choice->params = g_array_new(false, false, sizeof(Param));
            choice->made_of = g_ptr_array_new();
            for (next = strchr(*line, '['); next; next = strchr(next, '[')) {
                next = strchr(next, '=') + 1;
                g_ptr_array_add(choice->made_of,
                                g_strndup(next, strcspn(next, "]")));
            }
            g_ptr_array_add(all, choice);
        } else if (g_str_has_prefix(*line, "    ") && equals && open) {
            Choice *choice = all->pdata[all->len - 1];
            const char *to = strstr(open, " to ");
            Param param = {
                .name = g_strndup(*line + 4, equals - *line - 4),
                .min = strtoull(open + 1, NULL, 10),
                .max = strtoull(to + 4, NULL, 10),
                .fallback = strtoull(equals + 1, NULL, 10),
                .time = strstr(open, " us)"),
                .passes = strstr(open, " commands)") ||
                          strstr(open, " batches)"),
                .table = strstr(open, " counters)"),
            };

            g_array_append_val(choice->params, param);
        }
    }
    return all;
}

static const Choice *choice_named(const char *name)
{
    GPtrArray *all = choices();

    for (guint i = 0; i < all->len; i++) {
        const Choice *choice = all->pdata[i];

        if (!strcmp(choice->name, name)) {
            return choice;
        }
    }
    return NULL;
}

/* Those of all choices of a scheme. */
static GPtrArray *params_of(const char *scheme)
{
    g_auto(GStrv) names = g_strsplit(scheme, "+", -1);
    GPtrArray *params = g_ptr_array_new();

    for (char **name = names; *name; name++) {
        const Choice *choice = choice_named(*name);

        for (guint m = 0; choice && m <= choice->made_of->len; m++) {
            const Choice *part = m ? choice_named(choice->made_of->pdata[m - 1])
                                   : choice;

            for (guint i = 0; part && i < part->params->len; i++) {
                g_ptr_array_add(params,
                                &g_array_index(part->params, Param, i));
            }
        }
    }
    return params;
}

char *schemes_unknown(const char *scheme)
{
    g_auto(GStrv) names = g_strsplit(scheme, "+", -1);

    for (char **name = names; *name; name++) {
        if (!choice_named(*name)) {
            return g_strdup(*name);
        }
    }
    return NULL;
}

static bool is_on(const Choice *choice, const char *axis)
{
    return choice && choice->axis && !strcmp(choice->axis, axis);
}

const char *schemes_choice(const char *scheme, const char *axis)
{
    g_auto(GStrv) names = g_strsplit(scheme, "+", -1);
    GPtrArray *all = choices();

    for (char **name = names; *name; name++) {
        const Choice *choice = choice_named(*name);

        if (is_on(choice, axis)) {
            return choice->name;
        }
        for (guint m = 0; choice && m < choice->made_of->len; m++) {
            const Choice *part = choice_named(choice->made_of->pdata[m]);

            if (is_on(part, axis)) {
                return part->name;
            }
        }
    }
    /* The first is what a drive has by itself. */
    for (guint i = 0; i < all->len; i++) {
        if (is_on(all->pdata[i], axis)) {
            return ((const Choice *)all->pdata[i])->name;
        }
    }
    return "none";
}

/* As it is given, the last time, as the engine takes it; or else by itself. */
static uint64_t value_of(const Param *param, char **given, bool *is_given)
{
    size_t length = strlen(param->name);
    uint64_t value = param->fallback;

    *is_given = false;
    for (; *given; given++) {
        if (!strncmp(*given, param->name, length) && (*given)[length] == '=') {
            *is_given = true;
            value = strtoull(*given + length + 1, NULL, 10);
        }
    }
    return value;
}

char *schemes_times(const char *scheme, const char *params, uint64_t k)
{
    g_autoptr(GPtrArray) all = params_of(scheme);
    g_auto(GStrv) given = g_strsplit(params ? params : "", ",", -1);
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < all->len; i++) {
        const Param *param = all->pdata[i];
        bool is_given;
        uint64_t value = value_of(param, given, &is_given);

        if (param->time || is_given) {
            g_string_append_printf(text, "%s%s=%" G_GUINT64_FORMAT,
                                   text->len ? "," : "", param->name,
                                   value * (param->time ? k : 1));
        }
    }
    return g_string_free(text, false);
}

int64_t schemes_waits_ns(const char *scheme, const char *params)
{
    g_autoptr(GPtrArray) all = params_of(scheme);
    g_auto(GStrv) given = g_strsplit(params ? params : "", ",", -1);
    int64_t sum_ns = 0;

    for (guint i = 0; i < all->len; i++) {
        const Param *param = all->pdata[i];
        bool is_given;
        uint64_t us = value_of(param, given, &is_given);

        sum_ns += param->time ? us * 1000 : 0;
    }
    return sum_ns;
}

uint64_t schemes_passes(const char *scheme, const char *params)
{
    g_autoptr(GPtrArray) all = params_of(scheme);
    g_auto(GStrv) given = g_strsplit(params ? params : "", ",", -1);
    uint64_t most = 1;

    for (guint i = 0; i < all->len; i++) {
        const Param *param = all->pdata[i];
        bool is_given;

        most *= param->passes ? 1 + value_of(param, given, &is_given) : 1;
    }
    return most;
}

char *schemes_draw_params(Draw *draw, const char *scheme)
{
    g_autoptr(GPtrArray) all = params_of(scheme);
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < all->len; i++) {
        const Param *param = all->pdata[i];
        uint64_t max = param->table && draw_chance(draw, 95)
                           ? MIN(param->max, MOST_ENTRIES) : param->max;
        uint64_t value;

        if (draw_chance(draw, 60)) {
            continue;
        }
        switch (draw_below(draw, 6)) {
        case 0:
            value = param->min;
            break;
        case 1:
            value = max;
            break;
        case 2:
            value = MIN(param->min + 1, max);
            break;
        default:
            value = draw_scale(draw, MAX(param->min, 1), max);
            break;
        }
        g_string_append_printf(text, "%s%s=%" G_GUINT64_FORMAT,
                               text->len ? "," : "", param->name, value);
    }
    if (!text->len) {
        g_string_free(text, true);
        return NULL;
    }
    return g_string_free(text, false);
}

/* One with parameters is more often drawn: there is more to it. */
static const Choice *draw_choice(Draw *draw)
{
    GPtrArray *all = choices();
    uint64_t sum = 0, at;
    guint i = 0;

    for (guint k = 0; k < all->len; k++) {
        sum += 2 + ((const Choice *)all->pdata[k])->params->len;
    }
    at = draw_below(draw, sum);
    for (;; i++) {
        const Choice *choice = all->pdata[i];

        if (at < 2 + choice->params->len) {
            return choice;
        }
        at -= 2 + choice->params->len;
    }
}

void schemes_draw(Draw *draw, char **scheme, char **params)
{
    const Choice *taken[5];
    unsigned n = 0, most = DRAW_OF(draw, 1, 1, 1, 2, 2, 3, 4, 5);
    GString *text = g_string_new(NULL);

    for (unsigned tries = 0; n < most && tries < 16; tries++) {
        const Choice *choice = draw_choice(draw);
        bool fits = n == 0 || choice->axis;

        for (unsigned i = 0; i < n && fits; i++) {
            fits = choice != taken[i] &&
                   (!taken[i]->axis || strcmp(taken[i]->axis, choice->axis));
        }
        if (fits) {
            taken[n++] = choice;
            g_string_append_printf(text, "%s%s", text->len ? "+" : "",
                                   choice->name);
        }
    }
    *scheme = g_string_free(text, false);
    *params = draw_chance(draw, 40) ? schemes_draw_params(draw, *scheme) : NULL;
}

/* Lines "ftl.mapping=name: what it is (source)". */
const char *schemes_draw_mapping(Draw *draw)
{
    static const char key[] = "ftl.mapping=";
    static GPtrArray *names;

    if (!names) {
        g_autofree char *text = scarp_mappings_text();
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        names = g_ptr_array_new();
        for (char **line = lines; *line; line++) {
            const char *name = *line + strlen(key);

            if (g_str_has_prefix(*line, key)) {
                g_ptr_array_add(names, g_strndup(name, strcspn(name, ":")));
            }
        }
    }
    return names->pdata[draw_below(draw, names->len)];
}

/* Of every choice and every parameter. */
static GHashTable *all_names(void)
{
    static GHashTable *names;
    GPtrArray *all = choices();

    if (names) {
        return names;
    }
    names = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < all->len; i++) {
        const Choice *choice = all->pdata[i];

        g_hash_table_add(names, choice->name);
        for (guint p = 0; p < choice->params->len; p++) {
            g_hash_table_add(names,
                             g_array_index(choice->params, Param, p).name);
        }
    }
    return names;
}

bool schemes_named(const char *text)
{
    g_auto(GStrv) words = g_strsplit_set(text, " =:,;()+", -1);

    for (char **word = words; *word; word++) {
        if (g_hash_table_contains(all_names(), *word)) {
            return true;
        }
    }
    return false;
}
