/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nvme.h"
#include "machine.h"
#include "say.h"

#define NVME_CLASS 0x010802
#define PCI_COMMAND 4
#define PCI_MEMORY_AND_MASTER 0x406 /* and no INTx */

/* Registers: NVMe over PCIe Transport 1.1, 3.1. */
#define CAP_HIGH 0x04
#define CC 0x14
#define CSTS 0x1c
#define AQA 0x24
#define ASQ 0x28
#define ACQ 0x30
#define DOORBELLS 0x1000
#define CC_ENABLE (1 | 6 << 16 | 4 << 20) /* entries of 64 and 16 bytes */
#define CSTS_READY 1
#define CSTS_FATAL 2

#define PHYSICALLY_CONTIGUOUS 1
#define INTERRUPTS 2
#define FEATURE_QUEUES 7
#define BLOCKS_PER_PAGE 8
#define LIMIT_US 60000000 /* the emulator is slow, and the host may be busy */

#define PAGE_ALIGNED __attribute__((aligned(PAGE_BYTES)))

Drive drive;

static Command submissions[QUEUES][QUEUE_ENTRIES] PAGE_ALIGNED;
static Completion completions[QUEUES][PAGE_BYTES / sizeof(Completion)]
    PAGE_ALIGNED;
/* volatile: the drive reads and writes them */
static volatile uint32_t shadow_doorbell[PAGE_WORDS] PAGE_ALIGNED;
/* volatile: likewise */
static volatile uint32_t event_index[PAGE_WORDS] PAGE_ALIGNED;
static bool shadow_doorbells;

static uint32_t reg(uint32_t offset)
{
    return drive.bar + offset;
}

static void await(uint32_t mask, uint32_t value)
{
    uint32_t began_us = now_us(), status;

    while (((status = mmio_read(reg(CSTS))) & mask) != value) {
        if (status & CSTS_FATAL) {
            fail("controller's fatal status", status, 0);
        }
        if (now_us() - began_us > LIMIT_US) {
            fail("controller's status", status, value);
        }
    }
}

void nvme_find(void)
{
    drive.function = pci_find(NVME_CLASS);
    drive.bar = pci_read(drive.function, 0x10) & ~15u;
    if (pci_read(drive.function, 0x14)) {
        fail("registers above 4 GiB", drive.bar, 0);
    }
    pci_write(drive.function, PCI_COMMAND, PCI_MEMORY_AND_MASTER);
    drive.stride_bytes = 4u << (mmio_read(reg(CAP_HIGH)) & 15);
}

static void init_queue(uint32_t number, bool shadow)
{
    fill_words(completions[number], 0, sizeof(completions[number]) / 4);
    drive.queue[number] = (Queue) {
        .sq = submissions[number],
        .cq = completions[number],
        .number = number,
        .phase = 1,
        .shadow = shadow,
    };
}

void nvme_disable(void)
{
    mmio_write(reg(CC), 0);
    await(CSTS_READY, 0);
}

void nvme_enable(void)
{
    Command queues = { { ADMIN_SET_FEATURES, [10] = FEATURE_QUEUES,
                         [11] = (QUEUES - 2) << 16 | (QUEUES - 2) } };
    uint32_t status;

    nvme_disable();
    shadow_doorbells = false;
    init_queue(0, false);
    mmio_write(reg(AQA), (QUEUE_ENTRIES - 1) << 16 | (QUEUE_ENTRIES - 1));
    mmio_write(reg(ASQ), (uint32_t)submissions[0]);
    mmio_write(reg(ASQ) + 4, 0);
    mmio_write(reg(ACQ), (uint32_t)completions[0]);
    mmio_write(reg(ACQ) + 4, 0);
    mmio_write(reg(CC), CC_ENABLE);
    await(CSTS_READY, CSTS_READY);
    status = nvme_admin(&queues);
    if (status) {
        fail("number of queues", status, 0);
    }
}

