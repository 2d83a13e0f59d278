import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { connection, request, world } from "@/test/world";

const soon = () => new Date(Date.now() + 162_000).toISOString();

describe("Home", () => {
  it("says in one sentence how things are, in both languages", async () => {
    const answers = world({
      connections: [connection("c1"), connection("c2"), connection("c3", { rateLimitedUntil: soon() })],
    });
    const { unmount } = open("/home", fakeHost(answers));
    await screen.findByRole("heading", { level: 1, name: /^2 connections ready, 1 cooling until \d\d:\d\d$/ });
    unmount();

    open("/home", fakeHost(answers), { preferences: { language: "it" } });
    await screen.findByRole("heading", { level: 1, name: /^2 connessioni pronte, 1 in pausa fino alle \d\d:\d\d$/ });
    expect(document.documentElement.lang).toBe("it");
  });

  it("shows a request the moment it arrives", async () => {
    const requests = [request("r1")];
    const host = fakeHost({ ...world(), requests_list: () => ({ requests: [...requests], nextCursor: null }) });
    open("/home", host);
    const list = await screen.findByRole("grid", { name: "Last requests" });
    expect(within(list).getAllByRole("row")).toHaveLength(2);

    requests.unshift(request("r2", { agent: "codex", outcome: "failure", status: 502 }));
    host.announce("requests");
    await within(list).findByText("Codex");
    expect(within(list).getByText("Failed")).toBeVisible();
    expect(within(list).getByText("502")).toBeVisible();
  });

  it("leads from the sentence to the screen that names whom it is about", async () => {
    const resting = connection("c2", { rateLimitedUntil: new Date(Date.now() + 600_000).toISOString() });
    const { unmount } = open("/home", fakeHost(world({ connections: [connection("c1"), resting] })));
    expect(await screen.findByRole("link", { name: "See why" })).toHaveAttribute("href", "/monitoring/cooldowns");
    unmount();

    open("/home", fakeHost(world({ connections: [connection("c1")] })));
    await screen.findByRole("heading", { level: 1, name: "1 connection ready" });
    expect(screen.queryByRole("link", { name: "See why" })).not.toBeInTheDocument();
  });

  it("lists what is left of the set-up until it is dismissed", async () => {
    const host = fakeHost(world({ connections: [connection("c1")] }));
    const { user } = open("/home", host, { preferences: { onboarded: false } });
    const checklist = await screen.findByRole("region", { name: "Finish setting up" });
    expect(within(checklist).getByText("Make a key for your agents").closest("li")).toHaveAttribute(
      "aria-current",
      "step",
    );
    await user.click(within(checklist).getByRole("button", { name: "Hide" }));
    expect(checklist).not.toBeInTheDocument();
    expect(host.saved.onboarded).toBe(true);
  });

  it("says so when the gateway is gone, and offers to try again", async () => {
    const host = fakeHost({
      ...world(),
      connections_list: () => refuse({ code: "internal_error" }),
      requests_list: () => refuse({ code: "internal_error", message: "disk full" }),
    });
    open("/home", host);
    await screen.findByRole("heading", { name: "The gateway does not answer" });
    expect(await screen.findByRole("button", { name: "Try again" })).toBeVisible();
    expect(screen.getByText("disk full")).toBeVisible();
  });

  it("says once that the gateway is gone, and reads everything when it is back", async () => {
    let gone = true;
    const unless = <T,>(answer: T) => (gone ? refuse({ code: "gateway_unreachable" }) : answer);
    const host = fakeHost({
      ...world(),
      connections_list: () => unless({ connections: [connection("c1")] }),
      requests_list: () => unless({ requests: [request("r1")], nextCursor: null }),
    });
    const { user } = open("/home", host);
    expect(await screen.findByRole("alert")).toHaveTextContent(/^The gateway does not answer.*Start OmniRoute/);
    expect(screen.getAllByRole("alert")).toHaveLength(1);
    gone = false;
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByRole("heading", { name: "1 connection ready" })).toBeVisible();
    expect(await screen.findByRole("heading", { name: "Last requests" })).toBeVisible();
  });

  it("is accessible", async () => {
    const { container } = open(
      "/home",
      fakeHost(world({ connections: [connection("c1")], requests: [request("r1")] })),
    );
    await screen.findByRole("grid");
    await expectAccessible(container);
  });
});
