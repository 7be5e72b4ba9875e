package org.benchtop.guests.debian;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;

/**
 * A Linux program of a few instructions, {@code benchtop-exit N}: writes N to the board's exit port, which ends the
 * machine with that code. Debian's cloud kernel has no /dev/port, and busybox no other way to a port. Where nothing
 * answers at the port, the program just ends.
 */
final class ExitProgram {
    static final String PATH = "usr/bin/benchtop-exit";

    private static final int ELF_HEADER_BYTES = 64;
    private static final int PROGRAM_HEADER_BYTES = 56;
    private static final long BASE = 0x40_0000;

    private static final String CODE = """
            48 8b 74 24 10        mov  rsi, [rsp+16]    (argv[1])
            31 db                 xor  ebx, ebx
            0f b6 06              movzx eax, byte [rsi] (digits)
            83 e8 30              sub  eax, '0'
            83 f8 09              cmp  eax, 9
            77 0a                 ja   end of digits
            6b db 0a              imul ebx, ebx, 10
            01 c3                 add  ebx, eax
            48 ff c6              inc  rsi
            eb eb                 jmp  digits
            b8 ad 00 00 00        mov  eax, 173         (end of digits: ioperm)
            bf 01 05 00 00        mov  edi, 0x501
            be 01 00 00 00        mov  esi, 1
            ba 01 00 00 00        mov  edx, 1
            0f 05                 syscall
            85 c0                 test eax, eax
            75 07                 jnz  exit
            66 ba 01 05           mov  dx, 0x501
            88 d8                 mov  al, bl
            ee                    out  dx, al
            b8 3c 00 00 00        mov  eax, 60          (exit)
            31 ff                 xor  edi, edi
            0f 05                 syscall
            """;

    private ExitProgram() {}

    /** A static 64-bit ELF executable. */
    static byte[] elf() {
        StringBuilder hex = new StringBuilder();
        CODE.lines().forEach(line -> hex.append(line, 0, 22));
        byte[] code = HexFormat.of().parseHex(hex.toString().replace(" ", ""));
        int start = ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES;
        ByteBuffer elf = ByteBuffer.allocate(start + code.length).order(ByteOrder.LITTLE_ENDIAN);
        elf.putInt(0x464c457f).put((byte) 2).put((byte) 1).put((byte) 1);
        // Executable, x86-64, version 1.
        elf.putShort(16, (short) 2).putShort(18, (short) 0x3e).putInt(20, 1);
        elf.putLong(24, BASE + start).putLong(32, ELF_HEADER_BYTES);
        elf.putShort(52, (short) ELF_HEADER_BYTES)
                .putShort(54, (short) PROGRAM_HEADER_BYTES)
                .putShort(56, (short) 1);
        // One loadable segment, readable and executable.
        elf.putInt(64, 1).putInt(68, 5).putLong(72, 0).putLong(80, BASE).putLong(88, BASE);
        elf.putLong(96, elf.capacity()).putLong(104, elf.capacity()).putLong(112, 0x1000);
        elf.put(start, code);
        return elf.array();
    }
}
