/*
 * Channels: first come, first served, one transfer at a time.
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

bool scarp_channel_request(ScarpDrive *drive, uint32_t waiter)
{
    uint32_t c = scarp_die_channel(drive, waiter / 2);
    ScarpChannel *channel = &drive->nand.channel[c];
    ScarpDie *dies = drive->nand.die;

    if (channel->free_ns <= scarp_time_ns(drive) &&
        channel->wait_head == SCARP_NONE) {
        return scarp_channel_granted(drive, waiter);
    }
    dies[waiter / 2].channel_next[waiter % 2] = SCARP_NONE;
    if (channel->wait_head == SCARP_NONE) {
        channel->wait_head = waiter;
        wake_when_free(drive, c);
    } else {
        uint32_t tail = channel->wait_tail;

        dies[tail / 2].channel_next[tail % 2] = waiter;
    }
    channel->wait_tail = waiter;
    return false;
}

bool scarp_channel_event(ScarpDrive *drive, uint32_t c, uint32_t *die)
{
    ScarpChannel *channel = &drive->nand.channel[c];
    uint32_t waiter = channel->wait_head;
    bool behind;

    *die = waiter / 2;
    channel->wait_head = drive->nand.die[*die].channel_next[waiter % 2];
    behind = scarp_channel_granted(drive, waiter);
    if (channel->wait_head != SCARP_NONE) {
        wake_when_free(drive, c);
    }
    return behind;
}
