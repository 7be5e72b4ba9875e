package org.benchtop.engine.kvm;

import java.util.Locale;

/** The capabilities of KVM that this engine needs or uses. Source: linux/kvm.h. */
enum KvmCap {
    IRQCHIP(0, true),
    USER_MEMORY(3, true),
    SET_TSS_ADDR(4, true),
    EXT_CPUID(7, true),
    MP_STATE(14, true),
    DESTROY_MEMORY_REGION_WORKS(21, true),
    IRQ_ROUTING(25, true),
    PIT2(33, true),
    PIT_STATE2(35, true),
    VCPU_EVENTS(41, true),
    IMMEDIATE_EXIT(136, true),

    NR_VCPUS(9, false),
    NR_MEMSLOTS(10, false),
    COALESCED_MMIO(15, false),
    SET_GUEST_DEBUG(23, false),
    REINJECT_CONTROL(24, false),
    IRQFD(32, false),
    IOEVENTFD(36, false),
    SET_IDENTITY_MAP_ADDR(37, false),
    ADJUST_CLOCK(39, false),
    DEBUGREGS(50, false),
    XSAVE(55, false),
    XCRS(56, false),
    GET_TSC_KHZ(61, false),
    MAX_VCPUS(66, false),
    TSC_DEADLINE_TIMER(72, false),
    KVMCLOCK_CTRL(76, false),
    SIGNAL_MSI(77, false),
    READONLY_MEM(81, false),
    ENABLE_CAP_VM(98, false),
    IOEVENTFD_ANY_LENGTH(122, false),
    COALESCED_PIO(162, false),
    X86_USER_SPACE_MSR(188, false),
    SET_GUEST_DEBUG2(195, false),
    XSAVE2(208, false);

    final int number;
    final boolean required;

    KvmCap(int number, boolean required) {
        this.number = number;
        this.required = required;
    }

    /** The name for people: {@code ioeventfd-any-length}. */
    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
