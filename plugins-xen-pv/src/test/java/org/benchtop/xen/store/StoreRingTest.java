package org.benchtop.xen.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The wire protocol through the ring, with a well-behaved guest and with hostile ones. */
final class StoreRingTest {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final XenStore store = new XenStore();
    private final MemorySegment page = Arena.ofAuto().allocate(4096, 4096);
    private int signals;
    private int wakes;
    private final StoreRing ring = new StoreRing(store, 1, "/local/domain/1", page, () -> wakes++, () -> signals++);

    private record Message(int type, int request, int transaction, byte[] payload) {
        String text() {
            return new String(payload, StandardCharsets.ISO_8859_1).replace('\0', '|');
        }
    }

    StoreRingTest() {
        store.write("/local/domain/1/data", "");
        store.permissions("/local/domain/1/data", "n1");
        store.permissions("/local/domain/1", "n0 r1");
        ring.reset();
    }

    private void put(byte[] bytes) {
        int at = 0;
        while (at < bytes.length) {
            int prod = page.get(INT, 2052);
            int room = 1024 - (prod - page.get(INT, 2048));
            for (int i = 0; i < room && at < bytes.length; i++) {
                page.set(ValueLayout.JAVA_BYTE, prod++ & 1023, bytes[at++]);
            }
            page.set(INT, 2052, prod);
            ring.turn();
        }
    }

    private static byte[] message(int type, int request, int transaction, byte[] payload) {
        ByteBuffer buffer = ByteBuffer.allocate(16 + payload.length).order(ByteOrder.LITTLE_ENDIAN);
        return buffer.putInt(type)
                .putInt(request)
                .putInt(transaction)
                .putInt(payload.length)
                .put(payload)
                .array();
    }

