#include "engine/probe-host.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/probe-child.h"

/* Exit codes of the child. */
enum { RAN = 0, NO_DEVICE, NO_ACCESS, BROKEN };

#if defined(__x86_64__)

#define GUEST_MEMORY 0x8000
#define GUEST_CODE 0x1000
#define GUEST_PML4 0x2000
#define GUEST_PDPT 0x3000
#define GUEST_PD 0x4000
#define GUEST_PORT 0x10
#define GUEST_BYTE 0x42

/*
 * 64-bit code: a loop long enough that an emulator shows, SSE, cpuid, one byte to a port, halt.
 * A few instructions of real mode would prove nothing: the kernel may emulate those by itself.
 */
/* clang-format off */
static const unsigned char guest_code[] = {
	0x48, 0xc7, 0xc1, 0x40, 0x42, 0x0f, 0x00, /* mov $1000000, %rcx */
	0x48, 0xff, 0xc9,                         /* 1: dec %rcx */
	0x75, 0xfb,                               /* jnz 1b */
	0x31, 0xc0, 0x0f, 0xa2,                   /* xor %eax, %eax; cpuid */
	0x66, 0x0f, 0xef, 0xc0,                   /* pxor %xmm0, %xmm0 */
	0x0f, 0x58, 0xc0,                         /* addps %xmm0, %xmm0 */
	0xb0, GUEST_BYTE, 0xe6, GUEST_PORT,       /* mov $0x42, %al; out %al, $0x10 */
	0xf4,                                     /* hlt */
};
/* clang-format on */

static void put_entry(unsigned char *memory, size_t at, uint64_t entry)
{
	memcpy(memory + at, &entry, sizeof(entry));
}

/* The first 2 MiB, mapped one to one. */
static void fill_memory(unsigned char *memory)
{
	memcpy(memory + GUEST_CODE, guest_code, sizeof(guest_code));
	put_entry(memory, GUEST_PML4, GUEST_PDPT | 3);
	put_entry(memory, GUEST_PDPT, GUEST_PD | 3);
	put_entry(memory, GUEST_PD, 0x83);
}

/* Long mode from the first instruction, as a boot loader would leave it. */
static int set_registers(int vcpu)
{
	struct kvm_regs regs = {.rflags = 2, .rip = GUEST_CODE, .rsp = GUEST_MEMORY};
	struct kvm_segment code = {.limit = 0xffffffff,
				   .selector = 8,
				   .type = 11,
				   .present = 1,
				   .s = 1,
				   .l = 1,
				   .g = 1};
	struct kvm_segment data = {.limit = 0xffffffff,
				   .selector = 16,
				   .type = 3,
				   .present = 1,
				   .s = 1,
				   .db = 1,
				   .g = 1};
	struct kvm_sregs sregs;

	if (ioctl(vcpu, KVM_GET_SREGS, &sregs) < 0)
		return -1;
	sregs.cs = code;
	sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = data;
	sregs.cr3 = GUEST_PML4;
	sregs.cr4 = 1U << 5 | 1U << 9 | 1U << 10;	    /* PAE, OSFXSR, OSXMMEXCPT */
	sregs.cr0 = 1U << 0 | 1U << 1 | 1U << 4 | 1U << 31; /* PE, MP, ET, PG */
	sregs.efer = 1U << 8 | 1U << 10;		    /* LME, LMA */
	if (ioctl(vcpu, KVM_SET_SREGS, &sregs) < 0)
		return -1;
	return ioctl(vcpu, KVM_SET_REGS, &regs);
}

static int run_guest(int vcpu, struct kvm_run *run)
{
	const unsigned char *data;

	if (ioctl(vcpu, KVM_RUN, 0) < 0 || run->exit_reason != KVM_EXIT_IO ||
	    run->io.port != GUEST_PORT)
		return BROKEN;
	data = (const unsigned char *)run + run->io.data_offset;
	if (*data != GUEST_BYTE)
		return BROKEN;
	if (ioctl(vcpu, KVM_RUN, 0) < 0 || run->exit_reason != KVM_EXIT_HLT)
		return BROKEN;
	return RAN;
}

/* The child's descriptors and mappings end with it. */
static int try_kvm(void)
{
	struct kvm_userspace_memory_region region = {.memory_size = GUEST_MEMORY};
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int vm, vcpu, size;
	void *memory, *run;

	if (kvm < 0)
		return errno == ENOENT || errno == ENODEV || errno == ENXIO ? NO_DEVICE : NO_ACCESS;
	if (ioctl(kvm, KVM_GET_API_VERSION, 0) != KVM_API_VERSION)
		return BROKEN;
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	memory =
		mmap(NULL, GUEST_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (vm < 0 || memory == MAP_FAILED)
		return BROKEN;
	fill_memory(memory);
	region.userspace_addr = (uint64_t)(uintptr_t)memory;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		return BROKEN;
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (vcpu < 0 || size < (int)sizeof(struct kvm_run) || set_registers(vcpu) < 0)
		return BROKEN;
	run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		return BROKEN;
	return run_guest(vcpu, run);
}

#else

/* No guest is written for this processor: an unproven KVM counts as one that does not work. */
static int try_kvm(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (kvm < 0)
		return errno == ENOENT || errno == ENODEV || errno == ENXIO ? NO_DEVICE : NO_ACCESS;
	return BROKEN;
}

#endif

enum host_kvm host_kvm(int timeout_ms)
{
	switch (probe_in_child(try_kvm, timeout_ms)) {
	case RAN:
		return HOST_KVM_OK;
	case NO_DEVICE:
		return HOST_KVM_ABSENT;
	case NO_ACCESS:
		return HOST_KVM_DENIED;
	default:
		return HOST_KVM_BROKEN;
	}
}
