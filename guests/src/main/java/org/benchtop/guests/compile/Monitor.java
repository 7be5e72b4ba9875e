package org.benchtop.guests.compile;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.benchtop.guests.GuestLayout;

/**
 * The ring-0 part of every guest: mode switches, descriptor and page tables, interrupt and exception entries.
 *
 * <p>All tables are built here, at compile time, so a CPU enters long mode and then ring 3 in about forty
 * instructions; an interrupt costs three. That matters where ring 0 is interpreted. Entries: PVH (32-bit, EBX =
 * start_info), the Linux 64-bit protocol (RSI = boot_params), and INIT/SIPI at {@link GuestLayout#SMP_TRAMPOLINE}.
 */
final class Monitor {
    /**
     * Calls from ring 3 are an invalid instruction (UD2) with one of these in EAX.
     *
     * <p>An exception reaches ring 0 on every KVM; a software interrupt does not where ring 0 is emulated.
     */
    static final int CALL_WAIT = 0x4254_0000;

    static final int CALL_READ_MSR = CALL_WAIT + 1;
    static final int CALL_WRITE_MSR = CALL_WAIT + 2;
    static final int CALL_PARK = CALL_WAIT + 3;
    static final int CALL_INTERRUPTS_ON = CALL_WAIT + 4;
    static final int CALL_INTERRUPTS_OFF = CALL_WAIT + 5;
    static final int CALL_FLUSH_TLB = CALL_WAIT + 6;

    /** Symbols the monitor refers to: the runtime's ring-3 entries and the stack for exception reports. */
    static final String START = "start";

    static final String TRAP = "trap";
    static final String TRAP_STACK = "trap_stack";
    static final int TRAP_STACK_SIZE = 16384;

    static final String TRAMPOLINE = "smp_trampoline";
    static final String TRAMPOLINE_END = "smp_trampoline_end";

    private static final int PML4 = 0;
    private static final int PDPT = 0x1000;
    private static final int PAGE_DIRECTORIES = 0x2000;
    private static final int PAGE_TABLES = 0x6000;
    private static final int IDT = 0x8000;
    private static final int GDT = 0x9000;
    private static final int TASK_STATES = 0xa000;
    private static final int IO_BITMAP = 0xa800;
    private static final int IO_BITMAP_SIZE = 8192;
    private static final int CODE = 0xd000;

    private static final int TASK_STATE_STRIDE = 128;
    private static final int FIRST_TASK_SELECTOR = 0x30;
    private static final int CODE32 = 0x08;
    private static final int DATA = 0x10;
    private static final int CODE64 = 0x18;
    private static final int USER_DATA = 0x23;
    private static final int USER_CODE = 0x2b;

    /** Present, writable, user, accessed, dirty. */
    private static final long PAGE = 0x67;

    private static final long TABLE = 0x27;
    private static final long LARGE_PAGE = 0xe7;
    private static final int INVALID_INSTRUCTION = 6;
    private static final int STUB_SIZE = 24;
    private static final int LOCAL_APIC_EOI = 0xfee000b0;

    /** The monitor's segment with its entry points. */
    record Image(CodeBlob blob, long pvhEntry, long longModeEntry, Map<String, Long> symbols) {}

    private final Assembler asm = new Assembler();
    private final Map<String, Long> symbols = new TreeMap<>();
    private final int[] handlers = new int[256];
    private int park;
    private int protectedMode;
    private int longMode;

    private Monitor() {}

    static Image build() {
        return new Monitor().run();
    }

    private Image run() {
        int parkLabel = asm.newLabel();
        asm.bind(parkLabel);
        park = asm.position();
        asm.emit(0xfa, 0xf4);
        asm.jmp(parkLabel);
        cpuStart(parkLabel);
        int pvh = protectedModeEntry();
        int entry64 = longModeEntry();
        trampoline();
        exceptions(parkLabel);
        interrupts();
        byte[] code = asm.finish();
        ByteBuffer image = ByteBuffer.allocate(CODE + code.length).order(ByteOrder.LITTLE_ENDIAN);
        pageTables(image);
        interruptTable(image);
        segments(image);
        image.put(CODE, code);
        List<Assembler.Fixup> fixups = asm.fixups().stream()
                .map(fixup -> new Assembler.Fixup(fixup.offset() + CODE, fixup.kind(), fixup.symbol(), fixup.addend()))
                .toList();
        symbols.put("first_page_entry", (long) table(PAGE_TABLES));
        symbols.put("monitor_park", address(park));
        symbols.put("monitor_start_cpu", address(longMode));
        symbols.put("monitor_pvh_entry", address(pvh));
        symbols.put("monitor_entry64", address(entry64));
        return new Image(
                new CodeBlob("monitor", image.array(), fixups, List.of()), address(pvh), address(entry64), symbols);
    }

