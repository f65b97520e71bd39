#include "git-repo.h"

#include "base/fd.h"

static int make_remote(void **state)
{
	if (repo_make(state) < 0)
		return -1;
	run_sh("git init -q --bare ../r.git; git init -q --bare ../evil.git; git remote add origin "
	       "$TREE/r.git\n"
	       "git checkout -qb ralph/x; echo x >x; git add x; git commit -qm x");
	repo_again();
	return 0;
}

/* As a loop does it: what the settings say is read before the agent runs. */
static void see(void)
{
	struct err e = {0};
	json_t *view = NULL;

	ok(repo_view_take(repo, &view, &e), &e);
	ok(repo_view_use(repo, view, &e), &e);
	json_decref(view);
}

static void push(void)
{
	struct err e = {0};

	ok(repo_push(repo, NULL, "ralph/x", getenv("PATH"), -1, &e), &e);
}

static void a_branch_arrives_alone_and_its_place_is_noted(void **state)
{
	see();
	push();
	sh_says("git -C ../r.git for-each-ref --format='%(refname)'; git -C ../r.git log "
		"--format=%s ralph/x; git rev-parse --abbrev-ref origin/ralph/x; ls ../state",
		"refs/heads/ralph/x\nx\nfirst\norigin/ralph/x");
	push();
}

static void the_url_is_the_users_whatever_was_written_since(void **state)
{
	see();
	run_sh("git config remote.origin.url $TREE/evil.git; git config remote.origin.pushurl "
	       "$TREE/evil.git; git config url.$TREE/evil.git.insteadOf $TREE/r.git");
	push();
	sh_says("git -C ../evil.git for-each-ref; git -C ../r.git for-each-ref "
		"--format='%(refname)'",
		"refs/heads/ralph/x");
}

static void what_the_remote_says_does_not_act_on_the_terminal(void **state)
{
	cleanup_free char *path = tree_path("said");
	cleanup_fd int said = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct err e = {0};

	run_sh("printf '#!/bin/sh\\nprintf \"a\\\\302\\\\233b\\\\342\\\\200\\\\256c\\\\n\" >&2\\n' "
	       ">$TREE/r.git/hooks/pre-receive; chmod 755 $TREE/r.git/hooks/pre-receive");
	see();
	ok(repo_push(repo, NULL, "ralph/x", getenv("PATH"), said, &e), &e);
	run_sh("grep -F 'a\\u{9B}b\\u{202E}c' $TREE/said");
}

static void a_relative_url_is_relative_to_the_repository(void **state)
{
	run_sh("git config remote.origin.url ../r.git");
	see();
	push();
	sh_says("git -C ../r.git for-each-ref --format='%(refname)'", "refs/heads/ralph/x");
}

static void a_push_url_of_the_user_is_used(void **state)
{
	run_sh("git init -q --bare ../p.git; git config remote.origin.pushurl $TREE/p.git");
	see();
	push();
	sh_says("git -C ../r.git for-each-ref; git -C ../p.git for-each-ref --format='%(refname)'",
		"refs/heads/ralph/x");
}

static void nothing_of_the_repository_runs(void **state)
{
	see();
	run_sh("for k in core.fsmonitor core.sshCommand core.askPass core.pager core.editor "
	       "credential.helper remote.origin.receivepack remote.origin.vcs \\\n"
	       "  uploadpack.packObjectsHook core.alternateRefsCommand gpg.program core.gitProxy; "
	       "do git config $k \"touch $TREE/witness\"; done\n"
	       "mkdir h; git config core.hooksPath h; for f in h/pre-push .git/hooks/pre-push "
	       ".git/hooks/reference-transaction h/reference-transaction; do\n"
	       "  printf '#!/bin/sh\\ntouch $TREE/witness\\n' >$f; chmod +x $f; done; git config "
	       "push.gpgSign true");
	push();
	nothing_ran();
	sh_says("git -C ../r.git for-each-ref --format='%(refname)'", "refs/heads/ralph/x");
}

static void a_url_that_runs_a_program_is_refused(void **state)
{
	struct err e = {0};

	run_sh("git config remote.origin.url \"ext::sh -c 'touch $TREE/witness'\"; git config "
	       "protocol.ext.allow always");
	see();
	assert_int_equal(repo_push(repo, NULL, "ralph/x", getenv("PATH"), -1, &e), -EINVAL);
	run_sh("git config remote.origin.url --receive-pack=x");
	see();
	assert_int_equal(repo_push(repo, NULL, "ralph/x", getenv("PATH"), -1, &e), -EINVAL);
	nothing_ran();
}

