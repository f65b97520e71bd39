/*
 * The host's logins become references in the spec. ralph searches this host for the credentials of
 * the agent's services, and takes a source that the user names as it is.
 */
#include "compose/build.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "compose/cred-check.h"
#include "cred/bearer.h"
#include "cred/requests.h"
#include "policy/host.h"
#include "spec/host-env.h"

#define OFF "off"

static const char *const bedrock_hosts[] = {"bedrock-runtime", "bedrock"};

struct probing {
	struct cred_host host;
	struct strv environ;
};

static void probing_init(struct probing *p, const struct sandbox_spec *s,
			 const struct build_input *in)
{
	strv_init(&p->environ);
	host_environ(s, in->environ, &p->environ);
	p->host = (struct cred_host){
		.home = in->places->home,
		.config = in->places->config,
		.libexec = in->places->libexec,
		.environ = p->environ.v,
		.project = s->workspace,
	};
}

static void probing_done(struct probing *p)
{
	strv_done(&p->environ);
}

static enum spec_way way_of(const struct config_credential *said)
{
	for (enum spec_way w = 0; said && said->way && w < SPEC_WAY_N; w++)
		if (streq(said->way, spec_way_name(w)))
			return w;
	return SPEC_WAY_PHANTOM;
}

/* The user's own address of a provider, and whom to trust there. */
static int set_origin(struct spec_credential *c, const struct build_input *in,
		      const struct cred_provider *row, const char *found, struct err *err)
{
	const struct config_provider *own =
		config_provider(in->config, row->endpoint ? row->endpoint : row->service);
	const char *path;
	struct host host;
	uint16_t port;
	int r = 0;

	if (own && own->origin) {
		r = origin_split(own->origin, &host, &port, &path, err);
		if (r < 0)
			return err_wrap(err, r, "providers.%s.origin",
					row->endpoint ? row->endpoint : row->service);
		c->origin = xstrdup(own->origin);
		c->private = true;
	} else {
		c->origin = found ? xstrdup(found) : NULL;
	}
	if (own && own->ca_file)
		r = path_real(own->ca_file, &c->ca_file, err);
	if (own && own->token_url)
		strv_pushf(&c->options, "token_url=%s", own->token_url);
	return r < 0 ? err_wrap(err, r, "providers") : 0;
}

static int add_ref(struct sandbox_spec *s, const struct build_input *in, const struct cred_ref *ref,
		   const struct config_credential *said, struct err *err)
{
	const struct cred_provider *row = ref->provider;
	struct spec_credential *c = spec_credential_add(s, ref->name, row->name);
	int r;

	c->way = way_of(said);
	c->source = ref->source ? xstrdup(ref->source) : NULL;
	c->endpoint = row->endpoint ? xstrdup(row->endpoint) : NULL;
	c->phantom = row->phantom ? xstrdup(row->phantom) : NULL;
	c->expires_ms = ref->expires_ms;
	strv_extend(&c->options, &ref->options);
	r = set_origin(c, in, row, ref->origin, err);
	if (r < 0)
		return r;
	cred_requests(ref, c->private, &c->requests);
	if (row->placeholder && c->way == SPEC_WAY_PHANTOM && !spec_env_find(s, row->placeholder))
		spec_env_phantom(s, row->placeholder, SPEC_PHANTOM, ref->name);
	return 0;
}

/*
 * Way env: the keys themselves, as variables of each command. Only what AWS gives: keys that end by
 * themselves, for programs that sign. The sandbox speaks to the provider itself then.
 */
static int add_variables(struct sandbox_spec *s, const struct build_input *in,
			 const struct cred_ref *ref, const struct config_credential *said,
			 char **notice, struct err *err)
{
	const char *domain = strv_env_get(&ref->options, "domain");
	const char *region = strv_env_get(&ref->options, "region");
	int r;

	if (!streq(ref->provider->name, "bedrock") || !domain || !region)
		return err_usage(
			err,
			"credentials: way env is for Bedrock's keys; '%s' is %s, whose way "
			"is phantom",
			ref->name, ref->provider->name);
	r = add_ref(s, in, ref, said, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(bedrock_hosts); i++) {
		cleanup_free char *host = xasprintf("%s.%s", bedrock_hosts[i], domain);

		(void)net_policy_add(&s->net, false, host, "credentials");
	}
	spec_env_set(s, "CLAUDE_CODE_USE_BEDROCK", "1", SPEC_SET, "ralph");
	spec_env_set(s, "AWS_REGION", region, SPEC_SET, "ralph");
	build_notice(notice,
		     "what runs inside has the keys of %s themselves; commands that outlive "
		     "their session fail, and 'aws sso login' with a new command mends it",
		     ref->source);
	return r;
}

/* Finds the login or key of a model provider on this host, or its key at the user's source. A name
 * that is no provider's is a token for rules. */
static enum cred_probe look(const struct probing *p, const char *name, const char *source,
			    struct cred_ref *ret, struct err *err)
{
	cleanup_free char *key = xasprintf("%s-key", name);
	const struct cred_provider *row = cred_provider_find(key);
	enum cred_probe found;

