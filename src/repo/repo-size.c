#include "repo/repo-parts.h"

static int add_sizes(struct repo_job *j, json_t *out, struct err *err)
{
	cleanup_git(index) git_index *index = NULL;
	uint64_t bytes = 0;

	if (git_repository_index(&index, j->git) < 0)
		return gitlib_err(err, "cannot read the index");
	for (size_t i = 0; i < git_index_entrycount(index); i++)
		bytes += git_index_get_byindex(index, i)->file_size;
	(void)json_object_set_new(out, "bytes", json_integer((json_int_t)bytes));
	return 0;
}

int repo_size(struct repo *r, uint64_t *ret, struct err *err)
{
	const struct repo_task task = REPO_TASK(add_sizes, NULL, 0);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	return rc < 0 ? rc : json_get_uint(out, "bytes", ret, err);
}
