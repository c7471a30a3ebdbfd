/*
 * What flow asks of image: saving, and a drive that starts from a file.  image
 * owns nothing of a drive; docs/images.md has the file's layout.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_IMAGE_OPS_H
#define SCARP_IMAGE_OPS_H

#include "buffer/ops.h"

typedef struct ScarpImage ScarpImage;

ScarpImage *scarp_image_open(const char *path, GError **error);
void scarp_image_close(ScarpImage *image);
/* The description of the drive that was saved; g_free() it. */
char *scarp_image_description(ScarpImage *image, GError **error);
/*
 * Whether drive, whose sizes are known and nothing else, is of the image's
 * layout class, and the file holds tables of its size.
 */
bool scarp_image_fits(ScarpImage *image, const ScarpDrive *drive,
                      GError **error);
/* Into a new drive; the scheme's own state is another matter. */
bool scarp_image_load(ScarpImage *image, ScarpDrive *drive, GError **error);
bool scarp_image_load_scheme(ScarpImage *image, ScarpDrive *drive,
                             GError **error);
/* Of a drive at rest; scarp.h says the rest. */
bool scarp_image_save(ScarpDrive *drive, const char *path, GError **error);

#endif /* SCARP_IMAGE_OPS_H */