	if (!source) {
		found = cred_probe(&p->host, name, ret, err);
		return found == CRED_MISSING ? cred_named(&p->host, name, NULL, ret, err) : found;
	}
	found = cred_named(&p->host, name, source, ret, err);
	if (found == CRED_FOUND && row) {
		ret->provider = row;
		free(ret->origin);
		ret->origin = row->origin ? xstrdup(row->origin) : NULL;
	}
	return found;
}

/* The file on the host; NULL when nobody has logged in. */
static char *login_path(const struct probing *p, const struct cred_login_file *f)
{
	const char *own = f->variable ? cred_host_env(&p->host, f->variable) : NULL;
	cleanup_free char *dir =
		own && own[0] == '/' ? xstrdup(own) : cred_host_home(&p->host, f->dir);
	cleanup_free char *path = path_join(dir, f->name);
	struct err ignored;
	struct stat st;
	char *real;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || path_real(path, &real, &ignored) < 0)
		return NULL;
	return real;
}

/* When the login in this file ends, for the audit; 0: not known. One that cannot be used is the
 * agent's to renew. */
static uint64_t expiry_of(const struct probing *p, const char *name, const char *path)
{
	cleanup_(cred_ref_done) struct cred_ref ref;
	cleanup_free char *source = xasprintf("file:%s", path);
	struct err ignored = {0};

	cred_ref_init(&ref);
	if (cred_probe(&p->host, name, &ref, &ignored) != CRED_FOUND || !ref.source ||
	    !streq(ref.source, source))
		return 0;
	return ref.expires_ms;
}

/* The host's own file, as it is: asked for by the user, and never the default. */
static int add_file(struct sandbox_spec *s, const struct probing *p, const char *name,
		    enum spec_way way, char **notice, struct err *err)
{
	const struct cred_login_file *f = cred_login_file(name);
	cleanup_free char *path = NULL, *dir = NULL, *target = NULL;
	struct spec_credential *c;

	if (!f)
		return err_usage(err, "credentials: '%s' has no login file: its way is phantom",
				 name);
	path = login_path(p, f);
	if (!path)
		return 0; /* the agent asks its user to log in */
	dir = path_join(s->home, f->dir);
	target = path_join(dir, f->name);
	c = spec_credential_add(s, name, "login-file");
	c->way = way;
	c->expires_ms = expiry_of(p, name, path);
	c->source = xasprintf("file:%s", path);
	strv_pushf(&c->options, "target=%s", target);
	if (way == SPEC_WAY_MOUNT)
		(void)spec_mount_add(s, SPEC_BIND_RW, path, target,
				     "the host's login itself: credentials, way mount");
	else
		(void)spec_mount_add(s, SPEC_LOGIN, path, target,
				     "the host's login, in memory while a command runs: "
				     "credentials, way pipe");
	build_notice(notice,
		     way == SPEC_WAY_MOUNT
			     ? "the sandbox has the login of '%s' itself; what runs inside can "
			       "read it, and a renewal inside ends it on the host"
			     : "each command has the login of '%s' itself while it runs; what runs "
			       "inside can read and keep it, and a renewal inside ends it on the "
			       "host",
		     path);
	return 0;
}

/* The user's own programs send the key to ANTHROPIC_BASE_URL. A sandbox does so only when the
 * settings say it. */
static void note_base_url(const struct build_input *in, const struct probing *p, const char *name,
			  char **notice)
{
	const char *url = cred_host_env(&p->host, "ANTHROPIC_BASE_URL");

	if (url && streq(name, "anthropic") && !in->config->providers.anthropic.origin)
		build_notice(notice,
			     "ANTHROPIC_BASE_URL of your environment is not used; for requests "
			     "to go there set providers.anthropic.origin");
}

static const json_t *given_row(const json_t *rows, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *of = json_string_value(json_object_get(row, "name"));

		if (of && streq(of, name))
			return row;
	}
	return NULL;
}

/*
 * A credential of a task from another machine. Whoever sent it keeps the value and judges each
 * question, so only the way of a phantom makes sense, and no source is taken from there: nothing of
 * this machine is read for it.
 */
