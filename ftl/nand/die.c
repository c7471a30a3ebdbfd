/*
 * The phases of a flash command on a die: wait for the channel, transfer, array
 * time, data out. Mates are commands on other planes of the die that run
 * together with it as one multi-plane command. With nand.cache the next command
 * is loaded or sensed while the current command runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nand/internal.h"

static ScarpDieActivity gc_activity(const ScarpFlashCmd *cmd)
{
    bool fold = cmd->origin == SCARP_ORIGIN_FOLD;

    if (cmd->kind == SCARP_FLASH_READ) {
        return fold ? DIE_FOLD_READ : DIE_GC_READ;
    }
    return fold ? DIE_FOLD_PROGRAM : DIE_GC_PROGRAM;
}

ScarpDieActivity scarp_activity_of(const ScarpFlashCmd *cmd)
{
    if (cmd->kind == SCARP_FLASH_ERASE) {
        return DIE_ERASE;
    }
    if (scarp_flash_is_gc(cmd)) {
        return gc_activity(cmd);
    }
    return cmd->kind == SCARP_FLASH_READ ? DIE_HOST_READ : DIE_HOST_PROGRAM;
}

static void set_activity(ScarpDrive *drive, ScarpDie *die,
                         ScarpDieActivity activity)
{
    scarp_clock_turn(&die->clock, scarp_time_ns(drive), activity);
}

void scarp_group_own(ScarpFlashCmd *group, ScarpOwnCause cause,
                     int64_t until_ns)
{
    for (ScarpFlashCmd *cmd = group; cmd; cmd = cmd->mate) {
        scarp_account_own(&cmd->account, cause, until_ns);
    }
}

void scarp_see_array(ScarpDrive *drive, const ScarpDie *die, int64_t until_ns)
{
    if (drive->nand.seen && until_ns > die->array_begin_ns) {
        for (const ScarpFlashCmd *cmd = die->current; cmd; cmd = cmd->mate) {
            scarp_see_phase(drive, die->current, cmd, SCARP_PHASE_ARRAY,
                            die->array_begin_ns, until_ns);
        }
    }
}

/* ---- Phases ------------------------------------------------------------- */

static void array_ends(ScarpDrive *drive, uint32_t index, ScarpFlashKind kind,
                       int64_t end_ns)
{
    uint32_t source = scarp_die_source(drive, index);

    if (kind == SCARP_FLASH_ERASE) {
        /*
         * The end of an erase goes into the tree of events. A lane
         * (core/event.h) takes only events in the order of time, and programs
         * that begin after an erase can end before it. The tree is slower, but
         * erases are rare.
         */
        scarp_event_set(drive, source, end_ns);
        return;
    }
    scarp_event_set_lane(drive, kind == SCARP_FLASH_READ ? SCARP_LANE_READ
                                                         : SCARP_LANE_PROGRAM,
                         source, end_ns);
}

void scarp_array_until(ScarpDrive *drive, uint32_t index, int64_t end_ns)
{
    ScarpDie *die = &drive->nand.die[index];

    die->phase = PHASE_ARRAY;
    die->array_end_ns = end_ns;
    array_ends(drive, index, die->current->kind, end_ns);
    /*
     * Reads that came before the array began to work could not suspend the
     * command that begins now. So the die looks at these reads again.
     */
    if (die->queued[QUEUE_READS] &&
        (drive->desc.suspend_program || drive->desc.suspend_erase)) {
        scarp_nand_kick(drive, index);
    }
}

