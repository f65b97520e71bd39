#include "cli/show/audit.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "record/host-mounts.h"

#define LEAST_WIDTH 60 /* narrower terminals break the lines themselves */
#define MODE_COLUMNS 8
#define RANKS 3

/* Returns the word for a mount's access: it can be read, it can be written, or it is hidden. */
static const char *mode_word(enum spec_mount_kind k)
{
	switch (k) {
	case SPEC_BIND_RW:
	case SPEC_HOME_FILE: /* in its own home */
	case SPEC_HOME_SEED:
	case SPEC_PIN: /* as before, but it cannot be renamed away */
	case SPEC_VOLUME:
	case SPEC_OWN:
		return "rw";
	case SPEC_PUT_BACK:
		return "back"; /* as it was, after each command */
	case SPEC_TMPFS:
		return "tmpfs";
	case SPEC_LOGIN:
		return "login";
	case SPEC_PROC:
		return "proc";
	case SPEC_DEV:
		return "dev";
	case SPEC_SYMLINK:
	case SPEC_HOME_LINK:
		return "link";
	case SPEC_DIR:
		return "dir";
	case SPEC_MASK:
	case SPEC_HIDE:
		return "hidden";
	case SPEC_BIND_RO:
	case SPEC_FILE:
	case SPEC_COPY:
	case SPEC_RO:
	case SPEC_PROTECT:
	case SPEC_IMAGE:
	case SPEC_MOUNT_N:
		break;
	}
	return "ro";
}

/* Orders the rows by importance: writable mounts first, then the exceptions within them. */
static unsigned rank(enum spec_mount_kind k)
{
	if (k == SPEC_BIND_RW || k == SPEC_VOLUME || k == SPEC_LOGIN)
		return 0;
	return k == SPEC_PIN || k == SPEC_PROTECT || k == SPEC_HIDE || k == SPEC_PUT_BACK ||
			       k == SPEC_OWN
		       ? 1
		       : RANKS - 1;
}

static bool same_group(const struct spec_mount *a, const struct spec_mount *b)
{
	return streq(mode_word(a->kind), mode_word(b->kind)) && rank(a->kind) == rank(b->kind) &&
	       streq(a->reason, b->reason);
}

/* The rows before this one have printed its group already. */
static bool is_first(const struct sandbox_spec *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_group(&s->mounts[k], &s->mounts[i]))
			return false;
	return true;
}

/* A column of text: lines that are filled as far as the limit. */
struct lines {
	struct strv v;
	size_t limit;
};

/* Adds a word to the last line, or to a new one where it does not fit. It is escaped already. */
static void add_word(struct lines *l, const char *gap, const char *word)
{
	char **last = l->v.n ? &l->v.v[l->v.n - 1] : NULL, *longer;

	if (!last || term_columns(*last) + strlen(gap) + term_columns(word) > l->limit) {
		strv_push(&l->v, word);
		return;
	}
	longer = xasprintf("%s%s%s", *last, gap, word);
	free(*last);
	*last = longer;
}

static void add_path(struct lines *l, const char *text)
{
	cleanup_free char *escaped = term_escape(text);

	add_word(l, "  ", escaped);
}

static void add_reason(struct lines *l, const char *text)
{
	cleanup_free char *escaped = term_escape(text);
	cleanup_strv struct strv words = {0};

	strv_split(&words, escaped, ' ');
	for (size_t i = 0; i < words.n; i++)
		add_word(l, " ", words.v[i]);
}

static int add_mount(struct lines *l, const struct spec_mount *m, struct err *err)
{
	bool bind = m->kind == SPEC_BIND_RO || m->kind == SPEC_BIND_RW;
	cleanup_strv struct strv below = {0};
	cleanup_free char *from = NULL;
	int r;

	if (bind && !streq(m->source, m->target))
		from = xasprintf("%s ← %s", m->target, m->source);
	add_path(l, from ? from : m->target);
	if (!bind)
		return 0;
	r = host_mounts_below(m->source, &below, err);
	for (size_t i = 0; r == 0 && i < below.n; i++) {
		cleanup_free char *text = xasprintf("%s (mounted there)", below.v[i]);

		add_path(l, text);
	}
	return r;
}

static void put_blanks(FILE *out, size_t n)
{
	while (n--)
		(void)fputc(' ', out);
}

/* Both columns side by side; a reason gives way to a path that is longer than its column. */
static void put_lines(const struct lines *paths, const struct lines *reasons, FILE *out, bool color)
{
	size_t reason = 0;

	for (size_t i = 0; i < paths->v.n || reason < reasons->v.n; i++) {
		const char *path = i < paths->v.n ? paths->v.v[i] : "";
		size_t used = term_columns(path);

		if (i > 0)
			put_blanks(out, 2 + MODE_COLUMNS);
		(void)fputs(path, out);
		if (used <= paths->limit && reason < reasons->v.n) {
			put_blanks(out, paths->limit - used + 2);
			term_styled(out, color, STYLE_DIM, reasons->v.v[reason++]);
		}
		(void)fputc('\n', out);
	}
}

static int put_group(const struct sandbox_spec *s, size_t first, FILE *out, unsigned width,
		     bool color, struct err *err)
{
	const struct spec_mount *m = &s->mounts[first];
	const char *mode = mode_word(m->kind);
	size_t room = width > LEAST_WIDTH ? width - 2 - MODE_COLUMNS - 2 : LEAST_WIDTH;
	struct lines paths = {.limit = room / 2}, reasons = {.limit = room - room / 2};
	int r = 0;

	for (size_t i = first; i < s->n_mounts && r == 0; i++)
		if (same_group(&s->mounts[i], m))
			r = add_mount(&paths, &s->mounts[i], err);
	add_reason(&reasons, m->reason);
	(void)fputs("  ", out);
	term_styled(out, color, streq(mode, "rw") ? STYLE_YELLOW : STYLE_NONE, mode);
	put_blanks(out, MODE_COLUMNS - strlen(mode));
	put_lines(&paths, &reasons, out, color);
	strv_done(&paths.v);
	strv_done(&reasons.v);
	return r;
}

int audit_print_mounts(const struct sandbox_spec *s, FILE *out, unsigned width, bool color,
		       struct err *err)
{
	int r = 0;

	for (unsigned now = 0; now < RANKS; now++)
		for (size_t i = 0; i < s->n_mounts && r == 0; i++)
			if (rank(s->mounts[i].kind) == now && is_first(s, i))
				r = put_group(s, i, out, width, color, err);
	return r;
}
