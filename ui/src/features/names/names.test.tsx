import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { model, world } from "@/test/world";

const fast = { id: "a1", alias: "fast", target: "openai/m1", createdAt: "2026-01-01T00:00:00.000Z" };

describe("model names", () => {
  it("are made for a model, without spaces", async () => {
    const host = fakeHost(world({ models: [model("openai", "m1")] }));
    const { user, path } = open("/settings/names", host);
    await user.click(await screen.findByRole("button", { name: "New name" }));
    const name = await screen.findByLabelText("Name");
    await user.type(name, "very fast");
    expect(name).toHaveAccessibleDescription("A name has no spaces.");
    await user.clear(name);
    await user.type(name, "fast");
    await user.click(screen.getByLabelText("Stands for"));
    await user.click(await screen.findByText("openai/m1"));
    await user.click(screen.getByRole("button", { name: "Make name" }));
    await waitFor(() => expect(path()).toBe("/settings/names"));
    expect(host.calls("alias_create")).toEqual([{ alias: "fast", target: "openai/m1" }]);
    expect(await screen.findByRole("grid")).toHaveTextContent(/fast.*openai\/m1/);
  });

  it("are deleted at once, with a way back", async () => {
    const { user } = open("/settings/names/a1", fakeHost(world({ aliases: [fast] })), {
      preferences: { language: "it" },
    });
    await user.click(await screen.findByRole("button", { name: "Elimina" }));
    expect(await screen.findByRole("heading", { name: "Ancora nessun nome tuo" })).toBeVisible();
    await user.click(await screen.findByRole("button", { name: "Annulla" }));
    expect(await screen.findByRole("grid")).toHaveTextContent("fast");
  });

  it("are accessible", async () => {
    const { container } = open("/settings/names/a1", fakeHost(world({ aliases: [fast] })));
    await screen.findByLabelText("Name");
    await expectAccessible(container);
  });
});
