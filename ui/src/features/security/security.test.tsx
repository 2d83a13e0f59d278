import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Value as JsonValue, SettingField } from "@/bindings";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { portField, world } from "@/test/world";

function field(path: string, kind: string, value: JsonValue): SettingField {
  return { ...portField, path, kind, min: null, max: null, default: value, value };
}

const fields = (bind = "127.0.0.1", requireKey = true) => [
  field("gateway.requireApiKey", "boolean", requireKey),
  field("gateway.bindAddress", "text", bind),
  field("gateway.allowedHosts", "list", []),
  field("gateway.corsOrigins", "list", []),
];

describe("Settings → Security", () => {
  it("says who can reach the gateway, in both languages", async () => {
    const { unmount } = open("/settings/security", fakeHost(world({ fields: fields() })));
    expect(await screen.findByText("Only this computer")).toBeVisible();
    unmount();
    open("/settings/security", fakeHost(world({ fields: fields("0.0.0.0") })), { preferences: { language: "it" } });
    expect(await screen.findByText("Tutta la tua rete")).toBeVisible();
  });

  it("says what it costs to let agents in without a key", async () => {
    open("/settings/security", fakeHost(world({ fields: fields("127.0.0.1", false) })));
    expect(await screen.findByText("Agents are let in without a key")).toBeVisible();
  });

  it("takes host names one per line, and puts a refusal beside them", async () => {
    const host = fakeHost({
      ...world({ fields: fields() }),
      settings_update: () =>
        refuse({ code: "invalid_request", details: [{ field: "gateway.allowedHosts", message: "no" }] }),
    });
    const { user } = open("/settings/security", host);
    await user.type(await screen.findByLabelText("Further host names"), "box.local{Enter}a:80{Enter}");
    await user.tab();
    expect(await screen.findByText(/no scheme, port, path or wildcard/)).toBeVisible();
    expect(host.calls("settings_update")).toEqual([{ gateway: { allowedHosts: ["box.local", "a:80"] } }]);
  });

  it("fetches the management token only when somebody wants to see it", async () => {
    const host = fakeHost(world({ fields: fields() }));
    const { user } = open("/settings/security", host);
    await user.click(await screen.findByRole("button", { name: "Reveal" }));
    expect(await screen.findByText("omt_a-token")).toBeVisible();
    expect(host.calls("management_token_get")).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: "Hide" }));
    expect(screen.queryByText("omt_a-token")).not.toBeInTheDocument();
  });

  it("rotates the token after a warning, and says where else it may come from", async () => {
    const host = fakeHost({
      ...world({ fields: fields() }),
      management_token_rotate: () => refuse({ code: "conflict" }),
    });
    const { user } = open("/settings/security", host);
    await user.click(await screen.findByRole("button", { name: "Rotate" }));
    const dialog = await screen.findByRole("dialog", { name: "Rotate the management token?" });
    await user.click(within(dialog).getByRole("button", { name: "Rotate" }));
    await waitFor(() => expect(host.calls("management_token_rotate")).toHaveLength(1));
    expect(await screen.findByText(/OMNIROUTE_MANAGEMENT_TOKEN/)).toBeVisible();
  });

  it("says where the data key is", async () => {
    open("/settings/security", fakeHost(world({ fields: fields() })));
    expect(await screen.findByText("The data key is in a file beside the database")).toBeVisible();
  });

  it("is accessible", async () => {
    const { container, user } = open("/settings/security", fakeHost(world({ fields: fields() })));
    await user.click(await screen.findByRole("button", { name: "Reveal" }));
    await screen.findByText("omt_a-token");
    await expectAccessible(container);
  });
});
