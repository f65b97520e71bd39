#include "engine/native/native.h"

#include <string.h>

#include "base/landlock.h"
#include "engine/probe-host.h"

static int see_userns(struct doctor_rows *d, bool *usable, struct err *err)
{
	struct host_userns u;
	int r = host_userns(&u, err);

	if (r < 0)
		return r;
	if (u.usable)
		doctor_rows_add(d, "user namespaces", DOCTOR_OK, "the native engine's walls", NULL,
				"%s", u.failed ? "bwrap may make them" : "can be made");
	else
		doctor_rows_add(d, "user namespaces", DOCTOR_MISSING,
				"the native engine needs them", host_userns_remedy(&u),
				"refused: %s", strerror(u.failed));
	*usable = u.usable;
	return 0;
}

static int see_bwrap(struct doctor_rows *d, bool *usable, struct err *err)
{
	cleanup_(host_bwrap_done) struct host_bwrap b = {0};
	static const char use[] = "sets up the native sandbox";
	int r = host_bwrap(&b, err);

	if (r < 0)
		return r;
	if (!b.path)
		doctor_rows_add(d, "bwrap", DOCTOR_MISSING, use, "sudo apt install bubblewrap",
				"not on PATH");
	else if (b.setuid)
		doctor_rows_add(d, "bwrap", DOCTOR_LIMITED, use, "sudo chmod u-s the program",
				"%s is setuid root", b.path);
	else if (!b.usable)
		doctor_rows_add(d, "bwrap", DOCTOR_LIMITED, use, "install 0.8.0 or newer",
				"%s, %u.%u.%u", b.path, b.major, b.minor, b.patch);
	else
		doctor_rows_add(d, "bwrap", DOCTOR_OK, use, NULL, "%s, %u.%u.%u", b.path, b.major,
				b.minor, b.patch);
	*usable = *usable && b.usable;
	return 0;
}

static void see_kernel(struct doctor_rows *d, bool *usable)
{
	int abi = landlock_abi();

	if (abi > 0)
		doctor_rows_add(d, "Landlock", DOCTOR_OK, "a second wall around files", NULL,
				"ABI %d", abi);
	else
		doctor_rows_add(d, "Landlock", DOCTOR_LIMITED,
				"done without: files handed in go through a pipe",
				"a kernel with CONFIG_SECURITY_LANDLOCK and lsm=landlock",
				"not in this kernel");
	if (host_seccomp())
		doctor_rows_add(d, "seccomp", DOCTOR_OK, "refuses system calls no agent needs",
				NULL, "filters%s", host_seccomp_notif() ? " and notification" : "");
	else
		doctor_rows_add(d, "seccomp", DOCTOR_MISSING, "the native engine needs it",
				"a kernel with CONFIG_SECCOMP_FILTER", "not in this kernel");
	*usable = *usable && host_seccomp();
}

static int see_cgroups(struct doctor_rows *d, struct err *err)
{
	const unsigned need = CGROUP_MEMORY | CGROUP_PIDS;
	struct cgroup_support s = {0};
	cleanup_free char *text = NULL;
	int r = cgroup_probe(NULL, &s, err);

	if (r < 0)
		return r;
	text = cgroup_support_text(&s);
	if ((s.controllers & need) == need)
		doctor_rows_add(d, "cgroups", DOCTOR_OK, "limits for each sandbox as a whole", NULL,
				"%s", text);
	else
		doctor_rows_add(d, "cgroups", DOCTOR_LIMITED,
				"limits by rlimits where there is none: memory per "
				"process, not in sum",
				"a session of systemd on cgroup v2 (systemctl --user must answer)",
				"%s", text);
	cgroup_support_done(&s);
	return 0;
}

int native_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err)
{
	bool usable = false;
	int r = see_userns(ret, &usable, err);

	if (r == 0)
		r = see_bwrap(ret, &usable, err);
	if (r < 0)
		return r;
	see_kernel(ret, &usable);
	r = see_cgroups(ret, err);
	if (r == 0)
		*ret_usable = usable;
	return r;
}
