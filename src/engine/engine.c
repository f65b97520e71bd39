#include "engine/engine.h"

#include <assert.h>

#include "engine/ops.h"

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

void engine_notes_done(struct engine_notes *n)
{
	strv_done(&n->mounts);
	strv_done(&n->network);
	strv_done(&n->credentials);
}

int engine_new(const char *name, struct engine **ret, struct err *err)
{
	const struct engine_ops *ops = registry_get(name);

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

int engine_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	int r;

	assert(e->state == ENGINE_NEW);
	r = spec_check(spec, err);
	if (r == 0)
		r = needs_check(e->ops, spec, err);
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
	launch_drop(l);
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

int engine_cover(struct engine *e, const char *from, const char *path, enum spec_mount_kind kind,
		 struct err *err)
{
	return e->ops->cover ? e->ops->cover(e, from, path, kind, err)
			     : err_set(err, ENOTSUP, "engine %s mounts nothing", e->ops->name);
}

int engine_freeze(struct engine *e, struct err *err)
{
	return e->ops->freeze ? e->ops->freeze(e, err)
			      : err_set(err, ENOTSUP, "engine %s freezes nothing", e->ops->name);
}

void engine_thaw(struct engine *e)
{
	if (e->ops->thaw)
		e->ops->thaw(e);
}

void engine_complaint(struct engine *e, char *ret, size_t size)
{
	ret[0] = '\0';
	if (e->ops->complaint)
		e->ops->complaint(e, ret, size);
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
