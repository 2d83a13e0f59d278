import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import type { GatewayState } from "@/host";
import { fakeHost } from "@/test/fake-host";
import { open } from "@/test/render";
import { resilienceWorld } from "@/test/resilience-world";
import { connection, request, world } from "@/test/world";

describe("the shell", () => {
  it("tells where the gateway listens, and says so when it is gone and back", async () => {
    const host = fakeHost(world());
    open("/home", host);
    expect(await screen.findByText("127.0.0.1:20128")).toBeVisible();
    expect(screen.getByText("Running")).toBeVisible();
    host.connected(false);
    expect(await screen.findByText("The gateway does not answer")).toBeVisible();
    host.connected(true);
    await waitFor(() => expect(screen.queryByText("The gateway does not answer")).not.toBeInTheDocument());
  });

  it.each([
    { wide: false, title: "Requests" },
    { wide: true, title: null },
  ])("names an entry of the rail in a tooltip only where its name is not written beside it: $wide", async (window) => {
    const query = { matches: window.wide, addEventListener: () => undefined, removeEventListener: () => undefined };
    const media = vi.spyOn(globalThis, "matchMedia").mockReturnValue(query as unknown as MediaQueryList);
    open("/home", fakeHost(world()));
    const entry = await screen.findByRole("link", { name: "Requests" });
    expect(entry.getAttribute("title")).toBe(window.title);
    media.mockRestore();
  });

  it("reads everything again after the events were lost", async () => {
    const host = fakeHost(world({ connections: [connection("c1")] }));
    open("/providers", host);
    await screen.findByRole("grid");
    const before = host.calls("connections_list").length;
    host.connected(false);
    host.connected(true);
    await waitFor(() => expect(host.calls("connections_list").length).toBeGreaterThan(before));
  });

  it("Ctrl-K goes anywhere by name", async () => {
    const { user, path } = open("/home", fakeHost(world()));
    await screen.findByText("127.0.0.1:20128");
    await user.keyboard("{Control>}k{/Control}");
    const palette = await screen.findByRole("dialog", { name: "Commands" });
    await user.type(within(palette).getByRole("combobox"), "agents{Enter}");
    await waitFor(() => expect(path()).toBe("/settings/agents"));
  });

  it("Ctrl-K finds connections and recent requests", async () => {
    const records = {
      connections: [connection("c1", { name: "Frankfurt" })],
      requests: [request("r1", { requestedModel: "fast" })],
    };
    const { user, path } = open("/home", fakeHost(world(records)));
    await screen.findByText("127.0.0.1:20128");
    await user.keyboard("{Control>}k{/Control}");
    const palette = await screen.findByRole("dialog", { name: "Commands" });
    expect(await within(palette).findByText("fast")).toBeVisible();
    expect(within(palette).queryByText("Frankfurt")).not.toBeInTheDocument();
    await user.type(within(palette).getByRole("combobox"), "frank{Enter}");
    await waitFor(() => expect(path()).toBe("/providers/anthropic/connections/c1"));
  });

  it("Ctrl-K points at what is called so, not at what only has its letters", async () => {
    const { user, path } = open("/home", fakeHost(world({ connections: [connection("c1", { provider: "ollama" })] })));
    await screen.findByText("127.0.0.1:20128");
    await user.keyboard("{Control>}k{/Control}");
    const palette = await screen.findByRole("dialog", { name: "Commands" });
    await within(palette).findByText("Ollama");
    await user.type(within(palette).getByRole("combobox"), "oll");
    expect(within(palette).queryByText("Cooldown Manager")).not.toBeInTheDocument();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(path()).toBe("/providers/ollama"));
  });

  it("Ctrl-K finds a setting, and goes to it", async () => {
    const host = fakeHost({ ...world(), ...resilienceWorld() });
    const { user, path } = open("/home", host);
    await screen.findByText("127.0.0.1:20128");
    await user.keyboard("{Control>}k{/Control}");
    const palette = await screen.findByRole("dialog", { name: "Commands" });
    await user.type(within(palette).getByRole("combobox"), "doublings at most");
    const found = await within(palette).findAllByRole("option", { name: /Doublings at most/ });
    expect(found.map((option) => option.textContent)).toEqual([
      "Doublings at mostResilience · Connection cooldown",
      "Doublings at mostModel Lockout",
    ]);
    expect(within(palette).queryByText("Nothing of that name.")).toBeNull();
    await user.click(found[1] as HTMLElement);
    await waitFor(() => expect(path()).toBe("/settings/lockout"));
    await waitFor(() => expect(screen.getByLabelText("Doublings at most")).toHaveFocus());
  });

  it("an unknown address leads home", async () => {
    const { user, path } = open("/nowhere", fakeHost(world()));
    await user.click(await screen.findByRole("button", { name: "Go to Home" }));
    await waitFor(() => expect(path()).toBe("/home"));
  });

  it("says that the port is taken and starts on the next one", async () => {
    let report: (state: GatewayState) => void = () => undefined;
    const gateway = {
      watch: (listener: (state: GatewayState) => void) => {
        report = listener;
        listener({ state: "port_taken", port: 20128, next: 20129 });
        return () => undefined;
      },
      startOn: async (port: number) => {
        const state: GatewayState = { state: "running", url: `http://127.0.0.1:${port}` };
        report(state);
        return state;
      },
    };
    const { user } = open("/home", fakeHost(world(), { gateway }));
    expect(await screen.findByRole("heading", { name: "Port 20128 is taken" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Use port 20129" }));
    expect(await screen.findByRole("heading", { name: "Last requests" })).toBeVisible();
  });
});
