#pragma once

#include "cred/google.h"

/*
 * Returns the path of the login that Google's programs keep for other programs ("application
 * default"): $GOOGLE_APPLICATION_CREDENTIALS, else the file in gcloud's own directory.
 */
char *google_adc_path(const struct cred_host *h);
/* Reads that file: -ENOENT when there is none, or only gcloud can use it. err names the file. */
int google_adc_read(const struct cred_host *h, const char *path, struct google_user *ret,
		    char **ret_warning, struct err *err);
