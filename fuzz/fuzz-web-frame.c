#include "fuzz.h"

#include "web/frames.h"

/* Any bytes as the body of a frame: nothing is read outside. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_msg m;
	struct web_answer answer;
	struct web_ask ask;

	wire_msg_init(&m);
	buf_init(&m.body, WIRE_BODY_MAX);
	if (buf_append(&m.body, data, size) == 0) {
		m.type = (enum wire_type)(unsigned)WEB_ASK;
		(void)web_get_ask(&m, &ask);
		m.type = (enum wire_type)(unsigned)WEB_ANSWER;
		(void)web_get_answer(&m, &answer);
	}
	wire_msg_done(&m);
	return 0;
}
