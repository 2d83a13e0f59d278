import { screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { fakeHost } from "@/test/fake-host";
import { wrap } from "@/test/render";
import { world } from "@/test/world";
import { ChoiceList } from "./ChoiceList";

const accounts = (n: number) => Array.from({ length: n }, (_, at) => ({ id: `c${at}`, name: `Account ${at}` }));
const draw = (known: { id: string; name: string; about?: string }[], onToggle = vi.fn()) => ({
  onToggle,
  ...wrap(
    <ChoiceList
      known={known}
      chosen={["c1", "old"]}
      gone={["old"]}
      none="Nothing"
      filterLabel="Filter accounts"
      onToggle={onToggle}
    />,
    fakeHost(world()),
  ),
});
const boxes = () => screen.getAllByRole("checkbox").map((box) => box.parentElement?.textContent);

describe("things to tick", () => {
  it("are shown as they are while they are few, with what is gone and still chosen", async () => {
    const { user, onToggle } = draw(accounts(2));
    expect(boxes()).toEqual(["Account 0", "Account 1", "old"]);
    expect(screen.queryByRole("searchbox")).toBeNull();
    expect(screen.getByRole("checkbox", { name: "Account 1" })).toBeChecked();
    await user.click(screen.getByRole("checkbox", { name: "Account 0" }));
    await user.click(screen.getByRole("checkbox", { name: "old" }));
    expect(onToggle.mock.calls).toEqual([
      ["c0", true],
      ["old", false],
    ]);
  });

  it("are looked for when they are many, by their name and what is said of them", async () => {
    const { user } = draw([...accounts(300), { id: "x", name: "Other", about: "Anthropic" }]);
    const filter = screen.getByRole("searchbox", { name: "Filter accounts" });
    await user.type(filter, "account 29");
    expect(boxes()).toHaveLength(12);
    await user.clear(filter);
    await user.type(filter, "anthropic");
    expect(boxes()).toEqual(["OtherAnthropic", "old"]);
    await user.type(filter, "nobody");
    expect(screen.getByText(/anthropicnobody/)).toBeVisible();
    await user.keyboard("{Escape}");
    expect(filter).toHaveValue("");
    expect(boxes()).toHaveLength(302);
  });

  it("say so when there are none", () => {
    draw([]);
    expect(screen.getByText("Nothing")).toBeVisible();
  });
});
