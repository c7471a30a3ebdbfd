/*
 * Host path: firmware, device slots, host DMA, FTL, completion.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

static void close_interval(ScarpDrive *drive, ScarpCmd *cmd, ScarpCause cause)
{
    cmd->cause_ns[cause] += drive->now_ns - cmd->mark_ns;
    cmd->mark_ns = drive->now_ns;
}

static void stage_push(ScarpDrive *drive, uint32_t stage, ScarpCmd *cmd,
                       int64_t due_ns)
{
    bool first = !drive->stage[stage].head;

    cmd->due_ns = due_ns;
    scarp_cmd_push(&drive->stage[stage], cmd);
    if (first) {
        scarp_events_set_near(&drive->events, stage, due_ns);
    }
}

static int64_t link_ns(const ScarpDrive *drive, uint64_t bytes)
{
    if (bytes == drive->unit_bytes) {
        return drive->unit_link_ns;
    }
    return (bytes * 1000 + drive->d.link_mbs - 1) / drive->d.link_mbs;
}

/* Each direction of the link serves one transfer after the other. */
static void link_push(ScarpDrive *drive, uint32_t stage, ScarpCmd *cmd)
{
    int64_t *free_ns = &drive->link_free_ns[stage == STAGE_LINK_OUT];
    int64_t start = MAX(drive->now_ns, *free_ns);

    *free_ns = start + link_ns(drive, cmd->length_bytes);
    stage_push(drive, stage, cmd, *free_ns);
}

static void dispatch(ScarpDrive *drive);

static void add_causes(const ScarpCmd *cmd, uint64_t *all, uint64_t *bucket)
{
    /* volatile: one by one; two at once would wait for what was just stored */
    const volatile int64_t *cause_ns = cmd->cause_ns;

#pragma GCC unroll 32
    for (int i = 0; i < SCARP_CAUSE__COUNT; i++) {
        int64_t ns = cause_ns[i];

        all[i] += ns;
        bucket[i] += ns;
    }
}

static void count(ScarpDrive *drive, const ScarpCmd *cmd)
{
    ScarpStats *stats = &drive->stats;
    uint64_t latency = cmd->complete_ns - cmd->submit_ns;

    stats->cmds_completed++;
    if (cmd->seq < drive->first_counted_seq) {
        return;
    }
    if (cmd->op == SCARP_OP_READ) {
        stats->read_latency_sum_ns += latency;
        stats->read_latency_max_ns = MAX(stats->read_latency_max_ns, latency);
        add_causes(cmd, stats->cause_ns, scarp_latency_add(drive, cmd));
    } else if (cmd->op == SCARP_OP_WRITE) {
        stats->write_latency_sum_ns += latency;
        stats->write_latency_max_ns = MAX(stats->write_latency_max_ns, latency);
        add_causes(cmd, stats->cause_ns, scarp_latency_add(drive, cmd));
    } else {
        uint64_t no_bucket[SCARP_CAUSE__COUNT] = { 0 };

        add_causes(cmd, stats->cause_ns, no_bucket);
    }
}

static void complete(ScarpDrive *drive, ScarpCmd *cmd)
{
    cmd->complete_ns = drive->now_ns;
    cmd->status = drive->broken ? SCARP_STATUS_INTERNAL : SCARP_STATUS_OK;
    count(drive, cmd);
    drive->slots_used--;
    if (drive->scheme.ahead->host_cmd) {
        drive->scheme.ahead->host_cmd(drive, cmd);
    }
    if (drive->observer.cmd_done) {
        drive->observer.cmd_done(drive->observer.opaque, cmd);
    }
    scarp_cmd_push(&drive->done, cmd);
    dispatch(drive);
}

void scarp_cmd_put(ScarpDrive *drive, ScarpCmd *cmd)
{
    if (--cmd->units_left) {
        return;
    }
    if (cmd->op == SCARP_OP_READ) {
        link_push(drive, STAGE_LINK_OUT, cmd);
    } else {
        complete(drive, cmd);
    }
}

void scarp_flushes_done(ScarpDrive *drive)
{
    while (drive->flushes.head &&
           (!drive->dirty_head ||
            drive->dirty_head->seq > drive->flushes.head->order)) {
        ScarpCmd *flush = scarp_cmd_pop(&drive->flushes);

        close_interval(drive, flush, SCARP_CAUSE_ORDER);
        complete(drive, flush);
    }
}

static void deallocate(ScarpDrive *drive, ScarpCmd *cmd)
{
    uint64_t end = cmd->offset_bytes + cmd->length_bytes;
    uint32_t lpn = scarp_bytes_lpn(drive, cmd->offset_bytes +
                                              drive->unit_bytes - 1);

    /* Only whole units: the rest keeps its data, as NVMe allows. */
    for (; (uint64_t)(lpn + 1) * drive->unit_bytes <= end; lpn++) {
        scarp_buffer_deallocate(drive, lpn);
    }
    scarp_cmd_put(drive, cmd);
    scarp_flushes_done(drive);
    scarp_buffer_admit(drive);
}

