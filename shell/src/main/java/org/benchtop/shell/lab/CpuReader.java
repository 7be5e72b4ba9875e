package org.benchtop.shell.lab;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.benchtop.shell.lab.CpuState.Group;
import org.benchtop.shell.lab.CpuState.Mode;
import org.benchtop.shell.lab.CpuState.Register;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;
import org.jspecify.annotations.Nullable;

/** Reads every register of a vCPU that does not run. */
final class CpuReader {
    private static final long CR0_PE = 1;
    private static final long EFER_LMA = 1 << 10;
    private static final int FXSAVE_BYTES = 512;
    private static final int XSTATE_BV = 512;
    /** Where KVM and all known CPUs keep the upper halves of YMM in the standard format (CPUID 0xD, 2). */
    private static final int YMM_HIGH = 576;

    private static final int ST0 = 32;
    private static final int XMM0 = 160;

    private static final String[] RFLAGS = {
        "CF", "", "PF", "", "AF", "", "ZF", "SF", "TF", "IF", "DF", "OF", "", "", "NT", "", "RF", "VM", "AC", "VIF",
        "VIP", "ID",
    };
    private static final String[] CR0 = {
        "PE", "MP", "EM", "TS", "ET", "NE", "", "", "", "", "", "", "", "", "", "", "WP", "", "AM", "", "", "", "", "",
        "", "", "", "", "", "NW", "CD", "PG",
    };
    private static final String[] CR4 = {
        "VME",
        "PVI",
        "TSD",
        "DE",
        "PSE",
        "PAE",
        "MCE",
        "PGE",
        "PCE",
        "OSFXSR",
        "OSXMMEXCPT",
        "UMIP",
        "LA57",
        "VMXE",
        "SMXE",
        "",
        "FSGSBASE",
        "PCIDE",
        "OSXSAVE",
        "KL",
        "SMEP",
        "SMAP",
        "PKE",
        "CET",
        "PKS",
    };
    private static final String[] EFER = {
        "SCE", "", "", "", "", "", "", "", "LME", "", "LMA", "NXE", "SVME", "LMSLE", "FFXSR", "TCE",
    };

    /** Names as in the Intel SDM vol. 4, without IA32_ where that is common to all. */
    private static final Map<String, Integer> MSRS = msrs();

    private final Map<String, Register> registers = new LinkedHashMap<>();

    private CpuReader() {}

    private static Map<String, Integer> msrs() {
        Map<String, Integer> msrs = new LinkedHashMap<>();
        msrs.put("tsc", 0x10);
        msrs.put("apic_base", 0x1b);
        msrs.put("sysenter_cs", 0x174);
        msrs.put("sysenter_esp", 0x175);
        msrs.put("sysenter_eip", 0x176);
        msrs.put("misc_enable", 0x1a0);
        msrs.put("pat", 0x277);
        msrs.put("mtrr_def_type", 0x2ff);
        msrs.put("tsc_deadline", 0x6e0);
        msrs.put("star", 0xc000_0081);
        msrs.put("lstar", 0xc000_0082);
        msrs.put("cstar", 0xc000_0083);
        msrs.put("sfmask", 0xc000_0084);
        msrs.put("fs_base", 0xc000_0100);
        msrs.put("gs_base", 0xc000_0101);
        msrs.put("kernel_gs_base", 0xc000_0102);
        msrs.put("tsc_aux", 0xc000_0103);
        return msrs;
    }

    static CpuState read(String machine, Vcpu vcpu, @Nullable CpuState before) {
        CpuReader reader = new CpuReader();
        Registers general = vcpu.registers();
        SpecialRegisters special = vcpu.specialRegisters();
        reader.general(general);
        reader.segments(special);
        reader.control(special);
        reader.debug(vcpu.debugRegisters());
        MSRS.forEach((name, index) -> {
            OptionalLong value = vcpu.msr(index);
            value.ifPresent(v -> reader.add(Group.MSR, name, 64, v, ""));
        });
        reader.extended(vcpu.extendedState());
        Mode mode = mode(special);
        int ring = mode == Mode.REAL ? 0 : special.cs().selector() & 3;
        return new CpuState(machine, vcpu.index(), mode, ring, reader.registers, changed(reader.registers, before));
    }

    static Mode mode(SpecialRegisters special) {
        if ((special.cr0() & CR0_PE) == 0) {
            return Mode.REAL;
        }
        if ((special.efer() & EFER_LMA) != 0 && special.cs().longMode()) {
            return Mode.LONG;
        }
        return special.cs().db() ? Mode.PROTECTED_32 : Mode.PROTECTED_16;
    }

    private static Set<String> changed(Map<String, Register> now, @Nullable CpuState before) {
        Set<String> names = new HashSet<>();
        if (before != null) {
            now.forEach((name, register) -> {
                Optional<Register> old = Optional.ofNullable(before.registers().get(name));
                if (old.isEmpty() || !old.get().value().equals(register.value())) {
                    names.add(name);
                }
            });
        }
        return names;
    }

    private void add(Group group, String name, int bits, long value, String meaning) {
        registers.put(name, Register.of(group, name, bits, value, meaning));
    }

