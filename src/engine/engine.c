#include "engine/engine.h"

#include <assert.h>
#include <string.h>

/* One row per engine, in the order in which "auto" tries them. */
static const struct engine_ops *const engines[] = {
	&engine_native, &engine_docker,		&engine_podman,
	&engine_sbx,	&engine_docker_sandbox, &engine_direct,
};

void engine_call_done(struct engine_call *c)
{
	strv_done(&c->argv);
	strv_done(&c->env);
}

void engine_list_done(struct engine_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].workspace);
	}
	free(l->v);
	*l = (struct engine_list){0};
}

const struct engine_ops *engine_by_name(const char *name)
{
	/* A spec that is made for its rules alone has no engine yet. */
	for (size_t i = 0; name && i < ARRAY_SIZE(engines); i++)
		if (streq(engines[i]->name, name))
			return engines[i];
	return NULL;
}

/* The first of them that is usable; what is wrong with the first one is what the user hears. */
static int first_usable(const struct engine_ops *const *v, size_t n, const struct engine_ops **ret,
			struct err *err)
{
	struct err ignored;

	for (size_t i = 0; i < n; i++) {
		bool usable = v[i]->likely && v[i]->likely();

		if (v[i]->caps & ENGINE_NO_WALL)
			continue;
		if (!usable && v[i]->probe(i ? &ignored : err) < 0)
			continue;
		*ret = v[i];
		return 0;
	}
	return -ENOTSUP;
}

int engine_find(const char *name, const struct engine_ops **ret, struct err *err)
{
	static const struct engine_ops *const dialects[] = {&engine_sbx, &engine_docker_sandbox};

	if (streq(name, "auto"))
		return first_usable(engines, ARRAY_SIZE(engines), ret, err);
	if (streq(name, "sbx"))
		return first_usable(dialects, ARRAY_SIZE(dialects), ret, err);
	*ret = engine_by_name(name);
	if (!*ret)
		return err_usage(err,
				 "there is no engine '%s'; use auto, native, docker, podman or sbx",
				 name);
	return 0;
}

int engine_new(const char *name, struct engine **ret, struct err *err)
{
	const struct engine_ops *ops = engine_by_name(name);

	if (!ops)
		return err_usage(err, "there is no engine '%s'", name);
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

	assert(e->state == ENGINE_PLANNED && e->ops->start);
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
	return e->ops->init_pid ? e->ops->init_pid(e) : 0;
}

int engine_protect(struct engine *e, const char *path, struct err *err)
{
	return e->ops->protect ? e->ops->protect(e, path, err)
			       : err_set(err, ENOTSUP, "engine %s protects no paths", e->ops->name);
}

void engine_complaint(struct engine *e, char *ret, size_t size)
{
	ret[0] = '\0';
	if (e->ops->complaint)
		e->ops->complaint(e, ret, size);
}

void engine_clean(const struct sandbox_spec *spec)
{
	const struct engine_ops *ops = engine_by_name(spec->engine);

	if (ops && ops->clean)
		ops->clean(spec);
}

int engine_set_up(struct engine *e, struct err *err)
{
	assert(e->state == ENGINE_PLANNED && e->ops->set_up);
	return e->ops->set_up(e, err);
}

bool engine_keeper(const struct engine *e, struct engine_call *ret)
{
	if (e->ops->keeper)
		e->ops->keeper(e, ret);
	return e->ops->keeper != NULL;
}

int engine_exec(const struct engine *e, const struct engine_command *c, struct engine_call *ret,
		struct err *err)
{
	assert(e->ops->exec);
	return e->ops->exec(e, c, ret, err);
}

bool engine_can_signal(const struct engine *e)
{
	return e->ops->signal != NULL;
}

int engine_signal(const struct engine *e, const char *id, int sig, struct err *err)
{
	return e->ops->signal(e, id, sig, err);
}

int engine_remove(const struct sandbox_spec *spec, struct err *err)
{
	const struct engine_ops *ops = engine_by_name(spec->engine);

	return ops && ops->remove ? ops->remove(spec->name, err) : 0;
}

const struct engine_ops *engine_keeping(size_t i)
{
	for (size_t k = 0; k < ARRAY_SIZE(engines); k++)
		if (engines[k]->list && i-- == 0)
			return engines[k];
	return NULL;
}
