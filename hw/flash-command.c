/*
 * Scarp: NVMe commands as commands of the flash engine
 *
 * hw/nvme gets a BlockAIOCB for each command, and may cancel the AIOCB at any
 * time. A cancelled AIOCB completes at once and is cut off from the engine's
 * command. The engine's command keeps the data buffer and goes on to its end
 * unseen; later commands on the same bytes wait for this end (flash-admit.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/iov.h"
#include "qemu/units.h"
#include "block/aio.h"
#include "system/block-backend.h"
#include "system/dma.h"
#include "flash-int.h"

/*
 * Limits of the buffers that are kept for reuse: the size of a single buffer,
 * and the sum of all buffers.
 */
#define KEEP_BUFFER_BYTES MiB
#define KEEP_BYTES (256 * MiB)
#define DRAIN_EVENT_TIMES (100 * 1000 * 1000)
/*
 * The engine gets a deallocation or a write of zeroes in pieces of at most
 * these sizes. A row of the command log has 32 bits for the length, but the
 * reset of a large zone may be longer.
 */
#define DEALLOCATE_BYTES GiB
#define ZEROES_BYTES (2 * GiB)

static const ScarpOp ops[] = {
    [NVME_NS_IO_READ] = SCARP_OP_READ,
    [NVME_NS_IO_WRITE] = SCARP_OP_WRITE,
    [NVME_NS_IO_WRITE_ZEROES] = SCARP_OP_WRITE_ZEROES,
    [NVME_NS_IO_DISCARD] = SCARP_OP_DEALLOCATE,
    [NVME_NS_IO_FLUSH] = SCARP_OP_FLUSH,
};

static uint64_t piece_bytes(ScarpOp op)
{
    return op == SCARP_OP_DEALLOCATE ? DEALLOCATE_BYTES :
           op == SCARP_OP_WRITE_ZEROES ? ZEROES_BYTES : UINT64_MAX;
}

static FlashCmd *get_cmd(NvmeFlash *flash)
{
    FlashCmd *cmd = flash->admit.free;

    if (cmd) {
        flash->admit.free = cmd->next_free;
    } else {
        cmd = g_new0(FlashCmd, 1);
    }
    *cmd = (FlashCmd) {
        .buffer = cmd->buffer,
        .buffer_bytes = cmd->buffer_bytes,
    };
    return cmd;
}

static void resize_buffer(NvmeFlash *flash, FlashCmd *cmd, size_t bytes)
{
    flash->admit.buffer_bytes -= cmd->buffer_bytes;
    g_free(cmd->buffer);
    cmd->buffer = bytes ? g_malloc(bytes) : NULL;
    cmd->buffer_bytes = bytes;
    flash->admit.buffer_bytes += bytes;
}

static void put_cmd(NvmeFlash *flash, FlashCmd *cmd)
{
    if (cmd->buffer_bytes > KEEP_BUFFER_BYTES ||
        flash->admit.buffer_bytes > KEEP_BYTES) {
        resize_buffer(flash, cmd, 0);
    }
    cmd->next_free = flash->admit.free;
    flash->admit.free = cmd;
}

void nvme_flash_free_cmds(NvmeFlash *flash)
{
    FlashCmd *cmd;

    while ((cmd = flash->admit.free)) {
        flash->admit.free = cmd->next_free;
        g_free(cmd->buffer);
        g_free(cmd);
    }
}

/*
 * Moves data between cmd->buffer and the guest's memory, or QEMU's own memory
 * (cmd->iov). Returns 0, or -EFAULT if the guest's address has no memory that a
 * device may use.
 */
