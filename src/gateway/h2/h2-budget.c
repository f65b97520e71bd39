/*
 * Frames that carry no request and no answer cost the gateway work and the peer nothing. Each
 * connection has a budget for them, which time refills, and so does each frame with content that was
 * sent: a reader answers those with windows. When the budget is used up, the connection is closed.
 */
#include "gateway/h2/h2.h"

#define CONTINUATION_COST 32 /* a head has two of them at most: it has 64 KiB */
#define CONTENT_EARNS 4

static bool take(struct h2_bucket *b, uint64_t now, uint32_t burst, uint32_t per_s, uint32_t cost)
{
	uint64_t earned = b->at ? (now - b->at) * per_s / 1000 : burst;

	if (earned) {
		b->tokens = earned + b->tokens > burst ? burst : (uint32_t)(b->tokens + earned);
		b->at = now;
	}
	if (b->tokens < cost)
		return false;
	b->tokens -= cost;
	return true;
}

static uint32_t cost_of(const nghttp2_frame_hd *hd)
{
	switch (hd->type) {
	case NGHTTP2_DATA:
		return hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM) ? 1 : 0;
	case NGHTTP2_HEADERS:
		return hd->length == 0 ? 1 : 0;
	case NGHTTP2_CONTINUATION:
		return CONTINUATION_COST;
	default:
		return 1;
	}
}

bool h2_spend(struct h2 *h, const nghttp2_frame_hd *hd)
{
	uint64_t now = ev_now(h->gw->ev);
	uint32_t cost = cost_of(hd);

	if (hd->type == NGHTTP2_RST_STREAM &&
	    !take(&h->resets, now, H2_RESETS_BURST, H2_RESETS_PER_S, 1)) {
		h->flood = "the peer resets too many streams of HTTP/2";
		return false;
	}
	if (cost && !take(&h->control, now, H2_CONTROL_BURST, H2_CONTROL_PER_S, cost)) {
		h->flood = "the peer sends too many control frames of HTTP/2";
		return false;
	}
	return true;
}

void h2_earn(struct h2 *h)
{
	if (h->control.tokens + CONTENT_EARNS <= H2_CONTROL_BURST)
		h->control.tokens += CONTENT_EARNS;
}
