package org.benchtop.system;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;

/** Arrows between rooms point only downwards (design: rooms). */
@AnalyzeClasses(packages = "org.benchtop", importOptions = ImportOption.DoNotIncludeTests.class)
class LayeringTest {
    private static final String[] ABOVE_SPI = {
        "org.benchtop.engine..",
        "org.benchtop.pc..",
        "org.benchtop.block..",
        "org.benchtop.virtio..",
        "org.benchtop.ide..",
        "org.benchtop.scsi..",
        "org.benchtop.xen..",
        "org.benchtop.softcpu..",
        "org.benchtop.guests..",
        "org.benchtop.bench..",
        "org.benchtop.shell..",
        "org.benchtop.notebook..",
    };

    @ArchTest
    static final ArchRule spiKnowsNothingOfOurs = noClasses()
            .that()
            .resideInAPackage("org.benchtop.spi..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(ABOVE_SPI);

    @ArchTest
    static final ArchRule spiStandsOnTheJdkAlone = classes()
            .that()
            .resideInAPackage("org.benchtop.spi..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage("org.benchtop.spi..", "java..", "org.jspecify..");

    @ArchTest
    static final ArchRule platformDevicesKnowOnlyTheSpi = onlySpiBelow("org.benchtop.pc..");

    @ArchTest
    static final ArchRule blockBackendsKnowOnlyTheSpi = onlySpiBelow("org.benchtop.block..");

    @ArchTest
    static final ArchRule virtioDevicesKnowOnlyTheSpi = onlySpiBelow("org.benchtop.virtio..");

    @ArchTest
    static final ArchRule ideDevicesKnowOnlyTheSpi = onlySpiBelow("org.benchtop.ide..");

    @ArchTest
    static final ArchRule scsiDevicesKnowOnlyTheSpi = onlySpiBelow("org.benchtop.scsi..");

    @ArchTest
    static final ArchRule xenKnowsOnlyTheSpi = onlySpiBelow("org.benchtop.xen..");

    @ArchTest
    static final ArchRule softwareCpuKnowsOnlyTheSpi = onlySpiBelow("org.benchtop.softcpu..");

    @ArchTest
    static final ArchRule guestsKnowOnlyTheSpi = onlySpiBelow("org.benchtop.guests..");

    @ArchTest
    static final ArchRule engineNamesNoPluginAndNoFrontEnd = noClasses()
            .that()
            .resideInAPackage("org.benchtop.engine..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "org.benchtop.pc..",
                    "org.benchtop.block..",
                    "org.benchtop.virtio..",
                    "org.benchtop.ide..",
                    "org.benchtop.softcpu..",
                    "org.benchtop.guests..",
                    "org.benchtop.bench..",
                    "org.benchtop.shell..");

    @ArchTest
    static final ArchRule benchStandsOnEngineAndGuests = noClasses()
            .that()
            .resideInAPackage("org.benchtop.bench..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "org.benchtop.pc..",
                    "org.benchtop.block..",
                    "org.benchtop.virtio..",
                    "org.benchtop.ide..",
                    "org.benchtop.softcpu..",
                    "org.benchtop.shell..");

    @ArchTest
    static final ArchRule shellReachesPluginsThroughTheRegistry = noClasses()
            .that()
            .resideInAPackage("org.benchtop.shell..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "org.benchtop.pc..",
                    "org.benchtop.block..",
                    "org.benchtop.virtio..",
                    "org.benchtop.ide..",
                    "org.benchtop.softcpu..");

    @ArchTest
    static final ArchRule notebooksStandOnShellAndBench = noClasses()
            .that()
            .resideInAPackage("org.benchtop.notebook..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "org.benchtop.pc..",
                    "org.benchtop.block..",
                    "org.benchtop.virtio..",
                    "org.benchtop.ide..",
                    "org.benchtop.softcpu..");

    @ArchTest
    static final ArchRule nothingStandsOnNotebooks = noClasses()
            .that()
            .resideOutsideOfPackage("org.benchtop.notebook..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.benchtop.notebook..");

    @ArchTest
    static final ArchRule nativeCallsStayInTwoPackages = noClasses()
            .that()
            .resideOutsideOfPackages("org.benchtop.engine.linux..", "org.benchtop.engine.kvm..")
            .should()
            .dependOnClassesThat()
            .belongToAnyOf(Linker.class, SymbolLookup.class);

    @ArchTest
    static final ArchRule memoryIsReinterpretedInTwoPackagesAndOneClass = noClasses()
            .that()
            .resideOutsideOfPackages("org.benchtop.engine.linux..", "org.benchtop.engine.kvm..")
            .and()
            .doNotHaveFullyQualifiedName("org.benchtop.softcpu.HostMemory")
            .should()
            .callMethodWhere(target(name("reinterpret")).and(target(owner(assignableTo(MemorySegment.class)))));

    @ArchTest
    static final ArchRule namesSayWhatThingsAre = noClasses()
            .should()
            .haveSimpleNameEndingWith("Manager")
            .orShould()
            .haveSimpleNameEndingWith("Helper")
            .orShould()
            .haveSimpleNameEndingWith("Util")
            .orShould()
            .haveSimpleNameEndingWith("Utils")
            .orShould()
            .haveSimpleNameEndingWith("Impl")
            .orShould()
            .haveSimpleNameStartingWith("Abstract");

    private static ArchRule onlySpiBelow(String packages) {
        return noClasses()
                .that()
                .resideInAPackage(packages)
                .should()
                .dependOnClassesThat(
                        new com.tngtech.archunit.base.DescribedPredicate<>("are ours but not of " + packages) {
                            @Override
                            public boolean test(com.tngtech.archunit.core.domain.JavaClass c) {
                                String own = packages.substring(0, packages.length() - 2);
                                String pkg = c.getPackageName();
                                return pkg.startsWith("org.benchtop.")
                                        && !pkg.startsWith("org.benchtop.spi")
                                        && !pkg.equals(own)
                                        && !pkg.startsWith(own + ".");
                            }
                        });
    }
}
