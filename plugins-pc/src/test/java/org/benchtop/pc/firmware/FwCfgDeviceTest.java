package org.benchtop.pc.firmware;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.FwCfg;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FwCfgDeviceTest implements DeviceContract {
    private static final int SELECT = 0x510;
    private static final int DATA = 0x511;
    private static final int DMA = 0x514;
    private static final long COMMAND = 0x1000;
    private static final long BUFFER = 0x2000;

    private final FakeDeviceContext context = new FakeDeviceContext();

    private Device attached(FwCfgOptions options) {
        Device device = FwCfgDevice.type().create(options, context);
        device.attach(context);
        return device;
    }

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        return Subject.of(FwCfgDevice.type().create(new FwCfgOptions(Map.of()), own), own);
    }

    private byte[] read(int key, int length) {
        context.pioWrite(SELECT, 2, key);
        byte[] out = new byte[length];
        for (int i = 0; i < length; i++) {
            out[i] = (byte) context.pioRead(DATA, 1);
        }
        return out;
    }

    private int dma(int control, int length, long address) {
        ByteBuffer command = ByteBuffer.allocate(16);
        command.putInt(control).putInt(length).putLong(address);
        context.memory().poke(COMMAND, command.array());
        context.pioWrite(DMA + 4, 4, Integer.toUnsignedLong(Integer.reverseBytes((int) COMMAND)));
        return ByteBuffer.wrap(context.memory().bytes(COMMAND, 4)).getInt();
    }

    private int keyOf(String name) {
        int count = ByteBuffer.wrap(read(0x19, 4)).getInt();
        byte[] directory = read(0x19, 4 + 64 * count);
        for (int i = 0; i < count; i++) {
            String entry = new String(directory, 4 + 64 * i + 8, 56, StandardCharsets.US_ASCII);
            if (entry.substring(0, entry.indexOf(0)).equals(name)) {
                return ByteBuffer.wrap(directory).getShort(4 + 64 * i + 4);
            }
        }
        throw new AssertionError("no file " + name);
    }

    @Test
    void signatureAndFeaturesAreThoseThatFirmwareLooksFor() {
        attached(new FwCfgOptions(Map.of())).reset();

        assertEquals("QEMU", new String(read(0, 4), StandardCharsets.US_ASCII));
        assertArrayEquals(new byte[] {3, 0, 0, 0}, read(1, 4));
        assertEquals(0x554d4551, context.pioRead(DMA, 4));
        assertEquals(0x47464320, context.pioRead(DMA + 4, 4));
    }

    @Test
    void readingBehindTheEndGivesZeroes() {
        attached(new FwCfgOptions(Map.of())).reset();

        assertArrayEquals(new byte[] {'Q', 'E', 'M', 'U', 0, 0}, read(0, 6));
        assertArrayEquals(new byte[2], read(0x7777, 2));
    }

    @Test
    void addedFileIsReadAtReset() {
        Device device = attached(new FwCfgOptions(Map.of()));
        FwCfg service = context.services().find(FwCfg.class).orElseThrow();
        String[] content = {"first"};
        service.addFile("etc/test", () -> content[0].getBytes(StandardCharsets.US_ASCII));
        device.reset();
        assertEquals("first", new String(read(keyOf("etc/test"), 5), StandardCharsets.US_ASCII));

        content[0] = "later";
        assertEquals("first", new String(read(keyOf("etc/test"), 5), StandardCharsets.US_ASCII));
        device.reset();

        assertEquals("later", new String(read(keyOf("etc/test"), 5), StandardCharsets.US_ASCII));
    }

    @Test
    void memoryMapListsRamAndWhatIsReserved() {
        attached(new FwCfgOptions(Map.of())).reset();

        ByteBuffer map = ByteBuffer.wrap(read(keyOf("etc/e820"), 40)).order(java.nio.ByteOrder.LITTLE_ENDIAN);

        assertEquals(0, map.getLong(0));
        assertEquals(16 << 20, map.getLong(8));
        assertEquals(1, map.getInt(16));
        assertEquals(0xfeff_c000L, map.getLong(20));
        assertEquals(2, map.getInt(36));
    }

    @Test
    void dmaSelectsAndReadsInOneCommand() {
        attached(new FwCfgOptions(Map.of())).reset();
        context.memory().poke(BUFFER, new byte[] {1, 1, 1, 1, 1, 1, 1});

        int result = dma(0x0000_0000 | 0x0a, 6, BUFFER);

        assertEquals(0, result);
        assertArrayEquals(
                new byte[] {'Q', 'E', 'M', 'U', 0, 0, 1}, context.memory().bytes(BUFFER, 7));
    }

    @Test
    void dmaSkipsThenReadsOn() {
        attached(new FwCfgOptions(Map.of())).reset();
        dma(0x0c, 2, 0);

        dma(0x02, 2, BUFFER);

        assertArrayEquals(new byte[] {'M', 'U'}, context.memory().bytes(BUFFER, 2));
    }

    @Test
    void dmaOutsideRamReportsAnError() {
        attached(new FwCfgOptions(Map.of())).reset();

        assertEquals(1, dma(0x0a, 4, 0x4000_0000L));
        assertEquals(1, dma(0x0a, -1, BUFFER));
        assertEquals(1, dma(0x0a, 4, -2));
        assertEquals(3, context.stats().value("dma-errors"));
    }

    @Test
    void dmaWriteIsRefused() {
        attached(new FwCfgOptions(Map.of())).reset();

        assertEquals(1, dma(0x18, 4, BUFFER));
    }

    @Test
    void dmaCommandOutsideRamIsIgnored() {
        attached(new FwCfgOptions(Map.of())).reset();
        context.pioWrite(DMA, 4, 0xffff_ffffL);
        context.pioWrite(DMA + 4, 4, 0xffff_ffffL);

        assertEquals(1, context.stats().value("dma-errors"));
    }

    @Test
    void hostFileIsOffered(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("key"), "secret");
        attached(new FwCfgOptions(Map.of("opt/org.example/key", file))).reset();

        assertEquals("secret", new String(read(keyOf("opt/org.example/key"), 6), StandardCharsets.US_ASCII));
    }

    @Test
    void badNameAndMissingFileAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> new FwCfgOptions(Map.of("a b", Path.of("x"))));
        FwCfgOptions missing = new FwCfgOptions(Map.of("opt/x", Path.of("/does/not/exist")));

        assertThrows(BenchtopException.class, () -> FwCfgDevice.type().create(missing, context));
    }

    @Test
    void fileAddedTwiceIsRefused() {
        attached(new FwCfgOptions(Map.of()));
        FwCfg service = context.services().find(FwCfg.class).orElseThrow();
        service.addFile("etc/x", () -> new byte[1]);

        assertThrows(BenchtopException.class, () -> service.addFile("etc/x", () -> new byte[2]));
    }

    private String bootOrder() {
        byte[] file = read(keyOf("bootorder"), 256);
        int end = 0;
        while (file[end] != 0) {
            end++;
        }
        return new String(file, 0, end, StandardCharsets.US_ASCII);
    }

    @Test
    void bootEntriesComeInTheOrderOfTheirIndices() {
        Device device = attached(new FwCfgOptions(Map.of()));
        FwCfg fwCfg = context.services().find(FwCfg.class).orElseThrow();
        FwCfg.BootEntry unused = fwCfg.addBootEntry(10, "/pci@i0cf8/scsi@4/disk@0,0");
        FwCfg.BootEntry first = fwCfg.addBootEntry(2, "/pci@i0cf8/ide@1,1/drive@0/disk@0");
        device.reset();
        assertEquals("/pci@i0cf8/ide@1,1/drive@0/disk@0\n/pci@i0cf8/scsi@4/disk@0,0", bootOrder());

        first.close();
        device.reset();

        assertEquals("/pci@i0cf8/scsi@4/disk@0,0", bootOrder());
        unused.close();
    }

    @Test
    void bootIndexGivenTwiceIsRefused() {
        attached(new FwCfgOptions(Map.of()));
        FwCfg fwCfg = context.services().find(FwCfg.class).orElseThrow();
        FwCfg.BootEntry unused = fwCfg.addBootEntry(0, "/one");

        BenchtopException e = assertThrows(BenchtopException.class, () -> fwCfg.addBootEntry(0, "/two"));

        assertEquals("bootindex 0 is taken by /one", e.getMessage());
        unused.close();
    }
}