    private static long address(int position) {
        return GuestLayout.MONITOR + CODE + position;
    }

    private static int table(int offset) {
        return (int) GuestLayout.MONITOR + offset;
    }

    // ---- code

    /** 64-bit, on flat segments: takes a CPU number and goes to ring 3. */
    private void cpuStart(int parkLabel) {
        longMode = asm.position();
        asm.emit(0xb8, 1, 0, 0, 0); // mov eax, 1
        asm.emit(0xf0);
        asm.rm(false, 0x0fc1, Assembler.RAX, Assembler.Mem.absolute((int) GuestLayout.CPU_COUNT)); // lock xadd
        asm.aluImmediate(Assembler.CMP, false, Assembler.RAX, GuestLayout.MAX_CPUS);
        asm.jcc(Condition.ABOVE_EQUAL, parkLabel);
        asm.lea(false, Assembler.RCX, Assembler.Mem.at(Assembler.RAX, 1));
        asm.shiftImmediate(Assembler.SHL, false, Assembler.RCX, 16);
        asm.lea(true, Assembler.RSP, Assembler.Mem.at(Assembler.RCX, (int) GuestLayout.STACKS));
        asm.rm(false, 0x0f01, 3, Assembler.Mem.absolute(table(GDT + 0x3e0))); // lidt
        asm.movImmediate(Assembler.RCX, USER_DATA);
        asm.emit(0x8e, 0xd9, 0x8e, 0xc1, 0x8e, 0xe1, 0x8e, 0xe9); // ds, es, fs, gs
        asm.mov(false, Assembler.RDI, Assembler.RAX);
        asm.shiftImmediate(Assembler.SHL, false, Assembler.RAX, 4);
        asm.aluImmediate(Assembler.ADD, false, Assembler.RAX, FIRST_TASK_SELECTOR);
        asm.emit(0x0f, 0x00, 0xd8); // ltr ax
        asm.emit(0x6a, USER_DATA);
        asm.lea(true, Assembler.RDX, Assembler.Mem.at(Assembler.RSP, -0x2000));
        asm.push(Assembler.RDX);
        asm.pushImmediate(0x3002); // IOPL 3, interrupts off
        asm.emit(0x6a, USER_CODE);
        asm.emit8(0x68);
        asm.symbol32(START, 0);
        asm.emit(0x48, 0xcf); // iretq
    }

    private static final int[] MASK_LEGACY_PICS = {0xb0, 0xff, 0xe6, 0x21, 0xe6, 0xa1};

    private int protectedModeEntry() {
        final int entry = asm.position();
        asm.emit(0xfa, 0xfc); // cli; cld
        asm.emit(0x89, 0x1d); // mov [START_INFO], ebx
        asm.emit32((int) GuestLayout.START_INFO);
        asm.emit(MASK_LEGACY_PICS);
        asm.emit(0x0f, 0x01, 0x15); // lgdt
        asm.emit32(table(GDT + 0x3d0));
        // Secondary CPUs come here with the same table, on segments with 64 KiB limits.
        protectedMode = asm.position();
        asm.emit8(0xb8);
        asm.emit32(DATA);
        asm.emit(0x8e, 0xd8, 0x8e, 0xc0, 0x8e, 0xd0); // ds, es, ss
        asm.emit8(0xb8);
        asm.emit32(0x620); // PAE, OSFXSR, OSXMMEXCPT
        asm.emit(0x0f, 0x22, 0xe0); // mov cr4, eax
        asm.emit8(0xb8);
        asm.emit32(table(PML4));
        asm.emit(0x0f, 0x22, 0xd8); // mov cr3, eax
        asm.emit8(0xb9);
        asm.emit32(0xc000_0080); // EFER
        asm.emit(0x0f, 0x32, 0x0d, 0x00, 0x01, 0x00, 0x00, 0x0f, 0x30); // rdmsr; or eax, LME; wrmsr
        asm.emit8(0xb8);
        asm.emit32(0x8000_0033); // PG, NE, ET, MP, PE
        asm.emit(0x0f, 0x22, 0xc0); // mov cr0, eax
        asm.emit8(0xea);
        asm.emit32((int) address(longMode));
        asm.emit16(CODE64);
        return entry;
    }

