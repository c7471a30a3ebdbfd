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
        scarp_events_set(&drive->events, scarp_stage_source(drive, stage),
                         due_ns);
    }
}

/* Each direction of the link serves one transfer after the other. */
static void link_push(ScarpDrive *drive, uint32_t stage, ScarpCmd *cmd)
{
    int64_t *free_ns = &drive->link_free_ns[stage == STAGE_LINK_OUT];
    int64_t start = MAX(drive->now_ns, *free_ns);

    *free_ns = start + (cmd->length_bytes * 1000 + drive->d.link_mbs - 1) /
                           drive->d.link_mbs;
    stage_push(drive, stage, cmd, *free_ns);
}

static bool is_write(const ScarpCmd *cmd)
{
    return cmd->op == SCARP_OP_WRITE || cmd->op == SCARP_OP_WRITE_ZEROES;
}

static void dispatch(ScarpDrive *drive);

static void complete(ScarpDrive *drive, ScarpCmd *cmd)
{
    ScarpStats *stats = &drive->stats;
    uint64_t latency = drive->now_ns - cmd->submit_ns;

    cmd->complete_ns = drive->now_ns;
    cmd->status = drive->broken ? SCARP_STATUS_INTERNAL : SCARP_STATUS_OK;
    stats->cmds_completed++;
    for (int i = 0; i < SCARP_CAUSE__COUNT; i++) {
        stats->cause_ns[i] += cmd->cause_ns[i];
    }
    if (cmd->op == SCARP_OP_READ) {
        stats->read_latency_sum_ns += latency;
        stats->read_latency_max_ns = MAX(stats->read_latency_max_ns, latency);
    } else if (cmd->op == SCARP_OP_WRITE) {
        stats->write_latency_sum_ns += latency;
        stats->write_latency_max_ns = MAX(stats->write_latency_max_ns, latency);
    }
    if (is_write(cmd)) {
        *(cmd->older ? &cmd->older->newer : &drive->write_head) = cmd->newer;
        *(cmd->newer ? &cmd->newer->older : &drive->write_tail) = cmd->older;
    }
    drive->slots_used--;
    if (drive->observer.cmd_done) {
        drive->observer.cmd_done(drive->observer.opaque, cmd);
    }
    scarp_cmd_push(&drive->done, cmd);
    while (is_write(cmd) && drive->flushes.head &&
           (!drive->write_head ||
            drive->write_head->seq > drive->flushes.head->seq)) {
        ScarpCmd *flush = scarp_cmd_pop(&drive->flushes);

        close_interval(drive, flush, SCARP_CAUSE_ORDER);
        complete(drive, flush);
    }
    dispatch(drive);
}

static void put(ScarpDrive *drive, ScarpCmd *cmd)
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

/* ---- In-flight writes ------------------------------------------------- */

ScarpTx *scarp_inflight_find(const ScarpDrive *drive, uint32_t lpn)
{
    ScarpTx *tx = drive->inflight[lpn % SCARP_INFLIGHT_BUCKETS];

    while (tx && tx->lpn != lpn) {
        tx = tx->hash_next;
    }
    return tx;
}

static void inflight_remove(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpTx **link = &drive->inflight[tx->lpn % SCARP_INFLIGHT_BUCKETS];

    while (*link != tx) {
        link = &(*link)->hash_next;
    }
    *link = tx->hash_next;
}

static ScarpTx *tx_new(ScarpDrive *drive, ScarpCmd *cmd, TxKind kind,
                       uint32_t lpn)
{
    ScarpTx *tx = drive->free_tx;

    if (!tx) {
        ScarpTx *chunk = g_new0(ScarpTx, 256);

        g_ptr_array_add(drive->tx_chunks, chunk);
        for (int i = 0; i < 256; i++) {
            chunk[i].next = drive->free_tx;
            drive->free_tx = &chunk[i];
        }
        tx = drive->free_tx;
    }
    drive->free_tx = tx->next;
    memset(tx, 0, sizeof(*tx));
    tx->cmd = cmd;
    tx->kind = kind;
    tx->lpn = lpn;
    tx->seq = drive->next_seq++;
    tx->stream = cmd->stream;
    tx->origin = SCARP_ORIGIN_HOST;
    tx->mark_ns = drive->now_ns;
    return tx;
}

static void tx_free(ScarpDrive *drive, ScarpTx *tx)
{
    tx->next = drive->free_tx;
    drive->free_tx = tx;
}

/* ---- Reads ------------------------------------------------------------ */

static void copy_out(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                     const void *page)
{
    uint64_t page_start = (uint64_t)lpn * drive->d.page_bytes;
    uint64_t from = MAX(page_start, cmd->offset_bytes);
    uint64_t to = MIN(page_start + drive->d.page_bytes,
                      cmd->offset_bytes + cmd->length_bytes);
    char *out = cmd->data;

    if (!out) {
        return;
    }
    if (page) {
        memcpy(out + (from - cmd->offset_bytes),
               (const char *)page + (from - page_start), to - from);
    } else {
        memset(out + (from - cmd->offset_bytes), 0, to - from);
    }
}

