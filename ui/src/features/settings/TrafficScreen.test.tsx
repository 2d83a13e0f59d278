import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost, refuse } from "@/test/fake-host";
import { gatewayFields } from "@/test/gateway-fields";
import { expectAccessible, open } from "@/test/render";
import { world } from "@/test/world";

const traffic = () => world({ fields: [...gatewayFields] });

describe("Settings → Traffic", () => {
  it("takes amounts of memory as a person writes them", async () => {
    const host = fakeHost({ ...traffic(), settings_update: () => ({ sources: {} }) });
    const { user } = open("/settings/traffic", host);
    const largest = await screen.findByLabelText("Largest request");
    expect(largest).toHaveValue("64");
    expect(screen.getByText("1 KiB to 1 GiB · Default: 64 MiB")).toBeVisible();
    await user.clear(largest);
    await user.type(largest, "2 GB{Enter}");
    expect(await screen.findByText("Must be between 1 KiB and 1 GiB.")).toBeVisible();
    await user.clear(largest);
    await user.type(largest, "plenty{Enter}");
    expect(await screen.findByText("Must be an amount of memory such as 64 MiB.")).toBeVisible();
    await user.clear(largest);
    await user.type(largest, "128{Enter}");
    expect(host.calls("settings_update")).toEqual([{ gateway: { bodyLimitBytes: 134_217_728 } }]);
  });

  it("asks for the proxy's address before it is used", async () => {
    const details = [{ field: "network.proxyMode", message: "the mode custom needs a proxyUrl" }];
    const host = fakeHost({ ...traffic(), settings_update: () => refuse({ code: "invalid_request", details }) });
    const { user } = open("/settings/traffic", host);
    await user.selectOptions(await screen.findByLabelText("Proxy"), "My own");
    expect(await screen.findByText("Enter the address of the proxy first.")).toBeVisible();
  });

  it("says what waits for a restart", async () => {
    open("/settings/traffic", fakeHost(traffic()));
    const connections = await screen.findByLabelText("Connections at the same time");
    expect(connections).toHaveAccessibleDescription(/A change applies after a restart/);
  });

  it("is accessible", async () => {
    const { container } = open("/settings/traffic", fakeHost(traffic()));
    await screen.findByLabelText("Proxy");
    await expectAccessible(container);
  });
});
