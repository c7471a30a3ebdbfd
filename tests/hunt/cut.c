/*
 * Power cuts in a scenario: what is there afterwards must be what NVMe permits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host.h"
#include "fail.h"
#include "kinds.h"

#include <string.h>

/* Of a key that is given twice the last one counts. */
bool host_is_set(const Run *r, const char *key)
{
    g_auto(GStrv) more = g_strsplit(r->as.keys ? r->as.keys : "", ",", -1);
    const char *value = scenario_key(r->s, key);

    for (char **item = more; *item; item++) {
        if (g_str_has_prefix(*item, key) && (*item)[strlen(key)] == '=') {
            value = *item + strlen(key) + 1;
        }
    }
    return value && strcmp(value, "0");
}

ScarpContract *cut_contract(const Run *r)
{
    ScarpTerms terms = {
        .sectors = scarp_drive_logical_bytes(r->drive) / SECTOR,
        .unit_sectors = scarp_drive_unit_bytes(r->drive) / SECTOR,
        .is_volatile = host_is_set(r, "controller.buffer_bytes") &&
                       !host_is_set(r, "controller.plp_bytes"),
        .deallocates = cut_deallocates(r->s),
    };

    return r->s->store && host_is_set(r, "nand.power_cuts")
               ? scarp_contract_new(&terms) : NULL;
}

bool cut_deallocates(const Scenario *s)
{
    const char *cuts = scenario_key(s, "nand.power_cuts");
    const char *recovery = scenario_key(s, "ftl.recovery");

    return g_strcmp0(cuts, "1") || !g_strcmp0(recovery, "2");
}

/* So many events more, and half of the time to the next one. */
static bool run_on(Run *r, uint32_t events, GError **error)
{
    int64_t now_ns, next_ns;

    for (uint32_t i = 0; i < events; i++) {
        next_ns = scarp_next_event_ns(r->drive);
        if (next_ns == SCARP_TIME_NEVER) {
            break;
        }
        if (!host_run_until(r, next_ns, error)) {
            return false;
        }
    }
    now_ns = scarp_now_ns(r->drive);
    next_ns = scarp_next_event_ns(r->drive);
    return next_ns == SCARP_TIME_NEVER ||
           host_run_until(r, now_ns + (next_ns - now_ns) / 2, error);
}

static void lose_row(Run *r, const Slot *slot)
{
    GArray *rows = r->result->rows;

    if (rows && !r->ended) {
        g_array_set_size(rows, MAX(rows->len, slot->number + 1));
        g_array_index(rows, Row, slot->number).lost = true;
    }
}

/* What was under way is the host's again, and nothing waits for it. */
static void forget_commands(Run *r)
{
    for (guint i = 0; i < r->all->len; i++) {
        Slot *slot = r->all->pdata[i];

        if (slot->flying) {
            slot->flying = false;
            lose_row(r, slot);
            g_ptr_array_add(r->idle, slot);
            r->own.accepted--;
        }
    }
    r->in_flight = 0;
    r->outstanding_sectors = r->outstanding_units = 0;
    r->latest_ns = SCARP_TIME_LAST;
}

static bool cut(Run *r, GError **error)
{
    ScarpDrive *drive = scarp_power_cut(r->drive, error);

    if (!drive) {
        return false;
    }
    r->drive = drive;
    r->held_ns = 0;
    forget_commands(r);
    host_know(r, r->as.keys);
    return scarp_check(drive, error);
}

/* As the model and the contract tell writes apart. */
static bool read_marks(const Run *r, uint32_t *found, GError **error)
{
    uint64_t sectors = scarp_drive_logical_bytes(r->drive) / SECTOR;
    g_autofree uint8_t *data = g_malloc(sectors * SECTOR);

    scarp_peek(r->drive, 0, sectors * SECTOR, data);
    for (uint64_t i = 0; i < sectors; i++) {
        found[i] = model_value(data + i * SECTOR);
        if (!model_is_whole(data + i * SECTOR, i)) {
            return fail(error, "after a power cut: sector %" G_GUINT64_FORMAT
                        " is not what was ever written there", i);
        }
    }
    return true;
}

static bool holds(void *opaque, uint64_t sector, uint32_t id)
{
    return ((const uint32_t *)opaque)[sector] == id;
}

static bool judge(Run *r, GError **error)
{
    uint64_t sectors = scarp_drive_logical_bytes(r->drive) / SECTOR;
    g_autofree uint32_t *found = g_new(uint32_t, sectors);
    g_autofree char *story = NULL;

    if (!r->contract) {
        return true;
    }
    if (!read_marks(r, found, error)) {
        return false;
    }
    if (r->result->kinds && !r->is_twin) {
        g_autofree char *kind = kind_of_drive(r);

        kinds_count(r->result->kinds, kind, 1);
    }
    story = scarp_contract_judge(r->contract, holds, found);
    if (story) {
        return fail(error, "after a power cut: %s", story);
    }
    scarp_contract_begin(r->contract, found);
    model_reset(r->model, found);
    return true;
}

bool cut_reloaded(Run *r, GError **error)
{
    uint64_t sectors = scarp_drive_logical_bytes(r->drive) / SECTOR;
    g_autofree uint32_t *found = NULL;

    scarp_contract_free(r->contract);
    r->contract = cut_contract(r);
    if (!r->contract) {
        return true;
    }
    found = g_new(uint32_t, sectors);
    if (!read_marks(r, found, error)) {
        return false;
    }
    scarp_contract_begin(r->contract, found);
    return true;
}

bool cut_step(Run *r, const Step *step, GError **error)
{
    bool ready = false;
    int64_t took_ns;

    if (!host_is_set(r, "nand.power_cuts")) {
        return true;
    }
    if (!run_on(r, step->sectors, error) || !cut(r, error)) {
        return false;
    }
    /* Once more, before it has recovered. */
    for (uint32_t i = 0; i < step->stream; i++) {
        if (!run_on(r, step->sector, error) || !cut(r, error)) {
            return false;
        }
    }
    took_ns = -scarp_now_ns(r->drive);
    while (!ready) {
        int64_t next_ns = scarp_next_event_ns(r->drive);

        ready = scarp_is_ready(r->drive);
        if (!ready && next_ns == SCARP_TIME_NEVER) {
            return fail(error, "stuck: it does not get ready after a power cut");
        }
        if (!ready && !host_run_until(r, next_ns, error)) {
            return false;
        }
    }
    r->progress_ns = scarp_now_ns(r->drive);
    r->result->phases++;
    took_ns += r->progress_ns;
    if (took_ns > scarp_recovery_bound_ns(r->drive)) {
        return fail(error, "it was ready after %" G_GINT64_FORMAT
                    " ns, and says at most %" G_GINT64_FORMAT, took_ns,
                    scarp_recovery_bound_ns(r->drive));
    }
    return scarp_check(r->drive, error) && judge(r, error);
}
