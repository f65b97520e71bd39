/* What was measured, one JSON object a line; every text in it is one of our own. */
#include "bench.h"

#include <math.h>
#include <stdio.h>

void emit_sample(const char *scene, const char *way, size_t turn, double x, const struct result *r)
{
	(void)printf("{\"scene\": \"%s\", \"way\": \"%s\", \"turn\": %zu, \"x\": %g, "
		     "\"seconds\": %.9g, \"ops\": %.9g, \"bytes\": %.12g, \"cpu_s\": %.9g, "
		     "\"stalls\": %u",
		     scene, way, turn, x, r->seconds, r->ops, r->bytes, r->cpu_s, r->stalls);
	if (r->ops > 0 && !isnan(r->p50_us))
		(void)printf(", \"p50_us\": %.6g, \"p99_us\": %.6g, \"max_us\": %.6g", r->p50_us,
			     r->p99_us, r->max_us);
	(void)printf("}\n");
	(void)fflush(stdout);
}

void emit_value(const char *name, double v)
{
	(void)printf("{\"value\": \"%s\", \"is\": %.6g}\n", name, v);
	(void)fflush(stdout);
}

void emit_absent(const char *way, const char *why)
{
	(void)printf("{\"absent\": \"%s\", \"why\": \"%s\"}\n", way, why);
	(void)fflush(stdout);
}
