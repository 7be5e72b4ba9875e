package org.benchtop.guests.debian;

/** The guest's first process, a script for busybox: mounts, modules, the user's script or a shell, power off. */
final class InitScript {
    /** Where the user's script is. */
    static final String USER_SCRIPT = "etc/benchtop/script";

    /** The names of the modules in the order of loading, and where they are. */
    static final String MODULES = "etc/benchtop/modules";

    /**
     * A script that fails ends the machine with its exit code, through the board's exit port; otherwise the guest powers
     * off. The modules are loaded by path, because there are no depmod tables.
     */
    private static final String TEXT = """
            #!/bin/busybox sh
            export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root TERM=${TERM:-linux}
            /bin/busybox mount -t proc proc /proc
            /bin/busybox --install -s /usr/bin 2>/dev/null
            mount -t sysfs sysfs /sys
            mount -t devtmpfs dev /dev 2>/dev/null
            mkdir -p /dev/pts /dev/shm
            mount -t devpts devpts /dev/pts
            mount -t tmpfs tmpfs /dev/shm
            mount -t tmpfs tmpfs /run
            hostname benchtop
            while read -r module; do
              insmod "$module" || echo "benchtop: cannot load $module" >&2
            done </etc/benchtop/modules
            cd /root
            status=0
            if [ -e /etc/benchtop/script ]; then
              sh /etc/benchtop/script
              status=$?
            else
              setsid cttyhack sh -l
            fi
            sync
            umount -a -r -t ext2,ext3,ext4,xfs,btrfs,vfat,iso9660 2>/dev/null
            if [ "$status" -ne 0 ]; then
              echo "benchtop: the script ended with exit code $status" >&2
              benchtop-exit "$status"
            fi
            poweroff -f
            """;

    private InitScript() {}

    static String text() {
        return TEXT;
    }
}