    private void general(Registers r) {
        String[] names = {
            "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
            "r15", "rip",
        };
        long[] values = {
            r.rax(), r.rbx(), r.rcx(), r.rdx(), r.rsi(), r.rdi(), r.rbp(), r.rsp(), r.r8(), r.r9(), r.r10(), r.r11(),
            r.r12(), r.r13(), r.r14(), r.r15(), r.rip(),
        };
        for (int i = 0; i < names.length; i++) {
            add(Group.GENERAL, names[i], 64, values[i], "");
        }
        add(Group.GENERAL, "rflags", 32, r.rflags(), flags(r.rflags(), RFLAGS) + iopl(r.rflags()));
    }

    private static String iopl(long rflags) {
        long level = rflags >>> 12 & 3;
        return level == 0 ? "" : " IOPL=" + level;
    }

    private static String flags(long value, String[] names) {
        List<String> set = new ArrayList<>();
        for (int i = 0; i < names.length; i++) {
            if ((value >>> i & 1) != 0 && !names[i].isEmpty()) {
                set.add(names[i]);
            }
        }
        return String.join(" ", set.reversed());
    }

    private void segments(SpecialRegisters s) {
        segment("cs", s.cs());
        segment("ds", s.ds());
        segment("es", s.es());
        segment("fs", s.fs());
        segment("gs", s.gs());
        segment("ss", s.ss());
        segment("tr", s.tr());
        segment("ldt", s.ldt());
        table("gdt", s.gdt());
        table("idt", s.idt());
    }

    private void segment(String name, SegmentRegister s) {
        String meaning = s.unusable()
                ? "unusable"
                : String.format(
                        Locale.ROOT,
                        "base=%x limit=%x %s dpl=%d%s%s%s",
                        s.base(),
                        s.limit(),
                        kind(s),
                        s.dpl(),
                        s.longMode() ? " long" : s.db() ? " 32-bit" : s.system() ? "" : " 16-bit",
                        s.granularity() ? " pages" : "",
                        s.present() ? "" : " absent");
        add(Group.SEGMENT, name, 16, s.selector(), meaning);
        add(Group.SEGMENT, name + ".base", 64, s.base(), "");
        add(Group.SEGMENT, name + ".limit", 32, s.limit() & 0xffff_ffffL, "");
    }

    private static String kind(SegmentRegister s) {
        if (s.system()) {
            return "system type " + s.type();
        }
        boolean code = (s.type() & 8) != 0;
        boolean second = (s.type() & 2) != 0;
        return code ? second ? "code r-x" : "code --x" : second ? "data rw-" : "data r--";
    }

    private void table(String name, DescriptorTable table) {
        registers.put(
                name, Register.of(Group.TABLE, name, 64, table.base(), "limit=" + Integer.toHexString(table.limit())));
    }

    private void control(SpecialRegisters s) {
        add(Group.CONTROL, "cr0", 64, s.cr0(), flags(s.cr0(), CR0));
        add(Group.CONTROL, "cr2", 64, s.cr2(), "");
        add(Group.CONTROL, "cr3", 64, s.cr3(), "");
        add(Group.CONTROL, "cr4", 64, s.cr4(), flags(s.cr4(), CR4));
        add(Group.CONTROL, "cr8", 64, s.cr8(), "");
        add(Group.CONTROL, "efer", 64, s.efer(), flags(s.efer(), EFER));
    }

    private void debug(long[] values) {
        String[] names = {"dr0", "dr1", "dr2", "dr3", "dr6", "dr7"};
        for (int i = 0; i < Math.min(names.length, values.length); i++) {
            add(Group.DEBUG, names[i], 64, values[i], "");
        }
    }

    /** x87 and SSE from the legacy region, AVX where XSTATE_BV says that it is not in its initial state. */
    private void extended(byte[] area) {
        if (area.length < FXSAVE_BYTES) {
            return;
        }
        ByteBuffer buffer = ByteBuffer.wrap(area).order(ByteOrder.LITTLE_ENDIAN);
        add(Group.X87, "fcw", 16, buffer.getShort(0) & 0xffff, "");
        add(Group.X87, "fsw", 16, buffer.getShort(2) & 0xffff, "");
        add(Group.X87, "ftw", 8, buffer.get(4) & 0xff, "");
        for (int i = 0; i < 8; i++) {
            vector(Group.X87, "st" + i, buffer, ST0 + 16 * i, 10);
        }
        add(Group.VECTOR, "mxcsr", 32, buffer.getInt(24) & 0xffff_ffffL, "");
        for (int i = 0; i < 16; i++) {
            vector(Group.VECTOR, "xmm" + i, buffer, XMM0 + 16 * i, 16);
        }
        if (area.length >= YMM_HIGH + 256 && (buffer.getLong(XSTATE_BV) & 4) != 0) {
            for (int i = 0; i < 16; i++) {
                byte[] whole = new byte[33];
                for (int b = 0; b < 16; b++) {
                    whole[32 - b] = area[XMM0 + 16 * i + b];
                    whole[16 - b] = area[YMM_HIGH + 16 * i + b];
                }
                String name = "ymm" + i;
                registers.put(name, new Register(Group.VECTOR, name, 256, new BigInteger(whole), ""));
            }
        }
    }

    private void vector(Group group, String name, ByteBuffer buffer, int offset, int bytes) {
        byte[] bigEndian = new byte[bytes + 1];
        for (int i = 0; i < bytes; i++) {
            bigEndian[bytes - i] = buffer.get(offset + i);
        }
        registers.put(name, new Register(group, name, 8 * bytes, new BigInteger(bigEndian), ""));
    }
}
