import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { SettingField } from "@/bindings";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { connection, portField, world } from "@/test/world";

const connections = [connection("c1", { name: "Work" }), connection("c2", { name: "Personal" })];

function turns(value: SettingField["value"]): SettingField[] {
  const base = { ...portField, env: null, min: null, max: null, default: {}, value };
  const strategy: SettingField = { ...base, path: "routing.accountStrategy", kind: "table" };
  const limit: SettingField = {
    ...portField,
    path: "routing.stickyRoundRobinLimit",
    env: null,
    min: 1,
    max: 1000,
    default: 1,
    value: 1,
  };
  return [strategy, limit];
}

function opened(value: SettingField["value"], list = connections) {
  const fields = turns(value);
  const host = fakeHost({
    ...world({ connections: list }),
    settings_fields: () => ({ fields: fields.map((field) => ({ ...field })) }),
    settings_update: (patch) => {
      const routing = patch.routing as { accountStrategy: SettingField["value"] };
      const [strategy] = fields;
      if (strategy) strategy.value = routing.accountStrategy ?? {};
      return { sources: {} };
    },
  });
  return { host, ...open("/providers/anthropic", host) };
}

describe("how the connections of a provider take turns", () => {
  it("says in one sentence what holds, and changes this provider alone", async () => {
    const { host, user } = opened({ groq: "random" });
    const picker = await screen.findByRole("combobox", { name: "They take turns" });
    expect(picker).toHaveValue("priority");
    expect(screen.getByText("The first in the list that is ready serves everything.")).toBeVisible();
    expect(screen.getByText(/^The first that is ready is asked first\./)).toBeVisible();
    await user.selectOptions(picker, "Round robin");
    expect(host.calls("settings_update")).toEqual([
      { routing: { accountStrategy: { groq: "random", anthropic: "round-robin" } } },
    ]);
    expect(await screen.findByText("One after another, so that each gets as many requests.")).toBeVisible();
    expect(screen.getByText(/^They take turns as set below\./)).toBeVisible();
    expect(await screen.findByRole("textbox", { name: "In a row" })).toHaveValue("1");
    await user.selectOptions(picker, "By priority");
    expect(host.calls("settings_update").at(-1)).toEqual({ routing: { accountStrategy: { groq: "random" } } });
    await waitFor(() => expect(screen.queryByRole("textbox", { name: "In a row" })).not.toBeInTheDocument());
  });

  it("asks for weights only where they count, and saves none that is none", async () => {
    const { host, user } = opened({ anthropic: "weighted" });
    const weight = await screen.findByRole("textbox", { name: "Weight of Personal" });
    expect(weight).toHaveValue("1");
    await user.clear(weight);
    await user.type(weight, "101");
    await user.tab();
    expect(weight).toBeInvalid();
    expect(host.calls("connection_update")).toEqual([]);
    await user.clear(weight);
    await user.type(weight, "3{Enter}");
    await waitFor(() =>
      expect(host.calls("connection_update")).toEqual([{ id: "c2", providerSpecificData: { weight: 3 } }]),
    );
  });

  it("a single connection has no turns to take", async () => {
    opened({}, connections.slice(0, 1));
    await screen.findByText("Work");
    expect(screen.queryByText("Which connection is asked")).not.toBeInTheDocument();
  });

  it("is accessible, with a field for each weight", async () => {
    const { container } = opened({ anthropic: "weighted" });
    const section = await screen.findByText("Which connection is asked");
    expect(within(section.closest("section") as HTMLElement).getAllByRole("textbox")).toHaveLength(3);
    await expectAccessible(container);
  });
});
