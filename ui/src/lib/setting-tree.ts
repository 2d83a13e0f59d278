/** Settings by their paths as the tree that the gateway reads. */
import type { Value } from "@/bindings";

type Tree = { [key: string]: Value };

/** `gateway.port` and 1 become `{gateway: {port: 1}}`; several paths share their branches. */
export function treeOf(values: Iterable<readonly [path: string, value: Value]>): Tree {
  const tree: Tree = {};
  for (const [path, value] of values) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let branch = tree;
    for (const name of names) {
      const next = branch[name];
      const inner: Tree = typeof next === "object" && next !== null && !Array.isArray(next) ? next : {};
      branch[name] = inner;
      branch = inner;
    }
    branch[last] = value;
  }
  return tree;
}
