package org.benchtop.notebook.render;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.benchtop.bench.chart.Markup;
import org.benchtop.engine.config.Units;
import org.benchtop.shell.lab.VmSummary;

/** The parts of a machine and how they are joined, as a picture: vCPUs and memory above the bus, devices and backends below. */
final class MachineCard {
    private static final int WIDTH = 820;
    private static final int MARGIN = 16;
    private static final int BOX = 146;
    private static final int GAP = 12;
    private static final int PER_ROW = 5;
    private static final int CPU_BOX = 62;
    private static final int MOST_CPUS = 6;
    private static final int BOX_HEIGHT = 46;
    private static final int ROW_HEIGHT = 152;
    private static final int HEAD = 50;
    private static final int BUS = HEAD + 80;

    private final VmSummary vm;
    private final Markup svg = new Markup();

    private MachineCard(VmSummary vm) {
        this.vm = vm;
    }

    /** The picture, with the classes of {@link org.benchtop.bench.chart.Charts}. */
    static String svg(VmSummary vm) {
        return new MachineCard(vm).draw();
    }

    /** A device and what it uses. */
    private record Column(VmSummary.Part part, List<VmSummary.Part> backends, String note) {}

    private List<Column> columns() {
        Map<String, VmSummary.Part> unused = new LinkedHashMap<>();
        vm.backends().stream()
                .filter(part -> !part.kind().equals("iothread"))
                .forEach(part -> unused.put(part.kind() + " " + part.name(), part));
        List<Column> columns = new ArrayList<>();
        for (VmSummary.Part device : vm.devices()) {
            List<VmSummary.Part> used = new ArrayList<>();
            device.references().forEach((kind, name) -> {
                VmSummary.Part backend = unused.remove(kind + " " + name);
                if (backend != null) {
                    used.add(backend);
                }
            });
            String iothread = device.references().getOrDefault("iothread", "");
            columns.add(new Column(device, used, iothread.isEmpty() ? "" : "iothread " + iothread));
        }
        unused.values().forEach(backend -> columns.add(new Column(backend, List.of(), "not plugged in")));
        return columns;
    }

    private String draw() {
        List<Column> columns = columns();
        int rows = Math.max(1, (columns.size() + PER_ROW - 1) / PER_ROW);
        int height = BUS + 14 + (columns.isEmpty() ? 14 : rows * ROW_HEIGHT);
        svg.open(
                "svg",
                "xmlns",
                "http://www.w3.org/2000/svg",
                "viewBox",
                "0 0 " + WIDTH + " " + height,
                "role",
                "img",
                "aria-label",
                "machine " + vm.name());
        svg.empty("rect", "class", "panel", "x", "1", "y", "1", "width", "818", "height", (height - 2) + "", "rx", "8");
        text("head", MARGIN, 26, "start", vm.name());
        text("note", MARGIN, 42, "start", cut(vm.board() + " board, " + vm.accelerator(), 110));
        state();
        processors();
        bus(columns, rows);
        for (int i = 0; i < columns.size(); i++) {
            column(columns.get(i), i % PER_ROW, i / PER_ROW);
        }
        return svg.close("svg").toString();
    }

    private void state() {
        String state = vm.state().name().toLowerCase(Locale.ROOT);
        String colour = switch (vm.state()) {
            case RUNNING -> "f2";
            case PAUSED -> "f4";
            case CREATED -> "f0";
            case STOPPED, CLOSED -> "f7";
        };
        int length = 14 + state.length() * 8;
        int left = WIDTH - MARGIN - length;
        svg.empty(
                "rect",
                "class",
                "bar " + colour,
                "x",
                left + "",
                "y",
                "12",
                "width",
                length + "",
                "height",
                "20",
                "rx",
                "10");
        text("label", left + length / 2, 26, "middle", state);
    }

    private void processors() {
        int left = MARGIN;
        int shown = Math.min(vm.cpus(), vm.cpus() > MOST_CPUS ? MOST_CPUS - 1 : MOST_CPUS);
        for (int i = 0; i < shown; i++) {
            box(left, HEAD + 6, CPU_BOX, 34, "f0", "vcpu" + i, "");
            wire(left + CPU_BOX / 2, HEAD + 40, left + CPU_BOX / 2, BUS);
            left += CPU_BOX + 8;
        }
        if (shown < vm.cpus()) {
            box(left, HEAD + 6, CPU_BOX, 34, "f0", "… " + vm.cpus(), "");
            wire(left + CPU_BOX / 2, HEAD + 40, left + CPU_BOX / 2, BUS);
            left += CPU_BOX + 8;
        }
        box(left, HEAD + 6, 120, 34, "f3", "RAM", Units.formatSize(vm.memoryBytes()));
        wire(left + 60, HEAD + 40, left + 60, BUS);
        text("note", left + 132, HEAD + 27, "start", cut(vm.boot(), Math.max(12, (WIDTH - left - 150) / 6)));
    }

