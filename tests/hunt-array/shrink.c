/*
 * A scenario that fails, made small: steps are cut, keys dropped, numbers
 * halved, as long as it fails in the same way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "shrink.h"

#include <string.h>

typedef struct {
    ArrayScenario *best;
    ChildWork work;
    Report *report;
    const char *signature;
    int64_t until_us;
    bool better; /* in this round */
} State;

/* Takes the candidate, and keeps it if it still fails in the same way. */
static void try(State *state, ArrayScenario *candidate)
{
    Failure failure;
    bool same = false;

    if (g_get_monotonic_time() < state->until_us &&
        !child_run(state->work, candidate, state->report, &failure)) {
        g_autofree char *signature = child_signature(&failure);

        same = !strcmp(signature, state->signature);
    }
    array_scenario_free(same ? state->best : candidate);
    if (same) {
        state->best = candidate;
        state->better = true;
    }
}

/* Halves, then quarters, … then single ones; the last matter least. */
static void cut_steps(State *state)
{
    for (guint n = state->best->steps->len / 2; n; n /= 2) {
        for (guint end = state->best->steps->len; end;) {
            guint at = end > n ? end - n : 0;
            ArrayScenario *candidate = array_scenario_copy(state->best);

            g_array_remove_range(candidate->steps, at, end - at);
            try(state, candidate);
            end = MIN(at, state->best->steps->len);
        }
    }
}

static void cut_keys(State *state)
{
    for (guint i = state->best->keys->len; i-- > 0;) {
        ArrayScenario *candidate = array_scenario_copy(state->best);

        g_ptr_array_remove_index(candidate->keys, i);
        try(state, candidate);
    }
}

static void halve_numbers(State *state)
{
    for (guint i = state->best->steps->len; i-- > 0;) {
        for (unsigned k = 0; k < 3; k++) {
            const ArrayStep *step = &g_array_index(state->best->steps,
                                                   ArrayStep, i);
            ArrayScenario *candidate;

            if (!step->value[k] || step->op == STEP_TAMPER) {
                continue;
            }
            candidate = array_scenario_copy(state->best);
            g_array_index(candidate->steps, ArrayStep, i).value[k] /= 2;
            try(state, candidate);
        }
    }
}

static void make_array_small(State *state)
{
    for (unsigned i = 0; i < 3; i++) {
        ArrayScenario *candidate = array_scenario_copy(state->best);

        if (i == 0) {
            candidate->drives = MAX(candidate->drives - 1, 1);
        } else {
            candidate->stripes = i == 1 ? MAX(candidate->stripes / 2, 1)
                                        : MAX(candidate->stripes - 1, 1);
        }
        if (candidate->drives == state->best->drives &&
            candidate->stripes == state->best->stripes) {
            array_scenario_free(candidate);
        } else {
            try(state, candidate);
        }
    }
}

ArrayScenario *array_shrink(ArrayScenario *s, ChildWork work, Report *report,
                            const char *signature, unsigned seconds)
{
    State state = {
        .best = s, .work = work, .report = report, .signature = signature,
        .until_us = g_get_monotonic_time() + seconds * G_USEC_PER_SEC,
        .better = true,
    };

    while (state.better && g_get_monotonic_time() < state.until_us) {
        state.better = false;
        cut_steps(&state);
        make_array_small(&state);
        cut_keys(&state);
        halve_numbers(&state);
    }
    return state.best;
}
