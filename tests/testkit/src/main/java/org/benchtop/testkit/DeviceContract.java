package org.benchtop.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.Register;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.state.SavedState;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/**
 * What every {@link Device} must do: implement this in a test class and supply the subject.
 *
 * <p>The guest of these tests is hostile: it writes random values to every register, port and configuration byte. The
 * seed is in the message of each failure; {@code -Dbenchtop.test.seed=N} repeats it.
 */
public interface DeviceContract {
    /**
     * A device that is not attached yet, in a machine of its own.
     *
     * @param device the device
     * @param context its machine, with the drives and chardevs that the device names
     * @param drive the device's drive, which holds requests; empty for a device without
     * @param startRequest plays a driver that makes at least one request wait in {@code drive}; called after attach,
     *     reset and placement of BARs; does nothing for a device without drive
     */
    record Subject(Device device, FakeDeviceContext context, Optional<HeldBlockBackend> drive, Runnable startRequest) {
        /** A device without a drive. */
        public static Subject of(Device device, FakeDeviceContext context) {
            return new Subject(device, context, Optional.empty(), () -> {});
        }
    }

    /** A new device in a new machine. Called several times in a test. */
    Subject subject();

    /** Registers whose value after reset depends on more than the reset, such as a clock or a modem line. */
    default Set<String> variableRegisters() {
        return Set.of();
    }

    /** How many random accesses a hostile sweep makes. */
    default int hostileAccesses() {
        return 20_000;
    }

    /** The seed of the random accesses. */
    default long seed() {
        Long given = Long.getLong("benchtop.test.seed");
        return given == null ? new Random().nextLong() : given;
    }

    /** Attaches and resets a subject, with its BARs placed and bus mastering enabled. */
    private Subject started() {
        Subject subject = subject();
        subject.device.attach(subject.context);
        subject.device.reset();
        placeBars(subject.context);
        return subject;
    }

    private static void placeBars(FakeDeviceContext context) {
        context.pci().assignResources();
        for (PciFunction function : context.pci().functions()) {
            function.config(FakePciFunction.COMMAND, 2, function.config(FakePciFunction.COMMAND, 2) | 4);
        }
    }

    private Map<String, Long> registerValues(Device device) {
        Map<String, Long> values = new TreeMap<>();
        for (RegisterMap<?> map : device.registers()) {
            peekAll(map, values);
        }
        variableRegisters().forEach(values::remove);
        return values;
    }

    private static <R extends Enum<R> & Register> void peekAll(RegisterMap<R> map, Map<String, Long> values) {
        for (R register : map.registers()) {
            values.put(map.name() + "." + register.name(), map.peek(register));
        }
    }

