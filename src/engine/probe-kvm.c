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

#define GUEST_MEMORY 4096
#define GUEST_PORT 0x10
#define GUEST_BYTE 0x42

/* mov $0x42, %al; out %al, $0x10; hlt */
static const unsigned char guest_code[] = {0xb0, GUEST_BYTE, 0xe6, GUEST_PORT, 0xf4};

/* Real mode, everything at 0: the smallest guest there is. */
static int set_registers(int vcpu)
{
	struct kvm_regs regs = {.rflags = 2};
	struct kvm_sregs sregs;

	if (ioctl(vcpu, KVM_GET_SREGS, &sregs) < 0)
		return -1;
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
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
	memcpy(memory, guest_code, sizeof(guest_code));
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
