#pragma once

#include "cred/google.h"

/* Where Google's programs keep the login that other programs may use ("application default"):
 * $GOOGLE_APPLICATION_CREDENTIALS, else the file in gcloud's own directory. */
char *google_adc_path(const struct cred_host *h);
/* Reads it: -ENOENT when it is not there or is one that only gcloud can use. err names the file. */
int google_adc_read(const char *path, struct google_user *ret, char **ret_warning, struct err *err);
