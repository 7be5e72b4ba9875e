package org.benchtop.engine.kvm;

/**
 * {@code struct kvm_xsave}: the XSAVE area; saved and restored as a whole. Its size is what KVM_CAP_XSAVE2 tells, at
 * least {@link #MIN_SIZE}. Source: linux/kvm.h, asm/kvm.h.
 */
final class KvmXsave {
    static final long MIN_SIZE = 4096;

    private KvmXsave() {}
}
