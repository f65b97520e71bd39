#include "gateway-table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB 1024.0 /* KiB */

struct spread {
	double median, low, high; /* low and high: the tenth and the ninetieth of a hundred */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct spread spread_of(const double *v, size_t n)
{
	double sorted[MAX_SAMPLES_KEPT];

	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*v), by_value);
	return (struct spread){n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2,
			       sorted[n / 10], sorted[(n - 1) - n / 10]};
}

void scene_keep(struct scene *s, size_t way, size_t sample, const struct result *r)
{
	for (size_t m = 0; m < MAX_METRICS && s->metrics[m].name; m++)
		s->v[way][m][sample] = s->metrics[m].of(r);
}

void scene_print(const struct scene *s, size_t rounds)
{
	(void)printf("%s\n  %-22s", s->title, "");
	for (size_t m = 0; m < MAX_METRICS && s->metrics[m].name; m++)
		(void)printf(" %12s %-17s", s->metrics[m].name, "");
	(void)printf("\n");
	for (size_t i = 0; s->ways[i]; i++) {
		(void)printf("  %-22s", s->ways[i]->name);
		for (size_t m = 0; m < MAX_METRICS && s->metrics[m].name; m++) {
			struct spread x = spread_of(s->v[i][m], rounds * s->turns);
			char text[48];

			(void)snprintf(text, sizeof(text), "(%.4g-%.4g)", x.low, x.high);
			(void)printf(" %12.5g %-17s", x.median, text);
		}
		(void)printf("\n");
	}
	(void)printf("\n");
}

static size_t way_at(const struct scene *s, const struct way *w)
{
	size_t i = 0;

	while (s->ways[i] && s->ways[i] != w)
		i++;
	return i;
}

static struct spread ratio(const struct bar *b, const struct scene *scenes, size_t rounds)
{
	const struct scene *s = &scenes[b->scene];
	size_t mine = way_at(s, b->mine), theirs = way_at(s, b->theirs);
	double v[MAX_SAMPLES_KEPT];

	for (size_t i = 0; i < rounds * s->turns; i++) {
		double base = b->added ? s->v[0][b->metric][i] : 0;

		v[i] = (s->v[mine][b->metric][i] - base) / (s->v[theirs][b->metric][i] - base);
	}
	return spread_of(v, rounds * s->turns);
}

static bool holds(double v, const char *op, double limit)
{
	return op[0] == '<' ? v <= limit : v >= limit;
}

/* 1 when it was missed. */
static size_t verdict(const char *name, double v, const char *unit, const char *between,
		      const char *op, double limit)
{
	bool ok = !op || holds(v, op, limit);

	(void)printf("  %-48s %8.3g %-4s %-16s", name, v, unit, between);
	if (op)
		(void)printf(" %s %-5g %s", op, limit, ok ? "holds" : "MISSED");
	(void)printf("\n");
	return !ok;
}

size_t bars_print(const struct bar *b, size_t n, const struct scene *scenes, size_t rounds)
{
	size_t missed = 0;

	(void)printf("against the bars: gateway / other, median of the turns' ratios\n");
	for (size_t i = 0; i < n; i++) {
		struct spread x = ratio(&b[i], scenes, rounds);
		char between[48];

		(void)snprintf(between, sizeof(between), "(%.3g-%.3g)", x.low, x.high);
		missed += verdict(b[i].name, x.median, "x", between, b[i].op, b[i].limit);
	}
	return missed;
}

static double total(const struct scene *s, size_t way, size_t metric, size_t rounds)
{
	double sum = 0;

	for (size_t i = 0; i < rounds * s->turns; i++)
		sum += s->v[way][metric][i];
	return sum;
}

/* A machine that stands still stops every way alike: what the worst of the others had is not ours.
 */
size_t stalls_print(const struct scene *s, size_t metric, size_t rounds)
{
	double mine = 0, machine = 0;
	char text[48];

	for (size_t i = 0; s->ways[i]; i++) {
		double *of = strncmp(s->ways[i]->name, "gateway", 7) == 0 ? &mine : &machine;
		double n = total(s, i, metric, rounds);

		*of = n > *of ? n : *of;
	}
	(void)snprintf(text, sizeof(text), "(others: %g)", machine);
	return verdict("tunnels that took 40 ms, beyond others", mine > machine ? mine : 0, "",
		       text, "<=", 0);
}

