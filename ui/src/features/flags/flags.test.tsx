import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { FeatureFlag } from "@/bindings";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { world } from "@/test/world";

function flag(name: string, part: Partial<FeatureFlag> = {}): FeatureFlag {
  return {
    name,
    group: "routing",
    setting: `x.${name}`,
    kind: "boolean",
    choices: [],
    value: false,
    default: false,
    source: "default",
    environment: null,
    restartNeeded: false,
    help: `${name} in the gateway's words`,
    ...part,
  };
}

function opened(flags: FeatureFlag[], answers = {}) {
  const change = (id: string, part: Partial<FeatureFlag>) => {
    const found = flags.find(({ name }) => name === id) as FeatureFlag;
    Object.assign(found, part);
    return { flag: found };
  };
  const host = fakeHost({
    ...world(),
    feature_flags_list: () => ({ flags: flags.map((each) => ({ ...each })) }),
    feature_flag_set: ({ id, value }) => change(id, { value: value ?? null, source: "stored" }),
    feature_flag_unset: ({ id }) => change(id, { value: false, source: "default" }),
    ...answers,
  });
  return { host, ...open("/settings/flags", host) };
}

const row = (name: string) => screen.getByText(name).closest("div.flex") as HTMLElement;

describe("Feature Flags", () => {
  it("shows each group with its flags, and finds one by its name or its words", async () => {
    const { user } = opened([
      flag("REQUIRE_API_KEY", { group: "security", value: true }),
      flag("OMNIROUTE_EMERGENCY_FALLBACK"),
    ]);
    expect(await screen.findByRole("heading", { name: "Security" })).toBeVisible();
    expect(screen.getByRole("heading", { name: "Routing and resilience" })).toBeVisible();
    await user.type(screen.getByRole("searchbox"), "no credit");
    expect(screen.queryByText("REQUIRE_API_KEY")).not.toBeInTheDocument();
    expect(screen.getByText("OMNIROUTE_EMERGENCY_FALLBACK")).toBeVisible();
    await user.clear(screen.getByRole("searchbox"));
    await user.type(screen.getByRole("searchbox"), "nothing of the kind");
    expect(screen.getByText("No flag of that name")).toBeVisible();
  });

  it("sets a flag and unsets it again", async () => {
    const { host, user } = opened([flag("OMNIROUTE_EMERGENCY_FALLBACK")]);
    await user.click(await screen.findByRole("switch", { name: "Emergency fallback" }));
    expect(host.calls("feature_flag_set")).toEqual([{ id: "OMNIROUTE_EMERGENCY_FALLBACK", value: true }]);
    await waitFor(() => expect(screen.getByRole("switch", { name: "Emergency fallback" })).toBeChecked());
    await user.click(screen.getByRole("button", { name: "Reset Emergency fallback" }));
    expect(host.calls("feature_flag_unset")).toEqual([{ id: "OMNIROUTE_EMERGENCY_FALLBACK" }]);
    await waitFor(() => expect(screen.getByRole("switch", { name: "Emergency fallback" })).not.toBeChecked());
  });

  it("says what the environment says beneath a value, and what waits for a restart", async () => {
    opened([
      flag("PROVIDER_COOLDOWN_ENABLED", { source: "stored", environment: true }),
      flag("A_LATER_FLAG", { restartNeeded: true, source: "environment", environment: true, value: true }),
    ]);
    const hidden = await screen.findByText("The environment says on; hidden by the value set here.");
    expect(row("PROVIDER_COOLDOWN_ENABLED")).toContainElement(hidden);
    expect(within(row("A_LATER_FLAG").parentElement as HTMLElement).getByText("After a restart")).toBeVisible();
    expect(screen.getByText("A_LATER_FLAG in the gateway's words")).toBeVisible();
  });

  it("chooses a word, and shows a refusal where it was made", async () => {
    const { host, user } = opened(
      [
        flag("MODELS_CATALOG_PREFIX_MODE", {
          group: "catalogue",
          kind: "choice",
          choices: ["dual", "alias"],
          value: "dual",
        }),
      ],
      {
        feature_flag_set: () =>
          refuse({ code: "invalid_request", details: [{ field: "value", message: "not this one" }] }),
      },
    );
    await user.selectOptions(await screen.findByRole("combobox", { name: "Names in the model list" }), "Short name");
    expect(host.calls("feature_flag_set")).toEqual([{ id: "MODELS_CATALOG_PREFIX_MODE", value: "alias" }]);
    expect(await screen.findByText("not this one")).toBeVisible();
  });

  it("is accessible", async () => {
    const { container } = opened([flag("REQUIRE_API_KEY", { group: "security" }), flag("PROVIDER_COOLDOWN_ENABLED")]);
    await screen.findByRole("heading", { name: "Security" });
    await expectAccessible(container);
  });
});
