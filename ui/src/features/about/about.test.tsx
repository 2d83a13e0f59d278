import { screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { app, world } from "@/test/world";

describe("About", () => {
  it("says which version runs where, and opens the data folder in a window", async () => {
    const openDataFolder = vi.fn(async () => undefined);
    const { user, container } = open("/settings/about", fakeHost(world(), { openDataFolder }));
    expect(await screen.findByText(app.dataDir)).toBeVisible();
    expect(screen.getByText(app.version)).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Open" }));
    expect(openDataFolder).toHaveBeenCalledOnce();
    await expectAccessible(container);
  });

  it("speaks Italian, and leaves out what a browser cannot do", async () => {
    open("/settings/about", fakeHost(world()), { preferences: { language: "it" } });
    expect(await screen.findByText(/Nessun account, nessuna telemetria/)).toBeVisible();
    expect(screen.queryByRole("button", { name: "Apri" })).not.toBeInTheDocument();
  });
});
