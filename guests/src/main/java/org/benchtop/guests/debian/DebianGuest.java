package org.benchtop.guests.debian;

import com.github.luben.zstd.ZstdOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * Makes a Linux guest of Debian packages: the kernel, and an initial RAM disk with busybox, the wanted packages and
 * kernel modules, and an init script. Needs apt but no root; takes from the cache what has not changed.
 */
public final class DebianGuest {
    private static final String BUSYBOX = "busybox-static";
    private static final String KERNEL = "vmlinuz";
    private static final String ELF_KERNEL = "vmlinux";
    private static final String INITRD = "initrd.cpio";
    private static final String NOTE = "description";
    /** Changes when the same options give other files. */
    private static final String FORMAT = "3";

    private static final List<String> LEFT_OUT =
            List.of("usr/share/doc/", "usr/share/man/", "usr/share/info/", "usr/share/locale/", "usr/share/lintian/");

    private final Cache cache;
    private final DebianOptions options;
    private final Consumer<String> progress;
    private final Apt apt;

    private DebianGuest(Cache cache, DebianOptions options, UnaryOperator<Path> resolve, Consumer<String> progress) {
        this.cache = cache;
        this.options = resolved(options, resolve);
        this.progress = progress;
        this.apt = new Apt(cache, progress);
    }

    private static DebianOptions resolved(DebianOptions o, UnaryOperator<Path> resolve) {
        Map<String, Path> files = new TreeMap<>();
        o.files().forEach((path, file) -> files.put(path, resolve.apply(file)));
        return new DebianOptions(
                o.kernel(),
                o.modules(),
                o.packages(),
                o.init().map(resolve),
                o.script(),
                files,
                o.compression(),
                o.protocol(),
                o.cmdline());
    }

    /**
     * Makes the guest in the cache, or finds it there.
     *
     * @param resolve makes relative paths of the options absolute
     * @param progress is told what takes long
     * @throws BenchtopException of kind CONFIG for a package, module or file that is not there, of kind HOST if apt, the
     *     network or the disk fails
     */
    public static DebianFiles prepare(DebianOptions options, UnaryOperator<Path> resolve, Consumer<String> progress) {
        return prepare(Cache.ofUser(), options, resolve, progress);
    }

    static DebianFiles prepare(
            Cache cache, DebianOptions options, UnaryOperator<Path> resolve, Consumer<String> progress) {
        return new DebianGuest(cache, options, resolve, progress).prepare();
    }

    /** Makes the guest and puts its files into a folder, each of them whole or not at all. */
    public static DebianFiles export(
            DebianOptions options, UnaryOperator<Path> resolve, Path folder, Consumer<String> progress) {
        DebianFiles made = prepare(options, resolve, progress);
        Path kernel = folder.resolve(String.valueOf(made.kernel().getFileName()));
        Path initrd = folder.resolve(String.valueOf(made.initrd().getFileName()));
        Cache.write(kernel, out -> Files.copy(made.kernel(), out));
        Cache.write(initrd, out -> Files.copy(made.initrd(), out));
        return new DebianFiles(kernel, initrd, made.description());
    }

    private DebianFiles prepare() {
        List<AptPackage> kernels = apt.kernel(kernelPackage(options.kernel()));
        Set<String> names = new LinkedHashSet<>(options.packages());
        names.add(BUSYBOX);
        List<AptPackage> others = apt.withDependencies(names);
        String description = describe(kernels, others);
        Path target = cache.path("guests", key(kernels, others).substring(0, 32));
        if (!Files.isDirectory(target)) {
            Path work = cache.scratch();
            try {
                build(work, kernels, others);
                Cache.write(
                        work.resolve(NOTE), out -> out.write((description + "\n").getBytes(StandardCharsets.UTF_8)));
                Cache.publish(work, target);
            } finally {
                if (Files.exists(work)) {
                    Cache.deleteTree(work);
                }
            }
        }
        return new DebianFiles(
                target.resolve(options.protocol() == DebianOptions.Protocol.PVH ? ELF_KERNEL : KERNEL),
                target.resolve(initrdName()),
                description);
    }

    private static String kernelPackage(String kernel) {
        return switch (kernel) {
            case "cloud" -> "linux-image-cloud-amd64";
            case "full" -> "linux-image-amd64";
            default -> kernel;
        };
    }

    private String initrdName() {
        return switch (options.compression()) {
            case NONE -> INITRD;
            case GZIP -> INITRD + ".gz";
            case ZSTD -> INITRD + ".zst";
        };
    }

    private String describe(List<AptPackage> kernels, List<AptPackage> others) {
        AptPackage kernel = kernels.getFirst();
        return kernel.name() + " " + kernel.version() + ", " + others.size()
                + (others.size() == 1 ? " package" : " packages");
    }

    /** Everything that the files depend on, as a hash. */
    private String key(List<AptPackage> kernels, List<AptPackage> others) {
        StringBuilder text = new StringBuilder(FORMAT).append(InitScript.text());
        kernels.forEach(p -> text.append(p.line()).append('\n'));
        others.forEach(p -> text.append(p.line()).append('\n'));
        text.append(options.modules()).append(options.compression()).append(options.protocol());
        script().ifPresent(script -> text.append("script ").append(Cache.hash(script)));
        options.files()
                .forEach((path, file) -> text.append("file ")
                        .append(path)
                        .append(Files.isExecutable(file))
                        .append(hashOf(file)));
        return Cache.hash(text.toString());
    }

