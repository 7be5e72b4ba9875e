package org.benchtop.notebook.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ChannelsTest {
    private static final ConnectionFile ANY_PORTS =
            new ConnectionFile("tcp", "127.0.0.1", 0, 0, 0, 0, 0, "hmac-sha256", "secret");

    private final Channels channels = new Channels(ANY_PORTS);

    @AfterEach
    void close() {
        channels.close();
    }

    private TestClient connect() {
        channels.start(
                request -> {
                    channels.publish("status", request.message().header(), Json.object("execution_state", "idle"));
                    channels.reply(request, "echo_reply", request.message().content());
                },
                request ->
                        channels.reply(request, "echo_reply", request.message().content()));
        TestClient client = new TestClient(channels.bound());
        client.awaitPublished(message -> message.type().equals("iopub_welcome"));
        return client;
    }

    @Test
    void requestIsAnsweredToItsSender() {
        try (TestClient client = connect()) {
            TestClient.Exchange exchange = client.request("echo_request", Json.object("n", 1));

            assertEquals(1, Json.integer(exchange.reply().content(), "n", 0));
        }
    }

    @Test
    void heartbeatEchoes() {
        try (TestClient client = connect()) {
            assertArrayEquals(new byte[] {1, 2, 3}, client.beat(new byte[] {1, 2, 3}));
        }
    }

    @Test
    void garbageDoesNotEndAChannel() {
        try (TestClient client = connect()) {
            client.sendRaw(List.of(new byte[] {1}));
            client.sendRaw(List.of(new byte[0], new byte[0], new byte[0]));
            client.sendRaw(new MessageCodec("hmac-sha256", "guess")
                    .encode(
                            List.of(),
                            "echo_request",
                            new JsonObject(),
                            new JsonObject(),
                            new JsonObject(),
                            List.of()));

            TestClient.Exchange exchange = client.request("echo_request", Json.object("n", 2));

            assertEquals(2, Json.integer(exchange.reply().content(), "n", 0));
            assertEquals(3, channels.refusedMessages());
        }
    }

    @Test
    void nothingOfALongBurstIsLost() {
        try (TestClient client = connect()) {
            int count = 20_000;
            for (int i = 0; i < count; i++) {
                channels.publish("burst", new JsonObject(), Json.object("i", i));
            }
            client.awaitPublished(message -> Json.integer(message.content(), "i", -1) == count - 1);

            assertEquals(count, client.published("burst").size());
        }
    }

    @Test
    void sendersThatAreInterruptedLoseNothing() throws InterruptedException {
        try (TestClient client = connect()) {
            int count = 5_000;
            Thread sender = Thread.ofPlatform().start(() -> {
                for (int i = 0; i < count; i++) {
                    channels.publish("burst", new JsonObject(), Json.object("i", i));
                    LockSupport.parkNanos(1);
                }
            });
            while (sender.isAlive()) {
                sender.interrupt();
                LockSupport.parkNanos(1);
            }
            sender.join();
            client.awaitPublished(message -> Json.integer(message.content(), "i", -1) == count - 1);

            assertEquals(count, client.published("burst").size());
            assertEquals(
                    1,
                    Json.integer(
                            client.request("echo_request", Json.object("n", 1))
                                    .reply()
                                    .content(),
                            "n",
                            0));
        }
    }

    @Test
    void takenPortIsNamed() {
        BenchtopException e = assertThrows(BenchtopException.class, () -> new Channels(channels.bound()).close());

        assertTrue(e.getMessage().contains("cannot bind tcp://127.0.0.1:"), e.getMessage());
    }
}
