package org.benchtop.notebook.render;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.benchtop.guests.rt.Console;
import org.benchtop.shell.lab.CpuState;
import org.benchtop.shell.lab.Lab;
import org.benchtop.shell.lab.MemoryView;
import org.benchtop.shell.lab.Vm;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.dflib.jjava.jupyter.kernel.display.Renderer;
import org.dflib.jjava.jupyter.kernel.display.mime.MIMEType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.xml.sax.InputSource;

/** What the lab's objects look like, asked from a machine that has run. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(180)
class RenderingsTest {
    private static final Duration LONG = Duration.ofSeconds(120);

    private final Renderer renderer = new Renderer();
    private final Map<String, Object> pictures = new LinkedHashMap<>();
    private final Map<String, Object> tables = new LinkedHashMap<>();

    /** Guest programs; without fields, because the initialiser of a program's class runs in the guest. */
    private static final class Programs {
        static int hostile() {
            Console.println("<script>alert(1)</script> & \"quotes\"");
            return 0;
        }
    }

    @BeforeAll
    void run() throws InterruptedException {
        System.setProperty("java.awt.headless", "true");
        Renderings.register(renderer);
        Vm vm = Lab.boot("""
                name: looks
                memory: 64MiB
                display: vga-text
                boot: { guest: diskcheck, cmdline: seconds=0 }
                iothreads: [io0]
                drives:
                  disk0: { type: memory, size: 4MiB }
                devices:
                  - { type: virtio-blk-pci, drive: disk0, iothread: io0 }
                """);
        vm.awaitExit(LONG);
        pictures.put("Vm", vm);
        pictures.put("VmSummary", vm.summary());
        pictures.put("ExitHistogram", vm.exits());
        pictures.put(
                "Plot",
                Lab.plot("a < b", new double[] {1, 10, 100}, new double[] {1, 4, 9})
                        .logX()
                        .title("<em>title</em>"));
        pictures.put("bars", Lab.plot(Map.of("one", 1, "two & more", 2)));
        tables.put("CpuState", vm.regs());
        tables.put("MemoryView", vm.mem(0x40_0000, 64));
        tables.put("Diff", difference(vm));
        tables.put("Disassembly", vm.disasm());
        tables.put("PciView", vm.pci());
        tables.put("PageMap", vm.pageTables());
        tables.put("PageWalk", vm.pageWalk(0x40_0000));
        tables.put("QueueTable", vm.queues());
        tables.put("QueueState", vm.queues().get(0));
        tables.put("DeviceView", vm.device("isa-serial.0"));
        tables.put("DeviceTree", vm.devices());
        tables.put("StatsView", vm.stats());
        tables.put("VmConsole", vm.console());
        vm.write(0xb_8000, "<\u001eb\u001e>\u001e".getBytes(StandardCharsets.ISO_8859_1));
        tables.put("Screen", vm.screen());
        tables.put("VmWatch", vm.watch());
        tables.put("Frame", vm.watch().frame());
    }

    private static MemoryView.Diff difference(Vm vm) {
        MemoryView before = vm.mem(0x200_0000, 64);
        vm.write64(0x200_0008, 0x1122_3344);
        return before.diff(before.refresh());
    }

    @AfterAll
    void close() {
        Lab.closeAll();
    }

    Stream<String> pictures() {
        return pictures.keySet().stream();
    }

    Stream<String> all() {
        List<String> names = new ArrayList<>(pictures.keySet());
        names.addAll(tables.keySet());
        return names.stream();
    }

    private DisplayData render(String name) {
        Object value = pictures.getOrDefault(name, tables.get(name));
        return renderer.render(value);
    }

    private static String data(DisplayData data, MIMEType type) {
        return String.valueOf(data.getData(type));
    }

    private static void parse(String xml) throws Exception {
        DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(xml)));
    }

    @ParameterizedTest
    @MethodSource("all")
    void everythingHasPlainText(String name) {
        DisplayData data = render(name);

        assertTrue(data.hasDataForType(MIMEType.TEXT_PLAIN), name);
        assertFalse(data(data, MIMEType.TEXT_PLAIN).isBlank(), name);
        assertFalse(
                Pattern.compile("benchtop[\\w.$]+@[0-9a-f]")
                        .matcher(data(data, MIMEType.TEXT_PLAIN))
                        .find(),
                data(data, MIMEType.TEXT_PLAIN));
    }

    @ParameterizedTest
    @MethodSource("all")
    void markupIsWellFormed(String name) throws Exception {
        DisplayData data = render(name);

        if (data.hasDataForType(MIMEType.TEXT_HTML)) {
            parse("<all>" + data(data, MIMEType.TEXT_HTML) + "</all>");
        } else {
            assertTrue(data.hasDataForType(MIMEType.IMAGE_SVG), name + " has neither HTML nor a picture");
        }
    }

    @ParameterizedTest
    @MethodSource("pictures")
    void picturesAreSvgForLightAndDarkPagesAndPng(String name) throws Exception {
        DisplayData data = render(name);

        String svg = data(data, MIMEType.IMAGE_SVG);
        parse(svg);
        assertTrue(svg.contains("prefers-color-scheme: dark"), svg);
        BufferedImage png =
                ImageIO.read(new ByteArrayInputStream(Base64.getMimeDecoder().decode(data(data, MIMEType.IMAGE_PNG))));
        assertTrue(png.getWidth() >= 400 && png.getHeight() >= 150, png.toString());
        int width = png.getWidth();
        long colours = java.util.Arrays.stream(png.getRGB(0, 0, width, png.getHeight(), null, 0, width))
                .distinct()
                .count();
        assertTrue(colours > 10, "an empty picture: " + colours + " colours");
    }

    @Test
    void cardShowsThePartsAndHowTheyAreJoined() {
        String svg = data(render("Vm"), MIMEType.IMAGE_SVG);

        for (String part :
                List.of("looks", "stopped", "vcpu0", "64MiB", "virtio-blk-pci.0", "disk0", "isa-serial.0", "io0")) {
            assertTrue(svg.contains(part), part + " is missing: " + svg);
        }
    }

    @Test
    void changedRegistersAreHighlighted() throws InterruptedException {
        CpuState stopped = Lab.vm("looks").regs();
        assertEquals(
                stopped.changed().isEmpty(),
                !data(renderer.render(stopped), MIMEType.TEXT_HTML).contains(HtmlTable.CHANGED));
        Vm fresh = Lab.machine("{name: steps, memory: 64MiB, boot: {guest: hello}}");
        fresh.regs();

        String html = data(renderer.render(fresh.step()), MIMEType.TEXT_HTML);

        assertTrue(html.contains(HtmlTable.CHANGED), html);
    }

    @Test
    void textOfAGuestIsNeverMarkup() throws Exception {
        Vm vm = Lab.boot(Lab.guest("hostile", Programs::hostile));
        vm.awaitExit(LONG);

        for (Object value : List.of(vm.console(), vm.watch(), vm, vm.stats())) {
            DisplayData data = renderer.render(value);

            assertFalse(data(data, MIMEType.TEXT_HTML).contains("<script"), data(data, MIMEType.TEXT_HTML));
            parse("<all>" + data(data, MIMEType.TEXT_HTML) + "</all>");
        }
        assertTrue(data(renderer.render(vm.console()), MIMEType.TEXT_HTML).contains("&lt;script&gt;"));
        assertEquals(
                "<script>alert(1)</script> & \"quotes\"",
                vm.console().transcript().strip());
    }

    @Test
    void labelsOfPlotsAreNeverMarkup() {
        String svg = data(render("Plot"), MIMEType.IMAGE_SVG);

        assertTrue(svg.contains("&lt;em&gt;title&lt;/em&gt;"), svg);
        assertFalse(svg.contains("<em>"), svg);
    }
}
