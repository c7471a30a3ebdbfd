/*
 * The kernel's side of a ublk device: control commands to the driver, and
 * commands that fetch and end the device's requests.
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
    uint64_t number; /* ../label.h: the driver keeps it */
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
 * Functions that return an int return 0 or an errno, and *what says which step
 * failed. UBLK_REFUSED: nothing was tried, and *what says why.
 */
#define UBLK_REFUSED (-1)

/* Opens the driver. All other functions need that, but for ublk_abandon(). */
int ublk_open(Ublk *u, const char **what);
/* Reads the number of an existing device. */
int ublk_number(Ublk *u, uint32_t id, uint64_t *number, const char **what);
/*
 * Adds a device. id below 0: the kernel chooses the id. After an error there is
 * no device.
 */
int ublk_add(Ublk *u, int id, const UblkSize *size, const char **what);
/*
 * Takes over device id, whose server is gone. Refuses a device that has another
 * number or size.
 */
int ublk_recover(Ublk *u, uint32_t id, const UblkSize *size,
                 const char **what);
/* Removes device id, whose server is gone. Its outstanding requests fail. */
int ublk_abandon(Ublk *u, uint32_t id, const char **what);
/*
 * Starts a new device, or a recovered one again. ublk_start() and ublk_stop()
 * return only while requests are being served. So another thread calls them,
 * after ublk_fetch() was submitted for every tag.
 */
int ublk_start(Ublk *u, bool recovered);
/* Stops the block device. Outstanding requests are served first. */
int ublk_stop(Ublk *u);
/* Deletes the device. Each ublk_fetch() has ended with an error before. */
void ublk_remove(Ublk *u);

/*
 * Prepares a command on the serving thread's ring that ends when the driver has
 * a request for this tag. Its user data is the tag.
 */
void ublk_fetch(const Ublk *u, struct io_uring *ring, uint16_t tag);
/*
 * Ends the request of the tag, and fetches the next. result: bytes, or a
 * negative errno.
 */
void ublk_end(const Ublk *u, struct io_uring *ring, uint16_t tag, int result);

static inline char *ublk_buffer(const Ublk *u, uint16_t tag)
{
    return u->buffers + (size_t)tag * UBLK_BUFFER_BYTES;
}

#endif /* ARRAY_UBLK_H */
