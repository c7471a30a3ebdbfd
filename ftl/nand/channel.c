/*
 * Channels: first come, first served, one transfer at a time; with
 * controller.gc_first_on_channel what collections wait with goes first.
 *
 * A channel that nobody waits for has no event: its next user compares
 * free_ns with the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nand/internal.h"

static void wake_when_free(ScarpDrive *drive, uint32_t c)
{
    scarp_event_set_lane(drive, SCARP_LANE_CHANNEL, scarp_channel_source(c),
                         drive->nand.channel[c].free_ns);
}

/*
 * With controller.gc_first_on_channel: so many of a collection's go before what
 * waited first, or that would wait for as long as other dies collect.
 */
#define GC_FIRST_MOST 1000

static bool collections_first(ScarpChannel *channel)
{
    uint32_t waiter = channel->wait[WAIT_ANY].head;

    if (waiter == SCARP_NONE) {
        return true;
    }
    if (channel->passed != waiter) {
        channel->passed = waiter;
        channel->times = 0;
    }
    if (channel->times++ < GC_FIRST_MOST) {
        return true;
    }
    channel->passed = SCARP_NONE;
    return false;
}

static bool is_awaited(const ScarpChannel *channel)
{
    return channel->wait[WAIT_ANY].head != SCARP_NONE ||
           channel->wait[WAIT_GC].head != SCARP_NONE;
}

/* Commands that run together have the channel together. */
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
    const ScarpDie *die = &drive->nand.die[waiter / 2];
    bool first = drive->desc.gc_first_on_channel &&
                 has_gc(waiter % 2 ? die->ahead : die->current);

    return &channel->wait[first ? WAIT_GC : WAIT_ANY];
}

bool scarp_channel_request(ScarpDrive *drive, uint32_t waiter)
{
    uint32_t c = scarp_die_channel(drive, waiter / 2);
    ScarpChannel *channel = &drive->nand.channel[c];
    ScarpDie *dies = drive->nand.die;
    bool awaited = is_awaited(channel);
    ScarpChannelQueue *queue;

    if (channel->free_ns <= scarp_time_ns(drive) && !awaited) {
        return scarp_channel_granted(drive, waiter);
    }
    dies[waiter / 2].channel_next[waiter % 2] = SCARP_NONE;
    if (!awaited) {
        wake_when_free(drive, c);
    }
    queue = queue_of(drive, channel, waiter);
    if (queue->head == SCARP_NONE) {
        queue->head = waiter;
    } else {
        dies[queue->tail / 2].channel_next[queue->tail % 2] = waiter;
    }
    queue->tail = waiter;
    return false;
}

bool scarp_channel_event(ScarpDrive *drive, uint32_t c, uint32_t *die)
{
    ScarpChannel *channel = &drive->nand.channel[c];
    ScarpChannelQueue *queue =
        &channel->wait[channel->wait[WAIT_GC].head != SCARP_NONE &&
                               collections_first(channel) ? WAIT_GC
                                                          : WAIT_ANY];
    uint32_t waiter = queue->head;
    bool behind;

    scarp_mark_if(drive, collection_first_on_channel,
                  queue == &channel->wait[WAIT_GC] &&
                  channel->wait[WAIT_ANY].head != SCARP_NONE);
    scarp_mark_if(drive, channel_after_collections,
                  queue == &channel->wait[WAIT_ANY] &&
                  channel->wait[WAIT_GC].head != SCARP_NONE);
    if (queue == &channel->wait[WAIT_ANY]) {
        channel->passed = SCARP_NONE; /* when it waits again, the count is new */
    }
    *die = waiter / 2;
    queue->head = drive->nand.die[*die].channel_next[waiter % 2];
    behind = scarp_channel_granted(drive, waiter);
    if (is_awaited(channel)) {
        wake_when_free(drive, c);
    }
    return behind;
}
