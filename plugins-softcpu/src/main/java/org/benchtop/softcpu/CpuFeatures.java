package org.benchtop.softcpu;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.CpuModel;

/**
 * What CPUID tells the guest, by the feature names of Linux' /proc/cpuinfo. A model can only name what this processor
 * executes. Sources: Intel SDM vol. 2 (CPUID), AMD APM vol. 3 appendix E, x86-64 psABI for the levels.
 */
public final class CpuFeatures {
    // A feature is 32 * word + bit; the words are in WORDS.
    private static final int EDX1 = 0;
    private static final int ECX1 = 32;
    private static final int EBX7 = 64;
    private static final int ECX7 = 96;
    private static final int EDX7 = 128;
    private static final int EDX81 = 160;
    private static final int ECX81 = 192;
    private static final int EAXD1 = 224;
    private static final int EDX87 = 256;
    private static final int EAX6 = 288;

    public static final int FPU = EDX1;
    static final int PSE = EDX1 + 3;
    static final int TSC = EDX1 + 4;
    static final int PAE = EDX1 + 6;
    static final int APIC = EDX1 + 9;
    static final int PGE = EDX1 + 13;
    public static final int MMX = EDX1 + 23;
    public static final int FXSR = EDX1 + 24;
    public static final int SSE = EDX1 + 25;
    public static final int SSE2 = EDX1 + 26;
    static final int HT = EDX1 + 28;
    public static final int SSE3 = ECX1;
    public static final int PCLMULQDQ = ECX1 + 1;
    public static final int SSSE3 = ECX1 + 9;
    public static final int FMA = ECX1 + 12;
    static final int CX16 = ECX1 + 13;
    static final int PCID = ECX1 + 17;
    public static final int SSE4_1 = ECX1 + 19;
    public static final int SSE4_2 = ECX1 + 20;
    static final int X2APIC = ECX1 + 21;
    static final int MOVBE = ECX1 + 22;
    static final int POPCNT = ECX1 + 23;
    static final int TSC_DEADLINE = ECX1 + 24;
    public static final int AES = ECX1 + 25;
    public static final int XSAVE = ECX1 + 26;
    static final int OSXSAVE = ECX1 + 27;
    public static final int AVX = ECX1 + 28;
    public static final int F16C = ECX1 + 29;
    static final int RDRAND = ECX1 + 30;
    static final int HYPERVISOR = ECX1 + 31;
    static final int FSGSBASE = EBX7;
    static final int BMI1 = EBX7 + 3;
    public static final int AVX2 = EBX7 + 5;
    static final int SMEP = EBX7 + 7;
    static final int BMI2 = EBX7 + 8;
    static final int INVPCID = EBX7 + 10;
    static final int RDSEED = EBX7 + 18;
    static final int ADX = EBX7 + 19;
    static final int SMAP = EBX7 + 20;
    public static final int SHA = EBX7 + 29;
    static final int UMIP = ECX7 + 2;
    static final int LA57 = ECX7 + 16;
    static final int RDPID = ECX7 + 22;
    static final int SPEC_CTRL = EDX7 + 26;
    static final int ARCH_CAPABILITIES = EDX7 + 29;
    static final int SYSCALL = EDX81 + 11;
    static final int NX = EDX81 + 20;
    static final int GIGABYTE_PAGES = EDX81 + 26;
    static final int RDTSCP = EDX81 + 27;
    static final int LONG_MODE = EDX81 + 29;
    static final int ABM = ECX81 + 5;
    public static final int XSAVEOPT = EAXD1;
    public static final int XSAVEC = EAXD1 + 1;

    /** The words of features by CPUID leaf: {@code bit:name}, and {@code !bit:name} for what is not implemented. */
    private static final String[] WORDS = {
        // 1.EDX
        "0:fpu 1:vme! 2:de 3:pse 4:tsc 5:msr 6:pae 7:mce 8:cx8 9:apic 11:sep 12:mtrr 13:pge 14:mca 15:cmov 16:pat 17:pse36"
                + " 19:clflush 23:mmx 24:fxsr 25:sse 26:sse2 27:ss! 28:ht",
        // 1.ECX
        "0:pni 1:pclmulqdq 3:monitor! 9:ssse3 12:fma 13:cx16 17:pcid 19:sse4_1 20:sse4_2 21:x2apic 22:movbe 23:popcnt"
                + " 24:tsc_deadline_timer 25:aes 26:xsave 28:avx 29:f16c 30:rdrand 31:hypervisor",
        // 7.EBX
        "0:fsgsbase 1:tsc_adjust 3:bmi1 5:avx2 7:smep 8:bmi2 9:erms 10:invpcid 18:rdseed 19:adx 20:smap 23:clflushopt"
                + " 24:clwb 29:sha_ni!",
        // 7.ECX
        "2:umip 16:la57 22:rdpid",
        // 7.EDX
        "4:fsrm 26:spec_ctrl 29:arch_capabilities",
        // 8000_0001.EDX
        "11:syscall 20:nx 25:fxsr_opt! 26:pdpe1gb 27:rdtscp 29:lm",
        // 8000_0001.ECX
        "0:lahf_lm 5:abm 8:3dnowprefetch",
        // D/1.EAX
        "0:xsaveopt 1:xsavec",
        // 8000_0007.EDX
        "8:constant_tsc 8:nonstop_tsc",
        // 6.EAX
        "2:arat",
    };

