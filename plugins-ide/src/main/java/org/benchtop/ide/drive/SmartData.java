package org.benchtop.ide.drive;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** The sectors that SMART commands return (ATA8-ACS, 7.53): those of a healthy drive. */
final class SmartData {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int ATTRIBUTE_BYTES = 12;

    /** Attribute numbers: reallocated sectors, power-on hours, power cycles, temperature, CRC errors. */
    private static final int[] ATTRIBUTES = {5, 9, 12, 194, 199};

    private static final int[] FLAGS = {0x0033, 0x0032, 0x0032, 0x0022, 0x003e};
    private static final int[] THRESHOLDS = {36, 0, 0, 0, 0};
    private static final int[] RAW = {0, 1, 1, 31, 0};

    private SmartData() {}

    private static MemorySegment cleared(MemorySegment buffer) {
        return buffer.asSlice(0, IdentifyData.BYTES).fill((byte) 0);
    }

    static void values(MemorySegment buffer, int selfTest) {
        MemorySegment data = cleared(buffer);
        data.set(SHORT, 0, (short) 0x0010);
        for (int i = 0; i < ATTRIBUTES.length; i++) {
            long at = 2 + (long) ATTRIBUTE_BYTES * i;
            data.set(ValueLayout.JAVA_BYTE, at, (byte) ATTRIBUTES[i]);
            data.set(SHORT, at + 1, (short) FLAGS[i]);
            data.set(ValueLayout.JAVA_BYTE, at + 3, (byte) 100);
            data.set(ValueLayout.JAVA_BYTE, at + 4, (byte) 100);
            data.set(ValueLayout.JAVA_BYTE, at + 5, (byte) RAW[i]);
        }
        // Off-line collection complete without error; self-test complete; conveyance and selective tests not offered.
        data.set(ValueLayout.JAVA_BYTE, 362, (byte) (selfTest == 0 ? 0x82 : 0x02));
        data.set(SHORT, 364, (short) 288);
        data.set(ValueLayout.JAVA_BYTE, 367, (byte) 0x19);
        data.set(SHORT, 368, (short) 0x0003);
        data.set(ValueLayout.JAVA_BYTE, 370, (byte) 0x01);
        data.set(ValueLayout.JAVA_BYTE, 372, (byte) 2);
        data.set(ValueLayout.JAVA_BYTE, 373, (byte) 54);
        IdentifyData.checksum(data, 0);
    }

    static void thresholds(MemorySegment buffer) {
        MemorySegment data = cleared(buffer);
        data.set(SHORT, 0, (short) 0x0010);
        for (int i = 0; i < ATTRIBUTES.length; i++) {
            long at = 2 + (long) ATTRIBUTE_BYTES * i;
            data.set(ValueLayout.JAVA_BYTE, at, (byte) ATTRIBUTES[i]);
            data.set(ValueLayout.JAVA_BYTE, at + 1, (byte) THRESHOLDS[i]);
        }
        IdentifyData.checksum(data, 0);
    }

    /** The directory (0), the error log without entries (1) or the self-test log (6). */
    static void log(MemorySegment buffer, int log, int selfTest) {
        MemorySegment data = cleared(buffer);
        switch (log) {
            case 0 -> {
                data.set(SHORT, 0, (short) 1);
                data.set(ValueLayout.JAVA_BYTE, 2, (byte) 1);
                data.set(ValueLayout.JAVA_BYTE, 12, (byte) 1);
            }
            case 1 -> {
                data.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
                IdentifyData.checksum(data, 0);
            }
            default -> {
                data.set(SHORT, 0, (short) 1);
                if (selfTest != 0) {
                    data.set(ValueLayout.JAVA_BYTE, 2, (byte) selfTest);
                    data.set(SHORT, 4, (short) 1);
                    data.set(ValueLayout.JAVA_BYTE, 508, (byte) 1);
                }
                IdentifyData.checksum(data, 0);
            }
        }
    }
}
