#pragma once

/*
 * ROOM: loop/notify
 *
 * Tells the user of events by the way that loop.notify names: a command of the host, a webhook or
 * the desktop. A failure is logged and changes nothing else.
 *
 *	notice.c    which events there are, and when: pure
 *	notify.c    what is told, and to whom
 *	webhook.c   one POST by libexec/ralph/fetch
 */
#include "loop/loop.h"
#include "loop/notify/notice.h"

/* Tells of the loop's end. A plain command is run whatever the exit code is. */
void notify_end(const struct loop *l, int code, const char *reason);
/* Notes that a task waits for an answer; notify_look() tells it. */
void notify_question(struct loop *l, const char *task, const char *question);
/* Tells that an agent asks a person for something, with a link to the page that `ralph web` serves, if
 * one does; it holds no secret. The words are the agent's. */
void notify_ask(struct loop *l, const char *id, const char *kind, const char *what,
		const char *why);
/* Tells of what has come up while the loop goes on. Blocks for as long as the telling takes. */
void notify_look(struct loop *l);

/* Sends the document to the URL; tries a second time when the first fails. */
int webhook_post(const struct places *p, const char *url, const json_t *doc, struct err *err);
