#include "engine/vm/vm-engine.h"

#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/find-program.h"
#include "base/path.h"
#include "build-config.h"

#define MEMORY_MAX_EMULATED 1024 /* MiB: an emulated machine spends its start on looking at it */
#define MEMORY_MAX 8192
#define KEY_HEX 16 /* digits of the hash in a name */
#define QEMU "qemu-system-x86_64"

uint32_t vm_memory(uint64_t limit, bool emulated)
{
	uint32_t m = emulated ? MEMORY_MAX_EMULATED : MEMORY_MAX;

	while (m >= VM_MEMORY_MIN && m * MiB + VM_OVERHEAD > limit)
		m /= 2;
	return m >= VM_MEMORY_MIN ? m : 0;
}

unsigned vm_cpus(bool emulated)
{
	long n = emulated ? 1 : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 8 ? 8 : (unsigned)n;
}

bool vm_files_exist(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* Which file it is, as far as a look tells. */
static void put_identity(struct buf *b, const char *path)
{
	struct stat st;

	if (path && stat(path, &st) == 0)
		(void)buf_printf(b, "%s %lld %lld.%09ld %llu\n", path, (long long)st.st_size,
				 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
				 (unsigned long long)st.st_ino);
	else
		(void)buf_printf(b, "%s -\n", path ? path : "-");
}

char *vm_files_identity(const struct vm_files *f)
{
	struct buf b;

	buf_init(&b, 16 * KiB);
	put_identity(&b, f->qemu);
	put_identity(&b, f->kernel);
	put_identity(&b, f->initramfs);
	/* It becomes a part of one line. */
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '\n')
			b.data[i] = ' ';
	return buf_take(&b);
}

static char *named(const char *dir, const char *what, struct buf *b)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];

	(void)SHA256Data((const uint8_t *)buf_str(b), b->len, hex);
	return xasprintf("%s/%s-%.*s", dir, what, KEY_HEX, hex);
}

static char *cache_dir(struct err *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/')
		return xasprintf("%s/ralph/vm", cache);
	if (home && home[0] == '/')
		return xasprintf("%s/.cache/ralph/vm", home);
	(void)err_set(err, ENOENT, "HOME is not set");
	return NULL;
}

int vm_files_find(struct vm_files *f, bool emulated, uint32_t memory, struct err *err)
{
	cleanup_free char *programs = launch_programs();
	cleanup_buf struct buf b;

	buf_init(&b, 16 * KiB);
	*f = (struct vm_files){.emulated = emulated, .dir = cache_dir(err)};
	if (!f->dir)
		return -ENOENT;
	f->qemu = path_find_program(QEMU, "/usr/bin:/usr/local/bin");
	f->guest = path_join(programs, "guest");
	f->program = path_join(programs, "vm");
	f->kernel = path_join(f->dir, "kernel");
	f->modules = path_join(f->dir, "modules");
	put_identity(&b, f->guest);
	put_identity(&b, f->program);
	put_identity(&b, f->kernel);
	f->initramfs = named(f->dir, "initramfs", &b);
	put_identity(&b, f->qemu);
	put_identity(&b, f->initramfs);
	(void)buf_printf(&b, "%d %u %u " RALPH_VERSION "\n", emulated, memory, vm_cpus(emulated));
	f->kept = named(f->dir, "kept", &b);
	return 0;
}

void vm_files_done(struct vm_files *f)
{
	free(f->dir);
	free(f->qemu);
	free(f->guest);
	free(f->program);
	free(f->kernel);
	free(f->modules);
	free(f->initramfs);
	free(f->kept);
	*f = (struct vm_files){0};
}

int vm_files_check(const struct vm_files *f, struct err *err)
{
	int r;

	if (!f->qemu)
		r = err_set(err, ENOENT,
			    "engine vm needs QEMU; run: sudo apt install "
			    "--no-install-recommends qemu-system-x86");
	else if (!vm_files_exist(f->kernel) || !vm_files_exist(f->initramfs))
		r = err_set(err, ENOENT,
			    "no machine is prepared for this version of ralph; run: ralph engine "
			    "setup vm%s",
			    f->emulated ? ":emulated" : "");
	else
		return 0;
	err->exit_code = EXIT_RALPH;
	return r;
}

void vm_machine_words(const struct vm_machine *m, struct strv *out)
{
	/* clang-format off */
	static const char *const machine[] = {
		"-M", "microvm,x-option-roms=off,rtc=on", "-global", "virtio-mmio.force-legacy=false",
		"-nodefaults", "-no-user-config", "-display", "none", "-serial", "null", "-no-reboot",
		"-device", "virtio-serial-device", "-device", "virtserialport,chardev=line,name=ralph.0",
		"-device", "virtio-rng-device",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	};
	/* clang-format on */

	strv_push(out, m->qemu);
	for (size_t i = 0; i < ARRAY_SIZE(machine); i++)
		strv_push(out, machine[i]);
	strv_push(out, "-accel");
	strv_push(out, m->emulated ? "tcg,thread=multi" : "kvm");
	strv_push(out, "-cpu");
	strv_push(out, m->emulated ? "max" : "host");
	strv_push(out, "-m");
	strv_pushf(out, "%u", m->memory);
	strv_push(out, "-smp");
	strv_pushf(out, "%u", m->cpus);
	strv_push(out, "-kernel");
	strv_push(out, m->kernel);
	strv_push(out, "-initrd");
	strv_push(out, m->initramfs);
	strv_push(out, "-append");
	/* What a kernel measures at its start an emulated one measures wrong. */
	strv_pushf(out, "console=ttyS0 quiet panic=-1 reboot=t%s",
		   m->emulated ? " mitigations=off no_timer_check lpj=4890848 tsc_early_khz=2445424"
			       : "");
	strv_push(out, "-fsdev");
	strv_pushf(out, "local,id=tree,path=%s,security_model=none,multidevs=remap", m->tree);
	strv_push(out, "-device");
	strv_push(out, "virtio-9p-device,fsdev=tree,mount_tag=root");
}
