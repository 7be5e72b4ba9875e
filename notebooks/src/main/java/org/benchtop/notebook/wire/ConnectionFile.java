package org.benchtop.notebook.wire;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * Where a front end expects its kernel, from the connection file that Jupyter writes (Making kernels for Jupyter,
 * "Connection files").
 *
 * @param transport {@code tcp} or {@code ipc}
 * @param ip the address, or for {@code ipc} the start of the sockets' paths
 * @param shellPort requests
 * @param controlPort urgent requests
 * @param iopubPort broadcasts
 * @param stdinPort questions to the user
 * @param heartbeatPort echo
 * @param signatureScheme such as {@code hmac-sha256}
 * @param key the shared secret; empty for unsigned messages
 */
public record ConnectionFile(
        String transport,
        String ip,
        int shellPort,
        int controlPort,
        int iopubPort,
        int stdinPort,
        int heartbeatPort,
        String signatureScheme,
        String key) {
    private static final int MAX_PORT = 65_535;

    public ConnectionFile {
        if (!transport.equals("tcp") && !transport.equals("ipc")) {
            throw BenchtopException.config("transport: \"" + transport + "\" is not one of tcp, ipc");
        }
    }

    /**
     * Reads a connection file.
     *
     * @throws BenchtopException of kind CONFIG if it is missing or not a connection file
     */
    public static ConnectionFile read(Path file) {
        try {
            JsonObject json = Json.parse(Files.readAllBytes(file));
            return new ConnectionFile(
                    Json.string(json, "transport").orElse("tcp"),
                    Json.string(json, "ip").orElse("127.0.0.1"),
                    port(json, "shell_port"),
                    port(json, "control_port"),
                    port(json, "iopub_port"),
                    port(json, "stdin_port"),
                    port(json, "hb_port"),
                    Json.string(json, "signature_scheme").orElse("hmac-sha256"),
                    Json.string(json, "key").orElse(""));
        } catch (NoSuchFileException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": no such connection file", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": cannot be read: " + e.getMessage(), e);
        } catch (JsonParseException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": not a connection file: it is no JSON object", e);
        } catch (BenchtopException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": " + e.getMessage(), e);
        }
    }

    private static int port(JsonObject json, String name) {
        int port = Json.integer(json, name, -1);
        if (port < 0 || port > MAX_PORT) {
            throw BenchtopException.config(name + " is missing or not a port (0 … " + MAX_PORT + ")");
        }
        return port;
    }

    /** The ZeroMQ address of a channel. */
    String address(int port) {
        return transport + "://" + ip + (transport.equals("ipc") ? "-" : ":") + port;
    }
}
