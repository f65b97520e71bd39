/*
 * The cover over the user's git directory.
 *
 * DOC: Theory of operation
 *
 * The private git directory is mounted over `.git` of the workspace. When a program of the host puts
 * something else there (`mv .git x; git init`), the mount goes with the old directory, and the agent
 * could write the new one. So the name is watched from before anything runs, and looked at before
 * each command. When the directory is another one:
 *
 *	nothing inside runs from now on
 *	what is there by then came while the agent could write it: quarantine
 *	what comes now only the host can have made; after WAIT_MS an empty directory takes its place
 *	it is covered, and everything inside goes on
 *
 * If one of these steps fails, the sandbox ends.
 */
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/findings.h"
#include "workspace/private/private-git.h"

#define DOT_GIT ".git"
#define WAIT_MS 5000 /* between `rm -rf .git` and `git init` */
#define STEP_MS 2
#define TRIES 3

/* A bare repository is the workspace itself, of which nothing is mounted. */
static bool is_over_part(const struct supervisor *s)
{
	const struct spec_git *g = &s->spec->git;

	return g->covers && !streq(g->covers, s->spec->workspace);
}

static void note(struct git_cover *c)
{
	struct stat st;
	bool there = fstatat(c->parent, DOT_GIT, &st, AT_SYMLINK_NOFOLLOW) == 0;

	c->dev = there ? st.st_dev : 0;
	c->ino = there ? st.st_ino : 0;
}

static bool is_there(const struct git_cover *c)
{
	struct stat st;

	return fstatat(c->parent, DOT_GIT, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_same(const struct git_cover *c)
{
	struct stat st;

	return fstatat(c->parent, DOT_GIT, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == c->dev &&
	       st.st_ino == c->ino;
}

/* A place for the mount where there is no repository. An empty one is ralph's to remove again, also
 * one that a killed supervisor left. */
static int make_place(struct git_cover *c, struct err *err)
{
	c->made = true;
	if (mkdirat(c->parent, DOT_GIT, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '.git' in the workspace");
	return 0;
}

int git_cover_start(struct supervisor *s, struct err *err)
{
	struct git_cover *c = &s->git_cover;
	int r = 0;

	c->parent = -1;
	if (!is_over_part(s))
		return 0;
	c->parent = open(s->spec->workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->parent < 0)
		return err_sys(err, errno, "cannot open '%s'", s->spec->workspace);
	if (!s->spec->git.root)
		r = make_place(c, err);
	note(c);
	return r == 0 && !c->ino ? err_set(err, ENOENT, "'%s' is gone", s->spec->git.covers) : r;
}

int git_cover_watch(struct supervisor *s, struct err *err)
{
	char self[32];

	if (s->git_cover.parent < 0)
		return 0;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", s->git_cover.parent);
	if (s->watch >= 0 && inotify_add_watch(s->watch, self,
					       IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
						       IN_ONLYDIR | IN_MASK_ADD) >= 0)
		return 0;
	return err_sys(err, errno,
		       "cannot watch '%s', so a new git directory there would not be protected "
		       "(see fs.inotify.max_user_watches and max_user_instances)",
		       s->spec->workspace);
}

bool git_cover_cares(const struct supervisor *s, const char *name)
{
	return s->git_cover.parent >= 0 && streq(name, DOT_GIT);
}

/* Who made it cannot be told. */
int git_cover_put_away(struct supervisor *s, const char *path, struct err *err)
{
	struct findings found = {0};
	struct finding *f = findings_add(
		&found, path,
		xstrdup("it was replaced, and the agent could write it before ralph noticed; make "
			"it again"),
		true);
	int r = finding_settle(f, &s->places, s->spec, err);
	cleanup_free char *text = finding_sentence(f);

	sup_event(s, "surface", finding_event(f));
	client_notice_all(s, text);
	findings_done(&found);
	return r;
}

static int wait_for_place(struct git_cover *c, struct err *err)
{
	for (int left = WAIT_MS; left > 0 && !is_there(c); left -= STEP_MS)
		(void)poll(NULL, 0, STEP_MS);
	return is_there(c) ? 0 : make_place(c, err);
}

static int cover(struct supervisor *s, struct err *err)
{
	const struct spec_git *g = &s->spec->git;
	const char *from = streq(g->at, g->covers) ? PRIVATE_GIT_AT : PRIVATE_GIT_LINK;
	struct git_cover *c = &s->git_cover;
	int r = 0;

	for (int i = 0; r == 0 && i < TRIES; i++) {
		r = wait_for_place(c, err);
		note(c);
		if (r == 0)
			r = engine_cover(s->engine, from, g->covers, SPEC_PIN, err);
		if (r == 0 && is_same(c))
			return 0;
	}
	return r < 0 ? r : err_set(err, EAGAIN, "'%s' changes all the time", g->covers);
}

static int cover_again(struct supervisor *s, struct err *err)
{
	int r = engine_freeze(s->engine, err);

	if (r == 0 && is_there(&s->git_cover))
		r = git_cover_put_away(s, s->spec->git.covers, err);
	return r < 0 ? r : cover(s, err);
}

void git_cover_look(struct supervisor *s)
{
	cleanup_free char *text = NULL;
	struct err err = {0};

	if (s->git_cover.parent < 0 || s->state != SUP_UP || is_same(&s->git_cover))
		return;
	if (cover_again(s, &err) == 0) {
		text = xasprintf("'%s' was replaced while the sandbox runs; inside, git goes on "
				 "with the old one until the sandbox starts again",
				 s->spec->git.covers);
	} else {
		text = xasprintf("'%s' was replaced while the sandbox runs, and it cannot be "
				 "covered again: %s; the sandbox ends",
				 s->spec->git.covers, err.msg);
		engine_kill(s->engine);
	}
	engine_thaw(s->engine); /* of what was killed nothing goes on */
	sup_event(s, "protect-again",
		  json_pack("{so so}", "path", json_text(s->spec->git.covers), "message",
			    json_text(text)));
	client_notice_all(s, text);
}

void git_cover_check(struct supervisor *s)
{
	if (s->git_cover.parent < 0 || s->state != SUP_UP || is_same(&s->git_cover))
		return;
	watch_look(s);
	note(&s->git_cover);
}

void git_cover_finish(struct supervisor *s)
{
	/* What has something in it by now is not empty, and stays. */
	if (s->git_cover.made)
		(void)unlinkat(s->git_cover.parent, DOT_GIT, AT_REMOVEDIR);
}
