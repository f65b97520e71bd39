#include "tree.h"

#include "workspace/nested.h"
#include "workspace/quarantine.h"

static struct places places;
static struct sandbox_spec *spec;

static int set_up(void **state)
{
	cleanup_free char *ws = NULL;

	if (tree_make(state) < 0)
		return -1;
	ws = tree_path("w");
	tree_dir("w");
	places = (struct places){.state = tree_path("state")};
	spec = spec_new();
	spec->workspace = xstrdup(ws);
	spec->home = xstrdup("/home/u");
	(void)spec_mount_add(spec, SPEC_BIND_RW, ws, "/there", "the workspace");
	return 0;
}

static int tear_down(void **state)
{
	spec = spec_free(spec);
	places_done(&places);
	return tree_remove(state);
}

#define WITH_PLACES(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static bool there(const char *rel)
{
	cleanup_free char *path = tree_path(rel);
	struct stat st;

	return lstat(path, &st) == 0;
}

static char *put_away(const char *rel)
{
	cleanup_free char *root = tree_path("w"), *path = tree_path(rel);
	const struct quarantine_input in = {.shelf = SHELF_NESTED,
					    .root = root,
					    .path = path,
					    .why = "appeared",
					    .sandbox = "s"};
	struct err e = {0};
	char *id = NULL;

	if (quarantine_add(&places, &in, &id, &e) < 0)
		fail_msg("%s", e.msg);
	return id;
}

static const struct spec_mount *mounted(const char *target)
{
	for (size_t i = 1; i < spec->n_mounts; i++)
		if (streq(spec->mounts[i].target, target))
			return &spec->mounts[i];
	return NULL;
}

/* As the guest does. */
static void make_place(const char *rel)
{
	cleanup_free char *path = tree_path(rel);

	assert_int_equal(mkdir(path, 0755), 0);
}

static void what_was_put_away_is_mounted_and_its_place_goes(void **state)
{
	cleanup_free char *id = NULL, *file = NULL;

	tree_file("w/a/.git/HEAD", 0644, "x");
	tree_file("w/b/.git", 0644, "gitdir: ../a/.git\n");
	id = put_away("w/a/.git");
	file = put_away("w/b/.git");
	nested_mount(spec, &places);
	assert_int_equal(spec->n_mounts, 3);
	assert_non_null(mounted("/there/a/.git"));
	assert_non_null(strstr(mounted("/there/a/.git")->source, id));
	assert_true(mounted("/there/a/.git")->of_tree);
	make_place("w/a/.git");
	tree_file("w/b/.git", 0644, "");
	nested_unmount(spec, &places);
	assert_false(there("w/a/.git"));
	assert_false(there("w/b/.git"));
	/* And again, from a place that a killed one left. */
	make_place("w/a/.git");
	while (spec->n_mounts > 1)
		spec_mount_done(&spec->mounts[--spec->n_mounts]);
	nested_mount(spec, &places);
	assert_non_null(mounted("/there/a/.git"));
}

static void what_the_agent_emptied_is_gone_and_what_it_filled_stays(void **state)
{
	cleanup_free char *id = NULL, *head = NULL;
	struct nested_list l = {0};
	struct err e;

	tree_file("w/a/.git/HEAD", 0644, "x");
	id = put_away("w/a/.git");
	nested_mount(spec, &places);
	head = xasprintf("%s/nested/%s/content/HEAD", places.state, id);
	assert_int_equal(unlink(head), 0);
	tree_file("w/a/.git/new", 0644, "x");
	nested_unmount(spec, &places);
	assert_true(there("w/a/.git/new"));
	assert_int_equal(nested_find(&places, NULL, &l, &e), 0);
	assert_int_equal(l.n, 0);
}

static void a_place_that_is_taken_gone_or_behind_a_link_is_left_alone(void **state)
{
	static const char *const paths[] = {"w/taken/.git", "w/gone/.git", "w/link/.git",
					    "w/file/.git"};
	cleanup_free char *gone = tree_path("w/gone"), *link = tree_path("w/link");

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		cleanup_free char *head = path_join(paths[i], "HEAD");

		tree_file(head, 0644, "x");
		free(put_away(paths[i]));
	}
	tree_file("w/taken/.git/HEAD", 0644, "mine");
	tree_file("w/file/.git", 0644, "");
	assert_int_equal(rmdir(gone), 0);
	assert_int_equal(rmdir(link), 0);
	tree_dir("outside");
	tree_link("w/link", "../outside");
	nested_mount(spec, &places);
	assert_int_equal(spec->n_mounts, 1);
}

static void of_two_at_one_place_the_newer_is_mounted_and_links_never_are(void **state)
{
	cleanup_free char *old = NULL, *new = NULL, *link = NULL;

	tree_file("w/a/.git/HEAD", 0644, "1");
	old = put_away("w/a/.git");
	tree_file("w/a/.git/HEAD", 0644, "2");
	new = put_away("w/a/.git");
	tree_link("w/b/.git", "../a/.git");
	link = put_away("w/b/.git");
	nested_mount(spec, &places);
	assert_int_equal(spec->n_mounts, 2);
}

static void without_mounts_they_are_moved_back_where_there_is_room(void **state)
{
	struct nested_list l = {0};
	struct err e;

	tree_file("w/a/.git/HEAD", 0644, "x");
	tree_file("w/b/.git/HEAD", 0644, "x");
	free(put_away("w/a/.git"));
	free(put_away("w/b/.git"));
	tree_file("w/b/.git/HEAD", 0644, "mine");
	nested_put_back(spec, &places);
	assert_true(there("w/a/.git/HEAD"));
	assert_int_equal(nested_find(&places, NULL, &l, &e), 0);
	assert_int_equal(l.n, 1);
	assert_string_equal(nested_name(&l.v[0]), "b/.git");
	nested_done(&l);
}

static void a_sentence_names_some_and_counts_the_rest(void **state)
{
	struct nested_told t = {0};
	cleanup_free char *text = NULL;

	assert_null(nested_sentence(&t));
	for (int i = 0; i < 12; i++) {
		cleanup_free char *path = xasprintf("%s/d%d/.git", spec->workspace, i);

		nested_tell(&t, spec, path, "01234567");
	}
	text = nested_sentence(&t);
	assert_non_null(
		strstr(text, "12 git directories that appeared were put away: d0/.git, d1"));
	assert_non_null(strstr(text, " and 2 more; to take its commits: ralph adopt d0;"));
	nested_told_done(&t);
	free(text);
	nested_tell(&t, spec, "/else where/.git", "01234567");
	text = nested_sentence(&t);
	assert_non_null(strstr(text, "ralph adopt --mine 01234567"));
	nested_told_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACES(what_was_put_away_is_mounted_and_its_place_goes),
		WITH_PLACES(what_the_agent_emptied_is_gone_and_what_it_filled_stays),
		WITH_PLACES(a_place_that_is_taken_gone_or_behind_a_link_is_left_alone),
		WITH_PLACES(of_two_at_one_place_the_newer_is_mounted_and_links_never_are),
		WITH_PLACES(without_mounts_they_are_moved_back_where_there_is_room),
		WITH_PLACES(a_sentence_names_some_and_counts_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