    private static final String V1 =
            "fpu de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr"
                    + " sse sse2 syscall nx lm hypervisor x2apic tsc_deadline_timer rdtscp constant_tsc nonstop_tsc arat"
                    + " spec_ctrl arch_capabilities tsc_adjust";
    private static final String V2 = V1 + " cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 pclmulqdq aes";
    private static final String V3 = V2
            + " avx avx2 fma f16c bmi1 bmi2 abm movbe xsave xsaveopt xsavec erms fsrm rdrand rdseed adx smep smap umip fsgsbase"
            + " pcid invpcid pdpe1gb rdpid clflushopt clwb 3dnowprefetch";
    private static final String[] HIDDEN_FROM_MAX = {"la57", "pcid", "invpcid"};

    private static final Map<String, Integer> BY_NAME = new TreeMap<>();
    private static final BitSet IMPLEMENTED = new BitSet();

    static {
        for (int word = 0; word < WORDS.length; word++) {
            for (String entry : WORDS[word].split(" ", -1)) {
                int colon = entry.indexOf(':');
                boolean missing = entry.endsWith("!");
                String name = entry.substring(colon + 1, entry.length() - (missing ? 1 : 0));
                int feature = 32 * word + Integer.parseInt(entry.substring(0, colon));
                BY_NAME.put(name, feature);
                IMPLEMENTED.set(feature, !missing && vectorUnitHas(feature));
            }
        }
    }

    /** What the vector unit does not execute yet is not offered. */
    private static boolean vectorUnitHas(int feature) {
        return switch (feature) {
            case PCLMULQDQ, SSE3, SSSE3, SSE4_1, SSE4_2, AES, XSAVE, AVX, AVX2, FMA, F16C, SHA, XSAVEOPT, XSAVEC ->
                org.benchtop.softcpu.simd.Simd.implementsFeature(feature);
            default -> true;
        };
    }

    /** Models by name. */
    static final List<String> MODELS = List.of("x86-64-v1", "x86-64-v2", "x86-64-v3", "max", "host");

    private final BitSet on;
    private final long[] bits = new long[8];
    private final int cpus;

    private CpuFeatures(BitSet on, int cpus) {
        this.on = on;
        this.cpus = cpus;
        long[] words = on.toLongArray();
        System.arraycopy(words, 0, bits, 0, words.length);
    }

    /**
     * The features of a model with changes.
     *
     * @throws BenchtopException of kind CONFIG for an unknown name, UNSUPPORTED for a feature that is not executed
     */
    static CpuFeatures of(CpuModel model, int cpus) {
        BitSet on = new BitSet();
        switch (model.name()) {
            case "x86-64-v1" -> add(on, V1);
            case "x86-64-v2" -> add(on, V2);
            case "x86-64-v3" -> add(on, V3);
            case "max", "host" -> {
                on.or(IMPLEMENTED);
                for (String name : HIDDEN_FROM_MAX) {
                    on.clear(BY_NAME.getOrDefault(name, 0));
                }
            }
            default ->
                throw BenchtopException.config("unknown cpu model \"" + model.name() + "\" for accel soft; allowed: "
                        + String.join(", ", MODELS));
        }
        on.and(IMPLEMENTED);
        for (Map.Entry<String, Boolean> change : new TreeMap<>(model.features()).entrySet()) {
            Integer feature = BY_NAME.get(change.getKey());
            if (feature == null) {
                throw BenchtopException.config("unknown cpu feature \"" + change.getKey() + "\" for accel soft; known: "
                        + String.join(", ", new TreeSet<>(BY_NAME.keySet())));
            }
            if (change.getValue() && !IMPLEMENTED.get(feature)) {
                throw BenchtopException.of(
                        org.benchtop.spi.ErrorKind.UNSUPPORTED,
                        "cpu feature \"+" + change.getKey() + "\": accel soft does not execute it");
            }
            on.set(feature, change.getValue());
        }
        on.set(HT, cpus > 1);
        return new CpuFeatures(on, cpus);
    }

