package org.benchtop.virtio.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.IntRange;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtQueue.Buffer;
import org.benchtop.testkit.virtio.GuestHeap;

/** The queue against a model driver: whatever a driver does by the rules arrives whole, once and in order. */
class VirtQueueProperties {
    /** One action of driver or device. */
    sealed interface Action {
        /** The driver adds a chain. */
        record Add(List<Boolean> writes, boolean indirect) implements Action {}

        /** The device takes a chain. */
        record Pop() implements Action {}

        /** The device fills used elements for some chains in flight, in any order. */
        record Complete(int count, int order) implements Action {}

        /** The device shows them. */
        record Publish() implements Action {}

        /** The driver takes used elements. */
        record Collect() implements Action {}
    }

    @Provide
    Arbitrary<List<Action>> scripts() {
        Arbitrary<Action> add = Combinators.combine(
                        Arbitraries.of(true, false).list().ofMinSize(1).ofMaxSize(4), Arbitraries.of(true, false))
                .as(Action.Add::new);
        Arbitrary<Action> complete = Combinators.combine(
                        Arbitraries.integers().between(1, 5),
                        Arbitraries.integers().between(0, 1000))
                .as(Action.Complete::new);
        Arbitrary<Action> any = Arbitraries.frequencyOf(
                Tuple.of(4, add),
                Tuple.of(4, Arbitraries.just(new Action.Pop())),
                Tuple.of(2, complete),
                Tuple.of(2, Arbitraries.just(new Action.Publish())),
                Tuple.of(2, Arbitraries.just(new Action.Collect())));
        return any.list().ofMaxSize(200);
    }

    private record Sent(int head, List<Buffer> buffers) {}

    private record InFlight(Sent sent, int writtenBytes) {}

    @Property(tries = 300)
    void everyChainArrivesOnceInOrderAndComesBack(
            @ForAll("scripts") List<Action> script,
            @ForAll @IntRange(min = 1, max = 5) int sizeShift,
            @ForAll boolean eventIdx,
            @ForAll @IntRange(max = 0xffff) int startIndex) {
        Model model = new Model(1 << sizeShift, eventIdx, startIndex);
        for (Action action : script) {
            switch (action) {
                case Action.Add add -> model.add(add);
                case Action.Pop pop -> model.pop();
                case Action.Complete complete -> model.complete(complete);
                case Action.Publish publish -> model.publish();
                case Action.Collect collect -> model.collect();
            }
        }
        model.finish();
    }

    private static final class Model {
        private final FakeGuestMemory memory = FakeGuestMemory.ofSize(4 << 20);
        private final FakeVirtQueue driver;
        private final VirtQueue queue;
        private final boolean eventIdx;
        private final Deque<Sent> available = new ArrayDeque<>();
        private final List<Sent> inFlight = new ArrayList<>();
        private final Deque<InFlight> completed = new ArrayDeque<>();
        private final Deque<InFlight> visible = new ArrayDeque<>();
        private final DescriptorChain chain = new DescriptorChain(0);
        private long nextBuffer = 2 << 20;

        Model(int size, boolean eventIdx, int startIndex) {
            this.eventIdx = eventIdx;
            memory.recordWritten(false);
            driver = new FakeVirtQueue(new GuestHeap(memory, 0x1000, 1 << 20), size, eventIdx, () -> {});
            queue = new VirtQueue(memory, 64);
            driver.beginAt(startIndex);
            RingLayout layout = new RingLayout(size, driver.descriptorGpa(), driver.driverGpa(), driver.deviceGpa());
            assertTrue(queue.start(layout, eventIdx, true, startIndex, startIndex));
        }

        void add(Action.Add add) {
            List<Boolean> writes = add.writes().stream().sorted().toList();
            int needed = add.indirect() ? 1 : writes.size();
            if (driver.freeDescriptors() < needed) {
                return;
            }
            List<Buffer> buffers = new ArrayList<>();
            for (boolean write : writes) {
                // A gap between buffers keeps the vector from merging neighbours.
                nextBuffer = nextBuffer + 64 < 4 << 20 ? nextBuffer + 64 : 2 << 20;
                buffers.add(new Buffer(nextBuffer, 1 + (int) (nextBuffer / 64 % 40), write));
            }
            int head = add.indirect() ? driver.addIndirect(buffers) : driver.add(buffers);
            available.add(new Sent(head, buffers));
        }

