#include "loop/tree/may-change.h"

#include <string.h>

#include "loop/loop.h"

/* Without those of patterns: the words of a task are taken literally. */
#define PATH_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/+@"

static void add_words(const char *text, struct strv *ret)
{
	while (text && *text) {
		size_t n = strspn(text, PATH_CHARS), len = n;
		const char *word = text;

		if (len > 2 && strncmp(word, "./", 2) == 0) {
			word += 2;
			len -= 2;
		}
		while (len && (word[len - 1] == '.' || word[len - 1] == '/'))
			len--;
		if (len > 1 && word[0] != '/' && (memchr(word, '.', len) || memchr(word, '/', len)))
			strv_pushf(ret, "%.*s", (int)len, word);
		text += n + (text[n] != '\0');
	}
}

static void add_task(const struct task *t, struct strv *ret)
{
	add_words(t->title, ret);
	add_words(t->description, ret);
	for (size_t i = 0; i < t->criteria.n; i++)
		add_words(t->criteria.v[i], ret);
}

void loop_may_change(const struct loop *l, const char *id, struct strv *ret)
{
	strv_extend(ret, &l->config->loop.may_change);
	for (size_t i = 0; l->work && i < l->work->n; i++)
		if (!id || streq(l->work->tasks[i]->id, id))
			add_task(l->work->tasks[i], ret);
}