static void translate(ScarpDrive *drive, ScarpCmd *cmd)
{
    cmd->units_left = 1;
    switch (cmd->op) {
    case SCARP_OP_READ:
        scarp_read_split(drive, cmd);
        scarp_cmd_put(drive, cmd);
        break;
    case SCARP_OP_WRITE:
    case SCARP_OP_WRITE_ZEROES:
        scarp_buffer_write(drive, cmd);
        break;
    case SCARP_OP_DEALLOCATE:
        deallocate(drive, cmd);
        break;
    default:
        cmd->order = drive->next_seq++;
        scarp_cmd_push(&drive->flushes, cmd);
        scarp_buffer_drain(drive, cmd->order);
        scarp_flushes_done(drive);
        break;
    }
}

static void dispatch(ScarpDrive *drive)
{
    if (drive->dispatching) {
        return;
    }
    drive->dispatching = true;
    while (drive->slots_used < drive->d.slots && drive->waiting.head) {
        ScarpCmd *cmd = drive->scheme.hil->pick(drive, &drive->waiting);

        close_interval(drive, cmd, SCARP_CAUSE_HOST_QUEUE);
        drive->slots_used++;
        if (cmd->op == SCARP_OP_WRITE) {
            link_push(drive, STAGE_LINK_IN, cmd);
        } else {
            translate(drive, cmd);
        }
    }
    drive->dispatching = false;
}

void scarp_timer_set(ScarpDrive *drive, int64_t time_ns)
{
    scarp_events_set(&drive->events, scarp_timer_source(drive), time_ns);
}

void scarp_timer_event(ScarpDrive *drive)
{
    if (drive->scheme.ahead->timer) {
        drive->scheme.ahead->timer(drive);
    }
}

void scarp_stage_event(ScarpDrive *drive, uint32_t stage)
{
    CmdQueue *queue = &drive->stage[stage];
    ScarpCmd *cmd = scarp_cmd_pop(queue);

    if (queue->head) {
        scarp_events_set_near(&drive->events, stage, queue->head->due_ns);
    }
    switch (stage) {
    case STAGE_FIRMWARE:
        close_interval(drive, cmd, SCARP_CAUSE_CONTROLLER);
        scarp_cmd_push(&drive->waiting, cmd);
        dispatch(drive);
        break;
    case STAGE_LINK_IN:
        close_interval(drive, cmd, SCARP_CAUSE_LINK);
        translate(drive, cmd);
        break;
    default:
        close_interval(drive, cmd, SCARP_CAUSE_LINK);
        complete(drive, cmd);
        break;
    }
}

void scarp_expect(const ScarpDrive *drive, uint64_t offset_bytes)
{
    uint32_t lpn = scarp_bytes_lpn(drive, offset_bytes);

    if (lpn < drive->logical_units) {
        __builtin_prefetch(&drive->l2p[lpn]);
        if (drive->dirty_head) {
            __builtin_prefetch(&drive->hash[lpn & drive->hash_mask], 1);
        }
    }
}

void scarp_submit(ScarpDrive *drive, ScarpCmd *cmd, int64_t now_ns)
{
    ScarpStats *stats = &drive->stats;
    uint64_t *count[SCARP_OP__COUNT] = {
        &stats->reads, &stats->writes, &stats->write_zeroes,
        &stats->deallocates, &stats->flushes,
    };

    g_assert(now_ns >= drive->now_ns);
    g_assert(cmd->op == SCARP_OP_FLUSH ||
             cmd->offset_bytes + cmd->length_bytes <=
                 scarp_drive_logical_bytes(drive));
    if (cmd->op <= SCARP_OP_WRITE) {
        /* Looked up when the firmware, or the link, is done with it. */
        scarp_expect(drive, cmd->offset_bytes);
    }
    if (scarp_events_until(&drive->events, now_ns)) {
        scarp_run(drive, now_ns);
    }
    drive->now_ns = now_ns;
    scarp_clear(cmd->cause_ns, sizeof(cmd->cause_ns));
    cmd->submit_ns = cmd->mark_ns = now_ns;
    cmd->seq = drive->next_seq++;
    stats->cmds_accepted++;
    (*count[cmd->op])++;
    stats->read_bytes += cmd->op == SCARP_OP_READ ? cmd->length_bytes : 0;
    stats->write_bytes += cmd->op == SCARP_OP_WRITE ? cmd->length_bytes : 0;
    stage_push(drive, STAGE_FIRMWARE, cmd, now_ns + drive->d.firmware_ns);
}
