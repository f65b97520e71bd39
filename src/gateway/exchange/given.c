#include "gateway/exchange/given.h"

#include "base/text/needles.h"

struct given {
	struct {
		const char *credential;
		struct strv secrets;
		uint64_t turn; /* the newest has the largest */
	} v[GIVEN_MAX];
	size_t n;
	uint64_t turn;
};

/* The place for another set: of the credential's own ones if it has its share, else any. */
static size_t place_for(struct given *g, const char *credential)
{
	size_t own = 0, oldest = 0, oldest_own = GIVEN_MAX;

	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i].turn < g->v[oldest].turn)
			oldest = i;
		if (g->v[i].credential != credential)
			continue;
		own++;
		if (oldest_own == GIVEN_MAX || g->v[i].turn < g->v[oldest_own].turn)
			oldest_own = i;
	}
	if (own >= GIVEN_TURNS)
		return oldest_own;
	return g->n < GIVEN_MAX ? g->n++ : oldest;
}

static struct needles *needles_of(const struct given *g)
{
	cleanup_free const char **texts = NULL;
	size_t n = 0, all = 0;

	for (size_t i = 0; i < g->n; i++)
		all += g->v[i].secrets.n;
	texts = xcalloc(all + 1, sizeof(*texts));
	for (size_t i = 0; i < g->n; i++)
		for (size_t k = 0; k < g->v[i].secrets.n; k++)
			texts[n++] = g->v[i].secrets.v[k];
	return needles_new(texts, n);
}

void given_add(struct gw *gw, const char *credential, const struct strv *secrets)
{
	struct given *g = gw->given;
	size_t at;

	if (!g)
		g = gw->given = xcalloc(1, sizeof(*g));
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].credential == credential && strv_same(&g->v[i].secrets, secrets)) {
			g->v[i].turn = ++g->turn;
			return;
		}
	at = place_for(g, credential);
	strv_done(&g->v[at].secrets);
	g->v[at].credential = credential;
	g->v[at].turn = ++g->turn;
	for (size_t i = 0; i < secrets->n; i++)
		strv_push(&g->v[at].secrets, secrets->v[i]);
	(void)needles_unref(gw->secrets);
	gw->secrets = needles_of(g);
}
