/*
 * The kernel's side of a ublk device: control commands, and the queue's
 * commands on a ring.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_UBLK_H
#define ARRAY_UBLK_H

#include <liburing.h>
#include <linux/ublk_cmd.h>
#include <sys/ioctl.h>
#include <stdbool.h>
#include <stdint.h>

/* One queue of so many requests, of at most so many bytes each. */
#define UBLK_DEPTH 128u
#define UBLK_BUFFER_BYTES (256u << 10)

typedef struct {
    uint64_t bytes; /* of the device */
    uint32_t page_bytes; /* what it likes to write */
    bool read_only;
    uint64_t number; /* ../label.h: the driver keeps it with the device */
} UblkSize;

typedef struct {
    int control; /* /dev/ublk-control */
    struct io_uring commands; /* to it: there from the first to the last one */
    int device;  /* /dev/ublkcN */
    uint32_t id;
    struct ublksrv_io_desc *requests; /* [UBLK_DEPTH], the driver's */
    char *buffers; /* [UBLK_DEPTH] of UBLK_BUFFER_BYTES */
} Ublk;

/*
 * All: 0, or an errno, and *what says what could not be done; UBLK_REFUSED:
 * *what says why nothing was tried.
 */
#define UBLK_REFUSED (-1)

/* Before all others, but ublk_abandon(). */
int ublk_open(Ublk *u, const char **what);
/* Of a device that is there. */
int ublk_number(Ublk *u, uint32_t id, uint64_t *number, const char **what);
/* id: below 0, the kernel chooses.  On errors no device is left. */
int ublk_add(Ublk *u, int id, const UblkSize *size, const char **what);
/* Of a device whose server is gone, if it has this number, and is as large. */
int ublk_recover(Ublk *u, uint32_t id, const UblkSize *size,
                 const char **what);
/* A device whose server is gone goes, too: what waits for it fails. */
int ublk_abandon(Ublk *u, uint32_t id, const char **what);
/*
 * The device appears, or goes on.  Both end when requests are served: another
 * thread calls them, after ublk_fetch() of every tag was submitted.
 */
int ublk_start(Ublk *u, bool recovered);
/* The device goes; requests that are there are served first. */
int ublk_stop(Ublk *u);
/* After all of ublk_fetch() have ended with an error. */
void ublk_remove(Ublk *u);

/* On a ring of the thread that serves: its user data is the tag. */
void ublk_fetch(const Ublk *u, struct io_uring *ring, uint16_t tag);
/* The tag's request has ended: result is bytes, or less than 0. */
void ublk_end(const Ublk *u, struct io_uring *ring, uint16_t tag, int result);

static inline char *ublk_buffer(const Ublk *u, uint16_t tag)
{
    return u->buffers + (size_t)tag * UBLK_BUFFER_BYTES;
}

#endif /* ARRAY_UBLK_H */
