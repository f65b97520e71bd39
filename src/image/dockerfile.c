#include "image/dockerfile.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/parse.h"
#include "config/keys.h"

#define BLANKS " \t\r"
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define VALUE_MAX (4 * KiB)

struct reader {
	struct strv lines; /* of the file */
	size_t next;	   /* next line to read */
	size_t at;	   /* first line of the current instruction */
	const char *base;
	struct strv args;   /* NAME=VALUE, from before the first FROM */
	struct strv stages; /* names of the stages in lower case; "" without a name */
	struct dockerfile out;
	struct err *err;
};

#define refuse(r, ...) err_wrap((r)->err, err_usage((r)->err, __VA_ARGS__), "line %zu", (r)->at + 1)

static char *trimmed(const char *s, size_t n)
{
	while (n && strchr(BLANKS, *s)) {
		s++;
		n--;
	}
	while (n && strchr(BLANKS, s[n - 1]))
		n--;
	return xstrndup(s, n);
}

static bool is_comment(const char *line)
{
	return line[strspn(line, BLANKS)] == '#';
}

/* Returns the value of "# NAME = VALUE"; NULL for any other line. */
static const char *directive(const char *line, const char *name)
{
	const char *s = line + strspn(line, BLANKS);

	if (*s++ != '#')
		return NULL;
	s += strspn(s, BLANKS);
	if (strncasecmp(s, name, strlen(name)) != 0)
		return NULL;
	s += strlen(name);
	s += strspn(s, BLANKS);
	if (*s++ != '=')
		return NULL;
	return s + strspn(s, BLANKS);
}

/* Builders accept directives in the first lines only. Here all leading comments count, so that
 * no builder sees a directive that was not checked here. */
static int check_directives(struct reader *r)
{
	for (r->at = 0; r->at < r->lines.n; r->at++) {
		const char *line = r->lines.v[r->at], *escape;

		if (!line[strspn(line, BLANKS)])
			continue;
		if (!is_comment(line))
			return 0;
		if (directive(line, "syntax"))
			return refuse(r, "'# syntax=' names another program to read the file with; "
					 "leave it out");
		escape = directive(line, "escape");
		if (escape && (escape[0] != '\\' || escape[1 + strspn(escape + 1, BLANKS)]))
			return refuse(r,
				      "'# escape=' may be nothing but a backslash; leave it out");
	}
	return 0;
}

/* Reads an instruction with its continuation lines; NULL at the end of the file. */
static int next_instruction(struct reader *r, char **ret)
{
	cleanup_buf struct buf b;
	bool goes_on = false;

	*ret = NULL;
	buf_init(&b, DOCKERFILE_MAX);
	while (r->next < r->lines.n) {
		cleanup_free char *line = trimmed(r->lines.v[r->next], strlen(r->lines.v[r->next]));
		size_t n = strlen(line);

		r->next++;
		/* Comments and empty lines do not end an instruction. */
		if (n == 0 || line[0] == '#')
			continue;
		if (!goes_on)
			r->at = r->next - 1;
		goes_on = line[n - 1] == '\\';
		if (goes_on && n > 1 && line[n - 2] == '\\')
			return refuse(r, "a line ends with two backslashes, which builders read "
					 "differently; write it otherwise");
		if (goes_on)
			line[n - 1] = ' ';
		(void)buf_puts(&b, line);
		if (!goes_on)
			break;
	}
	if (b.len)
		*ret = buf_take(&b);
	return 0;
}

/* Returns the next word of an instruction; "" at its end. */
static char *next_word(const char **s)
{
	const char *from = *s + strspn(*s, BLANKS);
	size_t n = strcspn(from, BLANKS);

	*s = from + n;
	return xstrndup(from, n);
}

static const char *arg_value(const struct reader *r, const char *name, size_t n)
{
	for (size_t i = r->args.n; i > 0; i--)
		if (strncmp(r->args.v[i - 1], name, n) == 0 && r->args.v[i - 1][n] == '=')
			return r->args.v[i - 1] + n + 1;
	return NULL;
}

