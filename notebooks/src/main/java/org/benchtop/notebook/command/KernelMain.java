package org.benchtop.notebook.command;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.benchtop.notebook.kernel.History;
import org.benchtop.notebook.kernel.Kernel;
import org.benchtop.notebook.magic.LabEnvironment;
import org.benchtop.notebook.wire.Channels;
import org.benchtop.notebook.wire.ConnectionFile;
import org.benchtop.spi.BenchtopException;
import org.jspecify.annotations.Nullable;

/** The process of a kernel: {@code KernelMain CONNECTION-FILE}. Without picocli, because every notebook waits for it. */
public final class KernelMain {
    private static final int WRONG_INPUT = 2;
    private static final long CLOSE_SECONDS = 10;

    private KernelMain() {}

    /** Runs a kernel until a front end or a signal ends it. */
    public static void main(String[] args) {
        if (args.length != 1) {
            System.err.println(
                    "benchtop: kernel start: expected one connection file, got " + args.length + " arguments");
            System.exit(WRONG_INPUT);
        }
        try {
            System.exit(run(Path.of(args[0])));
        } catch (BenchtopException e) {
            System.err.println("benchtop: " + e.getMessage());
            System.exit(e.kind().exitCode());
        }
    }

    /** Runs a kernel; returns when it was asked to end. */
    static int run(Path connectionFile) {
        System.setProperty("java.awt.headless", "true");
        PrintStream log = System.err;
        KernelEnd end = new KernelEnd();
        // Sockets first: what a front end sends meanwhile waits there.
        Channels channels = new Channels(ConnectionFile.read(connectionFile));
        LabEnvironment environment = new LabEnvironment();
        boolean keepHistory = !Boolean.getBoolean("benchtop.notebook.forget");
        Kernel kernel = new Kernel(
                channels,
                environment,
                new History(keepHistory ? Optional.of(History.usualFile()) : Optional.empty()),
                () -> end.request("a front end"));
        kernel.start();
        Signals.onInterrupt(kernel::interrupt);
        Signals.onTerminate(() -> end.request("a signal"));
        ParentWatch.start(() -> end.request("the end of its server"));
        @Nullable String asked = end.await();
        // What hangs while it is closed must not keep a process that nobody can see.
        Thread.ofPlatform().daemon().name("jupyter-last-resort").start(() -> {
            try {
                TimeUnit.SECONDS.sleep(CLOSE_SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            log.println("benchtop: the kernel did not close in " + CLOSE_SECONDS + " s after " + asked);
            Runtime.getRuntime().halt(1);
        });
        kernel.close();
        environment.close();
        channels.close();
        return 0;
    }
}
