#include "image/image-cmd.h"

#include <stddef.h>

static void words(struct strv *ret, const char *program, const char *const *list)
{
	strv_push(ret, program);
	for (; *list; list++)
		strv_push(ret, *list);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void label(struct strv *ret, const char *name, const char *value)
{
	strv_push(ret, "--label");
	strv_pushf(ret, "%s=%s", name, value);
}

static void label_bases(struct strv *ret, const struct strv *bases)
{
	char *all = xstrdup("");

	for (size_t i = 0; i < bases->n; i++) {
		cleanup_free char *before = all;

		all = xasprintf("%s%s%s", before, i ? " " : "", bases->v[i]);
	}
	label(ret, IMAGE_LABEL_BASES, all);
	free(all);
}

void image_cmd_build(const char *program, const struct image_build *b, struct strv *ret)
{
	cleanup_free char *uid = xasprintf("%u", b->uid);

	/* --pull=false: the base was checked and hashed, so the builder must not get another
	 * one. */
	words(ret, program,
	      WORDS("build", "--tag", b->ref, "--file", b->dockerfile, "--pull=false"));
	if (b->fresh)
		strv_push(ret, "--no-cache");
	if (b->base) {
		strv_push(ret, "--build-arg");
		strv_pushf(ret, "BASE=%s", b->base);
	}
	label(ret, IMAGE_LABEL_AGENT, b->agent);
	label(ret, IMAGE_LABEL_SOURCE, b->source ? b->source : "");
	label_bases(ret, b->bases);
	label(ret, IMAGE_LABEL_USER, uid);
	strv_push(ret, b->context);
}

void image_cmd_inspect(const char *program, const char *const *refs, size_t n, struct strv *ret)
{
	words(ret, program, WORDS("image", "inspect"));
	for (size_t i = 0; i < n; i++)
		strv_push(ret, refs[i]);
}

void image_cmd_list(const char *program, struct strv *ret)
{
	words(ret, program, WORDS("image", "ls", "--quiet", "--no-trunc", "--filter"));
	strv_pushf(ret, "label=%s", IMAGE_LABEL_AGENT);
}

void image_cmd_pull(const char *program, const char *ref, struct strv *ret)
{
	words(ret, program, WORDS("pull", ref));
}

void image_cmd_remove(const char *program, const char *ref, struct strv *ret)
{
	words(ret, program, WORDS("image", "rm", ref));
}
