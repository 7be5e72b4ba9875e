package org.benchtop.scsi.target;

/**
 * What is chosen for a CD drive.
 *
 * @param serial at most 36 ASCII characters
 * @param vendor at most 8 ASCII characters
 * @param product at most 16 ASCII characters
 * @param version at most 4 ASCII characters
 * @param wwn NAA world wide name; 0 for none
 */
public record CdOptions(String serial, String vendor, String product, String version, long wwn) {}
