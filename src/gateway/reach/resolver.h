#pragma once

#include "gateway/gateway-limits.h"
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

/* The helper process: serves sock until its end, then exits. */
_Noreturn void resolver_main(int sock);
