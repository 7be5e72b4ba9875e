package org.benchtop.engine;

/** Why a machine stopped. */
public sealed interface MachineExit {
    /** The exit code of the command line. */
    int exitCode();

    /** One line for people. */
    String describe();

    /**
     * The guest wrote to the exit port.
     *
     * @param code what it wrote
     */
    record GuestExit(int code) implements MachineExit {
        @Override
        public int exitCode() {
            return code == 0 ? 0 : 4;
        }

        @Override
        public String describe() {
            return "guest exited with code " + code;
        }
    }

    /** The guest switched the power off. */
    record PowerOff() implements MachineExit {
        @Override
        public int exitCode() {
            return 0;
        }

        @Override
        public String describe() {
            return "guest powered off";
        }
    }

    /** The guest asked for a reset and {@code on-reboot} is {@code stop}. */
    record Reboot() implements MachineExit {
        @Override
        public int exitCode() {
            return 0;
        }

        @Override
        public String describe() {
            return "guest rebooted (on-reboot: stop)";
        }
    }

    /** Somebody called {@link Machine#stop}. */
    record Stopped() implements MachineExit {
        @Override
        public int exitCode() {
            return 0;
        }

        @Override
        public String describe() {
            return "stopped by the user";
        }
    }

    /**
     * The guest cannot go on.
     *
     * @param message one line
     */
    record Failed(String message) implements MachineExit {
        @Override
        public int exitCode() {
            return 4;
        }

        @Override
        public String describe() {
            return message;
        }
    }
}
