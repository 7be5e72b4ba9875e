package org.benchtop.engine.kvm;

/**
 * One CPUID leaf (Intel SDM vol. 2, CPUID).
 *
 * @param function EAX at the time of the query
 * @param index ECX at the time of the query, where it matters
 * @param flags KVM's flags; {@link #SIGNIFICANT_INDEX} says that {@code index} matters
 */
record CpuidLeaf(int function, int index, int flags, int eax, int ebx, int ecx, int edx) {
    /** KVM_CPUID_FLAG_SIGNIFCANT_INDEX. */
    static final int SIGNIFICANT_INDEX = 1;

    CpuidLeaf withEax(int value) {
        return new CpuidLeaf(function, index, flags, value, ebx, ecx, edx);
    }

    CpuidLeaf withEbx(int value) {
        return new CpuidLeaf(function, index, flags, eax, value, ecx, edx);
    }

    CpuidLeaf withEcx(int value) {
        return new CpuidLeaf(function, index, flags, eax, ebx, value, edx);
    }

    CpuidLeaf withEdx(int value) {
        return new CpuidLeaf(function, index, flags, eax, ebx, ecx, value);
    }

    int register(CpuidRegister register) {
        return switch (register) {
            case EAX -> eax;
            case EBX -> ebx;
            case ECX -> ecx;
            case EDX -> edx;
        };
    }

    CpuidLeaf with(CpuidRegister register, int value) {
        return switch (register) {
            case EAX -> withEax(value);
            case EBX -> withEbx(value);
            case ECX -> withEcx(value);
            case EDX -> withEdx(value);
        };
    }
}
