package org.benchtop.notebook.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;

class MessageCodecTest {
    private static final byte[] IDENTITY = {0, 1, 2};

    private final MessageCodec sender = new MessageCodec("hmac-sha256", "secret");
    private final MessageCodec receiver = new MessageCodec("hmac-sha256", "secret");

    private static List<byte[]> frames(MessageCodec codec) {
        return codec.encode(
                List.of(IDENTITY),
                "execute_request",
                new JsonObject(),
                new JsonObject(),
                Json.object("code", "1 + 1", "text", "grün 😀"),
                List.of(new byte[] {7}));
    }

    @Test
    void whatIsWrittenIsRead() throws MalformedMessageException {
        Message message = receiver.decode(frames(sender));

        assertEquals("execute_request", message.type());
        assertEquals("1 + 1", Json.string(message.content(), "code").orElse(""));
        assertEquals("grün 😀", Json.string(message.content(), "text").orElse(""));
        assertEquals(sender.session(), Json.string(message.header(), "session").orElse(""));
        assertEquals("5.4", Json.string(message.header(), "version").orElse(""));
        assertEquals(1, message.identities().size());
        assertEquals(7, message.buffers().getFirst()[0]);
    }

    @Test
    void forgedSignatureIsRefused() {
        List<byte[]> forged = frames(new MessageCodec("hmac-sha256", "guess"));

        MalformedMessageException e = assertThrows(MalformedMessageException.class, () -> receiver.decode(forged));

        assertEquals("the signature is wrong", e.getMessage());
    }

    @Test
    void changedContentIsRefused() {
        List<byte[]> frames = new ArrayList<>(frames(sender));
        frames.set(6, "{\"code\":\"evil()\"}".getBytes(StandardCharsets.UTF_8));

        assertThrows(MalformedMessageException.class, () -> receiver.decode(frames));
    }

    @Test
    void repeatedMessageIsRefused() throws MalformedMessageException {
        List<byte[]> frames = frames(sender);
        receiver.decode(frames);

        MalformedMessageException e = assertThrows(MalformedMessageException.class, () -> receiver.decode(frames));

        assertEquals("the message was received before", e.getMessage());
    }

    @Test
    void tooFewFramesAreRefused() {
        List<byte[]> frames = frames(sender);

        for (int count = 0; count < frames.size() - 1; count++) {
            List<byte[]> some = frames.subList(0, count);
            assertThrows(MalformedMessageException.class, () -> receiver.decode(some), "with " + count + " frames");
        }
    }

    @Test
    void partThatIsNoJsonObjectIsRefused() {
        MessageCodec unsigned = new MessageCodec("hmac-sha256", "");
        for (String part : List.of("", "[]", "{", "nonsense", "{\"a\":}", "[".repeat(100_000), "null")) {
            List<byte[]> frames = new ArrayList<>(frames(unsigned));
            frames.set(6, part.getBytes(StandardCharsets.UTF_8));

            assertThrows(MalformedMessageException.class, () -> unsigned.decode(frames), "content " + part.length());
        }
    }

    @Test
    void headerWithoutTypeIsRefused() {
        MessageCodec unsigned = new MessageCodec("hmac-sha256", "");
        List<byte[]> frames = new ArrayList<>(frames(unsigned));
        frames.set(3, "{\"msg_id\":\"1\"}".getBytes(StandardCharsets.UTF_8));

        assertThrows(MalformedMessageException.class, () -> unsigned.decode(frames));
    }

    @Test
    void emptyKeyMeansUnsigned() throws MalformedMessageException {
        MessageCodec unsigned = new MessageCodec("hmac-sha256", "");

        List<byte[]> frames = frames(unsigned);

        assertEquals(0, frames.get(2).length);
        assertEquals("execute_request", unsigned.decode(frames).type());
    }

    @Test
    void otherDigestsWork() throws MalformedMessageException {
        for (String scheme : List.of("hmac-sha512", "hmac-sha1", "hmac-md5")) {
            MessageCodec codec = new MessageCodec(scheme, "key");

            assertEquals("execute_request", codec.decode(frames(codec)).type(), scheme);
        }
    }

    @Test
    void unknownSchemeIsNamed() {
        BenchtopException e = assertThrows(BenchtopException.class, () -> new MessageCodec("hmac-rot13", "key"));

        assertTrue(e.getMessage().contains("ROT13"), e.getMessage());
    }
}