    private int longModeEntry() {
        final int entry = asm.position();
        asm.emit(0xfa, 0xfc);
        asm.store(true, Assembler.Mem.absolute((int) GuestLayout.BOOT_PARAMS), Assembler.RSI);
        asm.emit(MASK_LEGACY_PICS);
        asm.rm(false, 0x0f01, 2, Assembler.Mem.absolute(table(GDT + 0x3d0))); // lgdt
        asm.movImmediate(Assembler.RAX, table(PML4));
        asm.emit(0x0f, 0x22, 0xd8);
        asm.movImmediate(Assembler.RSP, GuestLayout.STACKS + GuestLayout.STACK_SLOT_SIZE);
        asm.pushImmediate(CODE64);
        asm.pushImmediate((int) address(longMode));
        asm.emit(0x48, 0xcb); // retfq
        return entry;
    }

    /** 16-bit code, position-dependent at {@link GuestLayout#SMP_TRAMPOLINE}. */
    private void trampoline() {
        int start = asm.position();
        symbols.put(TRAMPOLINE, address(start));
        asm.emit(0xfa, 0x31, 0xc0, 0x8e, 0xd8); // cli; xor ax, ax; mov ds, ax
        int pointer = (int) GuestLayout.SMP_TRAMPOLINE + 0x20;
        asm.emit(0x66, 0x0f, 0x01, 0x16, pointer, pointer >> 8); // lgdt [pointer]
        asm.emit(0x0f, 0x20, 0xc0, 0x0c, 0x01, 0x0f, 0x22, 0xc0); // cr0 |= PE
        asm.emit(0x66, 0xea);
        asm.emit32((int) address(protectedMode));
        asm.emit16(CODE32);
        while (asm.position() < start + 0x20) {
            asm.emit8(0);
        }
        asm.emit16(gdtLimit());
        asm.emit32(table(GDT));
        symbols.put(TRAMPOLINE_END, address(asm.position()));
    }

    /** The invalid-instruction exception: a call from ring 3, most likely; RDI and RSI are arguments of a wait. */
    private void calls(int parkLabel) {
        int exception = asm.newLabel();
        int others = asm.newLabel();
        int done = asm.newLabel();
        asm.aluImmediate(Assembler.SUB, false, Assembler.RAX, CALL_WAIT);
        asm.aluImmediate(Assembler.CMP, false, Assembler.RAX, CALL_FLUSH_TLB - CALL_WAIT);
        asm.jcc(Condition.ABOVE, exception);
        asm.aluImmediate(Assembler.ADD, true, Assembler.Mem.at(Assembler.RSP, 0), 2); // past the UD2
        asm.test(false, Assembler.RAX, Assembler.RAX);
        asm.jcc(Condition.NOT_EQUAL, others);
        asm.aluStore(Assembler.CMP, true, Assembler.Mem.at(Assembler.RDI, 0), Assembler.RSI);
        asm.jcc(Condition.NOT_EQUAL, done);
        asm.emit(0xfb, 0xf4); // sti; hlt: an interrupt cannot come between them
        asm.bind(done);
        asm.emit(0x48, 0xcf); // iretq
        asm.bind(others);
        callCase(CALL_READ_MSR, 0x0f, 0x32);
        // The value comes in RDX: mov eax, edx; shr rdx, 32; wrmsr
        callCase(CALL_WRITE_MSR, 0x89, 0xd0, 0x48, 0xc1, 0xea, 0x20, 0x0f, 0x30);
        // The interrupt flag of ring 3 changes in the saved RFLAGS, because IOPL may not survive an IRET.
        callCase(CALL_INTERRUPTS_ON, 0x81, 0x4c, 0x24, 0x10, 0x00, 0x02, 0x00, 0x00);
        callCase(CALL_INTERRUPTS_OFF, 0x81, 0x64, 0x24, 0x10, 0xff, 0xfd, 0xff, 0xff);
        callCase(CALL_FLUSH_TLB, 0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8); // mov rax, cr3; mov cr3, rax
        asm.jmp(parkLabel);
        asm.bind(exception);
        asm.aluImmediate(Assembler.ADD, false, Assembler.RAX, CALL_WAIT);
        asm.emit(0x6a, 0, 0x6a, INVALID_INSTRUCTION);
    }

