/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "tasks.h"
#include "load.h"
#include "machine.h"
#include "nvme.h"
#include "say.h"

enum { FIRST = 1, SECOND = 2 }; /* I/O queues */

#define IN_FLIGHT 32 /* of a round that ends in a reset */
#define MOST_PAUSE_US 400
/* The chipset's register, and what resets the machine (ICH9, 13.7.5). */
#define RESET_CONTROL 0xcf9
#define RESET_NOW 6
/* The real-time clock (MC146818): a byte that no firmware uses, and its mark. */
#define CLOCK_INDEX 0x70
#define CLOCK_DATA 0x71
#define CLOCK_MARK 0x50
#define MARKED 0xa9
#define SILENCE_US 300 /* a completion after a reset would come by then */

static void start(uint32_t queue, int vector)
{
    nvme_enable();
    nvme_create_queue(queue, vector);
}

/* Each page has a content that reads are compared with. */
static void fill_pages(LoadWait *wait)
{
    load_run(&drive.queue[FIRST], LOAD_FILL, LOAD_PAGES, LOAD_DEPTH, wait);
}

/* ---- Polled, by interrupts, with doorbells in memory -------------------- */

/* Reads and writes at both depths. */
static void both_depths(uint32_t n, LoadWait *wait)
{
    Queue *queue = &drive.queue[FIRST];

    fill_pages(wait);
    load_run(queue, LOAD_MIXED, n, 1, wait);
    load_run(queue, LOAD_WRITES, n, LOAD_DEPTH, wait);
    load_run(queue, LOAD_READS, n, LOAD_DEPTH, wait);
    load_run(queue, LOAD_MIXED, n, LOAD_DEPTH, wait);
    say_number("commands", LOAD_PAGES + 4 * n);
}

void task_polled(uint32_t n)
{
    start(FIRST, NO_VECTOR);
    say("polled");
    both_depths(n, NULL);
    say_end();
}

/* One that came before the look at the queue wakes the processor, too. */
static void wait_for_interrupt(Queue *queue)
{
    (void)queue;
    sleep_until_interrupt();
}

void task_interrupts(uint32_t n)
{
    uint32_t vector = VECTOR_QUEUE + FIRST, before = interrupts(vector);

    /* QEMU takes a queue's vector when the queue is created. */
    msix_route(drive.function, FIRST, vector, this_processor());
    start(FIRST, FIRST);
    say("interrupts");
    both_depths(n, wait_for_interrupt);
    say_number("interrupts", interrupts(vector) - before);
    say_end();
}

void task_shadow(uint32_t n)
{
    uint32_t before = drive.shadow_doorbells[FIRST];

    nvme_enable();
    nvme_use_shadow_doorbells();
    nvme_create_queue(FIRST, NO_VECTOR);
    say("shadow");
    both_depths(n, NULL);
    say_number("doorbells", drive.shadow_doorbells[FIRST] - before);
    say_end();
}

/* ---- Two processors ----------------------------------------------------- */

static uint32_t second_n;

static void second_reads(void)
{
    load_read_beside(&drive.queue[SECOND], second_n, LOAD_DEPTH,
                     wait_for_interrupt);
}

void task_processors(uint32_t n)
{
    uint32_t first = interrupts(VECTOR_QUEUE + FIRST);
    uint32_t second = interrupts(VECTOR_QUEUE + SECOND);

    msix_route(drive.function, FIRST, VECTOR_QUEUE + FIRST, this_processor());
    msix_route(drive.function, SECOND, VECTOR_QUEUE + SECOND, 1);
    start(FIRST, FIRST);
    nvme_create_queue(SECOND, SECOND);
    second_n = n;
    second_start(second_reads);
    fill_pages(wait_for_interrupt);
    load_run(&drive.queue[FIRST], LOAD_MIXED, n, LOAD_DEPTH,
             wait_for_interrupt);
    while (!second_ended()) {
        relax();
    }
    say("processors");
    say_number("commands", LOAD_PAGES + 2 * n);
    say_number("first", interrupts(VECTOR_QUEUE + FIRST) - first);
    say_number("second", interrupts(VECTOR_QUEUE + SECOND) - second);
    say_end();
}

/* ---- Resets and deleted queues ------------------------------------------ */

/* How many of the round's reads have ended; each must have ended well. */
static uint32_t reap_all(Queue *queue)
{
    uint32_t n = 0;
    Completion done;

    for (; nvme_reap(queue, &done); n++) {
        if (nvme_status(&done)) {
            fail("status before a reset", nvme_status(&done), n);
        }
    }
    return n;
}

static void check_silent(Queue *queue)
{
    Completion done;

    pause_us(SILENCE_US);
    if (nvme_reap(queue, &done)) {
        fail("completion after a reset", done.id, done.status);
    }
}

/* After all of it the drive still works, and has lost no data. */
static void check_works(uint32_t n)
{
    start(FIRST, NO_VECTOR);
    load_run(&drive.queue[FIRST], LOAD_MIXED, n, LOAD_DEPTH, NULL);
}

