#include "tree.h"

#include "agent/agent.h"
#include "agent/identity.h"
#include "base/buf.h"
#include "base/json/json.h"

static void every_row_is_whole_and_found_by_its_name(void **state)
{
	assert_true(agent_count() >= 6);
	for (size_t i = 0; i < agent_count(); i++) {
		const struct agent *a = agent_at(i);

		assert_ptr_equal(agent_find(a->name), a);
		assert_string_equal(agent_words[i], a->name);
		assert_non_null(a->title);
		assert_true(a->interactive && a->headless && a->services && a->env && a->seeds);
		assert_true(a->identity && a->state && a->hosts && a->login_hosts);
		assert_true(a->private && a->logins && a->installed);
		assert_true(!a->program || a->install);
	}
	assert_true(agent_default()->program && agent_default()->stream);
	assert_null(agent_words[agent_count()]);
	assert_null(agent_find("nobody"));
	assert_null(agent_at(agent_count()));
}

static bool is_private(const struct agent *a, const char *rel)
{
	for (const char *const *place = a->private; *place; place++)
		if (path_under(rel, *place))
			return true;
	return false;
}

static void every_program_has_a_stream_a_memory_and_hosts_to_log_in(void **state)
{
	size_t n = 0;

	for (size_t i = 0; i < agent_count(); i++) {
		const struct agent *a = agent_at(i);

		if (!a->program)
			continue;
		assert_string_equal(agent_programs[n++], a->name);
		assert_true(a->headless[0] && a->services[0] && a->login_hosts[0]);
		assert_true(a->state[0] && a->conversations);
		for (const char *const *dir = a->state; *dir; dir++)
			assert_true(is_private(a, *dir));
		assert_true(is_private(a, a->conversations));
		assert_true(a->stream && a->stream->line && a->stream->parts);
		assert_non_null(a->stream->marks[0]);
	}
	assert_null(agent_programs[n]);
}

static bool file_has(const char *path, const char *word)
{
	cleanup_free char *full = path_join(SOURCE_ROOT, path);
	cleanup_buf struct buf b;

	buf_init(&b, 1 * MiB);
	if (path_read(AT_FDCWD, full, &b) < 0)
		fail_msg("there is no %s", path);
	return strcasestr(buf_str(&b), word);
}

/* What a row cannot carry: its image, its seeds for fuzzing, and words in the manual. */
static void every_agent_has_its_files_and_is_in_the_manual(void **state)
{
	static const char *const pages[] = {"README.md", "man/ralph-agents.7.scd",
					    "man/ralph-config.5.scd", "man/ralph-export.1.scd",
					    "man/ralph-run.1.scd"};

	struct stat st;

	for (const char *const *name = agent_programs; *name; name++) {
		cleanup_free char *image = xasprintf("docker/agent-loop/%s/Dockerfile", *name);
		cleanup_free char *seeds =
			xasprintf(SOURCE_ROOT "/fuzz/corpus/transcript-%s", *name);

		if (!file_has(image, "ARG AGENT="))
			fail_msg("%s names no version", image);
		if (stat(seeds, &st) < 0)
			fail_msg("there is no %s", seeds);
		for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
			if (!file_has(pages[i], *name))
				fail_msg("%s does not name %s", pages[i], *name);
	}
}

/* A seed that was not JSON would stop the agent's first start. */
static void every_seed_is_well_formed(void **state)
{
	cleanup_strv struct strv options = {0};
	const struct agent_values v = {"/home/u/a \"b\"", "/home/u", "http://127.0.0.1:1/_ralph/x",
				       &options};

	for (size_t i = 0; i < 2 * agent_count(); i++) {
		const struct agent *a = agent_at(i / 2);

		for (const struct agent_seed *s = a->seeds; s->path; s++) {
			cleanup_free char *content = agent_seed_text(a, s, i % 2);
			cleanup_free char *text = agent_expand(content, &v, true);
			cleanup_json json_t *j = NULL;
			struct err err = {0};

			assert_non_null(text);
			assert_null(strstr(text, "{workspace}"));
			if (strstr(s->path, ".json") &&
			    json_parse(text, strlen(text), &j, &err) < 0)
				fail_msg("%s: %s", s->path, err.msg);
		}
	}
}

static void expand_replaces_what_it_knows_and_leaves_the_phantom(void **state)
{
	cleanup_strv struct strv options = {0};
	struct agent_values v = {.workspace = "/w", .home = "/h", .options = &options};
	cleanup_free char *a = NULL, *b = NULL, *c = NULL;

	strv_push(&options, "region=eu-1");
	a = agent_expand("{home}{x}{\"k\":1}{phantom}{option:region}", &v, false);
	assert_string_equal(a, "/h{x}{\"k\":1}{phantom}eu-1");
	assert_null(agent_expand("{option:model}", &v, false));
	assert_null(agent_expand("{endpoint}/v1", &v, false));
	v.workspace = "/a\"\\b\n";
	b = agent_expand("\"{workspace}\"", &v, true);
	assert_string_equal(b, "\"/a\\\"\\\\b\\u000a\"");
	c = agent_expand("{workspace}", &v, false);
	assert_string_equal(c, "/a\"\\b\n");
}

static void identity_is_read_from_the_agents_own_files(void **state)
{
	cleanup_free char *a = NULL, *b = NULL, *c = NULL;

	assert_null(agent_identity(agent_find("claude"), "anthropic-oauth", tree));
	tree_file(".claude.json", 0600, "{\"oauthAccount\":{\"emailAddress\":\"me@x.example\"}}");
	a = agent_identity(agent_find("claude"), "anthropic-oauth", tree);
	assert_string_equal(a, "me@x.example");
	assert_null(agent_identity(agent_find("claude"), "anthropic-key", tree));
	/* {"email":"you@y.example"} */
	tree_file(".codex/auth.json", 0600,
		  "{\"tokens\":{\"id_token\":\"e30.eyJlbWFpbCI6InlvdUB5LmV4YW1wbGUifQ.c2ln\"}}");
	b = agent_identity(agent_find("codex"), "openai-chatgpt", tree);
	assert_string_equal(b, "you@y.example");
	tree_file(".gemini/google_accounts.json", 0600, "{\"active\":\"g@z.example\",\"old\":[]}");
	c = agent_identity(agent_find("gemini"), "gemini-oauth", tree);
	assert_string_equal(c, "g@z.example");
}

static void identity_of_a_torn_file_is_not_known(void **state)
{
	static const char *const torn[] = {"",
					   "{",
					   "[]",
					   "{\"tokens\":1}",
					   "{\"tokens\":{\"id_token\":\"x\"}}",
					   "{\"tokens\":{\"id_token\":\"a.b.c\"}}",
					   "{\"tokens\":{\"id_token\":\"a.!!.c\"}}"};

	for (size_t i = 0; i < ARRAY_SIZE(torn); i++) {
		tree_file(".codex/auth.json", 0600, torn[i]);
		assert_null(agent_identity(agent_find("codex"), "openai-chatgpt", tree));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_whole_and_found_by_its_name),
		cmocka_unit_test(every_program_has_a_stream_a_memory_and_hosts_to_log_in),
		cmocka_unit_test(every_agent_has_its_files_and_is_in_the_manual),
		cmocka_unit_test(every_seed_is_well_formed),
		cmocka_unit_test(expand_replaces_what_it_knows_and_leaves_the_phantom),
		WITH_TREE(identity_is_read_from_the_agents_own_files),
		WITH_TREE(identity_of_a_torn_file_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