static void what_the_remote_refuses_comes_with_a_remedy(void **state)
{
	struct err e = {0};

	run_sh("git push -q origin ralph/x; git commit -q --amend -m other");
	see();
	assert_int_equal(repo_push(repo, NULL, "ralph/x", getenv("PATH"), -1, &e), -EIO);
	assert_non_null(strstr(e.msg, "git pull --rebase"));
	run_sh("rm -rf ../r.git");
	assert_int_equal(repo_push(repo, NULL, "ralph/x", getenv("PATH"), -1, &e), -EIO);
	assert_non_null(strstr(e.msg, "git remote -v"));
}

static void a_remote_or_branch_that_is_not_there_is_said(void **state)
{
	struct err e = {0};

	see();
	assert_int_equal(repo_push(repo, "nowhere", "ralph/x", getenv("PATH"), -1, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "git remote add nowhere"));
	assert_int_equal(repo_push(repo, NULL, "nothing", getenv("PATH"), -1, &e), -ENOENT);
	assert_int_equal(repo_push(repo, NULL, "-x", getenv("PATH"), -1, &e), -ENOENT);
}

static void passwords_of_urls_are_not_kept_in_the_view(void **state)
{
	cleanup_free char *text = NULL;
	struct err e = {0};
	json_t *view = NULL;

	run_sh("git config remote.origin.url https://me:hunter2hunter2@example.org/x.git; git "
	       "config http.extraHeader 'Authorization: Basic c2VjcmV0'");
	ok(repo_view_take(repo, &view, &e), &e);
	text = json_dumps(view, 0);
	assert_null(strstr(text, "hunter2"));
	assert_null(strstr(text, "c2VjcmV0"));
	assert_non_null(strstr(text, "https://me@example.org/x.git"));
	json_decref(view);
}

static void progress_is_shown_and_harmless(void **state)
{
	struct err e = {0};
	char text[4096] = "";
	int pipes[2];
	ssize_t n;

	run_sh("printf '#!/bin/sh\\nprintf \"\\\\033]0;x\\\\007hello\\\\n\"\\n' "
	       ">../r.git/hooks/post-receive; chmod +x ../r.git/hooks/post-receive");
	see();
	assert_int_equal(pipe(pipes), 0);
	ok(repo_push(repo, NULL, "ralph/x", getenv("PATH"), pipes[1], &e), &e);
	(void)close(pipes[1]);
	n = read(pipes[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	assert_non_null(strstr(text, "hello"));
	assert_null(strchr(text, '\033'));
	(void)close(pipes[0]);
}

static void a_shallow_clone_can_push(void **state)
{
	run_sh("git push -q origin ralph/x; rm -rf .git; git init -q . -b tmp; git remote add "
	       "origin file://$TREE/r.git; git fetch -q --depth 1 origin ralph/x\n"
	       "git checkout -qf -b ralph/x FETCH_HEAD; echo y >y; git add .; git commit -qm y; "
	       "git config remote.origin.url $TREE/r.git");
	repo_again();
	see();
	push();
	sh_says("git -C ../r.git log --format=%s ralph/x", "y\nx\nfirst");
}

#define PUSHED(f) cmocka_unit_test_setup_teardown(f, make_remote, repo_unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PUSHED(a_branch_arrives_alone_and_its_place_is_noted),
		PUSHED(the_url_is_the_users_whatever_was_written_since),
		PUSHED(what_the_remote_says_does_not_act_on_the_terminal),
		PUSHED(a_relative_url_is_relative_to_the_repository),
		PUSHED(a_push_url_of_the_user_is_used),
		PUSHED(nothing_of_the_repository_runs),
		PUSHED(a_url_that_runs_a_program_is_refused),
		PUSHED(what_the_remote_refuses_comes_with_a_remedy),
		PUSHED(a_remote_or_branch_that_is_not_there_is_said),
		PUSHED(passwords_of_urls_are_not_kept_in_the_view),
		PUSHED(progress_is_shown_and_harmless),
		PUSHED(a_shallow_clone_can_push),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
