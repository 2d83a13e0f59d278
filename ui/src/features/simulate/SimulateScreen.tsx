/** A change tried on a copy: who would be asked first, and how the last hours would have gone. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Screen } from "@/components/Screen";
import { Segmented } from "@/components/ui/segmented";
import { useMessages } from "@/i18n";
import { ReplayView } from "./ReplayView";
import { SelectionsView } from "./SelectionsView";
import { modes } from "./search";

const route = getRouteApi("/monitoring/simulate");

export function SimulateScreen() {
  const words = useMessages().simulate;
  const navigate = useNavigate();
  const search = route.useSearch();
  const { mode = "selections", name = "" } = search;
  const go = (next: typeof search) => void navigate({ to: "/monitoring/simulate", search: next, replace: true });
  const setName = (chosen: string) => go({ ...(mode === "replay" && { mode }), ...(chosen && { name: chosen }) });
  return (
    <Screen title={words.title} help={words.help}>
      <Segmented
        label={words.mode}
        value={mode}
        options={modes.map((value) => ({ value, label: words.modes[value] }))}
        onChange={(next) => go({ ...(next === "replay" && { mode: next }), ...(name && { name }) })}
      />
      {mode === "selections" ? (
        <SelectionsView name={name} onName={setName} />
      ) : (
        <ReplayView name={name} onName={setName} />
      )}
    </Screen>
  );
}
