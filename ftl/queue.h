/*
 * Lists of commands, and of units that wait to fill a page.  Included by
 * drive.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_QUEUE_H
#define SCARP_QUEUE_H

static inline void scarp_cmd_push(CmdQueue *queue, ScarpCmd *cmd)
{
    cmd->next = NULL;
    if (queue->head) {
        queue->tail->next = cmd;
    } else {
        queue->head = cmd;
    }
    queue->tail = cmd;
}

static inline ScarpCmd *scarp_cmd_pop(CmdQueue *queue)
{
    ScarpCmd *cmd = queue->head;

    if (cmd) {
        queue->head = cmd->next;
    }
    return cmd;
}

/* Removes one of queue, wherever it stands. */
static inline ScarpCmd *scarp_cmd_take(CmdQueue *queue, ScarpCmd *cmd)
{
    ScarpCmd *before = NULL;

    for (ScarpCmd *at = queue->head; at != cmd; at = at->next) {
        before = at;
    }
    *(before ? &before->next : &queue->head) = cmd->next;
    if (queue->tail == cmd) {
        queue->tail = before;
    }
    return cmd;
}

static inline void scarp_packer_push(ScarpPacker *packer, ScarpUnit *unit)
{
    unit->next = NULL;
    if (!packer->n++) {
        packer->tail = &packer->head;
    }
    *packer->tail = unit;
    packer->tail = &unit->next;
}

#endif /* SCARP_QUEUE_H */
