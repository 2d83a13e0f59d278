import { describe, expect, it } from "vitest";
import { naturalSize, readSize, writeSize } from "./byte-size";

describe("amounts of memory", () => {
  it("are read in MiB, or in the unit that is written", () => {
    expect(readSize("64")).toBe(67_108_864);
    expect(readSize(" 1,5 MB ")).toBe(1_572_864);
    expect(readSize("1 KiB")).toBe(1_024);
    expect(readSize("1g")).toBe(1_073_741_824);
    for (const text of ["", "a lot", "-1", "5 TB"]) expect(readSize(text)).toBeNull();
  });

  it("are written as they can be read again", () => {
    for (const bytes of [1_024, 67_108_864, 1_572_864]) expect(readSize(writeSize(bytes))).toBe(bytes);
    expect(writeSize(67_108_864)).toBe("64");
  });

  it("are told in the unit that fits", () => {
    expect(naturalSize(1_024)).toEqual({ amount: 1, unit: "KiB" });
    expect(naturalSize(1_073_741_824)).toEqual({ amount: 1, unit: "GiB" });
  });
});
