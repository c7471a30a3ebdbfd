/*
 * Functions of image: saving a drive, and starting a drive from a file. This
 * directory owns no state of a drive. docs/images.md has the layout of the
 * file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_IMAGE_OPS_H
#define SCARP_IMAGE_OPS_H

#include "buffer/ops.h"

typedef struct ScarpImage ScarpImage;

ScarpImage *scarp_image_open(const char *path, GError **error);
void scarp_image_close(ScarpImage *image);
/*
 * Returns the description of the saved drive. The caller frees it with
 * g_free().
 */
char *scarp_image_description(ScarpImage *image, GError **error);
/*
 * Called before the parts of the drive are made. True if the image was saved
 * from a drive of the same layout, and its tables have this drive's sizes.
 */
bool scarp_image_fits(ScarpImage *image, const ScarpDrive *drive,
                      GError **error);
/*
 * Loading has two parts. scarp_image_load() loads the tables into a new drive.
 * When the drive has its scheme, scarp_image_load_scheme() loads the states of
 * the scheme's policies.
 */
bool scarp_image_load(ScarpImage *image, ScarpDrive *drive, GError **error);
bool scarp_image_load_scheme(ScarpImage *image, ScarpDrive *drive,
                             GError **error);
/*
 * Saves a drive that is at rest, so that no command is under way
 * (scarp_save()).
 */
bool scarp_image_save(ScarpDrive *drive, const char *path, GError **error);

#endif /* SCARP_IMAGE_OPS_H */
