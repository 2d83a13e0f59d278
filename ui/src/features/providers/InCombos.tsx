/** What combos do at this provider alone, in one line, and the way to it. */
import { Link } from "@tanstack/react-router";
import { FieldRow, Section } from "@/components/Field";
import { buttonClass } from "@/components/ui/button";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { chosenForProvider, saidIn } from "@/lib/combo-settings";

export function InCombos({ providerId, name }: { providerId: string; name: string }) {
  const words = useMessages().combos.ofProvider;
  const fields = useRead("settings_fields", null).data?.fields;
  if (!fields) return null;
  const set = saidIn(chosenForProvider(fields, providerId));
  return (
    <div className="mt-8 max-w-[760px]">
      <Section title={words.section}>
        <FieldRow label={words.row} help={words.rowHelp(name)}>
          <span className="text-ink-faint text-xs">{set > 0 ? words.set(set) : words.asEvery}</span>
          <Link to="/providers/$providerId/combos" params={{ providerId }} className={buttonClass()}>
            {words.change}
          </Link>
        </FieldRow>
      </Section>
    </div>
  );
}
