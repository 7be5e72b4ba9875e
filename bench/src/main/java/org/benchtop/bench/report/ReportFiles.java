package org.benchtop.bench.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Writes every form of a report into a folder; a file is either the old or the complete new one. */
public final class ReportFiles {
    private ReportFiles() {}

    /** Writes {@code report.html}, {@code report.json}, {@code runs.csv} and {@code summary.csv}. */
    public static List<Path> write(Report report, Path folder) {
        return List.of(
                write(folder.resolve("report.html"), HtmlReport.of(report)),
                write(folder.resolve("report.json"), JsonReport.of(report)),
                write(folder.resolve("runs.csv"), CsvReport.runs(report)),
                write(folder.resolve("summary.csv"), CsvReport.summary(report)));
    }

    private static Path write(Path file, String content) {
        try {
            Path part = file.resolveSibling(file.getFileName() + ".part");
            Files.writeString(part, content, StandardCharsets.UTF_8);
            return Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be written: " + e.getMessage(), e);
        }
    }
}
