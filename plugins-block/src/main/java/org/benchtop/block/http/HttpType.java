package org.benchtop.block.http;

import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;

/** {@code type: http}: a read-only image behind a URL. */
public final class HttpType implements BlockBackendType<HttpOptions> {
    @Override
    public String name() {
        return "http";
    }

    @Override
    public String summary() {
        return "A raw image behind an HTTP or HTTPS URL, read by byte ranges; read-only.";
    }

    @Override
    public Class<HttpOptions> optionsType() {
        return HttpOptions.class;
    }

    @Override
    public BlockBackend create(HttpOptions options, BlockContext context) {
        return new HttpBackend(options, HttpStore.open(options, context.stats()));
    }
}
