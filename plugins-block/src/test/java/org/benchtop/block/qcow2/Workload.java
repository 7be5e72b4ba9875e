package org.benchtop.block.qcow2;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeClock;
import org.benchtop.testkit.FakeEventLoop;
import org.junit.jupiter.api.Assertions;

/**
 * Random requests of one user of a disk, several in flight, on blocks that belong to this user. Every block that is
 * written carries its number and a stamp, so what was ever in a block is known.
 */
final class Workload {
    static final int BLOCK = 512;

    /** A value of a block: 0 for zeroes, -1 for what was there before, otherwise a stamp. */
    record Version(long value, int submittedAt) {}

    private final BlockBackend backend;
    private final int users;
    private final int user;
    private final int runBlocks;
    private final int blocks;
    private final Random random;
    private final FakeEventLoop loop;
    private final List<List<Version>> history;
    private final long[] current;
    private final boolean[] busy;
    private long stamp;
    private java.util.function.Supplier<Runnable> onFlush = () -> () -> {};
    private final java.util.function.IntSupplier clock;
    private int inFlight;

    /**
     * @param runBlocks blocks belong to users in turns of that many
     */
    Workload(BlockBackend backend, int users, int user, int runBlocks, long seed) {
        this(backend, users, user, runBlocks, seed, () -> 0);
    }

    /** With a clock that says when something was submitted. */
    Workload(
            BlockBackend backend, int users, int user, int runBlocks, long seed, java.util.function.IntSupplier clock) {
        this.clock = clock;
        this.backend = backend;
        this.users = users;
        this.user = user;
        this.runBlocks = runBlocks;
        this.blocks = (int) (backend.capabilities().sizeBytes() / BLOCK);
        this.random = new Random(seed * 31 + user);
        this.loop = new FakeEventLoop("user" + user, new FakeClock());
        this.history = new ArrayList<>();
        this.current = new long[blocks];
        this.busy = new boolean[blocks];
        for (int i = 0; i < blocks; i++) {
            history.add(new ArrayList<>(List.of(new Version(-1, 0))));
            current[i] = -1;
        }
    }

    /** Asked when a flush is submitted; what it gives runs when the flush has completed. */
    void onFlush(java.util.function.Supplier<Runnable> action) {
        onFlush = action;
    }

    int blocks() {
        return blocks;
    }

    boolean owns(int block) {
        return block / runBlocks % users == user;
    }

    /** What a block holds at last; -1 if it was never changed. */
    long current(int block) {
        return current[block];
    }

    /** The present version of each block, as its index in {@link #history}; in-flight changes are not in it. */
    int[] snapshot() {
        int[] index = new int[blocks];
        for (int i = 0; i < blocks; i++) {
            List<Version> versions = history.get(i);
            int at = versions.size() - 1;
            while (busy[i] && at > 0 && versions.get(at).value() != current[i]) {
                at--;
            }
            index[i] = at;
        }
        return index;
    }

    List<Version> history(int block) {
        return history.get(block);
    }

    static void fill(MemorySegment memory, long offset, int block, long stamp) {
        for (int i = 0; i < BLOCK; i += 16) {
            memory.set(ValueLayout.JAVA_LONG_UNALIGNED, offset + i, stamp);
            memory.set(ValueLayout.JAVA_LONG_UNALIGNED, offset + i + 8, block);
        }
    }

    /** The value in a block's bytes; fails if it is torn or in the wrong place. */
    static long value(MemorySegment memory, long offset, int block, String what) {
        long first = memory.get(ValueLayout.JAVA_LONG_UNALIGNED, offset);
        for (int i = 0; i < BLOCK; i += 16) {
            Assertions.assertEquals(
                    first,
                    memory.get(ValueLayout.JAVA_LONG_UNALIGNED, offset + i),
                    () -> what + ": block " + block + " is torn");
            long place = memory.get(ValueLayout.JAVA_LONG_UNALIGNED, offset + i + 8);
            Assertions.assertEquals(
                    first == 0 ? 0 : block, place, () -> what + ": block " + block + " holds another block's data");
        }
        return first;
    }

    /** Does that many requests, up to {@code depth} at once, and waits for all. */
    void run(int requests, int depth) {
        try (BlockClient client = new BlockClient(backend, loop)) {
            BlockQueue queue = client.queue();
            for (int i = 0; i < requests; i++) {
                loop.call(() -> {
                    submit(queue);
                    if (random.nextInt(3) == 0) {
                        queue.kick();
                    }
                });
                while (inFlight >= depth) {
                    loop.call(queue::kick);
                    loop.runPending();
                    Thread.yield();
                }
            }
            loop.call(queue::kick);
            BlockClient.await(loop, () -> inFlight == 0, "requests of user " + user);
        }
    }

