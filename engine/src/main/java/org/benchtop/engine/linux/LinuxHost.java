package org.benchtop.engine.linux;

import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.host.HostLoopDevice;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.host.HostStream;

/** The services of a Linux host. Thread-safe. */
public final class LinuxHost implements HostServices {
    /** Works where {@link #available} says so. */
    public LinuxHost() {
        requireAvailable();
    }

    /** Whether this is a host that Benchtop's Linux layer works on: Linux on x86-64. */
    public static boolean available() {
        return LibC.supported();
    }

    static void requireAvailable() {
        if (!available()) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    "this needs Linux on x86-64: os.name=" + System.getProperty("os.name") + " os.arch="
                            + System.getProperty("os.arch"));
        }
    }

    @Override
    public HostFile openFile(HostFileOptions options) {
        return LinuxFile.open(options);
    }

    @Override
    public HostLoopDevice attachLoop(Path file, boolean readOnly, boolean direct) {
        return LoopDevice.attach(file, readOnly, direct);
    }

    @Override
    public HostStream stdio(boolean raw) {
        return HostStreams.stdio(raw);
    }

    @Override
    public HostStream openPty() {
        return HostStreams.openPty();
    }

    @Override
    public HostStream openTap(String interfaceName, boolean vnetHeader) {
        return HostStreams.openTap(interfaceName, vnetHeader);
    }
}
