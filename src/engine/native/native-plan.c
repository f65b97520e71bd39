#include "engine/native/native.h"

#include "engine/plan.h"

int native_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	struct native *n = native_of(e);
	int r;

	n->spec = spec;
	r = plan_find_guest(spec, &n->guest, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_IMAGE || spec->mounts[i].kind == SPEC_VOLUME)
			return err_set(err, ENOTSUP, "the native engine has no %ss",
				       spec_mount_kind_name(spec->mounts[i].kind));
	return plan_root(spec, &n->root, err);
}

/* One option or mount a line; a golden test holds it, a person reads it. */
void native_dump(const struct engine *e, FILE *out)
{
	const struct native *n = (const struct native *)e;

	plan_put_word(n->guest, out);
	(void)fputs(" " GUEST_LAUNCH "\n  namespaces: user, mount, pid, ipc, uts, net, cgroup\n",
		    out);
	plan_put_root(&n->root, out);
}
