/*
 * Scarp: admission of commands to the engine, and the wait before it
 *
 * A command waits for three things:
 * - that no cancelled command is left that may still change its bytes. The
 *   engine cannot cancel, so it carries a cancelled write out to its end,
 *   unseen. For the host that write is over, and the host's next write to these
 *   bytes must last.
 * - room: the data of commands is in the host's memory, and the guest decides
 *   how many commands there are.
 * - a place in the submission ring.
 *
 * A command that waits has not begun, so cancelling it means only to forget it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "flash-int.h"

/*
 * The memory that the commands of a drive may use: a thousand commands of 512
 * KiB, which is more than hosts usually have in flight.
 */
#define ROOM_BYTES (512 * MiB)
/* The memory of a command's records, here and in the engine, without data. */
#define COMMAND_BYTES KiB

static void put(FlashCmdList *list, FlashCmd *cmd)
{
    cmd->list = list;
    QTAILQ_INSERT_TAIL(list, cmd, entry);
}

static void take(FlashCmd *cmd)
{
    QTAILQ_REMOVE(cmd->list, cmd, entry);
    cmd->list = NULL;
}

static bool changes_data(const FlashCmd *cmd)
{
    return cmd->cmd.op == SCARP_OP_WRITE ||
           cmd->cmd.op == SCARP_OP_WRITE_ZEROES ||
           cmd->cmd.op == SCARP_OP_DEALLOCATE;
}

static uint64_t room_of(const FlashCmd *cmd)
{
    return COMMAND_BYTES + (cmd->has_data ? cmd->cmd.length_bytes : 0);
}

/*
 * Returns how many bytes of the command's data hw/nvme keeps after the
 * command's end.
 */
static uint64_t held_by(const FlashCmd *cmd)
{
    return cmd->held ? cmd->cmd.length_bytes : 0;
}

/* Returns a cancelled command that may change some of cmd's bytes, or NULL. */
static FlashCmd *leftover_before(NvmeFlash *flash, const FlashCmd *cmd)
{
    uint64_t from = cmd->cmd.offset_bytes;
    IntervalTreeNode *node;

    if (interval_tree_is_empty(&flash->admit.leftovers) ||
        !cmd->cmd.length_bytes) {
        return NULL;
    }
    node = interval_tree_iter_first(&flash->admit.leftovers, from,
                                    from + cmd->cmd.length_bytes - 1);
    return node ? container_of(node, FlashCmd, range) : NULL;
}

static bool push(NvmeFlash *flash, FlashCmd *cmd)
{
    if (!flash_port_push(flash->port, &cmd->cmd,
                         flash->realtime ? cmd->arrived_ns
                                         : FLASH_PORT_WHEN_TAKEN)) {
        return false;
    }
    if (cmd->list) {
        take(cmd);
    }
    put(&flash->admit.inside, cmd);
    return true;
}

static void begin(NvmeFlash *flash, FlashCmd *cmd)
{
    cmd->has_room = true;
    flash->admit.room_used += room_of(cmd) + held_by(cmd);
    if (cmd->held) {
        *cmd->held = held_by(cmd);
        cmd->held = NULL;
    }
    flash_cmd_begin(flash, cmd);
    if (flash->stopped || flash_time_is_over(flash) ||
        !QTAILQ_EMPTY(&flash->admit.waiting) || !push(flash, cmd)) {
        put(&flash->admit.waiting, cmd);
    }
    if (flash->stopped) {
        return;
    }
    if (flash->realtime) {
        flash_realtime_submitted(flash->realtime);
    } else {
        flash_run_soon(flash);
    }
}

/*
 * Begins a command that had to wait. Its arrival time becomes now, so that the
 * wait does not count as lateness.
 */
static void begin_late(NvmeFlash *flash, FlashCmd *cmd)
{
    cmd->arrived_ns = nvme_flash_now_ns(flash);
    begin(flash, cmd);
}

/*
 * True when there is room for cmd. If no other command uses room, a command of
 * any size has room.
 */
static bool is_room(NvmeFlash *flash, const FlashCmd *cmd)
{
    return !flash->admit.room_used ||
           flash->admit.room_used + room_of(cmd) + held_by(cmd) <= ROOM_BYTES;
}

/*
 * Returns true if cmd may begin. Otherwise queues cmd, and returns false. The
 * write of a Copy does not wait for room, which the Copy's read uses until the
 * write has ended: such writes could wait for each other for ever.
 */
