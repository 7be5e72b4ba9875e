package org.benchtop.xen;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.spi.Option;

/** The options of {@code xen:}. */
public record XenOptions(
        @Option(doc = "the version of Xen that the guest sees", value = "4.17")
        String version,

        @Option(
                doc =
                        "hvm: platform PCI device and unplug protocol, for any boot protocol; pvh: neither, for kernels that"
                                + " are started by their PVH entry",
                value = "hvm")
        Mode mode,

        @Option(
                doc = "first CPUID leaf: 0x40000000, or a multiple of 0x100 above it beside another interface's leaves",
                value = "0x40000000",
                min = 0x4000_0000L,
                max = 0x4000_ff00L)
        long cpuidBase) {

    private static final Pattern VERSION = Pattern.compile("([1-9][0-9]?)\\.([0-9]{1,3})");

    /** What kind of domain the guest is. */
    public enum Mode {
        /** Hardware virtual machine. */
        HVM,
        /** PVH: a hardware virtual machine without emulated devices. */
        PVH,
    }

    public XenOptions {
        if (!VERSION.matcher(version).matches()) {
            throw new IllegalArgumentException("version must be MAJOR.MINOR, such as 4.17: \"" + version + "\"");
        }
        if (cpuidBase % 0x100 != 0) {
            throw new IllegalArgumentException(
                    "cpuid-base must be a multiple of 0x100: 0x" + Long.toHexString(cpuidBase));
        }
    }

    /** Major and minor version as XENVER_version gives them. */
    int versionWord() {
        Matcher matcher = VERSION.matcher(version);
        if (!matcher.matches()) {
            throw new IllegalStateException(version);
        }
        return Integer.parseInt(matcher.group(1)) << 16 | Integer.parseInt(matcher.group(2));
    }
}