static int copy_data(FlashCmd *cmd, DMADirection dir)
{
    size_t bytes = cmd->cmd.length_bytes;
    MemReentrancyGuard *guard;
    MemTxResult result;
    bool engaged;

    if (cmd->iov) {
        if (dir == DMA_DIRECTION_FROM_DEVICE) {
            qemu_iovec_from_buf(cmd->iov, 0, cmd->buffer, bytes);
        } else {
            qemu_iovec_to_buf(cmd->iov, 0, cmd->buffer, bytes);
        }
        return 0;
    }

    /*
     * The guest may have given the address of a register of the controller as
     * the address of the data. The guard refuses such an access.
     */
    guard = &cmd->qsg->dev->mem_reentrancy_guard;
    engaged = guard->engaged_in_io;
    guard->engaged_in_io = true;
    if (dir == DMA_DIRECTION_FROM_DEVICE) {
        result = dma_buf_read(cmd->buffer, bytes, NULL, cmd->qsg,
                              MEMTXATTRS_UNSPECIFIED);
    } else {
        result = dma_buf_write(cmd->buffer, bytes, NULL, cmd->qsg,
                               MEMTXATTRS_UNSPECIFIED);
    }
    guard->engaged_in_io = engaged;
    return result == MEMTX_OK ? 0 : -EFAULT;
}

void flash_cmd_begin(NvmeFlash *flash, FlashCmd *cmd)
{
    size_t bytes = cmd->cmd.length_bytes;

    if (!cmd->has_data) {
        return;
    }
    if (cmd->buffer_bytes < bytes) {
        resize_buffer(flash, cmd, bytes);
    }
    cmd->cmd.data = cmd->buffer;
    if (cmd->cmd.op == SCARP_OP_WRITE &&
        copy_data(cmd, DMA_DIRECTION_TO_DEVICE) < 0) {
        /* the host's data cannot be read, so the drive writes zeroes */
        memset(cmd->buffer, 0, bytes);
    }
}

static void end(NvmeFlash *flash, FlashCmd *cmd, int ret)
{
    FlashAIOCB *acb = cmd->acb;

    flash_admit_ended(flash, cmd);
    if (acb && !ret && cmd->rest_bytes) {
        uint64_t bytes = MIN(cmd->rest_bytes, piece_bytes(cmd->cmd.op));

        cmd->cmd = (ScarpCmd) {
            .op = cmd->cmd.op,
            .fua = cmd->cmd.fua,
            .stream = cmd->cmd.stream,
            .nsid = cmd->cmd.nsid,
            .offset_bytes = cmd->cmd.offset_bytes + cmd->cmd.length_bytes,
            .length_bytes = bytes,
            .deadline_ns = SCARP_TIME_NEVER,
            .opaque = cmd,
        };
        cmd->rest_bytes -= bytes;
        cmd->arrived_ns = nvme_flash_now_ns(flash);
        flash_admit(flash, cmd);
        flash_admit_for_room(flash);
        return;
    }
    if (acb && !ret && cmd->cmd.op == SCARP_OP_READ) {
        ret = copy_data(cmd, DMA_DIRECTION_FROM_DEVICE);
    }
    if (acb && flash->realtime) {
        flash_realtime_ending(flash->realtime, &cmd->cmd, cmd->arrived_ns);
    }
    put_cmd(flash, cmd);
    if (acb) {
        acb->cmd = NULL;
        acb->common.cb(acb->common.opaque, ret);
        qemu_aio_unref(acb);
    }
    if (acb && flash->realtime) {
        flash_realtime_ended(flash->realtime);
    }
    flash_admit_for_room(flash);
}

static void complete(NvmeFlash *flash, FlashCmd *cmd)
{
    end(flash, cmd, cmd->cmd.status == SCARP_STATUS_OK ? 0 : -EIO);
}

static void flash_aio_cancel(BlockAIOCB *common)
{
    FlashAIOCB *acb = container_of(common, FlashAIOCB, common);
    FlashCmd *cmd = acb->cmd;

    if (cmd) {
        cmd->acb = NULL;
        acb->cmd = NULL;
        if (flash_admit_cancelled(acb->flash, cmd)) {
            put_cmd(acb->flash, cmd);
        }
    } else if (!acb->untold) {
        return;
    }
    acb->untold = false;
    acb->common.cb(acb->common.opaque, -ECANCELED);
    qemu_aio_unref(acb);
}

static const AIOCBInfo flash_aiocb_info = {
    .aiocb_size = sizeof(FlashAIOCB),
    .cancel_async = flash_aio_cancel,
};

/*
 * Returns the deadline of a command. The time until the deadline counts from
 * the command's arrival, because the command may have waited in queues and
 * rings since.
 */
