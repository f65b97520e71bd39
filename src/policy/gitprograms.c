#include "policy/gitprograms.h"

#include <string.h>

#include "base/buf.h"

#define WORD_MAX 4096

/* Programs that run the file that is their first argument. */
static bool is_interpreter(const char *word)
{
	static const char *const names[] = {"sh",   "bash", "dash", "zsh",   "ksh",  "fish",
					    "node", "deno", "bun",  "tsx",   "perl", "ruby",
					    "lua",  "php",  ".",    "source"};
	const char *base = strrchr(word, '/');

	base = base ? base + 1 : word;
	if (strncmp(base, "python", 6) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(base, names[i]))
			return true;
	return false;
}

/* Where the next command begins: `a; b`, `a && b`, `$(a)`. */
static bool begins_command(char c)
{
	return c != '\0' && strchr(";&|()`{}\n", c) != NULL;
}

/* "$NAME/x" and "${NAME}/x" are "/x" here, as "$(…)/x" is once its parts are apart. */
static const char *behind_variable(const char *word)
{
	const char *slash = strchr(word, '/');

	return word[0] == '$' && slash ? slash : word;
}

struct words {
	gitprogram_fn *fn;
	void *arg;
	struct buf word;
	bool first;   /* the next one is a command */
	bool is_file; /* the next one is what an interpreter runs */
};

static void end_word(struct words *w)
{
	const char *word = buf_str(&w->word);

	if (w->word.len == 0)
		return;
	/* A command without a slash is looked for on the PATH. */
	if (w->is_file || strchr(word, '/'))
		w->fn(w->first || (w->is_file && word[0] != '-') ? GITPROGRAM_FILE
								 : GITPROGRAM_MAYBE,
		      behind_variable(word), w->arg);
	/* `sh -e x` and `A=1 x`: what counts is still to come. */
	if (!(w->first && strchr(word, '=')) && word[0] != '-') {
		w->is_file = is_interpreter(word);
		w->first = false;
	}
	buf_clear(&w->word);
}

/* Quotes are taken off and join nothing that the shell would part: `sh -c './x y'` names ./x. */
static void each_word(const char *text, struct words *w)
{
	for (; *text; text++) {
		if (begins_command(*text)) {
			end_word(w);
			w->first = true;
		} else if (strchr(" \t\"'<>", *text)) {
			end_word(w);
		} else if (*text != '\\') {
			(void)buf_putc(&w->word, *text);
		}
	}
	end_word(w);
}

void gitprograms_each(const struct gitconfig_entry *e, gitprogram_fn *fn, void *arg)
{
	struct words w = {.fn = fn, .arg = arg, .first = true};

	if (!e->value || !e->value[0] || !gitconfig_entry_runs(e))
		return;
	if (streq(e->section, "core") && streq(e->key, "hookspath")) {
		fn(GITPROGRAM_DIR, e->value, arg);
		return;
	}
	/* An alias without '!' is a command of git. */
	if (streq(e->section, "alias") && e->value[0] != '!')
		return;
	buf_init(&w.word, WORD_MAX);
	each_word(e->value[0] == '!' ? e->value + 1 : e->value, &w);
	buf_done(&w.word);
}
