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

/* The queue has UBLK_DEPTH requests, each of at most UBLK_BUFFER_BYTES. */
#define UBLK_DEPTH 128u
#define UBLK_BUFFER_BYTES (256u << 10)

typedef struct {
    uint64_t bytes; /* of the device */
    uint32_t page_bytes; /* preferred size of writes */
    bool read_only;
    uint64_t number; /* ../label.h; the driver keeps it */
} UblkSize;

typedef struct {
    int control; /* /dev/ublk-control */
    struct io_uring commands; /* ring for control commands */
    int device;  /* /dev/ublkcN */
    uint32_t id;
    struct ublksrv_io_desc *requests; /* [UBLK_DEPTH], the driver's */
    char *buffers; /* [UBLK_DEPTH] of UBLK_BUFFER_BYTES */
} Ublk;

/*
 * All functions return 0, or an errno, and *what says what failed;
 * UBLK_REFUSED: *what says why nothing was tried.
 */
#define UBLK_REFUSED (-1)

/* Opens the driver; must precede all others but ublk_abandon(). */
int ublk_open(Ublk *u, const char **what);
/* Reads the number of an existing device. */
int ublk_number(Ublk *u, uint32_t id, uint64_t *number, const char **what);
/*
 * Adds a device; id below 0: the kernel chooses one. After an error no device
 * is left.
 */
int ublk_add(Ublk *u, int id, const UblkSize *size, const char **what);
/* Takes over a device whose server is gone, if it has this number and size. */
int ublk_recover(Ublk *u, uint32_t id, const UblkSize *size,
                 const char **what);
/* Removes a device whose server is gone; requests that wait for it fail. */
int ublk_abandon(Ublk *u, uint32_t id, const char **what);
/*
 * Makes the device appear, or go on. ublk_start() and ublk_stop() end only
 * while requests are served: another thread calls them, after ublk_fetch() of
 * every tag was submitted.
 */
int ublk_start(Ublk *u, bool recovered);
/* Removes the block device; outstanding requests are served first. */
int ublk_stop(Ublk *u);
/* Deletes the device, after every ublk_fetch() has ended with an error. */
void ublk_remove(Ublk *u);

/*
 * Fetches a request on a ring of the serving thread; its user data is the tag.
 */
void ublk_fetch(const Ublk *u, struct io_uring *ring, uint16_t tag);
/* Ends the tag's request: result is bytes, or a negative errno. */
void ublk_end(const Ublk *u, struct io_uring *ring, uint16_t tag, int result);

static inline char *ublk_buffer(const Ublk *u, uint16_t tag)
{
    return u->buffers + (size_t)tag * UBLK_BUFFER_BYTES;
}

#endif /* ARRAY_UBLK_H */
