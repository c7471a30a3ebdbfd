/*
 * Lists of NVMe commands, linked by ScarpCmd.next, so a command can be in only
 * one list.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_COMMAND_QUEUE_H
#define SCARP_COMMAND_QUEUE_H

#include "forward.h"
#include "scarp.h"

struct ScarpCmdQueue {
    ScarpCmd *head, *tail;
};

/* Returns the oldest command, or NULL. ScarpCmd.next leads to younger ones. */
static inline ScarpCmd *scarp_cmd_first(const ScarpCmdQueue *queue)
{
    return queue->head;
}

/* Returns the newest command; queue must not be empty. */
static inline ScarpCmd *scarp_cmd_last(const ScarpCmdQueue *queue)
{
    return queue->tail;
}

static inline void scarp_cmd_push(ScarpCmdQueue *queue, ScarpCmd *cmd)
{
    cmd->next = NULL;
    if (queue->head) {
        queue->tail->next = cmd;
    } else {
        queue->head = cmd;
    }
    queue->tail = cmd;
}

static inline ScarpCmd *scarp_cmd_pop(ScarpCmdQueue *queue)
{
    ScarpCmd *cmd = queue->head;

    if (cmd) {
        queue->head = cmd->next;
    }
    return cmd;
}

/*
 * Removes and returns the command that follows `before`, or the first command
 * if `before` is NULL. The removed command must exist.
 */
static inline ScarpCmd *scarp_cmd_take_after(ScarpCmdQueue *queue,
                                             ScarpCmd *before)
{
    ScarpCmd **link = before ? &before->next : &queue->head, *cmd = *link;

    *link = cmd->next;
    if (queue->tail == cmd) {
        queue->tail = before;
    }
    return cmd;
}

/* Removes cmd from any place in the queue. */
static inline ScarpCmd *scarp_cmd_take(ScarpCmdQueue *queue, ScarpCmd *cmd)
{
    ScarpCmd *before = NULL;

    for (ScarpCmd *at = queue->head; at != cmd; at = at->next) {
        before = at;
    }
    return scarp_cmd_take_after(queue, before);
}

#endif /* SCARP_COMMAND_QUEUE_H */
