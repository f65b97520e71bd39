#include "compose/place.h"

#include <ctype.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>

#define HASH_LEN 6

/* Other characters become one '-', none of which is first or last. */
static void label(const char *s, size_t max, char *ret)
{
	size_t n = 0;

	for (; *s && n < max; s++) {
		char c = (char)tolower((unsigned char)*s);

		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			ret[n++] = c;
		else if (n && ret[n - 1] != '-')
			ret[n++] = '-';
	}
	while (n && ret[n - 1] == '-')
		n--;
	ret[n] = '\0';
}

/* Two loops on branches of one name must not end each other's jobs. */
static void add_hash(char *at, size_t size, const char *text)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];

	(void)SHA256Data((const uint8_t *)text, strlen(text), hex);
	(void)snprintf(at, size, "%s%.*s", *at ? "-" : "", HASH_LEN, hex);
}

/* Puts "-" and a hash of all of it where a label does not say all. */
static void unique(char *of, size_t keep, const char *text, bool always)
{
	char whole[PLACE_LABEL_MAX + 1];

	label(text, PLACE_LABEL_MAX, whole);
	label(text, keep, of);
	if (always || !streq(whole, of) || strlen(text) > PLACE_LABEL_MAX || !*of) {
		char hash[HASH_LEN + 2] = "x";

		add_hash(hash, sizeof(hash), text);
		(void)snprintf(of + strlen(of), HASH_LEN + 2, "%s", *of ? hash : hash + 1);
	}
}

void place_words(const char *title, const char *workspace, const char *task, unsigned epoch,
		 struct place_words *ret)
{
	cleanup_free char *both = xasprintf("%s %s", title, workspace);
	char hash[HASH_LEN + 2] = "x";

	*ret = (struct place_words){0};
	label(title, 20, ret->loop);
	add_hash(hash, sizeof(hash), both);
	(void)snprintf(ret->loop + strlen(ret->loop), sizeof(hash), "%s",
		       *ret->loop ? hash : hash + 1);
	unique(ret->task, 16, task, false);
	(void)snprintf(ret->name, sizeof(ret->name), "ralph-%s-%s-%u", ret->loop, ret->task,
		       epoch % 10000);
}

static void add_word(const char *s, const struct place_words *w, struct strv *ret)
{
	const struct {
		const char *name, *value;
	} fills[] = {{"{loop}", w->loop},
		     {"{task}", w->task},
		     {"{name}", w->name},
		     {"{host}", w->host ? w->host : ""}};
	cleanup_buf struct buf b;
	size_t i;

	buf_init(&b, 64 * KiB);
	while (*s) {
		for (i = 0; i < ARRAY_SIZE(fills); i++)
			if (strncmp(s, fills[i].name, strlen(fills[i].name)) == 0)
				break;
		if (i < ARRAY_SIZE(fills)) {
			(void)buf_puts(&b, fills[i].value);
			s += strlen(fills[i].name);
		} else {
			(void)buf_putc(&b, *s++);
		}
	}
	strv_push(ret, buf_str(&b));
}

void place_argv(const struct strv *command, const struct place_words *w, struct strv *ret)
{
	for (size_t i = 0; i < command->n; i++)
		add_word(command->v[i], w, ret);
}

static bool is_named(const struct strv *names, const char *name, size_t n)
{
	for (size_t i = 0; i < names->n; i++)
		if (strlen(names->v[i]) == n && memcmp(names->v[i], name, n) == 0)
			return true;
	return false;
}

void place_env(const struct config *c, const struct config_place *p, char *const *environ,
	       struct strv *ret)
{
	static const char *const names[] = {"PATH", "HOME",	  "USER",
					    "LANG", "KUBECONFIG", "SSH_AUTH_SOCK"};
	static const char slurm[] = "SLURM_";

	for (; *environ; environ++) {
		size_t n = strcspn(*environ, "=");
		bool passed = strncmp(*environ, slurm, sizeof(slurm) - 1) == 0 ||
			      is_named(&c->fleet.pass, *environ, n) ||
			      is_named(&p->pass, *environ, n);

		for (size_t i = 0; !passed && i < ARRAY_SIZE(names); i++)
			passed = strlen(names[i]) == n && memcmp(*environ, names[i], n) == 0;
		if (passed)
			strv_push(ret, *environ);
	}
}
