#pragma once

/* For probes only: runs fn in a child and gives its result (0..127), -ETIMEDOUT when it had to be
 * killed, -ECHILD when it died by a signal, another -errno when there was no child. fn runs
 * between fork and _exit: system calls only. */
int probe_in_child(int (*fn)(void), int timeout_ms);
