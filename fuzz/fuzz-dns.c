#include "fuzz.h"

#include "edge/parse/dns.h"

#include <stdlib.h>

/* A query that parses gets an answer with its own id and question; none overruns its room. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct in_addr a4[20];
	static const struct in6_addr a6[20];
	const struct dns_answer a = {.ttl = 1, .a4 = a4, .n_a4 = 20, .a6 = a6, .n_a6 = 20};
	struct dns_query q;
	struct slice msg;
	uint8_t *out;
	size_t cap, n;
	int r;

	(void)dns_tcp_frame(data, size, &msg);
	r = dns_parse_query(data, size, &q);
	cap = r < 0 ? 32 : dns_udp_limit(&q);
	out = malloc(cap);
	if (!out)
		return 0;
	if (r < 0)
		n = dns_put_refusal(out, cap, data, size, r);
	else
		n = dns_put_answer(out, cap, &q, &a);
	if (n > cap || (r == 0 && n == 0) || (n > 0 && memcmp(out, data, 2) != 0))
		abort();
	if (r == 0 && (strlen(q.name) != q.name_len ||
		       memcmp(out + DNS_HEADER, q.question, q.question_len) != 0))
		abort();
	free(out);
	return 0;
}
