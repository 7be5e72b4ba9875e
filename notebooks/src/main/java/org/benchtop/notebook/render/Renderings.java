package org.benchtop.notebook.render;

import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.benchtop.bench.chart.ChartStyle;
import org.benchtop.bench.chart.Charts;
import org.benchtop.bench.chart.Markup;
import org.benchtop.bench.chart.XyChart;
import org.benchtop.bench.measure.Latency;
import org.benchtop.bench.report.Report;
import org.benchtop.engine.config.Units;
import org.benchtop.shell.lab.CpuState;
import org.benchtop.shell.lab.DeviceTree;
import org.benchtop.shell.lab.DeviceView;
import org.benchtop.shell.lab.Disassembly;
import org.benchtop.shell.lab.ExitHistogram;
import org.benchtop.shell.lab.MemoryView;
import org.benchtop.shell.lab.PageMap;
import org.benchtop.shell.lab.PageWalk;
import org.benchtop.shell.lab.PciView;
import org.benchtop.shell.lab.Plot;
import org.benchtop.shell.lab.QueueState;
import org.benchtop.shell.lab.QueueTable;
import org.benchtop.shell.lab.Screen;
import org.benchtop.shell.lab.StatsView;
import org.benchtop.shell.lab.Vm;
import org.benchtop.shell.lab.VmConsole;
import org.benchtop.shell.lab.VmSummary;
import org.benchtop.shell.lab.VmWatch;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.dflib.jjava.jupyter.kernel.display.Renderer;
import org.dflib.jjava.jupyter.kernel.display.common.Image;
import org.dflib.jjava.jupyter.kernel.display.mime.MIMEType;

/** One rendering for each type of the lab. Every rendering has plain text as well, which is {@code toString}. */
public final class Renderings {
    private static final int WARM_PICTURES = 8;

    private static final int SHOWN_RANGES = 64;
    private static final int SHOWN_ADDRESSES = 12;
    private static final int CONSOLE_LINES = 40;

    private Renderings() {}

    /** Teaches a renderer all types. */
    public static void register(Renderer renderer) {
        Image.registerAll(renderer);
        html(renderer, CpuState.class, Renderings::registers);
        html(renderer, MemoryView.class, memory -> pre(memory.toString()));
        html(renderer, MemoryView.Diff.class, Renderings::difference);
        html(renderer, Disassembly.class, Renderings::code);
        html(renderer, PciView.class, Renderings::pci);
        html(renderer, PageMap.class, Renderings::pages);
        html(renderer, PageWalk.class, Renderings::walk);
        html(renderer, QueueTable.class, table -> queues(table.queues()));
        html(renderer, QueueState.class, queue -> queues(List.of(queue)));
        html(renderer, DeviceView.class, Renderings::device);
        html(renderer, DeviceTree.class, Renderings::devices);
        html(renderer, StatsView.class, Renderings::stats);
        html(renderer, VmConsole.class, console -> console(console.transcript()));
        html(renderer, Screen.class, Renderings::screen);
        full(renderer, Vm.class, (vm, data) -> card(vm.summary(), data));
        full(renderer, VmSummary.class, Renderings::card);
        full(renderer, VmWatch.class, (watch, data) -> frame(watch.frame(), data));
        full(renderer, VmWatch.Frame.class, Renderings::frame);
        full(renderer, ExitHistogram.class, Renderings::exits);
        full(renderer, Plot.class, (plot, data) -> picture(svg(plot), data));
        full(renderer, Latency.class, Renderings::latency);
        full(renderer, Report.class, ReportView::render);
    }

