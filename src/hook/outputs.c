/* Computes the output of programs, if possible without running them. */
#include <ctype.h>
#include <string.h>

#include "base/text/base64.h"
#include "base/mem.h"
#include "base/path.h"
#include "hook/shell/expand.h"
#include "hook/shell/marks.h"
#include "hook/paths.h"
#include "hook/programs.h"

#define TEXT_MAX (64 * KiB) /* of a computed output */

static bool has_option(const struct program *p, const char *a, const char *b)
{
	for (unsigned int i = 1; i < p->argv.n; i++)
		if (streq(p->argv.v[i], a) || (b && streq(p->argv.v[i], b)))
			return true;
	return false;
}

/* Resolves the escapes of echo -e and printf. A NUL is dropped in a substitution, and separates
 * words for xargs. */
static const char *unescaped(struct judge *j, const char *s, char nul)
{
	static const char from[] = "abefnrtv\\", to[] = "\a\b\033\f\n\r\t\v\\";
	char *out = arena_alloc(j->arena, strlen(s) + 1);
	size_t n = 0;

	for (; *s; s++) {
		const char *at = s[0] == '\\' && s[1] ? strchr(from, s[1]) : NULL;

		if (at) {
			out[n++] = to[at - from];
			s++;
		} else if (s[0] == '\\' && (isdigit((unsigned char)s[1]) || s[1] == 'x')) {
			unsigned int v = 0, base = s[1] == 'x' ? 16 : 8;

			s += s[1] == 'x' ? 2 : 1;
			for (int k = 0; k < (base == 16 ? 2 : 4) && isxdigit((unsigned char)*s);
			     k++, s++)
				v = v * base +
				    (unsigned int)(isdigit((unsigned char)*s)
							   ? *s - '0'
							   : tolower((unsigned char)*s) - 'a' + 10);
			s--;
			if (v & 0xff)
				out[n++] = mark_plain((char)v);
			else if (nul)
				out[n++] = nul;
		} else {
			out[n++] = *s;
		}
	}
	return out;
}

static void echo(struct judge *j, struct program *p)
{
	unsigned int at = 1;
	bool escapes = false, newline = true;
	const char *line;

	for (; at < p->argv.n && p->argv.v[at][0] == '-' &&
	       strspn(p->argv.v[at] + 1, "neE") == strlen(p->argv.v[at] + 1) && p->argv.v[at][1];
	     at++) {
		escapes = escapes || strchr(p->argv.v[at], 'e');
		newline = newline && !strchr(p->argv.v[at], 'n');
	}
	line = program_joined(j, p, at);
	if (newline)
		line = arena_printf(j->arena, "%s\n", line);
	p->out = values_one(j, escapes ? unescaped(j, line, 0) : line);
	/* The echo of sh interprets escapes without an option. */
	if (!escapes && strchr(line, '\\'))
		values_add(j, &p->out, unescaped(j, line, 0));
	p->out.taint = p->argv.taint;
}

/* Formats once; *at is the next argument. */
static const char *format_once(struct judge *j, const struct program *p, const char *format,
			       unsigned int *at)
{
	char *out = "";

	for (const char *f = format; *f;) {
		size_t n = strcspn(f, "%");
		const char *arg;

		out = arena_printf(j->arena, "%s%.*s", out, (int)n, f);
		f += n;
		if (!*f)
			break;
		if (f[1] == '%') {
			out = arena_printf(j->arena, "%s%%", out);
			f += 2;
			continue;
		}
		f += 1 + strcspn(f + 1, "sbcdiouxXqfge");
		arg = *at < p->argv.n ? p->argv.v[(*at)++] : "";
		if (*f == 'c')
			arg = arena_strndup(j->arena, arg, 1);
		else if (*f == 'b')
			arg = unescaped(j, arg, 0);
		else if (*f && *f != 's' && *f != 'q' && *f != 'd')
			arg = arena_printf(j->arena, "%c", MARK_ANY);
		out = arena_printf(j->arena, "%s%s", out, arg);
		f += *f != '\0';
	}
	return out;
}

/* Repeats the format while there are arguments. */
static const char *formatted(struct judge *j, const struct program *p, unsigned int at, char nul)
{
	const char *format = unescaped(j, value_plain(j, p->argv.v[at++]), nul), *out = "";

	do {
		unsigned int before = at;

		out = arena_printf(j->arena, "%s%s", out, format_once(j, p, format, &at));
		if (at == before)
			break;
	} while (at < p->argv.n && strlen(out) < TEXT_MAX);
	return out;
}

static void print_formatted(struct judge *j, struct program *p)
{
	const char *name = NULL;
	unsigned int at = 1;

	if (p->argv.n > 2 && streq(p->argv.v[1], "-v")) {
		name = p->argv.v[2];
		at = 3;
	}
	if (at < p->argv.n && streq(p->argv.v[at], "--"))
		at++;
	if (at >= p->argv.n)
		return;
	p->out = values_one(j, name ? "" : formatted(j, p, at, 0));
	p->out.taint = p->argv.taint;
	if (name)
		judge_set(j, &j->vars, name, values_one(j, formatted(j, p, at, 0)));
	else
		values_add(j, &p->out, formatted(j, p, at, '\n'));
}