/* Expands one $NAME, ${NAME} or ${NAME:-DEFAULT} at *s, and moves *s past it. */
static int put_variable(struct reader *r, const char **s, struct buf *out)
{
	bool braces = (*s)[1] == '{';
	const char *name = *s + (braces ? 2 : 1), *value;
	size_t n = strspn(name, NAME_CHARS), other = 0;
	const char *end = name + n;

	if (braces && strncmp(end, ":-", 2) == 0) {
		end += 2;
		other = strcspn(end, "}$");
	}
	value = n ? arg_value(r, name, n) : NULL;
	if (n == 0 || (braces && end[other] != '}'))
		return refuse(r, "'%.60s' is no variable; write it as ${NAME}", *s);
	if (value && *value)
		(void)buf_puts(out, value);
	else if (other)
		(void)buf_append(out, end, other);
	else if (!value)
		return refuse(r,
			      "$%.*s has no value; give it one by 'ARG %.*s=…' in front of the "
			      "first FROM",
			      (int)n, name, (int)n, name);
	*s = end + other + braces;
	return 0;
}

/* Removes quotes and replaces variables. */
static int expand(struct reader *r, const char *s, char **ret)
{
	cleanup_buf struct buf out;
	int k = 0;

	buf_init(&out, VALUE_MAX);
	while (k == 0 && *s) {
		if (*s == '$') {
			k = put_variable(r, &s, &out);
			continue;
		}
		if (*s == '\\')
			return refuse(r, "a backslash in the name of an image; leave it out");
		if (!strchr("\"'", *s))
			(void)buf_putc(&out, *s);
		s++;
	}
	if (k == 0 && out.full)
		k = refuse(r, "is too long");
	if (k == 0)
		*ret = buf_take(&out);
	return k;
}

static int read_arg(struct reader *r, const char *rest)
{
	for (;;) {
		cleanup_free char *word = next_word(&rest), *value = NULL;
		size_t n = strcspn(word, "=");
		bool is_base = n == 4 && memcmp(word, "BASE", 4) == 0;
		int k = 0;

		if (!*word)
			return 0;
		if (is_base)
			r->out.takes_base = true;
		if (is_base && r->base)
			value = xstrdup(r->base);
		else if (word[n])
			k = expand(r, word + n + 1, &value);
		if (k < 0)
			return k;
		if (value)
			strv_pushf(&r->args, "%.*s=%s", (int)n, word, value);
	}
}

/* True when the name or number is one of the stages before this point. */
static bool is_stage(const struct reader *r, const char *name, size_t before)
{
	uint64_t i;

	for (size_t k = 0; k < before; k++)
		if (r->stages.v[k][0] && strcasecmp(r->stages.v[k], name) == 0)
			return true;
	return before > 0 && parse_uint(name, 0, before - 1, &i) == 0;
}

static int add_base(struct reader *r, const char *image)
{
	const char *wrong = check_image(image);

	if (wrong || !*image)
		return refuse(r, "'%.60s' %s", image, wrong ? wrong : "is empty; name an image");
	if (strv_has(&r->out.bases, image) || streq(image, "scratch"))
		return 0;
	if (r->out.bases.n == DOCKERFILE_BASES_MAX)
		return refuse(r, "begins with more than %d images", DOCKERFILE_BASES_MAX);
	strv_push(&r->out.bases, image);
	return 0;
}

static int read_from(struct reader *r, const char *rest)
{
	cleanup_free char *word = next_word(&rest), *as = next_word(&rest);
	cleanup_free char *name = next_word(&rest), *more = next_word(&rest), *image = NULL;
	int k;

	if (strncmp(word, "--", 2) == 0)
		return refuse(r,
			      "FROM with '%.40s': the image is made for this machine; leave it "
			      "out",
			      word);
	if (!*word || (*as && strcasecmp(as, "as") != 0) || (*as && !*name) || *more)
		return refuse(r, "is no FROM; write FROM IMAGE or FROM IMAGE AS NAME");
	if (r->stages.n == DOCKERFILE_STAGES_MAX)
		return refuse(r, "has more than %d stages", DOCKERFILE_STAGES_MAX);
	k = expand(r, word, &image);
	/* Only COPY accepts the number of a stage. */
	if (k == 0 && !(is_stage(r, image, r->stages.n) && !isdigit((unsigned char)image[0])))
		k = add_base(r, image);
	if (k == 0)
		strv_push(&r->stages, name);
	return k;
}

static int check_taken_from(struct reader *r, const char *from)
{
	/* The current stage does not precede itself. */
	if (is_stage(r, from, r->stages.n ? r->stages.n - 1 : 0))
		return 0;
	return refuse(r,
		      "takes files from '%.60s', which no stage in front of it is called; write "
		      "'FROM %.60s AS NAME' and take them from NAME",
		      from, from);
}