static void write_ready(ScarpDrive *drive, ScarpTx *tx, const void *base);

/* The explanation of a command is that of the transaction that ended last. */
static void tx_put(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpCmd *cmd = tx->cmd;

    if (cmd->units_left == 1) {
        for (int i = 0; i < SCARP_CAUSE__COUNT; i++) {
            cmd->cause_ns[i] += tx->cause_ns[i];
        }
        cmd->mark_ns = drive->now_ns;
    }
    tx_free(drive, tx);
    put(drive, cmd);
}

static void read_done(ScarpDrive *drive, ScarpTx *tx)
{
    if (tx->rmw) {
        ScarpTx *write = tx->dependent;
        void *base = tx->data;

        write->cause_ns[SCARP_CAUSE_RMW] += drive->now_ns - write->mark_ns;
        write_ready(drive, write, base);
        scarp_store_release(drive, base);
        tx_free(drive, tx);
        return;
    }
    tx_put(drive, tx);
}

/* What the cells hold is sensed now; GC and writes may move it meanwhile. */
static void sense(ScarpDrive *drive, ScarpTx *tx, const void *page)
{
    if (!tx->rmw) {
        copy_out(drive, tx->cmd, tx->lpn, page);
    } else if (page) {
        tx->data = scarp_store_new(drive);
        memcpy(tx->data, page, drive->d.page_bytes);
    }
}

bool scarp_host_read_start(ScarpDrive *drive, ScarpTx *tx)
{
    uint32_t ppn = drive->l2p[tx->lpn];
    ScarpTx *write;

    if (ppn == tx->ppn) {
        scarp_check_oob(drive, ppn, tx->lpn);
        sense(drive, tx, scarp_store_get(drive, ppn));
        return true;
    }
    tx->cause_ns[SCARP_CAUSE_ORDER] += drive->now_ns - tx->mark_ns;
    write = tx->rmw ? NULL : scarp_inflight_find(drive, tx->lpn);
    if (ppn != SCARP_NONE && !(write && !write->rmw)) {
        tx->ppn = ppn;
        tx->plane = ppn / (drive->d.blocks_per_plane * drive->d.pages_per_block);
        scarp_tx_enqueue(drive, tx);
        return false;
    }
    sense(drive, tx, write ? write->data : NULL);
    read_done(drive, tx);
    return false;
}

static void read_queue(ScarpDrive *drive, ScarpTx *tx, uint32_t bytes)
{
    tx->ppn = drive->l2p[tx->lpn];
    tx->plane = tx->ppn / (drive->d.blocks_per_plane * drive->d.pages_per_block);
    tx->bytes = bytes;
    scarp_tx_enqueue(drive, tx);
}

static void read_page(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                      uint32_t bytes)
{
    ScarpTx *write = scarp_inflight_find(drive, lpn);

    if (write && !write->rmw) {
        copy_out(drive, cmd, lpn, write->data);
    } else if (drive->l2p[lpn] == SCARP_NONE) {
        drive->stats.unmapped_read_units++;
        copy_out(drive, cmd, lpn, NULL);
    } else {
        cmd->units_left++;
        read_queue(drive, tx_new(drive, cmd, TX_READ, lpn), bytes);
    }
}

/* ---- Writes ----------------------------------------------------------- */

static void supersede(ScarpDrive *drive, uint32_t lpn)
{
    ScarpTx *older = scarp_inflight_find(drive, lpn);

    if (older) {
        older->superseded = true;
        inflight_remove(drive, older);
    }
}

/* The bytes that the host did not write are known: program the page. */
static void write_ready(ScarpDrive *drive, ScarpTx *tx, const void *base)
{
    uint32_t end = tx->first_byte + tx->bytes;
    char *page = tx->data;
    ScarpTx *dependent = tx->dependent;

    if (page) {
        if (base) {
            memcpy(page, base, tx->first_byte);
            memcpy(page + end, (const char *)base + end,
                   drive->d.page_bytes - end);
        } else {
            memset(page, 0, tx->first_byte);
            memset(page + end, 0, drive->d.page_bytes - end);
        }
    }
    tx->rmw = false;
    tx->dependent = NULL;
    if (dependent) {
        dependent->cause_ns[SCARP_CAUSE_ORDER] +=
            drive->now_ns - dependent->mark_ns;
        write_ready(drive, dependent, page);
    }
    scarp_tx_enqueue(drive, tx);
}

