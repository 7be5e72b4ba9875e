package org.benchtop.shell.jshell;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntConsumer;
import jdk.jshell.execution.LoaderDelegate;
import jdk.jshell.spi.ExecutionControl.ClassBytecodes;
import jdk.jshell.spi.ExecutionControl.ClassInstallException;
import jdk.jshell.spi.ExecutionControl.InternalException;
import org.jspecify.annotations.Nullable;

/**
 * Defines the classes of cells, woven, and hands their original class files out as resources, so that the guest
 * compiler finds methods that were typed in a cell.
 */
final class CellLoader extends URLClassLoader implements LoaderDelegate {
    private static final System.Logger LOG = System.getLogger("org.benchtop.shell");
    private static final String SUFFIX = ".class";

    private final Map<String, byte[]> originals = new ConcurrentHashMap<>();
    private final CellWeaver weaver;
    private volatile IntConsumer exit = System::exit;

    CellLoader(ClassLoader parent, boolean stoppable) {
        super("cells", new URL[0], parent);
        this.weaver = new CellWeaver(this, stoppable);
    }

    void onExit(IntConsumer handler) {
        exit = handler;
    }

    void exit(int code) {
        exit.accept(code);
    }

    @Override
    public void load(ClassBytecodes[] files) throws ClassInstallException {
        boolean[] loaded = new boolean[files.length];
        for (ClassBytecodes file : files) {
            originals.put(resource(file.name()), file.bytecodes());
        }
        for (int i = 0; i < files.length; i++) {
            String name = files[i].name();
            try {
                Class<?> type = loadClass(name);
                loaded[i] = true;
                // Makes missing types known now, as the compiler would.
                LOG.log(System.Logger.Level.TRACE, "{0} has {1} methods", name, type.getDeclaredMethods().length);
            } catch (ReflectiveOperationException | LinkageError | IllegalArgumentException e) {
                throw new ClassInstallException("load: " + e.getMessage(), loaded);
            }
        }
    }

    @Override
    public void classesRedefined(ClassBytecodes[] files) {
        for (ClassBytecodes file : files) {
            originals.put(resource(file.name()), file.bytecodes());
        }
    }

    void forget(Collection<String> names) {
        names.forEach(name -> originals.remove(resource(name)));
    }

    @Override
    public void addToClasspath(String path) throws InternalException {
        for (String entry : path.split(File.pathSeparator)) {
            try {
                addURL(Path.of(entry).toUri().toURL());
            } catch (MalformedURLException | IllegalArgumentException e) {
                throw new InternalException(e.toString());
            }
        }
    }

    /** Both what a class loader defines on demand and where JShell finds what it has loaded. */
    @Override
    public Class<?> findClass(String name) throws ClassNotFoundException {
        Class<?> known = findLoadedClass(name);
        if (known != null) {
            return known;
        }
        byte[] original = originals.get(resource(name));
        if (original == null) {
            return super.findClass(name);
        }
        byte[] woven = weaver.weave(original);
        return defineClass(name, woven, 0, woven.length);
    }

    @Override
    public @Nullable URL findResource(String name) {
        byte[] original = originals.get(name);
        return original == null ? super.findResource(name) : url(name, original);
    }

    @Override
    public Enumeration<URL> findResources(String name) throws IOException {
        byte[] original = originals.get(name);
        if (original == null) {
            return super.findResources(name);
        }
        List<URL> all = new ArrayList<>(List.of(url(name, original)));
        super.findResources(name).asIterator().forEachRemaining(all::add);
        return Collections.enumeration(all);
    }

    private static URL url(String name, byte[] content) {
        try {
            return URL.of(URI.create("cell:/" + name.replace("$", "%24")), new URLStreamHandler() {
                @Override
                protected URLConnection openConnection(URL url) {
                    return new ContentConnection(url, content);
                }
            });
        } catch (MalformedURLException e) {
            throw new IllegalStateException("a URL with its own handler is never malformed", e);
        }
    }

    private static final class ContentConnection extends URLConnection {
        private final byte[] content;

        ContentConnection(URL url, byte[] content) {
            super(url);
            this.content = content;
        }

        @Override
        public void connect() {
            connected = true;
        }

        @Override
        public InputStream getInputStream() {
            return new ByteArrayInputStream(content);
        }

        @Override
        public long getContentLengthLong() {
            return content.length;
        }
    }

    void closeQuietly() {
        try {
            close();
        } catch (IOException e) {
            LOG.log(System.Logger.Level.DEBUG, "closing the libraries of cells failed", e);
        }
    }

    private static String resource(String className) {
        return className.replace('.', '/') + SUFFIX;
    }
}
