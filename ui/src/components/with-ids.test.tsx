import { render } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { WithIds } from "./WithIds";

const marked = (text: string, ...ids: string[]) => {
  const { container } = render(<WithIds text={text} ids={ids} />);
  expect(container).toHaveTextContent(text);
  return [...container.querySelectorAll(".font-mono")].map((id) => id.textContent);
};

describe("a sentence with ids in it", () => {
  it.each([
    ["Team would be asked first, for openai/gpt-5.", ["openai/gpt-5"], ["openai/gpt-5"]],
    ["a/b and a/b-mini, twice a/b", ["a/b", "a/b-mini"], ["a/b", "a/b-mini", "a/b"]],
    ["Name a leads to a", ["a"], ["a", "a"]],
    ["gpt-5 is not gpt-5-mini", ["gpt-5"], ["gpt-5"]],
    ["nothing here", ["openai/gpt-5", ""], []],
  ])("sets them apart and leaves the rest: %s", (text, ids, expected) => {
    expect(marked(text, ...ids)).toEqual(expected);
  });
});
