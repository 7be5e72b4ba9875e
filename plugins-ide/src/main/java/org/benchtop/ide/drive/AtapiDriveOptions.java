package org.benchtop.ide.drive;

/**
 * What is chosen for a CD drive.
 *
 * @param serial at most 20 ASCII characters
 * @param model at most 40 ASCII characters; vendor and product of INQUIRY too
 * @param version at most 8 ASCII characters
 * @param wwn world wide name; 0 for none
 */
public record AtapiDriveOptions(String serial, String model, String version, long wwn) {}