    private void submit(BlockQueue queue) {
        int kind = random.nextInt(20);
        if (kind == 0) {
            inFlight++;
            Runnable whenDone = onFlush.get();
            queue.submit(new BlockRequest.Flush(), (request, status) -> {
                Assertions.assertEquals(BlockStatus.OK, status);
                inFlight--;
                whenDone.run();
            });
            return;
        }
        int first = random.nextInt((blocks + runBlocks - 1) / runBlocks / users + 1) * users * runBlocks
                + user * runBlocks
                + random.nextInt(runBlocks);
        if (first >= blocks || busy[first]) {
            return;
        }
        int count = 1;
        int want = 1 + random.nextInt(random.nextInt(4) == 0 ? 64 : 8);
        while (count < want && first + count < blocks && owns(first + count) && !busy[first + count]) {
            count++;
        }
        switch (kind) {
            case 1, 2 ->
                change(
                        queue,
                        new BlockRequest.WriteZeroes()
                                .at((long) first * BLOCK, (long) count * BLOCK, random.nextBoolean()),
                        first,
                        count);
            case 3 ->
                change(queue, new BlockRequest.Discard().at((long) first * BLOCK, (long) count * BLOCK), first, count);
            case 4, 5, 6, 7 -> read(queue, first, count);
            default -> write(queue, first, count);
        }
    }

    private void hold(int first, int count, boolean value) {
        for (int i = 0; i < count; i++) {
            busy[first + i] = value;
        }
        inFlight += value ? 1 : -1;
    }

    private void write(BlockQueue queue, int first, int count) {
        hold(first, count, true);
        MemorySegment memory = Arena.ofAuto().allocate((long) count * BLOCK, 4096);
        long mine = ++stamp * users + user + 1;
        for (int i = 0; i < count; i++) {
            fill(memory, (long) i * BLOCK, first + i, mine);
            history.get(first + i).add(new Version(mine, clock.getAsInt()));
        }
        BlockRequest.Write write = new BlockRequest.Write();
        write.buffer().add(memory, 0, memory.byteSize());
        queue.submit(write.at((long) first * BLOCK, random.nextInt(16) == 0), (request, status) -> {
            Assertions.assertEquals(BlockStatus.OK, status, request::toString);
            for (int i = 0; i < count; i++) {
                current[first + i] = mine;
            }
            hold(first, count, false);
        });
    }

    /** Zeroes, or a discard, after which a block holds zeroes or what it held. */
    private void change(BlockQueue queue, BlockRequest request, int first, int count) {
        hold(first, count, true);
        for (int i = 0; i < count; i++) {
            history.get(first + i).add(new Version(0, clock.getAsInt()));
        }
        queue.submit(request, (done, status) -> {
            Assertions.assertEquals(BlockStatus.OK, status, done::toString);
            if (done instanceof BlockRequest.WriteZeroes) {
                for (int i = 0; i < count; i++) {
                    current[first + i] = 0;
                }
                hold(first, count, false);
                return;
            }
            MemorySegment memory = Arena.ofAuto().allocate((long) count * BLOCK, 4096);
            BlockRequest.Read read = new BlockRequest.Read();
            read.buffer().add(memory, 0, memory.byteSize());
            queue.submit(read.at((long) first * BLOCK), (again, result) -> {
                Assertions.assertEquals(BlockStatus.OK, result, again::toString);
                for (int i = 0; i < count; i++) {
                    long found = value(memory, (long) i * BLOCK, first + i, "discard");
                    if (found != 0) {
                        if (current[first + i] < 0) {
                            continue;
                        }
                        Assertions.assertEquals(Math.max(0, current[first + i]), found, "after discard");
                    } else {
                        current[first + i] = 0;
                    }
                }
                hold(first, count, false);
            });
        });
    }

    private void read(BlockQueue queue, int first, int count) {
        hold(first, count, true);
        MemorySegment memory = Arena.ofAuto().allocate((long) count * BLOCK, 4096);
        memory.fill((byte) 0x5a);
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(memory, 0, memory.byteSize());
        queue.submit(read.at((long) first * BLOCK), (request, status) -> {
            Assertions.assertEquals(BlockStatus.OK, status, request::toString);
            for (int i = 0; i < count; i++) {
                if (current[first + i] >= 0) {
                    Assertions.assertEquals(
                            current[first + i], value(memory, (long) i * BLOCK, first + i, "read"), request::toString);
                }
            }
            hold(first, count, false);
        });
    }
}
