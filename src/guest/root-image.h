#pragma once

#include "guest/builder.h"
#include "wire/root-proto.h"

#include <stddef.h>

/* GUEST_IMAGE, the row of that number; what the rows after it put somewhere is left out. */
int root_image_lay(struct builder *b, const struct guest_root *root, size_t row);
