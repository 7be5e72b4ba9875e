package org.benchtop.spi.host;

import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Opens things of the host. Failures throw {@link org.benchtop.spi.BenchtopException} of kind HOST. Any thread. */
public interface HostServices {
    /** Opens or creates a file or block device for I/O on event loops. */
    HostFile openFile(HostFileOptions options);

    /**
     * Shows a file as a block device (a loop device), which goes away with this process at the latest. Needs root.
     *
     * @param direct whether the device bypasses the page cache of the file
     */
    default HostLoopDevice attachLoop(Path file, boolean readOnly, boolean direct) {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, file + ": this host has no loop devices");
    }

    /** The process's terminal or pipes; {@code raw} puts a terminal into raw mode until closed. One user at a time. */
    HostStream stdio(boolean raw);

    /** A new pseudo-terminal; its {@link HostStream#name} is the path of the other side. */
    HostStream openPty();

    /** Opens a tap interface (IFF_TAP | IFF_NO_PI, with IFF_VNET_HDR where asked). */
    HostStream openTap(String interfaceName, boolean vnetHeader);
}
