package org.benchtop.shell;

import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.benchtop.engine.DriveSet;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.engine.nbd.NbdServer;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop image serve}: an NBD server, with the short options of qemu-nbd. */
@Command(
        name = "serve",
        description = "Export a drive to other programs by the NBD protocol, until Ctrl-C.",
        footer = {"", "Without --socket it listens on TCP, on this host only unless --bind says otherwise."})
public final class ImageServeCommand implements Callable<Integer> {
    private static final long SHUTDOWN_SECONDS = 30;

    @Spec
    CommandSpec command;

    @Parameters(index = "0", paramLabel = "FILE", description = "The image; with --vm the name of a drive.")
    String file = "";

    @Mixin
    DriveArgument drive = new DriveArgument();

    @Mixin
    Plugins plugins = new Plugins();

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "ADDRESS",
            defaultValue = "localhost",
            description = "Listen on this address (default: localhost).")
    String address = "localhost";

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = "10809",
            description = "Listen on this TCP port (default: 10809; 0 takes a free one).")
    int port;

    @Option(
            names = {"-k", "--socket"},
            paramLabel = "PATH",
            description = "Listen on a Unix socket instead.")
    @Nullable
    Path socket;

    @Option(
            names = {"-x", "--export-name"},
            paramLabel = "NAME",
            defaultValue = "",
            description = "The export's name (default: the empty name).")
    String export = "";

    @Option(
            names = {"-r", "--read-only"},
            description = "Refuse writes.")
    boolean readOnly;

    @Option(
            names = {"-e", "--shared"},
            paramLabel = "N",
            defaultValue = "16",
            description = "Clients at the same time (default: 16).")
    int shared;

    @Option(names = "--once", description = "End when the last client has left.")
    boolean once;

    @Override
    public Integer call() throws InterruptedException {
        if (shared < 1 || shared > 1024) {
            throw BenchtopException.config("--shared: " + shared + " is outside 1..1024");
        }
        if (port < 0 || port > 65535) {
            throw BenchtopException.config("--port: " + port + " is outside 0..65535");
        }
        CountDownLatch stop = new CountDownLatch(1);
        CountDownLatch finished = new CountDownLatch(1);
        Thread hook = new Thread(() -> stopAndWait(stop, finished), "benchtop-stop");
        try (PluginRegistry registry = plugins.load(drive.plugins());
                DriveSet drives = drive.drives(file, registry, readOnly)) {
            BlockBackend backend = drives.open(drive.name(file));
            try (LinuxEventLoop loop = LinuxEventLoop.start("nbd");
                    NbdServer server = listen(backend, loop)) {
                Runtime.getRuntime().addShutdownHook(hook);
                say(server, backend);
                if (once) {
                    Thread.ofVirtual().start(() -> awaitLastClient(server, stop));
                }
                stop.await();
            }
        } finally {
            finished.countDown();
        }
        return 0;
    }

    private static void stopAndWait(CountDownLatch stop, CountDownLatch finished) {
        stop.countDown();
        try {
            boolean done = finished.await(SHUTDOWN_SECONDS, TimeUnit.SECONDS);
            if (!done) {
                System.err.println("benchtop: the server did not end in " + SHUTDOWN_SECONDS + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void awaitLastClient(NbdServer server, CountDownLatch stop) {
        try {
            server.awaitLastClient();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        stop.countDown();
    }

    private NbdServer listen(BlockBackend backend, LinuxEventLoop loop) {
        NbdServer.Settings settings = new NbdServer.Settings(export, readOnly, shared);
        if (socket != null) {
            return NbdServer.listen(socket, backend, settings, loop);
        }
        try {
            return NbdServer.listen(
                    new InetSocketAddress(InetAddress.getByName(address), port), backend, settings, loop);
        } catch (UnknownHostException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, "--bind: no such host: " + address, e);
        }
    }

    private void say(NbdServer server, BlockBackend backend) {
        String uri;
        if (server.address() instanceof InetSocketAddress tcp) {
            uri = "nbd://" + address + ":" + tcp.getPort() + "/" + export;
        } else {
            UnixDomainSocketAddress unix = (UnixDomainSocketAddress) server.address();
            uri = "nbd+unix:///" + export + "?socket=" + unix.getPath();
        }
        PrintWriter out = command.commandLine().getOut();
        out.println("serving " + backend.describe() + (readOnly ? ", read-only" : "") + " as " + uri);
        out.flush();
    }
}
