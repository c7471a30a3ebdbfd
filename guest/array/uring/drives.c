/*
 * Opening drives for exclusive use.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* O_DIRECT */
#include "drives.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool failed(char *error, const char *path, const char *what)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%.100s: %s: %s", path, what,
             strerror(errno));
    return false;
}

/*
 * Opens a drive for exclusive use, and returns its file descriptor. Returns -1
 * and sets errno if the drive cannot be opened so. On a block device
 * O_EXCL keeps out mounts and md, too; a file gets a lock.
 */
static int claim(const char *path)
{
    int fd = open(path, O_RDWR | O_DIRECT | O_EXCL | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
        close(fd);
        errno = EBUSY;
        fd = -1;
    }
    return fd;
}

/* Opens a drive and sets *bytes to its size. -1: error says why not. */
static int open_one(const char *path, uint64_t *bytes, char *error)
{
    struct stat st;
    int fd = claim(path);

    /*
     * a killed process's rings, which have the drive open, end a little later
     */
    for (int i = 0; fd < 0 && errno == EBUSY && i < 100; i++) {
        usleep(10000);
        fd = claim(path);
    }
    if (fd < 0) {
        failed(error, path, errno == EBUSY ? "is in use" : "cannot be opened");
        return -1;
    }
    if (fstat(fd, &st)) {
        failed(error, path, "cannot be looked at");
    } else if (S_ISREG(st.st_mode)) {
        *bytes = st.st_size;
        return fd;
    } else if (!S_ISBLK(st.st_mode)) {
        snprintf(error, ARRAY_ERROR_BYTES,
                 "%.100s: must be a block device or a file", path);
    } else if (ioctl(fd, BLKGETSIZE64, bytes)) {
        failed(error, path, "has no size");
    } else {
        return fd;
    }
    close(fd);
    return -1;
}

bool array_drives_claim(ArrayDrives *drives, const char *const *paths,
                        uint32_t n, char *error)
{
    drives->n = 0;
    if (!n || n > ARRAY_MAX_DRIVES) {
        snprintf(error, ARRAY_ERROR_BYTES, "%" PRIu32 " drives: must be from 1 "
                 "to %d", n, ARRAY_MAX_DRIVES);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        drives->fd[i] = open_one(paths[i], &drives->bytes[i], error);
        if (drives->fd[i] < 0) {
            array_drives_close(drives);
            return false;
        }
        drives->n++;
    }
    return true;
}

void array_drives_close(ArrayDrives *drives)
{
    for (uint32_t i = 0; i < drives->n; i++) {
        /*
         * a ring may keep the file open for a while, so close() would not
         * unlock it
         */
        flock(drives->fd[i], LOCK_UN);
        close(drives->fd[i]);
    }
    drives->n = 0;
}
