package org.benchtop.notebook.kernel;

import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import org.benchtop.notebook.display.Jupyter;
import org.dflib.jjava.jupyter.Extension;
import org.dflib.jjava.jupyter.kernel.BaseKernel;
import org.dflib.jjava.jupyter.kernel.JupyterIO;
import org.dflib.jjava.jupyter.kernel.LanguageInfo;
import org.dflib.jjava.jupyter.kernel.ReplacementOptions;
import org.dflib.jjava.jupyter.kernel.comm.CommManager;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.dflib.jjava.jupyter.kernel.history.HistoryEntry;
import org.dflib.jjava.jupyter.kernel.history.HistoryManager;
import org.dflib.jjava.jupyter.kernel.magic.MagicParser;
import org.dflib.jjava.jupyter.kernel.magic.MagicsRegistry;
import org.dflib.jjava.jupyter.kernel.util.StringStyler;
import org.jspecify.annotations.Nullable;

/** Lets extensions written for JJava add renderers and magics: they see a kernel of JJava's that passes on to ours. */
final class JjavaExtensions {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");

    private final Interpreter interpreter;
    private final MagicsRegistry registry = new MagicsRegistry();
    private final Set<String> installed = new HashSet<>();
    private @Nullable Facade facade;

    JjavaExtensions(Interpreter interpreter) {
        this.interpreter = interpreter;
    }

    Set<String> lineMagics() {
        return registry.getLineMagicNames();
    }

    Set<String> cellMagics() {
        return registry.getCellMagicNames();
    }

    boolean knows(String name, boolean takesCell) {
        return (takesCell ? cellMagics() : lineMagics()).contains(name);
    }

    @Nullable
    Object run(String name, boolean takesCell, Magic.Call call) throws Exception {
        return takesCell
                ? registry.<Object, BaseKernel>evalCellMagic(kernel(), name, call.words(), call.body())
                : registry.<Object, BaseKernel>evalLineMagic(kernel(), name, call.words());
    }

    private Facade kernel() {
        @Nullable Facade known = facade;
        if (known == null) {
            System.setProperty("slf4j.internal.verbosity", "ERROR");
            known = new Facade(interpreter, registry);
            facade = known;
        }
        return known;
    }

    /** Installs what is new among the extensions that a class loader finds. */
    void installFrom(ClassLoader loader) {
        try {
            for (Extension extension : ServiceLoader.load(Extension.class, loader)) {
                if (installed.add(extension.getClass().getName())) {
                    extension.install(kernel());
                }
            }
        } catch (ServiceConfigurationError | RuntimeException | LinkageError e) {
            LOG.log(Level.WARNING, "a JJava extension was skipped: " + e);
        }
    }

    /** JJava's view of this kernel. */
    private static final class Facade extends BaseKernel {
        private final Interpreter interpreter;

        Facade(Interpreter interpreter, MagicsRegistry registry) {
            super(
                    "benchtop",
                    "1",
                    new LanguageInfo.Builder("java").build(),
                    List.of(),
                    new NoHistory(),
                    new JupyterIO(StandardCharsets.UTF_8),
                    new CommManager(),
                    Jupyter.renderer(),
                    new MagicParser(
                            "(?<=(?:^|=))\\s*%", "%%", new org.dflib.jjava.jupyter.kernel.magic.MagicTranspiler()),
                    registry,
                    false,
                    new StringStyler("", "", "", line -> ""));
            this.interpreter = interpreter;
            installNotebookKernel();
        }

        @Override
        public void display(DisplayData data) {
            Jupyter.display(data);
        }

        @Override
        public Object evalRaw(String code) {
            throw new UnsupportedOperationException("a cell cannot evaluate another one while it runs");
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
            return interpreter.complete(code) ? IS_COMPLETE_YES : IS_COMPLETE_BAD;
        }

        @Override
        protected ClassLoader getClassLoader() {
            return interpreter.cellLoader();
        }
    }

    private static final class NoHistory implements HistoryManager {
        @Override
        public List<HistoryEntry> lookupTail(int length, Set<ResultFlag> flags) {
            return List.of();
        }
    }
}