    private void callCase(int call, int... code) {
        int next = asm.newLabel();
        asm.aluImmediate(Assembler.CMP, false, Assembler.RAX, call - CALL_WAIT);
        asm.jcc(Condition.NOT_EQUAL, next);
        asm.emit(code);
        asm.emit(0x48, 0xcf);
        asm.bind(next);
    }

    /** Saves all registers and reports from ring 3, in the runtime's trap method, on a stack of its own. */
    private void exceptions(int parkLabel) {
        final int common = asm.newLabel();
        for (int vector = 0; vector < 32; vector++) {
            if (vector == INVALID_INSTRUCTION) {
                continue;
            }
            handlers[vector] = asm.position();
            if (!pushesErrorCode(vector)) {
                asm.emit(0x6a, 0);
            }
            asm.emit(0x6a, vector);
            asm.jmp(common);
        }
        handlers[INVALID_INSTRUCTION] = asm.position();
        calls(parkLabel);
        asm.bind(common);
        for (int register = 0; register < 16; register++) {
            if (register != Assembler.RSP) {
                asm.push(register);
            }
        }
        asm.emit(0x0f, 0x20, 0xd0); // mov rax, cr2
        asm.push(Assembler.RAX);
        int again = asm.newLabel();
        asm.emit(0xf0, 0x0f, 0xba, 0x2c, 0x25); // lock bts dword [TRAP_OWNER], 0
        asm.emit32((int) GuestLayout.TRAP_OWNER);
        asm.emit8(0);
        asm.jcc(Condition.BELOW, again);
        asm.mov(true, Assembler.RDI, Assembler.RSP);
        asm.emit(0x6a, USER_DATA);
        asm.emit8(0x68);
        asm.symbol32(TRAP_STACK, TRAP_STACK_SIZE - 8);
        asm.pushImmediate(0x3002);
        asm.emit(0x6a, USER_CODE);
        asm.emit8(0x68);
        asm.symbol32(TRAP, 0);
        asm.emit(0x48, 0xcf);
        asm.bind(again);
        // The report itself failed: leave with a code of its own. Another CPU's exception just stops that CPU.
        asm.load(true, Assembler.RAX, Assembler.Mem.at(Assembler.RSP, 168));
        asm.movSymbol(Assembler.RCX, TRAP_STACK, 0);
        asm.alu(Assembler.SUB, true, Assembler.RAX, Assembler.RCX);
        asm.aluImmediate(Assembler.CMP, true, Assembler.RAX, TRAP_STACK_SIZE);
        asm.jcc(Condition.ABOVE, parkLabel);
        asm.movImmediate(Assembler.RAX, 126);
        asm.movImmediate(Assembler.RDX, GuestLayout.EXIT_PORT);
        asm.emit8(0xef); // out dx, eax
        asm.jmp(parkLabel);
    }

    private static boolean pushesErrorCode(int vector) {
        return switch (vector) {
            case 8, 10, 11, 12, 13, 14, 17, 21, 29, 30 -> true;
            default -> false;
        };
    }

    private void interrupts() {
        for (int vector = 32; vector < 255; vector++) {
            asm.align(STUB_SIZE, 0xcc);
            handlers[vector] = asm.position();
            asm.emit(0xf0, 0x48, 0xff, 0x04, 0x25); // lock inc qword [counter]
            asm.emit32((int) GuestLayout.INTERRUPT_COUNTERS + 8 * vector);
            asm.emit(0x67, 0xc7, 0x04, 0x25); // mov dword [EOI], 0 with a zero-extended address
            asm.emit32(LOCAL_APIC_EOI);
            asm.emit32(0);
            asm.emit(0x48, 0xcf);
        }
        // A spurious interrupt gets no EOI.
        handlers[255] = asm.position();
        asm.emit(0x48, 0xcf);
    }

