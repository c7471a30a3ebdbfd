/*
 * Dies and channels: the phases of a flash command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static int64_t transfer_ns(const ScarpDrive *drive, uint64_t bytes)
{
    return (bytes * 1000 + drive->d.channel_mts - 1) / drive->d.channel_mts;
}

static void close_interval(ScarpDrive *drive, ScarpTx *tx, ScarpCause cause)
{
    tx->cause_ns[cause] += drive->now_ns - tx->mark_ns;
    tx->mark_ns = drive->now_ns;
}

void scarp_die_set_activity(ScarpDrive *drive, ScarpDie *die, DieActivity now)
{
    die->spent[die->activity] += drive->now_ns - die->since_ns;
    die->since_ns = drive->now_ns;
    die->activity = now;
}

static void rest(ScarpDrive *drive, ScarpDie *die)
{
    scarp_die_set_activity(drive, die, die->holder == SCARP_NONE ? DIE_IDLE
                                                                 : DIE_GC_HELD);
}

static DieActivity activity_of(const ScarpTx *tx)
{
    bool host = tx->origin == SCARP_ORIGIN_HOST;

    switch (tx->kind) {
    case TX_READ:
        return host ? DIE_HOST_READ : DIE_GC_READ;
    case TX_PROGRAM:
        return host ? DIE_HOST_PROGRAM : DIE_GC_PROGRAM;
    default:
        return DIE_ERASE;
    }
}

/* The die's clock of past activities, the open interval included. */
static void read_clock(ScarpDrive *drive, ScarpDie *die, int64_t *clock)
{
    scarp_die_set_activity(drive, die, die->activity);
    for (int i = 0; i < DIE_ACTIVITY__COUNT; i++) {
        clock[i] = die->spent[i];
    }
}

void scarp_tx_enqueue(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpPlane *plane = &drive->plane[tx->plane];
    uint32_t die = tx->plane / drive->d.planes_per_die;
    TxQueue *queue = tx->kind == TX_READ ? &plane->reads : &plane->programs;

    tx->phase = TX_QUEUED;
    tx->mark_ns = drive->now_ns;
    read_clock(drive, &drive->die[die], tx->waited);
    tx->next = NULL;
    *queue->tail = tx;
    queue->tail = &tx->next;
    scarp_die_kick(drive, die);
}

/* What the die did while tx waited is what tx waited for. */
static void account_wait(ScarpDrive *drive, ScarpDie *die, ScarpTx *tx)
{
    static const ScarpCause cause[DIE_ACTIVITY__COUNT] = {
        [DIE_HOST_READ] = SCARP_CAUSE_DIE_HOST_READ,
        [DIE_HOST_PROGRAM] = SCARP_CAUSE_DIE_HOST_PROGRAM,
        [DIE_GC_READ] = SCARP_CAUSE_DIE_GC_READ,
        [DIE_GC_PROGRAM] = SCARP_CAUSE_DIE_GC_PROGRAM,
        [DIE_ERASE] = SCARP_CAUSE_DIE_ERASE,
        [DIE_GC_HELD] = SCARP_CAUSE_DIE_GC_HELD,
        [DIE_IDLE] = SCARP_CAUSE_NO_SPACE,
    };
    int64_t clock[DIE_ACTIVITY__COUNT];

    read_clock(drive, die, clock);
    for (int i = 0; i < DIE_ACTIVITY__COUNT; i++) {
        tx->cause_ns[cause[i]] += clock[i] - tx->waited[i];
    }
    tx->mark_ns = drive->now_ns;
}

static void channel_grant(ScarpDrive *drive, uint32_t c, uint32_t die)
{
    ScarpTx *tx = drive->die[die].current;
    int64_t ns = 0;

    close_interval(drive, tx, SCARP_CAUSE_CHANNEL);
    if (tx->phase == TX_COMMAND) {
        ns = drive->d.command_ns;
        if (tx->kind == TX_PROGRAM) {
            ns += drive->page_transfer_ns;
        }
    } else {
        ns = transfer_ns(drive, tx->bytes);
    }
    drive->channel[c].user = die;
    scarp_events_set(&drive->events, c, drive->now_ns + ns);
}

static void channel_request(ScarpDrive *drive, uint32_t die)
{
    uint32_t c = scarp_die_channel(drive, die);
    ScarpChannel *channel = &drive->channel[c];

    if (channel->user == SCARP_NONE && channel->wait_head == SCARP_NONE) {
        channel_grant(drive, c, die);
        return;
    }
    drive->die[die].channel_next = SCARP_NONE;
    if (channel->wait_head == SCARP_NONE) {
        channel->wait_head = die;
    } else {
        drive->die[channel->wait_tail].channel_next = die;
    }
    channel->wait_tail = die;
}

void scarp_die_kick(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    ScarpTx *tx;

    if (die->current || die->picking) {
        return;
    }
    die->picking = true;
    tx = scarp_sched_pick(drive, index);
    die->picking = false;
    if (!tx) {
        rest(drive, die);
        return;
    }
    if (tx->origin == SCARP_ORIGIN_HOST) {
        account_wait(drive, die, tx);
    } else {
        tx->mark_ns = drive->now_ns;
        scarp_gc_tx_started(drive, tx);
    }
    die->current = tx;
    scarp_die_set_activity(drive, die, activity_of(tx));
    tx->phase = TX_COMMAND;
    channel_request(drive, index);
}

static void finish(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    ScarpTx *tx = die->current;

    die->current = NULL;
    rest(drive, die);
    if (tx->origin == SCARP_ORIGIN_HOST) {
        scarp_host_tx_done(drive, tx);
    } else {
        scarp_gc_tx_done(drive, tx);
    }
    scarp_die_kick(drive, index);
}

void scarp_die_event(ScarpDrive *drive, uint32_t index)
{
    ScarpTx *tx = drive->die[index].current;

    scarp_events_set(&drive->events, scarp_die_source(drive, index),
                     SCARP_TIME_NEVER);
    close_interval(drive, tx, SCARP_CAUSE_ARRAY);
    if (tx->kind == TX_READ) {
        tx->phase = TX_DATA_OUT;
        channel_request(drive, index);
    } else {
        finish(drive, index);
    }
}

void scarp_channel_event(ScarpDrive *drive, uint32_t c)
{
    ScarpChannel *channel = &drive->channel[c];
    uint32_t index = channel->user;
    ScarpTx *tx = drive->die[index].current;

    scarp_events_set(&drive->events, c, SCARP_TIME_NEVER);
    channel->user = SCARP_NONE;
    close_interval(drive, tx, SCARP_CAUSE_TRANSFER);
    if (channel->wait_head != SCARP_NONE) {
        uint32_t next = channel->wait_head;

        channel->wait_head = drive->die[next].channel_next;
        channel_grant(drive, c, next);
    }
    if (tx->phase == TX_COMMAND) {
        int64_t array_ns = tx->kind == TX_READ      ? drive->d.read_ns
                           : tx->kind == TX_PROGRAM ? drive->d.program_ns
                                                    : drive->d.erase_ns;

        tx->phase = TX_ARRAY;
        scarp_events_set(&drive->events, scarp_die_source(drive, index),
                         drive->now_ns + array_ns);
    } else {
        finish(drive, index);
    }
}