    private static String hashOf(Path file) {
        try {
            return Cache.hash(file);
        } catch (IOException e) {
            throw unreadable(file, e);
        }
    }

    private static BenchtopException unreadable(Path file, IOException e) {
        String why = Files.exists(file) ? "cannot be read: " + e.getMessage() : "there is no such file";
        return BenchtopException.of(ErrorKind.CONFIG, file + ": " + why, e);
    }

    private Optional<String> script() {
        return options.script()
                .or(() -> options.init().map(file -> {
                    try {
                        return Files.readString(file);
                    } catch (IOException e) {
                        throw unreadable(file, e);
                    }
                }));
    }

    private void build(Path work, List<AptPackage> kernels, List<AptPackage> others) {
        List<Path> kernelDebs = List.copyOf(apt.download(kernels).values());
        List<Path> otherDebs = List.copyOf(apt.download(others).values());
        Map<String, String> modules = Map.of();
        if (!options.modules().isEmpty()) {
            progress.accept("reading the modules of " + kernels.getFirst().name());
            modules = KernelModules.of(cache, kernelDebs).closure(options.modules());
        }
        Initramfs image = new Initramfs();
        progress.accept("unpacking " + kernels.getFirst().name());
        byte[] kernel = addKernel(kernelDebs, modules, image);
        if (otherDebs.size() > 1) {
            progress.accept("unpacking " + otherDebs.size() + " packages");
        }
        otherDebs.forEach(deb -> addPackage(deb, image));
        image.symbolicLink("init", "/etc/benchtop/init");
        image.file("etc/benchtop/init", 0755, InitScript.text());
        image.file(ExitProgram.PATH, 0755, ExitProgram.elf());
        image.file("etc/passwd", 0644, "root:x:0:0:root:/root:/bin/sh\n");
        image.file("etc/group", 0644, "root:x:0:\n");
        script().ifPresent(script -> image.file(InitScript.USER_SCRIPT, 0755, script));
        options.files().forEach((path, file) -> addFile(path.substring(1), file, image));
        progress.accept("writing " + initrdName());
        if (options.protocol() == DebianOptions.Protocol.PVH) {
            byte[] elf = Vmlinuz.extract(kernelDebs.getFirst(), kernel);
            Cache.write(work.resolve(ELF_KERNEL), out -> out.write(elf));
        } else {
            Cache.write(work.resolve(KERNEL), out -> out.write(kernel));
        }
        Cache.write(work.resolve(initrdName()), out -> {
            try (OutputStream compressed = compressing(out)) {
                image.writeTo(compressed);
            }
        });
    }

    private OutputStream compressing(OutputStream out) throws IOException {
        return switch (options.compression()) {
            case NONE -> out;
            case GZIP -> new GZIPOutputStream(out, 1 << 16);
            case ZSTD -> new ZstdOutputStream(out, 10);
        };
    }

    private static byte[] addKernel(List<Path> debs, Map<String, String> modules, Initramfs image) {
        Set<String> wanted = Set.copyOf(modules.values());
        List<byte[]> kernels = new ArrayList<>();
        for (Path deb : debs) {
            DebArchive.visit(deb, (path, entry, data) -> {
                if (path.matches("boot/vmlinuz-[^/]*") && entry.isFile()) {
                    kernels.add(data.readAllBytes());
                } else if (wanted.contains(path)) {
                    image.file(modulePath(path), 0644, KernelModules.decompress(data.readAllBytes()));
                }
            });
        }
        if (kernels.isEmpty()) {
            throw BenchtopException.config(debs.getFirst().getFileName() + " holds no boot/vmlinuz");
        }
        StringBuilder list = new StringBuilder();
        modules.values()
                .forEach(path -> list.append('/').append(modulePath(path)).append('\n'));
        image.file(InitScript.MODULES, 0644, list.toString());
        return kernels.getFirst();
    }

    private static String modulePath(String path) {
        return path.replaceFirst("\\.ko\\..*$", ".ko");
    }

    private static void addPackage(Path deb, Initramfs image) {
        DebArchive.visit(deb, (path, entry, data) -> {
            if (LEFT_OUT.stream().anyMatch((path + "/")::startsWith)) {
                return;
            }
            int permissions = entry.getMode() & 07777;
            if (entry.isDirectory()) {
                image.folder(path, permissions);
            } else if (entry.isSymbolicLink()) {
                image.symbolicLink(path, entry.getLinkName());
            } else if (entry.isLink()) {
                image.hardLink(path, linkTarget(entry));
            } else if (entry.isFile()) {
                image.file(path, permissions, data.readAllBytes());
            }
        });
    }

    private static String linkTarget(TarArchiveEntry entry) {
        String target = entry.getLinkName();
        return target.startsWith("./") ? target.substring(2) : target;
    }

    private static void addFile(String path, Path file, Initramfs image) {
        try {
            image.file(path, Files.isExecutable(file) ? 0755 : 0644, Files.readAllBytes(file));
        } catch (IOException e) {
            throw unreadable(file, e);
        }
    }
}
