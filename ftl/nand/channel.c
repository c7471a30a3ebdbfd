/*
 * Channels. A channel carries one transfer at a time, in the order of the
 * requests. With controller.gc_first_on_channel GC's transfers go before the
 * host's.
 *
 * A channel for which no die waits sets no event when it becomes free: the next
 * die that wants the channel compares free_ns with the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nand/internal.h"

static void wake_when_free(ScarpDrive *drive, uint32_t c)
{
    scarp_event_set_lane(drive, SCARP_LANE_CHANNEL, scarp_channel_source(c),
                         drive->nand.channel[c].free_ns);
}

static bool is_awaited(const ScarpChannel *channel)
{
    return channel->wait[WAIT_ANY].head != SCARP_NONE ||
           channel->wait[WAIT_GC].head != SCARP_NONE;
}

static const ScarpFlashCmd *group_of(const ScarpDrive *drive, uint32_t waiter)
{
    const ScarpDie *die = &drive->nand.die[waiter / 2];

    /*
     * An odd waiter number stands for the command that was loaded behind
     * die->current when it asked for the channel (nand.cache). If die->ahead is
     * NULL, that command has become die->current since.
     */
    return waiter % 2 && die->ahead ? die->ahead : die->current;
}

/*
 * True when a command of the group belongs to GC. A single such command is
 * enough, because the commands of a group (multi-plane) get the channel
 * together.
 */
static bool has_gc(const ScarpFlashCmd *group)
{
    while (group && !scarp_flash_is_gc(group)) {
        group = group->mate;
    }
    return group;
}

static ScarpChannelQueue *queue_of(ScarpDrive *drive, ScarpChannel *channel,
                                   uint32_t waiter)
{
    bool first = drive->desc.gc_first_on_channel &&
                 has_gc(group_of(drive, waiter));

    return &channel->wait[first ? WAIT_GC : WAIT_ANY];
}

/*
 * Chooses whether the host or GC gets the channel. GC goes first until it has
 * gone before the host's oldest waiter as often as the limit allows.
 */
static ScarpChannelQueue *next_queue(ScarpDrive *drive, uint32_t c)
{
    ScarpChannelQueue *wait = drive->nand.channel[c].wait;
    uint64_t seq;

    if (wait[WAIT_GC].head == SCARP_NONE) {
        return &wait[WAIT_ANY];
    }
    if (wait[WAIT_ANY].head == SCARP_NONE) {
        return &wait[WAIT_GC];
    }
    seq = group_of(drive, wait[WAIT_ANY].head)->seq;
    if (scarp_turn_may_pass(drive, PASS_TRANSFERS, c, seq)) {
        scarp_mark(drive, collection_first_on_channel);
        return &wait[WAIT_GC];
    }
    scarp_mark(drive, channel_after_collections);
    return &wait[WAIT_ANY];
}

/*
 * Queues the waiter. The function is out of line, because a request for a free
 * channel would save registers for it.
 */
static void __attribute__((noinline)) wait_for_channel(ScarpDrive *drive,
                                                       uint32_t c,
                                                       uint32_t waiter)
{
    ScarpChannel *channel = &drive->nand.channel[c];
    ScarpDie *dies = drive->nand.die;
    ScarpChannelQueue *queue = queue_of(drive, channel, waiter);

    if (!is_awaited(channel)) {
        wake_when_free(drive, c);
    }
    dies[waiter / 2].channel_next[waiter % 2] = SCARP_NONE;
    if (queue->head == SCARP_NONE) {
        queue->head = waiter;
    } else {
        dies[queue->tail / 2].channel_next[queue->tail % 2] = waiter;
    }
    queue->tail = waiter;
}

bool scarp_channel_request(ScarpDrive *drive, uint32_t waiter)
{
    uint32_t c = scarp_die_channel(drive, waiter / 2);
    const ScarpChannel *channel = &drive->nand.channel[c];

    if (channel->free_ns <= scarp_time_ns(drive) && !is_awaited(channel)) {
        return scarp_channel_granted(drive, waiter);
    }
    wait_for_channel(drive, c, waiter);
    return false;
}

bool scarp_channel_event(ScarpDrive *drive, uint32_t c, uint32_t *die)
{
    ScarpChannel *channel = &drive->nand.channel[c];
    ScarpChannelQueue *queue = next_queue(drive, c);
    uint32_t waiter = queue->head;
    bool behind;

    *die = waiter / 2;
    queue->head = drive->nand.die[*die].channel_next[waiter % 2];
    behind = scarp_channel_granted(drive, waiter);
    if (is_awaited(channel)) {
        wake_when_free(drive, c);
    }
    return behind;
}
