#include "engine/vm/vm-setup.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "engine/probe-host.h"

#define LOCK_MS (30 * 60 * 1000) /* for another set-up to finish */
#define KVM_MS 1000

static int lock(const struct vm_files *f, struct err *err)
{
	cleanup_free char *path = path_join(f->dir, "lock");
	cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : fd_lock(fd, LOCK_MS);

	return r < 0 ? err_sys(err, -r, "cannot lock '%s'", path) : take_fd(fd);
}

static bool is_ours(const char *name, const char *path)
{
	return streq(name, path_base(path));
}

/* What was made of other versions of its parts nobody finds any more. */
static void remove_old(const struct vm_files *f)
{
	DIR *d = opendir(f->dir);
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (strncmp(de->d_name, "initramfs-", 10) == 0 &&
		    !is_ours(de->d_name, f->initramfs))
			(void)unlinkat(dirfd(d), de->d_name, 0);
	if (d)
		(void)closedir(d);
}

int vm_setup(bool emulated, uint64_t limit, void (*say)(const char *text), struct err *err)
{
	uint32_t memory = vm_memory(limit, emulated);
	cleanup_vm_files struct vm_files f = {0};
	cleanup_fd int held = -1;
	int r = vm_files_find(&f, emulated, VM_MEMORY_MIN, err);

	if (r == 0 && !memory)
		r = err_usage(err, "limits.memory is too little for a machine of its own");
	if (r == 0 && !f.qemu)
		r = vm_files_check(&f, err);
	if (r == 0)
		r = path_mkdirs(f.dir, 0700, err);
	if (r < 0)
		return r;
	held = lock(&f, err);
	if (held < 0)
		return held;
	if (!vm_files_exist(f.kernel))
		r = vm_kernel_fetch(&f, say, err);
	vm_files_done(&f);
	if (r == 0)
		r = vm_files_find(&f, emulated, memory, err);
	if (r == 0 && !vm_files_exist(f.initramfs)) {
		remove_old(&f);
		r = vm_image_write(&f, err);
		vm_files_done(&f);
		if (r == 0)
			r = vm_files_find(&f, emulated, memory, err);
	}
	if (r == 0 && !vm_files_exist(f.kept)) {
		say("starting a machine once, to keep it");
		r = vm_keep(&f, emulated, memory, err);
	}
	return r;
}

int vm_doctor_rows(struct doctor_rows *ret, bool emulated, bool *ret_usable, struct err *err)
{
	static const char use[] = "engine vm: a kernel of its own for each sandbox";
	enum host_kvm kvm = emulated ? HOST_KVM_OK : host_kvm(KVM_MS);
	cleanup_vm_files struct vm_files f = {0};
	int r = vm_files_find(&f, emulated, VM_MEMORY_MIN, err);
	bool ready = r == 0 && vm_files_exist(f.kernel) && vm_files_exist(f.initramfs);

	*ret_usable = r == 0 && kvm == HOST_KVM_OK && f.qemu && ready;
	if (r < 0 || emulated)
		return r;
	if (kvm != HOST_KVM_OK)
		doctor_rows_add(ret, "KVM", DOCTOR_LIMITED, use,
				kvm == HOST_KVM_DENIED
					? "sudo usermod -aG kvm $USER, then log in again"
					: "a machine with virtualisation",
				"%s",
				kvm == HOST_KVM_ABSENT	 ? "not in this machine"
				: kvm == HOST_KVM_DENIED ? "/dev/kvm cannot be opened"
							 : "/dev/kvm opens, but no guest runs");
	else
		doctor_rows_add(ret, "KVM", DOCTOR_OK, use, NULL, "runs a guest");
	if (f.qemu)
		doctor_rows_add(ret, "QEMU", DOCTOR_OK, use, NULL, "%s", f.qemu);
	else
		doctor_rows_add(ret, "QEMU", DOCTOR_LIMITED, use,
				"sudo apt install --no-install-recommends qemu-system-x86",
				"not installed");
	doctor_rows_add(ret, "machine", ready ? DOCTOR_OK : DOCTOR_LIMITED, use,
			ready ? NULL : "ralph engine setup vm", "%s",
			ready ? f.dir : "not prepared");
	return 0;
}