static int add_given(struct sandbox_spec *s, const json_t *row, const char *name, struct err *err)
{
	const struct cred_provider *provider;
	const char *of = NULL, *origin = NULL, *ca_file = NULL, *endpoint = NULL, *phantom = NULL;
	struct spec_credential *c;
	int r = json_get_str(row, "provider", &of, err);

	if (r == 0)
		r = json_opt_str(row, "origin", &origin, err);
	if (r == 0)
		r = json_opt_str(row, "ca_file", &ca_file, err);
	if (r == 0)
		r = json_opt_str(row, "endpoint", &endpoint, err);
	if (r == 0)
		r = json_opt_str(row, "phantom", &phantom, err);
	if (r < 0)
		return r;
	provider = cred_provider_find(of);
	if (!provider)
		return err_set(err, EINVAL, "credential '%s': there is no provider '%s'", name, of);
	c = spec_credential_add(s, name, of);
	c->way = SPEC_WAY_PHANTOM;
	c->origin = xstrdup_or_null(origin);
	c->ca_file = xstrdup_or_null(ca_file);
	c->endpoint = xstrdup_or_null(endpoint);
	c->phantom = xstrdup_or_null(phantom);
	c->private = json_is_true(json_object_get(row, "private"));
	r = json_opt_strv(row, "requests", &c->requests, err);
	if (r == 0)
		r = json_opt_strv(row, "options", &c->options, err);
	if (r == 0 && provider->placeholder && !spec_env_find(s, provider->placeholder))
		spec_env_phantom(s, provider->placeholder, SPEC_PHANTOM, name);
	return r;
}

/* A service of the agent's, or a name that a rule or the user's settings use. */
static int add(struct sandbox_spec *s, const struct build_input *in, const struct probing *p,
	       const char *name, char **notice, struct err *err)
{
	const struct config_credential *said = config_credential(in->config, name);
	cleanup_(cred_ref_done) struct cred_ref ref;
	struct err said_of_it = {0};

	cred_ref_init(&ref);
	if (spec_credential_find(s, name) || (said && said->way && streq(said->way, OFF)))
		return 0;
	if (in->cred_line) {
		const json_t *row = given_row(in->credentials, name);

		return row ? add_given(s, row, name, err) : 0;
	}
	if (way_of(said) == SPEC_WAY_ENV && !no_guest(s) && !s->container.image)
		return err_usage(err,
				 "credentials: way env is for engines that take variables with "
				 "each command; engine %s has phantom, mount and pipe",
				 s->engine);
	if (way_of(said) != SPEC_WAY_PHANTOM && no_guest(s) && way_of(said) != SPEC_WAY_ENV)
		return err_usage(err,
				 "credentials: engine %s has the ways phantom and env, and no %s",
				 s->engine, said->way);
	if (way_of(said) != SPEC_WAY_PHANTOM && way_of(said) != SPEC_WAY_ENV)
		return add_file(s, p, name, way_of(said), notice, err);
	switch (look(p, name, said ? said->source : NULL, &ref, &said_of_it)) {
	case CRED_MISSING:
		/* A rule may name what is not there: its requests are refused, and say so. */
		return 0;
	case CRED_FOUND:
		if (ref.warning)
			build_notice(notice, "%s", ref.warning);
		note_base_url(in, p, name, notice);
		return way_of(said) == SPEC_WAY_ENV ? add_variables(s, in, &ref, said, notice, err)
						    : add_ref(s, in, &ref, said, err);
	case CRED_UNUSABLE:
		break;
	}
	return cred_unusable(name, said_of_it.msg, err);
}

/* The services of the agents besides the sandbox's own. A login that cannot be used ends no sandbox
 * in which the others work. */
static int add_others(struct sandbox_spec *s, const struct build_input *in, const struct probing *p,
		      char **notice, struct err *err)
{
	const struct agent *a;
	int r = 0;

	for (size_t i = 0; r == 0 && (a = build_agent_at(s, i)); i++)
		for (const char *const *service = a->services; r == 0 && *service; service++) {
			r = add(s, in, p, *service, notice, err);
			if (r != -EKEYREJECTED)
				continue;
			build_notice(notice, "%s has no login here: %s", a->title, err->msg);
			*err = (struct err){0};
			r = 0;
		}
	return r;
}

/* Those that home's own sandbox would have: settings there name them, which are not here. */
static int add_rows(struct sandbox_spec *s, const struct build_input *in, const struct probing *p,
		    char **notice, struct err *err)
{
	const json_t *row;
	size_t i;
	int r = 0;

	if (!in->cred_line || in->review)
		return 0;
	json_array_foreach (in->credentials, i, row) {
		const char *name = NULL;

		r = r < 0 ? r : json_get_str(row, "name", &name, err);
		r = r < 0 ? r : add(s, in, p, name, notice, err);
	}
	return r;
}

int build_cred(struct sandbox_spec *s, const struct build_input *in, const struct agent *a,
	       char **notice, struct err *err)
{
	const struct config *c = in->config;
	cleanup_(probing_done) struct probing p;
	int r = 0;

	s->cred_line = xstrdup_or_null(in->cred_line);
	probing_init(&p, s, in);
	for (const char *const *service = a->services; r == 0 && *service; service++)
		r = add(s, in, &p, *service, notice, err);
	if (r == 0)
		r = add_others(s, in, &p, notice, err);
	for (size_t i = 0; r == 0 && i < c->n_credentials; i++)
		r = add(s, in, &p, c->credentials[i].name, notice, err);
	for (size_t i = 0; r == 0 && i < c->network.n_rules; i++)
		if (c->network.rules[i].credential)
			r = add(s, in, &p, c->network.rules[i].credential, notice, err);
	return r < 0 ? r : add_rows(s, in, &p, notice, err);
}