static bool grant_command(ScarpDrive *drive, uint32_t index, bool ahead)
{
    ScarpDie *die = &drive->nand.die[index];
    ScarpFlashCmd *group = ahead ? die->ahead : die->current;
    int64_t now_ns = scarp_time_ns(drive), bus_end_ns = now_ns;
    int64_t end_ns;

    for (ScarpFlashCmd *cmd = group; cmd; cmd = cmd->mate) {
        int64_t begin_ns = bus_end_ns;

        bus_end_ns += drive->desc.command_ns;
        if (cmd->kind == SCARP_FLASH_PROGRAM) {
            bus_end_ns += drive->nand.page_transfer_ns;
        }
        if (drive->nand.seen) {
            scarp_see_phase(drive, group, cmd, SCARP_PHASE_IN, begin_ns,
                            bus_end_ns);
        }
    }
    scarp_channel_busy_until(drive, index, bus_end_ns);
    group->array_ns = scarp_array_ns(drive, group);
    end_ns = bus_end_ns + group->array_ns;
    for (ScarpFlashCmd *cmd = group; cmd; cmd = cmd->mate) {
        scarp_account_own(&cmd->account, OWN_CHANNEL, now_ns);
        scarp_account_own(&cmd->account, OWN_TRANSFER, bus_end_ns);
        if (!ahead || cmd->kind == SCARP_FLASH_READ) {
            scarp_account_own(&cmd->account, OWN_ARRAY, end_ns);
        }
    }
    if (ahead) {
        die->ahead_loaded_ns = bus_end_ns;
        return false;
    }
    die->array_begin_ns = bus_end_ns;
    scarp_array_until(drive, index, end_ns);
    return group->kind == SCARP_FLASH_PROGRAM;
}

static bool __attribute__((noinline)) grant_out(ScarpDrive *drive,
                                                uint32_t index)
{
    ScarpDie *die = &drive->nand.die[index];
    int64_t at_ns = scarp_time_ns(drive);

    for (ScarpFlashCmd *cmd = die->current; cmd; cmd = cmd->mate) {
        int64_t begin_ns = at_ns;

        scarp_account_own(&cmd->account, OWN_CHANNEL, at_ns);
        at_ns += scarp_nand_transfer_ns(drive, cmd->bytes);
        scarp_account_own(&cmd->account, OWN_TRANSFER, at_ns);
        if (drive->nand.seen) {
            scarp_see_phase(drive, die->current, cmd, SCARP_PHASE_OUT,
                            begin_ns, at_ns);
        }
    }
    scarp_channel_busy_until(drive, index, at_ns);
    die->phase = PHASE_OUT;
    scarp_event_set_lane(drive, SCARP_LANE_OUT, scarp_die_source(drive, index),
                         scarp_account_until_ns(&die->current->account));
    return false;
}

bool scarp_channel_granted(ScarpDrive *drive, uint32_t waiter)
{
    ScarpDie *die = &drive->nand.die[waiter / 2];

    /*
     * An odd waiter number stands for the command that was loaded behind
     * die->current when it asked for the channel (nand.cache). If die->ahead is
     * NULL, that command has become die->current since.
     */
    if (waiter % 2 && die->ahead) {
        return grant_command(drive, waiter / 2, true);
    }
    if (die->phase == PHASE_OUT_WAIT) {
        return grant_out(drive, waiter / 2);
    }
    return grant_command(drive, waiter / 2, false);
}

/* ---- Starting ----------------------------------------------------------- */

ScarpLook scarp_nand_look(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->nand.die[index];

    if (die->current) {
        if (scarp_may_suspend(drive, index)) {
            scarp_suspend(drive, index);
            return LOOK_BUSY;
        }
        return die->phase == PHASE_ARRAY &&
                       die->current->kind == SCARP_FLASH_PROGRAM
                   ? LOOK_BEHIND : LOOK_BUSY;
    }
    return die->phase == PHASE_SUSPEND ? LOOK_BUSY : LOOK_NEXT;
}

void scarp_nand_begin(ScarpDrive *drive, ScarpFlashCmd *group)
{
    int64_t now_ns = scarp_time_ns(drive);

    for (ScarpFlashCmd *cmd = group; cmd; cmd = cmd->mate) {
        cmd->begin_ns = now_ns;
        scarp_account_begin(&cmd->account, now_ns);
    }
    drive->stats.multiplane_groups += group->mate != NULL;
}

bool scarp_nand_run(ScarpDrive *drive, uint32_t index, ScarpFlashCmd *group)
{
    ScarpDie *die = &drive->nand.die[index];

    die->current = group;
    set_activity(drive, die, scarp_activity_of(group));
    die->phase = PHASE_COMMAND;
    return scarp_channel_request(drive, index * 2);
}

void scarp_nand_run_behind(ScarpDrive *drive, uint32_t index,
                           ScarpFlashCmd *group)
{
    ScarpDie *die = &drive->nand.die[index];

    scarp_mark_if(drive, behind_of_other_side,
                  scarp_flash_is_gc(group) != scarp_flash_is_gc(die->current));
    die->ahead = group;
    die->ahead_loaded_ns = SCARP_TIME_NEVER;
    scarp_channel_request(drive, index * 2 + 1);
}

