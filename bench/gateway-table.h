#pragma once

#include "gateway-bench.h"

/* Samples of all turns, and how they are printed. */
#define MAX_ROUNDS 64
#define MAX_TURNS 8 /* of a round */
#define MAX_SAMPLES_KEPT (MAX_ROUNDS * MAX_TURNS)
#define MAX_WAYS 8
#define MAX_METRICS 6

enum scene_id { BULK, TUNNELS, REQUESTS, LATENCY, SSE, SCENES };

struct metric {
	const char *name;
	double (*of)(const struct result *r);
};

struct scene {
	const char *title;
	size_t turns; /* of each way in one round: a slow moment of the machine meets all alike */
	const struct way *ways[MAX_WAYS];
	struct metric metrics[MAX_METRICS];
	double v[MAX_WAYS][MAX_METRICS][MAX_SAMPLES_KEPT];
};

/* mine / theirs, turn by turn; the median counts. */
struct bar {
	const char *name;
	enum scene_id scene;
	size_t metric;
	const struct way *mine, *theirs;
	bool added;	/* what each adds to the direct way, which is the scene's first */
	const char *op; /* ">=" or "<="; NULL: shown, no bar */
	double limit;
};

struct memory {
	double idle_rss_kb, idle_pss_kb, tls_rss_kb, tls_pss_kb; /* PSS with the helper's */
	double held_kb, nginx_held_kb;				 /* per connection */
	double slow_first_kb, slow_most_kb, slow_tunnel_growth_kb;
};

void scene_keep(struct scene *s, size_t way, size_t sample, const struct result *r);
void scene_print(const struct scene *s, size_t rounds);
/* Each returns how many bars were missed. */
size_t bars_print(const struct bar *b, size_t n, const struct scene *scenes, size_t rounds);
size_t stalls_print(const struct scene *s, size_t metric, size_t rounds);
size_t memory_print(const struct memory *m);
void json_write(const char *path, const struct bar *b, size_t n, const struct scene *scenes,
		size_t rounds, const struct memory *m);
