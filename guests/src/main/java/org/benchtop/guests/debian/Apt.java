package org.benchtop.guests.debian;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * Finds and downloads packages with the machine's apt, as any user; keeps archives and answers in the cache, so that it
 * works without network, and without apt, once everything is there.
 */
final class Apt {
    private static final Path LISTS = Path.of("/var/lib/apt/lists");
    private static final int DOWNLOAD_MINUTES = 30;
    private static final int QUERY_MINUTES = 2;
    private static final Pattern KERNEL_PARTS = Pattern.compile("linux-(?:image|modules)-[0-9][a-z0-9+.~-]*");
    private static final Pattern INSTALLED = Pattern.compile("^Inst (\\S+) ");
    private static final Pattern UNKNOWN = Pattern.compile(
            "E: (?:Unable to locate package|Can't find a source to download version|No packages found)\\s*'?([^'\\s]*)"
                    + "|E: Package '([^']+)' has no installation candidate");

    private final Cache cache;
    private final Consumer<String> progress;

    Apt(Cache cache, Consumer<String> progress) {
        this.cache = cache;
        this.progress = progress;
    }

    /** The package that holds a kernel, then those that hold its modules. */
    List<AptPackage> kernel(String name) {
        return cached("kernel " + name, () -> {
            Set<String> names = new LinkedHashSet<>();
            findKernel(name, names, 0);
            return uris(names);
        });
    }

    private void findKernel(String name, Set<String> names, int depth) {
        List<String> shown = run(QUERY_MINUTES, List.of("apt-cache", "show", "--no-all-versions"), Set.of(name));
        String depends = shown.stream()
                .filter(line -> line.startsWith("Depends:"))
                .findFirst()
                .orElse("");
        boolean holdsKernel = KERNEL_PARTS.matcher(name).matches();
        if (holdsKernel) {
            names.add(name);
        }
        Matcher parts = KERNEL_PARTS.matcher(depends);
        while (depth < 2 && parts.find()) {
            if (!names.contains(parts.group())) {
                findKernel(parts.group(), names, depth + 1);
            }
        }
        if (names.isEmpty()) {
            throw BenchtopException.config("package \"" + name + "\" holds no kernel and depends on none");
        }
    }

    /** One package, without what it depends on. */
    List<AptPackage> single(String name) {
        return cached("package " + name, () -> uris(Set.of(name)));
    }

    /** Packages and all that they depend on, as if nothing were installed on this machine. */
    List<AptPackage> withDependencies(Set<String> names) {
        return cached("closure " + names, () -> {
            List<String> simulated = run(
                    QUERY_MINUTES,
                    command(
                            "apt-get",
                            "-qq",
                            "--simulate",
                            "--no-install-recommends",
                            "-o",
                            "Dir::State::status=/dev/null",
                            "install"),
                    names);
            Set<String> installed = new LinkedHashSet<>();
            for (String line : simulated) {
                Matcher matcher = INSTALLED.matcher(line);
                if (matcher.find()) {
                    installed.add(matcher.group(1));
                }
            }
            return uris(installed.isEmpty() ? names : installed);
        });
    }

    /** Where apt would download packages from; unlike "install" it names those that are downloaded already, too. */
    private static List<AptPackage> uris(Set<String> names) {
        return packages(run(QUERY_MINUTES, command("apt-get", "--print-uris", "-qq", "download"), names));
    }

    private static List<String> command(String... words) {
        return List.of(words);
    }

    private static List<AptPackage> packages(List<String> lines) {
        List<AptPackage> found = new ArrayList<>();
        for (String line : lines) {
            if (line.startsWith("'")) {
                found.add(AptPackage.parse(line));
            }
        }
        return found;
    }

    private interface Query {
        List<AptPackage> ask();
    }

    /** Asks again when the machine's package lists have changed; takes the last answer when apt is not there. */
    private List<AptPackage> cached(String question, Query query) {
        Path file = cache.path("answers", Cache.hash(question).substring(0, 32));
        String stamp = "# " + question + " " + listsStamp();
        List<String> known = readLines(file);
        boolean usable = known.size() > 1;
        if (usable && known.getFirst().equals(stamp)) {
            return packages(known);
        }
        List<AptPackage> answer;
        try {
            answer = query.ask();
        } catch (BenchtopException e) {
            if (usable && e.kind() == ErrorKind.HOST) {
                progress.accept("using cached packages (" + e.getMessage() + ")");
                return packages(known);
            }
            throw e;
        }
        if (answer.isEmpty()) {
            throw BenchtopException.host("apt names no file for " + question + " (apt-get update may help)");
        }
        StringBuilder text = new StringBuilder(stamp).append('\n');
        answer.forEach(p -> text.append(p.line()).append('\n'));
        Cache.write(file, out -> out.write(text.toString().getBytes(StandardCharsets.UTF_8)));
        return answer;
    }