void scarp_nand_rest(ScarpDrive *drive, uint32_t index, bool held)
{
    set_activity(drive, &drive->nand.die[index], held ? DIE_GC_HELD : DIE_IDLE);
}

/* ---- Ending ------------------------------------------------------------- */

static ScarpNandStep sensed(ScarpDrive *drive, uint32_t index)
{
    scarp_see_array(drive, &drive->nand.die[index], scarp_time_ns(drive));
    /*
     * The data is ready. flow first sends the next read to the die (cache
     * read), so that its array works during this data's transfer.
     */
    return NAND_SENSED;
}

void scarp_nand_output(ScarpDrive *drive, uint32_t index)
{
    drive->nand.die[index].phase = PHASE_OUT_WAIT;
    scarp_channel_request(drive, index * 2);
}

/*
 * The current command has ended: the command that was loaded or sensed behind
 * it (nand.cache) becomes the current one.
 */
static ScarpNandStep promote(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->nand.die[index];
    ScarpFlashCmd *group = die->ahead;
    int64_t loaded_ns = die->ahead_loaded_ns, now_ns = scarp_time_ns(drive);
    int64_t ready_ns = loaded_ns;
    ScarpDieActivity before = scarp_clock_activity(&die->clock);

    die->current = group;
    die->ahead = NULL;
    set_activity(drive, die, scarp_activity_of(group));
    if (loaded_ns == SCARP_TIME_NEVER) {
        scarp_mark(drive, behind_without_channel);
        die->phase = PHASE_COMMAND;
        return NAND_NOTHING;
    }
    if (group->kind == SCARP_FLASH_READ) {
        /* a read is sensed while the command before it still runs */
        ready_ns += group->array_ns;
    }
    if (ready_ns < now_ns) {
        for (ScarpFlashCmd *cmd = group; cmd; cmd = cmd->mate) {
            scarp_account_behind(&cmd->account, before, now_ns);
        }
    }
    if (group->kind == SCARP_FLASH_READ) {
        die->array_begin_ns = loaded_ns;
        if (ready_ns > now_ns) {
            scarp_array_until(drive, index, ready_ns);
            return NAND_NOTHING;
        }
        scarp_mark(drive, behind_sensed_early);
        die->array_end_ns = ready_ns;
        return sensed(drive, index);
    }
    die->array_begin_ns = MAX(loaded_ns, now_ns);
    scarp_group_own(group, OWN_ARRAY, die->array_begin_ns + group->array_ns);
    scarp_array_until(drive, index, die->array_begin_ns + group->array_ns);
    return NAND_BEHIND;
}

ScarpNandStep scarp_nand_after(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->nand.die[index];

    die->phase = PHASE_IDLE;
    if (die->ahead) {
        return promote(drive, index);
    }
    scarp_nand_kick(drive, index); /* if the die finds no work, it rests */
    return NAND_NOTHING;
}

ScarpNandStep scarp_nand_event(ScarpDrive *drive, uint32_t index,
                               ScarpFlashCmd **ended)
{
    ScarpDie *die = &drive->nand.die[index];
    ScarpFlashCmd *cmd = die->current;

    if (die->phase == PHASE_SUSPEND) {
        die->phase = PHASE_IDLE;
        scarp_nand_kick(drive, index);
        return NAND_NOTHING;
    }
    if (die->phase == PHASE_ARRAY && cmd->kind == SCARP_FLASH_READ) {
        return sensed(drive, index);
    }
    *ended = cmd;
    if (die->phase == PHASE_OUT && cmd->mate) {
        die->current = scarp_flash_unlink_mate(cmd);
        scarp_event_set_lane(drive, SCARP_LANE_OUT,
                             scarp_die_source(drive, index),
                             scarp_account_until_ns(&die->current->account));
        return NAND_ONE_ENDED;
    }
    if (!die->suspended) {
        die->suspends = 0;
    }
    if (die->phase == PHASE_ARRAY) {
        scarp_see_array(drive, die, scarp_time_ns(drive));
    }
    die->current = NULL;
    scarp_nand_relieved(drive, index);
    return NAND_ALL_ENDED;
}
