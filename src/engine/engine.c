#include "engine/engine.h"

#include <assert.h>
#include <string.h>

/* One row per engine, in the order in which "auto" tries them. */
static const struct engine_ops *const engines[] = {
	&engine_native,
	&engine_docker,
	&engine_podman,
};

static const struct engine_ops *by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
		if (streq(engines[i]->name, name))
			return engines[i];
	return NULL;
}

int engine_find(const char *name, const struct engine_ops **ret, struct err *err)
{
	const struct engine_ops *ops = by_name(streq(name, "auto") ? engines[0]->name : name);

	if (!ops)
		return err_usage(err, "there is no engine '%s'; use native, docker, podman or auto",
				 name);
	*ret = ops;
	return 0;
}

int engine_new(const char *name, struct engine **ret, struct err *err)
{
	const struct engine_ops *ops;
	int r = engine_find(name, &ops, err);

	if (r < 0)
		return r;
	*ret = xcalloc(1, ops->instance_size);
	(*ret)->ops = ops;
	ops->init(*ret);
	return 0;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	e->ops->done(e);
	free(e);
}

int engine_ask(const struct engine_ops *ops, struct sandbox_spec *spec, struct err *err)
{
	return ops->ask ? ops->ask(spec, err) : 0;
}

int engine_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	int r;

	assert(e->state == ENGINE_NEW);
	r = spec_check(spec, err);
	if (r == 0)
		r = e->ops->plan(e, spec, err);
	if (r == 0)
		e->state = ENGINE_PLANNED;
	return r;
}

void engine_dump(const struct engine *e, FILE *out)
{
	assert(e->state != ENGINE_NEW);
	e->ops->dump(e, out);
}

int engine_start(struct engine *e, struct engine_proc *ret, struct err *err)
{
	int r;

	assert(e->state == ENGINE_PLANNED);
	r = e->ops->start(e, ret, err);
	if (r == 0)
		e->state = ENGINE_STARTED;
	return r;
}

void engine_adopt(struct engine *e, struct engine_launch *l)
{
	assert(e->state == ENGINE_PLANNED);
	if (l->pid > 0 && e->ops->adopt)
		e->ops->adopt(e, l);
	launch_kill(l);
}

void engine_kill(struct engine *e)
{
	if (e->ops->kill)
		e->ops->kill(e);
}

int engine_stop(struct engine *e, struct err *err)
{
	int r = e->ops->stop(e, err);

	if (r == 0)
		e->state = ENGINE_STOPPED;
	return r;
}

pid_t engine_init_pid(struct engine *e)
{
	return e->ops->init_pid(e);
}

int engine_protect(struct engine *e, const char *path, struct err *err)
{
	return e->ops->protect(e, path, err);
}

void engine_complaint(struct engine *e, char *ret, size_t size)
{
	e->ops->complaint(e, ret, size);
}

void engine_clean(const struct sandbox_spec *spec)
{
	const struct engine_ops *ops = by_name(spec->engine);

	if (ops && ops->clean)
		ops->clean(spec);
}
