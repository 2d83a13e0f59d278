import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { Button, buttonClass } from "@/components/ui/button";
import { usePreferences } from "@/host/preferences";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";

/** What is left of the set-up. Goes away when all is done, or when it is dismissed. */
export function SetupChecklist() {
  const messages = useMessages();
  const words = messages.home;
  const { set } = usePreferences();
  const connections = useRead("connections_list", {});
  const keys = useRead("keys_list", null);
  const requests = useRead("requests_list", { limit: 1 });
  if (!connections.data || !keys.data || !requests.data) return null;

  const list = connections.data.connections;
  const steps = [
    { label: words.checklistSteps.provider, done: list.length > 0 },
    {
      label: words.checklistSteps.test,
      done: list.some(({ testStatus, lastUsedAt }) => testStatus === "active" || lastUsedAt !== null),
    },
    { label: words.checklistSteps.key, done: keys.data.keys.length > 0 },
    { label: words.checklistSteps.request, done: requests.data.requests.length > 0 },
  ];
  if (steps.every((step) => step.done)) return null;
  const next = steps.findIndex((step) => !step.done);

  return (
    <section aria-labelledby="checklist" className="mt-8 rounded-lg border px-5 py-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 id="checklist" className="font-semibold text-md">
          {words.checklist}
        </h2>
        <div className="flex gap-2">
          <Button variant="ghost" onClick={() => set("onboarded", true)}>
            {words.dismiss}
          </Button>
          <Link to="/setup" className={buttonClass({ variant: "primary" })}>
            {words.continueSetup}
          </Link>
        </div>
      </div>
      <ol className="mt-3 grid gap-x-6 gap-y-2 wide:grid-cols-4">
        {steps.map((step, index) => (
          <li
            key={step.label}
            aria-current={index === next ? "step" : undefined}
            className={cn(
              "flex items-center gap-2",
              step.done ? "text-ink-faint" : index === next ? "font-medium" : "text-ink-soft",
            )}
          >
            <span
              className={cn(
                "inline-flex size-5 shrink-0 items-center justify-center rounded-full text-xs",
                step.done ? "bg-ready-soft text-ready" : "inset-ring inset-ring-line-strong",
              )}
            >
              {step.done ? <Check aria-label={messages.common.done} className="size-3" /> : index + 1}
            </span>
            {step.label}
          </li>
        ))}
      </ol>
    </section>
  );
}
