package org.benchtop.softcpu;

import java.util.Arrays;
import java.util.HexFormat;

/** Text about instructions and state for reports. */
final class Disassembly {
    private static final System.Logger LOG = System.getLogger("org.benchtop.softcpu");
    private static final String[] REGISTERS = {
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
    };
    private static final String[] SEGMENTS = {"es", "cs", "ss", "ds", "fs", "gs", "tr", "ldt"};

    private Disassembly() {}

    /** Up to 15 bytes at an offset in CS; fewer where memory ends. Has no side effect. */
    static byte[] bytesAt(Cpu c, long rip) {
        byte[] bytes = new byte[Insn.MAX_LENGTH];
        int n = 0;
        while (n < bytes.length) {
            long physical = c.mmu.peek(c.codeLinear(rip + n));
            PhysicalMemory.Slot slot = physical < 0 ? null : c.vm.memory().at(physical);
            if (slot == null) {
                break;
            }
            bytes[n++] = (byte) HostMemory.get8(slot.host + (physical - slot.gpa));
        }
        return Arrays.copyOf(bytes, n);
    }

    static String mode(Cpu c) {
        if (!c.protectedMode()) {
            return "real mode";
        }
        if (c.virtual8086()) {
            return "virtual-8086 mode";
        }
        String size = c.codeSize == 8 ? "64-bit" : c.codeSize == 4 ? "32-bit" : "16-bit";
        return size + (c.longMode() && c.codeSize != 8 ? " compatibility" : "") + " mode, CPL " + c.cpl;
    }

    /** Says at debug level which undefined opcode the guest met, once it raises #UD. */
    static void noteUndefined(String vm, int index, Insn in, Cpu c) {
        LOG.log(
                System.Logger.Level.DEBUG,
                () -> vm + " vCPU " + index + ": undefined opcode at rip=0x" + Long.toHexString(in.rip) + " in "
                        + mode(c) + ": " + text(c, bytesAt(c, in.rip), in.rip) + " ("
                        + HexFormat.ofDelimiter(" ").formatHex(bytesAt(c, in.rip)) + ")");
    }

    private static String text(Cpu c, byte[] code, long rip) {
        return c.vm.host().disassemble(code, rip, 8 * c.codeSize);
    }

    /** The instructions of a block, a line each. */
    private static void list(Cpu c, Block block, StringBuilder text) {
        for (Insn in : block.insns) {
            byte[] code = new byte[in.length];
            for (int i = 0; i < code.length; i++) {
                code[i] = block.byteAt(in.rip + i);
            }
            text.append("\n ")
                    .append(in.rip == c.rip ? '>' : ' ')
                    .append(Long.toHexString(in.rip))
                    .append("  ")
                    .append(text(c, code, in.rip));
        }
    }

    private static String hex(long value) {
        return String.format("%016x", value);
    }

    /** All of the state that says where a processor is, over several lines. */
    static String dump(Cpu c) {
        StringBuilder text = new StringBuilder(mode(c));
        text.append(", rip=").append(hex(c.rip)).append(" rflags=").append(Long.toHexString(c.rflags()));
        text.append(", instructions=").append(c.instructions);
        for (int i = 0; i < 16; i++) {
            text.append(i % 4 == 0 ? '\n' : ' ')
                    .append(String.format("%-3s", REGISTERS[i]))
                    .append('=')
                    .append(hex(c.r[i]));
        }
        for (int i = 0; i < 8; i++) {
            text.append(i % 4 == 0 ? '\n' : ' ')
                    .append(String.format("%-3s", SEGMENTS[i]))
                    .append('=')
                    .append(String.format("%04x", c.selector[i]))
                    .append('@')
                    .append(Long.toHexString(c.segBase[i]))
                    .append('+')
                    .append(Long.toHexString(c.segLimit[i]));
        }
        text.append(String.format(
                "%ncr0=%x cr2=%x cr3=%x cr4=%x efer=%x gdt=%x+%x idt=%x+%x",
                c.cr0, c.cr2, c.cr3, c.cr4, c.efer, c.gdtBase, c.gdtLimit, c.idtBase, c.idtLimit));
        text.append("\nlast blocks:");
        for (int i = 1; i <= c.lastBlocks.length; i++) {
            text.append(' ').append(Long.toHexString(c.lastBlocks[c.lastBlock + i & c.lastBlocks.length - 1]));
        }
        text.append("\nlast exceptions (vector@rip):");
        for (int i = 2; i <= c.lastExceptions.length; i += 2) {
            int at = c.lastException + i & c.lastExceptions.length - 1;
            if (c.lastExceptions[at] != 0) {
                text.append(' ')
                        .append(c.lastExceptions[at] & 0xff)
                        .append('@')
                        .append(Long.toHexString(c.lastExceptions[at + 1]));
            }
        }
        byte[] code = bytesAt(c, c.rip);
        text.append("\ncode: ").append(HexFormat.ofDelimiter(" ").formatHex(code));
        Block block = c.current;
        if (block != null && block.mode == c.modeKey) {
            text.append("\nlast block:");
            list(c, block, text);
        }
        return text.toString();
    }
}