    private static void add(BitSet on, String names) {
        for (String name : names.split(" ", -1)) {
            Integer feature = BY_NAME.get(name);
            if (feature == null) {
                throw new IllegalStateException("no feature " + name);
            }
            on.set(feature);
        }
    }

    /** The name of a feature that guards an instruction, for reports. */
    static Map<Integer, String> names() {
        Map<Integer, String> names = new HashMap<>();
        BY_NAME.forEach((name, feature) -> names.put(feature, name));
        return names;
    }

    /** Whether the guest is told of a feature. */
    public boolean has(int feature) {
        return (bits[feature >> 6] >>> feature & 1) != 0;
    }

    /** Features that are on, by name. */
    List<String> enabled() {
        List<String> names = new ArrayList<>();
        BY_NAME.forEach((name, feature) -> {
            if (on.get(feature)) {
                names.add(name);
            }
        });
        return names;
    }

    private int word(int first) {
        return (int) (bits[first >> 6] >>> (first & 63));
    }

    long cr4Bits() {
        long allowed = Cpu.CR4_TSD
                | Cpu.CR4_DE
                | Cpu.CR4_PSE
                | Cpu.CR4_PAE
                | Cpu.CR4_MCE
                | Cpu.CR4_PGE
                | Cpu.CR4_PCE
                | Cpu.CR4_OSFXSR
                | Cpu.CR4_OSXMMEXCPT;
        allowed |= has(UMIP) ? Cpu.CR4_UMIP : 0;
        allowed |= has(LA57) ? Cpu.CR4_LA57 : 0;
        allowed |= has(FSGSBASE) ? Cpu.CR4_FSGSBASE : 0;
        allowed |= has(PCID) ? Cpu.CR4_PCIDE : 0;
        allowed |= has(XSAVE) ? Cpu.CR4_OSXSAVE : 0;
        allowed |= has(SMEP) ? Cpu.CR4_SMEP : 0;
        allowed |= has(SMAP) ? Cpu.CR4_SMAP : 0;
        return allowed;
    }

    long eferBits() {
        return (has(SYSCALL) ? Cpu.EFER_SCE : 0) | (has(LONG_MODE) ? Cpu.EFER_LME : 0) | (has(NX) ? Cpu.EFER_NXE : 0);
    }

    /** State components that XCR0 may enable. */
    long xcr0Bits() {
        return 3 | (has(AVX) ? 4 : 0);
    }

    private static void result(Cpu c, int eax, int ebx, int ecx, int edx) {
        c.r[Cpu.RAX] = eax & 0xffff_ffffL;
        c.r[Cpu.RBX] = ebx & 0xffff_ffffL;
        c.r[Cpu.RCX] = ecx & 0xffff_ffffL;
        c.r[Cpu.RDX] = edx & 0xffff_ffffL;
    }

    private static int chars(String text, int at) {
        int value = 0;
        for (int i = 0; i < 4; i++) {
            char ch = at + i < text.length() ? text.charAt(at + i) : 0;
            value |= ch << 8 * i;
        }
        return value;
    }

    private static final String VENDOR = "GenuineIntel";
    private static final String HYPERVISOR_NAME = "BenchtopSoft";
    private static final String BRAND = "Benchtop software CPU";
    private static final int HIGHEST_BASIC = 0x16;
    /** Family 6, model 0x8f, stepping 8: recent enough that kernels apply no errata of old parts. */
    private static final int SIGNATURE = 0x0008_06f8;

    private static final int XSAVE_LEGACY_BYTES = 576;
    private static final int AVX_STATE_BYTES = 256;

    /** Executes CPUID. */
    void cpuid(Cpu c) {
        int leaf = (int) c.r[Cpu.RAX];
        int index = (int) c.r[Cpu.RCX];
        if (leaf >= 0x4000_0000 && leaf < 0x4001_0000) {
            if (has(HYPERVISOR) && c.vm.host().cpuid(c.index, leaf, c.cpuidAnswer)) {
                result(c, c.cpuidAnswer[0], c.cpuidAnswer[1], c.cpuidAnswer[2], c.cpuidAnswer[3]);
            } else if (leaf == 0x4000_0000 && has(HYPERVISOR)) {
                result(c, 0x4000_0000, chars(HYPERVISOR_NAME, 0), chars(HYPERVISOR_NAME, 4), chars(HYPERVISOR_NAME, 8));
            } else {
                result(c, 0, 0, 0, 0);
            }
            return;
        }
        if (leaf < 0) {
            extended(c, leaf);
            return;
        }
        basic(c, Math.min(leaf, HIGHEST_BASIC), index);
    }

