package org.benchtop.notebook.magic;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.notebook.display.Jupyter;
import org.benchtop.notebook.kernel.Environment;
import org.benchtop.notebook.kernel.Magic;
import org.benchtop.notebook.render.LiveView;
import org.benchtop.notebook.render.Renderings;
import org.benchtop.shell.jshell.ApiSources;
import org.benchtop.shell.lab.Lab;
import org.benchtop.shell.lab.VmWatch;

/** Cells with the lab: its facade imported, its magics, its renderings. */
public final class LabEnvironment implements Environment {
    /** Makes the lab's objects render themselves. */
    public LabEnvironment() {
        Renderings.register(Jupyter.renderer());
        // Beside the start of the compiler, which takes longer.
        Thread.ofPlatform().daemon().name("benchtop-sources").start(ApiSources::offer);
    }

    @Override
    public String version() {
        return Optional.ofNullable(LabEnvironment.class.getPackage().getImplementationVersion())
                .orElse("(unpackaged)");
    }

    @Override
    public String banner() {
        return "Benchtop " + version() + ", a virtual-machine lab (Java " + Runtime.version() + ")\n"
                + "machine(\"…\"), boot(\"…\"), vm.console(), vm.regs(), plot(…), bench(…); %help lists magics";
    }

    @Override
    public Map<String, String> helpLinks() {
        Map<String, String> links = new LinkedHashMap<>();
        links.put("Java 25 API", "https://docs.oracle.com/en/java/javase/25/docs/api/index.html");
        return links;
    }

    @Override
    public String startup() {
        return """
                import java.io.*;
                import java.math.*;
                import java.nio.file.*;
                import java.time.Duration;
                import java.util.*;
                import java.util.concurrent.*;
                import java.util.function.*;
                import java.util.stream.*;
                import org.benchtop.bench.Trial;
                import org.benchtop.bench.measure.*;
                import org.benchtop.bench.report.Report;
                import org.benchtop.engine.*;
                import org.benchtop.engine.config.*;
                import org.benchtop.guests.lang.Guest;
                import org.benchtop.shell.lab.*;
                import org.benchtop.spi.*;
                import static org.benchtop.shell.lab.Lab.*;
                import static org.benchtop.shell.lab.Printing.*;
                import static org.benchtop.notebook.display.Jupyter.*;
                """;
    }

    @Override
    public List<Magic> magics() {
        return LabMagics.all();
    }

    @Override
    public void ready(ClassLoader cells) {
        Lab.progress(new NotebookProgress());
        Renderings.warmUp();
    }

    @Override
    public boolean showLive(Object value) {
        if (value instanceof VmWatch watch) {
            LiveView.start(watch);
            return true;
        }
        return false;
    }

    /** Closes machines and what shows them. */
    @Override
    public void close() {
        LiveView.closeAll();
        Lab.closeAll();
    }
}