    private byte[] take(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            int cons = page.get(INT, 2056);
            if (cons == page.get(INT, 2060)) {
                ring.turn();
            }
            assertTrue(cons != page.get(INT, 2060), "no more bytes");
            bytes[i] = page.get(ValueLayout.JAVA_BYTE, 1024 + (cons & 1023));
            page.set(INT, 2056, cons + 1);
        }
        return bytes;
    }

    private Message receive() {
        ByteBuffer header = ByteBuffer.wrap(take(16)).order(ByteOrder.LITTLE_ENDIAN);
        return new Message(header.getInt(), header.getInt(), header.getInt(), take(header.getInt()));
    }

    private boolean empty() {
        ring.turn();
        return page.get(INT, 2056) == page.get(INT, 2060);
    }

    private Message ask(int type, int transaction, String payload) {
        put(message(type, 7, transaction, payload.replace('|', '\0').getBytes(StandardCharsets.ISO_8859_1)));
        return receive();
    }

    @Test
    void writesReadsAndListsRelativeToTheGuest() {
        assertEquals("OK|", ask(StoreMessage.WRITE, 0, "data/x|hello").text());
        Message read = ask(StoreMessage.READ, 0, "/local/domain/1/data/x|");

        assertEquals("hello", read.text());
        assertEquals(7, read.request());
        assertEquals("x|", ask(StoreMessage.DIRECTORY, 0, "data|").text());
        assertEquals(
                "/local/domain/1|", ask(StoreMessage.GET_DOMAIN_PATH, 0, "1|").text());
        assertTrue(signals > 0);
    }

    @Test
    void errorsHaveNames() {
        assertEquals("ENOENT|", ask(StoreMessage.READ, 0, "data/none|").text());
        assertEquals(StoreMessage.ERROR, ask(StoreMessage.READ, 0, "data/none|").type());
        assertEquals(
                "EACCES|", ask(StoreMessage.WRITE, 0, "/local/domain/0/x|1").text());
        assertEquals("EINVAL|", ask(StoreMessage.READ, 0, "data").text());
        assertEquals("ENOSYS|", ask(99, 0, "x|").text());
        assertEquals("EACCES|", ask(StoreMessage.INTRODUCE, 0, "1|2|3|").text());
    }

    @Test
    void watchIsAnsweredThenFiresThenTellsOfChanges() {
        assertEquals("OK|", ask(StoreMessage.WATCH, 0, "data|tok|").text());
        assertEquals("data|tok|", receive().text());

        store.write("/local/domain/1/data/y", "1");
        Message event = receive();

        assertEquals(StoreMessage.WATCH_EVENT, event.type());
        assertEquals("data/y|tok|", event.text());
        assertTrue(wakes > 0);
    }

    @Test
    void watchStormIsSaidOnce() {
        assertEquals("OK|", ask(StoreMessage.WATCH, 0, "data|tok|").text());
        assertEquals("data|tok|", receive().text());
        for (int i = 0; i < 10_000; i++) {
            store.write("/local/domain/1/data/y", Integer.toString(i));
        }

        assertEquals("data/y|tok|", receive().text());
        assertTrue(empty());
        assertFalse(ring.broken());
    }

    @Test
    void transactionsHaveIds() {
        String id = ask(StoreMessage.TRANSACTION_START, 0, "|").text();
        int number = Integer.parseInt(id.substring(0, id.length() - 1));

        assertEquals("OK|", ask(StoreMessage.WRITE, number, "data/t|1").text());
        assertEquals("OK|", ask(StoreMessage.TRANSACTION_END, number, "T|").text());

        assertEquals("1", store.read("/local/domain/1/data/t").orElse(""));
    }

    @Test
    void longDirectoriesComeInParts() {
        for (int i = 0; i < 600; i++) {
            store.write("/local/domain/1/data/a-rather-long-name-" + i, "");
        }
        assertEquals("E2BIG|", ask(StoreMessage.DIRECTORY, 0, "data|").text());

        List<String> names = new ArrayList<>();
        int offset = 0;
        boolean last = false;
        while (!last) {
            String text =
                    ask(StoreMessage.DIRECTORY_PART, 0, "data|" + offset + "|").text();
            String part = text.substring(text.indexOf('|') + 1);
            last = part.endsWith("||") || part.equals("|");
            String body = last ? part.substring(0, part.length() - 1) : part;
            names.addAll(
                    body.isEmpty()
                            ? List.of()
                            : List.of(body.substring(0, body.length() - 1).split("\\|", -1)));
            offset += body.length();
        }

        assertEquals(600, names.size());
    }

    @Test
    void guestThatLiesAboutIndicesOrLengthsIsCutOffUntilItReconnects() {
        page.set(INT, 2052, 5000);
        ring.turn();
        assertTrue(ring.broken());
        assertEquals(2, page.get(INT, 2072), "XENSTORE_ERROR_RINGIDX");

        page.set(INT, 2068, 1);
        ring.turn();
        assertFalse(ring.broken());
        assertEquals(0, page.get(INT, 2068));
        put(message(StoreMessage.READ, 1, 0, new byte[0]));
        assertEquals("EINVAL|", receive().text());

        put(ByteBuffer.allocate(16)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(2)
                .putInt(0)
                .putInt(0)
                .putInt(5000)
                .array());
        assertTrue(ring.broken());
        assertEquals(3, page.get(INT, 2072), "XENSTORE_ERROR_PROTO");
    }

    @Test
    void guestThatDoesNotReadIsNotAnsweredMore() {
        store.write("/local/domain/1/data/long", "x".repeat(900));
        for (int i = 0; i < 50; i++) {
            page.set(INT, 2056, page.get(INT, 2056));
            byte[] request = message(StoreMessage.READ, i, 0, "data/long\0".getBytes(StandardCharsets.ISO_8859_1));
            if (1024 - (page.get(INT, 2052) - page.get(INT, 2048)) < request.length) {
                break;
            }
            put(request);
        }

        assertEquals(1024, page.get(INT, 2060) - page.get(INT, 2056), "the ring of answers is full");
        assertEquals(900, receive().payload().length);
        assertEquals(900, receive().payload().length);
    }

    static LongStream seeds() {
        Long given = Long.getLong("benchtop.test.seed");
        return LongStream.of(1, 2, 3, given == null ? new Random().nextLong() : given);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void nonsenseNeverThrowsAndReconnectingHelps(long seed) {
        Random random = new Random(seed);
        for (int round = 0; round < 300; round++) {
            byte[] payload = new byte[random.nextInt(80)];
            for (int i = 0; i < payload.length; i++) {
                payload[i] = (byte) "data/x\0\0@12TF".charAt(random.nextInt(13));
            }
            byte[] bytes = message(random.nextInt(24), round, random.nextInt(4), payload);
            if (random.nextInt(20) == 0) {
                random.nextBytes(bytes);
            }
            int prod = page.get(INT, 2052);
            for (byte b : bytes) {
                page.set(ValueLayout.JAVA_BYTE, prod++ & 1023, b);
            }
            page.set(INT, 2052, random.nextInt(30) == 0 ? random.nextInt() : prod);
            ring.turn();
            page.set(INT, 2056, random.nextInt(30) == 0 ? random.nextInt() : page.get(INT, 2060));
            ring.turn();
            if (ring.broken()) {
                page.set(INT, 2068, 1);
                ring.turn();
            }
        }

        page.set(INT, 2068, 1);
        ring.turn();
        assertEquals(
                "/local/domain/1|", ask(StoreMessage.GET_DOMAIN_PATH, 0, "1|").text());
        assertArrayEquals(new byte[0], store.read("/none").map(String::getBytes).orElse(new byte[0]));
    }
}
