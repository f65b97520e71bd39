#pragma once

/*
 * ROOM: loop/report
 *
 * Facts of a loop that its user should look at: refused hosts, files in quarantine, work that no
 * command verified, and the conversations. Nothing here decides about a task.
 */

#include "loop/loop.h"

/* refused-hosts.c: shows which hosts were refused, before the iteration's sandbox ends. */
void refused_hosts_tell(struct loop *l);
/* Lists the hosts of all iterations on record; true: there were more. */
bool refused_hosts_all(const struct loop *l, struct strv *ret);

/* quarantined.c: notes the files that ralph moved to quarantine since the last record. It is called
 * when the iteration's sandbox has ended. */
void quarantined_note(struct loop *l);
/* Returns those of all iterations: [{"id", "path"}]; the caller releases it. */
json_t *quarantined_all(const struct loop *l);

/* transcripts.c: gives the iteration's conversation its name, when its sandbox has started. */
void transcripts_name(struct loop *l, const struct task *t);
/* The name, below the inbox's conversations, of this iteration's; the caller frees it. */
char *transcripts_path(const struct loop *l, const struct task *t, uint64_t iteration);
/* Waits for the export of the conversations. */
void transcripts_wait(struct loop *l);
/* Writes the index page of the loop. Returns its path, or NULL without a conversation; the caller
 * frees it. */
char *transcripts_index(const struct loop *l);

/* summary.c: the parts of the summary. The caller releases the JSON. */
json_t *summary_refused(const struct loop *l);
json_t *summary_unverified(const struct loop *l);
/* Prints a line for each that is not empty, and the path of the transcripts (NULL: there are
 * none). */
void summary_print(const struct loop *l, const char *transcripts);
