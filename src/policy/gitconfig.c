#include "policy/gitconfig.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"

#define NAME_MAX_LEN 1024	 /* of a section, subsection or key */
#define VALUE_MAX_LEN (64 * KiB) /* of one value */

struct parser {
	const char *p, *end;
	struct buf section, sub, key, value;
	bool has_sub;
};

static int peek(const struct parser *s)
{
	return s->p < s->end ? (unsigned char)*s->p : -1;
}

/* Git takes "\r\n" for a newline. */
static int next(struct parser *s)
{
	int c = peek(s);

	if (c < 0)
		return c;
	s->p++;
	if (c == '\r' && peek(s) == '\n') {
		s->p++;
		return '\n';
	}
	return c;
}

static void skip_line(struct parser *s)
{
	for (int c = next(s); c >= 0 && c != '\n';)
		c = next(s);
}

/* From behind '"' to behind the closing one. */
static int read_subsection(struct parser *s)
{
	s->has_sub = true;
	for (;;) {
		int c = next(s);

		if (c == '\\')
			c = next(s);
		else if (c == '"')
			return 0;
		if (c <= 0 || c == '\n' || buf_putc(&s->sub, (char)c) < 0)
			return -EINVAL;
	}
}

/* Reads the quoted subsection between the name of a section and its ']'. */
static int read_quoted(struct parser *s)
{
	int r;

	while (peek(s) == ' ' || peek(s) == '\t')
		s->p++;
	if (next(s) != '"' || s->has_sub)
		return -EINVAL;
	r = read_subsection(s);
	return r < 0 || next(s) != ']' ? -EINVAL : 0;
}

static bool is_name(int c)
{
	return c >= 0 && (isalnum(c) || c == '-' || c == '.');
}

/* From behind '[' to behind ']': [name], [name "sub"], and [name.sub] of old. */
static int read_section(struct parser *s)
{
	buf_clear(&s->section);
	buf_clear(&s->sub);
	s->has_sub = false;
	for (;;) {
		int c = next(s);

		if (c == ']')
			return s->section.len ? 0 : -EINVAL;
		if (c == ' ' || c == '\t')
			return read_quoted(s);
		if (c == '.' && !s->has_sub) {
			s->has_sub = true;
			continue;
		}
		if (!is_name(c) ||
		    buf_putc(s->has_sub ? &s->sub : &s->section, (char)tolower(c)) < 0)
			return -EINVAL;
	}
}

static int unescape(int c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c == '\\' || c == '"' ? c : -1;
}

struct value {
	bool quoted;
	size_t keep; /* length of the part that must not be trimmed */
};

/* One character that is neither a quote nor the end; -EINVAL: git would not take it. */
static int add_char(struct parser *s, struct value *v, int c)
{
	if (c == '\\') {
		c = next(s);
		if (c == '\n')
			return 0; /* the value goes on in the next line */
		c = unescape(c);
		if (c < 0)
			return -EINVAL;
		v->keep = s->value.len + 1;
	}
	if (!v->quoted && s->value.len == 0 && (c == ' ' || c == '\t'))
		return 0;
	if (c == 0 || buf_putc(&s->value, (char)c) < 0)
		return -EINVAL;
	if (v->quoted)
		v->keep = s->value.len;
	return 0;
}

/* One value up to the end of its last line: comments and blanks at the end are not of it. */
static int read_value(struct parser *s)
{
	struct value v = {0};
	int c, r = 0;

	for (c = next(s); r == 0 && c >= 0 && c != '\n'; c = r == 0 ? next(s) : c) {
		if (!v.quoted && (c == '#' || c == ';')) {
			skip_line(s);
			break;
		}
		if (c == '"') {
			v.quoted = !v.quoted;
			v.keep = s->value.len;
		} else {
			r = add_char(s, &v, c);
		}
	}
	if (r < 0 || v.quoted)
		return -EINVAL;
	while (s->value.len > v.keep && isspace((unsigned char)s->value.data[s->value.len - 1]))
		s->value.data[--s->value.len] = '\0';
	return 0;
}

static int read_entry(struct parser *s, struct gitconfig_entry *e)
{
	int r = 0;

	buf_clear(&s->key);
	buf_clear(&s->value);
	while (isalnum(peek(s)) || peek(s) == '-')
		if (buf_putc(&s->key, (char)tolower(next(s))) < 0)
			return -EINVAL;
	while (peek(s) == ' ' || peek(s) == '\t')
		s->p++;
	*e = (struct gitconfig_entry){
		.section = buf_str(&s->section),
		.sub = s->has_sub ? buf_str(&s->sub) : NULL,
		.key = buf_str(&s->key),
	};
	if (s->section.len == 0)
		return -EINVAL;
	switch (peek(s)) {
	case '=':
		s->p++;
		r = read_value(s);
		e->value = buf_str(&s->value);
		return r;
	case '#':
	case ';':
		skip_line(s);
		return 0;
	case '\r':
	case '\n':
	case -1:
		(void)next(s);
		return 0;
	default:
		return -EINVAL;
	}
}

