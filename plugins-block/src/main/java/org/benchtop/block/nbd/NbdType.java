package org.benchtop.block.nbd;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.nbd.NbdProtocol;

/** {@code type: nbd}: a disk on another host or in another process. */
public final class NbdType implements BlockBackendType<NbdOptions> {
    @Override
    public String name() {
        return "nbd";
    }

    @Override
    public String summary() {
        return "A disk that an NBD server exports (newstyle, structured replies, TCP or Unix socket).";
    }

    @Override
    public Class<NbdOptions> optionsType() {
        return NbdOptions.class;
    }

    @Override
    public BlockBackend create(NbdOptions options, BlockContext context) {
        NbdAddress given = options.address();
        NbdAddress address =
                new NbdAddress(given.host(), given.port(), given.socket().map(context::resolve), given.export());
        NbdDurability durability = new NbdDurability();
        List<NbdConnection> connections = new ArrayList<>();
        try {
            connections.add(NbdConnection.open(address, options.timeout(), durability));
            NbdExport export = connections.getFirst().export();
            int wanted = export.has(NbdProtocol.NBD_FLAG_CAN_MULTI_CONN) ? options.connections() : 1;
            while (connections.size() < wanted) {
                connections.add(NbdConnection.open(address, options.timeout(), durability));
            }
            return NbdBackend.of(address, options, connections, durability, context.clock());
        } catch (IOException e) {
            connections.forEach(NbdConnection::close);
            throw BenchtopException.of(ErrorKind.HOST, address + ": " + e.getMessage(), e);
        } catch (RuntimeException e) {
            connections.forEach(NbdConnection::close);
            throw e;
        }
    }
}