size_t memory_print(const struct memory *m)
{
	size_t missed = 0;

	missed += verdict("memory, idle, RSS", m->idle_rss_kb / MB, "MiB", "", NULL, 0);
	missed += verdict("memory, idle, PSS with its resolver", m->idle_pss_kb / MB, "MiB", "",
			  NULL, 0);
	missed += verdict("memory, TLS in use, RSS", m->tls_rss_kb / MB, "MiB", "", "<=", 10);
	missed += verdict("memory, TLS in use, PSS with its resolver", m->tls_pss_kb / MB, "MiB",
			  "", NULL, 0);
	missed += verdict("memory per held TLS connection, 1000 held", m->held_kb, "KiB", "",
			  "<=", 60);
	missed += verdict("  the same of nginx", m->nginx_held_kb, "KiB", "", NULL, 0);
	missed += verdict("memory, five slow readers, most RSS", m->slow_most_kb / MB, "MiB", "",
			  "<=", 12);
	missed += verdict("  growth once their buffers are full",
			  (m->slow_most_kb - m->slow_first_kb) / MB, "MiB", "", "<=", 0.5);
	missed += verdict("  growth, the same through tunnels", m->slow_tunnel_growth_kb / MB,
			  "MiB", "", "<=", 0.5);
	return missed;
}

static void json_scene(FILE *f, const struct scene *s, size_t rounds, const char *comma)
{
	(void)fprintf(f, "    {\"title\": \"%s\", \"ways\": [\n", s->title);
	for (size_t i = 0; s->ways[i]; i++) {
		(void)fprintf(f, "      {\"way\": \"%s\"", s->ways[i]->name);
		for (size_t m = 0; m < MAX_METRICS && s->metrics[m].name; m++) {
			struct spread x = spread_of(s->v[i][m], rounds * s->turns);

			(void)fprintf(f, ", \"%s\": [%.6g, %.6g, %.6g]", s->metrics[m].name,
				      x.median, x.low, x.high);
		}
		(void)fprintf(f, "}%s\n", s->ways[i + 1] ? "," : "");
	}
	(void)fprintf(f, "    ]}%s\n", comma);
}

void json_write(const char *path, const struct bar *b, size_t n, const struct scene *scenes,
		size_t rounds, const struct memory *m)
{
	FILE *f = fopen(path, "we");

	if (!f)
		die(path, strerror(errno));
	(void)fprintf(f, "{\n  \"rounds\": %zu,\n  \"scenes\": [\n", rounds);
	for (size_t s = 0; s < SCENES; s++)
		json_scene(f, &scenes[s], rounds, s + 1 < SCENES ? "," : "");
	(void)fprintf(f, "  ],\n  \"ratios\": [\n");
	for (size_t i = 0; i < n; i++) {
		struct spread x = ratio(&b[i], scenes, rounds);

		(void)fprintf(
			f, "    {\"name\": \"%s\", \"median\": %.6g, \"low\": %.6g, \"high\": %.6g",
			b[i].name, x.median, x.low, x.high);
		if (b[i].op)
			(void)fprintf(f, ", \"bar\": \"%s %g\", \"holds\": %s", b[i].op, b[i].limit,
				      holds(x.median, b[i].op, b[i].limit) ? "true" : "false");
		(void)fprintf(f, "}%s\n", i + 1 < n ? "," : "");
	}
	(void)fprintf(
		f,
		"  ],\n  \"memory_kib\": {\"idle_rss\": %g, \"idle_pss\": %g, \"tls_rss\": %g, "
		"\"tls_pss\": %g, \"per_connection\": %g, \"nginx_per_connection\": %g, "
		"\"slow_readers_rss\": %g, \"slow_readers_growth\": %g}\n}\n",
		m->idle_rss_kb, m->idle_pss_kb, m->tls_rss_kb, m->tls_pss_kb, m->held_kb,
		m->nginx_held_kb, m->slow_most_kb, m->slow_most_kb - m->slow_first_kb);
	if (fclose(f) != 0)
		die(path, strerror(errno));
}
