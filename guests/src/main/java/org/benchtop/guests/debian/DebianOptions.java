package org.benchtop.guests.debian;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.Option;

/**
 * What a Debian guest is made of: the options of {@code boot: {debian: …}} and of {@code benchtop guest debian}.
 *
 * @param kernel {@code cloud}, {@code full} or the name of a kernel package
 * @param modules kernel modules that the guest loads
 * @param packages Debian packages that are unpacked
 * @param init a shell script file that the guest runs
 * @param script the same as text
 * @param files host files by their path in the guest
 * @param compression of the initial RAM disk
 * @param protocol how the kernel is entered
 * @param cmdline kernel command line
 */
public record DebianOptions(
        @Option(
                doc = "cloud (drivers of virtual machines only), full (all drivers), or the name of a kernel package",
                value = "cloud")
        String kernel,

        @Option(doc = "kernel modules to load, in this order; what they depend on is loaded before them", value = "[]")
        List<String> modules,

        @Option(
                doc = "packages to unpack besides busybox-static, with what they depend on; their maintainer scripts "
                        + "are not run",
                value = "[]")
        List<String> packages,

        @Option(doc = "shell script to run once everything is mounted; without one there is a shell on the console")
        Optional<Path> init,

        @Option(doc = "the same, written here instead of in a file")
        Optional<String> script,

        @Option(doc = "host files to put into the guest, by their path there", value = "{}")
        Map<String, Path> files,

        @Option(
                doc = "of the initial RAM disk; none costs disk space and boots fastest on the software CPU",
                value = "none")
        Compression compression,

        @Option(doc = "linux64 boots the vmlinuz, pvh the vmlinux that is inside", value = "linux64")
        Protocol protocol,

        @Option(doc = "kernel command line", value = "console=ttyS0")
        String cmdline) {
    /** How the initial RAM disk is compressed. */
    public enum Compression {
        /** A plain cpio archive. */
        NONE,
        /** gzip. */
        GZIP,
        /** Zstandard. */
        ZSTD,
    }

    /** How the kernel is entered. */
    public enum Protocol {
        /** The 64-bit entry of the Linux boot protocol. */
        LINUX64,
        /** The PVH entry. */
        PVH,
    }

    public DebianOptions {
        modules = List.copyOf(modules);
        packages = List.copyOf(packages);
        files = Map.copyOf(files);
        if (init.isPresent() && script.isPresent()) {
            throw new IllegalArgumentException("only one of init and script is possible");
        }
        for (String name : modules) {
            check("modules", name, "[A-Za-z0-9_-]+");
        }
        for (String name : packages) {
            check("packages", name, "[a-z0-9][a-z0-9+.-]*(:[a-z0-9]+)?");
        }
        check("kernel", kernel, "[a-z0-9][a-z0-9+.-]*");
        for (String path : files.keySet()) {
            if (!path.startsWith("/") || path.endsWith("/") || path.contains("//") || (path + "/").contains("/../")) {
                throw new IllegalArgumentException("files: \"" + path + "\" is not an absolute path in the guest");
            }
        }
    }

    private static void check(String option, String name, String pattern) {
        if (!name.matches(pattern)) {
            throw new IllegalArgumentException(option + ": \"" + name + "\" cannot be a name");
        }
    }

    /** A kernel with a shell and nothing else. */
    public static DebianOptions minimal() {
        return new DebianOptions(
                "cloud",
                List.of(),
                List.of(),
                Optional.empty(),
                Optional.empty(),
                Map.of(),
                Compression.NONE,
                Protocol.LINUX64,
                "console=ttyS0");
    }

    /** The same with a script. */
    public DebianOptions withScript(String text) {
        return new DebianOptions(
                kernel, modules, packages, Optional.empty(), Optional.of(text), files, compression, protocol, cmdline);
    }

    /** The same with another kernel. */
    public DebianOptions withKernel(String name) {
        return new DebianOptions(name, modules, packages, init, script, files, compression, protocol, cmdline);
    }

    /** The same with modules. */
    public DebianOptions withModules(String... names) {
        return new DebianOptions(kernel, List.of(names), packages, init, script, files, compression, protocol, cmdline);
    }

    /** The same with packages. */
    public DebianOptions withPackages(String... names) {
        return new DebianOptions(kernel, modules, List.of(names), init, script, files, compression, protocol, cmdline);
    }

    /** The same with another entry. */
    public DebianOptions withProtocol(Protocol entry) {
        return new DebianOptions(kernel, modules, packages, init, script, files, compression, entry, cmdline);
    }
}