    private static String listsStamp() {
        try {
            return Files.getLastModifiedTime(LISTS).toString();
        } catch (IOException e) {
            return "none";
        }
    }

    private static List<String> readLines(Path file) {
        try {
            return Files.isRegularFile(file) ? Files.readAllLines(file) : List.of();
        } catch (IOException e) {
            return List.of();
        }
    }

    /** Downloads what is not in the cache; returns where the archives are, in order. */
    Map<AptPackage, Path> download(List<AptPackage> packages) {
        Map<AptPackage, Path> files = new LinkedHashMap<>();
        List<AptPackage> missing = new ArrayList<>();
        for (AptPackage p : packages) {
            Path file = cache.path("debs", p.fileName());
            files.put(p, file);
            if (!isWhole(file, p.sizeBytes())) {
                missing.add(p);
            }
        }
        for (int i = 0; i < missing.size(); i++) {
            AptPackage p = missing.get(i);
            progress.accept(String.format(
                    "downloading %s %s (%s, %d of %d)",
                    p.name(), p.version(), size(p.sizeBytes()), i + 1, missing.size()));
            fetch(p, files.get(p));
        }
        return files;
    }

    private static String size(long bytes) {
        return bytes < 1 << 20 ? (bytes + 1023) / 1024 + " KiB" : String.format("%.1f MiB", bytes / 1048576.0);
    }

    /** Whether an archive is as it was when apt had checked it against its signed lists. */
    private static boolean isWhole(Path file, long sizeBytes) {
        Path sum = checksum(file);
        try {
            return Files.isRegularFile(file)
                    && Files.size(file) == sizeBytes
                    && Files.isRegularFile(sum)
                    && Files.readString(sum).strip().equals(Cache.hash(file));
        } catch (IOException e) {
            return false;
        }
    }

    private static Path checksum(Path file) {
        return file.resolveSibling(file.getFileName() + ".sha256");
    }

    private void fetch(AptPackage p, @org.jspecify.annotations.Nullable Path target) {
        Path work = cache.scratch();
        try {
            run(DOWNLOAD_MINUTES, work, command("apt-get", "-qq", "download"), Set.of(p.name() + "=" + p.version()));
            Path got = work.resolve(p.fileName());
            if (target == null || !Files.isRegularFile(got) || Files.size(got) != p.sizeBytes()) {
                throw BenchtopException.host("apt-get download " + p.name() + " did not give " + p.fileName());
            }
            String sum = Cache.hash(got);
            Files.move(got, target, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
            Cache.write(checksum(target), out -> out.write(sum.getBytes(StandardCharsets.US_ASCII)));
        } catch (IOException e) {
            throw Cache.writing(work, e);
        } finally {
            Cache.deleteTree(work);
        }
    }

    private static List<String> run(int minutes, List<String> command, Set<String> names) {
        return run(minutes, Path.of("."), command, names);
    }

    private static List<String> run(int minutes, Path folder, List<String> command, Set<String> names) {
        List<String> words = new ArrayList<>(command);
        words.addAll(names);
        Process process;
        try {
            ProcessBuilder builder = new ProcessBuilder(words).directory(folder.toFile());
            builder.environment().put("LC_ALL", "C");
            process = builder.redirectInput(new java.io.File("/dev/null")).start();
        } catch (IOException e) {
            throw BenchtopException.of(
                    ErrorKind.HOST, words.getFirst() + " is not here: Debian guests are made on Debian and Ubuntu", e);
        }
        try {
            StringBuilder errors = new StringBuilder();
            Thread reader = Thread.ofVirtual().start(() -> drain(process, errors));
            List<String> lines = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            if (!process.waitFor(minutes, TimeUnit.MINUTES)) {
                throw BenchtopException.host(words.getFirst() + " has not ended after " + minutes + " minutes");
            }
            reader.join();
            if (process.exitValue() != 0) {
                throw failed(words, process.exitValue(), errors.toString());
            }
            return lines;
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, words.getFirst() + ": " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw BenchtopException.of(ErrorKind.HOST, words.getFirst() + " was interrupted", e);
        } finally {
            process.destroy();
        }
    }

    private static void drain(Process process, StringBuilder errors) {
        try {
            errors.append(new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            errors.append("E: ").append(e.getMessage());
        }
    }

    private static BenchtopException failed(List<String> words, int code, String errors) {
        Matcher unknown = UNKNOWN.matcher(errors);
        if (unknown.find()) {
            String name = unknown.group(2) != null ? unknown.group(2) : unknown.group(1);
            return BenchtopException.config("package \"" + (name.isEmpty() ? words.getLast() : name)
                    + "\" is unknown to apt on this machine (apt-get update may help)");
        }
        String line = errors.lines()
                .filter(l -> l.startsWith("E: "))
                .map(l -> l.substring(3))
                .findFirst()
                .orElse("exit code " + code);
        return BenchtopException.host(words.getFirst() + " failed for " + words.getLast() + ": " + line);
    }
}
