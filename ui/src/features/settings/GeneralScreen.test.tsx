import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { SettingField } from "@/bindings";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { app, portField, world } from "@/test/world";

describe("Settings → General", () => {
  it("changes the language of the whole window at once", async () => {
    const host = fakeHost(world());
    const { user } = open("/settings/general", host);
    await user.click(await screen.findByRole("radio", { name: "Italiano" }));
    expect(await screen.findByRole("heading", { level: 1, name: "Generali" })).toBeVisible();
    expect(host.saved.language).toBe("it");
  });

  it("changes the theme at once", async () => {
    const { user } = open("/settings/general", fakeHost(world()));
    await user.click(await screen.findByRole("radio", { name: "Dark" }));
    expect(document.documentElement.dataset.theme).toBe("dark");
  });

  it("refuses a port out of range without asking the gateway", async () => {
    const host = fakeHost(world());
    const { user } = open("/settings/general", host);
    const port = await screen.findByLabelText("Port");
    await user.clear(port);
    await user.type(port, "80{Enter}");
    expect(await screen.findByText("Must be between 1024 and 65535.")).toBeVisible();
    expect(host.calls("settings_update")).toEqual([]);
  });

  it("says that a port is taken", async () => {
    const host = fakeHost({ ...world(), settings_update: () => refuse({ code: "conflict" }) });
    const { user } = open("/settings/general", host);
    const port = await screen.findByLabelText("Port");
    await user.clear(port);
    await user.type(port, "20200{Enter}");
    expect(await screen.findByText(/Another program uses this port/)).toBeVisible();
    expect(host.calls("settings_update")).toEqual([{ gateway: { port: 20200 } }]);
  });

  it("a stored value shows where it comes from and can be reset", async () => {
    let field: SettingField = { ...portField, value: 20200, source: "stored" };
    const host = fakeHost({
      ...world(),
      settings_fields: () => ({ fields: [field] }),
      settings_update: () => {
        field = portField;
        return { gateway: {}, routing: {}, network: {}, logging: {}, sources: {} };
      },
    });
    const { user } = open("/settings/general", host);
    expect(await screen.findByText("set here")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Reset Port" }));
    expect(await screen.findByText("default")).toBeVisible();
    expect(host.calls("settings_update")).toEqual([{ gateway: { port: null } }]);
  });

  it("says once that the gateway is gone, and reads everything when it is back", async () => {
    let gone = true;
    const unless = <T,>(answer: () => T) => (gone ? refuse({ code: "gateway_unreachable" }) : answer());
    const host = fakeHost({
      ...world(),
      settings_fields: () => unless(() => ({ fields: [portField] })),
      app_get: () => unless(() => app),
    });
    const { user } = open("/settings/general", host);
    expect(await screen.findByRole("alert")).toHaveTextContent("The gateway does not answer.");
    expect(screen.getAllByRole("alert")).toHaveLength(1);
    expect(screen.getByRole("radio", { name: "Dark" })).toBeVisible();
    gone = false;
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByLabelText("Port")).toBeVisible();
    expect(screen.getByText("OpenAI Chat Completions")).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("shows what only a window can do, in a window only", async () => {
    const { unmount } = open("/settings/general", fakeHost(world()));
    await screen.findByLabelText("Port");
    expect(screen.queryByText("Start at login")).not.toBeInTheDocument();
    unmount();

    let started = false;
    const window = {
      startAtLogin: {
        get: async () => started,
        set: async (on: boolean) => {
          started = on;
        },
      },
      tray: true,
    };
    const { user } = open("/settings/general", fakeHost(world(), window));
    await user.click(await screen.findByRole("switch", { name: "Start at login" }));
    await waitFor(() => expect(started).toBe(true));
  });

  it("is accessible", async () => {
    const { container } = open("/settings/general", fakeHost(world(), { tray: true }));
    await screen.findByLabelText("Port");
    await expectAccessible(container);
  });
});
