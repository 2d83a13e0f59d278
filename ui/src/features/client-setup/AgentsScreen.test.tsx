import { screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { key, model, world } from "@/test/world";

const answers = () => ({
  ...world({ keys: [key("k1", { name: "Local agents", tail: "k3Vw" })] }),
  models_list: () => ({ models: [model("anthropic", "claude-sonnet-4-6"), model("openai", "gpt-5.5")] }),
});

it("shows the exact settings of the chosen agent and shell", async () => {
  const { user } = open("/settings/agents", fakeHost(answers()));
  await user.click(await screen.findByRole("button", { name: "Codex CLI" }));
  expect(await screen.findByText(/wire_api = "responses"/)).toBeVisible();
  await user.click(screen.getByRole("radio", { name: "PowerShell" }));
  expect(screen.getByText("$env:GW_API_KEY = 'YOUR_KEY'")).toBeVisible();
});

it("puts a newly made key into the settings, and only then", async () => {
  const host = fakeHost(answers());
  const { user } = open("/settings/agents", host);
  await user.click(await screen.findByRole("button", { name: "Make another key" }));
  expect(await screen.findByText(/ANTHROPIC_AUTH_TOKEN=sk-omni-a-key-shown-once/)).toBeVisible();
  expect(host.calls("key_create")).toEqual([{ name: "Local agents 2" }]);
});

it("copies what is shown", async () => {
  const { user } = open("/settings/agents", fakeHost(answers()), { preferences: { agent: "curl" } });
  const write = vi.spyOn(navigator.clipboard, "writeText");
  const [first] = await screen.findAllByRole("button", { name: "Copy settings for curl" });
  if (first) await user.click(first);
  expect(write).toHaveBeenCalledWith('curl http://127.0.0.1:20128/v1/models -H "Authorization: Bearer YOUR_KEY"');
  expect(await screen.findByText("Copied")).toBeInTheDocument();
});

it("takes a model the list does not know", async () => {
  const { user } = open("/settings/agents", fakeHost(answers()));
  await user.click(await screen.findByRole("combobox", { name: "Model" }));
  await user.keyboard("ollama/new-model{Enter}");
  expect(await screen.findByText(/ANTHROPIC_MODEL=ollama\/new-model/)).toBeVisible();
});

it("is accessible", async () => {
  const { container } = open("/settings/agents", fakeHost(answers()));
  await screen.findByRole("heading", { name: "Claude Code" });
  await expectAccessible(container);
});
