import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { connection, world } from "@/test/world";

const names = () =>
  within(screen.getByRole("grid"))
    .getAllByRole("row")
    .slice(1)
    .map((row) => within(row).getAllByRole("gridcell")[2]?.textContent);

describe("Providers", () => {
  it("an empty list says what it is for and leads to the first connection", async () => {
    const { user, path } = open("/providers", fakeHost(world()));
    await screen.findByRole("heading", { name: "Connect your first provider" });
    await user.click(screen.getByRole("button", { name: "Add connection" }));
    await waitFor(() => expect(path()).toBe("/providers/add"));
    expect(await screen.findByRole("complementary", { name: "Add a connection" })).toBeVisible();
  });

  it("counts the connections of each provider by state", async () => {
    const connections = [
      connection("c1"),
      connection("c2", { hasCredential: false }),
      connection("c4", { testStatus: "banned" }),
      connection("c3", { provider: "ollama", authType: "none", hasCredential: false, isActive: false }),
    ];
    open("/providers", fakeHost(world({ connections })), { preferences: { language: "it" } });
    const row = (await screen.findByText("Anthropic")).closest("[role=row]") as HTMLElement;
    expect(within(row).getByText("1 pronta")).toBeVisible();
    expect(within(row).getByText("1 senza chiave").parentElement).toHaveClass("text-blocked");
    expect(within(row).getByText("1 fuori servizio").parentElement).toHaveClass("text-terminal");
    expect(screen.getByText("Su questo computer")).toBeVisible();
    expect(screen.getByText("1 spenta")).toBeVisible();
  });

  it("`/` filters, and ⏎ opens what the keyboard points at", async () => {
    const connections = [connection("c1"), connection("c2", { provider: "ollama", authType: "none" })];
    const { user, path } = open("/providers", fakeHost(world({ connections })));
    await screen.findByText("Ollama");
    await user.keyboard("/oll");
    expect(screen.getByRole("searchbox")).toHaveValue("oll");
    expect(screen.queryByText("Anthropic")).not.toBeInTheDocument();
    screen.getByRole("grid").focus();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(path()).toBe("/providers/ollama"));
  });

  it("is accessible", async () => {
    const { container } = open("/providers", fakeHost(world({ connections: [connection("c1")] })));
    await screen.findByRole("grid");
    await expectAccessible(container);
  });
});

describe("a provider", () => {
  const connections = [connection("c1", { name: "Work" }), connection("c2", { name: "Personal" })];

  it("keeps its connections in the order they are asked, changed by keyboard", async () => {
    const host = fakeHost(world({ connections }));
    const { user } = open("/providers/anthropic", host);
    await screen.findByText("Work");
    expect(names()).toEqual(["Work", "Personal"]);
    screen.getByRole("button", { name: "Move Work, position 1 of 2" }).focus();
    await user.keyboard("{ArrowDown}");
    await waitFor(() => expect(names()).toEqual(["Personal", "Work"]));
    expect(host.calls("connections_order")).toEqual([{ provider: "anthropic", connectionIds: ["c2", "c1"] }]);
    expect(await screen.findByText("Work is now at position 2 of 2")).toBeInTheDocument();
  });

  it("switches a connection off from the list", async () => {
    const host = fakeHost(world({ connections }));
    const { user } = open("/providers/anthropic", host);
    await user.click(await screen.findByRole("switch", { name: "Use Personal" }));
    expect(await screen.findByText("Switched off")).toBeVisible();
    expect(host.calls("connection_update")).toEqual([{ id: "c2", isActive: false }]);
  });

  it("switches all connections off, and undo puts back those that were on", async () => {
    const host = fakeHost(
      world({ connections: [...connections, connection("c3", { name: "Spare", isActive: false })] }),
    );
    const { user } = open("/providers/anthropic", host);
    await user.click(await screen.findByRole("button", { name: "More options" }));
    await user.click(await screen.findByRole("menuitem", { name: "Switch all off" }));
    await screen.findByText("2 connections switched off");
    expect(await screen.findAllByText("Switched off")).toHaveLength(3);
    await user.click(screen.getByRole("button", { name: "Undo" }));
    await waitFor(() => expect(screen.getAllByText("Ready")).toHaveLength(2));
    expect(screen.getAllByText("Switched off")).toHaveLength(1);
  });

  it("draws only what is near of a long list", async () => {
    const many = Array.from({ length: 300 }, (_, index) => connection(`c${index}`));
    open("/providers/anthropic", fakeHost(world({ connections: many })));
    const grid = await screen.findByRole("grid");
    expect(grid).toHaveAttribute("aria-rowcount", "301");
    expect(within(grid).getAllByRole("row").length).toBeLessThan(100);
  });

  it("is accessible", async () => {
    const { container } = open("/providers/anthropic", fakeHost(world({ connections })));
    await screen.findByRole("grid");
    await expectAccessible(container);
  });
});
