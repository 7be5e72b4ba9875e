/*
 * The least that a C program can do per VM exit: the yardstick for the engine's run loop.
 *
 * usage: exitcost pio|mmio EXITS
 * Prints nanoseconds per exit of a guest that does nothing but write to a port or to an address without memory.
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#define RAM_BYTES (2 << 20)
#define CODE 0x10000

static const unsigned char pio[] = {0xe6, 0x10, 0xeb, 0xfc};
static const unsigned char mmio[] = {0xc6, 0x05, 0x01, 0x00, 0x00, 0xd0, 0x5a, 0xeb, 0xf7};

static uint64_t seen;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int call(int fd, unsigned long request, void *argument, const char *what)
{
    int result = ioctl(fd, request, argument);
    if (result < 0)
        die(what);
    return result;
}

static struct kvm_segment flat(uint16_t selector, uint8_t type)
{
    struct kvm_segment segment = {0};
    segment.limit = 0xffffffff;
    segment.selector = selector;
    segment.type = type;
    segment.present = 1;
    segment.db = 1;
    segment.s = 1;
    segment.g = 1;
    return segment;
}

static __attribute__((noinline)) void handle(uint64_t address, unsigned size, uint64_t value)
{
    seen += address + size + value;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: exitcost pio|mmio EXITS\n");
        return 2;
    }
    int port = strcmp(argv[1], "pio") == 0;
    long exits = atol(argv[2]);
    int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (kvm < 0)
        die("/dev/kvm");
    int vm = call(kvm, KVM_CREATE_VM, 0, "KVM_CREATE_VM");
    call(vm, KVM_SET_TSS_ADDR, (void *)0xfeffd000, "KVM_SET_TSS_ADDR");
    call(vm, KVM_CREATE_IRQCHIP, 0, "KVM_CREATE_IRQCHIP");
    unsigned char *ram = mmap(0, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ram == MAP_FAILED)
        die("mmap");
    memcpy(ram + CODE, port ? pio : mmio, port ? sizeof pio : sizeof mmio);
    struct kvm_userspace_memory_region region = {0, 0, 0, RAM_BYTES, (uintptr_t)ram};
    call(vm, KVM_SET_USER_MEMORY_REGION, &region, "KVM_SET_USER_MEMORY_REGION");
    int vcpu = call(vm, KVM_CREATE_VCPU, 0, "KVM_CREATE_VCPU");
    int size = call(kvm, KVM_GET_VCPU_MMAP_SIZE, 0, "KVM_GET_VCPU_MMAP_SIZE");
    struct kvm_run *run = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
    if (run == MAP_FAILED)
        die("mmap");
    struct kvm_sregs sregs;
    call(vcpu, KVM_GET_SREGS, &sregs, "KVM_GET_SREGS");
    sregs.cs = flat(8, 11);
    sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = flat(16, 3);
    sregs.cr0 |= 1;
    call(vcpu, KVM_SET_SREGS, &sregs, "KVM_SET_SREGS");
    struct kvm_regs regs = {.rip = CODE, .rflags = 2};
    call(vcpu, KVM_SET_REGS, &regs, "KVM_SET_REGS");

    struct timespec start, end;
    for (long warm = 0; warm < 2; warm++) {
        long count = warm == 0 ? exits / 10 : exits;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (long i = 0; i < count; i++) {
            call(vcpu, KVM_RUN, 0, "KVM_RUN");
            if (run->exit_reason == KVM_EXIT_IO)
                handle(run->io.port, run->io.size, ((unsigned char *)run)[run->io.data_offset]);
            else if (run->exit_reason == KVM_EXIT_MMIO)
                handle(run->mmio.phys_addr, run->mmio.len, run->mmio.data[0]);
            else {
                fprintf(stderr, "exit reason %u\n", run->exit_reason);
                return 1;
            }
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
    }
    double nanos = (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
    printf("%.1f\n", nanos / exits);
    return seen == 0;
}
