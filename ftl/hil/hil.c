/*
 * The host's path: firmware, host queue and device slots, host link,
 * completion.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/ops.h"

G_STATIC_ASSERT(STAGE__COUNT == SCARP_EVENTS_NEAR);

bool scarp_hil_init(ScarpDrive *drive, const ScarpConfig *config G_GNUC_UNUSED,
                    GError **error G_GNUC_UNUSED)
{
    drive->hil.unit_link_ns = (drive->geo.unit_bytes * 1000ull +
                               drive->desc.link_mbs - 1) /
                              drive->desc.link_mbs;
    return true;
}

/* ---- Stages ------------------------------------------------------------- */

static void stage_push(ScarpDrive *drive, ScarpStage stage, ScarpCmd *cmd,
                       int64_t due_ns)
{
    ScarpCmdQueue *queue = &drive->hil.stage[stage];
    bool first = !scarp_cmd_first(queue);

    cmd->due_ns = due_ns;
    scarp_cmd_push(queue, cmd);
    if (first) {
        scarp_event_set_near(drive, stage, due_ns);
    }
}

int64_t scarp_hil_link_ns(const ScarpDrive *drive, uint64_t bytes)
{
    if (bytes == drive->geo.unit_bytes) {
        return drive->hil.unit_link_ns;
    }
    return (bytes * 1000 + drive->desc.link_mbs - 1) / drive->desc.link_mbs;
}

/*
 * Queues the command's data for its direction of the link. The link carries one
 * transfer after the other in each direction.
 */
static void link_push(ScarpDrive *drive, ScarpStage stage, ScarpCmd *cmd)
{
    int64_t *free_ns = &drive->hil.link_free_ns[stage == STAGE_LINK_OUT];
    int64_t start_ns = MAX(scarp_time_ns(drive), *free_ns);

    *free_ns = start_ns + scarp_hil_link_ns(drive, cmd->length_bytes);
    stage_push(drive, stage, cmd, *free_ns);
}

void scarp_hil_submit(ScarpDrive *drive, ScarpCmd *cmd)
{
    ScarpStats *stats = &drive->stats;
    uint64_t *count[SCARP_OP__COUNT] = {
        &stats->reads, &stats->writes, &stats->write_zeroes,
        &stats->deallocates, &stats->flushes,
    };

    scarp_cause_start(drive, cmd);
    cmd->seq = scarp_next_seq(drive);
    cmd->record = UINT32_MAX;
    cmd->joined = false;
#ifdef SCARP_CHECKED
    scarp_hil_starves_submit(cmd);
#endif
    stats->cmds_accepted++;
    (*count[cmd->op])++;
    stats->read_bytes += cmd->op == SCARP_OP_READ ? cmd->length_bytes : 0;
    stats->write_bytes += cmd->op == SCARP_OP_WRITE ? cmd->length_bytes : 0;
    stage_push(drive, STAGE_FIRMWARE, cmd,
               scarp_time_ns(drive) + drive->desc.firmware_ns);
}

ScarpHilStep scarp_hil_stage_event(ScarpDrive *drive, ScarpStage stage,
                                   ScarpCmd **which)
{
    ScarpCmdQueue *queue = &drive->hil.stage[stage];
    ScarpCmd *cmd = *which = scarp_cmd_pop(queue);
    const ScarpCmd *next = scarp_cmd_first(queue);

    if (next) {
        scarp_event_set_near(drive, stage, next->due_ns);
    }
    switch (stage) {
    case STAGE_FIRMWARE:
        scarp_cause_until_now(drive, cmd, SCARP_CAUSE_CONTROLLER);
        scarp_cmd_push(&drive->hil.waiting, cmd);
        if (drive->scheme.hil->arrived) {
            drive->scheme.hil->arrived(drive, cmd);
        }
        return HIL_QUEUED;
    case STAGE_LINK_IN:
        scarp_cause_until_now(drive, cmd, SCARP_CAUSE_LINK);
        if (drive->scheme.hil->data_in) {
            drive->scheme.hil->data_in(drive, cmd);
        }
        return HIL_DATA_IN;
    default:
        scarp_cause_until_now(drive, cmd, SCARP_CAUSE_LINK);
        scarp_hil_complete(drive, cmd);
        return HIL_DATA_OUT;
    }
}

/* ---- The host queue ----------------------------------------------------- */

bool scarp_hil_dispatch_begin(ScarpDrive *drive)
{
    if (drive->hil.dispatching) {
        return false;
    }
    drive->hil.dispatching = true;
    return true;
}

void scarp_hil_dispatch_end(ScarpDrive *drive)
{
    drive->hil.dispatching = false;
}

ScarpCmd *scarp_hil_dispatch_next(ScarpDrive *drive)
{
    ScarpCmdQueue *waiting = &drive->hil.waiting;
    bool joins = false; /* the next write shares the slot of the last write */

    while ((joins || scarp_in_device(drive) < drive->desc.slots) &&
           scarp_cmd_first(waiting)) {
        ScarpCmd *cmd = drive->scheme.hil->pick(drive, waiting);

        if (!cmd) {
            return NULL;
        }
#ifdef SCARP_CHECKED
        scarp_hil_starves_picked(drive, cmd);
#endif
        scarp_mark_if(drive, joined_beyond_slots,
                      scarp_in_device(drive) >= drive->desc.slots);
        joins = cmd->joined;
        scarp_cause_until_now(drive, cmd, SCARP_CAUSE_HOST_QUEUE);
        scarp_in_device_change(drive, 1);
        if (cmd->op != SCARP_OP_WRITE) {
            return cmd;
        }
        link_push(drive, STAGE_LINK_IN, cmd);
    }
    return NULL;
}

/* ---- Completion --------------------------------------------------------- */

void scarp_hil_complete(ScarpDrive *drive, ScarpCmd *cmd)
{
    cmd->complete_ns = scarp_time_ns(drive);
    cmd->status = scarp_is_broken(drive) ? SCARP_STATUS_INTERNAL
                                         : SCARP_STATUS_OK;
    scarp_stat_completed(drive, cmd);
    scarp_in_device_change(drive, -1);
    if (drive->scheme.hil->ended) {
        drive->scheme.hil->ended(drive, cmd);
    }
    if (drive->scheme.ahead->host_cmd) {
        drive->scheme.ahead->host_cmd(drive, cmd);
    }
    if (drive->observer.cmd_done) {
        drive->observer.cmd_done(drive->observer.opaque, cmd);
    }
    scarp_cmd_push(&drive->hil.done, cmd);
}

bool scarp_hil_put(ScarpDrive *drive, ScarpCmd *cmd)
{
    if (--cmd->units_left) {
        return false;
    }
    if (G_UNLIKELY(cmd->split)) {
        scarp_cmd_keep_parts(cmd);
    }
    if (cmd->op == SCARP_OP_READ) {
        link_push(drive, STAGE_LINK_OUT, cmd);
        return false;
    }
    scarp_hil_complete(drive, cmd);
    return true;
}
