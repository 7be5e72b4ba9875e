package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.ServiceLoader;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.cpu.CpuProbe;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KvmProbeTest {
    private final KvmEngine engine = new KvmEngine();

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LibC.supported(), "not Linux on x86-64");
    }

    @Test
    void missingDeviceSaysWhichModuleToLoad() {
        CpuProbe probe = engine.probe(Path.of("/nonexistent/kvm"));

        assertFalse(probe.usable());
        assertTrue(
                probe.reason().startsWith("/nonexistent/kvm does not exist: load the module kvm_intel or kvm_amd"),
                probe.reason());
    }

    @Test
    void otherDeviceIsNotAKvmDevice() {
        CpuProbe probe = engine.probe(Path.of("/dev/null"));

        assertFalse(probe.usable());
        assertTrue(probe.reason().startsWith("/dev/null is not a KVM device: ENOTTY"), probe.reason());
    }

    @Test
    void deviceWithoutPermissionNamesTheGroupAndTheCommand(@TempDir Path folder) throws IOException {
        Path device = Files.createFile(
                folder.resolve("kvm"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("---------")));
        Assumptions.assumeFalse(Files.isReadable(device), "root may open everything");

        CpuProbe probe = engine.probe(device);

        assertFalse(probe.usable());
        assertTrue(probe.reason().startsWith("no permission to open " + device), probe.reason());
        assertTrue(probe.reason().contains("sudo chmod 666 " + device), probe.reason());
    }

    @Test
    void workingDeviceListsItsOptionalCapabilities() {
        KvmGuest.assumeKvm();

        CpuProbe probe = engine.probe();

        assertTrue(probe.reason().startsWith("/dev/kvm works: KVM API 12"), probe.reason());
        assertTrue(
                probe.capabilities().contains("ioeventfd"), probe.capabilities().toString());
    }

    /** The answer depends on the host, but asking must neither hang nor fail, nor change. */
    @Test
    void whetherKernelsRunIsFoundOutOnce() {
        KvmGuest.assumeKvm();

        boolean answer = engine.runsKernels();

        assertEquals(answer, engine.runsKernels());
        assertFalse(KernelCheck.passes(Path.of("/nonexistent/kvm")));
    }

    @Test
    void pluginBringsTheEngine() {
        Optional<Plugin> plugin = ServiceLoader.load(Plugin.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(found -> found.name().equals("kvm"))
                .findFirst();

        assertEquals("kvm", plugin.orElseThrow().cpuEngines().getFirst().name());
    }
}
