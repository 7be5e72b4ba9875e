package org.benchtop.shell;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.benchtop.guests.debian.DebianFiles;
import org.benchtop.guests.debian.DebianGuest;
import org.benchtop.guests.debian.DebianOptions;
import org.benchtop.spi.BenchtopException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code benchtop guest debian}. */
@Command(
        name = "debian",
        description = "Make a Linux guest of Debian packages: a kernel and an initial RAM disk.",
        footer = {
            "",
            "Needs apt (Debian, Ubuntu), no root. Packages are kept in ~/.cache/benchtop.",
            "In YAML the same is  boot: {debian: {kernel: cloud, modules: [virtio_blk]}}."
        })
final class DebianCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Option(
            names = "--kernel",
            paramLabel = "NAME",
            defaultValue = "cloud",
            description = "cloud (default), full, or the name of a kernel package.")
    String kernel = "";

    @Option(
            names = "--modules",
            split = ",",
            paramLabel = "MODULE",
            description = "Modules that the guest loads, with what they depend on.")
    List<String> modules = List.of();

    @Option(
            names = "--packages",
            split = ",",
            paramLabel = "PACKAGE",
            description = "Packages to unpack besides busybox-static, with what they depend on.")
    List<String> packages = List.of();

    @Option(
            names = "--init",
            paramLabel = "SCRIPT",
            description = "Shell script that the guest runs before it powers off; without one it starts a shell.")
    @Nullable
    Path init;

    @Option(
            names = "--file",
            paramLabel = "GUEST=HOST",
            description = "A file of this machine to put into the guest, by its path there.")
    Map<String, Path> files = new LinkedHashMap<>();

    @Option(
            names = "--compress",
            paramLabel = "HOW",
            defaultValue = "none",
            description = "Compression of the RAM disk: none (default), gzip, zstd.")
    DebianOptions.Compression compression = DebianOptions.Compression.NONE;

    @Option(names = "--pvh", description = "Write the vmlinux that is in the kernel, for the PVH entry.")
    boolean pvh;

    @Option(
            names = {"-o", "--output"},
            required = true,
            paramLabel = "DIR",
            description = "Where to put the files.")
    Path output = Path.of("");

    @Override
    public Integer call() {
        PrintWriter out = command.commandLine().getOut();
        PrintWriter err = command.commandLine().getErr();
        DebianFiles files = DebianGuest.export(options(), path -> path, output, what -> {
            err.println("benchtop: " + what);
            err.flush();
        });
        out.println(files.description());
        out.println("kernel  " + files.kernel());
        out.println("initrd  " + files.initrd());
        out.flush();
        return 0;
    }

    private DebianOptions options() {
        try {
            return new DebianOptions(
                    kernel,
                    modules,
                    packages,
                    Optional.ofNullable(init),
                    Optional.empty(),
                    files,
                    compression,
                    pvh ? DebianOptions.Protocol.PVH : DebianOptions.Protocol.LINUX64,
                    "console=ttyS0");
        } catch (IllegalArgumentException e) {
            throw BenchtopException.config("--" + e.getMessage());
        }
    }
}
