package org.benchtop.bench.report;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.benchtop.engine.OutputFile;

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
        return OutputFile.write(file, content.getBytes(StandardCharsets.UTF_8));
    }
}
