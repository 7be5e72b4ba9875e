package org.benchtop.spi.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class RegisterMapTest {
    enum Reg implements Register {
        BYTE(0, 1, Access.READ_WRITE),
        FIXED(1, 1, Access.READ_ONLY),
        HALF(2, 2, Access.READ_WRITE),
        WORD(4, 4, Access.READ_WRITE),
        SINK(8, 4, Access.WRITE_ONLY),
        LONG(16, 8, Access.READ_WRITE);

        private final int offset;
        private final int size;
        private final Access access;

        Reg(int offset, int size, Access access) {
            this.offset = offset;
            this.size = size;
            this.access = access;
        }

        @Override
        public int offset() {
            return offset;
        }

        @Override
        public int size() {
            return size;
        }

        @Override
        public Access access() {
            return access;
        }

        @Override
        public long resetValue() {
            return 0;
        }

        @Override
        public String spec() {
            return "test";
        }
    }

    private final Map<Reg, Long> values = new EnumMap<>(Reg.class);
    private final List<String> log = new ArrayList<>();
    private final RegisterMap<Reg> map = new RegisterMap<>("test", Reg.class, new RegisterMap.Handler<>() {
        @Override
        public long read(Reg register) {
            log.add("read " + register);
            return peek(register);
        }

        @Override
        public void write(Reg register, long value) {
            log.add("write " + register + " " + Long.toHexString(value));
            values.put(register, value);
        }

        @Override
        public long peek(Reg register) {
            return values.getOrDefault(register, 0L);
        }
    });

    @Test
    void exactAccessReachesOneRegister() {
        map.write(4, 4, 0x1_2345_6789L);

        assertEquals(0x2345_6789L, map.read(4, 4));
        assertEquals(List.of("write WORD 23456789", "read WORD"), log);
    }

    @Test
    void wideAccessIsSplitInAscendingOrder() {
        values.put(Reg.FIXED, 0x22L);

        map.write(0, 8, 0x8877_6655_4433_2211L);

        assertEquals(List.of("write BYTE 11", "write HALF 4433", "write WORD 88776655"), log);
        assertEquals(0x8877_6655_4433_2211L, map.read(0, 8));
    }

    @Test
    void narrowWriteIsMergedWithoutASideEffect() {
        values.put(Reg.LONG, 0x1111_2222_3333_4444L);

        map.write(18, 2, 0xabcd);

        assertEquals(0x1111_2222_abcd_4444L, values.get(Reg.LONG));
        assertEquals(List.of("write LONG 11112222abcd4444"), log);
    }

    @Test
    void narrowReadTakesItsBytes() {
        values.put(Reg.LONG, 0x8877_6655_4433_2211L);

        assertEquals(0x66, map.read(21, 1));
        assertEquals(0x8877, map.read(22, 2));
    }

    @Test
    void gapsReadAsZeroAndSwallowWrites() {
        map.write(12, 4, -1);
        map.write(1000, 8, -1);
        map.write(-4, 4, -1);

        assertEquals(0, map.read(12, 4));
        assertEquals(0, map.read(24, 8));
        assertEquals(0, map.read(-8, 8));
        assertEquals(List.of(), log);
    }

    @Test
    void accessRightsAreKept() {
        map.write(1, 1, 0xff);
        map.write(8, 4, 7);

        assertEquals(0, map.read(8, 4));
        assertEquals(List.of("write SINK 7"), log);
    }

    @Test
    void straddlingAccessTouchesBothNeighbours() {
        values.put(Reg.HALF, 0x2211L);
        values.put(Reg.WORD, 0x6655_4433L);

        assertEquals(0x4433_2211L, map.read(2, 4));
        assertEquals(0x33_22, map.read(3, 2));
    }

    @Test
    void allAccessesAgreeWithByteAccesses() {
        Random random = new Random(5);
        for (int round = 0; round < 2000; round++) {
            for (Reg reg : Reg.values()) {
                values.put(reg, random.nextLong() & mask(reg.size()));
            }
            int offset = random.nextInt(28) - 2;
            int size = 1 << random.nextInt(4);
            long expected = 0;
            for (int i = 0; i < size; i++) {
                expected |= map.read(offset + i, 1) << 8 * i;
            }
            assertEquals(expected, map.read(offset, size), "offset " + offset + " size " + size);
        }
    }

    private static long mask(int size) {
        return size == 8 ? -1L : (1L << 8 * size) - 1;
    }

    @Test
    void overlappingRegistersAreRefused() {
        enum Bad implements Register {
            A(0),
            B(3);

            private final int offset;

            Bad(int offset) {
                this.offset = offset;
            }

            @Override
            public int offset() {
                return offset;
            }

            @Override
            public int size() {
                return 4;
            }

            @Override
            public Access access() {
                return Access.READ_WRITE;
            }

            @Override
            public long resetValue() {
                return 0;
            }

            @Override
            public String spec() {
                return "test";
            }
        }
        RegisterMap.Handler<Bad> handler = new RegisterMap.Handler<>() {
            @Override
            public long read(Bad register) {
                return 0;
            }

            @Override
            public void write(Bad register, long value) {}

            @Override
            public long peek(Bad register) {
                return 0;
            }
        };

        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> new RegisterMap<>("bad", Bad.class, handler));

        assertTrue(error.toString().contains("A and B"), error.toString());
        assertThrows(IllegalArgumentException.class, () -> new RegisterMap<Bad>("empty", List.of(), handler));
    }

    @Test
    void tableOfSomeRegistersEndsBehindTheLast() {
        assertEquals(24, map.sizeBytes());
        assertEquals(Reg.BYTE, map.registers().getFirst());
        assertEquals(0, map.peek(Reg.WORD));
    }
}
