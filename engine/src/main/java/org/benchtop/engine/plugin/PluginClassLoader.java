package org.benchtop.engine.plugin;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import org.benchtop.spi.Plugin;

/** Loads a third-party jar: it sees the JDK, the SPI and itself, and nothing else of ours. */
final class PluginClassLoader extends URLClassLoader {
    static {
        registerAsParallelCapable();
    }

    PluginClassLoader(Path jar, URL url) {
        super("benchtop-plugin:" + jar.getFileName(), new URL[] {url}, new SpiClassLoader());
    }

    /** The JDK and the SPI. */
    private static final class SpiClassLoader extends ClassLoader {
        private static final ClassLoader OURS = Plugin.class.getClassLoader();

        static {
            registerAsParallelCapable();
        }

        SpiClassLoader() {
            super("benchtop-spi", ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.startsWith("org.benchtop.spi.") || name.startsWith("org.jspecify.annotations.")) {
                return OURS.loadClass(name);
            }
            throw new ClassNotFoundException(name + " (a plugin sees only the JDK, org.benchtop.spi and its own jar)");
        }
    }
}