static void write_page(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                       uint32_t first_byte, uint32_t bytes, const char *from)
{
    ScarpTx *older = scarp_inflight_find(drive, lpn);
    ScarpTx *tx = tx_new(drive, cmd, TX_PROGRAM, lpn);

    cmd->units_left++;
    tx->plane = scarp_alloc_plane(drive, lpn);
    tx->first_byte = first_byte;
    tx->bytes = bytes;
    if (drive->store_data) {
        tx->data = scarp_store_new(drive);
        if (from) {
            memcpy((char *)tx->data + first_byte, from, bytes);
        } else {
            memset((char *)tx->data + first_byte, 0, bytes);
        }
    }
    supersede(drive, lpn);
    tx->hash_next = drive->inflight[lpn % SCARP_INFLIGHT_BUCKETS];
    drive->inflight[lpn % SCARP_INFLIGHT_BUCKETS] = tx;
    drive->stats.host_written_units++;
    if (bytes == drive->d.page_bytes) {
        write_ready(drive, tx, NULL);
    } else if (older && older->rmw) {
        tx->rmw = true;
        older->dependent = tx;
    } else if (older) {
        write_ready(drive, tx, older->data);
    } else if (drive->l2p[lpn] == SCARP_NONE) {
        write_ready(drive, tx, NULL);
    } else {
        ScarpTx *read = tx_new(drive, cmd, TX_READ, lpn);

        tx->rmw = read->rmw = true;
        read->dependent = tx;
        drive->stats.rmw_reads++;
        read_queue(drive, read, drive->d.page_bytes);
    }
}

static void write_done(ScarpDrive *drive, ScarpTx *tx)
{
    drive->stats.host_page_programs++;
    if (tx->superseded) {
        drive->p2l[tx->ppn] = tx->lpn;
        scarp_store_release(drive, tx->data);
    } else {
        inflight_remove(drive, tx);
        scarp_map_commit(drive, tx->lpn, tx->ppn);
        scarp_store_put(drive, tx->ppn, tx->data);
    }
    tx_put(drive, tx);
}

void scarp_host_tx_done(ScarpDrive *drive, ScarpTx *tx)
{
    if (tx->kind == TX_READ) {
        drive->stats.host_page_reads++;
        read_done(drive, tx);
    } else {
        write_done(drive, tx);
    }
}

/* ---- Splitting a command into pages ----------------------------------- */

static void split_page(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                       uint32_t first_byte, uint32_t bytes, uint64_t done)
{
    bool whole = bytes == drive->d.page_bytes;
    const char *data = cmd->data;

    switch (cmd->op) {
    case SCARP_OP_READ:
        read_page(drive, cmd, lpn, bytes);
        break;
    case SCARP_OP_WRITE:
        write_page(drive, cmd, lpn, first_byte, bytes,
                   data ? data + done : NULL);
        break;
    default:
        if (whole) {
            bool mapped = drive->l2p[lpn] != SCARP_NONE ||
                          scarp_inflight_find(drive, lpn);

            drive->stats.deallocated_units += mapped;
            supersede(drive, lpn);
            scarp_map_unmap(drive, lpn);
        } else if (cmd->op == SCARP_OP_WRITE_ZEROES) {
            write_page(drive, cmd, lpn, first_byte, bytes, NULL);
        }
        break;
    }
}

static void translate(ScarpDrive *drive, ScarpCmd *cmd)
{
    uint64_t page_bytes = drive->d.page_bytes;
    uint64_t done = 0;

    if (cmd->op == SCARP_OP_FLUSH) {
        if (drive->write_head && drive->write_head->seq < cmd->seq) {
            scarp_cmd_push(&drive->flushes, cmd);
        } else {
            complete(drive, cmd);
        }
        return;
    }
    cmd->units_left = 1;
    while (done < cmd->length_bytes) {
        uint64_t at = cmd->offset_bytes + done;
        uint32_t first_byte = at % page_bytes;
        uint32_t bytes = MIN(page_bytes - first_byte, cmd->length_bytes - done);

        split_page(drive, cmd, at / page_bytes, first_byte, bytes, done);
        done += bytes;
    }
    put(drive, cmd);
}

static void dispatch(ScarpDrive *drive)
{
    if (drive->dispatching) {
        return;
    }
    drive->dispatching = true;
    while (drive->slots_used < drive->d.slots && drive->waiting.head) {
        ScarpCmd *cmd = drive->scheme->hil->pick(&drive->waiting);

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

void scarp_stage_event(ScarpDrive *drive, uint32_t stage)
{
    CmdQueue *queue = &drive->stage[stage];
    ScarpCmd *cmd = scarp_cmd_pop(queue);

    scarp_events_set(&drive->events, scarp_stage_source(drive, stage),
                     queue->head ? queue->head->due_ns : SCARP_TIME_NEVER);
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
    scarp_run(drive, now_ns);
    memset(cmd->cause_ns, 0, sizeof(cmd->cause_ns));
    cmd->submit_ns = cmd->mark_ns = now_ns;
    cmd->seq = drive->next_seq++;
    cmd->older = cmd->newer = NULL;
    stats->cmds_accepted++;
    (*count[cmd->op])++;
    stats->read_bytes += cmd->op == SCARP_OP_READ ? cmd->length_bytes : 0;
    stats->write_bytes += cmd->op == SCARP_OP_WRITE ? cmd->length_bytes : 0;
    if (is_write(cmd)) {
        cmd->older = drive->write_tail;
        *(cmd->older ? &cmd->older->newer : &drive->write_head) = cmd;
        drive->write_tail = cmd;
    }
    stage_push(drive, STAGE_FIRMWARE, cmd, now_ns + drive->d.firmware_ns);
}
