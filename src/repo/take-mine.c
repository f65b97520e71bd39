#include "repo/take.h"

#include <strings.h>

#define MINE_COMMITS_MAX 1000

/* From the user's own files: the repository's setting is its author's. NULL: there is none. */
static char *own_address(void)
{
	git_config *config = NULL;
	git_buf text = {0};
	char *address = NULL;

	if (git_config_open_default(&config) == 0 &&
	    git_config_get_string_buf(&text, config, "user.email") == 0 && text.size > 0)
		address = xstrndup(text.ptr, text.size);
	git_buf_dispose(&text);
	git_config_free(config);
	return address;
}

static bool is_by(const git_signature *who, const char *address)
{
	return who && who->email && strcasecmp(who->email, address) == 0;
}

static bool walk(git_repository *repo, git_revwalk *all, const char *address)
{
	bool found = false;
	git_oid oid;

	for (int i = 0; !found && i < MINE_COMMITS_MAX && git_revwalk_next(&oid, all) == 0; i++) {
		cleanup_git(commit) git_commit *commit = NULL;

		found = git_commit_lookup(&commit, repo, &oid) == 0 &&
			(is_by(git_commit_author(commit), address) ||
			 is_by(git_commit_committer(commit), address));
	}
	return found;
}

int repo_has_mine(git_repository *repo, bool *ret, struct err *err)
{
	cleanup_free char *address = own_address();
	git_revwalk *all = NULL;
	int r = git_revwalk_new(&all, repo);

	if (r < 0)
		return gitlib_err(err, "cannot walk the commits");
	/* A repository without a commit has none of the user's. */
	*ret = address && git_revwalk_push_head(all) == 0 && walk(repo, all, address);
	git_revwalk_free(all);
	return 0;
}
