/*
 * Images that were built on this machine. They are docker's, as `ralph image build` makes them. The
 * plugin finds them there; sbx keeps images of its own, into which one is loaded from a file, once:
 * its name says what is in it.
 */
#include "engine/sbx/sbx.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAVE_MS (20 * 60 * 1000)
#define LIST_MS (60 * 1000)

/* Names of `ralph image build`; no registry has them. */
bool sbx_is_local_image(const char *image)
{
	static const char own[] = "agent-loop-sandbox-";

	return image && strncmp(image, own, strlen(own)) == 0;
}

bool sbx_must_load(const struct sbx_plan *p, const struct sbx_dialect *d)
{
	return d->load_image && sbx_is_local_image(p->template);
}

void sbx_load_words(const struct sbx_plan *p, const struct sbx_dialect *d, const char *file,
		    struct sbx_words *ret)
{
	struct strv *save = sbx_words_add(ret), *load;

	strv_push(save, "docker");
	strv_push(save, "save");
	strv_push(save, "-o");
	strv_push(save, file);
	strv_push(save, p->template);
	load = sbx_words_add(ret);
	sbx_begin(d, "template", load);
	strv_push(load, "load");
	strv_push(load, file);
}

/* Does it list the name? What the list looks like is not known, but the name is like no other. */
static int is_loaded(const struct sbx *x, bool *ret, struct err *err)
{
	const char *tag = strrchr(x->plan.template, ':');
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	cleanup_strv struct strv argv = {0};
	int r;

	sbx_begin(x->dialect, "template", &argv);
	strv_push(&argv, "ls");
	r = sbx_call(&argv, -1, LIST_MS, &said, err);
	if (r == 0 && said.code != 0)
		r = sbx_explain(x->dialect, "list its images", &said, err);
	*ret = r == 0 && tag && strstr(said.out, tag + 1);
	return r;
}

static int load_by(const struct sbx *x, const char *file, struct err *err)
{
	cleanup_(sbx_words_done) struct sbx_words words = {0};
	int r;

	sbx_load_words(&x->plan, x->dialect, file, &words);
	r = sbx_must(x->dialect, "have docker save the image", &words.v[0], SAVE_MS, err);
	if (r == 0)
		r = sbx_must(x->dialect, "load the image", &words.v[1], SAVE_MS, err);
	return r;
}

int sbx_load_image(const struct sbx *x, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	cleanup_free char *dir = NULL, *file = NULL;
	bool there = false;
	int r;

	if (!sbx_must_load(&x->plan, x->dialect))
		return 0;
	r = is_loaded(x, &there, err);
	if (r < 0 || there)
		return r;
	/* An image may be larger than what a /tmp in memory holds. */
	dir = xasprintf("%s/ralph-image-XXXXXX", tmp && *tmp == '/' ? tmp : "/var/tmp");
	if (!mkdtemp(dir))
		return err_sys(err, errno, "cannot make '%s'", dir);
	file = xasprintf("%s/image.tar", dir);
	r = load_by(x, file, err);
	(void)unlink(file);
	(void)rmdir(dir);
	return r;
}
