#include "policy/gitprograms.h"

#include <string.h>

#include "base/buf.h"

#define WORD_MAX 4096

static const char *program_base(const char *word)
{
	const char *base = strrchr(word, '/');

	return base ? base + 1 : word;
}

static bool is_python(const char *word)
{
	return strncmp(program_base(word), "python", 6) == 0;
}

/* Programs that run the file that is their first argument. */
static bool is_interpreter(const char *word)
{
	static const char *const names[] = {
		"sh",	   "bash",  "dash",   "zsh",  "ksh",  "fish",  "node",	"deno",
		"bun",	   "tsx",   "awk",    "gawk", "mawk", "uv",    "run",	"ts-node",
		"java",	   "tclsh", "expect", "perl", "lua",  "php",   "julia", "nu",
		"Rscript", "guile", "pypy",   "ruby", ".",    "source"};
	const char *base = program_base(word);

	if (is_python(word))
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
	struct buf dir; /* of the last cd */
	bool first;	/* the next one is a command */
	bool is_file;	/* the next one is what an interpreter runs */
	bool is_module; /* the next one is what python -m runs */
	bool is_dir;	/* those up to the end of the command are where cd goes to */
	bool python;
};

static void name(struct words *w, enum gitprogram kind, const char *path)
{
	const char *dir = behind_variable(buf_str(&w->dir));
	cleanup_free char *below = NULL;

	w->fn(kind, behind_variable(path), w->arg);
	if (!w->dir.len || path[0] == '/' || path[0] == '$')
		return;
	below = xasprintf("%s/%s", dir, path);
	w->fn(kind, below, w->arg);
}

/* python -m a.b runs a/b.py, or a/b/__main__.py. */
static void name_module(struct words *w, const char *module)
{
	static const char *const ends[] = {".py", "/__main__.py", "/__init__.py"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		cleanup_free char *file = xasprintf("%s%s", module, ends[i]);

		for (char *p = file; p < file + strlen(module); p++)
			if (*p == '.')
				*p = '/';
		name(w, GITPROGRAM_FILE, file);
	}
}

/* `sh -e x` and `A=1 x`: what counts is still to come. */
static void look_ahead(struct words *w, const char *word)
{
	w->is_module = w->python && streq(word, "-m");
	if ((w->first && strchr(word, '=')) || word[0] == '-')
		return;
	w->is_dir = w->is_dir || streq(word, "cd") || streq(word, "pushd");
	w->is_file = is_interpreter(word);
	w->python = is_python(word);
	w->first = false;
}

static void end_word(struct words *w)
{
	const char *word = buf_str(&w->word);

	if (w->word.len == 0)
		return;
	if (w->is_dir && word[0] != '-') {
		buf_clear(&w->dir);
		(void)buf_puts(&w->dir, word);
	}
	/* A command without a slash is looked for on the PATH. */
	if (w->is_module)
		name_module(w, word);
	else if (w->is_file || strchr(word, '/'))
		name(w,
		     w->first || (w->is_file && word[0] != '-') ? GITPROGRAM_FILE
								: GITPROGRAM_MAYBE,
		     word);
	look_ahead(w, word);
	buf_clear(&w->word);
}

/* Quotes are taken off and join nothing that the shell would part: `sh -c './x y'` names ./x. */
static void each_word(const char *text, struct words *w)
{
	for (; *text; text++) {
		if (begins_command(*text)) {
			end_word(w);
			w->first = true;
			/* `cd "$(a)/b"` is one command, and /b its last word. */
			w->is_dir = w->is_dir && strchr("(){}`", *text);
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
	buf_init(&w.dir, WORD_MAX);
	each_word(e->value[0] == '!' ? e->value + 1 : e->value, &w);
	buf_done(&w.word);
	buf_done(&w.dir);
}
