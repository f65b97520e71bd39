#pragma once

#include "flow/gateway-limits.h"
#include "policy/addr.h"

#include <stdint.h>

/*
 * The question and the answer are one packet each, between the gateway and its helper and between
 * the helper and a worker.
 */
struct resolver_ask {
	uint32_t id, timeout_ms;
	char name[256];
};

struct resolver_answer {
	uint32_t id;
	int32_t error; /* EAI_… or 0 */
	uint32_t n;
	struct ip addrs[ADDRS_MAX];
};

/* Gives up the helper's rights; a worker adds to that. 0 or -errno. */
int resolver_isolate(int sock);
/* The helper process: serves sock until its end, then exits. */
_Noreturn void resolver_main(int sock);
