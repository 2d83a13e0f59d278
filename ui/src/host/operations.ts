/**
 * Every operation of the gateway: what it takes, what it gives, where REST has it, and which topics it concerns. All of
 * it comes from the program's own tables and commands (`bindings.ts`); nothing is said a second time here.
 *
 * A read names the topics it *provides*, a change those it *invalidates*; `queries.ts` derives every refresh from that.
 * The command of the window has the operation's name and takes the members of the path by name, and the rest as
 * `input`. Over REST, members of the input that appear in the path fill it; the rest is the query of a GET, or the body
 * of anything else.
 */
import { type commands, operations as generated, type Topic } from "@/bindings";

type Entry = (typeof generated)[number];
export type OperationName = Entry["name"];

type Commands = typeof commands;
type Answer<O extends OperationName> = Awaited<ReturnType<Commands[O]>>;

/** The members that stand in the path: `{id: string}` for `/api/keys/{id}`. */
type Place<O extends OperationName> = { [N in PlaceName<Extract<Entry, { name: O }>["path"]>]: string };
type PlaceName<P extends string> = P extends `${string}{${infer N}}${infer Rest}` ? N | PlaceName<Rest> : never;

type Arguments<O extends OperationName, P extends readonly unknown[]> = P extends []
  ? null
  : P extends [string]
    ? Place<O>
    : P extends [infer I]
      ? I
      : P extends [string, infer I]
        ? Place<O> & I
        : never;

export type Input<O extends OperationName> = Arguments<O, Parameters<Commands[O]>>;
export type Output<O extends OperationName> =
  Extract<Answer<O>, { status: "ok" }> extends { data: infer D } ? D : never;

type Operation = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the gateway's address; `{name}` is filled from the input. */
  readonly path: string;
  /** What a read shows. */
  readonly provides: readonly Topic[];
  /** What a change makes stale. */
  readonly invalidates: readonly Topic[];
};

export const operations = Object.fromEntries(
  generated.map(({ name, method, path, kind, topics }): [OperationName, Operation] => [
    name,
    { method, path, provides: kind === "read" ? topics : [], invalidates: kind === "change" ? topics : [] },
  ]),
) as Record<OperationName, Operation>;

/** The members of an input that stand in the operation's path, and all others. */
export function splitInput<O extends OperationName>(
  operation: O,
  input: Input<O>,
): { place: Record<string, string>; rest: Record<string, unknown> } {
  const rest: Record<string, unknown> = { ...input };
  const place: Record<string, string> = {};
  for (const [, name = ""] of operations[operation].path.matchAll(/\{(\w+)\}/g)) {
    place[name] = String(rest[name]);
    delete rest[name];
  }
  return { place, rest };
}
