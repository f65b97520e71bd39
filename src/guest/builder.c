#include "guest/builder.h"

#include "guest/mount.h"

int builder_attach(struct builder *b, int tree, const char *target, bool dir)
{
	int at = rootpath_make(&b->site, target, dir), r;

	r = at < 0 ? at : mount_attach(tree, at);
	if (dir)
		site_changed(&b->site);
	return r;
}

int builder_bind(struct builder *b, int from, bool dir, const char *target, uint64_t attributes)
{
	int tree = mount_clone(from), r;

	if (tree < 0)
		return tree;
	r = mount_restrict(tree, attributes);
	return r < 0 ? r : builder_attach(b, tree, target, dir);
}

int builder_new(struct builder *b, const char *type, const char *const *options,
		uint64_t attributes, const char *target)
{
	int tree = mount_new(type, options, attributes);

	return tree < 0 ? tree : builder_attach(b, tree, target, true);
}
