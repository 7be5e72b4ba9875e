package org.benchtop.notebook.kernel;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Fetches libraries by the user's own Maven, with its repositories, mirrors and cache. */
public final class MavenLibraries {
    private static final Pattern COORDINATES =
            Pattern.compile("[\\w.-]+:[\\w.-]+(?::[\\w.-]+){0,2}:[\\w.\\[\\](),+-]+");
    private static final String PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:build-classpath";
    private static final int MAX_REASON = 400;
    private static final Map<List<String>, List<Path>> FETCHED = new ConcurrentHashMap<>();

    private MavenLibraries() {}

    /** Whether a word looks like {@code group:artifact:version}. */
    public static boolean isCoordinates(String word) {
        return COORDINATES.matcher(word).matches();
    }

    /**
     * The jars of libraries and of all that they need.
     *
     * @param coordinates {@code group:artifact[:type[:classifier]]:version}
     * @throws BenchtopException of kind CONFIG for wrong coordinates or unknown libraries, of kind HOST without Maven
     * @throws InterruptedException if the cell was interrupted
     */
    public static List<Path> fetch(List<String> coordinates) throws IOException, InterruptedException {
        if (coordinates.isEmpty()) {
            throw BenchtopException.config("%maven: name a library as group:artifact:version");
        }
        for (String word : coordinates) {
            if (!isCoordinates(word)) {
                throw BenchtopException.config("%maven: \"" + word
                        + "\" is not group:artifact:version, such as com.google.guava:guava:33.4.8-jre");
            }
        }
        List<Path> known = FETCHED.getOrDefault(List.copyOf(coordinates), List.of());
        if (!known.isEmpty()) {
            return known;
        }
        Path folder = Files.createTempDirectory("benchtop-maven");
        try {
            Path pom = folder.resolve("pom.xml");
            Path list = folder.resolve("classpath.txt");
            Files.writeString(pom, pom(coordinates));
            run(List.of("mvn", "-q", "-B", "-f", pom.toString(), PLUGIN, "-Dmdep.outputFile=" + list), folder);
            List<Path> jars = Stream.of(Files.readString(list).strip().split(File.pathSeparator))
                    .filter(entry -> !entry.isBlank())
                    .map(Path::of)
                    .toList();
            FETCHED.put(List.copyOf(coordinates), jars);
            return jars;
        } finally {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file :
                        files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                    Files.deleteIfExists(file);
                }
            }
        }
    }

    private static void run(List<String> command, Path folder) throws IOException, InterruptedException {
        Path log = folder.resolve("log.txt");
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
                    .start();
        } catch (IOException e) {
            throw BenchtopException.of(
                    ErrorKind.HOST, "%maven: Maven (mvn) is needed and not on PATH: " + e.getMessage(), e);
        }
        try {
            int exit = process.waitFor();
            if (exit != 0) {
                String reason = Files.readString(log)
                        .lines()
                        .filter(line -> line.contains("ERROR"))
                        .map(line -> line.replaceAll("\u001b\\[[0-9;]*m", "")
                                .replace("[ERROR]", "")
                                .strip())
                        .findFirst()
                        .orElse("exit code " + exit);
                throw BenchtopException.config(
                        "%maven: " + (reason.length() > MAX_REASON ? reason.substring(0, MAX_REASON) + "…" : reason));
            }
        } finally {
            process.destroy();
        }
    }

    private static String pom(List<String> coordinates) {
        StringBuilder pom = new StringBuilder("<project xmlns=\"http://maven.apache.org/POM/4.0.0\">"
                + "<modelVersion>4.0.0</modelVersion><groupId>org.benchtop.notebook</groupId><artifactId>cell</artifactId>"
                + "<version>1</version><dependencies>");
        for (String word : coordinates) {
            String[] parts = word.split(":");
            pom.append("<dependency>");
            element(pom, "groupId", parts[0]);
            element(pom, "artifactId", parts[1]);
            if (parts.length > 3) {
                element(pom, "type", parts[2]);
            }
            if (parts.length > 4) {
                element(pom, "classifier", parts[3]);
            }
            element(pom, "version", parts[parts.length - 1]);
            pom.append("</dependency>");
        }
        return pom.append("</dependencies></project>").toString();
    }

    private static void element(StringBuilder pom, String name, String value) {
        pom.append('<')
                .append(name)
                .append('>')
                .append(value)
                .append("</")
                .append(name)
                .append('>');
    }
}
