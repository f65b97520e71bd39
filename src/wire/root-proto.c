#include "wire/root-proto.h"

#define ROOT_VERSION 2

void guest_root_put(struct buf *b, const struct guest_root *root)
{
	wire_put_u32(b, ROOT_VERSION);
	wire_put_str(b, root->hostname);
	wire_put_u32(b, root->uid);
	wire_put_u32(b, root->gid);
	wire_put_u32(b, root->inside);
	wire_put_str(b, root->program ? root->program : "");
	wire_put_u32(b, (uint32_t)root->n_mounts);
	for (size_t i = 0; i < root->n_mounts; i++) {
		const struct guest_mount *m = &root->mounts[i];

		wire_put_u32(b, m->kind);
		wire_put_str(b, m->source);
		wire_put_str(b, m->target);
		wire_put_u32(b, m->mode);
		wire_put_u64(b, m->size);
	}
}

static void get_mount(struct wire_reader *r, struct guest_mount *m)
{
	uint32_t kind = wire_get_u32(r);

	m->source = wire_get_str(r);
	m->target = wire_get_str(r);
	m->mode = wire_get_u32(r);
	m->size = wire_get_u64(r);
	if (r->bad || kind >= GUEST_MOUNT_N || m->target[0] != '/')
		r->bad = true;
	else
		m->kind = (enum guest_mount_kind)kind;
}

static int get_root(struct wire_reader *r, struct guest_root *root, struct err *err)
{
	uint32_t n, inside;

	if (wire_get_u32(r) != ROOT_VERSION)
		return err_set(err, EPROTO,
			       "the guest and the supervisor are of different versions");
	root->hostname = wire_get_str(r);
	root->uid = wire_get_u32(r);
	root->gid = wire_get_u32(r);
	inside = wire_get_u32(r);
	root->program = wire_get_str(r);
	n = wire_get_u32(r);
	if (n > GUEST_MOUNTS_MAX)
		return err_set(err, E2BIG, "more than %d mounts in one sandbox", GUEST_MOUNTS_MAX);
	root->mounts = xcalloc(n, sizeof(*root->mounts));
	root->n_mounts = n;
	for (size_t i = 0; i < n; i++)
		get_mount(r, &root->mounts[i]);
	if (inside >= GUEST_INSIDE_N ||
	    (root->program && root->program[0] && root->program[0] != '/'))
		r->bad = true;
	else
		root->inside = (enum guest_inside)inside;
	if (wire_read_end(r) < 0)
		return err_set(err, EPROTO, "the list of the sandbox's mounts is malformed");
	return 0;
}

int guest_root_get(const struct wire_msg *m, struct guest_root *ret, struct err *err)
{
	struct guest_root root = {0};
	struct wire_reader r;
	int failed;

	wire_read(&r, m);
	failed = get_root(&r, &root, err);
	if (failed < 0)
		guest_root_done(&root);
	else
		*ret = root;
	return failed;
}

void guest_root_done(struct guest_root *root)
{
	free(root->mounts);
	*root = (struct guest_root){0};
}