void task_resets(uint32_t n)
{
    Queue *queue = &drive.queue[FIRST];
    uint32_t ended = 0;

    start(FIRST, NO_VECTOR);
    fill_pages(NULL);
    for (uint32_t round = 0; round < n; round++) {
        start(FIRST, NO_VECTOR);
        load_begin_reads(queue, IN_FLIGHT);
        pause_us(load_random(MOST_PAUSE_US));
        nvme_disable();
        ended += reap_all(queue);
        check_silent(queue);
    }
    check_works(n);
    say("resets");
    say_number("rounds", n);
    say_number("ended", ended);
    say_number("cancelled", n * IN_FLIGHT - ended);
    say_end();
}

void task_deletions(uint32_t n)
{
    Queue *queue = &drive.queue[FIRST];
    uint32_t ended = 0, aborted = 0;

    start(FIRST, NO_VECTOR);
    fill_pages(NULL);
    for (uint32_t round = 0; round < n; round++) {
        Completion done;

        nvme_enable();
        if (round % 2) {
            nvme_use_shadow_doorbells();
        }
        nvme_create_queue(FIRST, NO_VECTOR);
        load_begin_reads(queue, IN_FLIGHT);
        pause_us(load_random(MOST_PAUSE_US));
        nvme_delete_queue(FIRST);
        while (nvme_reap(queue, &done)) {
            /* Command Abort Requested, or due to SQ Deletion: generic 7, 8 */
            if (nvme_status(&done) == 7 || nvme_status(&done) == 8) {
                aborted++;
            } else if (nvme_status(&done)) {
                fail("status of a deleted queue", nvme_status(&done), round);
            } else {
                ended++;
            }
        }
        check_silent(queue);
    }
    check_works(n);
    say("deletions");
    say_number("rounds", n);
    say_number("ended", ended);
    say_number("aborted", aborted);
    say_number("unanswered", n * IN_FLIGHT - ended - aborted);
    say_end();
}

/* ---- Random doorbells beside resets ------------------------------------- */

/* volatile: both processors use them */
static volatile bool ringing;
/* volatile: likewise */
static volatile uint32_t rung;

static uint32_t next_random(uint32_t state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

/* The second processor writes any tail and head of queue SECOND. */
static void ring_at_random(void)
{
    uint32_t state = 88675123u;
    uint32_t doorbell = drive.bar + 0x1000 + 2 * SECOND * drive.stride_bytes;

    while (ringing) {
        state = next_random(state);
        mmio_write(doorbell, state % QUEUE_ENTRIES);
        mmio_write(doorbell + drive.stride_bytes,
                   (state >> 8) % QUEUE_ENTRIES);
        rung += 2;
    }
}

void task_doorbells(uint32_t n)
{
    ringing = true;
    rung = 0;
    start(FIRST, NO_VECTOR);
    fill_pages(NULL);
    nvme_create_queue(SECOND, NO_VECTOR);
    second_start(ring_at_random);
    for (uint32_t round = 0; round < n; round++) {
        if (round % 3 == 2) {
            nvme_delete_queue(SECOND);
        }
        load_begin_reads(&drive.queue[FIRST], LOAD_DEPTH / 4);
        pause_us(load_random(MOST_PAUSE_US / 2));
        nvme_enable();
        nvme_create_queue(FIRST, NO_VECTOR);
        nvme_create_queue(SECOND, NO_VECTOR);
    }
    ringing = false;
    while (!second_ended()) {
        relax();
    }
    check_works(n);
    say("doorbells");
    say_number("rounds", n);
    say_number("rung", rung);
    say_end();
}

/* ---- Stops, latencies --------------------------------------------------- */

void task_stops(uint32_t n)
{
    start(FIRST, NO_VECTOR);
    fill_pages(NULL);
    say("stop me");
    say_end();
    load_run(&drive.queue[FIRST], LOAD_MIXED, n, LOAD_DEPTH, NULL);
    say("stops");
    say_number("commands", n);
    say_end();
}

void task_latency(uint32_t n)
{
    uint32_t seen_ns, doorbell_ns;

    start(FIRST, NO_VECTOR);
    fill_pages(NULL);
    load_latency(&drive.queue[FIRST], n, &seen_ns, &doorbell_ns);
    say("latency");
    say_number("commands", n);
    say_number("seen_ns", seen_ns);
    say_number("doorbell_ns", doorbell_ns);
    say_end();
}

static void reset_machine(void)
{
    out8(RESET_CONTROL, RESET_NOW);
    for (;;) {
        relax();
    }
}

void task_reboot(uint32_t us)
{
    pause_us(us);
    say("reboot");
    say_number("after_us", us);
    say_end();
    reset_machine();
}

/* The real-time clock's memory keeps a mark over the reset. */
void task_again(uint32_t us)
{
    out8(CLOCK_INDEX, CLOCK_MARK);
    if (in8(CLOCK_DATA) == MARKED) {
        say("again");
        say_number("after_us", us);
        say_end();
        return;
    }
    out8(CLOCK_DATA, MARKED);
    pause_us(us);
    reset_machine();
}

void task_count(uint32_t queue)
{
    say("count");
    say_number("plain", drive.plain_doorbells[queue]);
    say_number("shadow", drive.shadow_doorbells[queue]);
    say_end();
}
