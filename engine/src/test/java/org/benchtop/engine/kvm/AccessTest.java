package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.cpu.CpuHost;
import org.junit.jupiter.api.Test;

class AccessTest {
    private final List<String> seen = new ArrayList<>();

    private final CpuHost host = new SilentHost() {
        @Override
        public long mmioRead(int vcpu, long gpa, int size) {
            seen.add("read %x %d".formatted(gpa, size));
            return 0xffff_ffff_ffff_ff00L | gpa;
        }

        @Override
        public void mmioWrite(int vcpu, long gpa, int size, long value) {
            seen.add("write %x %d %x".formatted(gpa, size, value));
        }
    };

    @Test
    void oddWriteIsSplitIntoPlainOnes() {
        Access.mmioWrite(host, 0, 0x100, 7, 0xff11_2233_4455_6677L);

        assertEquals(List.of("write 100 4 44556677", "write 104 2 2233", "write 106 1 11"), seen);
    }

    @Test
    void oddReadIsPutTogether() {
        long value = Access.mmioRead(host, 0, 0x10, 3);

        assertEquals(List.of("read 10 2", "read 12 1"), seen);
        assertEquals(0x12ff10, value);
    }

    @Test
    void plainWriteIsTruncatedToItsSize() {
        Access.mmioWrite(host, 0, 0x100, 2, -1);
        Access.mmioWrite(host, 0, 0x100, 8, -1);

        assertEquals(List.of("write 100 2 ffff", "write 100 8 ffffffffffffffff"), seen);
    }
}
