/*
 * Scripts that are already on the disk: `bash x.sh`, `. x.sh`, `./x.sh`. Each is judged by the same
 * rules as a typed command, by a judge with its own memory, so that a long script does not use up
 * the limits of the command. A script that cannot be judged is flagged and not refused: build
 * scripts are longer and stranger than the commands of an agent. The file may change before it
 * runs; this check finds carelessness, not malice.
 */
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/paths.h"
#include "hook/programs.h"

#define NESTED_MAX 3 /* scripts that run scripts */
#define FILES_MAX 16 /* judged for one command */
#define SHOWN_MAX 200

/* Copies the names that the script can see: variables, since any may be exported, and written
 * files. */
static struct judge_name *copy_names(struct arena *a, const struct judge_name *list)
{
	struct judge_name *head = NULL, **to = &head;

	for (; list; list = list->next) {
		*to = arena_alloc(a, sizeof(**to));
		**to = *list;
		(*to)->next = NULL;
		to = &(*to)->next;
	}
	return head;
}

static void take_findings(struct judge *j, const struct judge *inner, const char *path)
{
	for (unsigned int i = 0; i < inner->n_findings; i++) {
		const struct finding *f = &inner->findings[i];

		/* An unknown word in a script is only a warning: scripts get their words from
		 * many sources. */
		judge_add(j, f->category, strchr(f->text, MARK_ANY) ? SEV_WARN : f->severity,
			  arena_printf(j->arena, "%.*s: %s", SHOWN_MAX, path, f->text),
			  arena_printf(j->arena, "%s", f->why));
	}
}

static void judge_file(struct judge *j, const struct fields *args, const char *path,
		       const char *text)
{
	struct judge *inner = arena_alloc(j->arena, sizeof(*inner));
	struct arena own;

	arena_init(&own, JUDGE_MEMORY);
	*inner = *j;
	inner->arena = &own;
	inner->n_findings = inner->steps = inner->depth = inner->globs = 0;
	inner->conditional = inner->in_pipe = inner->in_background = inner->in_forever = 0;
	inner->functions = inner->aliases = NULL;
	inner->names = (struct fields){0};
	inner->stdin_text = NULL;
	inner->nested++;
	inner->script = path;
	inner->args = *args;
	if (setjmp(own.out) == 0) {
		inner->vars = copy_names(&own, j->vars);
		inner->files = copy_names(&own, j->files);
		judge_script(inner, text, strlen(text));
	} else {
		judge_add(j, CAT_REMOTE_CODE, SEV_WARN, path,
			  arena_printf(j->arena, "this script cannot be judged: %s", own.why));
	}
	j->files_read = inner->files_read;
	take_findings(j, inner, path);
	arena_done(&own);
}

/* True when a shell would run the file: by its first line ("#!/bin/sh -e", "#!/usr/bin/env
 * bash"), or without one. */
static bool is_shell_script(struct judge *j, const char *text)
{
	size_t line = strcspn(text, "\n"), n;
	const char *p, *end = text + line;

	if (strncmp(text, "#!", 2) != 0)
		return true;
	for (p = text + 2; p < end; p += n) {
		const char *word, *name;

		p += strspn(p, " \t");
		n = strcspn(p, " \t\r\n");
		if (n == 0 || p >= end)
			return false;
		word = arena_strndup(j->arena, p, n);
		name = path_base(word);
		if (!streq(name, "env") && word[0] != '-' && !strchr(word, '='))
			return program_is_shell(name);
	}
	return false;
}

void program_on_disk(struct judge *j, const char *path, const struct fields *args, bool itself)
{
	const char *text, *why = NULL;

	if (!j->read || !value_is_known(path) || !*path || !value_is_known(j->cwd) ||
	    j->nested > NESTED_MAX || (j->script && streq(path, j->script)))
		return;
	if (j->files_read >= FILES_MAX) {
		judge_add(j, CAT_REMOTE_CODE, SEV_WARN, path,
			  "it runs more scripts than are looked at");
		return;
	}
	path = value_plain(j, path);
	text = j->read(j->arena, path_normal(j, path), &why);
	if (text && (!itself || is_shell_script(j, text))) {
		j->files_read++;
		judge_file(j, args, path, text);
	} else if (!text && why) {
		judge_add(j, CAT_REMOTE_CODE, SEV_WARN, path, why);
	}
}
