/*
 * A scenario, step by step, under the laws that any drive keeps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host.h"

static bool switch_scheme(Run *r, const Step *step, GError **error)
{
    g_autofree char *scheme = step_word(r, step, 0);
    g_autofree char *params = step_word(r, step, 1);
    Log *log = r->result->log;

    /* A log knows of no switch between two events of one time. */
    if (log && !host_run_until(r, scarp_now_ns(r->drive), error)) {
        return false;
    }
    if (scarp_drive_set_scheme(r->drive, scheme, params, NULL)) {
        r->result->phases++;
        host_know_scheme(r, scheme, params);
        if (log && log->all) {
            export_change(log, scarp_now_ns(r->drive), scheme, params);
        }
    }
    return host_reap(r, error);
}

static bool one_step(Run *r, guint at, GError **error)
{
    const Step *step = &g_array_index(r->s->steps, Step, at);
    int64_t now_ns = scarp_now_ns(r->drive);

    if (step->kind > STEP_PACE && step->kind != STEP_IDLE &&
        step->kind != STEP_SCHEME && step->kind != STEP_RESET &&
        r->result->log) {
        r->result->log->all = false;
    }
    switch (step->kind) {
    case STEP_PACE:
        r->depth = MIN(step->sector, MOST_DEPTH);
        r->open = step->open;
        r->most_commands = r->in_flight;
        r->most_sectors = r->outstanding_sectors;
        return true;
    case STEP_SCHEME:
        return switch_scheme(r, step, error);
    case STEP_DRAIN:
        return host_drain(r, error);
    case STEP_POWER_CUT:
        return cut_step(r, step, error);
    case STEP_RELOAD:
        return reload(r, step, at + 1, error);
    case STEP_COLLECT:
        scarp_collect_now(r->drive, step->sectors);
        return host_reap(r, error);
    case STEP_HOLD:
        r->held_ns = now_ns + step->gap_ns;
        scarp_hold_collections(r->drive, r->held_ns);
        return host_reap(r, error);
    case STEP_CLOSE:
        if (scarp_unit_stats(r->drive)) {
            scarp_close_units(r->drive,
                              step->stream % scarp_drive_streams(r->drive));
        }
        return host_reap(r, error);
    case STEP_RESET:
        /* Only at rest are the host's own sums those of the drive. */
        if (!host_rest(r, error)) {
            return false;
        }
        host_count(r);
        scarp_stats_reset(r->drive);
        r->own = (Own) { .since_ns = scarp_now_ns(r->drive) };
        return true;
    case STEP_IDLE:
        return host_run_until(r, now_ns + step->gap_ns, error);
    default:
        return host_command(r, step, error);
    }
}

/* Every sector, once more. */
static bool read_all(Run *r, GError **error)
{
    uint64_t sectors = host_sectors(r);
    uint32_t most = 64;

    if (r->result->contents) {
        g_array_set_size(r->result->contents, sectors);
    }
    r->ended = true;
    r->result->log = NULL;
    r->depth = 8;
    r->open = false;
    for (uint64_t at = 0; at < sectors; at += most) {
        Step read = { .kind = (uint8_t)SCARP_OP_READ, .sector = at,
                      .sectors = most };

        if (!host_command(r, &read, error)) {
            return false;
        }
        r->result->commands--;
    }
    return host_rest(r, error);
}

bool run_steps(Run *r, guint from, GError **error)
{
    for (guint i = from; i < r->s->steps->len && !r->ended; i++) {
        if (!one_step(r, i, error)) {
            return false;
        }
    }
    return r->ended ||
           (host_drain(r, error) && (!r->s->store || read_all(r, error)) &&
            host_check(r, error));
}

bool run_scenario(const Scenario *s, RunResult *result, GError **error)
{
    GArray *rows = result->rows;
    Run r = { .s = s, .result = result, .depth = 1, .as.seed = s->seed,
              .idle = g_ptr_array_new(), .all = g_ptr_array_new() };
    bool ok;

    *result = (RunResult) { .rows = rows, .kinds = result->kinds,
                            .log = result->log,
                            .fold = result->fold,
                            .contents = result->contents };
    r.drive = scenario_drive(s, error);
    if (!r.drive) {
        return false;
    }
    r.model = model_new(scarp_drive_logical_bytes(r.drive) / SECTOR,
                        scarp_drive_unit_bytes(r.drive) / SECTOR,
                        cut_deallocates(s));
    r.contract = cut_contract(&r);
    host_know(&r, NULL);
    host_know_scheme(&r, s->scheme, s->params);
    ok = scarp_check(r.drive, error) && run_steps(&r, 0, error);
    host_count(&r);
    host_count_marks(&r);
    for (guint i = 0; i < r.all->len; i++) {
        g_free(((Slot *)r.all->pdata[i])->data);
        g_free(r.all->pdata[i]);
    }
    g_ptr_array_free(r.all, true);
    g_ptr_array_free(r.idle, true);
    model_free(r.model);
    scarp_contract_free(r.contract);
    host_forget(&r.as);
    scarp_drive_free(r.drive);
    return ok;
}
