#include "web/web-session.h"

#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/mem.h"

#define MINUTE_MS 60000

static void hash(const char *half, uint8_t ret[SESSION_HASH_LEN])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)half, strlen(half));
	SHA256Final(ret, &ctx);
}

static bool same(const uint8_t a[SESSION_HASH_LEN], const uint8_t b[SESSION_HASH_LEN])
{
	uint8_t differ = 0;

	for (size_t i = 0; i < SESSION_HASH_LEN; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

static int make_half(char ret[REQUEST_HALF_LEN + 1])
{
	uint8_t bytes[REQUEST_HALF_LEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int sessions_link(struct sessions *s, enum web_level level, uint64_t now,
		  char key[REQUEST_HALF_LEN + 1])
{
	struct session_link *l = &s->links[0];
	int r = make_half(key);

	if (r < 0)
		return r;
	for (size_t i = 1; i < LINKS_MAX; i++)
		if (s->links[i].until_ms < l->until_ms)
			l = &s->links[i];
	*l = (struct session_link){.level = level < s->most ? level : s->most,
				   .until_ms = now + LINK_MS};
	hash(key, l->key);
	return 0;
}

/* True: less than n of the ring's times are within the last minute; the time is kept. */
static bool rate(uint64_t *ring, size_t n, size_t *next, uint64_t now)
{
	uint64_t oldest = ring[*next];

	if (oldest && now - oldest < MINUTE_MS)
		return false;
	ring[*next] = now ? now : 1;
	*next = (*next + 1) % n;
	return true;
}

static bool is_valid(const struct session *s, uint64_t now)
{
	return s->id[0] && now - s->seen_ms < SESSION_IDLE_MS &&
	       now - s->since_ms < SESSION_LIFE_MS;
}

static struct session *free_place(struct sessions *s, uint64_t now)
{
	struct session *oldest = &s->v[0];

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		if (!is_valid(&s->v[i], now))
			return &s->v[i];
		if (s->v[i].seen_ms < oldest->seen_ms)
			oldest = &s->v[i];
	}
	return oldest;
}

unsigned sessions_login(struct sessions *s, const char *link, uint64_t now,
			char cookie[REQUEST_HALF_LEN + 1], char key[REQUEST_HALF_LEN + 1],
			const struct session **ret)
{
	struct session_link *found = NULL;
	uint8_t given[SESSION_HASH_LEN];
	struct session *n;

	if (!rate(s->logins_ms, ARRAY_SIZE(s->logins_ms), &s->next_login, now))
		return 429;
	hash(link, given);
	for (size_t i = 0; i < LINKS_MAX; i++)
		if (s->links[i].until_ms > now && same(s->links[i].key, given))
			found = &s->links[i];
	if (!found)
		return 403;
	if (make_half(cookie) < 0 || make_half(key) < 0)
		return 500;
	n = free_place(s, now);
	*n = (struct session){.level = found->level,
			      .since_ms = now,
			      .seen_ms = now,
			      .since_s = (int64_t)time(NULL)};
	*found = (struct session_link){0};
	hash(cookie, n->cookie);
	hash(key, n->key);
	for (size_t i = 0; i < SESSION_ID_LEN / 2; i++)
		(void)snprintf(n->id + 2 * i, 3, "%02x", n->cookie[i]);
	*ret = n;
	return 200;
}

struct session *sessions_check(struct sessions *s, const char *cookie, const char *key,
			       uint64_t now)
{
	uint8_t c[SESSION_HASH_LEN], k[SESSION_HASH_LEN];

	hash(cookie, c);
	hash(key, k);
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (is_valid(&s->v[i], now) && same(s->v[i].cookie, c) && same(s->v[i].key, k)) {
			s->v[i].seen_ms = now;
			return &s->v[i];
		}
	return NULL;
}

bool session_may_act(struct session *s, uint64_t now)
{
	return rate(s->acts_ms, ARRAY_SIZE(s->acts_ms), &s->next_act, now);
}

bool session_new_nonce(struct session *s, const char *nonce)
{
	for (size_t i = 0; i < NONCES_MAX; i++)
		if (streq(s->nonces[i], nonce))
			return false;
	(void)snprintf(s->nonces[s->next_nonce], NONCE_MAX + 1, "%s", nonce);
	s->next_nonce = (s->next_nonce + 1) % NONCES_MAX;
	return true;
}

bool sessions_end(struct sessions *s, const char *id)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (s->v[i].id[0] && streq(s->v[i].id, id)) {
			explicit_bzero(&s->v[i], sizeof(s->v[i]));
			return true;
		}
	return false;
}

uint64_t sessions_valid(const struct sessions *s, uint64_t now, char ids[][SESSION_ID_LEN + 1])
{
	uint64_t first = 0;

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		const struct session *v = &s->v[i];
		uint64_t idle = v->seen_ms + SESSION_IDLE_MS, old = v->since_ms + SESSION_LIFE_MS,
			 end = idle < old ? idle : old;

		ids[i][0] = '\0';
		if (!is_valid(v, now))
			continue;
		memcpy(ids[i], v->id, sizeof(v->id));
		first = first && first < end ? first : end;
	}
	return first;
}

json_t *sessions_json(const struct sessions *s, const struct session *own, uint64_t now)
{
	json_t *a = json_array();

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		const struct session *v = &s->v[i];

		if (is_valid(v, now))
			(void)json_array_append_new(
				a, json_pack("{ss ss sI sI sb}", "id", v->id, "level",
					     level_name(v->level), "since", (json_int_t)v->since_s,
					     "idle", (json_int_t)((now - v->seen_ms) / 1000), "own",
					     v == own));
	}
	return a;
}