static int64_t deadline_ns(NvmeFlash *flash, int64_t arrived_ns, uint8_t dsm)
{
    int64_t after_ns = flash->deadline_ns[(dsm >> 4) & 3];

    return after_ns ? arrived_ns + after_ns : SCARP_TIME_NEVER;
}

static BlockAIOCB *flash_submit(NvmeNamespace *ns, const NvmeNsIo *io,
                                BlockCompletionFunc *cb, void *opaque)
{
    NvmeFlash *flash = ns->flash;
    bool has_data = io->op == NVME_NS_IO_READ || io->op == NVME_NS_IO_WRITE;
    bool write = io->op == NVME_NS_IO_WRITE ||
                 io->op == NVME_NS_IO_WRITE_ZEROES;
    FlashAIOCB *acb = qemu_aio_get(&flash_aiocb_info, NULL, cb, opaque);
    FlashCmd *cmd = get_cmd(flash);

    assert(io->op == NVME_NS_IO_FLUSH ||
           (io->offset >= 0 && io->bytes <= ns->flash_bytes - io->offset));

    acb->flash = flash;
    acb->cmd = cmd;
    acb->untold = false;
    cmd->acb = acb;
    cmd->has_data = has_data;
    cmd->qsg = io->qsg;
    cmd->iov = io->iov;
    cmd->held = io->held;
    cmd->counted = io->counted;
    cmd->cmd.op = ops[io->op];
    /* with the write cache disabled (Set Features) each write has FUA */
    cmd->cmd.fua = write && ((io->flags & BDRV_REQ_FUA) ||
                             !blk_enable_write_cache(ns->blkconf.blk));
    cmd->cmd.stream = io->stream;
    cmd->cmd.nsid = nvme_nsid(ns);
    cmd->cmd.offset_bytes = ns->flash_offset + io->offset;
    cmd->cmd.length_bytes = MIN(io->bytes, piece_bytes(cmd->cmd.op));
    cmd->rest_bytes = io->bytes - cmd->cmd.length_bytes;
    cmd->arrived_ns = flash->realtime ? flash_realtime_arrival_ns(flash->realtime)
                                      : nvme_flash_now_ns(flash);
    cmd->cmd.deadline_ns = deadline_ns(flash, cmd->arrived_ns, io->dsm);
    cmd->cmd.opaque = cmd;

    if (io->op == NVME_NS_IO_FLUSH) {
        cmd->cmd.offset_bytes = 0;
    }

    flash->sanitize.erased &= !write;
    flash_admit(flash, cmd);
    return &acb->common;
}

static bool flash_is_allocated(NvmeNamespace *ns, int64_t offset,
                               int64_t bytes)
{
    bool mapped;

    nvme_flash_lock(ns->flash);
    mapped = scarp_is_mapped(ns->flash->drive, ns->flash_offset + offset,
                             bytes);
    nvme_flash_unlock(ns->flash);
    return mapped;
}

bool nvme_flash_virtual_queues(NvmeFlash *flash)
{
    return flash->virtual_queues;
}

static void flash_release(NvmeNamespace *ns, uint64_t *held)
{
    flash_admit_release(ns->flash, held);
}

const NvmeNsOps nvme_flash_ns_ops = {
    .submit = flash_submit,
    .is_allocated = flash_is_allocated,
    .release = flash_release,
};

static void refuse_waiting(NvmeFlash *flash)
{
    FlashCmd *cmd;

    while ((cmd = QTAILQ_FIRST(&flash->admit.waiting))) {
        end(flash, cmd, -ESHUTDOWN);
    }
}