    private int coreBits() {
        return Integer.SIZE - Integer.numberOfLeadingZeros(cpus - 1);
    }

    private void basic(Cpu c, int leaf, int index) {
        switch (leaf) {
            case 0 -> result(c, HIGHEST_BASIC, chars(VENDOR, 0), chars(VENDOR, 8), chars(VENDOR, 4));
            case 1 -> {
                int ebx = 8 << 8 | Math.min(255, 1 << coreBits()) << 16 | c.index << 24;
                int ecx = word(ECX1) | ((c.cr4 & Cpu.CR4_OSXSAVE) != 0 ? 1 << 27 : 0);
                result(c, SIGNATURE, ebx, ecx, word(EDX1));
            }
            case 2 -> result(c, 0x00ff_ff01, 0, 0, 0);
            case 4 -> cache(c, index);
            case 6 -> result(c, word(EAX6), 0, 0, 0);
            case 7 -> {
                if (index == 0) {
                    result(c, 0, word(EBX7), word(ECX7), word(EDX7));
                } else {
                    result(c, 0, 0, 0, 0);
                }
            }
            case 0xb -> {
                if (index == 0) {
                    result(c, 0, 1, 1 << 8, c.index);
                } else if (index == 1) {
                    result(c, coreBits(), cpus, 2 << 8 | 1, c.index);
                } else {
                    result(c, 0, 0, index & 0xff, c.index);
                }
            }
            case 0xd -> state(c, index);
            // Core crystal and TSC both run at 1 GHz, as the APIC timer does.
            case 0x15 -> result(c, 1, 1, SoftVm.TSC_HZ, 0);
            case 0x16 -> result(c, SoftVm.TSC_HZ / 1_000_000, SoftVm.TSC_HZ / 1_000_000, 0, 0);
            default -> result(c, 0, 0, 0, 0);
        }
    }

    private void cache(Cpu c, int index) {
        int cores = (1 << coreBits()) - 1 << 26;
        switch (index) {
            case 0 -> result(c, 1 | 1 << 5 | 1 << 8 | cores, 63 | 7 << 22, 63, 0);
            case 1 -> result(c, 2 | 1 << 5 | 1 << 8 | cores, 63 | 7 << 22, 63, 0);
            case 2 -> result(c, 3 | 2 << 5 | 1 << 8 | cores, 63 | 7 << 22, 1023, 0);
            default -> result(c, 0, 0, 0, 0);
        }
    }

    private void state(Cpu c, int index) {
        if (!has(XSAVE)) {
            result(c, 0, 0, 0, 0);
            return;
        }
        int full = XSAVE_LEGACY_BYTES + (has(AVX) ? AVX_STATE_BYTES : 0);
        int active = XSAVE_LEGACY_BYTES + ((c.xcr0 & 4) != 0 ? AVX_STATE_BYTES : 0);
        switch (index) {
            case 0 -> result(c, (int) xcr0Bits(), active, full, 0);
            case 1 -> result(c, word(EAXD1), has(XSAVEC) ? active : 0, 0, 0);
            case 2 -> {
                if (has(AVX)) {
                    result(c, AVX_STATE_BYTES, XSAVE_LEGACY_BYTES, 0, 0);
                } else {
                    result(c, 0, 0, 0, 0);
                }
            }
            default -> result(c, 0, 0, 0, 0);
        }
    }

    private void extended(Cpu c, int leaf) {
        switch (leaf) {
            case 0x8000_0000 -> result(c, 0x8000_0008, 0, 0, 0);
            case 0x8000_0001 -> result(c, 0, 0, word(ECX81), word(EDX81));
            case 0x8000_0002, 0x8000_0003, 0x8000_0004 -> {
                int at = (leaf - 0x8000_0002) * 16;
                result(c, chars(BRAND, at), chars(BRAND, at + 4), chars(BRAND, at + 8), chars(BRAND, at + 12));
            }
            case 0x8000_0006 -> result(c, 0, 0, 1024 << 16 | 8 << 12 | 64, 0);
            case 0x8000_0007 -> result(c, 0, 0, 0, word(EDX87));
            case 0x8000_0008 -> {
                int linear = has(LA57) ? 57 : 48;
                result(c, Mmu.PHYSICAL_BITS | linear << 8, 0, 0, 0);
            }
            default -> result(c, 0, 0, 0, 0);
        }
    }
}
