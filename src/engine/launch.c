#include "engine/engine.h"

#include "base/fd.h"
#include "base/proc.h"

void engine_launch_init(struct engine_launch *l)
{
	*l = (struct engine_launch){
		.guest = -1, .status = -1, .complaint = -1, .theirs = {-1, -1, -1}};
	strv_init(&l->argv);
}

int engine_launch_open(const struct sandbox_spec *so_far, const char *guest,
		       struct engine_launch *ret, struct err *err)
{
	const struct engine_ops *ops;
	int r = engine_find(so_far->engine, &ops, err);

	engine_launch_init(ret);
	if (r < 0)
		return r;
	return ops->launch ? ops->launch(so_far, guest, ret, err) : -EOPNOTSUPP;
}

void engine_launch_run(struct engine_launch *l)
{
	struct run run = RUN_INIT;
	struct child child;
	struct err ignored;

	run.argv = l->argv.v;
	run.stdio[2] = l->theirs[2];
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run_keep(&run, l->theirs[0]);
	run_keep(&run, l->theirs[1]);
	if (run_start(&run, &child, &ignored) < 0)
		return;
	l->pid = child.pid;
	closep(&child.pidfd);
}

void engine_launch_done(struct engine_launch *l)
{
	int *fds[] = {&l->guest, &l->status, &l->complaint};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		closep(fds[i]);
		closep(&l->theirs[i]);
	}
	strv_done(&l->argv);
	engine_launch_init(l);
}

void engine_adopt(struct engine *e, struct engine_launch *l)
{
	if (l->pid > 0 && e->ops->adopt)
		e->ops->adopt(e, l);
}
