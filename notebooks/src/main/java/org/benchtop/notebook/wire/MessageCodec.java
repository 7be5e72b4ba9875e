package org.benchtop.notebook.wire;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.benchtop.spi.BenchtopException;
import org.jspecify.annotations.Nullable;

/**
 * Turns messages into signed frames and back (Messaging in Jupyter 5.4, "The wire protocol"). Thread-safe.
 *
 * <p>A message whose signature was seen before is refused: whoever can record traffic must not be able to repeat it.
 */
public final class MessageCodec {
    /** The version of the messaging protocol that this kernel speaks. */
    public static final String PROTOCOL_VERSION = "5.4";

    private static final byte[] DELIMITER = "<IDS|MSG>".getBytes(StandardCharsets.US_ASCII);
    private static final int SIGNED_PARTS = 4;
    private static final int REMEMBERED = 16_384;

    private final @Nullable SecretKeySpec key;
    private final String algorithm;
    private final String session = UUID.randomUUID().toString();
    private final Set<Long> seen = new LinkedHashSet<>();

    /**
     * Uses a key.
     *
     * @param scheme {@code hmac-} and a digest, such as {@code hmac-sha256}
     * @param key the shared secret; empty for unsigned messages
     */
    public MessageCodec(String scheme, String key) {
        String lower = scheme.toLowerCase(Locale.ROOT);
        if (!lower.startsWith("hmac-")) {
            throw BenchtopException.config(
                    "signature_scheme: \"" + scheme + "\" is not hmac- and a digest, such as hmac-sha256");
        }
        this.algorithm = "Hmac"
                + lower.substring("hmac-".length()).toUpperCase(Locale.ROOT).replace("-", "");
        this.key = key.isEmpty() ? null : new SecretKeySpec(key.getBytes(StandardCharsets.UTF_8), algorithm);
        sign(List.of());
    }

    /** The kernel's session id. */
    public String session() {
        return session;
    }

    /**
     * Reads frames.
     *
     * @throws MalformedMessageException if they are no message or the signature is wrong
     */
    public Message decode(List<byte[]> frames) throws MalformedMessageException {
        int delimiter = 0;
        while (delimiter < frames.size() && !Arrays.equals(frames.get(delimiter), DELIMITER)) {
            delimiter++;
        }
        int first = delimiter + 2;
        if (delimiter == frames.size() || frames.size() < first + SIGNED_PARTS) {
            throw new MalformedMessageException(
                    "expected identities, <IDS|MSG>, a signature and four parts, got " + frames.size() + " frames");
        }
        List<byte[]> parts = frames.subList(first, first + SIGNED_PARTS);
        verify(frames.get(delimiter + 1), parts);
        JsonObject header = parse("header", parts.get(0));
        if (Json.string(header, "msg_type").isEmpty()
                || Json.string(header, "msg_id").isEmpty()) {
            throw new MalformedMessageException("the header lacks msg_type or msg_id");
        }
        return new Message(
                frames.subList(0, delimiter),
                header,
                parse("parent header", parts.get(1)),
                parse("metadata", parts.get(2)),
                parse("content", parts.get(3)),
                frames.subList(first + SIGNED_PARTS, frames.size()));
    }

    private void verify(byte[] signature, List<byte[]> parts) throws MalformedMessageException {
        if (key == null) {
            return;
        }
        byte[] expected = sign(parts);
        if (!MessageDigest.isEqual(signature, expected)) {
            throw new MalformedMessageException("the signature is wrong");
        }
        long digest = ByteBuffer.wrap(HexFormat.of().parseHex(new String(expected, StandardCharsets.US_ASCII)))
                .getLong();
        synchronized (seen) {
            if (!seen.add(digest)) {
                throw new MalformedMessageException("the message was received before");
            }
            if (seen.size() > REMEMBERED) {
                Iterator<Long> oldest = seen.iterator();
                oldest.next();
                oldest.remove();
            }
        }
    }

    /** The id of a message that {@link #encode} has made. */
    String id(List<byte[]> frames) {
        int delimiter = 0;
        while (!Arrays.equals(frames.get(delimiter), DELIMITER)) {
            delimiter++;
        }
        return Json.string(Json.parse(frames.get(delimiter + 2)), "msg_id").orElseThrow();
    }

    private static JsonObject parse(String part, byte[] bytes) throws MalformedMessageException {
        try {
            return Json.parse(bytes);
        } catch (JsonParseException | StackOverflowError e) {
            throw new MalformedMessageException("the " + part + " is no JSON object");
        }
    }

    /** The frames of a new message. */
    public List<byte[]> encode(
            List<byte[]> identities,
            String type,
            JsonObject parentHeader,
            JsonObject metadata,
            JsonObject content,
            List<byte[]> buffers) {
        JsonObject header = Json.object(
                "msg_id",
                UUID.randomUUID().toString(),
                "session",
                session,
                "username",
                "kernel",
                "date",
                OffsetDateTime.now(ZoneOffset.UTC)
                        .truncatedTo(ChronoUnit.MICROS)
                        .toString(),
                "msg_type",
                type,
                "version",
                PROTOCOL_VERSION);
        List<byte[]> parts = List.of(bytes(header), bytes(parentHeader), bytes(metadata), bytes(content));
        List<byte[]> frames = new ArrayList<>(identities.size() + 6 + buffers.size());
        frames.addAll(identities);
        frames.add(DELIMITER);
        frames.add(sign(parts));
        frames.addAll(parts);
        frames.addAll(buffers);
        return frames;
    }

    private static byte[] bytes(JsonObject object) {
        return Json.GSON.toJson(object).getBytes(StandardCharsets.UTF_8);
    }

    private byte[] sign(List<byte[]> parts) {
        if (key == null) {
            return new byte[0];
        }
        try {
            Mac mac = Mac.getInstance(algorithm);
            mac.init(key);
            parts.forEach(mac::update);
            return HexFormat.of().formatHex(mac.doFinal()).getBytes(StandardCharsets.US_ASCII);
        } catch (GeneralSecurityException e) {
            throw BenchtopException.config("signature_scheme: this JDK does not know " + algorithm);
        }
    }
}
