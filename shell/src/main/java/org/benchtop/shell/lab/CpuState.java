package org.benchtop.shell.lab;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.benchtop.spi.BenchtopException;

/**
 * All registers of one vCPU at one moment.
 *
 * @param machine the machine's name
 * @param vcpu the vCPU's index
 * @param mode what kind of code it executes
 * @param ring its privilege level, 0 to 3
 * @param registers all of them, in the order of their groups
 * @param changed the names of those that differ from the capture before of this vCPU; empty for the first one
 */
public record CpuState(
        String machine, int vcpu, Mode mode, int ring, Map<String, Register> registers, Set<String> changed) {
    private static final int PER_LINE = 4;

    public CpuState {
        registers = Collections.unmodifiableMap(new LinkedHashMap<>(registers));
        changed = Collections.unmodifiableSet(new TreeSet<>(changed));
    }

    /** What kind of code a vCPU executes. */
    public enum Mode {
        /** 16-bit real mode. */
        REAL(16),
        /** 16-bit code in protected or compatibility mode. */
        PROTECTED_16(16),
        /** 32-bit code in protected or compatibility mode. */
        PROTECTED_32(32),
        /** 64-bit mode. */
        LONG(64);

        private final int bits;

        Mode(int bits) {
            this.bits = bits;
        }

        /** The default size of addresses: 16, 32 or 64. */
        public int bits() {
            return bits;
        }
    }

    /** Kinds of registers. */
    public enum Group {
        /** General registers, RIP and RFLAGS. */
        GENERAL,
        /** Segment registers: the value is the selector, the meaning shows the hidden part. */
        SEGMENT,
        /** Bases and limits of descriptor tables. */
        TABLE,
        /** Control registers and EFER. */
        CONTROL,
        /** Debug registers. */
        DEBUG,
        /** Model-specific registers. */
        MSR,
        /** x87 registers. */
        X87,
        /** SSE and AVX registers. */
        VECTOR,
    }

    /**
     * One register.
     *
     * @param bits its width
     * @param value unsigned
     * @param meaning decoded flags or fields; empty if there is nothing to say
     */
    public record Register(Group group, String name, int bits, BigInteger value, String meaning) {
        static Register of(Group group, String name, int bits, long value, String meaning) {
            BigInteger unsigned = BigInteger.valueOf(value);
            return new Register(
                    group,
                    name,
                    bits,
                    unsigned.signum() < 0 ? unsigned.add(BigInteger.ONE.shiftLeft(64)) : unsigned,
                    meaning);
        }

        /** The value in hexadecimal, with all digits. */
        public String hex() {
            String digits = value.toString(16);
            return "0".repeat(Math.max(0, (bits + 3) / 4 - digits.length())) + digits;
        }

        @Override
        public String toString() {
            return name + "=" + hex() + (meaning.isEmpty() ? "" : " [" + meaning + "]");
        }
    }

    /**
     * A difference between two captures.
     *
     * @param name the register
     */
    public record Change(String name, Register before, Register after) {
        @Override
        public String toString() {
            return name + ": " + before.hex() + " -> " + after.hex()
                    + (after.meaning().isEmpty() ? "" : " [" + after.meaning() + "]");
        }
    }

    /**
     * The low 64 bits of a register.
     *
     * @param name as it is shown, in any case, such as {@code rax}, {@code cr3}, {@code xmm0}
     * @throws BenchtopException of kind CONFIG if there is none of that name
     */
    public long get(String name) {
        return register(name).value().longValue();
    }

    /** A register by name, in any case. */
    public Register register(String name) {
        Register register = registers.get(name.toLowerCase(Locale.ROOT));
        if (register == null) {
            throw BenchtopException.config(
                    "there is no register \"" + name + "\" (known: " + String.join(", ", registers.keySet()) + ")");
        }
        return register;
    }

    /** The registers of a kind. */
    public List<Register> group(Group group) {
        return registers.values().stream().filter(r -> r.group() == group).toList();
    }

    /** RIP as a linear address: with the base of CS where it has one. */
    public long linearRip() {
        long base = mode == Mode.LONG ? 0 : get("cs.base");
        long rip = get("rip");
        return mode == Mode.LONG ? rip : base + rip & 0xffff_ffffL;
    }

    /** What has changed since an earlier capture, of this or another machine. */
    public List<Change> since(CpuState earlier) {
        List<Change> changes = new ArrayList<>();
        registers.forEach((name, now) -> Optional.ofNullable(earlier.registers.get(name))
                .filter(before -> !before.value().equals(now.value()))
                .ifPresent(before -> changes.add(new Change(name, before, now))));
        return changes;
    }

    /** Everything but x87, vector registers and MSRs that are zero; a star marks what has changed. */
    @Override
    public String toString() {
        return text(false);
    }

    /** Everything, x87 and vector registers too. */
    public String all() {
        return text(true);
    }

    private String text(boolean all) {
        StringBuilder text = new StringBuilder();
        text.append(machine)
                .append(" vcpu")
                .append(vcpu)
                .append(", ")
                .append(mode.bits())
                .append("-bit ");
        text.append(mode == Mode.REAL ? "real mode" : "code, ring " + ring).append('\n');
        Map<Group, List<Register>> groups = new EnumMap<>(Group.class);
        for (Group group : Group.values()) {
            groups.put(group, group(group));
        }
        groups.forEach((group, list) -> {
            switch (group) {
                case GENERAL -> grid(text, list, PER_LINE);
                case SEGMENT, TABLE, CONTROL ->
                    lines(
                            text,
                            list.stream()
                                    .filter(r -> all || !r.name().contains("."))
                                    .toList());
                case DEBUG, MSR ->
                    grid(
                            text,
                            list.stream()
                                    .filter(r -> all || r.value().signum() != 0 || changed.contains(r.name()))
                                    .toList(),
                            3);
                case X87, VECTOR -> {
                    if (all) {
                        lines(text, list);
                    }
                }
            }
        });
        return text.toString().stripTrailing();
    }

    private String shown(Register register) {
        return (changed.contains(register.name()) ? "*" : " ") + register;
    }

    private void grid(StringBuilder text, List<Register> list, int columns) {
        TextColumns table = new TextColumns("l".repeat(columns));
        for (int i = 0; i < list.size(); i += columns) {
            table.row(list.subList(i, Math.min(list.size(), i + columns)).stream()
                    .map(this::shown)
                    .toArray());
        }
        text.append(table.render(""));
    }

    private void lines(StringBuilder text, List<Register> list) {
        list.forEach(register -> text.append(shown(register)).append('\n'));
    }
}