void nvme_flash_timer_cb(void *opaque)
{
    NvmeFlash *flash = opaque;
    int64_t now_ns = nvme_flash_now_ns(flash);
    int64_t until_ns = now_ns, next_ns;
    bool over = flash_time_is_over(flash);
    unsigned completed;
    ScarpCmd *cmd;

    if (flash_guest_ends(flash)) {
        return;
    }
    flash_admit_for_room(flash);
    /*
     * The loop repeats in two cases: a ring was too small for all commands, or
     * the clock is past FLASH_TIME_LAST and the engine has work left.
     */
    do {
        if (over) {
            refuse_waiting(flash);
        } else {
            flash_admit_waiting(flash);
        }
        next_ns = flash_port_run(flash->port, until_ns, UINT_MAX);
        completed = 0;
        while ((cmd = flash_port_pop(flash->port))) {
            complete(flash, cmd->opaque);
            completed++;
        }
        until_ns = over ? next_ns : now_ns;
    } while (completed >= FLASH_PORT_ENTRIES ||
             !QTAILQ_EMPTY(&flash->admit.waiting) ||
             (over && next_ns != SCARP_TIME_NEVER));

    if (next_ns != SCARP_TIME_NEVER) {
        timer_mod_anticipate_ns(flash->timer, next_ns);
    }
    flash_log_progress(flash->logs.log, now_ns, scarp_stats(flash->drive));
    flash_health_look(flash);
    flash_power_look(flash);
}

void flash_run_soon(NvmeFlash *flash)
{
    if (flash->realtime) {
        flash_realtime_kick(flash->realtime);
    } else {
        timer_mod_anticipate_ns(flash->timer,
                                qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    }
}

void nvme_flash_completed(void *opaque)
{
    NvmeFlash *flash = opaque;
    unsigned completed = 0;
    ScarpCmd *cmd;

    if (flash->stopped) {
        return;
    }
    flash_admit_for_room(flash);
    while ((cmd = flash_port_pop(flash->port))) {
        complete(flash, cmd->opaque);
        completed++;
    }
    /*
     * A ring was full. Either the thread waits for room in the completion ring,
     * or commands wait for room in the submission ring.
     */
    if (completed >= FLASH_PORT_ENTRIES ||
        !QTAILQ_EMPTY(&flash->admit.waiting)) {
        flash_admit_waiting(flash);
        flash_realtime_kick(flash->realtime);
    }
    flash_health_look(flash);
    flash_power_look(flash);
}

int64_t nvme_flash_now_ns(NvmeFlash *flash)
{
    return flash->realtime ? flash_realtime_now_ns(flash->realtime)
                           : MIN(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL),
                                 FLASH_TIME_LAST);
}

void nvme_flash_lock(NvmeFlash *flash)
{
    if (flash->realtime) {
        flash_realtime_lock(flash->realtime);
    }
}

void nvme_flash_unlock(NvmeFlash *flash)
{
    if (flash->realtime) {
        flash_realtime_unlock(flash->realtime);
    }
}

void flash_cmds_forget(NvmeFlash *flash)
{
    FlashCmd *cmd;

    assert(QTAILQ_EMPTY(&flash->admit.waiting) &&
           QTAILQ_EMPTY(&flash->admit.for_room));
    while ((cmd = QTAILQ_FIRST(&flash->admit.inside))) {
        flash_admit_forget(flash, cmd);
        put_cmd(flash, cmd);
    }
}

/*
 * Ends a command that the drive completes while the drive is drained. The
 * completion is not reported to hw/nvme, as the guest no longer runs. The
 * command's AIOCB is kept, because a later reset may still cancel the AIOCB.
 */
static void end_untold(NvmeFlash *flash, FlashCmd *cmd)
{
    flash_admit_ended(flash, cmd);
    if (cmd->acb) {
        cmd->acb->cmd = NULL;
        cmd->acb->untold = true;
    }
    put_cmd(flash, cmd);
    flash_admit_for_room(flash);
}

bool nvme_flash_drain(NvmeFlash *flash)
{
    int64_t now_ns = nvme_flash_now_ns(flash);

    for (int i = 0; i < DRAIN_EVENT_TIMES; i++) {
        unsigned completed = 0;
        int64_t next_ns;
        ScarpCmd *cmd;

        flash_admit_waiting(flash);
        nvme_flash_lock(flash);
        next_ns = flash_port_run(flash->port, now_ns, UINT_MAX);
        nvme_flash_unlock(flash);
        while ((cmd = flash_port_pop(flash->port))) {
            end_untold(flash, cmd->opaque);
            completed++;
        }
        if (next_ns != SCARP_TIME_NEVER) {
            now_ns = MAX(now_ns, next_ns);
        } else if (!completed && QTAILQ_EMPTY(&flash->admit.waiting)) {
            return true;
        }
    }
    return false;
}
