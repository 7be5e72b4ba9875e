package org.benchtop.engine.kvm;

import java.util.List;
import java.util.OptionalInt;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.CpuModel;

/**
 * What CPUID tells the guest: what KVM can show on this host, with the machine's own topology. One socket, one thread
 * per core; the APIC ID is the vCPU's number. Source: Intel SDM vol. 2 (CPUID), AMD APM vol. 3 appendix E, and the Linux
 * kernel's documentation of KVM's CPUID bits.
 */
final class GuestCpuid {
    private static final List<String> MODELS = List.of("host", "max");

    private static final int FEATURES = 1;
    private static final int CACHES = 4;
    private static final int TOPOLOGY = 0xb;
    private static final int TOPOLOGY_V2 = 0x1f;
    private static final int HYPERVISOR = 0x4000_0000;
    private static final int HYPERVISOR_TIMING = 0x4000_0010;
    private static final int AMD_FEATURES = 0x8000_0001;
    private static final int AMD_SIZES = 0x8000_0008;
    private static final int AMD_CACHES = 0x8000_001d;
    private static final int AMD_TOPOLOGY = 0x8000_001e;

    private static final int FEATURES_ECX_TSC_DEADLINE = 1 << 24;
    private static final int FEATURES_ECX_HYPERVISOR = 1 << 31;
    private static final int FEATURES_EDX_HTT = 1 << 28;
    private static final int AMD_FEATURES_ECX_CMP_LEGACY = 1 << 1;
    private static final int LEVEL_SMT = 1;
    private static final int LEVEL_CORE = 2;
    /** The in-kernel APIC timer counts nanoseconds. */
    private static final int APIC_BUS_KHZ = 1_000_000;

    private GuestCpuid() {}

    /**
     * The leaves that all vCPUs share.
     *
     * @throws BenchtopException if the model or a feature is unknown or cannot be given
     */
    static CpuidTable forModel(CpuModel model, CpuidTable supported, boolean tscDeadline) {
        if (!MODELS.contains(model.name())) {
            throw BenchtopException.config(
                    "unknown cpu model \"" + model.name() + "\" for accel kvm; allowed: " + String.join(", ", MODELS));
        }
        CpuidTable table = supported;
        CpuidLeaf features = table.find(FEATURES, 0)
                .orElseThrow(() -> BenchtopException.host("KVM_GET_SUPPORTED_CPUID gives no leaf 1"));
        table = table.with(features.withEcx(
                features.ecx() | FEATURES_ECX_HYPERVISOR | (tscDeadline ? FEATURES_ECX_TSC_DEADLINE : 0)));
        return CpuidFeatures.apply(table, model.features());
    }

    /**
     * The leaves of one vCPU.
     *
     * @param tscKhz the guest's TSC frequency, if KVM tells it; lets guests skip calibration
     */
    static CpuidTable forVcpu(CpuidTable model, int apicId, int cpus, OptionalInt tscKhz) {
        CpuidTable table = withTopology(model, apicId, cpus);
        if (tscKhz.isPresent()) {
            table = withTiming(table, tscKhz.getAsInt());
        }
        return table;
    }

    private static CpuidTable withTopology(CpuidTable model, int apicId, int cpus) {
        int coreBits = bitsFor(cpus);
        CpuidTable table = model;
        for (CpuidLeaf leaf : model.leaves()) {
            switch (leaf.function()) {
                case FEATURES -> {
                    int ebx = (leaf.ebx() & 0xffff) | (Math.min(255, 1 << coreBits) << 16) | (apicId << 24);
                    int edx = cpus > 1 ? leaf.edx() | FEATURES_EDX_HTT : leaf.edx() & ~FEATURES_EDX_HTT;
                    table = table.with(leaf.withEbx(ebx).withEdx(edx));
                }
                case CACHES -> table = table.with(leaf.withEax(intelCache(leaf.eax(), coreBits)));
                case AMD_FEATURES -> {
                    int ecx = cpus > 1
                            ? leaf.ecx() | AMD_FEATURES_ECX_CMP_LEGACY
                            : leaf.ecx() & ~AMD_FEATURES_ECX_CMP_LEGACY;
                    table = table.with(leaf.withEcx(ecx));
                }
                case AMD_SIZES -> table = table.with(leaf.withEcx(Math.min(255, cpus - 1) | (coreBits << 12)));
                case AMD_CACHES -> {
                    boolean shared = (leaf.eax() >>> 5 & 7) >= 3;
                    int sharers = shared ? cpus - 1 : 0;
                    table = table.with(leaf.withEax((leaf.eax() & ~(0xfff << 14)) | (sharers & 0xfff) << 14));
                }
                case AMD_TOPOLOGY ->
                    table = table.with(leaf.withEax(apicId)
                            .withEbx(apicId & 0xff)
                            .withEcx(0)
                            .withEdx(0));
                default -> {
                    // says nothing about topology
                }
            }
        }
        if (model.has(TOPOLOGY)) {
            table = withLevels(table, TOPOLOGY, apicId, cpus, coreBits);
        }
        if (model.has(TOPOLOGY_V2)) {
            table = withLevels(table, TOPOLOGY_V2, apicId, cpus, coreBits);
        }
        return table;
    }

    /** Cache sharing: levels 1 and 2 belong to a core, others to all; and the number of cores. */
    private static int intelCache(int eax, int coreBits) {
        int type = eax & 0x1f;
        if (type == 0) {
            return eax;
        }
        int level = eax >>> 5 & 7;
        int ids = (1 << coreBits) - 1;
        int sharing = level >= 3 ? ids : 0;
        return (eax & 0x3fff) | (sharing & 0xfff) << 14 | (ids & 0x3f) << 26;
    }

    private static CpuidTable withLevels(CpuidTable model, int function, int apicId, int cpus, int coreBits) {
        return model.without(function)
                .with(new CpuidLeaf(function, 0, CpuidLeaf.SIGNIFICANT_INDEX, 0, 1, LEVEL_SMT << 8, apicId))
                .with(new CpuidLeaf(
                        function, 1, CpuidLeaf.SIGNIFICANT_INDEX, coreBits, cpus, 1 | LEVEL_CORE << 8, apicId))
                .with(new CpuidLeaf(function, 2, CpuidLeaf.SIGNIFICANT_INDEX, 0, 0, 2, apicId));
    }

    private static CpuidTable withTiming(CpuidTable model, int tscKhz) {
        return model.find(HYPERVISOR, 0)
                .map(leaf -> model.with(leaf.withEax(
                                Integer.compareUnsigned(leaf.eax(), HYPERVISOR_TIMING) < 0
                                        ? HYPERVISOR_TIMING
                                        : leaf.eax()))
                        .with(new CpuidLeaf(HYPERVISOR_TIMING, 0, 0, tscKhz, APIC_BUS_KHZ, 0, 0)))
                .orElse(model);
    }

    /** How many bits number {@code count} things. */
    private static int bitsFor(int count) {
        return Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(1, count) - 1);
    }
}
