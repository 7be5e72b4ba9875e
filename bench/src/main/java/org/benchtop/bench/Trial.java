package org.benchtop.bench;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Images;
import org.benchtop.bench.measure.Job;
import org.benchtop.engine.config.ConfigDocument;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.spi.BenchtopException;

/**
 * A machine and a job to be measured outside an experiment file.
 *
 * @param name what it is called in reports
 * @param machineYaml the machine, as in YAML; {@code ${scratch}} is the folder for disk images, {@code ${guest}} the
 *     machine's number
 * @param job what every guest does
 * @param guests how many machines run at once
 */
public record Trial(String name, String machineYaml, Job job, int guests) {
    /** One CPU and a virtio disk on a file of 64 MiB, through the host's page cache. */
    public static final String DEFAULT_MACHINE = """
            cpus: 1
            memory: 128MiB
            drives:
              disk0: { type: file, file: "${scratch}/trial-${guest}.img", size: 64MiB, create: true, cache: writeback }
            devices:
              - { type: virtio-blk-pci, drive: disk0 }
            """;

    public Trial {
        if (name.isBlank()) {
            throw BenchtopException.config("a trial needs a name");
        }
        if (guests < 1) {
            throw BenchtopException.config("a trial needs at least one guest, not " + guests);
        }
    }

    /** A job on the default machine, named after the job. */
    public static Trial of(Job job) {
        return new Trial(job.toString(), DEFAULT_MACHINE, job, 1);
    }

    /** The same under another name. */
    public Trial named(String other) {
        return new Trial(other, machineYaml, job, guests);
    }

    /** The same on another machine. */
    public Trial on(String otherMachineYaml) {
        return new Trial(name, otherMachineYaml, job, guests);
    }

    /** The same on several machines at once. */
    public Trial guests(int number) {
        return new Trial(name, machineYaml, job, number);
    }

    /** The machine with one value changed, as with {@code --set devices[0].ioeventfd=off}. */
    public Trial with(String path, String value) {
        ConfigValue.Mapping changed = ConfigDocument.set(machine(), path, ConfigDocument.readValue(value, path));
        return on(ConfigDocument.write(changed));
    }

    private ConfigValue.Mapping machine() {
        ConfigValue root = ConfigDocument.read(machineYaml, name, this::variable);
        if (root instanceof ConfigValue.Mapping mapping) {
            return mapping;
        }
        throw BenchtopException.config(name + ": a machine is a map, not " + root.shape());
    }

    private Optional<String> variable(String variable) {
        return CaseSpec.VARIABLES.contains(variable)
                ? Optional.of("${" + variable + "}")
                : Optional.ofNullable(System.getenv(variable));
    }

    CaseSpec spec(java.util.Map<String, String> labels, Path folder) {
        return new CaseSpec(name, labels, machine(), folder, job, guests, new Images(true, false));
    }
}
