import { screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fakeHost } from "@/test/fake-host";
import { gatewayFields } from "@/test/gateway-fields";
import { expectAccessible, open } from "@/test/render";
import { world } from "@/test/world";

const host = () => fakeHost(world({ fields: [...gatewayFields] }));
const contents = () => screen.findByRole("navigation", { name: "On this page" });

describe("a long page of settings", () => {
  afterEach(() => vi.restoreAllMocks());

  describe("in a roomy window", () => {
    beforeEach(() => {
      const query = { matches: true, addEventListener: () => undefined, removeEventListener: () => undefined };
      vi.spyOn(globalThis, "matchMedia").mockReturnValue(query as unknown as MediaQueryList);
    });

    it("names its sections beside them, and takes the keyboard to the one that is chosen", async () => {
      const { user } = open("/settings/traffic", host());
      const names = within(await contents()).getAllByRole("button");
      const headings = screen.getAllByRole("heading", { level: 2 });
      expect(names.map(({ textContent }) => textContent)).toEqual(headings.map(({ textContent }) => textContent));
      await user.click(within(await contents()).getByRole("button", { name: "Signs of life" }));
      expect(screen.getByRole("heading", { name: "Signs of life" })).toHaveFocus();
    });

    it("leaves out what a heading says besides its name", async () => {
      const fields = gatewayFields.map((field) =>
        field.path === "comboDefaults.fusion.minPanel" ? { ...field, value: 3, source: "stored" as const } : field,
      );
      open("/combos/defaults", fakeHost(world({ fields })));
      expect(within(await contents()).getByRole("button", { name: "Only for Fusion" })).toBeVisible();
    });

    it("is accessible", async () => {
      const { container } = open("/settings/resilience", host());
      await contents();
      await expectAccessible(container);
    });
  });

  it("has no room for them in a narrow one", async () => {
    open("/settings/traffic", host());
    await screen.findByRole("heading", { name: "Signs of life" });
    await waitFor(() => expect(screen.queryByRole("navigation", { name: "On this page" })).not.toBeInTheDocument());
  });
});
