package org.benchtop.engine.kvm;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.benchtop.engine.config.Suggestions;
import org.benchtop.spi.BenchtopException;

/**
 * CPU feature flags by the names of Linux' /proc/cpuinfo, and where CPUID has them. Source: Intel SDM vol. 2 (CPUID), AMD
 * APM vol. 3 appendix E; names as Linux shows them.
 */
final class CpuidFeatures {
    /** A register with feature flags: {@code bits} lists {@code number:name}. */
    private record Word(int function, int index, CpuidRegister register, String bits) {}

    /** One flag. */
    record Feature(int function, int index, CpuidRegister register, int bit) {
        int mask() {
            return 1 << bit;
        }

        boolean in(CpuidTable table) {
            return table.find(function, index)
                    .map(leaf -> (leaf.register(register) & mask()) != 0)
                    .orElse(false);
        }
    }

    private static final List<Word> WORDS = List.of(
            new Word(
                    1,
                    0,
                    CpuidRegister.EDX,
                    "0:fpu 1:vme 2:de 3:pse 4:tsc 5:msr 6:pae 7:mce 8:cx8 9:apic 11:sep 12:mtrr"
                            + " 13:pge 14:mca 15:cmov 16:pat 17:pse36 18:pn 19:clflush 21:dts 22:acpi 23:mmx"
                            + " 24:fxsr 25:sse 26:sse2 27:ss 28:ht 29:tm 30:ia64 31:pbe"),
            new Word(
                    1,
                    0,
                    CpuidRegister.ECX,
                    "0:pni 1:pclmulqdq 2:dtes64 3:monitor 4:ds_cpl 5:vmx 6:smx 7:est 8:tm2 9:ssse3"
                            + " 10:cid 11:sdbg 12:fma 13:cx16 14:xtpr 15:pdcm 17:pcid 18:dca 19:sse4_1 20:sse4_2"
                            + " 21:x2apic 22:movbe 23:popcnt 24:tsc_deadline_timer 25:aes 26:xsave 28:avx"
                            + " 29:f16c 30:rdrand 31:hypervisor"),
            new Word(6, 0, CpuidRegister.EAX, "2:arat"),
            new Word(
                    7,
                    0,
                    CpuidRegister.EBX,
                    "0:fsgsbase 1:tsc_adjust 2:sgx 3:bmi1 4:hle 5:avx2 7:smep 8:bmi2 9:erms"
                            + " 10:invpcid 11:rtm 12:cqm 14:mpx 15:rdt_a 16:avx512f 17:avx512dq 18:rdseed 19:adx"
                            + " 20:smap 21:avx512ifma 23:clflushopt 24:clwb 25:intel_pt 26:avx512pf 27:avx512er"
                            + " 28:avx512cd 29:sha_ni 30:avx512bw 31:avx512vl"),
            new Word(
                    7,
                    0,
                    CpuidRegister.ECX,
                    "1:avx512vbmi 2:umip 3:pku 4:ospke 5:waitpkg 6:avx512_vbmi2 7:user_shstk 8:gfni"
                            + " 9:vaes 10:vpclmulqdq 11:avx512_vnni 12:avx512_bitalg 13:tme 14:avx512_vpopcntdq"
                            + " 16:la57 22:rdpid 24:bus_lock_detect 25:cldemote 27:movdiri 28:movdir64b"
                            + " 29:enqcmd 30:sgx_lc"),
            new Word(
                    7,
                    0,
                    CpuidRegister.EDX,
                    "2:avx512_4vnniw 3:avx512_4fmaps 4:fsrm 8:avx512_vp2intersect 10:md_clear"
                            + " 14:serialize 16:tsxldtrk 18:pconfig 19:arch_lbr 20:ibt 22:amx_bf16"
                            + " 23:avx512_fp16 24:amx_tile 25:amx_int8 28:flush_l1d 29:arch_capabilities"),
            new Word(
                    7,
                    1,
                    CpuidRegister.EAX,
                    "4:avx_vnni 5:avx512_bf16 10:fzrm 11:fsrs 12:fsrc 21:amx_fp16 23:avx_ifma 26:lam"),
            new Word(0xd, 1, CpuidRegister.EAX, "0:xsaveopt 1:xsavec 2:xgetbv1 3:xsaves"),
            new Word(
                    0x8000_0001,
                    0,
                    CpuidRegister.EDX,
                    "11:syscall 19:mp 20:nx 22:mmxext 25:fxsr_opt 26:pdpe1gb 27:rdtscp 29:lm"
                            + " 30:3dnowext 31:3dnow"),
            new Word(
                    0x8000_0001,
                    0,
                    CpuidRegister.ECX,
                    "0:lahf_lm 1:cmp_legacy 2:svm 3:extapic 4:cr8_legacy 5:abm 6:sse4a 7:misalignsse"
                            + " 8:3dnowprefetch 9:osvw 10:ibs 11:xop 12:skinit 13:wdt 15:lwp 16:fma4 17:tce"
                            + " 19:nodeid_msr 21:tbm 22:topoext 23:perfctr_core 24:perfctr_nb 26:bpext 27:ptsc"
                            + " 28:perfctr_llc 29:mwaitx"),
            new Word(0x8000_0007, 0, CpuidRegister.EDX, "8:constant_tsc 8:nonstop_tsc"),
            new Word(
                    0x8000_0008,
                    0,
                    CpuidRegister.EBX,
                    "0:clzero 1:irperf 2:xsaveerptr 4:rdpru 9:wbnoinvd 12:ibpb 14:ibrs 15:stibp"
                            + " 24:ssbd 25:virt_ssbd"));

