import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { connection, key, request, world } from "@/test/world";

const newcomer = { preferences: { onboarded: false } };

describe("the set-up", () => {
  it("leads somebody new from nothing to the first answered request", async () => {
    const requests = [] as ReturnType<typeof request>[];
    const host = fakeHost({ ...world(), requests_list: () => ({ requests: [...requests], nextCursor: null }) });
    const { user, path } = open("/", host, newcomer);
    await waitFor(() => expect(path()).toBe("/setup"));

    await user.click(await screen.findByRole("button", { name: /^Anthropic/ }));
    await user.type(await screen.findByLabelText("API key"), "sk-ant-1{Enter}");

    await screen.findByRole("heading", { name: "Which agent do you use?" });
    expect((await screen.findAllByText(/sk-omni-a-key-shown-once/)).length).toBeGreaterThan(1);
    expect(host.calls("key_create")).toEqual([{ name: "Local agents" }]);
    expect(screen.getByText(/ANTHROPIC_MODEL=anthropic\/claude-sonnet-4-6/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Continue" }));

    await screen.findByText("Waiting for the first request");
    requests.push(request("r1"));
    host.announce("requests");
    await screen.findByText("It works");
    await user.click(screen.getByRole("button", { name: "Go to Home" }));
    await waitFor(() => expect(path()).toBe("/home"));
    expect(host.saved.onboarded).toBe(true);
  });

  it("is not shown again to somebody who has connections", async () => {
    const { path } = open("/", fakeHost(world({ connections: [connection("c1")] })), newcomer);
    await waitFor(() => expect(path()).toBe("/home"));
  });

  it("can be left at any time", async () => {
    const host = fakeHost(world());
    const { user, path } = open("/setup", host, { preferences: { onboarded: false, language: "it" } });
    await user.click(await screen.findByRole("button", { name: "Salta la configurazione" }));
    await waitFor(() => expect(path()).toBe("/home"));
    expect(host.saved.onboarded).toBe(true);
  });

  it("makes no second key", async () => {
    const answers = world({
      connections: [connection("c1")],
      keys: [key("k1", { name: "Local agents", tail: "k3Vw" })],
    });
    const host = fakeHost(answers);
    open("/setup?provider=anthropic&connection=c1", host);
    expect((await screen.findByText("k3Vw")).parentElement).toHaveTextContent(/yours ends in k3Vw/);
    expect(host.calls("key_create")).toEqual([]);
  });

  it("is accessible at every step", async () => {
    const host = () => fakeHost(world({ connections: [connection("c1")] }));
    for (const [path, heading] of [
      ["/setup", "Where should requests go?"],
      ["/setup?provider=anthropic", "Connect Anthropic"],
      ["/setup?provider=custom", "Custom endpoint"],
      ["/setup?provider=anthropic&connection=c1", "Which agent do you use?"],
      ["/setup?provider=anthropic&connection=c1&step=request", "Send a first request"],
    ] as const) {
      const { container, unmount } = open(path, host());
      await screen.findByRole("heading", { name: heading });
      await expectAccessible(container);
      unmount();
    }
  });
});
