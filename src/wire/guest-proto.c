#include "wire/guest-proto.h"

#include <string.h>
#include <sys/socket.h>

#define SETUP_VERSION 2
#define RESOURCE_MAX 15 /* RLIMIT_RTTIME, the last the kernel has */

void guest_setup_put(struct buf *b, const struct guest_setup *s)
{
	wire_put_u32(b, SETUP_VERSION);
	wire_put_str(b, s->hostname);
	wire_put_u32(b, s->routes);
	wire_put_u32(b, s->landlock);
	wire_put_u32(b, s->oom_score_adj);
	wire_put_u32(b, (uint32_t)s->n_listeners);
	for (size_t i = 0; i < s->n_listeners; i++) {
		const struct guest_listener *l = &s->listeners[i];

		wire_put_u32(b, (uint32_t)l->family);
		wire_put_u32(b, l->udp);
		wire_put_bytes(b, l->addr, sizeof(l->addr));
		wire_put_u32(b, l->port);
		wire_put_u32(b, l->backlog);
	}
	wire_put_u32(b, (uint32_t)s->n_rules);
	for (size_t i = 0; i < s->n_rules; i++) {
		wire_put_u32(b, s->rules[i].access);
		wire_put_str(b, s->rules[i].path);
	}
	wire_put_u32(b, (uint32_t)s->n_rlimits);
	for (size_t i = 0; i < s->n_rlimits; i++) {
		wire_put_u32(b, s->rlimits[i].resource);
		wire_put_u64(b, s->rlimits[i].soft);
		wire_put_u64(b, s->rlimits[i].hard);
	}
	wire_put_u32(b, (uint32_t)s->n_logins);
	for (size_t i = 0; i < s->n_logins; i++)
		wire_put_str(b, s->logins[i]);
}

/* A number that must be at most max; a larger one spoils the whole body. */
static uint32_t get_upto(struct wire_reader *r, uint32_t max)
{
	uint32_t v = wire_get_u32(r);

	if (v > max)
		r->bad = true;
	return r->bad ? 0 : v;
}

static void get_listener(struct wire_reader *r, struct guest_listener *l)
{
	const char *addr;
	size_t n;

	l->family = (int)get_upto(r, AF_INET6);
	l->udp = get_upto(r, 1);
	addr = wire_get_bytes(r, &n);
	if (n == sizeof(l->addr))
		memcpy(l->addr, addr, n);
	else
		r->bad = true;
	l->port = (uint16_t)get_upto(r, UINT16_MAX);
	l->backlog = get_upto(r, INT32_MAX);
	if (l->family != AF_INET && l->family != AF_INET6)
		r->bad = true;
}

static void get_lists(struct wire_reader *r, struct guest_setup *s)
{
	s->n_listeners = get_upto(r, GUEST_LISTENERS_MAX);
	s->listeners = xcalloc(s->n_listeners, sizeof(*s->listeners));
	for (size_t i = 0; i < s->n_listeners; i++)
		get_listener(r, &s->listeners[i]);
	s->n_rules = get_upto(r, GUEST_RULES_MAX);
	s->rules = xcalloc(s->n_rules, sizeof(*s->rules));
	for (size_t i = 0; i < s->n_rules; i++) {
		s->rules[i].access = get_upto(r, GUEST_ACCESS_N - 1);
		s->rules[i].path = wire_get_str(r);
	}
	s->n_rlimits = get_upto(r, GUEST_RLIMITS_MAX);
	s->rlimits = xcalloc(s->n_rlimits, sizeof(*s->rlimits));
	for (size_t i = 0; i < s->n_rlimits; i++) {
		s->rlimits[i].resource = get_upto(r, RESOURCE_MAX);
		s->rlimits[i].soft = wire_get_u64(r);
		s->rlimits[i].hard = wire_get_u64(r);
	}
	s->n_logins = get_upto(r, GUEST_LOGINS_MAX);
	for (size_t i = 0; i < s->n_logins; i++)
		s->logins[i] = wire_get_str(r);
}

static int not_absolute(const char *path, struct err *err)
{
	return err_set(err, EINVAL, "'%s' is not an absolute path", path);
}

int guest_setup_get(const struct wire_msg *m, struct guest_setup *ret, struct err *err)
{
	cleanup_guest_setup struct guest_setup s = {0};
	struct wire_reader r;

	wire_read(&r, m);
	if (wire_get_u32(&r) != SETUP_VERSION)
		return err_set(err, EPROTO,
			       "the guest and the supervisor are of different versions");
	s.hostname = wire_get_str(&r);
	s.routes = get_upto(&r, 1);
	s.landlock = get_upto(&r, GUEST_LANDLOCK_N - 1);
	s.oom_score_adj = get_upto(&r, 1000);
	get_lists(&r, &s);
	if (wire_read_end(&r) < 0)
		return err_set(err, EPROTO, "the set-up of the sandbox is malformed");
	for (size_t i = 0; i < s.n_rules; i++)
		if (s.rules[i].path[0] != '/')
			return not_absolute(s.rules[i].path, err);
	for (size_t i = 0; i < s.n_logins; i++)
		if (s.logins[i][0] != '/')
			return not_absolute(s.logins[i], err);
	*ret = s;
	s = (struct guest_setup){0};
	return 0;
}

void guest_setup_done(struct guest_setup *s)
{
	free(s->listeners);
	free(s->rules);
	free(s->rlimits);
	*s = (struct guest_setup){0};
}
