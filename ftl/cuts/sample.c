/*
 * A sample of moments: first one moment of each class (cuts/class.h), then
 * further moments, evenly over the run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/sample.h"
#include "random.h"

struct CutsSample {
    uint64_t random;
    uint64_t first, n; /* the first moment, and how many there are */
    GArray *kinds;     /* of CutsKind */
    GHashTable *where; /* by class: index in `kinds`, plus 1 */
};

CutsSample *cuts_sample_new(uint64_t seed)
{
    CutsSample *sample = g_new0(CutsSample, 1);

    sample->random = scarp_random_state(seed);
    sample->kinds = g_array_new(false, false, sizeof(CutsKind));
    sample->where = g_hash_table_new(NULL, NULL);
    return sample;
}

void cuts_sample_free(CutsSample *sample)
{
    g_array_unref(sample->kinds);
    g_hash_table_unref(sample->where);
    g_free(sample);
}

void cuts_sample_add(CutsSample *sample, uint64_t moment, CutsClass class)
{
    gpointer key = GUINT_TO_POINTER(class);
    guint at = GPOINTER_TO_UINT(g_hash_table_lookup(sample->where, key));
    CutsKind *kind;

    if (!sample->n++) {
        sample->first = moment;
    }
    if (!at) {
        g_array_append_vals(sample->kinds, &(CutsKind) { .class = class }, 1);
        at = sample->kinds->len;
        g_hash_table_insert(sample->where, key, GUINT_TO_POINTER(at));
    }
    kind = &g_array_index(sample->kinds, CutsKind, at - 1);
    kind->moments++;
    /*
     * Reservoir sampling: each moment of the class so far has the same chance
     * to be chosen.
     */
    if (!scarp_random_below(&sample->random, kind->moments)) {
        kind->chosen = moment;
    }
}

const GArray *cuts_sample_kinds(const CutsSample *sample)
{
    return sample->kinds;
}

static int by_rarity(gconstpointer a, gconstpointer b)
{
    const CutsKind *x = a, *y = b;

    if (x->moments != y->moments) {
        return x->moments < y->moments ? -1 : 1;
    }
    return (x->chosen > y->chosen) - (x->chosen < y->chosen);
}

static int by_number(gconstpointer a, gconstpointer b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

GArray *cuts_sample_choose(const CutsSample *sample, uint64_t count)
{
    GArray *chosen = g_array_new(false, false, sizeof(uint64_t));
    g_autoptr(GArray) kinds = g_array_copy(sample->kinds);
    g_autofree bool *is_chosen = g_new0(bool, sample->n + 1);
    uint64_t rest, at;

    count = MIN(count, sample->n);
    /*
     * chooses rare classes first: evenly chosen moments alone would miss them
     */
    g_array_sort(kinds, by_rarity);
    for (guint i = 0; i < MIN(count, kinds->len); i++) {
        at = g_array_index(kinds, CutsKind, i).chosen;
        is_chosen[at - sample->first] = true;
        g_array_append_val(chosen, at);
    }
    rest = count - chosen->len;
    for (uint64_t i = 0; i < rest; i++) {
        at = ((__uint128_t)sample->n * (2 * i + 1)) / (2 * rest);
        while (is_chosen[at % sample->n]) {
            at++;
        }
        is_chosen[at % sample->n] = true;
        at = sample->first + at % sample->n;
        g_array_append_val(chosen, at);
    }
    g_array_sort(chosen, by_number);
    return chosen;
}
