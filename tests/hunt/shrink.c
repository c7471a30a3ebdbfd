/*
 * A scenario that fails, made as small as one that fails in the same way:
 * steps cut, keys back to what they are by themselves, numbers halved, the
 * scheme reduced, for as long as something helps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "shrink.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Shrink *shrink;
    Scenario *best;
    int64_t until_us;
    bool better; /* in this round */
} State;

static bool time_is_up(const State *state)
{
    return g_get_monotonic_time() >= state->until_us;
}

/* Takes the candidate, and keeps it if it still fails in the same way. */
static bool try(State *state, Scenario *candidate)
{
    Failure failure;
    bool same = false;

    if (!time_is_up(state)) {
        state->shrink->tries++;
        if (!child_run(state->shrink->work, candidate, state->shrink->report,
                       &failure)) {
            g_autofree char *signature = child_signature(&failure);

            same = !strcmp(signature, state->shrink->signature);
        }
    }
    if (same) {
        scenario_free(state->best);
        state->best = candidate;
        state->better = true;
    } else {
        scenario_free(candidate);
    }
    return same;
}

static bool try_without_steps(State *state, guint at, guint n)
{
    Scenario *candidate = scenario_copy(state->best);

    g_array_remove_range(candidate->steps, at, n);
    return try(state, candidate);
}

/* Halves, then quarters, … then single ones. */
static void cut_steps(State *state)
{
    for (guint n = state->best->steps->len / 2; n; n /= 2) {
        /* What comes last matters least: it may not even be reached. */
        for (guint end = state->best->steps->len; end;) {
            guint at = end > n ? end - n : 0;

            try_without_steps(state, at, end - at);
            end = at;
        }
    }
}

static void cut_keys(State *state)
{
    for (guint n = state->best->keys->len; n; n /= 2) {
        for (guint end = state->best->keys->len; end;) {
            guint at = end > n ? end - n : 0;
            Scenario *candidate = scenario_copy(state->best);

            g_ptr_array_remove_range(candidate->keys, at, end - at);
            try(state, candidate);
            end = at;
        }
    }
}

static bool try_key(State *state, guint at, uint64_t value)
{
    Scenario *candidate = scenario_copy(state->best);
    char *key = candidate->keys->pdata[at];

    candidate->keys->pdata[at] =
        g_strdup_printf("%.*s=%" G_GUINT64_FORMAT,
                        (int)(strchr(key, '=') - key), key, value);
    g_free(key);
    return try(state, candidate);
}

/* Half of it, or one less: a page size cannot be one less. */
static void halve_keys(State *state)
{
    for (guint i = 0; i < state->best->keys->len; i++) {
        for (;;) {
            const char *text = strchr(state->best->keys->pdata[i], '=') + 1;
            char *end;
            uint64_t value = strtoull(text, &end, 10);

            if (end == text || *end || value < 2 ||
                (!try_key(state, i, value / 2) &&
                 (value > 64 || !try_key(state, i, value - 1)))) {
                break;
            }
        }
    }
}

static void reduce_scheme(State *state)
{
    g_auto(GStrv) words = g_strsplit(state->best->scheme, "+", -1);
    Scenario *candidate = scenario_copy(state->best);

    g_free(candidate->params);
    candidate->params = NULL;
    if (!state->best->params || try(state, candidate)) {
        candidate = scenario_copy(state->best);
        g_free(candidate->scheme);
        candidate->scheme = g_strdup("baseline");
        if (!strcmp(state->best->scheme, "baseline")) {
            scenario_free(candidate);
            return;
        }
        if (try(state, candidate)) {
            return;
        }
    }
    for (guint i = 0; g_strv_length(words) > 1 && words[i]; i++) {
        g_autoptr(GString) less = g_string_new(NULL);

        for (guint k = 0; words[k]; k++) {
            if (k != i) {
                g_string_append_printf(less, "%s%s", less->len ? "+" : "",
                                       words[k]);
            }
        }
        candidate = scenario_copy(state->best);
        g_free(candidate->scheme);
        candidate->scheme = g_strdup(less->str);
        if (try(state, candidate)) {
            return; /* the next round goes on */
        }
    }
}

