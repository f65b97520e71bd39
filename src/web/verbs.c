#include "web/verbs.h"

#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/text/quote-word.h"
#include "policy/host.h"
#include "record/name.h"

/* clang-format off */
const struct verb verbs[] = {
	{"answer", LEVEL_STEER, {"answer", "-C", "%W", "-t", "%T", "--", "%X"}, false, false},
	{"note", LEVEL_STEER, {"answer", "--note", "-C", "%W", "-t", "%T", "--", "%X"}, false, false},
	{"reopen", LEVEL_STEER, {"task", "reopen", "--", "%T", "%W"}, false, false},
	{"pause", LEVEL_STEER, {"pause", "--", "%W"}, false, false},
	{"stop", LEVEL_STEER, {"stop"}, true, false},
	{"resume", LEVEL_GRANT, {"resume", "%W"}, false, true},
	{"deny", LEVEL_STEER, {"net", "deny", "--sandbox", "%S", "--", "%H"}, false, false},
	{"allow-once", LEVEL_GRANT, {"net", "allow", "--once", "--sandbox", "%S", "--", "%H"}, false, false},
	{"allow-sandbox", LEVEL_GRANT, {"net", "allow", "--sandbox", "%S", "--", "%H"}, false, false},
	{"allow-project", LEVEL_GRANT, {"net", "allow", "--project", "--", "%H"}, true, false},
	{"ask-answer", LEVEL_STEER, {"ask", "allow", "--", "%A", "%X"}, false, false},
	{"ask-deny", LEVEL_STEER, {"ask", "deny", "--", "%A", "%X"}, false, false},
	{"ask-once", LEVEL_GRANT, {"ask", "allow", "--once", "--", "%A"}, false, false},
	{"ask-sandbox", LEVEL_GRANT, {"ask", "allow", "--sandbox", "--", "%A"}, false, false},
	{"ask-loop", LEVEL_GRANT, {"ask", "allow", "--loop", "--", "%A"}, false, false},
	{"ask-project", LEVEL_GRANT, {"ask", "allow", "--project", "--", "%A"}, false, false},
	{"drop", LEVEL_STEER, {"quarantine", "drop", "--", "%Q"}, false, false},
	{"release", LEVEL_GRANT, {"quarantine", "release", "--", "%Q"}, false, false},
};
/* clang-format on */
const size_t n_verbs = ARRAY_SIZE(verbs);

static const char *const levels[LEVEL_N] = {"look", "steer", "grant"};

const char *level_name(enum web_level l)
{
	return l < LEVEL_N ? levels[l] : "?";
}

enum web_level level_of(const char *name)
{
	unsigned i = 0;

	while (i < LEVEL_N && !streq(levels[i], name))
		i++;
	return (enum web_level)i;
}

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < n_verbs; i++)
		if (streq(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

bool verb_takes_text(const struct verb *v)
{
	for (size_t i = 0; i < VERB_WORDS_MAX && v->words[i]; i++)
		if (streq(v->words[i], "%X"))
			return true;
	return false;
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

static bool is_workspace(const char *s)
{
	return path_is_normal(s);
}

/* The id stands behind -t or "--", so a dash in front is harmless. */
static bool is_task(const char *s)
{
	return strlen(s) <= VERB_TASK_MAX && !has_control(s);
}

/* A name with its port, as policy writes it. Addresses, names of this machine and of metadata
 * services are left to the command line. */
static bool is_host(const char *s)
{
	char again[HOST_PORT_TEXT_SIZE];
	struct err ignored;
	struct host h;
	uint16_t port;

	if (host_parse_authority(s, strlen(s), 0, &h, &port, &ignored) < 0 || h.kind != HOST_NAME ||
	    host_is_loopback_name(&h) || host_is_metadata_name(&h))
		return false;
	host_format(&h, port, again);
	return streq(again, s);
}

/* An id of the quarantine, or of an ask. */
static bool is_quarantine(const char *s)
{
	return strlen(s) == 8 && strspn(s, "0123456789abcdef") == 8;
}

static bool is_text(const char *s)
{
	return *s && strlen(s) <= VERB_TEXT_MAX;
}

static bool argument(const struct verb_args *a, char kind, const char **ret)
{
	const struct {
		char kind;
		const char *value;
		bool (*fits)(const char *s);
	} rows[] = {{'W', a->workspace, is_workspace},
		    {'T', a->task, is_task},
		    {'S', a->sandbox, name_valid},
		    {'H', a->host, is_host},
		    {'Q', a->quarantine, is_quarantine},
		    {'A', a->ask, is_quarantine},
		    {'X', a->text, is_text}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].kind == kind) {
			*ret = rows[i].value;
			return rows[i].value && rows[i].fits(rows[i].value);
		}
	return false;
}

int verb_words(const struct verb *v, const struct verb_args *a, struct strv *ret, struct err *err)
{
	if (v->in_workspace && (!a->workspace || !is_workspace(a->workspace)))
		return err_set(err, EINVAL, "%s: there is no workspace", v->name);
	for (size_t i = 0; i < VERB_WORDS_MAX && v->words[i]; i++) {
		const char *word = v->words[i];

		if (word[0] == '%' && !argument(a, word[1], &word))
			return err_set(err, EINVAL, "%s: an argument is missing or malformed",
				       v->name);
		strv_push(ret, word);
	}
	return 0;
}

char *verb_line(const struct verb *v, const struct verb_args *a)
{
	struct verb_args with = *a;
	cleanup_strv struct strv words = {0};
	cleanup_buf struct buf b;
	struct err ignored;

	buf_init(&b, 64 * KiB);
	if (!with.text)
		with.text = "…";
	if (verb_words(v, &with, &words, &ignored) < 0)
		return NULL;
	if (v->in_workspace) {
		(void)buf_puts(&b, "cd ");
		quote_word(&b, a->workspace);
		(void)buf_puts(&b, " && ");
	}
	(void)buf_puts(&b, "ralph");
	for (size_t i = 0; i < words.n; i++) {
		(void)buf_putc(&b, ' ');
		quote_word(&b, words.v[i]);
	}
	return buf_take(&b);
}
