#include "gateway/exchange/given.h"

#include "base/text/needles.h"

struct set {
	const char *credential;
	struct strv secrets;
	uint64_t turn; /* the newest has the largest */
};

/* The user names the credentials; of each there are GIVEN_TURNS at most. */
struct given {
	struct set *v;
	size_t n;
	uint64_t turn;
};

/* The place for another set of the credential: that of its oldest if it has its share. */
static struct set *place_for(struct given *g, const char *credential)
{
	struct set *oldest = NULL;
	size_t own = 0;

	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i].credential != credential)
			continue;
		own++;
		if (!oldest || g->v[i].turn < oldest->turn)
			oldest = &g->v[i];
	}
	if (own >= GIVEN_TURNS)
		return oldest;
	g->v = xrealloc(g->v, g->n + 1, sizeof(*g->v));
	g->v[g->n] = (struct set){.credential = credential};
	return &g->v[g->n++];
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
	struct set *set;

	if (!g)
		g = gw->given = xcalloc(1, sizeof(*g));
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].credential == credential && strv_same(&g->v[i].secrets, secrets)) {
			g->v[i].turn = ++g->turn;
			return;
		}
	set = place_for(g, credential);
	set->turn = ++g->turn;
	strv_done(&set->secrets);
	strv_extend(&set->secrets, secrets);
	(void)needles_unref(gw->secrets);
	gw->secrets = needles_of(g);
}
