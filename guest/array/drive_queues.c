/*
 * A drive's two queues and its slots (section 3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void array_drive_kick(Array *a, uint32_t drive)
{
    if (!a->drives[drive].kicked) {
        a->drives[drive].kicked = true;
        a->kicks[a->n_kicks++] = drive;
    }
}

void array_drive_queue_high(Array *a, uint32_t page)
{
    Page *p = &a->pages[page];
    Drive *d = &a->drives[p->drive];

    a->flags[page] |= PAGE_HIGH;
    p->next = NONE;
    *(d->high_first == NONE ? &d->high_first : &a->pages[d->high_last].next) =
        page;
    d->high_last = page;
    d->high_length++;
    array_drive_kick(a, p->drive);
}

void array_drive_queue_low(Array *a, uint32_t entry)
{
    uint32_t drive = a->pages[a->entries[entry].page].drive;
    Drive *d = &a->drives[drive];

    a->entries[entry].next = NONE;
    *(d->low_first == NONE ? &d->low_first : &a->entries[d->low_last].next) =
        entry;
    d->low_last = entry;
    array_drive_kick(a, drive);
}

static void issue(Array *a, uint32_t drive, ArrayIoOp op, uint32_t page,
                  bool low)
{
    Drive *d = &a->drives[drive];
    ArrayIo *io = &d->ios[d->slot_stack[--d->free_slots]];

    io->op = op;
    io->low = low;
    io->page = page;
    if (op == ARRAY_IO_DISCARD) {
        io->offset_bytes = d->discard_at;
        io->length_bytes = d->discard_bytes;
        io->data = NULL;
    } else if (op == ARRAY_IO_FLUSH) {
        io->offset_bytes = 0;
        io->length_bytes = 0;
        io->data = NULL;
    } else {
        if (op == ARRAY_IO_WRITE) {
            array_page_writing(a, page, io);
        }
        array_map(a, a->numbers[page], &io->offset_bytes);
        io->length_bytes = a->config.page_bytes;
        io->data = array_buffer(a, a->pages[page].buffer);
    }
    a->ops.issue(a->opaque, io);
}

static void issue_high(Array *a, uint32_t drive)
{
    Drive *d = &a->drives[drive];
    uint32_t page = d->high_first;
    Page *p = &a->pages[page];

    d->high_first = p->next;
    d->high_length--;
    if (a->flags[page] & PAGE_READING) {
        a->flags[page] &= ~PAGE_HIGH;
        issue(a, drive, ARRAY_IO_READ, page, false);
    } else {
        issue(a, drive, ARRAY_IO_WRITE, page, false);
    }
}

static void issue_low(Array *a, uint32_t drive)
{
    uint32_t page = array_flush_take(a, drive);

    if (page != NONE) {
        issue(a, drive, ARRAY_IO_WRITE, page, true);
    }
}

void array_drive_run(Array *a, uint32_t drive)
{
    Drive *d = &a->drives[drive];
    uint64_t epoch = array_barrier_epoch(a);

    /*
     * Pages that a flush waits for go first. At most config.slots of them are
     * moved to the high-priority queue at once.
     */
    while (d->high_length < a->config.slots && d->dirty_first != NONE &&
           a->pages[d->dirty_first].epoch <= epoch) {
        a->stats.barrier_writes++;
        array_page_write_soon(a, d->dirty_first);
    }
    while (d->free_slots) {
        if (d->flush_wanted) {
            d->flush_wanted = false;
            d->unflushed = false;
            a->stats.drive_flushes++;
            issue(a, drive, ARRAY_IO_FLUSH, NONE, false);
        } else if (d->discard_bytes) {
            issue(a, drive, ARRAY_IO_DISCARD, NONE, false);
            d->discard_bytes = 0;
        } else if (d->high_first != NONE) {
            issue_high(a, drive);
        } else if (d->low_first != NONE &&
                   d->free_slots > a->config.reserved_slots) {
            issue_low(a, drive);
        } else {
            break;
        }
    }
}
