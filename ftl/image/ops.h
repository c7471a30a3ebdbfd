/*
 * Functions of image: saving a drive, and starting a drive from a file. image
 * owns nothing of a drive; docs/images.md has the layout of the file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_IMAGE_OPS_H
#define SCARP_IMAGE_OPS_H

#include "buffer/ops.h"

typedef struct ScarpImage ScarpImage;

ScarpImage *scarp_image_open(const char *path, GError **error);
void scarp_image_close(ScarpImage *image);
/* Returns the description of the saved drive; g_free() it. */
char *scarp_image_description(ScarpImage *image, GError **error);
/*
 * True when the image has the properties of `drive`, of which only the sizes
 * are set, and tables of its size.
 */
bool scarp_image_fits(ScarpImage *image, const ScarpDrive *drive,
                      GError **error);
/*
 * scarp_image_load() loads the tables of the image into a new drive;
 * scarp_image_load_scheme() loads the states of policies when the drive has its
 * scheme.
 */
bool scarp_image_load(ScarpImage *image, ScarpDrive *drive, GError **error);
bool scarp_image_load_scheme(ScarpImage *image, ScarpDrive *drive,
                             GError **error);
/* Saves a drive at rest, as scarp_save() does. */
bool scarp_image_save(ScarpDrive *drive, const char *path, GError **error);

#endif /* SCARP_IMAGE_OPS_H */
