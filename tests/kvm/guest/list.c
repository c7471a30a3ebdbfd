/*
 * Carries out the host's list, step by step.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "list.h"
#include "machine.h"
#include "nvme.h"
#include "say.h"
#include "tasks.h"

#define LIMIT_US 60000000
#define IDENTIFIERS 4096 /* of commands, for each queue */
#define NOT_ENDED 0xffff

static const uint32_t *list, *list_end;
/* The status of each command that has ended and was not asked for yet. */
static uint16_t status_of[QUEUES][IDENTIFIERS];

void list_init(const void *module, uint32_t bytes)
{
    list = module;
    list_end = list + bytes / 4;
}

static uint16_t *place_of_status(uint32_t queue, uint32_t id)
{
    if (queue >= QUEUES || id >= IDENTIFIERS) {
        fail("the list: queue or identifier", queue, id);
    }
    return &status_of[queue][id];
}

static void submit(const uint32_t *word)
{
    Queue *queue = &drive.queue[word[0]];
    Command command;

    copy_words(&command, word + 1, 16);
    *place_of_status(word[0], command.word[0] >> 16) = NOT_ENDED;
    nvme_push(queue, &command);
    nvme_ring(queue);
}

static void await_end(const uint32_t *word, uint32_t step)
{
    Queue *queue = &drive.queue[word[0]];
    uint16_t *status = place_of_status(word[0], word[1]);
    uint32_t began_us = now_us();

    while (*status == NOT_ENDED) {
        Completion done;

        while (nvme_reap(queue, &done)) {
            *place_of_status(word[0], done.id) = nvme_status(&done);
            nvme_reaped(queue);
        }
        if (now_us() - began_us > LIMIT_US) {
            fail("listed command does not end, step", step, word[1]);
        }
    }
    if (word[2] != STEP_ANY && *status != word[2]) {
        fail("listed command's status, step", step, *status);
    }
}

static void carry_out(const uint32_t *word, uint32_t n, uint32_t step)
{
    switch (word[-2]) {
    case STEP_STORE:
        copy_words((void *)word[0], word + 1, n - 1);
        break;
    case STEP_FILL:
        fill_words((void *)word[0], word[2], word[1]);
        break;
    case STEP_SUBMIT:
        submit(word);
        break;
    case STEP_END:
        await_end(word, step);
        break;
    case STEP_EQUAL:
        if (!words_equal((void *)word[0], word + 1, n - 1)) {
            fail("listed command's data, step", step, *(uint32_t *)word[0]);
        }
        break;
    case STEP_ALL:
        if (!words_are((void *)word[0], word[2], word[1])) {
            fail("listed command's data, step", step, *(uint32_t *)word[0]);
        }
        break;
    default:
        fail("the list: step", step, word[-2]);
    }
}

void task_list(uint32_t n)
{
    const uint32_t *at = list;
    uint32_t steps = 0;

    nvme_enable();
    for (uint32_t queue = 1; queue <= n; queue++) {
        nvme_create_queue(queue, NO_VECTOR);
    }
    for (; at < list_end; at += 2 + at[1], steps++) {
        carry_out(at + 2, at[1], steps);
    }
    say("list");
    say_number("steps", steps);
    say_end();
}
