/*
 * Channels: first come, first served, one transfer at a time.
 *
 * A channel that nobody waits for has no event: its next user compares
 * free_ns with the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

void scarp_channel_request(ScarpDrive *drive, uint32_t waiter)
{
    uint32_t c = scarp_die_channel(drive, waiter / 2);
    ScarpChannel *channel = &drive->channel[c];

    if (channel->free_ns <= drive->now_ns &&
        channel->wait_head == SCARP_NONE) {
        scarp_channel_granted(drive, waiter);
        return;
    }
    drive->die[waiter / 2].channel_next[waiter % 2] = SCARP_NONE;
    if (channel->wait_head == SCARP_NONE) {
        channel->wait_head = waiter;
        scarp_events_set_lane(&drive->events, SCARP_LANE_CHANNEL, c,
                              channel->free_ns);
    } else {
        uint32_t tail = channel->wait_tail;

        drive->die[tail / 2].channel_next[tail % 2] = waiter;
    }
    channel->wait_tail = waiter;
}

void scarp_channel_event(ScarpDrive *drive, uint32_t c)
{
    ScarpChannel *channel = &drive->channel[c];
    uint32_t waiter = channel->wait_head;

    channel->wait_head = drive->die[waiter / 2].channel_next[waiter % 2];
    scarp_channel_granted(drive, waiter);
    if (channel->wait_head != SCARP_NONE) {
        scarp_events_set_lane(&drive->events, SCARP_LANE_CHANNEL, c,
                              channel->free_ns);
    }
}