static void pass_on(struct judge *j, struct program *p)
{
	struct judge_name *file = NULL;
	unsigned int taint = p->in ? p->in->taint : 0;

	for (unsigned int i = 1; i < p->argv.n; i++) {
		unsigned int c = path_argument(j, p->argv.v[i]);

		if (c & (PATH_CRED | PATH_SECRETFILE))
			taint |= TAINT_SECRET;
		if (!file && p->argv.v[i][0] != '-')
			file = judge_find(j->files, p->argv.v[i]);
	}
	if (file)
		p->out = file->values;
	else if (p->in && !(p->argv.n > 1 && streq(p->name, "cat") && !streq(p->argv.v[1], "-")))
		p->out = *p->in;
	else
		p->out = values_any(j, taint);
	p->out.taint |= taint;
}

static void tee(struct judge *j, struct program *p)
{
	pass_on(j, p);
	for (unsigned int i = 1; i < p->argv.n && p->in; i++)
		if (p->argv.v[i][0] != '-')
			judge_set(j, &j->files, p->argv.v[i], *p->in);
}

static void rev(struct judge *j, struct program *p)
{
	p->out = values_any(j, TAINT_CODED);
	if (!p->in || p->in->n != 1 || !value_is_known(p->in->v[0]))
		return;
	p->out.v[0] = arena_strndup(j->arena, p->in->v[0], strlen(p->in->v[0]));
	for (char *line = (char *)p->out.v[0]; *line;) {
		size_t n = strcspn(line, "\n");

		for (size_t i = 0; i < n / 2; i++) {
			char c = line[i];

			line[i] = line[n - 1 - i];
			line[n - 1 - i] = c;
		}
		line += n;
		line += *line == '\n';
	}
}

static const char *decoded(struct judge *j, const char *text, bool hex)
{
	cleanup_buf struct buf b;
	char *bare = arena_alloc(j->arena, strlen(text) + 1), *out;
	size_t n = 0;

	buf_init(&b, TEXT_MAX);
	for (; *text; text++)
		if (!isspace((unsigned char)*text))
			bare[n++] = *text;
	if (!hex) {
		if (base64_get(&b, bare, n) < 0)
			return NULL;
	} else {
		for (size_t i = 0; i + 1 < n; i += 2) {
			static const char digits[] = "0123456789abcdef";
			const char *h = strchr(digits, tolower((unsigned char)bare[i]));
			const char *l = strchr(digits, tolower((unsigned char)bare[i + 1]));

			if (!h || !l)
				return NULL;
			(void)buf_putc(&b, (char)((h - digits) * 16 + (l - digits)));
		}
	}
	if (memchr(b.data ? b.data : "", 0, b.len))
		return NULL;
	out = arena_strndup(j->arena, buf_str(&b), b.len);
	for (char *c = out; *c; c++)
		*c = mark_plain(*c);
	return out;
}

static void decode(struct judge *j, struct program *p)
{
	bool hex = streq(p->name, "xxd");
	bool back = hex ? has_option(p, "-r", "-rp") || has_option(p, "-pr", NULL)
			: has_option(p, "-d", "--decode") || has_option(p, "-D", "-di");
	const char *text = NULL;

	if (back && p->in && p->in->n == 1 && value_is_known(p->in->v[0]))
		text = decoded(j, p->in->v[0], hex);
	p->out = text ? values_one(j, text) : values_any(j, back ? TAINT_CODED : TAINT_MADE);
	p->out.taint |= p->in ? p->in->taint : 0;
}

static void downloaded(struct judge *j, struct program *p)
{
	p->out = values_any(j, TAINT_NET);
	for (unsigned int i = 1; i < p->argv.n; i++) {
		const char *s = p->argv.v[i];
		bool next = streq(s, "-o") || streq(s, "-O") || streq(s, "--output") ||
			    streq(s, "--output-document");

		if (next && i + 1 < p->argv.n)
			judge_set(j, &j->files, p->argv.v[i + 1], values_any(j, TAINT_NET));
		/* curl -O and wget use the last part of the URL as the file name. */
		if (strstr(s, "://"))
			judge_set(j, &j->files, path_base(s), values_any(j, TAINT_NET));
	}
}

/* cp /bin/rm x: x is now rm; cp a.sh b.sh copies the text as well. */
static void copied(struct judge *j, struct program *p)
{
	const char *from = NULL, *to = NULL;
	struct judge_name *file;

	for (unsigned int i = 1; i < p->argv.n; i++)
		if (p->argv.v[i][0] != '-') {
			from = to;
			to = p->argv.v[i];
		}
	if (!from || streq(path_base(from), path_base(to)) || !*path_base(to))
		return;
	file = judge_find(j->files, from);
	if (file)
		judge_set(j, &j->files, to, file->values);
	else if (strstr(from, "bin/") || !value_is_known(from))
		judge_set(j, &j->aliases, path_base(to), values_one(j, from));
}

