#include "cli/same-workspace.h"

#include "base/json/json.h"
#include "base/log.h"
#include "live/live.h"
#include "record/record.h"

void same_workspace_tell(const struct places *p, const struct sandbox_spec *spec)
{
	cleanup_strv struct strv others = {0};
	cleanup_json json_t *live = NULL;
	struct err ignored;

	(void)record_same_workspace(p, spec->name, spec->workspace, &others, &ignored);
	for (size_t i = 0; i < others.n; i++)
		log_warn("run",
			 "sandbox '%s' is live in the same workspace: both write the same files",
			 others.v[i]);
	if (live_inspect(p, spec->name, &live, &ignored) == 0 && live &&
	    json_integer_value(json_object_get(live, "commands")) > 0)
		log_warn("run",
			 "sandbox '%s' is at work in this workspace already: both write the same "
			 "files",
			 spec->name);
}
