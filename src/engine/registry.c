/* The list of the engines, and what is known of one by its name. */
#include "engine/ops.h"

#include <string.h>

#include "base/buf.h"

#define WISHES_MAX (1 * KiB)

/* clang-format off */
static const struct engine_ops *const engines[] = {
#define ENGINE(symbol, name) &engine_##symbol,
#include "config/engines.def"
#undef ENGINE
};

/* clang-format on */

const struct engine_ops *registry_get(const char *name)
{
	/* A spec that is made for its rules alone has no engine yet. */
	if (!name)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
		if (streq(engines[i]->name, name))
			return engines[i];
	return streq(name, engine_direct.name) ? &engine_direct : NULL;
}

/* The first of them that is usable; what is wrong with the first one is what the user hears. */
static int first_usable(const struct engine_ops *const *v, size_t n, const char **ret,
			struct err *err)
{
	struct err ignored;

	for (size_t i = 0; i < n; i++) {
		bool usable = v[i]->likely && v[i]->likely();

		if (!usable && v[i]->probe(i ? &ignored : err) < 0)
			continue;
		*ret = v[i]->name;
		return 0;
	}
	return -ENOTSUP;
}

/* The words that a user may give: "auto, native, … or LAST". */
static char *wishes(void)
{
	cleanup_buf struct buf b;

	buf_init(&b, WISHES_MAX);
	(void)buf_puts(&b, "auto");
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
		(void)buf_printf(&b, "%s%s", i + 1 < ARRAY_SIZE(engines) ? ", " : " or ",
				 engines[i]->name);
	return xstrdup(buf_str(&b));
}

static int no_engine(const char *wish, struct err *err)
{
	cleanup_free char *list = wishes();

	return err_usage(err, "there is no engine '%s'; use %s", wish, list);
}

/*
 * The first of the list. Another one is a choice of the user's, since its walls, its images and its
 * costs are others; so nothing of it is started or fetched because this one cannot run.
 */
static int own_engine(const char **ret, struct err *err)
{
	const struct engine_ops *own = engines[0];
	int r = own->likely && own->likely() ? 0 : own->probe(err);

	if (r < 0)
		return err_hint(err, r, "or use a container: --engine podman");
	*ret = own->name;
	return 0;
}

int engine_find(const char *wish, const char **ret, struct err *err)
{
	const struct engine_ops *ops;

	if (streq(wish, "auto"))
		return own_engine(ret, err);
	ops = registry_get(wish);
	if (!ops || (ops->caps & ENGINE_NO_WALL))
		return no_engine(wish, err);
	if (ops->other)
		return first_usable((const struct engine_ops *const[]){ops, ops->other}, 2, ret,
				    err);
	*ret = ops->name;
	return 0;
}

const char *engine_no_sandbox(void)
{
	return engine_direct.name;
}

bool engine_has(const char *name, enum engine_caps cap)
{
	const struct engine_ops *ops = registry_get(name);

	return ops && (ops->caps & cap);
}

const char *engine_images(const char *name)
{
	const struct engine_ops *ops = registry_get(name);

	return ops ? ops->images : NULL;
}

void engine_image_programs(const char *wish, struct strv *ret)
{
	const char *own = engine_images(wish);

	if (own) {
		strv_push(ret, own);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
		if (engines[i]->images && !strv_has(ret, engines[i]->images))
			strv_push(ret, engines[i]->images);
}

const char *engine_host(const char *name)
{
	const struct engine_ops *ops = registry_get(name);

	return ops ? ops->host : NULL;
}

bool engine_about(size_t i, struct engine_about *ret)
{
	const struct engine_ops *ops = i < ARRAY_SIZE(engines) ? engines[i] : NULL;

	if (ops)
		*ret = (struct engine_about){ops->name, ops->wall, ops->holds, ops->costs};
	return ops != NULL;
}

const char *engine_wall(const char *name)
{
	const struct engine_ops *ops = registry_get(name);

	return ops && ops->wall ? ops->wall : "unknown";
}

int engine_probe(const char *name, struct err *err)
{
	const struct engine_ops *ops = registry_get(name);

	return ops ? ops->probe(err) : err_usage(err, "there is no engine '%s'", name);
}

int engine_prepare(const char *name, uint64_t memory, void (*say)(const char *text),
		   struct err *err)
{
	const struct engine_ops *ops = registry_get(name);

	if (!ops || (ops->caps & ENGINE_NO_WALL))
		return no_engine(name, err);
	return ops->prepare ? ops->prepare(memory, say, err)
			    : err_usage(err, "engine %s needs no preparation", ops->name);
}

int engine_ask(struct sandbox_spec *spec, struct err *err)
{
	const struct engine_ops *ops = registry_get(spec->engine);

	return ops && ops->ask ? ops->ask(spec, err) : 0;
}

void engine_clean(const struct sandbox_spec *spec)
{
	const struct engine_ops *ops = registry_get(spec->engine);

	if (ops && ops->clean)
		ops->clean(spec);
}

const char *engine_keeping(size_t i)
{
	for (size_t k = 0; k < ARRAY_SIZE(engines); k++)
		if (engines[k]->list && i-- == 0)
			return engines[k]->name;
	return NULL;
}

int engine_list(const char *name, struct engine_list *ret, struct err *err)
{
	const struct engine_ops *ops = registry_get(name);

	return ops && ops->list ? ops->list(ret, err) : 0;
}

int engine_remove(const char *name, const char *sandbox, struct err *err)
{
	const struct engine_ops *ops = registry_get(name);

	return ops && ops->remove ? ops->remove(sandbox, err) : 0;
}

void engine_notes(const struct sandbox_spec *spec, struct engine_notes *ret)
{
	const struct engine_ops *ops = registry_get(spec->engine);

	*ret = (struct engine_notes){0};
	if (ops && ops->notes)
		ops->notes(spec, ret);
}

int engine_doctor(const char *name, struct doctor_rows *ret, bool *ret_usable, struct err *err)
{
	*ret_usable = false;
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		bool usable = false;
		int r = engines[i]->doctor ? engines[i]->doctor(ret, &usable, err) : 0;

		if (r < 0)
			return r;
		if (streq(engines[i]->name, name))
			*ret_usable = usable;
	}
	return 0;
}