void nvme_create_queue(uint32_t number, int vector)
{
    uint32_t size = (QUEUE_ENTRIES - 1) << 16 | number;
    uint32_t interrupts =
        vector == NO_VECTOR ? 0 : INTERRUPTS | (uint32_t)vector << 16;
    Command cq = { { ADMIN_CREATE_CQ, [6] = (uint32_t)completions[number],
                     [10] = size, [11] = PHYSICALLY_CONTIGUOUS | interrupts } };
    Command sq = { { ADMIN_CREATE_SQ, [6] = (uint32_t)submissions[number],
                     [10] = size,
                     [11] = PHYSICALLY_CONTIGUOUS | number << 16 } };
    uint32_t status;

    init_queue(number, shadow_doorbells);
    if (shadow_doorbells) {
        for (uint32_t at = 2 * number; at <= 2 * number + 1; at++) {
            shadow_doorbell[at] = event_index[at] = 0;
        }
    }
    status = nvme_admin(&cq);
    status = status ? status : nvme_admin(&sq);
    if (status) {
        fail("queue is not created", number, status);
    }
}

void nvme_delete_queue(uint32_t number)
{
    Command sq = { { ADMIN_DELETE_SQ, [10] = number } };
    Command cq = { { ADMIN_DELETE_CQ, [10] = number } };
    uint32_t status = nvme_admin(&sq);

    status = status ? status : nvme_admin(&cq);
    if (status) {
        fail("queue is not deleted", number, status);
    }
}

void nvme_use_shadow_doorbells(void)
{
    Command command = { { ADMIN_DOORBELL_BUFFERS,
                          [6] = (uint32_t)shadow_doorbell,
                          [8] = (uint32_t)event_index } };
    uint32_t status;

    fill_words((void *)shadow_doorbell, 0, PAGE_WORDS);
    fill_words((void *)event_index, 0, PAGE_WORDS);
    status = nvme_admin(&command);
    if (status) {
        fail("shadow doorbells", status, 0);
    }
    shadow_doorbells = true;
    /* The queue for administration is in it from now on, too. */
    drive.queue[0].shadow = true;
    shadow_doorbell[0] = drive.queue[0].tail;
    shadow_doorbell[1] = drive.queue[0].head;
}

/* of: 0 for the submission queue's tail, 1 for the completion queue's head. */
static void doorbell(Queue *queue, uint32_t of, uint32_t value)
{
    uint32_t at = 2 * queue->number + of;

    if (queue->shadow) {
        uint32_t before = shadow_doorbell[at];
        uint32_t event;

        shadow_doorbell[at] = value;
        memory_fence();
        event = event_index[at];
        /* NVMe Base 2.1, B.5: MMIO if the event index was passed. */
        if ((uint16_t)(value - event - 1) >= (uint16_t)(value - before)) {
            return;
        }
        drive.shadow_doorbells[queue->number]++;
    } else {
        drive.plain_doorbells[queue->number]++;
    }
    mmio_write(reg(DOORBELLS) + at * drive.stride_bytes, value);
}

void nvme_push(Queue *queue, const Command *command)
{
    queue->sq[queue->tail] = *command;
    queue->tail = (queue->tail + 1) % QUEUE_ENTRIES;
    queue->in_flight++;
}

void nvme_ring(Queue *queue)
{
    doorbell(queue, 0, queue->tail);
}

bool nvme_reap(Queue *queue, Completion *done)
{
    /* volatile: the drive writes it */
    volatile Completion *next = &queue->cq[queue->head];

    if ((next->status & 1u) != queue->phase) {
        return false;
    }
    __asm__ volatile("" : : : "memory");
    *done = (Completion) { .result = next->result, .id = next->id,
                           .status = next->status };
    queue->head = (queue->head + 1) % QUEUE_ENTRIES;
    queue->phase ^= !queue->head;
    queue->in_flight--;
    return true;
}

void nvme_reaped(Queue *queue)
{
    doorbell(queue, 1, queue->head);
}

uint32_t nvme_admin(const Command *command)
{
    Queue *queue = &drive.queue[0];
    uint32_t began_us = now_us();
    Completion done;

    nvme_push(queue, command);
    nvme_ring(queue);
    while (!nvme_reap(queue, &done)) {
        if (now_us() - began_us > LIMIT_US) {
            fail("no completion of the command", command->word[0], 0);
        }
    }
    nvme_reaped(queue);
    return nvme_status(&done);
}

Command nvme_page_command(uint32_t opcode, uint32_t id, uint32_t page,
                          void *buffer)
{
    return (Command) { { opcode | id << 16, 1, [6] = (uint32_t)buffer,
                         [10] = page * BLOCKS_PER_PAGE,
                         [12] = BLOCKS_PER_PAGE - 1 } };
}
