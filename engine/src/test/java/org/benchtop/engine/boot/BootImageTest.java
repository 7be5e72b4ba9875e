package org.benchtop.engine.boot;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.testkit.FakeGuestMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BootImageTest {
    private static final long RAM_BYTES = 32 << 20;
    private static final BootFacts FACTS = new BootFacts(OptionalLong.of(0xe0000), OptionalLong.empty());

    @TempDir
    Path folder;

    private BootImage load(byte[] image, Optional<byte[]> initrd, String cmdline, BootSpec.Protocol protocol) {
        try {
            Path kernel = Files.write(folder.resolve("k"), image);
            Optional<Path> disk =
                    initrd.isEmpty() ? Optional.empty() : Optional.of(Files.write(folder.resolve("i"), initrd.get()));
            return BootLoader.load(new BootSpec.Kernel(kernel, disk, cmdline, protocol), name -> {
                throw new AssertionError("no guest program is asked for");
            });
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private BootImage load(byte[] image) {
        return load(image, Optional.empty(), "", BootSpec.Protocol.AUTO);
    }

    private String error(org.junit.jupiter.api.function.Executable action) {
        BenchtopException e = assertThrows(BenchtopException.class, action);
        assertEquals(ErrorKind.IMAGE, e.kind());
        return String.valueOf(e.getMessage()).replace(folder + "/", "");
    }

    private static ByteBuffer read(GuestMemory memory, long gpa, int lengthBytes) {
        byte[] bytes = new byte[lengthBytes];
        try {
            memory.read(gpa, bytes, 0, lengthBytes);
        } catch (GuestFault e) {
            throw new AssertionError(e);
        }
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static String text(GuestMemory memory, long gpa) {
        byte[] bytes = read(memory, gpa, 4096).array();
        int end = 0;
        while (bytes[end] != 0) {
            end++;
        }
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }

    private static byte[] pattern(int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        for (int i = 0; i < sizeBytes; i++) {
            bytes[i] = (byte) (i * 31 + 7);
        }
        return bytes;
    }

    @Test
    void pvhKernelFindsEverythingThroughEbx() {
        FakeGuestMemory memory = FakeGuestMemory.withHole(RAM_BYTES, 1 << 20);
        byte[] initrd = pattern(5000);

        BootState state = load(
                        ImageBuilder.elf64(true), Optional.of(initrd), "console=ttyS0 a=b", BootSpec.Protocol.AUTO)
                .apply(memory, FACTS);

        assertEquals(ImageBuilder.PVH_ENTRY, state.registers().rip());
        assertEquals(2, state.registers().rflags());
        ByteBuffer info = read(memory, state.registers().rbx(), 56);
        assertEquals(0x336ec578, info.getInt(0));
        assertEquals(1, info.getInt(4), "version");
        assertEquals(0, info.getInt(8), "flags");
        assertEquals("console=ttyS0 a=b", text(memory, info.getLong(24)));
        assertEquals(0xe0000, info.getLong(32), "rsdp");
        assertEquals(1, info.getInt(12), "modules");
        ByteBuffer module = read(memory, info.getLong(16), 32);
        long initrdGpa = module.getLong(0);
        assertEquals(0, initrdGpa % 4096);
        assertEquals(5000, module.getLong(8));
        assertArrayEquals(initrd, read(memory, initrdGpa, 5000).array());
        assertEquals(4, info.getInt(48), "memory map entries");
        ByteBuffer map = read(memory, info.getLong(40), 4 * 24);
        long[] expected = {0, 0x9fc00, 1, 0x9fc00, 0x60400, 2, 0x100000, RAM_BYTES - 0x100000, 1, 1L << 32, 1 << 20, 1};
        for (int i = 0; i < 4; i++) {
            assertEquals(expected[i * 3], map.getLong(i * 24), "base of " + i);
            assertEquals(expected[i * 3 + 1], map.getLong(i * 24 + 8), "size of " + i);
            assertEquals(expected[i * 3 + 2], map.getInt(i * 24 + 16), "type of " + i);
        }
    }

    @Test
    void pvhStartsIn32BitModeWithoutPaging() {
        SpecialRegisters special = load(ImageBuilder.elf64(true))
                .apply(FakeGuestMemory.ofSize(RAM_BYTES), FACTS)
                .specialRegisters();

        assertEquals(1, special.cr0() & 0x80000001L, "PE without PG");
        assertEquals(0, special.cr4());
        assertEquals(0, special.efer());
        assertEquals(SegmentRegister.flatCode(0x10, false), special.cs());
        assertEquals(SegmentRegister.flatData(0x18), special.ss());
        assertEquals(0x67, special.tr().limit());
        assertEquals(0xb, special.tr().type());
    }

    @Test
    void segmentIsCopiedAndItsRestZeroed() throws GuestFault {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);
        memory.slice(ImageBuilder.LOAD, 0x2000).fill((byte) 0x55);
        byte[] elf = ImageBuilder.elf64(true);

        load(elf).apply(memory, FACTS);

        assertArrayEquals(
                Arrays.copyOfRange(elf, 0x200, 0x300),
                read(memory, ImageBuilder.LOAD, 0x100).array());
        assertArrayEquals(
                new byte[0xf00], read(memory, ImageBuilder.LOAD + 0x100, 0xf00).array());
        assertEquals(0x55, memory.readByte(ImageBuilder.LOAD + 0x1000));
        assertTrue(memory.wasWritten(ImageBuilder.LOAD, 0x1000));
    }

    @Test
    void thirtyTwoBitElfIsEnteredByPvh() {
        BootState state = load(ImageBuilder.elf32()).apply(FakeGuestMemory.ofSize(RAM_BYTES), FACTS);

        assertEquals(ImageBuilder.PVH_ENTRY, state.registers().rip());
    }

    @Test
    void kernelWithoutNoteIsEnteredIn64BitMode() {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);

        BootState state = load(ImageBuilder.elf64(false), Optional.of(pattern(100)), "quiet", BootSpec.Protocol.AUTO)
                .apply(memory, FACTS);

        SpecialRegisters special = state.specialRegisters();
        assertEquals(ImageBuilder.LOAD + 0x40, state.registers().rip());
        assertEquals(0x80000001L, special.cr0() & 0x80000001L, "PE and PG");
        assertEquals(0x20, special.cr4() & 0x20, "PAE");
        assertEquals(0x500, special.efer(), "LME and LMA");
        assertEquals(SegmentRegister.flatCode(0x10, true), special.cs());
        ByteBuffer page = read(memory, state.registers().rsi(), 4096);
        assertEquals((short) 0xaa55, page.getShort(0x1fe));
        assertEquals(0x53726448, page.getInt(0x202));
        assertEquals((byte) 0xff, page.get(0x210));
        assertEquals("quiet", text(memory, page.getInt(0x228)));
        assertEquals(100, page.getInt(0x21c));
        assertArrayEquals(pattern(100), read(memory, page.getInt(0x218), 100).array());
        assertEquals(0xe0000, page.getLong(0x70));
        assertEquals(3, page.get(0x1e8));
        assertEquals(0x9fc00, page.getLong(0x2d0 + 8));
        assertEquals(1, page.getInt(0x2d0 + 16));
        assertEquals(2, page.getInt(0x2d0 + 20 + 16));
        assertEquals(RAM_BYTES - 0x100000, page.getLong(0x2d0 + 40 + 8));
    }

    @Test
    void pageTablesMapFourGibibytesToThemselves() {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);
        long cr3 = load(ImageBuilder.elf64(false))
                .apply(memory, FACTS)
                .specialRegisters()
                .cr3();

        for (long address = 0; address < 1L << 32; address += 2 << 20) {
            long pml4 = read(memory, cr3, 8).getLong(0);
            long pdpt = read(memory, (pml4 & -4096) + (address >> 30) * 8, 8).getLong(0);
            long entry =
                    read(memory, (pdpt & -4096) + (address >> 21 & 511) * 8, 8).getLong(0);
            assertEquals(3, pml4 & 0xfff);
            assertEquals(3, pdpt & 0xfff);
            assertEquals(address | 0x83, entry);
        }
    }

    @Test
    void gdtHoldsTheSelectorsInUse() {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);
        SpecialRegisters special =
                load(ImageBuilder.elf64(false)).apply(memory, FACTS).specialRegisters();
        ByteBuffer gdt = read(memory, special.gdt().base(), special.gdt().limit() + 1);

        assertEquals(0, gdt.getLong(0));
        assertEquals(0x00af9b000000ffffL, gdt.getLong(special.cs().selector()));
        assertEquals(0x00cf93000000ffffL, gdt.getLong(special.ds().selector()));
        assertEquals(0x00008b0000000067L, gdt.getLong(special.tr().selector()));
    }

    @Test
    void bzImageIsEnteredAtItsSixtyFourBitEntry() {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);
        byte[] image = ImageBuilder.bzImage();
        BootImage loaded = load(image, Optional.of(pattern(10_000)), "root=/dev/vda", BootSpec.Protocol.AUTO);

        BootState state = loaded.apply(memory, FACTS);

        assertTrue(loaded.description().endsWith("(Linux 6.1.0-test), 64-bit Linux entry"), loaded.description());
        assertEquals(0x100200, state.registers().rip());
        assertArrayEquals(
                Arrays.copyOfRange(image, ImageBuilder.BZ_SETUP_BYTES, image.length),
                read(memory, 0x100000, ImageBuilder.BZ_CODE_BYTES).array());
        ByteBuffer page = read(memory, state.registers().rsi(), 4096);
        assertEquals((short) 0x20f, page.getShort(0x206), "copied from the file");
        assertEquals(0x1000000, page.getLong(0x258), "copied from the file");
        assertEquals((byte) 0xff, page.get(0x210), "loader");
        assertEquals(0, page.get(0x1e0), "outside the header");
        assertEquals("root=/dev/vda", text(memory, page.getInt(0x228)));
        assertEquals(RAM_BYTES - 12288, page.getInt(0x218), "as high as possible");
        assertEquals(10_000, page.getInt(0x21c));
    }

    @Test
    void initrdStaysBelowTheKernelsLimit() {
        byte[] image = ImageBuilder.bzImage();
        ByteBuffer.wrap(image).order(ByteOrder.LITTLE_ENDIAN).putInt(0x22c, 0x17fffff);
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);

        BootState state = load(image, Optional.of(pattern(4096)), "", BootSpec.Protocol.AUTO)
                .apply(memory, FACTS);

        assertEquals(0x17ff000, read(memory, state.registers().rsi(), 4096).getInt(0x218));
    }

    @Test
    void multibootImageFindsEverythingThroughEbx() {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);

        BootState state = load(ImageBuilder.multiboot(), Optional.of(pattern(10)), "x", BootSpec.Protocol.AUTO)
                .apply(memory, FACTS);

        assertEquals(ImageBuilder.LOAD + 0x40, state.registers().rip());
        assertEquals(0x2badb002, state.registers().rax());
        ByteBuffer info = read(memory, state.registers().rbx(), 116);
        assertEquals(0x4d, info.getInt(0));
        assertEquals(639, info.getInt(4));
        assertEquals((RAM_BYTES >> 10) - 1024, info.getInt(8));
        assertEquals("x", text(memory, info.getInt(16)));
        assertEquals(1, info.getInt(20));
        ByteBuffer module = read(memory, info.getInt(24), 16);
        assertEquals(10, module.getInt(4) - module.getInt(0));
        assertEquals(3 * 24, info.getInt(44));
        assertEquals(20, read(memory, info.getInt(48), 4).getInt(0));
    }

    @Test
    void memoryIsRewrittenAtEveryReset() throws GuestFault {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);
        BootImage image = load(ImageBuilder.elf64(true));
        BootState first = image.apply(memory, FACTS);
        memory.slice(0, RAM_BYTES).fill((byte) 0xcc);

        BootState second = image.apply(memory, FACTS);

        assertEquals(first, second);
        assertEquals(0x336ec578, read(memory, second.registers().rbx(), 4).getInt(0));
    }

    @ParameterizedTest
    @CsvSource({"REAL,0x7c00", "PROTECTED,0x10000", "LONG,0x100000"})
    void flatCodeIsEnteredInItsMode(BootSpec.Mode mode, String load) throws IOException {
        long gpa = Long.decode(load);
        Path file = Files.write(folder.resolve("f"), pattern(512));
        FakeGuestMemory memory = FakeGuestMemory.ofSize(RAM_BYTES);

        BootState state = BootLoader.load(new BootSpec.Flat(file, gpa, Optional.of(gpa + 4), mode), name -> {
                    throw new AssertionError("no guest program is asked for");
                })
                .apply(memory, FACTS);

        SpecialRegisters special = state.specialRegisters();
        assertArrayEquals(pattern(512), read(memory, gpa, 512).array());
        assertEquals(gpa + 4, special.cs().base() + state.registers().rip());
        assertEquals(mode == BootSpec.Mode.REAL ? 0 : 1, special.cr0() & 1);
        assertEquals(mode == BootSpec.Mode.LONG, special.cs().longMode());
        assertEquals(mode == BootSpec.Mode.REAL ? 0xffff : -1, special.ds().limit());
    }

    @Test
    void resetVectorIsWhereFirmwareBegins() {
        BootState state = CpuStates.reset();

        assertEquals(
                0xfffffff0L,
                state.specialRegisters().cs().base() + state.registers().rip());
        assertEquals(0x60000010, state.specialRegisters().cr0());
    }

    @Test
    void missingAndEmptyFilesAreExplained() throws IOException {
        Path empty = Files.write(folder.resolve("empty"), new byte[0]);

        assertEquals("kernel nowhere: no such file", error(() -> kernel(folder.resolve("nowhere"))));
        assertEquals("kernel empty: is empty", error(() -> kernel(empty)));
        assertEquals("kernel " + folder + ": is not a regular file", error(() -> kernel(folder)));
        assertEquals(
                "initrd no-initrd: no such file",
                error(() -> BootLoader.load(
                        new BootSpec.Kernel(
                                Files.write(folder.resolve("k"), ImageBuilder.bzImage()),
                                Optional.of(folder.resolve("no-initrd")),
                                "",
                                BootSpec.Protocol.AUTO),
                        name -> {
                            throw new AssertionError("no guest program is asked for");
                        })));
    }

    private static void kernel(Path file) {
        BootLoader.load(new BootSpec.Kernel(file, Optional.empty(), "", BootSpec.Protocol.AUTO), name -> {
            throw new AssertionError("no guest program is asked for");
        });
    }

    private static byte[] changed(byte[] image, int offset, long value, int sizeBytes) {
        ByteBuffer buffer = ByteBuffer.wrap(image.clone()).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < sizeBytes; i++) {
            buffer.put(offset + i, (byte) (value >> 8 * i));
        }
        return buffer.array();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 0x11223344 | 4 | kernel k: not a kernel: no ELF file, no bzImage and no Multiboot image (starts with 44 33 22 11)",
                "4 | 7 | 1 | kernel k: unknown ELF class 7",
                "5 | 2 | 1 | kernel k: big-endian ELF, expected x86-64",
                "18 | 183 | 2 | kernel k: ELF for AArch64, expected x86-64",
                "18 | 999 | 2 | kernel k: ELF for machine 999, expected x86-64",
                "16 | 1 | 2 | kernel k: ELF type 1 is not an executable",
                "54 | 32 | 2 | kernel k: ELF program headers of 32 bytes, expected 56",
                "56 | 0 | 2 | kernel k: ELF without a loadable segment",
                "56 | 100 | 2 | kernel k: truncated: ELF program header at 0x300..+0x8 lies outside the file of 768 bytes",
                "72 | 0x10000 | 8 | kernel k: truncated: segment 0 at 0x10000..+0x100 lies outside the file of 768 bytes",
                "72 | -1 | 8 | kernel k: truncated: segment 0 at 0xffffffffffffffff..+0x100 lies outside the file of 768 bytes",
                "96 | 0x2000 | 8 | kernel k: segment 0 has 8192 bytes in the file but 4096 in memory",
                "88 | -4096 | 8 | kernel k: segment 0xfffffffffffff000..+0x1000 is beyond any RAM",
                "88 | 0x8000 | 8 | kernel k: segment 0x8000..+0x1000 overlaps the boot structures at 0x1000..+0x2f000",
                "272 | 0x10 | 4 | kernel k: the entry 0x10 is outside all segments",
                "260 | 5 | 4 | kernel k: the PVH note has 5 bytes, expected 4 or 8",
            })
    void malformedElfIsExplained(int offset, String value, int sizeBytes, String message) {
        byte[] image = changed(ImageBuilder.elf64(true), offset, Long.decode(value), sizeBytes);

        assertEquals(message, error(() -> load(image)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0x1fe | 0 | 2 | kernel k: bzImage without boot flag 0xaa55",
                "0x206 | 0x20b | 2 | kernel k: boot protocol 2.11 is too old, expected 2.12 or newer",
                "0x236 | 0 | 2 | kernel k: has no 64-bit entry (a 32-bit kernel?)",
                "0x1f4 | 0 | 4 | kernel k: syssize of 0 bytes leaves no room for the 64-bit entry",
                "0x1f4 | 0x1000 | 4 | kernel k: truncated: the kernel's code at 0x400..+0x10000 lies outside the file of 5120 bytes",
                "0x258 | -1 | 8 | kernel k: pref_address 0xffffffffffffffff is not below 4 GiB",
                "0x238 | 2 | 4 | kernel k: the command line has 3 bytes, this kernel takes at most 2",
            })
    void malformedBzImageIsExplained(String offset, String value, int sizeBytes, String message) {
        byte[] image = changed(ImageBuilder.bzImage(), Integer.decode(offset), Long.decode(value), sizeBytes);

        assertEquals(message, error(() -> load(image, Optional.empty(), "a=b", BootSpec.Protocol.AUTO)));
    }

    @Test
    void lastParagraphOfABzImageMayBeIncomplete() {
        byte[] whole = ImageBuilder.bzImage();
        byte[] image = Arrays.copyOf(whole, whole.length - 8);

        load(image, Optional.empty(), "a=b", BootSpec.Protocol.AUTO).apply(FakeGuestMemory.ofSize(64 << 20), FACTS);

        assertEquals(
                "kernel k: truncated: the kernel's code at 0x400..+0x1000 lies outside the file of 5104 bytes",
                error(() -> load(
                        Arrays.copyOf(whole, whole.length - 16), Optional.empty(), "a=b", BootSpec.Protocol.AUTO)));
    }

    @Test
    void kernelThatIsTooLargeForRamIsExplained() {
        FakeGuestMemory small = FakeGuestMemory.ofSize(2 << 20);

        assertEquals(
                "kernel k: 0x200000..+0x1000 is outside the machine's RAM of 2MiB",
                error(() -> load(ImageBuilder.elf64(true)).apply(small, FACTS)));
        assertEquals(
                "kernel k: needs 17MiB of RAM to unpack, the machine has 2MiB",
                error(() -> load(ImageBuilder.bzImage()).apply(small, FACTS)));
    }

    @Test
    void initrdThatIsTooLargeForRamIsExplained() {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(4 << 20);

        assertEquals(
                "initrd i: 3145728 bytes do not fit into the 2093056 bytes of RAM between the kernel and 0x400000",
                error(() -> load(ImageBuilder.elf64(true), Optional.of(new byte[3 << 20]), "", BootSpec.Protocol.AUTO)
                        .apply(memory, FACTS)));
    }

    @Test
    void commandLineThatIsTooLongIsExplained() {
        assertEquals(
                "kernel k: the command line has 2048 bytes, this kernel takes at most 2047",
                error(() ->
                        load(ImageBuilder.elf64(true), Optional.empty(), "x".repeat(2048), BootSpec.Protocol.AUTO)));
    }

    @Test
    void protocolThatTheImageLacksIsExplained() {
        assertEquals(
                "kernel k: has no PVH note (protocol: linux64 may work)",
                error(() -> load(ImageBuilder.elf64(false), Optional.empty(), "", BootSpec.Protocol.PVH)));
        assertEquals(
                "kernel k: has no Multiboot header",
                error(() -> load(ImageBuilder.elf64(false), Optional.empty(), "", BootSpec.Protocol.MULTIBOOT)));
        assertEquals(
                "kernel k: a bzImage is entered by the 64-bit protocol only (protocol: auto)",
                error(() -> load(ImageBuilder.bzImage(), Optional.empty(), "", BootSpec.Protocol.PVH)));
        assertEquals(
                "kernel k: a 32-bit ELF without PVH note or Multiboot header cannot be entered",
                error(() -> load(ImageBuilder.elf32(), Optional.empty(), "", BootSpec.Protocol.LINUX64)));
    }

    @Test
    void flatImageThatDoesNotFitIsExplained() {
        assertEquals(
                "f: segment 0x1000..+0x10 overlaps the boot structures at 0x1000..+0x8000",
                error(() -> flat(0x1000, 0x1000, BootSpec.Mode.LONG)));
        assertEquals(
                "f: the entry 0x20 is outside the image at 0x10000..+0x10",
                error(() -> flat(0x10000, 0x20, BootSpec.Mode.LONG)));
        assertEquals(
                "f: the entry 0x100000 cannot be reached in real mode (below 1 MiB)",
                error(() -> flat(0x100000, 0x100000, BootSpec.Mode.REAL)));
    }

    private static void flat(long load, long entry, BootSpec.Mode mode) {
        FlatImage.parse("f", new byte[16], new BootSpec.Flat(Path.of("f"), load, Optional.of(entry), mode));
    }

    @Test
    void firmwareOfOddSizeIsExplained() {
        assertEquals(
                "f: a ROM of 100 bytes, expected a multiple of 4 KiB up to 16 MiB",
                error(() -> FirmwareImage.parse("f", new byte[100])));
    }
}