    /** Built when somebody names a feature, which few machines do. */
    private static final class Index {
        static final Map<String, List<Feature>> BY_NAME = index();
    }

    private CpuidFeatures() {}

    private static Map<String, List<Feature>> index() {
        Map<String, List<Feature>> names = new TreeMap<>();
        for (Word word : WORDS) {
            for (String entry : word.bits().split(" ", -1)) {
                int colon = entry.indexOf(':');
                int bit = Integer.parseInt(entry.substring(0, colon));
                names.computeIfAbsent(entry.substring(colon + 1), name -> new ArrayList<>())
                        .add(new Feature(word.function(), word.index(), word.register(), bit));
            }
        }
        return names;
    }

    /**
     * The flags behind a name.
     *
     * @throws BenchtopException of kind CONFIG if there is no such name
     */
    static List<Feature> named(String name) {
        List<Feature> features = Index.BY_NAME.get(name);
        if (features == null) {
            throw BenchtopException.config(
                    "unknown cpu feature \"" + name + "\"" + Suggestions.hint(name, Index.BY_NAME.keySet()));
        }
        return features;
    }

    /**
     * Turns features on and off.
     *
     * @throws BenchtopException of kind CONFIG for an unknown name, of kind HOST for one that KVM cannot give
     */
    static CpuidTable apply(CpuidTable supported, Map<String, Boolean> changes) {
        if (changes.isEmpty()) {
            return supported;
        }
        CpuidTable table = supported;
        for (Map.Entry<String, Boolean> change : new TreeMap<>(changes).entrySet()) {
            for (Feature feature : named(change.getKey())) {
                if (change.getValue() && !feature.in(supported)) {
                    throw BenchtopException.host(
                            "cpu feature \"+" + change.getKey() + "\": KVM on this host cannot give it to a guest");
                }
                table = with(table, feature, change.getValue());
            }
        }
        return table;
    }

    /** The table with one flag changed; a leaf that is not there stays away. */
    static CpuidTable with(CpuidTable table, Feature feature, boolean on) {
        return table.find(feature.function(), feature.index())
                .map(leaf -> {
                    int old = leaf.register(feature.register());
                    int value = on ? old | feature.mask() : old & ~feature.mask();
                    return table.with(leaf.with(feature.register(), value));
                })
                .orElse(table);
    }
}
