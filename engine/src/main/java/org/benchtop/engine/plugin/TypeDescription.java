package org.benchtop.engine.plugin;

import java.util.List;
import org.benchtop.engine.config.OptionField;

/**
 * What is known of a type.
 *
 * @param kind where it is used
 * @param name its name
 * @param summary one sentence
 * @param plugin where it comes from
 * @param options its options
 */
public record TypeDescription(
        TypeKind kind, String name, String summary, LoadedPlugin plugin, List<OptionField> options) {}
