#include "image/image-tool.h"

#include <ctype.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/proc.h"
#include "base/find-program.h"
#include "image/image-cmd.h"

#define ASK_MS (60 * 1000)
#define PULL_MS (30 * 60 * 1000)
#define ANSWER_MAX (16 * MiB)
#define SAID_MAX (16 * KiB)
#define IMAGES_MAX 1024 /* of ralph's, in one list */

int image_tool_find(const char *engine, char *const *environ_, struct image_tool *ret,
		    struct err *err)
{
	static const char path[] = "PATH=";
	const char *dirs = NULL;

	for (char *const *e = environ_; e && *e; e++)
		if (strncmp(*e, path, sizeof(path) - 1) == 0)
			dirs = *e + sizeof(path) - 1;
	*ret = (struct image_tool){.engine = engine, .environ = environ_};
	ret->program = path_find_program(engine, dirs);
	if (!ret->program)
		return err_set(err, ENOENT, "%s is not on your PATH; install it", engine);
	return 0;
}

void image_tool_done(struct image_tool *t)
{
	free(t->program);
	*t = (struct image_tool){0};
}

void image_facts_done(struct image_facts *f)
{
	free(f->id);
	strv_done(&f->names);
	free(f->agent);
	free(f->source);
	free(f->bases);
	free(f->builder);
	*f = (struct image_facts){0};
}

void image_facts_free(struct image_facts *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		image_facts_done(&f[i]);
	free(f);
}

char *image_last_line(char *text)
{
	char *end = text + strlen(text), *line;

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return line;
}

/* Returns the end of the stderr output. */
static char *read_said(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = xcalloc(1, SAID_MAX + 1);

	if (pread(fd, text, SAID_MAX, size > (off_t)SAID_MAX ? size - (off_t)SAID_MAX : 0) < 0)
		text[0] = '\0';
	return text;
}

/* Returns 0 for exit code 0, else -EREMOTEIO with the last line of the output. */
static int ask(const struct image_tool *t, const struct strv *argv, int timeout_ms, char **ret_out,
	       struct err *err)
{
	cleanup_fd int said = memfd_create("said", MFD_CLOEXEC);
	cleanup_free char *words = NULL, *out = NULL;
	struct run run = RUN_INIT;
	int code = 0, r;

	run.argv = argv->v;
	run.env = t->environ;
	run.flags = RUN_DIE_WITH_US;
	run.stdio[2] = said;
	r = run_collect(&run, timeout_ms, ANSWER_MAX, &out, &code, err);
	if (r < 0)
		return r;
	if (code != 0) {
		words = read_said(said);
		return err_set(err, EREMOTEIO, "%s: %.300s", t->engine,
			       *words ? image_last_line(words) : "failed without a word");
	}
	if (ret_out)
		*ret_out = take_ptr(out);
	return 0;
}

uint64_t image_time(const char *text)
{
	struct tm tm = {0};
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	int64_t at, hours = 0, minutes = 0;

	if (!end)
		return 0;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	at = timegm(&tm);
	if ((*end == '+' || *end == '-') && strlen(end) == 6 && end[3] == ':' &&
	    isdigit((unsigned char)end[1]) && isdigit((unsigned char)end[2]) &&
	    isdigit((unsigned char)end[4]) && isdigit((unsigned char)end[5])) {
		hours = (end[1] - '0') * 10 + (end[2] - '0');
		minutes = hours * 60 + (end[4] - '0') * 10 + (end[5] - '0');
		at -= (*end == '+' ? 60 : -60) * minutes;
	} else if (!streq(end, "Z")) {
		return 0;
	}
	return at > 0 ? (uint64_t)at : 0;
}

static char *label(const json_t *labels, const char *name)
{
	const char *s = json_string_value(json_object_get(labels, name));

	return s ? xstrdup(s) : NULL;
}