static int walk(struct parser *s, gitconfig_fn *fn, void *arg)
{
	if (s->end - s->p >= 3 && memcmp(s->p, "\xef\xbb\xbf", 3) == 0)
		s->p += 3;
	while (peek(s) >= 0) {
		struct gitconfig_entry e;
		int c = peek(s), r = 0;

		if (isspace(c)) {
			s->p++;
		} else if (c == '#' || c == ';') {
			skip_line(s);
		} else if (c == '[') {
			s->p++;
			r = read_section(s);
		} else if (isalpha(c)) {
			r = read_entry(s, &e);
			if (r == 0 && fn(&e, arg))
				return 1;
		} else {
			r = -EINVAL;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int gitconfig_each(const char *text, size_t len, gitconfig_fn *fn, void *arg)
{
	struct parser s = {.p = text, .end = text + len};
	int r;

	buf_init(&s.section, NAME_MAX_LEN);
	buf_init(&s.sub, NAME_MAX_LEN);
	buf_init(&s.key, NAME_MAX_LEN);
	buf_init(&s.value, VALUE_MAX_LEN);
	r = walk(&s, fn, arg);
	buf_done(&s.section);
	buf_done(&s.sub);
	buf_done(&s.key);
	buf_done(&s.value);
	return r;
}

struct wanted {
	const char *section, *key;
	char *value;
};

static bool keep_wanted(const struct gitconfig_entry *e, void *arg)
{
	struct wanted *w = arg;

	if (streq(e->section, w->section) && !e->sub && streq(e->key, w->key)) {
		free(w->value);
		w->value = e->value ? xstrdup(e->value) : NULL;
	}
	return false;
}

char *gitconfig_get(const char *text, size_t len, const char *section, const char *key)
{
	struct wanted w = {.section = section, .key = key};

	(void)gitconfig_each(text, len, keep_wanted, &w);
	return w.value;
}

/*
 * The keys by which a repository has git run a program, read another file of settings, speak to
 * another host than its URL says, or write to another directory. "*" is any key of the section.
 */
/* clang-format off */
static const struct {
	const char *section, *key;
} running[] = {
	{"alias", "*"}, {"browser", "*"}, {"core", "alternaterefscommand"}, {"core", "askpass"},
	{"core", "editor"}, {"core", "fsmonitor"}, {"core", "gitproxy"}, {"core", "hookspath"},
	{"core", "pager"}, {"core", "sshcommand"}, {"core", "worktree"}, {"credential", "helper"},
	{"diff", "command"}, {"diff", "external"}, {"diff", "textconv"}, {"difftool", "*"},
	{"filter", "clean"}, {"filter", "process"}, {"filter", "smudge"}, {"gc", "recentobjectshook"},
	{"gpg", "defaultkeycommand"}, {"gpg", "program"}, {"guitool", "*"}, {"hook", "*"},
	{"imap", "tunnel"}, {"include", "path"}, {"includeif", "path"}, {"init", "templatedir"},
	{"instaweb", "httpd"}, {"interactive", "difffilter"}, {"lfs", "clean"}, {"lfs", "path"},
	{"lfs", "smudge"}, {"man", "*"}, {"merge", "driver"}, {"mergetool", "*"},
	{"pager", "*"}, {"protocol", "allow"}, {"remote", "receivepack"}, {"remote", "uploadpack"},
	{"remote", "vcs"}, {"sendemail", "*"}, {"sequence", "editor"},
	{"svn", "authorsprog"}, {"tar", "command"},
	{"trailer", "cmd"}, {"trailer", "command"}, {"uploadpack", "packobjectshook"},
	{"url", "insteadof"}, {"url", "pushinsteadof"}, {"web", "browser"},
};
/* clang-format on */

static bool is_boolean(const char *value)
{
	static const char *const words[] = {"",	   "0",	 "1",  "true", "false",
					    "yes", "no", "on", "off"};

	if (!value)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

/* A URL like ext::sh -c … runs a program; so does an update of a submodule that begins with '!'. */
static bool value_runs(const struct gitconfig_entry *e)
{
	if (!e->value)
		return false;
	if (streq(e->section, "submodule") && streq(e->key, "update"))
		return e->value[0] == '!';
	if (streq(e->key, "url") || streq(e->key, "pushurl"))
		return strstr(e->value, "::") != NULL || e->value[0] == '-';
	return false;
}

bool gitconfig_entry_runs(const struct gitconfig_entry *e)
{
	if (streq(e->key, "fsmonitor") && is_boolean(e->value))
		return false; /* git's own monitor, or none */
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		if (streq(running[i].section, e->section) &&
		    (running[i].key[0] == '*' || streq(running[i].key, e->key)))
			return true;
	return value_runs(e);
}
