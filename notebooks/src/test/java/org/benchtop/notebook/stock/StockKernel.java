package org.benchtop.notebook.stock;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import jdk.jshell.execution.LocalExecutionControlProvider;
import org.dflib.jjava.jupyter.channels.JupyterConnection;
import org.dflib.jjava.jupyter.kernel.BaseKernel;
import org.dflib.jjava.jupyter.kernel.JupyterIO;
import org.dflib.jjava.jupyter.kernel.KernelConnectionProperties;
import org.dflib.jjava.jupyter.kernel.LanguageInfo;
import org.dflib.jjava.jupyter.kernel.ReplacementOptions;
import org.dflib.jjava.jupyter.kernel.comm.CommManager;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.dflib.jjava.jupyter.kernel.display.Renderer;
import org.dflib.jjava.jupyter.kernel.history.HistoryEntry;
import org.dflib.jjava.jupyter.kernel.history.HistoryManager;
import org.dflib.jjava.jupyter.kernel.magic.LineMagic;
import org.dflib.jjava.jupyter.kernel.magic.MagicParser;
import org.dflib.jjava.jupyter.kernel.magic.MagicTranspiler;
import org.dflib.jjava.jupyter.kernel.magic.MagicsRegistry;
import org.dflib.jjava.jupyter.kernel.util.StringStyler;
import org.jspecify.annotations.Nullable;

/**
 * A Java kernel that knows nothing of Benchtop: JJava's protocol library around the JDK's own JShell, as IJava and JJava
 * are, whose own kernels no Maven repository has. Runs in a process of its own without Benchtop on its class path.
 */
public final class StockKernel extends BaseKernel {

    private final JShell shell;

    private StockKernel(JShell shell) {
        super(
                "stock",
                "1",
                new LanguageInfo.Builder("java").build(),
                List.of(),
                new NoHistory(),
                new JupyterIO(StandardCharsets.UTF_8),
                new CommManager(),
                new Renderer(),
                new MagicParser("(?<=(?:^|=))\\s*%", "%%", new MagicTranspiler()),
                new MagicsRegistry(),
                false,
                new StringStyler("", "", "", line -> ""));
        this.shell = shell;
        LineMagic<Object, StockKernel> classpath = (kernel, jars) -> {
            jars.stream().filter(jar -> !jar.equals("add")).forEach(kernel.shell::addToClasspath);
            return "";
        };
        getMagicsRegistry().registerLineMagic("classpath", classpath);
    }

    /** Runs until a front end ends it. */
    public static void main(String[] args) throws Exception {
        JShell shell = JShell.builder()
                .executionEngine(new LocalExecutionControlProvider(), new HashMap<>())
                .build();
        StockKernel kernel = new StockKernel(shell);
        kernel.installNotebookKernel();
        JupyterConnection connection =
                new JupyterConnection(KernelConnectionProperties.parse(Files.readString(Path.of(args[0]))));
        kernel.becomeHandlerForConnection(connection);
        connection.connect();
        connection.waitUntilClose();
        System.exit(0);
    }

    @Override
    public @Nullable Object evalRaw(String cell) {
        Object value = null;
        String rest = getMagicParser().resolveMagics(cell);
        while (!rest.isBlank()) {
            CompletionInfo info = shell.sourceCodeAnalysis().analyzeCompletion(rest);
            value = null;
            for (SnippetEvent event : shell.eval(info.source())) {
                if (event.exception() != null) {
                    throw new IllegalStateException(event.exception());
                }
                if (event.status() == Snippet.Status.REJECTED) {
                    throw new IllegalArgumentException(shell.diagnostics(event.snippet())
                            .map(problem -> problem.getMessage(null))
                            .toList()
                            .toString());
                }
                value = event.value();
            }
            rest = info.remaining();
        }
        return value;
    }

    @Override
    public DisplayData inspect(String code, int at, boolean extraDetail) {
        return DisplayData.EMPTY;
    }

    @Override
    public ReplacementOptions complete(String code, int at) {
        return new ReplacementOptions(List.of(), at, at);
    }

    @Override
    public String isComplete(String code) {
        return IS_COMPLETE_MAYBE;
    }

    private static final class NoHistory implements HistoryManager {
        @Override
        public List<HistoryEntry> lookupTail(int length, Set<ResultFlag> flags) {
            return List.of();
        }
    }
}