    /** Gets graphics and fonts ready in the background, when the first cells have had their time. */
    public static void warmUp() {
        Thread.ofPlatform().daemon().name("picture-warm-up").start(() -> {
            try {
                TimeUnit.SECONDS.sleep(1);
                Png.warmUp();
                // Fast only when it has been compiled; later, because the first cell needs the processors, too.
                TimeUnit.SECONDS.sleep(2);
                for (int i = 0; i < WARM_PICTURES; i++) {
                    Png.warmUp();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    private interface Html<T> {
        String of(T value);
    }

    private static <T> void html(Renderer renderer, Class<T> type, Html<T> html) {
        full(renderer, type, (value, data) -> data.putData(MIMEType.TEXT_HTML, html.of(value)));
    }

    private static <T> void full(Renderer renderer, Class<T> type, BiConsumer<T, DisplayData> rendering) {
        renderer.createRegistration(type)
                .preferring(MIMEType.TEXT_HTML, MIMEType.IMAGE_SVG, MIMEType.IMAGE_PNG)
                .supporting(MIMEType.TEXT_PLAIN)
                .register((value, context) -> {
                    DisplayData all = new DisplayData(String.valueOf(value));
                    rendering.accept(value, all);
                    for (MIMEType form :
                            List.of(MIMEType.TEXT_PLAIN, MIMEType.TEXT_HTML, MIMEType.IMAGE_SVG, MIMEType.IMAGE_PNG)) {
                        if (all.hasDataForType(form)) {
                            context.renderIfRequested(form, () -> all.getData(form));
                        }
                    }
                });
    }

    /** Puts a picture as SVG and PNG, so that front ends that block one show the other. */
    static void picture(String svg, DisplayData data) {
        data.putData(MIMEType.IMAGE_SVG, ChartStyle.standalone(svg));
        Png.of(svg).ifPresent(png -> data.putData(MIMEType.IMAGE_PNG, png));
    }

    /** A picture for use within HTML, where no style or script of it can leak into the page. */
    static String inline(String svg) {
        String data = Base64.getEncoder()
                .encodeToString(ChartStyle.standalone(svg).getBytes(java.nio.charset.StandardCharsets.UTF_8));
        int start = svg.indexOf("aria-label=\"");
        String label = start < 0 ? "picture" : svg.substring(start + 12, svg.indexOf('"', start + 12));
        return "<img style=\"max-width: 100%\" alt=\"" + label + "\" src=\"data:image/svg+xml;base64," + data + "\"/>";
    }

    static String pre(String text) {
        return "<pre style=\"line-height: 1.25\">" + Markup.escape(text) + "</pre>";
    }

    // ---- machines

    private static void card(VmSummary vm, DisplayData data) {
        data.putText(vm.toString());
        String svg = MachineCard.svg(vm);
        HtmlTable table = new HtmlTable("ll");
        table.row("boot", vm.boot());
        vm.exit().ifPresent(exit -> table.row("ended", exit.describe()));
        vm.devices().forEach(part -> table.row("device " + part.name(), options(part)));
        vm.backends().stream()
                .filter(part -> !part.kind().equals("iothread"))
                .forEach(part -> table.row(part.kind() + " " + part.name(), part.type() + " " + options(part)));
        data.putData(
                MIMEType.TEXT_HTML,
                inline(svg) + "<details><summary>" + Markup.escape(vm.name()) + ": options of all parts</summary>"
                        + table + "</details>");
        picture(svg, data);
    }

    private static String options(VmSummary.Part part) {
        StringBuilder text = new StringBuilder();
        part.references()
                .forEach((kind, name) ->
                        text.append(kind).append(": ").append(name).append("  "));
        part.options()
                .forEach((key, value) ->
                        text.append(key).append(": ").append(value).append("  "));
        return text.toString().strip();
    }

    private static void frame(VmWatch.Frame frame, DisplayData data) {
        HtmlTable rates = new HtmlTable("llrr", "part", "counter", "count", "per second");
        StatsView stats = frame.stats();
        stats.now()
                .entries()
                .forEach((entry, values) -> values.values().forEach((name, value) -> {
                    double rate = stats.rate(entry, name);
                    if (rate > 0) {
                        rates.row(entry, name, figure(value), figure(rate));
                    }
                }));
        StringBuilder html = new StringBuilder("<div><b>")
                .append(Markup.escape(frame.summary().name()))
                .append("</b> ")
                .append(frame.summary().state().name().toLowerCase(Locale.ROOT))
                .append(frame.summary()
                        .exit()
                        .map(exit -> ": " + Markup.escape(exit.describe()))
                        .orElse(""))
                .append("</div>")
                .append(rates);
        if (!frame.exits().byReason().isEmpty()) {
            html.append(reasons(frame.exits()));
        }
        if (!frame.console().isEmpty()) {
            html.append(console(frame.console()));
        }
        data.putData(MIMEType.TEXT_HTML, html.toString());
    }

    private static String screen(Screen screen) {
        if (screen.columns() == 0) {
            return "<div>" + Markup.escape(screen.toString()) + "</div>";
        }
        StringBuilder html = new StringBuilder(
                "<pre style=\"background: #000000; padding: 4px; line-height: 1.15;" + " display: inline-block\">");
        for (List<Screen.Span> line : screen.spans()) {
            for (Screen.Span span : line) {
                html.append(String.format(
                        Locale.ROOT,
                        "<span style=\"color: #%06x; background: #%06x\">%s</span>",
                        span.foreground(),
                        span.background(),
                        Markup.escape(span.text())));
            }
            html.append('\n');
        }
        return html.append("</pre>").toString();
    }

    private static String console(String transcript) {
        List<String> lines = transcript.lines().toList();
        List<String> tail = lines.subList(Math.max(0, lines.size() - CONSOLE_LINES), lines.size());
        String text = String.join("\n", tail).replaceAll("\u001b\\[[0-9;?]*[A-Za-z]", "");
        return "<pre style=\"background: #14181e; color: #e4e8ee; padding: 8px 12px; border-radius: 4px; line-height: 1.25\">"
                + (lines.size() > tail.size() ? "… " + (lines.size() - tail.size()) + " lines above\n" : "")
                + Markup.escape(text.isEmpty() ? "(nothing yet)" : text) + "</pre>";
    }

    static String figure(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15 || Math.abs(value) >= 1000
                ? String.format(Locale.ROOT, "%,.0f", value)
                : String.format(Locale.ROOT, "%.3g", value);
    }

    // ---- CPU and memory

    private static String registers(CpuState cpu) {
        HtmlTable table = new HtmlTable("mmmmmmmm");
        String mode = cpu.mode().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        table.heading(cpu.machine() + ", vcpu" + cpu.vcpu() + ": " + mode + " mode, ring " + cpu.ring()
                + (cpu.changed().isEmpty() ? "" : "; changed since the capture before is marked"));
        int column = 0;
        table.begin();
        for (CpuState.Register register : cpu.group(CpuState.Group.GENERAL)) {
            if (column == 4) {
                table.end().begin();
                column = 0;
            }
            String look = cpu.changed().contains(register.name()) ? HtmlTable.CHANGED : "";
            table.cell(register.name(), look).cell(register.hex(), look);
            column++;
        }
        table.end();
        HtmlTable others = new HtmlTable("mml");
        for (CpuState.Group group : CpuState.Group.values()) {
            if (group == CpuState.Group.GENERAL) {
                continue;
            }
            List<CpuState.Register> registers = cpu.group(group);
            if (registers.isEmpty()) {
                continue;
            }
            others.heading(group.name().toLowerCase(Locale.ROOT));
            for (CpuState.Register register : registers) {
                String look = cpu.changed().contains(register.name()) ? HtmlTable.CHANGED : "";
                others.begin()
                        .cell(register.name(), look)
                        .cell(register.hex(), look)
                        .cell(register.meaning())
                        .end();
            }
        }
        String flags = cpu.group(CpuState.Group.GENERAL).stream()
                .filter(register -> register.name().endsWith("flags"))
                .map(CpuState.Register::meaning)
                .findFirst()
                .orElse("");
        return table + (flags.isEmpty() ? "" : "<div>flags: " + Markup.escape(flags) + "</div>")
                + "<details><summary>segment, control and other registers</summary>" + others + "</details>";
    }

    private static String code(Disassembly code) {
        HtmlTable table = new HtmlTable("mmml");
        for (Disassembly.Line line : code.lines()) {
            String look = line.current() ? HtmlTable.CHANGED : "";
            table.begin()
                    .cell((line.current() ? "▶ " : "") + hex(line.instruction().address()), look)
                    .cell(bytes(line.instruction().bytes()), look)
                    .cell(line.instruction().text(), look)
                    .cell(line.source(), look)
                    .end();
        }
        return table.toString();
    }

    private static String difference(MemoryView.Diff diff) {
        if (diff.differences().isEmpty()) {
            return "<div>no difference</div>";
        }
        HtmlTable table = new HtmlTable("mmm", "address", "before", "after");
        diff.differences().stream()
                .limit(SHOWN_RANGES)
                .forEach(one -> table.begin()
                        .cell(hex(one.address()))
                        .cell(bytes(one.before()))
                        .cell(bytes(one.after()), HtmlTable.CHANGED)
                        .end());
        return "<div>" + diff.bytes() + " bytes differ</div>" + table;
    }

    private static String bytes(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < Math.min(bytes.length, 32); i++) {
            text.append(i == 0 ? "" : " ").append(String.format(Locale.ROOT, "%02x", bytes[i]));
        }
        return bytes.length > 32 ? text + " …" : text.toString();
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    private static String pages(PageMap map) {
        HtmlTable table = new HtmlTable("mmrml", "virtual", "physical", "size", "rights", "pages");
        map.ranges().stream()
                .limit(SHOWN_RANGES)
                .forEach(range -> table.row(
                        hex(range.virtualAddress()) + " – " + hex(range.virtualAddress() + range.sizeBytes() - 1),
                        hex(range.physicalAddress()),
                        Units.formatSize(range.sizeBytes()),
                        range.rights(),
                        Units.formatSize(range.pageBytes())));
        int more = map.ranges().size() - SHOWN_RANGES;
        return "<div>" + Markup.escape(map.paging()) + " paging, "
                + map.ranges().size() + (map.complete() ? "" : "+") + " ranges</div>" + table
                + (more > 0 ? "<div>… and " + more + " more</div>" : "");
    }

    private static String walk(PageWalk walk) {
        HtmlTable table = new HtmlTable("lrmml", "table", "entry", "at", "value", "flags");
        walk.steps()
                .forEach(step -> table.row(
                        step.level(),
                        Integer.toString(step.index()),
                        hex(step.entryAddress()),
                        hex(step.entry()),
                        step.flags()));
        return "<div><code>" + hex(walk.virtualAddress()) + "</code> (" + Markup.escape(walk.paging())
                + " paging)</div>" + table + "<div>" + Markup.escape(walk.outcome()) + "</div>";
    }

    // ---- devices

    private static String pci(PciView pci) {
        HtmlTable table =
                new HtmlTable("mlmllll", "address", "device", "id", "class", "command", "BARs", "capabilities");
        for (PciView.Function function : pci.functions()) {
            table.begin()
                    .cell(function.address())
                    .cell(function.device())
                    .cell(function.id())
                    .cell(function.className())
                    .cell(function.commandFlags())
                    .raw(lines(function.bars()))
                    .raw(lines(function.capabilities()))
                    .end();
        }
        return table.toString();
    }

    private static String lines(List<?> items) {
        return String.join(
                "<br/>",
                items.stream().map(item -> Markup.escape(item.toString())).toList());
    }

    private static String devices(DeviceTree tree) {
        StringBuilder html = new StringBuilder();
        tree.devices()
                .forEach(device -> html.append("<details><summary>")
                        .append(Markup.escape(device.id() + " (" + device.type() + ")"
                                + (device.places().isEmpty() ? "" : " at " + String.join(", ", device.places()))))
                        .append("</summary>")
                        .append(device(device))
                        .append("</details>"));
        if (!tree.backends().isEmpty()) {
            HtmlTable table = new HtmlTable("ll");
            tree.backends().forEach(table::row);
            html.append(table);
        }
        return html.toString();
    }

    private static String device(DeviceView device) {
        StringBuilder html = new StringBuilder("<div><b>")
                .append(Markup.escape(device.id()))
                .append("</b> (")
                .append(Markup.escape(device.type()))
                .append(device.places().isEmpty() ? "" : ", at " + Markup.escape(String.join(", ", device.places())))
                .append(")</div>");
        for (DeviceView.Table registers : device.tables()) {
            HtmlTable table =
                    new HtmlTable("lmhhll", "register", "offset", "value", "after reset", "access", "section");
            table.heading(registers.name());
            for (DeviceView.Value register : registers.registers()) {
                table.begin()
                        .cell(register.name())
                        .cell(hex(register.offset()))
                        .cell(register.hex(), register.changed() ? HtmlTable.CHANGED : "")
                        .cell(Long.toHexString(register.resetValue()))
                        .cell(register.access().name().toLowerCase(Locale.ROOT).replace('_', ' '))
                        .cell(register.spec())
                        .end();
            }
            html.append(table);
        }
        if (!device.state().isEmpty()) {
            HtmlTable table = new HtmlTable("lm");
            device.state().forEach((name, value) -> table.row(name, String.valueOf(value)));
            html.append(table);
        }
        HtmlTable counters = new HtmlTable("lr", "counter", "count");
        device.counters().forEach((name, value) -> counters.row(name, figure(value)));
        return html.append(device.counters().isEmpty() ? "" : counters).toString();
    }

    private static String queues(List<QueueState> queues) {
        StringBuilder html = new StringBuilder();
        for (QueueState queue : queues) {
            HtmlTable table = new HtmlTable("lm");
            table.heading(queue.device() + ", queue " + queue.index());
            queue.fields().forEach((name, value) -> table.row(name, shown(value)));
            for (Map<String, Object> request : queue.pending()) {
                StringBuilder text = new StringBuilder();
                request.forEach((name, value) ->
                        text.append(name).append('=').append(shown(value)).append("  "));
                table.begin()
                        .cell("in flight")
                        .cell(text.toString().strip(), HtmlTable.CHANGED)
                        .end();
            }
            html.append(table);
        }
        return html.isEmpty() ? "<div>no queues</div>" : html.toString();
    }

    private static String shown(Object value) {
        return value instanceof Long number && number > 0xffff ? hex(number) : String.valueOf(value);
    }

    private static String stats(StatsView stats) {
        HtmlTable table = new HtmlTable("llrr", "part", "counter", "count", "per second");
        stats.now().entries().forEach((entry, values) -> {
            values.values().forEach((name, value) -> {
                if (value != 0) {
                    double rate = stats.rate(entry, name);
                    table.row(entry, name, figure(value), Double.isNaN(rate) || rate == 0 ? "" : figure(rate));
                }
            });
            values.histograms().forEach((name, histogram) -> {
                if (histogram.getTotalCount() > 0) {
                    table.row(
                            entry,
                            name + " p50 / p99 / max",
                            micros(histogram.getValueAtPercentile(50)) + " / "
                                    + micros(histogram.getValueAtPercentile(99)) + " / "
                                    + micros(histogram.getMaxValue()),
                            "");
                }
            });
        });
        return table.toString();
    }

    private static String micros(double nanos) {
        return String.format(Locale.ROOT, "%.3g µs", nanos / 1e3);
    }

    private static void exits(ExitHistogram exits, DisplayData data) {
        HtmlTable addresses = new HtmlTable("mlr", "access", "device", "exits");
        exits.byAddress().stream()
                .limit(SHOWN_ADDRESSES)
                .forEach(address -> addresses.row(address.access(), address.device(), figure(address.count())));
        data.putData(
                MIMEType.TEXT_HTML,
                "<div><b>" + Markup.escape(exits.machine()) + "</b>: " + figure(exits.total()) + " exits</div>"
                        + (exits.byReason().isEmpty() ? "" : reasons(exits))
                        + (exits.byAddress().isEmpty() ? "" : addresses.toString()));
        if (!exits.byReason().isEmpty()) {
            Plot bars = Plot.bars(exits.byReason())
                    .title("Exits of " + exits.machine())
                    .yLabel("exits");
            picture(svg(bars), data);
        }
    }

    private static String reasons(ExitHistogram exits) {
        long most = exits.byReason().values().stream()
                .mapToLong(Long::longValue)
                .max()
                .orElse(1);
        HtmlTable table = new HtmlTable("lrl", "exit reason", "exits", "");
        exits.byReason().entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .forEach(entry -> table.begin()
                        .cell(entry.getKey())
                        .cell(figure(entry.getValue()))
                        .raw("<div style=\"background: #2f6fb7; height: 10px; width: "
                                + Math.max(1, Math.round(200.0 * entry.getValue() / Math.max(1, most))) + "px\"></div>")
                        .end());
        return table.toString();
    }

    // ---- figures

    /** A plot as a picture. */
    static String svg(Plot plot) {
        XyChart.Style style = switch (plot.kind()) {
            case LINE -> XyChart.Style.LINES;
            case CDF -> XyChart.Style.STEPS;
            case BAR -> XyChart.Style.BARS;
        };
        return XyChart.svg(
                plot.title(),
                style,
                new XyChart.Axis(plot.x().label(), plot.x().log()),
                new XyChart.Axis(plot.y().label(), plot.y().log()),
                plot.series().stream()
                        .map(one -> new XyChart.Series(
                                one.name(),
                                one.points().stream()
                                        .map(p -> new XyChart.Point(p.x(), p.y(), p.low(), p.high()))
                                        .toList()))
                        .toList(),
                plot.categories());
    }

    private static void latency(Latency latency, DisplayData data) {
        if (!latency.measured()) {
            return;
        }
        HtmlTable table = new HtmlTable("rrrrrrr", "requests", "mean", "p50", "p99", "p99.9", "max", "stdev");
        table.row(
                figure(latency.count()),
                micros(latency.meanNanos()),
                micros(latency.quantileNanos(0.5)),
                micros(latency.quantileNanos(0.99)),
                micros(latency.quantileNanos(0.999)),
                micros(latency.maxNanos()),
                micros(latency.stdevNanos()));
        if (latency.buckets().isEmpty()) {
            data.putData(MIMEType.TEXT_HTML, table.toString());
            return;
        }
        String svg = Charts.distributions("latency", List.of(new Charts.Distribution("latency", latency)));
        data.putData(MIMEType.TEXT_HTML, table + inline(svg));
        picture(svg, data);
    }
}