/* ls -d prints the names themselves; the content of directories is unknown. */
static void listed(struct judge *j, struct program *p)
{
	const char *all = "";

	for (unsigned int i = 1; i < p->argv.n; i++)
		if (p->argv.v[i][0] != '-')
			all = arena_printf(j->arena, "%s%s\n", all, p->argv.v[i]);
	p->out =
		*all && has_option(p, "-d", "-1d") ? values_one(j, all) : values_any(j, TAINT_MADE);
}

static void path_part(struct judge *j, struct program *p)
{
	const char *last = p->argv.n > 1 ? p->argv.v[p->argv.n - 1] : "";
	cleanup_free char *dir = NULL;

	if (streq(p->name, "basename")) {
		p->out = values_one(j, path_base(last));
		return;
	}
	dir = path_dir(last);
	p->out = values_one(j, arena_strndup(j->arena, dir, strlen(dir)));
}

static void told(struct judge *j, struct program *p)
{
	if (streq(p->name, "pwd"))
		p->out = values_one(j, j->cwd);
	else if (streq(p->name, "mktemp"))
		p->out = values_one(j, arena_printf(j->arena, "/tmp/tmp.%c", MARK_ANY));
	else if (streq(p->name, "git") && has_option(p, "--show-toplevel", NULL))
		p->out = values_one(j, j->cwd);
	else if ((streq(p->name, "which") || streq(p->name, "type") || streq(p->name, "realpath") ||
		  streq(p->name, "readlink")) &&
		 p->argv.n > 1)
		p->out = values_one(j, p->argv.v[p->argv.n - 1]);
	else
		p->out = values_any(j, 0);
}

static const struct {
	const char *name;
	program_fn *fn;
	unsigned int taint; /* without a function: taint of its output */
} outputs[] = {
	{"echo", echo, 0},
	{"printf", print_formatted, 0},
	{"cat", pass_on, 0},
	{"head", pass_on, 0},
	{"tail", pass_on, 0},
	{"sort", pass_on, 0},
	{"uniq", pass_on, 0},
	{"tee", tee, 0},
	{"ls", listed, 0},
	{"rev", rev, 0},
	{"base64", decode, 0},
	{"xxd", decode, 0},
	{"base32", decode, 0},
	{"curl", downloaded, 0},
	{"wget", downloaded, 0},
	{"aria2c", downloaded, 0},
	{"fetch", downloaded, 0},
	{"http", downloaded, 0},
	{"xh", downloaded, 0},
	{"nc", downloaded, 0},
	{"ncat", downloaded, 0},
	{"lynx", downloaded, 0},
	{"cp", copied, 0},
	{"ln", copied, 0},
	{"mv", copied, 0},
	{"install", copied, 0},
	{"basename", path_part, 0},
	{"dirname", path_part, 0},
	{"pwd", told, 0},
	{"mktemp", told, 0},
	{"which", told, 0},
	{"type", told, 0},
	{"git", told, 0},
	{"realpath", told, 0},
	{"readlink", told, 0},
	{"date", told, 0},
	{"nproc", told, 0},
	{"id", told, 0},
	{"whoami", told, 0},
	{"uname", told, 0},
	{"seq", told, 0},
	{"wc", told, 0},
	{"hostname", told, 0},
	{"ssh-agent", told, 0},
	{"direnv", told, 0},
	{"brew", told, 0},
	{"pyenv", told, 0},
	{"rbenv", told, 0},
	{"nodenv", told, 0},
	{"fnm", told, 0},
	{"mise", told, 0},
	{"opam", told, 0},
	{"dircolors", told, 0},
	{"zoxide", told, 0},
	{"starship", told, 0},
	{"conda", told, 0},
	{"minikube", told, 0},
	{"test", told, 0},
	{"true", told, 0},
	{"tr", NULL, TAINT_CODED},
	{"openssl", NULL, TAINT_CODED},
	{"gpg", NULL, TAINT_CODED},
	{"gunzip", NULL, TAINT_CODED},
	{"zcat", NULL, TAINT_CODED},
	{"gzip", NULL, TAINT_CODED},
	{"bzcat", NULL, TAINT_CODED},
	{"xzcat", NULL, TAINT_CODED},
	{"xz", NULL, TAINT_CODED},
	{"uudecode", NULL, TAINT_CODED},
	{"dig", NULL, TAINT_NET},
	{"ssh", NULL, TAINT_NET},
	{"host", NULL, TAINT_NET},
	{"nslookup", NULL, TAINT_NET},
};

void program_output(struct judge *j, struct program *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		if (!streq(p->name, outputs[i].name))
			continue;
		if (outputs[i].fn)
			outputs[i].fn(j, p);
		else
			p->out = values_any(j, outputs[i].taint);
		break;
	}
	if (!p->out.n)
		p->out = values_any(j, TAINT_MADE);
	if (p->in)
		p->out.taint |= p->in->taint;
}
