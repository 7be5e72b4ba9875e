package org.benchtop.engine.kvm;

/** Request numbers of the KVM ioctls, each with its descriptor kind. Source: linux/kvm.h. */
final class KvmIoctl {
    // /dev/kvm
    static final long KVM_GET_API_VERSION = 0xae00;
    static final long KVM_CREATE_VM = 0xae01;
    static final long KVM_GET_MSR_INDEX_LIST = 0xc004ae02L;
    static final long KVM_CHECK_EXTENSION = 0xae03;
    static final long KVM_GET_VCPU_MMAP_SIZE = 0xae04;
    static final long KVM_GET_SUPPORTED_CPUID = 0xc008ae05L;

    // VM
    static final long KVM_CREATE_VCPU = 0xae41;
    static final long KVM_GET_DIRTY_LOG = 0x4010ae42;
    static final long KVM_SET_USER_MEMORY_REGION = 0x4020ae46;
    static final long KVM_SET_TSS_ADDR = 0xae47;
    static final long KVM_SET_IDENTITY_MAP_ADDR = 0x4008ae48;
    static final long KVM_CREATE_IRQCHIP = 0xae60;
    static final long KVM_IRQ_LINE = 0x4008ae61;
    static final long KVM_GET_IRQCHIP = 0xc208ae62L;
    static final long KVM_SET_IRQCHIP = 0x8208ae63L;
    static final long KVM_REGISTER_COALESCED_MMIO = 0x4010ae67;
    static final long KVM_UNREGISTER_COALESCED_MMIO = 0x4010ae68;
    static final long KVM_SET_GSI_ROUTING = 0x4008ae6a;
    static final long KVM_REINJECT_CONTROL = 0xae71;
    static final long KVM_IRQFD = 0x4020ae76;
    static final long KVM_CREATE_PIT2 = 0x4040ae77;
    static final long KVM_IOEVENTFD = 0x4040ae79;
    static final long KVM_SET_CLOCK = 0x4030ae7b;
    static final long KVM_GET_CLOCK = 0x8030ae7cL;
    static final long KVM_GET_PIT2 = 0x8070ae9fL;
    static final long KVM_SET_PIT2 = 0x4070aea0;
    static final long KVM_ENABLE_CAP = 0x4068aea3;
    static final long KVM_SIGNAL_MSI = 0x4020aea5;

    // vCPU
    static final long KVM_RUN = 0xae80;
    static final long KVM_GET_REGS = 0x8090ae81L;
    static final long KVM_SET_REGS = 0x4090ae82;
    static final long KVM_GET_SREGS = 0x8138ae83L;
    static final long KVM_SET_SREGS = 0x4138ae84;
    static final long KVM_TRANSLATE = 0xc018ae85L;
    static final long KVM_GET_MSRS = 0xc008ae88L;
    static final long KVM_SET_MSRS = 0x4008ae89;
    static final long KVM_GET_FPU = 0x81a0ae8cL;
    static final long KVM_SET_FPU = 0x41a0ae8d;
    static final long KVM_GET_LAPIC = 0x8400ae8eL;
    static final long KVM_SET_LAPIC = 0x4400ae8f;
    static final long KVM_SET_CPUID2 = 0x4008ae90;
    static final long KVM_GET_MP_STATE = 0x8004ae98L;
    static final long KVM_SET_MP_STATE = 0x4004ae99;
    static final long KVM_NMI = 0xae9a;
    static final long KVM_SET_GUEST_DEBUG = 0x4048ae9b;
    static final long KVM_GET_VCPU_EVENTS = 0x8040ae9fL;
    static final long KVM_SET_VCPU_EVENTS = 0x4040aea0;
    static final long KVM_GET_DEBUGREGS = 0x8080aea1L;
    static final long KVM_SET_DEBUGREGS = 0x4080aea2;
    static final long KVM_GET_TSC_KHZ = 0xaea3;
    static final long KVM_GET_XSAVE = 0x9000aea4L;
    static final long KVM_SET_XSAVE = 0x5000aea5;
    static final long KVM_GET_XCRS = 0x8188aea6L;
    static final long KVM_SET_XCRS = 0x4188aea7;
    static final long KVM_KVMCLOCK_CTRL = 0xaead;
    static final long KVM_GET_XSAVE2 = 0x9000aecfL;

    private KvmIoctl() {}
}
