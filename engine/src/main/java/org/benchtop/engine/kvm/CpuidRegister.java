package org.benchtop.engine.kvm;

/** A result register of CPUID. */
enum CpuidRegister {
    EAX,
    EBX,
    ECX,
    EDX,
}
