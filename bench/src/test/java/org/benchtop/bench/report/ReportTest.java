package org.benchtop.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.benchtop.bench.Experiments;
import org.benchtop.bench.FakeCaseRunner;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.bench.measure.Metric;
import org.benchtop.bench.run.ExperimentRunner;
import org.benchtop.bench.run.RunListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;

class ReportTest {
    @TempDir
    Path folder;

    private Report report(Experiment experiment, FakeCaseRunner runner) {
        return Report.of(new ExperimentRunner(runner, RunListener.SILENT)
                .run(experiment, spec -> true, folder, folder.resolve("scratch"), false));
    }

    private Report tiny() {
        return report(Experiments.tiny(), new FakeCaseRunner(Experiments::iops));
    }

    private static Document parse(String html) throws ParserConfigurationException, IOException, SAXException {
        DocumentBuilder builder = DocumentBuilderFactory.newInstance().newDocumentBuilder();
        builder.setErrorHandler(null);
        return builder.parse(new InputSource(new StringReader(html)));
    }

    private static List<Element> elements(Document page, String name) {
        NodeList nodes = page.getElementsByTagName(name);
        List<Element> elements = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            elements.add((Element) nodes.item(i));
        }
        return elements;
    }

    @Test
    void casesAreSummedUpAndComparedWithinTheOtherAxes() {
        Report report = tiny();

        assertEquals(4, report.cases().size());
        assertEquals(
                List.of("on against off, cpus=1", "on against off, cpus=2"),
                report.comparisons().stream().map(ComparisonLine::subject).toList());
        assertTrue(report.comparisons().getFirst().verdict().startsWith("on is faster: +"));
        assertEquals(4904.0 / 5019, report.comparisons().get(0).publishedRatio().getAsDouble(), 1e-12);
        assertTrue(report.comparisons().get(1).publishedRatio().isEmpty());
        assertEquals("fake", report.accelerators());
    }

    @Test
    void publishedFiguresStandBesideOursInTheirUnit() {
        List<List<PublishedTable.Cell>> rows = tiny().published().orElseThrow().rows();

        assertEquals("20,080", rows.get(0).get(3).published());
        double ours = Double.parseDouble(rows.get(0).get(3).ours().replace(",", ""));
        assertEquals(5000 * 4.096, ours, 5000 * 4.096 * 0.03);
        assertEquals("13.40", rows.get(0).get(4).published());
        assertEquals("", rows.get(0).get(4).ours());
        assertEquals("", rows.get(2).get(2).ours(), "a case that we do not have has no figures");
    }

    @Test
    void theTableIsAlignedAndHasTheVerdicts() {
        String text = TextReport.of(tiny(), false);
        List<String> lines = text.lines().toList();
        int heading = lines.indexOf(lines.stream()
                .filter(line -> line.startsWith("ioeventfd  cpus  runs"))
                .findFirst()
                .orElseThrow());

        assertTrue(lines.get(heading + 1).startsWith("off        1        6"), text);
        assertEquals(lines.get(heading).length(), lines.get(heading + 1).length());
        assertEquals(lines.get(heading).length(), lines.get(heading + 4).length());
        assertTrue(text.contains("iops, on against off, cpus=1: on is faster: +"), text);
        assertTrue(text.contains("[published −2.3 %]"), text);
        assertTrue(text.contains("5,019 / "), text);
        assertFalse(text.contains("\u001b"), "colours only where they are wanted");
    }

    @Test
    void coloursAreOnlyAddedNothingElseChanges() {
        Report report = tiny();
        String coloured = TextReport.of(report, true);

        assertTrue(coloured.contains("\u001b["));
        assertEquals(TextReport.of(report, false), coloured.replaceAll("\u001b\\[[0-9;]*m", ""));
    }

    @Test
    void fewRepeatsAreSaidToBeFew() {
        Report report = report(
                Experiments.parse(Experiments.TEXT.replace("repeats: 6", "repeats: 2")),
                new FakeCaseRunner(Experiments::iops));

        assertTrue(report.comparisons().getFirst().verdict().startsWith("too few repeats to say: 2 of at least 5"));
        assertTrue(report.remarks().contains("a verdict needs at least 5 repeats, this has 2"));
    }

    @Test
    void anInterruptedExperimentIsReportedAsFarAsItGot() {
        Report report = report(Experiments.tiny(), new FakeCaseRunner(Experiments::iops).interruptAfter(3));

        assertTrue(
                report.remarks().contains("3 of 24 runs are finished: it was interrupted, the same command goes on"));
        assertTrue(TextReport.of(report, false).contains("–"));
    }

    @Test
    void failuresAreReported() {
        Report report = report(Experiments.tiny(), new FakeCaseRunner(Experiments::iops).failAt(9));

        assertTrue(report.remarks().contains("1 run failed, the first with: HOST: the disk is on fire"));
        assertTrue(CsvReport.runs(report).contains("HOST: the disk is on fire"));
        assertTrue(HtmlReport.of(report).contains("failed: HOST: the disk is on fire"));
    }

    @Test
    void thePageIsWellFormedAndNeedsNothingElse() throws ParserConfigurationException, IOException, SAXException {
        String html = HtmlReport.of(tiny());

        Document page = parse(html);

        assertEquals(List.of(), elements(page, "script"));
        assertEquals(List.of(), elements(page, "link"));
        assertEquals(List.of(), elements(page, "img"));
        assertFalse(html.contains("url("));
        assertFalse(html.contains("@import"));
        Matcher address = Pattern.compile("https?://[^\"' <]+").matcher(html);
        while (address.find()) {
            assertTrue(address.group().startsWith("http://www.w3.org/"), address.group());
        }
        assertTrue(elements(page, "svg").size() >= 4, "charts");
        assertTrue(html.contains("prefers-color-scheme: dark"));
        for (Element element : elements(page, "*")) {
            assertFalse(element.hasAttribute("onclick"));
            assertFalse(element.hasAttribute("src"));
            assertFalse(element.hasAttribute("href"));
        }
    }

    @Test
    void thePageSaysUnderWhichConditionsItWasMade() throws ParserConfigurationException, IOException, SAXException {
        String text = parse(HtmlReport.of(tiny())).getDocumentElement().getTextContent();

        for (String wanted : List.of(
                "Tiny & <quick>",
                "CPU",
                "kernel",
                "Java",
                "file system",
                "virtio-blk-pci",
                "diskbench",
                "rw=read",
                "seed 42",
                "Is \"on\" faster?",
                "somebody, 2011",
                "old hardware",
                "pio-out",
                "made up")) {
            assertTrue(text.contains(wanted), wanted);
        }
    }

    @Test
    void aPageWithoutAnyRunIsStillAPage() throws ParserConfigurationException, IOException, SAXException {
        Report report = report(Experiments.tiny(), new FakeCaseRunner(Experiments::iops).interruptAfter(0));

        parse(HtmlReport.of(report));
        assertEquals(5, CsvReport.runs(report).lines().count() + 4);
    }

    @Test
    void chartCoordinatesStayInsideTheChart() throws ParserConfigurationException, IOException, SAXException {
        Document page = parse(HtmlReport.of(tiny()));

        for (Element svg : elements(page, "svg")) {
            String[] box = svg.getAttribute("viewBox").split(" ");
            double width = Double.parseDouble(box[2]);
            double height = Double.parseDouble(box[3]);
            for (String shape : List.of("circle", "rect", "text")) {
                NodeList nodes = svg.getElementsByTagName(shape);
                for (int i = 0; i < nodes.getLength(); i++) {
                    Element element = (Element) nodes.item(i);
                    String x = element.getAttribute(shape.equals("circle") ? "cx" : "x");
                    String y = element.getAttribute(shape.equals("circle") ? "cy" : "y");
                    if (!x.isEmpty()) {
                        assertTrue(Double.parseDouble(x) >= 0 && Double.parseDouble(x) <= width, x);
                        assertTrue(Double.parseDouble(y) >= 0 && Double.parseDouble(y) <= height, y);
                    }
                }
            }
        }
    }

    @Test
    void jsonHoldsEveryFigureAndRun() throws IOException {
        JsonNode root = new ObjectMapper().readTree(JsonReport.of(tiny()));

        assertEquals("tiny", root.get("experiment").asText());
        assertEquals(4, root.get("cases").size());
        JsonNode first = root.get("cases").get(0);
        assertEquals(6, first.get("runs").size());
        assertEquals(6, first.get("figures").get("iops").get("runs").asInt());
        assertEquals(5000, first.get("figures").get("iops").get("median").asDouble(), 100);
        assertEquals("differs", root.get("comparisons").get(0).get("verdict").asText());
        assertEquals(2, root.get("comparisons").get(0).get("ratioInterval").size());
        assertEquals(
                "5,019",
                root.get("published").get("rows").get(0).get(2).get("published").asText());
        assertTrue(root.get("sessions").get(0).get("host").has("kernel"));
        assertTrue(first.get("clatHistogram").size() > 5);
    }

    @Test
    void csvHasOneLineForEachRunAndFigure() {
        Report report = tiny();

        List<String> runs = CsvReport.runs(report).lines().toList();
        List<String> summary = CsvReport.summary(report).lines().toList();

        assertEquals(1 + 24, runs.size());
        assertTrue(runs.getFirst().startsWith("case,ioeventfd,cpus,block,session,started,requests,errors,iops 1/s"));
        assertTrue(runs.get(1).startsWith("\"ioeventfd=off, cpus=1\",off,1,1,1,20"), runs.get(1));
        assertEquals("case,ioeventfd,cpus,metric,unit,runs,median,q1,q3,MAD,min,max", summary.getFirst());
        int figures = report.cases().getFirst().samples().size();
        assertEquals(1 + 4 * figures, summary.size());
        assertTrue(figures > Metric.values().length / 2);
    }

    @Test
    void csvQuotesWhatWouldBreakIt() {
        assertEquals("plain", CsvReport.quote("plain"));
        assertEquals("\"a,b\"", CsvReport.quote("a,b"));
        assertEquals("\"say \"\"x\"\"\"", CsvReport.quote("say \"x\""));
        assertEquals("\"two\nlines\"", CsvReport.quote("two\nlines"));
        assertEquals("\" edge\"", CsvReport.quote(" edge"));
        assertEquals("", CsvReport.quote(""));
    }

    @Test
    void filesAreWrittenWhole() throws IOException {
        Report report = tiny();

        List<Path> files = ReportFiles.write(report, folder);
        ReportFiles.write(report, folder);

        assertEquals(
                List.of("report.html", "report.json", "runs.csv", "summary.csv"),
                files.stream().map(file -> file.getFileName().toString()).toList());
        assertEquals(HtmlReport.of(report), Files.readString(files.getFirst()));
        try (var left = Files.list(folder)) {
            assertTrue(left.noneMatch(file -> file.toString().endsWith(".part")));
        }
    }
}