        void pop() {
            assertEquals(!available.isEmpty(), queue.hasAvailable());
            PopResult result = queue.pop(chain);
            if (available.isEmpty()) {
                assertEquals(PopResult.EMPTY, result);
                return;
            }
            assertEquals(PopResult.CHAIN, result);
            Sent expected = available.remove();
            assertEquals(expected.head, chain.head());
            assertEquals(expected.buffers.size(), chain.descriptors());
            assertVector(expected.buffers.stream().filter(b -> !b.write()).toList(), chain.readable());
            assertVector(expected.buffers.stream().filter(Buffer::write).toList(), chain.writable());
            inFlight.add(expected);
        }

        private void assertVector(List<Buffer> expected, IoVector vector) {
            long base = memory.regions().getFirst().segment().address();
            assertEquals(expected.size(), vector.count());
            for (int i = 0; i < expected.size(); i++) {
                assertEquals(base + expected.get(i).gpa(), vector.address(i));
                assertEquals(expected.get(i).lengthBytes(), vector.length(i));
            }
        }

        void complete(Action.Complete complete) {
            Random random = new Random(complete.order());
            for (int i = 0; i < complete.count() && !inFlight.isEmpty(); i++) {
                Sent sent = inFlight.remove(random.nextInt(inFlight.size()));
                int written = random.nextInt(5000);
                queue.push(sent.head, written);
                completed.add(new InFlight(sent, written));
            }
            assertEquals(completed.size(), queue.unpublished());
        }

        void publish() {
            int before = driver.usedIndex();
            boolean interrupt = queue.publish();
            int now = driver.usedIndex();
            assertEquals(completed.size(), now - before & 0xffff);
            if (eventIdx) {
                boolean passed = (now - driver.seenUsed() - 1 & 0xffff) < (now - before & 0xffff);
                assertEquals(passed, interrupt);
            } else {
                assertTrue(interrupt);
            }
            visible.addAll(completed);
            completed.clear();
        }

        void collect() {
            while (!visible.isEmpty()) {
                InFlight expected = visible.remove();
                FakeVirtQueue.Used used = driver.poll().orElseThrow();
                assertEquals(new FakeVirtQueue.Used(expected.sent.head, expected.writtenBytes), used);
            }
            assertTrue(driver.poll().isEmpty());
        }

        void finish() {
            while (!available.isEmpty()) {
                pop();
            }
            complete(new Action.Complete(Integer.MAX_VALUE, 1));
            publish();
            collect();
            assertEquals(driver.size(), driver.freeDescriptors());
            assertTrue(queue.error().isEmpty());
        }
    }

    @Property(tries = 300)
    void arbitraryRingsGiveAChainInRamOrAnError(@ForAll Random random, @ForAll boolean indirect) {
        FakeGuestMemory memory = FakeGuestMemory.ofSize(1 << 20);
        byte[] junk = new byte[1 << 20];
        random.nextBytes(junk);
        // Mostly small numbers, so that more than the first check is reached.
        for (int i = 0; i < junk.length; i++) {
            int within = i % 16;
            boolean small = within == 3 || within == 4 || within == 5 || within == 6 || within == 7 || within == 10;
            boolean zero = within == 11 || within == 13 || within == 15;
            junk[i] = (byte) (zero ? 0 : small ? junk[i] & random.nextInt(2) : within == 12 ? junk[i] & 7 : junk[i]);
        }
        memory.poke(0, junk);
        VirtQueue queue = new VirtQueue(memory, 16);
        DescriptorChain chain = new DescriptorChain(0);
        assertTrue(queue.start(new RingLayout(16, 0x1000, 0x2000, 0x3000), random.nextBoolean(), indirect, 0, 0));

        PopResult result = PopResult.CHAIN;
        for (int i = 0; i < 100 && result == PopResult.CHAIN; i++) {
            result = queue.pop(chain);
            if (result == PopResult.CHAIN) {
                assertTrue(chain.descriptors() >= 1 && chain.descriptors() <= 16);
                assertTrue(chain.readable().sizeBytes() + chain.writable().sizeBytes() > 0);
            }
        }

        assertEquals(result == PopResult.ERROR, queue.error().isPresent());
    }
}
