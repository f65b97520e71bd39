#pragma once

#include "engine/vm/vm-engine.h"

/* The steps of `ralph engine setup vm`. Each leaves either all of its work or nothing. */

/* The distribution's kernel and its drivers, in f->kernel and f->modules. */
int vm_kernel_fetch(const struct vm_files *f, void (*say)(const char *text), struct err *err);
int vm_image_write(const struct vm_files *f, struct err *err);
/* Starts a machine of that size until it waits to be woken, and keeps it in f->kept. */
int vm_keep(const struct vm_files *f, bool emulated, uint32_t memory, struct err *err);
