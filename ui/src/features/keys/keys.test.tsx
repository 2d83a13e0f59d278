import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { connection, key, model, world } from "@/test/world";

describe("API keys", () => {
  it("say what they open, in both languages", async () => {
    const keys = [
      key("k1", { name: "Laptop" }),
      key("k2", { name: "Editor", allowedModels: ["anthropic/*"], allowedConnections: ["c1"], isActive: false }),
      key("k3", { name: "Trial", expiresAt: "2026-01-02T00:00:00.000Z" }),
    ];
    const { unmount } = open("/settings/keys", fakeHost(world({ keys })));
    const [, laptop, editor, trial] = within(await screen.findByRole("grid")).getAllByRole("row");
    expect(laptop).toHaveTextContent(/Laptop.*…k3Vw.*Active.*everything.*never/);
    expect(editor).toHaveTextContent(/Editor.*Switched off.*1 model pattern and 1 connection/);
    expect(trial).toHaveTextContent(/Trial.*Expired/);
    unmount();
    open("/settings/keys", fakeHost(world({ keys })), { preferences: { language: "it" } });
    expect(await screen.findByText("1 schema di modelli e 1 connessione")).toBeVisible();
  });

  it("are made with their limits and shown once", async () => {
    const host = fakeHost(
      world({
        connections: [connection("c1", { name: "Work" }), connection("c2", { name: "Home" })],
        models: [model("anthropic", "sonnet"), model("openai", "m1")],
      }),
    );
    const { user, path } = open("/settings/keys", host);
    await user.click(await screen.findByRole("button", { name: "New key" }));
    await user.type(await screen.findByLabelText("Name"), "Editor");
    await user.type(screen.getByLabelText("Models"), "anthropic/*");
    expect(await screen.findByText(/Fits 1 of the 2 models/)).toBeVisible();
    await user.click(screen.getByRole("radio", { name: "Only these" }));
    expect(screen.getByRole("button", { name: "Make key" })).toBeDisabled();
    await user.click(screen.getByRole("checkbox", { name: /Work/ }));
    await user.click(screen.getByRole("button", { name: "Make key" }));

    const dialog = await screen.findByRole("dialog", { name: "The key Editor" });
    expect(within(dialog).getByText("sk-omni-a-key-shown-once-Qm4c")).toBeVisible();
    expect(host.calls("key_create")).toEqual([
      { name: "Editor", expiresAt: null, allowedModels: ["anthropic/*"], allowedConnections: ["c1"], scopes: [] },
    ]);
    await user.keyboard("{Escape}");
    expect(dialog).toBeVisible();
    await user.click(within(dialog).getByRole("button", { name: "I have it" }));
    await waitFor(() => expect(path()).toBe("/settings/keys"));
    expect(screen.queryByText("sk-omni-a-key-shown-once-Qm4c")).not.toBeInTheDocument();
  });

  it("cannot lease without connections of their own", async () => {
    const { user } = open("/settings/keys/add", fakeHost(world()));
    await user.type(await screen.findByLabelText("Name"), "Robot");
    await user.click(screen.getByRole("checkbox", { name: /Lease a connection/ }));
    expect(screen.getByText(/it needs a list of its own/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Make key" })).toBeDisabled();
  });

  it("of a taken name are refused beside the name", async () => {
    const host = fakeHost({ ...world(), key_create: () => refuse({ code: "conflict" }) });
    const { user } = open("/settings/keys/add", host, { preferences: { language: "it" } });
    await user.type(await screen.findByLabelText("Nome"), "Doppia{Enter}");
    await waitFor(() =>
      expect(screen.getByLabelText("Nome")).toHaveAccessibleDescription("C'è già una chiave con questo nome."),
    );
  });

  it("are switched off at once, and edited in place", async () => {
    const host = fakeHost(world({ keys: [key("k1", { name: "Laptop" })] }));
    const { user, path } = open("/settings/keys", host);
    await user.click(await screen.findByRole("switch", { name: "Let Laptop in" }));
    expect(await screen.findByText("Switched off")).toBeVisible();
    await user.click(screen.getByText("Laptop"));
    const name = await screen.findByLabelText("Name");
    await user.clear(name);
    await user.type(name, "Desktop{Enter}");
    await waitFor(() => expect(path()).toBe("/settings/keys"));
    expect(await screen.findByText("Desktop")).toBeVisible();
  });

  it("get a new text after a warning", async () => {
    const { user } = open("/settings/keys/k1", fakeHost(world({ keys: [key("k1", { name: "Laptop" })] })));
    await user.click(await screen.findByRole("button", { name: "Rotate" }));
    const warning = await screen.findByRole("dialog", { name: "Rotate the key Laptop?" });
    await user.click(within(warning).getByRole("button", { name: "Rotate" }));
    expect(await screen.findByText("sk-omni-a-new-text-Zz9x")).toBeVisible();
  });

  it("are deleted only after asking", async () => {
    const host = fakeHost(world({ keys: [key("k1", { name: "Laptop" })] }));
    const { user } = open("/settings/keys/k1", host);
    await user.click(await screen.findByRole("button", { name: "Delete" }));
    const dialog = await screen.findByRole("dialog", { name: "Delete the key Laptop?" });
    expect(host.calls("key_delete")).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Delete" }));
    expect(await screen.findByRole("heading", { name: "No key yet" })).toBeVisible();
  });

  it("are accessible", async () => {
    const keys = [key("k1", { name: "Laptop", allowedConnections: ["c1"] })];
    const { container } = open("/settings/keys/k1", fakeHost(world({ keys, connections: [connection("c1")] })));
    await screen.findByRole("checkbox", { name: /c1/ });
    await expectAccessible(container);
  });
});
