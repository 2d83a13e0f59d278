import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { SettingField } from "@/bindings";
import { type ErrorRule, type RuleTable, writeRules } from "@/lib/error-rules";
import { type Answers, fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { resilienceFields, resilienceWorld } from "@/test/resilience-world";
import { connection, detail, provider, request, world } from "@/test/world";

const at = "/settings/rules";
const cap: ErrorRule = { status: 400, match: "daily cap", scope: "connection", reason: "quota_exhausted" };
const crash: ErrorRule = { status: 500, match: "crashed", scope: "model", reason: "server_error", cooldownMs: 600_000 };
const long: ErrorRule = { ...cap, status: 429, match: "weekly", cooldownMs: 21_600_000 };

const failed = request("r1", {
  provider: "openai",
  outcome: "failure",
  status: 400,
  attempts: 1,
  errorSummary: "Your daily cap is reached",
});

function gateway(table: RuleTable = {}, part: Partial<SettingField> = {}): Answers {
  const stored = Object.keys(table).length > 0 && { value: writeRules(table), source: "stored" as const };
  const fields = resilienceFields.map((field) =>
    field.path === "providerErrorRules" ? { ...field, ...stored, ...part } : field,
  );
  return {
    ...world({
      providers: [provider("openai", { name: "OpenAI" }), provider("groq", { name: "Groq" })],
      connections: [connection("c1", { provider: "openai", name: "Work" })],
      requests: [failed],
      details: [detail(failed)],
    }),
    ...resilienceWorld({ fields }),
  };
}

const saved = (table: RuleTable | null) => [{ providerErrorRules: table }];

describe("Settings → Rules", () => {
  it("explains itself by an example while there is no rule", async () => {
    const { container } = open(at, fakeHost(gateway()));
    expect(await screen.findByRole("heading", { name: "No rule of your own yet" })).toBeVisible();
    expect(screen.getByText("A provider answers 400 with “daily cap reached”.")).toBeVisible();
    expect(screen.queryByText(/of at most/)).not.toBeInTheDocument();
    await expectAccessible(container);
  });

  it("adds a rule that starts from a recent error, and shows what it fits", async () => {
    const host = fakeHost(gateway());
    const { user, path } = open(`${at}/add`, host);
    // The only provider in use needs no choosing.
    const errors = await screen.findByRole("region", { name: "Last errors of OpenAI" });
    await user.click(within(errors).getByRole("button", { name: /^400 Your daily cap is reached/ }));
    const text = screen.getByLabelText("The error says");
    expect(text).toHaveValue("Your daily cap is reached");
    expect(await within(errors).findByText("The rule fits 1 of 1.")).toBeVisible();
    await user.clear(text);
    await user.type(text, "DAILY cap");
    expect(within(errors).getByRole("button", { name: /The rule fits/ })).toBeVisible();
    await user.type(screen.getByLabelText("For"), "10");
    await user.click(screen.getByRole("button", { name: "Add rule" }));
    await waitFor(() => expect(path()).toBe(at));
    expect(host.calls("settings_update")).toEqual(
      saved({ openai: [{ ...cap, match: "DAILY cap", cooldownMs: 600_000 }] }),
    );
    expect(await screen.findByRole("grid", { name: "Rules of OpenAI" })).toHaveTextContent(
      /400.*DAILY cap.*Quota used up.*This connection.*10 min/,
    );
    expect(screen.getByText("set here")).toBeVisible();
  });

  it("is led to by a request that failed", async () => {
    const { user, path } = open("/requests/r1", fakeHost(gateway()));
    await user.click(await screen.findByRole("link", { name: "Make a rule for this error" }));
    expect(await screen.findByRole("button", { name: /^400 Your daily cap is reached/ })).toBeVisible();
    expect(path()).toBe(`${at}/add`);
  });

  it("reads the errors of any provider, in the catalogue or not", async () => {
    const host = fakeHost(gateway());
    const { user } = open(`${at}/add`, host);
    await user.click(await screen.findByLabelText("Provider"));
    const options = await within(await screen.findByRole("dialog")).findAllByRole("option");
    expect(options.map(({ textContent }) => textContent)).toEqual(["OpenAI openai", "Groq groq"]);
    await user.type(screen.getByPlaceholderText("Search or type a provider's id"), "my-own{Enter}");
    await user.type(screen.getByLabelText("Status"), "418");
    await user.type(screen.getByLabelText("The error says"), "teapot");
    expect(await screen.findByText(/No error of my-own is on record/)).toBeVisible();
    await user.selectOptions(screen.getByLabelText("Counts as"), "No capacity");
    await user.selectOptions(screen.getByLabelText("Rests"), "The model alone");
    await user.click(screen.getByRole("button", { name: "Add rule" }));
    const rule = { status: 418, match: "teapot", scope: "model", reason: "model_capacity" } as const;
    await waitFor(() => expect(host.calls("settings_update")).toEqual(saved({ "my-own": [rule] })));
    expect(await screen.findByText("No connection leads to this provider at the moment.")).toBeVisible();
  });

  it("keeps to the bounds while one types, without asking the gateway", async () => {
    const host = fakeHost(gateway());
    const { user } = open(`${at}/add`, host);
    const status = await screen.findByLabelText("Status");
    await user.type(status, "99");
    expect(status).toHaveAccessibleDescription("A status from 100 to 599.");
    await user.type(screen.getByLabelText("For"), "31 days");
    expect(screen.getByLabelText("For")).toHaveAccessibleDescription(/at most 30 days\.$/);
    await user.type(screen.getByLabelText("The error says"), "cap{Enter}");
    expect(screen.getByRole("button", { name: "Add rule" })).toBeDisabled();
    expect(host.calls("settings_update")).toEqual([]);
  });

  it("says that another setting holds a long rest, and that a refusal heeds no scope", async () => {
    const { user } = open(`${at}/openai/1`, fakeHost(gateway({ openai: [long] })));
    expect(await screen.findByLabelText("For")).toHaveAccessibleDescription(/lasts 30 min at most/);
    expect(screen.getByRole("link", { name: "Change that" })).toHaveAttribute(
      "href",
      "/settings/lockout#modelLockout.maxCooldownMs",
    );
    expect(screen.getByRole("grid")).toHaveTextContent("6 h held to 30 min");
    await user.selectOptions(screen.getByLabelText("Counts as"), "Not allowed");
    expect(screen.getByLabelText("Rests")).toHaveAccessibleDescription(/^A refusal does not heed this/);
  });

  it("changes a rule in its place", async () => {
    const host = fakeHost(gateway({ openai: [cap, crash] }));
    const { user, path } = open(at, host);
    await user.click(await screen.findByText("crashed"));
    expect(await screen.findByRole("heading", { name: "Rule 500 “crashed”" })).toBeVisible();
    const rest = screen.getByLabelText("For");
    expect(rest).toHaveValue("10 min");
    await user.clear(rest);
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(path()).toBe(at));
    const { cooldownMs: _, ...unmeasured } = crash;
    expect(host.calls("settings_update")).toEqual(saved({ openai: [cap, unmeasured] }));
  });

  it("shows the gateway's refusal at the field it names, until that is edited", async () => {
    const message = "providerErrorRules.openai[1].status: a status from 100 to 599";
    const host = fakeHost({
      ...gateway({ openai: [cap, crash] }),
      settings_update: () => refuse({ code: "invalid_request", details: [{ field: "providerErrorRules", message }] }),
    });
    const { user } = open(`${at}/openai/2`, host);
    await user.click(await screen.findByRole("button", { name: "Save" }));
    const status = screen.getByLabelText("Status");
    await waitFor(() => expect(status).toBeInvalid());
    expect(status).toHaveAccessibleDescription("A status from 100 to 599.");
    expect(screen.queryByRole("alert")).not.toBeInTheDocument();
    await user.type(screen.getByLabelText("The error says"), " again");
    expect(status).not.toBeInvalid();
  });

  it("says under the form what the gateway refuses as a whole", async () => {
    const host = fakeHost({
      ...gateway({ openai: [cap] }),
      settings_update: () => refuse({ code: "internal_error", message: "the disk is full" }),
    });
    const { user } = open(`${at}/openai/1`, host);
    await user.click(await screen.findByRole("button", { name: "Save" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("the disk is full");
  });

  it("deletes at once, with a way back to the same place", async () => {
    const host = fakeHost(gateway({ openai: [cap, crash] }));
    const { user } = open(`${at}/openai/1`, host, { preferences: { language: "it" } });
    await user.click(await screen.findByRole("button", { name: "Elimina" }));
    await waitFor(() => expect(screen.queryByText("daily cap")).not.toBeInTheDocument());
    await user.click(await screen.findByRole("button", { name: "Annulla" }));
    await waitFor(() =>
      expect(host.calls("settings_update")).toEqual([
        { providerErrorRules: { openai: [crash] } },
        { providerErrorRules: { openai: [cap, crash] } },
      ]),
    );
  });

  it("goes back to the default with the last rule, unless the environment has some", async () => {
    const plain = fakeHost(gateway({ openai: [cap] }));
    const first = open(`${at}/openai/1`, plain);
    await first.user.click(await screen.findByRole("button", { name: "Delete" }));
    expect(await screen.findByRole("heading", { name: "No rule of your own yet" })).toBeVisible();
    expect(plain.calls("settings_update")).toEqual(saved(null));
    first.unmount();

    const environment = writeRules({ openai: [cap] });
    const host = fakeHost(gateway({}, { value: environment, environment, source: "environment" }));
    const { user } = open(`${at}/openai/1`, host);
    expect(await screen.findByText("from the environment")).toBeVisible();
    await user.click(await screen.findByRole("button", { name: "Delete" }));
    await waitFor(() => expect(host.calls("settings_update")).toEqual(saved({})));
  });

  it("takes all rules away at once, and brings them back", async () => {
    const host = fakeHost(gateway({ openai: [cap], groq: [crash] }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Reset Rules for errors" }));
    expect(await screen.findByRole("heading", { name: "No rule of your own yet" })).toBeVisible();
    const notice = (await screen.findByText("Your rules were taken away")).closest("li") as HTMLElement;
    await user.click(within(notice).getByRole("button", { name: "Undo" }));
    expect(await screen.findByRole("grid", { name: "Rules of Groq" })).toHaveTextContent("crashed");
    expect(host.calls("settings_update")).toEqual([
      { providerErrorRules: null },
      { providerErrorRules: { groq: [crash], openai: [cap] } },
    ]);
  });

  it("moves a rule by keyboard, and the open panel goes with it", async () => {
    const host = fakeHost(gateway({ openai: [cap, crash] }));
    const { user, path } = open(`${at}/openai/1`, host);
    const grid = await screen.findByRole("grid", { name: "Rules of OpenAI" });
    within(grid).getByRole("button", { name: "Move 400 “daily cap”, position 1 of 2" }).focus();
    await user.keyboard("{ArrowDown}");
    await waitFor(() => expect(host.calls("settings_update")).toEqual(saved({ openai: [crash, cap] })));
    expect(grid).toHaveTextContent(/crashed.*daily cap/);
    expect(await screen.findByText("400 “daily cap” is now at position 2 of 2")).toBeInTheDocument();
    await waitFor(() => expect(path()).toBe(`${at}/openai/2`));
    expect(screen.getByRole("heading", { name: "Rule 400 “daily cap”" })).toBeVisible();
  });

  it("puts a rule back when its move is refused", async () => {
    const host = fakeHost({
      ...gateway({ openai: [cap, crash] }),
      settings_update: () => refuse({ code: "internal_error", message: "the disk is full" }),
    });
    const { user } = open(at, host);
    const grid = await screen.findByRole("grid", { name: "Rules of OpenAI" });
    within(grid)
      .getByRole("button", { name: /^Move 400/ })
      .focus();
    await user.keyboard("{ArrowDown}");
    expect(await screen.findByText(/the disk is full/)).toBeVisible();
    await waitFor(() => expect(grid).toHaveTextContent(/daily cap.*crashed/));
  });

  it("finds rules among many, and takes no more than fit", async () => {
    const many = Array.from({ length: 49 }, (_, n) => ({ ...cap, match: `text ${n}` }));
    const { user } = open(at, fakeHost(gateway({ openai: many, groq: [crash] })));
    expect(await screen.findByRole("button", { name: "New rule" })).toBeDisabled();
    await user.type(screen.getByRole("searchbox", { name: "Filter rules" }), "groq");
    expect(screen.queryByRole("grid", { name: "Rules of OpenAI" })).not.toBeInTheDocument();
    expect(screen.getByRole("grid", { name: "Rules of Groq" })).toHaveTextContent("crashed");
  });

  it("says so when the gateway does not answer, and when a rule is gone", async () => {
    const silent = open(at, fakeHost({ ...gateway(), settings_fields: () => refuse({ code: "internal_error" }) }));
    expect(await screen.findByRole("alert")).toHaveTextContent("The gateway ran into a problem of its own.");
    silent.unmount();
    const broken = { ...gateway({ openai: [cap] }), requests_list: () => refuse({ code: "internal_error" }) };
    const untried = open(`${at}/openai/1`, fakeHost(broken));
    expect(await screen.findByRole("alert")).toHaveTextContent("The gateway ran into a problem of its own.");
    untried.unmount();
    open(`${at}/openai/3`, fakeHost(gateway({ openai: [cap] })));
    expect(await screen.findAllByText("This rule no longer exists")).not.toHaveLength(0);
  });

  it("is accessible", async () => {
    const { container } = open(`${at}/openai/1`, fakeHost(gateway({ openai: [cap, crash] })));
    await screen.findByRole("region", { name: "Last errors of OpenAI" });
    await expectAccessible(container);
  });
});
