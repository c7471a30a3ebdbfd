/*
 * A drive from an image of the one before.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host.h"
#include "fail.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "scheme params seed keys"; "-" for none */
char *step_word(const Run *r, const Step *step, guint i)
{
    g_auto(GStrv) words = g_strsplit(r->s->texts->pdata[step->text], " ", -1);

    return i < g_strv_length(words) && strcmp(words[i], "-")
               ? g_strdup(words[i]) : NULL;
}

/*
 * The rest of the steps on the drive that was saved, and on the one that was
 * loaded: commands must meet the same.
 */
static bool same_future(Run *r, ScarpDrive *other, guint next, GError **error)
{
    Run saved = *r;
    RunResult result = { .commands = r->result->commands,
                         .fold = r->result->fold };
    g_autoptr(GArray) rows = g_array_new(false, true, sizeof(Row));
    g_autoptr(GArray) own_rows = g_array_new(false, true, sizeof(Row));
    GArray *outer_rows = r->result->rows;
    uint32_t first = r->result->commands;
    int64_t origin_ns = scarp_now_ns(r->drive);
    bool ok;

    result.rows = rows;
    saved.result = &result;
    saved.idle = g_ptr_array_new();
    saved.model = model_copy(r->model);
    saved.contract = r->contract ? scarp_contract_copy(r->contract) : NULL;
    saved.is_twin = true;
    saved.as = (As) { g_strdup(r->as.scheme), g_strdup(r->as.params),
                      g_strdup(r->as.keys), r->as.seed };
    /* The saved drive's clock goes on, the other's begins. */
    scarp_stats_reset(saved.drive);
    saved.own = (Own) { .since_ns = origin_ns };
    saved.submitted_ns = saved.completed_ns = origin_ns;
    ok = run_steps(&saved, next, error);
    for (guint i = first; i < rows->len; i++) {
        Row *row = &g_array_index(rows, Row, i);

        row->submit_ns -= row->drive == r->drives ? origin_ns : 0;
    }
    model_free(saved.model);
    scarp_contract_free(saved.contract);
    g_ptr_array_free(saved.idle, true);
    host_count(&saved);
    host_count_marks(&saved);
    host_forget(&saved.as);
    scarp_drive_free(saved.drive);
    r->drive = other;
    if (!ok) {
        g_prefix_error(error, "the drive that was saved: ");
        return false;
    }
    r->result->rows = own_rows;
    ok = run_steps(r, next, error);
    r->result->rows = outer_rows;
    for (guint i = first; outer_rows && i < own_rows->len; i++) {
        g_array_set_size(outer_rows, i);
        g_array_append_val(outer_rows, g_array_index(own_rows, Row, i));
    }
    r->ended = true;
    return ok && rows_same(own_rows, rows, first, 1, UINT32_MAX,
                           "a drive from an image", error);
}

bool reload(Run *r, const Step *step, guint next, GError **error)
{
    g_autofree char *scheme = step_word(r, step, 0);
    g_autofree char *params = step_word(r, step, 1);
    g_autofree char *seed = step_word(r, step, 2);
    g_autofree char *keys = step_word(r, step, 3);
    g_autofree char *path = g_strdup_printf("/dev/shm/hunt-%d.img",
                                            (int)getpid());
    g_autoptr(GError) refused = NULL;
    /* An image has no temperature. */
    bool same = !scheme && !seed && !keys && !r->is_twin &&
                !host_is_set(r, "heat.capacity_mj");
    uint64_t its_seed = seed ? strtoull(seed, NULL, 10) : r->as.seed;
    ScarpDrive *other;

    if (!host_drain(r, error) || !scarp_save(r->drive, path, error)) {
        return false;
    }
    same = same && r->held_ns <= scarp_now_ns(r->drive);
    other = scenario_build(r->s, path, scheme ? scheme : r->as.scheme,
                           scheme ? params : r->as.params, its_seed,
                           keys ? keys : r->as.keys, &refused);
    unlink(path);
    if (!other && same) {
        return fail(error, "its own image is refused: %s", refused->message);
    }
    if (!other && strstr(refused->message, "damaged") &&
        !strstr(refused->message, "gc.trigger_free_blocks=") &&
        !strstr(refused->message, "slc.most_blocks=")) {
        return fail(error, "an image that the drive wrote: %s",
                    refused->message);
    }
    if (!other) {
        return true; /* what the text asks for does not go with it */
    }
    r->own = (Own) { 0 };
    r->submitted_ns = r->completed_ns = r->held_ns = 0;
    r->as.seed = its_seed;
    r->drives++;
    if (same) {
        return same_future(r, other, next, error);
    }
    if (scheme) {
        host_know_scheme(r, scheme, params);
    }
    host_count(r);
    host_count_marks(r);
    scarp_drive_free(r->drive);
    r->drive = other;
    host_know(r, keys ? keys : r->as.keys);
    return host_check(r, error) && cut_reloaded(r, error);
}

