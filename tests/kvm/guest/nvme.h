/*
 * A driver of the drive: registers, queues, commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BARE_NVME_H
#define BARE_NVME_H

#include "cpu.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 4 };

/* Opcodes: NVMe Base 2.1, figures 142 and 556; NVM Command Set 1.1. */
enum {
    ADMIN_DELETE_SQ = 0x00, ADMIN_CREATE_SQ = 0x01, ADMIN_DELETE_CQ = 0x04,
    ADMIN_CREATE_CQ = 0x05, ADMIN_IDENTIFY = 0x06, ADMIN_SET_FEATURES = 0x09,
    ADMIN_DOORBELL_BUFFERS = 0x7c,
    NVM_WRITE = 0x01, NVM_READ = 0x02,
};

typedef struct {
    uint32_t word[16];
} Command;

typedef struct {
    uint32_t result, reserved;
    uint16_t sq_head, sq_id;
    uint16_t id;
    uint16_t status; /* bit 0: the phase */
} Completion;

/* Queue 0 is the controller's for administration. */
enum { QUEUES = 4, QUEUE_ENTRIES = 64, NO_VECTOR = -1 };

typedef struct {
    Command *sq;
    volatile Completion *cq; /* volatile: the drive writes it */
    uint32_t number, tail, head, phase;
    uint32_t in_flight; /* submitted, and not reaped */
    bool shadow;        /* its doorbells lie in memory */
} Queue;

typedef struct {
    uint32_t function; /* PCI */
    uint32_t bar;
    uint32_t stride_bytes;
    Queue queue[QUEUES];
    /* Doorbell writes by MMIO of all queues that had that number so far. */
    uint32_t plain_doorbells[QUEUES];
    uint32_t shadow_doorbells[QUEUES]; /* where the doorbells lie in memory */
} Drive;

extern Drive drive;

/* Finds the drive; its registers must lie below 4 GiB. */
void nvme_find(void);
/* Resets and enables the controller; queue 0 is its only queue then. */
void nvme_enable(void);
/* CC.EN = 0, until the controller says that it is disabled. */
void nvme_disable(void);
/* An I/O queue pair; with a vector its completions interrupt. */
void nvme_create_queue(uint32_t number, int vector);
/* Completions that have not been reaped are kept; new ones cannot come. */
void nvme_delete_queue(uint32_t number);
/*
 * Doorbells of queues that are created afterwards lie in memory (NVMe Base 2.1,
 * 5.2.5): MMIO is needed only where the controller asks for it.
 */
void nvme_use_shadow_doorbells(void);

/* A command of the queue for administration, to its end; its status. */
uint32_t nvme_admin(const Command *command);

/* Puts a command into the queue; the doorbell comes apart. */
void nvme_push(Queue *queue, const Command *command);
void nvme_ring(Queue *queue);
/* True: *done is the oldest completion that was not reaped. */
bool nvme_reap(Queue *queue, Completion *done);
/* Tells the controller how far completions were reaped. */
void nvme_reaped(Queue *queue);

static inline uint32_t nvme_status(const Completion *done)
{
    return done->status >> 1 & 0x7ff;
}

/* A write or read of a page of namespace 1, whose blocks have 512 bytes. */
Command nvme_page_command(uint32_t opcode, uint32_t id, uint32_t page,
                          void *buffer);

#endif /* BARE_NVME_H */