static bool may_begin(NvmeFlash *flash, FlashCmd *cmd)
{
    FlashCmd *leftover = leftover_before(flash, cmd);

    if (leftover) {
        put(&leftover->blocked, cmd);
    } else if (!cmd->counted &&
               (!QTAILQ_EMPTY(&flash->admit.for_room) ||
                !is_room(flash, cmd))) {
        put(&flash->admit.for_room, cmd);
    } else {
        return true;
    }
    return false;
}

void flash_admit_init(NvmeFlash *flash)
{
    QTAILQ_INIT(&flash->admit.inside);
    QTAILQ_INIT(&flash->admit.waiting);
    QTAILQ_INIT(&flash->admit.for_room);
}

void flash_admit(NvmeFlash *flash, FlashCmd *cmd)
{
    flash->power.settles = false;
    flash->power.rests = false;
    if (!flash->admit.in_flight++) {
        flash->busy_from_ns = nvme_flash_now_ns(flash);
    }
    if (may_begin(flash, cmd)) {
        begin(flash, cmd);
    }
}

static void leave(NvmeFlash *flash, FlashCmd *cmd)
{
    if (cmd->has_room) {
        cmd->has_room = false;
        flash->admit.room_used -= room_of(cmd);
    }
    if (!--flash->admit.in_flight) {
        flash->busy_ns += nvme_flash_now_ns(flash) - flash->busy_from_ns;
    }
}

bool flash_admit_cancelled(NvmeFlash *flash, FlashCmd *cmd)
{
    if (cmd->list != &flash->admit.inside) {
        take(cmd);
        leave(flash, cmd);
        return true;
    }
    if (changes_data(cmd) && cmd->cmd.length_bytes) {
        cmd->leftover = true;
        QTAILQ_INIT(&cmd->blocked);
        cmd->range.start = cmd->cmd.offset_bytes;
        cmd->range.last = cmd->range.start + cmd->cmd.length_bytes - 1;
        interval_tree_insert(&cmd->range, &flash->admit.leftovers);
    }
    return false;
}

void flash_admit_ended(NvmeFlash *flash, FlashCmd *cmd)
{
    FlashCmd *next;

    take(cmd);
    leave(flash, cmd);
    if (!cmd->leftover) {
        return;
    }
    cmd->leftover = false;
    interval_tree_remove(&cmd->range, &flash->admit.leftovers);
    /*
     * may_begin() queues a command again that overlaps another leftover, or
     * that lacks room.
     */
    while ((next = QTAILQ_FIRST(&cmd->blocked))) {
        take(next);
        if (may_begin(flash, next)) {
            begin_late(flash, next);
        }
    }
}

void flash_admit_for_room(NvmeFlash *flash)
{
    FlashCmd *cmd;

    while ((cmd = QTAILQ_FIRST(&flash->admit.for_room)) &&
           is_room(flash, cmd)) {
        FlashCmd *leftover = leftover_before(flash, cmd);

        take(cmd);
        if (leftover) {
            put(&leftover->blocked, cmd);
        } else {
            begin_late(flash, cmd);
        }
    }
}

void flash_admit_release(NvmeFlash *flash, uint64_t *held)
{
    flash->admit.room_used -= *held;
    *held = 0;
    if (QTAILQ_EMPTY(&flash->admit.for_room)) {
        return;
    }
    /*
     * A reset cancels commands one by one, and may call this function for each
     * of them. So the waiting commands begin only when the whole reset is over:
     * a bottom half or a timer begins them.
     */
    if (flash->realtime) {
        flash_realtime_look(flash->realtime);
    } else {
        flash_run_soon(flash);
    }
}

void flash_admit_waiting(NvmeFlash *flash)
{
    FlashCmd *cmd;

    do {
        cmd = QTAILQ_FIRST(&flash->admit.waiting);
    } while (cmd && push(flash, cmd));
}

void flash_admit_forget(NvmeFlash *flash, FlashCmd *cmd)
{
    assert(!cmd->acb);
    take(cmd);
    leave(flash, cmd);
    if (cmd->leftover) {
        cmd->leftover = false;
        interval_tree_remove(&cmd->range, &flash->admit.leftovers);
        assert(QTAILQ_EMPTY(&cmd->blocked));
    }
}