/* Checks from=X in "type=bind,from=X,…" of --mount. */
static int check_mount(struct reader *r, const char *list)
{
	cleanup_strv struct strv parts = {0};
	int k = 0;

	strv_split(&parts, list, ',');
	for (size_t i = 0; i < parts.n && k == 0; i++)
		if (strncmp(parts.v[i], "from=", 5) == 0)
			k = check_taken_from(r, parts.v[i] + 5);
	return k;
}

/* Skips the lines of a here-document, which are no instructions to a builder that supports them. */
static int skip_here_document(struct reader *r, const char *end)
{
	while (r->next < r->lines.n) {
		const char *line = r->lines.v[r->next];
		cleanup_free char *bare = trimmed(line, strlen(line));

		r->next++;
		if (streq(bare, end))
			return 0;
		if (strncasecmp(bare, "FROM", 4) == 0)
			return refuse(r, "a line of the here-document begins with FROM, which some "
					 "builders take for an instruction; write it otherwise");
	}
	return refuse(r, "the here-document does not end; '%.40s' is missing", end);
}

static int skip_here_documents(struct reader *r, const char *s)
{
	int k = 0;

	while (k == 0) {
		cleanup_free char *word = next_word(&s), *end = NULL;
		const char *w = word + strspn(word, "0123456789");

		if (!*word)
			break;
		if (strncmp(w, "<<", 2) != 0)
			continue;
		w += 2;
		w += *w == '-';
		w += *w == '"' || *w == '\'';
		end = xstrndup(w, strspn(w, NAME_CHARS));
		if (*end)
			k = skip_here_document(r, end);
	}
	return k;
}

static int read_step(struct reader *r, const char *rest)
{
	const char *s = rest;
	int k = 0;

	while (k == 0) {
		cleanup_free char *word = next_word(&s);

		if (strncmp(word, "--", 2) != 0)
			break;
		if (strncmp(word, "--from=", 7) == 0)
			k = check_taken_from(r, word + 7);
		else if (strncmp(word, "--mount=", 8) == 0)
			k = check_mount(r, word + 8);
	}
	return k < 0 ? k : skip_here_documents(r, rest);
}

static int read_instruction(struct reader *r, const char *line)
{
	cleanup_free char *word = next_word(&line);

	if (strcasecmp(word, "FROM") == 0)
		return read_from(r, line);
	if (strcasecmp(word, "ARG") == 0)
		return r->stages.n ? 0 : read_arg(r, line);
	if (r->stages.n == 0)
		return refuse(r, "'%.40s' in front of the first FROM; only ARG may stand there",
			      word);
	if (strcasecmp(word, "COPY") == 0 || strcasecmp(word, "ADD") == 0 ||
	    strcasecmp(word, "RUN") == 0)
		return read_step(r, line);
	return 0;
}

static void split_lines(struct reader *r, const char *text, size_t len)
{
	static const char bom[] = "\xef\xbb\xbf";

	if (len >= 3 && memcmp(text, bom, 3) == 0) {
		text += 3;
		len -= 3;
	}
	for (const char *end = text + len; text < end;) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));

		strv_take(&r->lines, xstrndup(text, (size_t)((nl ? nl : end) - text)));
		text = nl ? nl + 1 : end;
	}
}

static int read_all(struct reader *r)
{
	int k = check_directives(r);

	while (k == 0) {
		cleanup_free char *line = NULL;

		k = next_instruction(r, &line);
		if (k < 0 || !line)
			break;
		k = read_instruction(r, line);
	}
	if (k == 0 && r->stages.n == 0)
		return err_usage(r->err, "has no FROM; begin it with the image to build on");
	return k;
}

int dockerfile_read(const char *text, size_t len, const char *base, struct dockerfile *ret,
		    struct err *err)
{
	struct reader r = {.base = base, .err = err};
	int k;

	if (len > DOCKERFILE_MAX)
		return err_usage(err, "is larger than %zu KiB", DOCKERFILE_MAX / KiB);
	if (memchr(text, '\0', len))
		return err_usage(err, "is no text");
	split_lines(&r, text, len);
	k = read_all(&r);
	strv_done(&r.lines);
	strv_done(&r.args);
	strv_done(&r.stages);
	if (k < 0)
		dockerfile_done(&r.out);
	else
		*ret = r.out;
	return k;
}

void dockerfile_done(struct dockerfile *d)
{
	strv_done(&d->bases);
	*d = (struct dockerfile){0};
}
