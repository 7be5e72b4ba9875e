package org.benchtop.notebook.wire;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.Strictness;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** JSON objects and their members. Gson, because the display data of IJava and JJava is defined by it. */
public final class Json {
    /** Writes nothing for null members: several front ends reject an explicit null. */
    public static final Gson GSON = new GsonBuilder()
            .disableHtmlEscaping()
            .setStrictness(Strictness.STRICT)
            .create();

    private Json() {}

    /** An object from members: name, value, name, value; values are JSON elements, strings, numbers or booleans. */
    public static JsonObject object(Object... members) {
        JsonObject object = new JsonObject();
        for (int i = 0; i < members.length; i += 2) {
            object.add((String) members[i], GSON.toJsonTree(members[i + 1]));
        }
        return object;
    }

    /**
     * Reads an object.
     *
     * @throws JsonParseException if it is none
     */
    public static JsonObject parse(byte[] utf8) {
        @Nullable JsonObject object = GSON.fromJson(new String(utf8, StandardCharsets.UTF_8), JsonObject.class);
        if (object == null) {
            throw new JsonParseException("empty");
        }
        return object;
    }

    /** A string member; empty if it is missing or something else. */
    public static Optional<String> string(JsonObject object, String name) {
        @Nullable JsonElement member = object.get(name);
        return member != null && member.isJsonPrimitive() ? Optional.of(member.getAsString()) : Optional.empty();
    }

    /** A boolean member. */
    public static boolean bool(JsonObject object, String name, boolean otherwise) {
        return string(object, name)
                .map(text -> text.equalsIgnoreCase("true") || !text.equalsIgnoreCase("false") && otherwise)
                .orElse(otherwise);
    }

    /** A whole number member. */
    public static int integer(JsonObject object, String name, int otherwise) {
        @Nullable JsonElement member = object.get(name);
        if (member == null || !member.isJsonPrimitive()) {
            return otherwise;
        }
        try {
            return (int) Math.clamp(member.getAsDouble(), Integer.MIN_VALUE, Integer.MAX_VALUE);
        } catch (NumberFormatException e) {
            return otherwise;
        }
    }

    /** An object member; an empty one if it is missing or something else. */
    public static JsonObject member(JsonObject object, String name) {
        @Nullable JsonElement member = object.get(name);
        return member != null && member.isJsonObject() ? member.getAsJsonObject() : new JsonObject();
    }
}