static void reduce_params(State *state)
{
    g_auto(GStrv) words = g_strsplit(state->best->params
                                         ? state->best->params : "", ",", -1);

    for (guint i = 0; g_strv_length(words) > 1 && words[i]; i++) {
        Scenario *candidate = scenario_copy(state->best);
        g_autoptr(GString) less = g_string_new(NULL);

        for (guint k = 0; words[k]; k++) {
            if (k != i) {
                g_string_append_printf(less, "%s%s", less->len ? "," : "",
                                       words[k]);
            }
        }
        g_free(candidate->params);
        candidate->params = g_strdup(less->str);
        if (try(state, candidate)) {
            return;
        }
    }
}

/* One change of the head of the scenario; false: it is so already. */
static bool simplify_head(Scenario *s, int which)
{
    const Scenario was = *s;

    switch (which) {
    case 0:
        s->age_permille = 0;
        break;
    case 1:
        s->overwrite_permille = 0;
        break;
    case 2:
        s->random_age = false;
        break;
    case 3:
        s->seed = 1;
        break;
    case 4:
        s->age_seed = 1;
        break;
    case 5:
        s->store = false;
        break;
    case 6:
        s->age_permille /= 2;
        break;
    case 7:
        s->overwrite_permille = MIN(s->overwrite_permille, 2000) / 2;
        break;
    case 8:
        if (!s->meta) {
            return false;
        }
        g_free(s->meta);
        s->meta = NULL;
        break;
    default:
        return false;
    }
    return memcmp(&was, s, sizeof(was));
}

/* One change of a step; false: it is so already. */
static bool simplify_step(Step *step, int which)
{
    const Step was = *step;

    switch (which) {
    case 0:
        step->gap_ns = step->kind < STEP_PACE ? 0 : step->gap_ns / 2;
        break;
    case 1:
        step->deadline_ns = 0;
        break;
    case 2:
        step->fua = false;
        break;
    case 3:
        step->stream = 0;
        step->lane = step->kind < STEP_PACE ? 0 : step->lane;
        break;
    case 4:
        step->sectors = MIN(step->sectors, 1);
        break;
    case 5:
        step->sectors = (step->sectors + 1) / 2;
        break;
    case 6:
        step->open = false;
        break;
    case 7:
        step->sector /= step->kind == STEP_PACE ? 2 : 1;
        break;
    case 8:
        step->sector = step->kind < STEP_PACE ? 0 : step->sector;
        break;
    default:
        return false;
    }
    return memcmp(&was, step, sizeof(was));
}

#define STEP_CHANGES 9
#define HEAD_CHANGES 9

static void simplify(State *state, guint at, guint n)
{
    for (int which = 0; which < STEP_CHANGES; which++) {
        Scenario *candidate = scenario_copy(state->best);
        bool changed = false;

        for (guint i = at; i < at + n; i++) {
            changed |= simplify_step(&g_array_index(candidate->steps, Step, i),
                                     which);
        }
        if (changed) {
            try(state, candidate);
        } else {
            scenario_free(candidate);
        }
    }
}

static void simplify_all(State *state)
{
    guint n = state->best->steps->len;

    for (int which = 0; which < HEAD_CHANGES; which++) {
        Scenario *candidate = scenario_copy(state->best);

        if (simplify_head(candidate, which)) {
            try(state, candidate);
        } else {
            scenario_free(candidate);
        }
    }
    simplify(state, 0, n);
    for (guint i = 0; n <= 64 && i < n; i++) {
        simplify(state, i, 1);
    }
}

Scenario *shrink(Shrink *shrink, const Scenario *s)
{
    State state = {
        .shrink = shrink, .best = scenario_copy(s), .better = true,
        .until_us = g_get_monotonic_time() + shrink->seconds * 1000000ll,
    };

    while (state.better && !time_is_up(&state)) {
        state.better = false;
        cut_steps(&state);
        cut_keys(&state);
        reduce_scheme(&state);
        reduce_params(&state);
        simplify_all(&state);
        halve_keys(&state);
    }
    return state.best;
}
