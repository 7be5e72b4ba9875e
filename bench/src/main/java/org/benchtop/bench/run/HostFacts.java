package org.benchtop.bench.run;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What figures depend on besides the experiment: hardware, kernel, Java, file system.
 *
 * @param facts by name, in the order in which they are shown
 */
public record HostFacts(Map<String, String> facts) {
    private static final List<String> KVM_MODULES = List.of("kvm_intel", "kvm_amd", "kvm_pvm", "kvm");

    public HostFacts {
        facts = Collections.unmodifiableMap(new LinkedHashMap<>(facts));
    }

    /**
     * Looks at this host.
     *
     * @param storage a folder on the file system that holds the disk images
     */
    public static HostFacts collect(Path storage) {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("CPU", cpuModel() + ", " + Runtime.getRuntime().availableProcessors() + " CPUs");
        firstLine(Path.of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
                .ifPresentOrElse(
                        governor -> facts.put("CPU governor", governor),
                        () -> facts.put("CPU governor", "not readable"));
        memoryMebibytes().ifPresent(size -> facts.put("memory", String.format(Locale.ROOT, "%,d MiB", size)));
        facts.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        facts.put(
                "KVM",
                Files.exists(Path.of("/dev/kvm"))
                        ? KVM_MODULES.stream()
                                .filter(module -> Files.isDirectory(Path.of("/sys/module", module)))
                                .findFirst()
                                .orElse("built in")
                        : "no /dev/kvm");
        if (isVirtual()) {
            facts.put("virtual", "the host is itself a virtual machine");
        }
        facts.put(
                "Java",
                System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version") + ", "
                        + collectors());
        facts.put("disk image file system", fileSystem(storage));
        return new HostFacts(facts);
    }

    private static String collectors() {
        return java.lang.management.ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(java.lang.management.MemoryManagerMXBean::getName)
                .collect(Collectors.joining(" + "));
    }

    private static String cpuModel() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
            return lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse(System.getProperty("os.arch"));
        } catch (IOException e) {
            return System.getProperty("os.arch");
        }
    }

    private static boolean isVirtual() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
            return lines.filter(line -> line.startsWith("flags"))
                    .findFirst()
                    .map(line -> List.of(line.split(" ")).contains("hypervisor"))
                    .orElse(false);
        } catch (IOException e) {
            return false;
        }
    }

    private static Optional<Long> memoryMebibytes() {
        return firstLine(Path.of("/proc/meminfo")).map(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024);
    }

    private static String fileSystem(Path storage) {
        try {
            Path real = storage.toRealPath();
            FileStore store = Files.getFileStore(real);
            String options = "";
            int longest = -1;
            for (String line : Files.readAllLines(Path.of("/proc/self/mounts"))) {
                String[] words = line.split(" ");
                if (words.length > 3
                        && real.startsWith(words[1].replace("\\040", " "))
                        && words[1].length() >= longest) {
                    longest = words[1].length();
                    options = words[3];
                }
            }
            return store.type() + " on " + store.name() + (options.isEmpty() ? "" : " (" + options + ")");
        } catch (IOException e) {
            return "unknown: " + e.getMessage();
        }
    }

    private static Optional<String> firstLine(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.findFirst().map(String::strip).filter(line -> !line.isEmpty());
        } catch (IOException | java.io.UncheckedIOException e) {
            return Optional.empty();
        }
    }
}
