/* Which runsc there is, and whether it does what is needed. */
#include "engine/gvisor/gvisor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/find-program.h"
#include "engine/probe-host.h"
#include "spec/host-env.h"

#define PROBE_MS 30000 /* a busy machine takes seconds to start it */
#define CHOICE "RALPH_RUNSC"

static const char install[] =
	"install it (Debian 13: sudo apt install runsc; others: see gvisor.dev), or name one with "
	"RALPH_RUNSC=/path/to/runsc";

int gvisor_find(const char *workspace, char **ret, struct err *err)
{
	const char *named = getenv(CHOICE), *path = getenv("PATH");
	cleanup_free char *outside = NULL;
	int r;

	if (named && named[0] != '/')
		return err_usage(err, CHOICE " is '%s'; it must be the absolute path of runsc",
				 named);
	/* An agent may have left a program called runsc in the project. */
	outside = host_path_outside(&workspace, workspace != NULL, path ? path : "");
	*ret = named ? xstrdup(named) : path_find_program("runsc", outside);
	if (*ret)
		return 0;
	r = err_set(err, ENOENT, "engine gvisor: there is no runsc on PATH; %s", install);
	err->exit_code = EXIT_RALPH;
	return r;
}

int gvisor_ask(struct sandbox_spec *spec, struct err *err)
{
	struct stat st;
	int r = gvisor_find(spec->workspace, &spec->kernel.program, err);

	if (r < 0)
		return r;
	if (stat(spec->kernel.program, &st) < 0) {
		r = err_sys(err, errno, "engine gvisor: '%s'", spec->kernel.program);
		err->exit_code = EXIT_RALPH;
		return r;
	}
	/* Another file is another kernel, whatever it calls itself. */
	spec->kernel.version =
		xasprintf("runsc %llu:%llu %lld.%09ld %lld", (unsigned long long)st.st_dev,
			  (unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec,
			  st.st_mtim.tv_nsec, (long long)st.st_size);
	return 0;
}

static int explain(int r, struct err *err)
{
	if (r == 0)
		return 0;
	err->exit_code = EXIT_RALPH;
	if (strstr(err->msg, "pass-fd"))
		return err_hint(err, r, "this runsc is too old; %s", install);
	return err_hint(err, r, "run: ralph doctor");
}

/* Starts one, and nothing else: versions say less than what a program does. */
int gvisor_probe(struct err *err)
{
	cleanup_free char *program = NULL;
	int r = host_native_usable(err);

	if (r == 0)
		r = gvisor_find(NULL, &program, err);
	if (r < 0)
		return r;
	r = host_inside_try(GUEST_INSIDE_GVISOR, program, PROBE_MS, err);
	if (r < 0)
		(void)err_wrap(err, r, "engine gvisor: %s", program);
	return explain(r, err);
}

int gvisor_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err)
{
	static const char use[] = "--engine gvisor: a kernel in user space inside the same walls";
	cleanup_free char *program = NULL;
	struct err said = {0};
	int r = gvisor_find(NULL, &program, &said);

	if (r < 0) {
		doctor_rows_add(ret, "gVisor", DOCTOR_MISSING, use, install, "no runsc on PATH");
		return 0;
	}
	r = explain(host_inside_try(GUEST_INSIDE_GVISOR, program, PROBE_MS, &said), &said);
	*ret_usable = r == 0;
	if (r == 0)
		doctor_rows_add(ret, "gVisor", DOCTOR_OK, use, NULL, "%s starts", program);
	else
		doctor_rows_add(ret, "gVisor", DOCTOR_LIMITED, use,
				strstr(said.msg, "pass-fd") ? install : NULL, "%s: %s", program,
				said.msg);
	return 0;
}