    private void bus(List<Column> columns, int rows) {
        int right = columns.size() > 1 || vm.cpus() > 1 ? WIDTH - MARGIN : MARGIN + 400;
        svg.empty("path", "class", "wire", "d", "M" + MARGIN + " " + BUS + "H" + right);
        svg.empty("path", "class", "wire", "d", "M" + MARGIN + " " + (BUS + 4) + "H" + right);
        // Further rows hang on the same bus, which goes down at the right edge.
        for (int row = 1; row < rows; row++) {
            int y = BUS + row * ROW_HEIGHT;
            wire(WIDTH - MARGIN / 2, BUS, WIDTH - MARGIN / 2, y);
            wire(MARGIN, y, WIDTH - MARGIN / 2, y);
            wire(WIDTH - MARGIN, BUS, WIDTH - MARGIN / 2, BUS);
        }
    }

    private void column(Column column, int position, int row) {
        int left = MARGIN + position * (BOX + GAP);
        int middle = left + BOX / 2;
        int top = BUS + row * ROW_HEIGHT + 22;
        VmSummary.Part part = column.part();
        boolean device = part.kind().equals("device");
        if (device) {
            wire(middle, BUS + row * ROW_HEIGHT + (row == 0 ? 4 : 0), middle, top);
        }
        box(left, top, BOX, BOX_HEIGHT, device ? "f1" : colour(part), part.name(), second(part));
        if (!column.note().isEmpty()) {
            text("note", middle, top + BOX_HEIGHT + 13, "middle", column.note());
        }
        int y = top + BOX_HEIGHT;
        for (VmSummary.Part backend : column.backends().stream().limit(1).toList()) {
            int from = y + (column.note().isEmpty() ? 0 : 18);
            wire(middle, from, middle, y + 26);
            box(left, y + 26, BOX, BOX_HEIGHT, colour(backend), backend.name(), second(backend));
        }
    }

    private static String second(VmSummary.Part part) {
        String type = part.name().startsWith(part.type()) ? "" : part.type();
        String file = part.options().getOrDefault("file", part.options().getOrDefault("size", ""));
        String last = file.substring(file.lastIndexOf('/') + 1);
        return (type + " " + last).strip();
    }

    private static String colour(VmSummary.Part part) {
        return switch (part.kind()) {
            case "drive" -> "f2";
            case "chardev" -> "f6";
            case "netdev" -> "f5";
            default -> "f7";
        };
    }

    private void box(int left, int top, int width, int height, String colour, String name, String detail) {
        svg.empty(
                "rect",
                "class",
                "page",
                "x",
                left + "",
                "y",
                top + "",
                "width",
                width + "",
                "height",
                height + "",
                "rx",
                "5");
        svg.empty(
                "rect",
                "class",
                "panel",
                "x",
                left + "",
                "y",
                top + "",
                "width",
                width + "",
                "height",
                height + "",
                "rx",
                "5");
        svg.empty(
                "rect", "class", colour, "x", left + "", "y", top + "", "width", "5", "height", height + "", "rx", "2");
        int room = (width - 16) / 7;
        if (detail.isEmpty()) {
            text("label", left + 10, top + height / 2 + 5, "start", cut(name, room));
        } else if (height < BOX_HEIGHT) {
            text("label", left + 10, top + height / 2 + 5, "start", cut(name + " " + detail, room));
        } else {
            text("label", left + 10, top + 19, "start", cut(name, room));
            text("note", left + 10, top + 36, "start", cut(detail, room + 3));
        }
    }

    private static String cut(String text, int room) {
        return text.length() > room ? text.substring(0, Math.max(1, room - 1)) + "…" : text;
    }

    private void wire(int x1, int y1, int x2, int y2) {
        svg.empty("path", "class", "wire", "d", "M" + x1 + " " + y1 + "L" + x2 + " " + y2);
    }

    private void text(String look, int x, int y, String anchor, String content) {
        svg.element("text", content, "class", look, "x", x + "", "y", y + "", "text-anchor", anchor);
    }
}
