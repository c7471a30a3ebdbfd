/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "load.h"
#include "machine.h"
#include "say.h"

#define LIMIT_US 60000000
#define MOST_LATENCIES 1024
#define UNREAD 0xdeadbeef /* begins a buffer that nothing was read into */

typedef struct {
    uint32_t page;
    bool writes;
    bool busy;
} Slot;

static uint8_t buffer[2 * LOAD_DEPTH][PAGE_BYTES]
    __attribute__((aligned(PAGE_BYTES)));
static Slot slot[LOAD_DEPTH];
static uint8_t written[LOAD_PAGES]; /* so often, modulo 256 */
static bool page_busy[LOAD_PAGES];
static uint32_t random_state = 2463534242u;

uint32_t load_random(uint32_t limit)
{
    random_state ^= random_state << 13; /* Marsaglia 2003 */
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % limit;
}

/* The word that a page is full of. */
static uint32_t content(uint32_t page)
{
    return page * 2654435761u ^ written[page] * 0x01000193u ^ 0x5ca9;
}

static uint32_t choose_page(LoadKind kind, uint32_t sent)
{
    uint32_t page = sent % LOAD_PAGES;

    if (kind != LOAD_FILL) {
        do {
            page = load_random(LOAD_PAGES);
        } while (page_busy[page]);
    }
    return page;
}

static void begin(Queue *queue, LoadKind kind, uint32_t at, uint32_t sent)
{
    uint32_t page = choose_page(kind, sent);
    bool writes = kind == LOAD_FILL || kind == LOAD_WRITES ||
                  (kind == LOAD_MIXED && load_random(2));
    Command command = nvme_page_command(writes ? NVM_WRITE : NVM_READ, at,
                                        page, buffer[at]);

    page_busy[page] = true;
    slot[at] = (Slot) { page, writes, true };
    if (writes) {
        written[page]++;
        fill_words(buffer[at], content(page), PAGE_WORDS);
    } else {
        *(uint32_t *)buffer[at] = UNREAD;
    }
    nvme_push(queue, &command);
}

static void end(const Completion *done)
{
    Slot *ended = &slot[done->id % LOAD_DEPTH];

    if (done->id >= LOAD_DEPTH || !ended->busy) {
        fail("completion of no command", done->id, done->status);
    }
    if (nvme_status(done)) {
        fail("status", nvme_status(done), ended->page);
    }
    if (!ended->writes &&
        !words_are(buffer[done->id], content(ended->page), PAGE_WORDS)) {
        fail("data of page", ended->page, *(uint32_t *)buffer[done->id]);
    }
    page_busy[ended->page] = ended->busy = false;
}

static void check_limit(uint32_t began_us, const Queue *queue)
{
    if (now_us() - began_us > LIMIT_US) {
        fail("no completion, in flight", queue->in_flight, queue->number);
    }
}

void load_run(Queue *queue, LoadKind kind, uint32_t n, uint32_t depth,
              LoadWait *wait)
{
    uint32_t sent = 0, ended = 0;

    while (ended < n) {
        uint32_t before = sent, ended_before = ended;
        uint32_t began_us = now_us();
        Completion done;

        for (uint32_t at = 0; at < depth && sent < n; at++) {
            if (!slot[at].busy) {
                begin(queue, kind, at, sent++);
            }
        }
        if (sent != before) {
            nvme_ring(queue);
        }
        while (ended == ended_before) {
            for (; nvme_reap(queue, &done); ended++) {
                end(&done);
            }
            if (ended == ended_before && wait) {
                wait(queue);
            }
            check_limit(began_us, queue);
        }
        nvme_reaped(queue);
    }
}

static void push_read(Queue *queue, uint32_t id, uint32_t page, void *into)
{
    Command command = nvme_page_command(NVM_READ, id, page, into);

    nvme_push(queue, &command);
}

void load_read_beside(Queue *queue, uint32_t n, uint32_t depth, LoadWait *wait)
{
    uint32_t sent = 0, ended = 0;

    while (ended < n) {
        uint32_t before = sent, ended_before = ended;
        uint32_t began_us = now_us();
        Completion done;

        for (; sent < n && queue->in_flight < depth; sent++) {
            push_read(queue, sent % LOAD_DEPTH, sent % LOAD_PAGES,
                      buffer[LOAD_DEPTH + sent % LOAD_DEPTH]);
        }
        if (sent != before) {
            nvme_ring(queue);
        }
        while (ended == ended_before) {
            for (; nvme_reap(queue, &done); ended++) {
                if (nvme_status(&done)) {
                    fail("status of a read beside", nvme_status(&done), 0);
                }
            }
            if (ended == ended_before && wait) {
                wait(queue);
            }
            check_limit(began_us, queue);
        }
        nvme_reaped(queue);
    }
}

void load_begin_reads(Queue *queue, uint32_t n)
{
    for (uint32_t id = 0; id < n; id++) {
        push_read(queue, id, load_random(LOAD_PAGES), buffer[id]);
    }
    nvme_ring(queue);
}

/* ---- Latencies ---------------------------------------------------------- */

static uint32_t median(uint32_t *values, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint32_t value = values[i], at = i;

        for (; at && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
    return values[n / 2];
}

void load_latency(Queue *queue, uint32_t n, uint32_t *seen_ns,
                  uint32_t *doorbell_ns)
{
    static uint32_t seen[MOST_LATENCIES], rung[MOST_LATENCIES];

    for (uint32_t i = 0; i < n && i < MOST_LATENCIES; i++) {
        uint32_t began_us = now_us();
        uint64_t began, after;
        Completion done;

        push_read(queue, 0, load_random(LOAD_PAGES), buffer[0]);
        began = time_stamp();
        nvme_ring(queue);
        after = time_stamp();
        while (!nvme_reap(queue, &done)) {
            check_limit(began_us, queue);
        }
        seen[i] = stamps_ns(time_stamp() - began);
        rung[i] = stamps_ns(after - began);
        if (nvme_status(&done)) {
            fail("status of a read", nvme_status(&done), i);
        }
        nvme_reaped(queue);
    }
    n = n < MOST_LATENCIES ? n : MOST_LATENCIES;
    *seen_ns = median(seen, n);
    *doorbell_ns = median(rung, n);
}