    private static void onWatchdog(String what, Runnable action) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().daemon().name("device-contract").start(() -> {
            try {
                action.run();
                done.complete(null);
            } catch (Throwable t) {
                done.completeExceptionally(t);
            }
        });
        try {
            done.get(60, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            AssertionError error = new AssertionError(what + " does not return");
            error.setStackTrace(thread.getStackTrace());
            throw error;
        } catch (ExecutionException e) {
            throw new AssertionError(what + " threw: " + e.getCause(), e.getCause());
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * Runs a control method on its own thread while the test plays the loops and completes held requests, as the
     * threads of a real machine do.
     */
    private static void whileCompleting(Subject subject, String what, Runnable action) {
        CompletableFuture<Void> done = CompletableFuture.runAsync(
                action,
                task -> Thread.ofPlatform().daemon().name("device-contract").start(task));
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!done.isDone()) {
            subject.context.runPending();
            try {
                done.get(20, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                subject.drive.ifPresent(
                        drive -> drive.pending().stream().findFirst().ifPresent(HeldBlockBackend.Held::complete));
            } catch (ExecutionException e) {
                throw new AssertionError(what + " threw: " + e.getCause(), e.getCause());
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            assertTrue(System.nanoTime() < deadline, what + " does not return while a request is in flight");
        }
        done.join();
    }

    /** One random guest access: a port, an address of a range or BAR, or configuration space. */
    private static void hostileAccess(Subject subject, Random random) {
        FakeDeviceContext context = subject.context;
        var ports = context.pioBus().ranges();
        var ranges = context.mmioBus().ranges();
        var functions = context.pci().functions();
        int choice = random.nextInt(Math.max(1, ports.size() + ranges.size() + functions.size()));
        if (choice < ports.size()) {
            BusRange range = ports.get(choice);
            int size = 1 << random.nextInt(3);
            int port = (int) (range.base() + random.nextLong(range.sizeBytes()));
            access(random, size, () -> context.pioRead(port, size), value -> context.pioWrite(port, size, value));
            return;
        }
        if (choice < ports.size() + ranges.size()) {
            BusRange range = ranges.get(choice - ports.size());
            hostileMmio(context, random, range.base() + random.nextLong(range.sizeBytes()));
            return;
        }
        if (functions.isEmpty()) {
            return;
        }
        PciFunction function = functions.get(choice - ports.size() - ranges.size());
        int bar = random.nextInt(8);
        if (bar >= 6 && random.nextInt(8) == 0) {
            int size = 1 << random.nextInt(3);
            int offset = random.nextInt(256);
            int devfn = function.address().devfn();
            access(
                    random,
                    size,
                    () -> context.pci().configRead(0, devfn, offset, size),
                    value -> context.pci().configWrite(0, devfn, offset, size, value));
        } else if (bar >= 6) {
            placeBars(context);
        } else {
            hostileBar(context, random, function, bar);
        }
    }

    private static void hostileBar(FakeDeviceContext context, Random random, PciFunction function, int bar) {
        var spec = ((FakePciFunction) function)
                .spec().bars().stream()
                        .filter(candidate -> candidate.index() == bar)
                        .findFirst();
        long base = function.barAddress(bar);
        if (spec.isEmpty() || base < 0) {
            return;
        }
        long offset = random.nextBoolean()
                ? random.nextLong(spec.get().sizeBytes())
                : random.nextLong(Math.min(spec.get().sizeBytes(), 64));
        switch (spec.get().kind()) {
            case IO -> {
                int size = 1 << random.nextInt(3);
                int port = (int) (base + offset);
                access(random, size, () -> context.pioRead(port, size), value -> context.pioWrite(port, size, value));
            }
            case MEMORY_32, MEMORY_64 -> hostileMmio(context, random, base + offset);
        }
    }

    private static void hostileMmio(FakeDeviceContext context, Random random, long address) {
        int size = 1 << random.nextInt(4);
        access(random, size, () -> context.mmioRead(address, size), value -> context.mmioWrite(address, size, value));
    }

    private static void access(
            Random random, int size, java.util.function.LongSupplier read, java.util.function.LongConsumer write) {
        if (random.nextInt(3) == 0) {
            long value = read.getAsLong();
            assertEquals(0, value & ~FakeBus.mask(size), "a read of " + size + " bytes gave more: " + value);
            return;
        }
        long value = switch (random.nextInt(4)) {
            case 0 -> random.nextLong();
            case 1 -> random.nextInt(16);
            case 2 -> 1L << random.nextInt(64);
            default -> random.nextInt(1 << 24) & ~0xfff;
        };
        write.accept(value);
    }

    private static void sweep(Subject subject, Random random, int accesses, boolean timePasses) {
        for (int i = 0; i < accesses; i++) {
            hostileAccess(subject, random);
            if (random.nextInt(16) == 0) {
                subject.context.runPending();
            }
            if (timePasses && random.nextInt(64) == 0) {
                subject.context.advance(random.nextLong(1_000_000));
            }
            if (random.nextInt(64) == 0) {
                settle(subject, random);
            }
        }
        settle(subject, random);
    }

    private static void settle(Subject subject, Random random) {
        subject.context.runPending();
        if (subject.drive.isPresent()) {
            HeldBlockBackend drive = subject.drive.get();
            for (int i = 0; i < 10_000 && !drive.pending().isEmpty(); i++) {
                var waiting = drive.pending();
                HeldBlockBackend.Held held = waiting.get(random.nextInt(waiting.size()));
                if (random.nextInt(8) == 0) {
                    held.fail(BlockStatus.IO_ERROR);
                } else {
                    held.complete();
                }
                subject.context.runPending();
            }
        }
    }

    private void hostile(String what, java.util.function.Consumer<Random> body) {
        long seed = seed();
        try {
            onWatchdog(what, () -> body.accept(new Random(seed)));
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + " (repeat with -Dbenchtop.test.seed=" + seed + ")", e);
        }
    }

    @Test
    default void resetTwiceGivesTheSameState() {
        Subject subject = started();
        subject.device.reset();
        Map<String, Long> once = registerValues(subject.device);

        subject.device.reset();

        assertEquals(once, registerValues(subject.device));
        subject.device.close();
    }

    @Test
    default void registersHaveTheirResetValuesAfterReset() {
        Subject subject = subject();
        subject.device.attach(subject.context);
        subject.device.reset();

        for (RegisterMap<?> map : subject.device.registers()) {
            map.registers().forEach(register -> {
                String name = map.name() + "." + register.name();
                if (register.access() != Register.Access.WRITE_ONLY
                        && !variableRegisters().contains(name)) {
                    assertEquals(
                            register.resetValue(),
                            registerValues(subject.device).get(name),
                            "value of " + name + " after reset");
                }
            });
        }
        subject.device.close();
    }

    @Test
    default void hostileAccessesNeverThrowOrHang() {
        hostile("hostile guest", random -> {
            Subject subject = started();
            sweep(subject, random, hostileAccesses(), true);
            subject.device.close();
        });
    }

    @Test
    default void resetAfterHostileAccessesGivesPowerOnRegisters() {
        hostile("reset after hostile accesses", random -> {
            Subject subject = started();
            Map<String, Long> powerOn = registerValues(subject.device);
            sweep(subject, random, hostileAccesses() / 4, true);

            whileCompleting(subject, "reset", subject.device::reset);

            assertEquals(powerOn, registerValues(subject.device));
            subject.device.close();
        });
    }

    @Test
    default void restoredDeviceShowsTheSameState() {
        hostile("save and restore", random -> {
            Subject first = started();
            sweep(first, random, hostileAccesses() / 10, false);
            whileCompleting(first, "pause", first.device::pause);
            SavedState saved = first.device.saveState();
            String text = StateText.of(saved);
            assertEquals(text, StateText.of(first.device.saveState()), "saving changes the state");

            Subject second = subject();
            second.device.attach(second.context);
            second.device.reset();
            second.device.pause();
            second.device.restoreState(saved);

            assertEquals(text, StateText.of(second.device.saveState()));
            assertEquals(registerValues(first.device), registerValues(second.device));
            assertEquals(
                    StateText.ofInspection(first.device.inspect()), StateText.ofInspection(second.device.inspect()));
            second.device.resume();
            sweep(second, random, hostileAccesses() / 10, false);
            first.device.close();
            second.device.close();
        });
    }

    @Test
    default void stateOfANewerVersionIsRefused() {
        Subject subject = started();
        subject.device.pause();
        SavedState saved = subject.device.saveState();
        Assumptions.assumeFalse(saved.equals(SavedState.EMPTY), "the device has no state");

        SavedState newer = new SavedState(saved.version() + 1, saved.content());

        assertThrows(BenchtopException.class, () -> subject.device.restoreState(newer));
        subject.device.close();
    }

    @Test
    default void closeWorksInEveryStateAndTwice() {
        onWatchdog("close", () -> {
            Subject created = subject();
            created.device.close();
            created.device.close();

            Subject attached = subject();
            attached.device.attach(attached.context);
            attached.device.close();
            attached.device.close();

            Subject paused = started();
            paused.device.pause();
            paused.device.close();
            paused.device.close();

            Subject running = started();
            running.device.close();
            running.device.close();
        });
    }

    @Test
    default void closedDeviceHasReleasedEverything() {
        hostile("close", random -> {
            Subject subject = started();
            sweep(subject, random, hostileAccesses() / 10, true);

            whileCompleting(subject, "close", subject.device::close);

            for (FakeEventLoop loop : subject.context.loops()) {
                assertEquals(0, loop.openHandles(), "doorbells, timers and watches left open on loop " + loop.name());
            }
            subject.drive.ifPresent(drive -> {
                assertEquals(0, drive.openQueues(), "block queues left open");
                assertEquals(0, drive.pending().size(), "requests left in flight");
            });
            assertEquals(0, subject.context.pci().functions().size(), "PCI functions left on the bus");
            assertEquals(0, subject.context.irqs().openMsis(), "MSI routes left open");
        });
    }

    @Test
    default void resetWithARequestInFlightEndsIt() {
        Subject subject = started();
        HeldBlockBackend drive = startedRequest(subject);

        whileCompleting(subject, "reset", subject.device::reset);

        assertQuiet(subject, drive, "reset");
        subject.device.close();
    }

    @Test
    default void pauseWithARequestInFlightWaitsForIt() {
        Subject subject = started();
        HeldBlockBackend drive = startedRequest(subject);

        whileCompleting(subject, "pause", subject.device::pause);

        assertQuiet(subject, drive, "pause");
        subject.device.resume();
        whileCompleting(subject, "close", subject.device::close);
    }

    @Test
    default void closeWithARequestInFlightEndsIt() {
        Subject subject = started();
        HeldBlockBackend drive = startedRequest(subject);

        whileCompleting(subject, "close", subject.device::close);

        assertQuiet(subject, drive, "close");
    }

    @Test
    default void noLockIsHeldWhileARequestIsSubmitted() {
        Subject subject = started();
        HeldBlockBackend drive = driveOf(subject);
        CompletableFuture<String> verdict = new CompletableFuture<>();
        drive.onSubmit(() -> verdict.complete(tryRegisterAccess(subject)));

        subject.startRequest.run();
        subject.context.runPending();

        assertEquals("", verdict.getNow("no request reached the drive"));
        whileCompleting(subject, "close", subject.device::close);
    }

    private static String tryRegisterAccess(Subject subject) {
        CompletableFuture<Void> access = CompletableFuture.runAsync(
                () -> {
                    for (BusRange range : subject.context.pioBus().ranges()) {
                        subject.context.pioRead((int) range.base(), 1);
                    }
                    for (BusRange range : subject.context.mmioBus().ranges()) {
                        subject.context.mmioRead(range.base(), 4);
                    }
                    for (PciFunction function : subject.context.pci().functions()) {
                        for (var bar : ((FakePciFunction) function).spec().bars()) {
                            long base = function.barAddress(bar.index());
                            if (base >= 0 && bar.kind() == org.benchtop.spi.pci.Bar.Kind.IO) {
                                subject.context.pioRead((int) base, 1);
                            } else if (base >= 0) {
                                subject.context.mmioRead(base, 4);
                            }
                        }
                    }
                },
                task -> Thread.ofPlatform().daemon().start(task));
        try {
            access.get(10, TimeUnit.SECONDS);
            return "";
        } catch (TimeoutException e) {
            return "a register access waits while the device submits a request: it holds its lock";
        } catch (ExecutionException e) {
            return "a register access threw: " + e.getCause();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "interrupted";
        }
    }

    private static HeldBlockBackend driveOf(Subject subject) {
        Assumptions.assumeTrue(subject.drive.isPresent(), "the device has no drive");
        return subject.drive.get();
    }

    private static HeldBlockBackend startedRequest(Subject subject) {
        HeldBlockBackend drive = driveOf(subject);
        subject.startRequest.run();
        subject.context.runPending();
        assertNotEquals(0, drive.pending().size(), "startRequest made no request wait in the drive");
        return drive;
    }

    private static void assertQuiet(Subject subject, HeldBlockBackend drive, String what) {
        assertEquals(0, drive.pending().size(), "requests in flight after " + what);
        long submitted = drive.submitted();
        subject.context.memory().forgetWritten();
        Assertions.assertDoesNotThrow(subject.context::runPending);
        assertEquals(0, subject.context.memory().writtenBytes(), "guest memory changes after " + what);
        assertEquals(submitted, drive.submitted(), "requests are submitted after " + what);
    }
}