    // ---- tables

    private static void pageTables(ByteBuffer image) {
        image.putLong(PML4, table(PDPT) | TABLE);
        for (int i = 0; i < 4; i++) {
            image.putLong(PDPT + 8 * i, table(PAGE_DIRECTORIES + 0x1000 * i) | TABLE);
        }
        // Above 4 GiB: 1-GiB pages, which only guests with memory or BARs up there touch.
        for (long i = 4; i < 512; i++) {
            image.putLong(PDPT + 8 * (int) i, i << 30 | LARGE_PAGE);
        }
        for (long i = 0; i < 2048; i++) {
            image.putLong(PAGE_DIRECTORIES + 8 * (int) i, i << 21 | LARGE_PAGE);
        }
        image.putLong(PAGE_DIRECTORIES, table(PAGE_TABLES) | TABLE);
        image.putLong(PAGE_DIRECTORIES + 8, table(PAGE_TABLES + 0x1000) | TABLE);
        for (long page = 0; page < 1024; page++) {
            image.putLong(PAGE_TABLES + 8 * (int) page, guard(page << 12) ? 0 : page << 12 | PAGE);
        }
    }

    /** The pages below each stack are absent, so that overflow faults; page 0 follows once the loader's data is read. */
    private static boolean guard(long address) {
        long stacksEnd = GuestLayout.STACKS + GuestLayout.MAX_CPUS * GuestLayout.STACK_SLOT_SIZE;
        if (address < GuestLayout.STACKS || address >= stacksEnd) {
            return false;
        }
        long inSlot = address % GuestLayout.STACK_SLOT_SIZE;
        return inSlot == 0 || inSlot == GuestLayout.STACK_SLOT_SIZE - 0x2000;
    }

    private void interruptTable(ByteBuffer image) {
        for (int vector = 0; vector < 256; vector++) {
            long target = address(handlers[vector]);
            image.putShort(IDT + 16 * vector, (short) target);
            image.putShort(IDT + 16 * vector + 2, (short) CODE64);
            image.putShort(IDT + 16 * vector + 4, (short) 0x8e00);
            image.putShort(IDT + 16 * vector + 6, (short) (target >> 16));
        }
    }

    private static int gdtLimit() {
        return FIRST_TASK_SELECTOR + 16 * GuestLayout.MAX_CPUS - 1;
    }

    private static void segments(ByteBuffer image) {
        image.putLong(GDT + CODE32, 0x00cf_9b00_0000_ffffL);
        image.putLong(GDT + DATA, 0x00cf_9300_0000_ffffL);
        image.putLong(GDT + CODE64, 0x00af_9b00_0000_ffffL);
        image.putLong(GDT + (USER_DATA & ~7), 0x00cf_f300_0000_ffffL);
        image.putLong(GDT + (USER_CODE & ~7), 0x00af_fb00_0000_ffffL);
        for (int cpu = 0; cpu < GuestLayout.MAX_CPUS; cpu++) {
            int offset = TASK_STATES + TASK_STATE_STRIDE * cpu;
            long state = table(offset);
            int bitmap = IO_BITMAP - offset;
            image.putLong(
                    GDT + FIRST_TASK_SELECTOR + 16 * cpu,
                    bitmap + IO_BITMAP_SIZE | (state & 0xff_ffff) << 16 | 0x89L << 40 | (state >> 24 & 0xff) << 56);
            image.putLong(offset + 4, GuestLayout.STACKS + (cpu + 1) * GuestLayout.STACK_SLOT_SIZE);
            image.putShort(offset + 102, (short) bitmap);
        }
        image.put(IO_BITMAP + IO_BITMAP_SIZE, (byte) 0xff);
        image.putShort(GDT + 0x3d0, (short) gdtLimit());
        image.putLong(GDT + 0x3d2, table(GDT));
        image.putShort(GDT + 0x3e0, (short) 0xfff);
        image.putLong(GDT + 0x3e2, table(IDT));
    }
}
