#include "engine/sbx/sbx.h"

#include "engine/probe-client.h"
#include "engine/probe-host.h"

#define KVM_MS 500

static void see_kvm(struct doctor_rows *d)
{
	static const char use[] = "engines that boot a kernel of their own";

	switch (host_kvm(KVM_MS)) {
	case HOST_KVM_OK:
		doctor_rows_add(d, "KVM", DOCTOR_OK, use, NULL, "runs a guest");
		break;
	case HOST_KVM_ABSENT:
		doctor_rows_add(d, "KVM", DOCTOR_MISSING, use, "not needed by the native engine",
				"no /dev/kvm");
		break;
	case HOST_KVM_DENIED:
		doctor_rows_add(d, "KVM", DOCTOR_MISSING, use,
				"sudo usermod -aG kvm $USER, then log in again",
				"/dev/kvm cannot be opened");
		break;
	case HOST_KVM_BROKEN:
	case HOST_KVM_N:
		doctor_rows_add(d, "KVM", DOCTOR_LIMITED, use,
				"virtualisation must be on, also in an outer VM",
				"/dev/kvm opens, but a guest does not run");
		break;
	}
}

/* One row for both command lines: the plugin counts only where it answers, since docker without it
 * is docker's own row. */
int sbx_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err)
{
	static const char *const own[] = {"version", NULL};
	static const char *const plugin[] = {"sandbox", "version", NULL};
	cleanup_(host_client_done) struct host_client c = {0};

	see_kvm(ret);
	host_client_ask("sbx", own, &c);
	if (!c.path) {
		host_client_ask("docker", plugin, &c);
		if (!c.answers)
			host_client_done(&c);
	}
	host_client_row(&c, "sbx", "the Docker Sandboxes engine", "run: sbx version", ret);
	*ret_usable = c.answers;
	return 0;
}