static int read_facts(const json_t *j, struct image_facts *ret, struct err *err)
{
	static const char local[] = "localhost/";
	const json_t *labels = json_object_get(json_object_get(j, "Config"), "Labels"), *name;
	const char *id = NULL;
	size_t i;
	int r = json_get_str(j, "Id", &id, err);

	if (r < 0)
		return r;
	*ret = (struct image_facts){
		.id = xstrdup(id),
		.created = image_time(json_string_value(json_object_get(j, "Created"))),
		.size = (uint64_t)json_integer_value(json_object_get(j, "Size")),
		.agent = label(labels, IMAGE_LABEL_AGENT),
		.source = label(labels, IMAGE_LABEL_SOURCE),
		.bases = label(labels, IMAGE_LABEL_BASES),
		.builder = label(labels, IMAGE_LABEL_USER),
	};
	json_array_foreach (json_object_get(j, "RepoTags"), i, name) {
		const char *s = json_string_value(name);

		if (s)
			strv_push(&ret->names, strncmp(s, local, sizeof(local) - 1) == 0
						       ? s + sizeof(local) - 1
						       : s);
	}
	return 0;
}

int image_tool_probe(const struct image_tool *t, struct err *err)
{
	cleanup_strv struct strv argv = {0};

	image_cmd_list(t->program, &argv);
	return ask(t, &argv, ASK_MS, NULL, err);
}

static int inspect(const struct image_tool *t, const char *const *refs, size_t n, json_t **ret,
		   struct err *err)
{
	cleanup_strv struct strv argv = {0};
	cleanup_free char *out = NULL;
	int r;

	image_cmd_inspect(t->program, refs, n, &argv);
	r = ask(t, &argv, ASK_MS, &out, err);
	if (r == 0) {
		r = json_parse(out, strlen(out), ret, err);
		if (r == 0 && json_array_size(*ret) != n)
			r = err_set(err, EPROTO, "not as many images as were asked for");
		if (r < 0)
			r = err_wrap(err, r, "%s image inspect", t->engine);
	}
	return r;
}

int image_tool_inspect(const struct image_tool *t, const char *ref, struct image_facts *ret,
		       struct err *err)
{
	cleanup_json json_t *j = NULL;
	int r = inspect(t, &ref, 1, &j, err);

	/* A failure does not tell whether the image or the engine is missing, so the engine is
	 * probed. */
	if (r == -EREMOTEIO) {
		r = image_tool_probe(t, err);
		return r < 0 ? r : -ENOENT;
	}
	return r < 0 ? r : read_facts(json_array_get(j, 0), ret, err);
}

int image_tool_list(const struct image_tool *t, struct image_facts **ret, size_t *ret_n,
		    struct err *err)
{
	cleanup_strv struct strv argv = {0}, lines = {0}, ids = {0};
	cleanup_free char *out = NULL;
	cleanup_json json_t *j = NULL;
	struct image_facts *list;
	size_t n = 0;
	int r;

	image_cmd_list(t->program, &argv);
	r = ask(t, &argv, ASK_MS, &out, err);
	if (r < 0)
		return r;
	strv_split(&lines, out, '\n');
	/* An image with two names is listed twice. */
	for (size_t i = 0; i < lines.n && ids.n < IMAGES_MAX; i++)
		if (!strv_has(&ids, lines.v[i]))
			strv_push(&ids, lines.v[i]);
	*ret = NULL;
	*ret_n = 0;
	if (ids.n == 0)
		return 0;
	r = inspect(t, (const char *const *)ids.v, ids.n, &j, err);
	if (r < 0)
		return r;
	list = xcalloc(ids.n, sizeof(*list));
	for (; n < ids.n && r == 0; n++)
		r = read_facts(json_array_get(j, n), &list[n], err);
	if (r < 0) {
		image_facts_free(list, n);
		return r;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

int image_tool_pull(const struct image_tool *t, const char *ref, struct err *err)
{
	cleanup_strv struct strv argv = {0};

	image_cmd_pull(t->program, ref, &argv);
	return ask(t, &argv, PULL_MS, NULL, err);
}

int image_tool_remove(const struct image_tool *t, const char *ref, struct err *err)
{
	cleanup_strv struct strv argv = {0};

	image_cmd_remove(t->program, ref, &argv);
	return ask(t, &argv, ASK_MS, NULL, err);
}
