package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.guests.debian.DebianFiles;
import org.benchtop.guests.debian.DebianGuest;
import org.benchtop.guests.debian.DebianOptions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.Vcpu;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code accel: {type: soft, icount: true}}: the same machine is in the same state after the same number of instructions. */
@Timeout(600)
class DeterministicModeTest {
    private static final Duration LIMIT = Duration.ofSeconds(500);
    private static final int RAM_BYTES = 96 << 20;

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    private static MachineSpecBuilder machine(boolean jit, int cpus) {
        return MachineSpec.named("counted")
                .accel("soft", Map.of("icount", true, "jit", jit))
                .cpus(cpus)
                .memory("96MiB")
                .onReboot(MachineSpec.OnReboot.STOP)
                .chardev("tty0", "memory", Map.of())
                .device("isa-serial", Map.of("chardev", "tty0"));
    }

    private static String console(Machine m) {
        return m.chardev("tty0").orElseThrow().console().map(c -> c.text(0)).orElseThrow();
    }

    /** Registers, memory and output as one hash. */
    private static String hash(Machine m) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (Vcpu vcpu : m.vcpus()) {
                digest.update(vcpu.registers().toString().getBytes(StandardCharsets.UTF_8));
                digest.update(vcpu.specialRegisters().toString().getBytes(StandardCharsets.UTF_8));
                digest.update(
                        ByteBuffer.allocate(8).putLong(0, vcpu.instructions().orElseThrow()));
            }
            digest.update(m.memory().slice(0, 0xa0000).asByteBuffer());
            digest.update(m.memory().slice(1 << 20, RAM_BYTES - (1 << 20)).asByteBuffer());
            digest.update(console(m).getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException | org.benchtop.spi.memory.GuestFault e) {
            throw new AssertionError(e);
        }
    }

    /** The state when the first processor has executed so many instructions. */
    private String after(long instructions, MachineSpec spec) throws InterruptedException {
        try (Machine m = Machine.create(spec, plugins)) {
            m.vcpus().getFirst().stopAfter(instructions);
            m.start();
            long deadline = System.nanoTime() + LIMIT.toNanos();
            while (m.debugStop().isEmpty()) {
                assertTrue(m.exit().isEmpty() && System.nanoTime() < deadline, m.exit() + "\n" + console(m));
                Thread.sleep(10);
            }
            return m.whileHeld(() -> {
                assertEquals(instructions, m.vcpus().getFirst().instructions().orElseThrow());
                return hash(m);
            });
        }
    }

    private String atTheEnd(MachineSpec spec) throws InterruptedException {
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();
            MachineExit exit = m.awaitExit(LIMIT).orElseThrow();
            assertEquals(0, exit.exitCode(), console(m));
            return hash(m);
        }
    }

    private static DebianFiles prepare() {
        try {
            return DebianGuest.prepare(
                    DebianOptions.minimal().withScript("uname -a").withProtocol(DebianOptions.Protocol.PVH),
                    path -> path,
                    what -> {});
        } catch (BenchtopException e) {
            Assumptions.assumeFalse(e.kind() == ErrorKind.HOST, e.getMessage());
            throw e;
        }
    }

    private static MachineSpec linux(boolean jit, int cpus) {
        DebianFiles files = prepare();
        return machine(jit, cpus)
                .kernel(files.kernel(), Optional.of(files.initrd()), "console=ttyS0 panic=-1 cryptomgr.notests")
                .build();
    }

    private static MachineSpec seabios(boolean jit) {
        Path bios = Path.of("/usr/share/seabios/bios-256k.bin");
        Assumptions.assumeTrue(Files.exists(bios), "needs Debian's seabios package");
        return machine(jit, 1).firmware(bios).build();
    }

    @Test
    void firmwareIsInTheSameStateInEveryRun() throws InterruptedException {
        String first = after(3_000_000, seabios(true));

        assertEquals(first, after(3_000_000, seabios(true)));
        assertEquals(first, after(3_000_000, seabios(false)));
        assertNotEquals(first, after(3_000_001, seabios(false)));
    }

    @Test
    void guestProgramEndsInTheSameStateWithSeveralProcessors() throws InterruptedException {
        MachineSpec translating = machine(true, 3).guest("hello", "smp=1").build();
        MachineSpec plain = machine(false, 3).guest("hello", "smp=1").build();

        String first = atTheEnd(translating);

        assertEquals(first, atTheEnd(translating));
        assertEquals(first, atTheEnd(plain));
    }

    @Test
    void linuxIsInTheSameStateWithAndWithoutTranslation() throws InterruptedException {
        assertEquals(after(25_000_000, linux(true, 1)), after(25_000_000, linux(false, 1)));
    }

    @Test
    @Tag("nightly")
    void linuxWithTwoProcessorsIsInTheSameStateInEveryRun() throws InterruptedException {
        String first = after(150_000_000, linux(true, 2));

        assertEquals(first, after(150_000_000, linux(true, 2)));
        assertEquals(first, after(150_000_000, linux(false, 2)));
    }
}
